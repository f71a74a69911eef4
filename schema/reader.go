package schema

import (
	"errors"
	"maps"
	"slices"
	"strings"
)

// reader takes the fields of one row out of a hash and collects what is wrong
// with them, so that a user sees all errors of a row at once.
type reader struct {
	object string
	fields map[string]string
	known  []string // fields asked for, for unknown
	errs   []error
}

// newReader normalises the field names: a list suffix "@" and the placeholder
// field NULL of empty rows go away.
func newReader(table, key string, fields map[string]string) *reader {
	return &reader{object: table + "|" + key, fields: clean(fields, false)}
}

// newUpperReader is newReader for the ACL tables, whose field names SONiC
// compares in upper case.
func newUpperReader(table, key string, fields map[string]string) *reader {
	return &reader{object: table + "|" + key, fields: clean(fields, true)}
}

func clean(fields map[string]string, upper bool) map[string]string {
	out := make(map[string]string, len(fields))
	for _, f := range slices.Sorted(maps.Keys(fields)) {
		name, _, _ := strings.Cut(f, "@")
		if upper {
			name = strings.ToUpper(name)
		}
		if name == "" || name == "NULL" {
			continue
		}
		if _, dup := out[name]; !dup {
			out[name] = strings.TrimSpace(fields[f])
		}
	}
	return out
}

// take returns a field's value and remembers that the row may have it.
func (r *reader) take(field string) (string, bool) {
	r.known = append(r.known, field)
	v, ok := r.fields[field]
	return v, ok && v != ""
}

func (r *reader) bad(field, value, want string) {
	r.errs = append(r.errs, &FieldError{Object: r.object, Field: field, Value: value, Want: want})
}

// err joins what was found wrong, in the order of finding.
func (r *reader) err() error { return errors.Join(r.errs...) }

// unknown reports every field that was not asked for, with the nearest that
// the row may have.
func (r *reader) unknown() {
	for _, f := range slices.Sorted(maps.Keys(r.fields)) {
		if slices.Contains(r.known, f) {
			continue
		}
		want := "a field of the table; the nearest is " + nearest(f, r.known)
		v := r.fields[f]
		if v == "" {
			v = " "
		}
		r.bad(f, v, want)
	}
}

// text takes a field as it is.
func (r *reader) text(field string) string {
	v, _ := r.take(field)
	return v
}

// number takes a decimal or 0x number in lo..hi; def when the field is absent.
func (r *reader) number(field string, lo, hi, def uint64) uint64 {
	v, ok := r.take(field)
	if !ok {
		if _, present := r.fields[field]; present {
			r.bad(field, " ", rangeWords(lo, hi))
		}
		return def
	}
	n, ok := decimal(v)
	if !ok || n < lo || n > hi {
		r.bad(field, v, rangeWords(lo, hi))
		return def
	}
	return n
}

// word takes one of the given words in any case and returns it as it is
// listed; def when the field is absent.
func (r *reader) word(field, def string, words ...string) string {
	v, ok := r.take(field)
	if !ok {
		return def
	}
	for _, w := range words {
		if strings.EqualFold(v, w) {
			return w
		}
	}
	r.bad(field, v, oneOf(words))
	return def
}

// flag takes a field of two words and says whether it is the first.
func (r *reader) flag(field string, def bool, yes, no string) bool {
	d := no
	if def {
		d = yes
	}
	return r.word(field, d, yes, no) == yes
}

// name takes a field that names another row.
func (r *reader) name(field, def string) string {
	v, ok := r.take(field)
	if !ok {
		return def
	}
	if !ValidName(v) {
		r.bad(field, v, nameWords)
		return def
	}
	return v
}

// list takes a comma separated list without empty and repeated elements.
func (r *reader) list(field string) []string {
	v, _ := r.take(field)
	return splitList(v)
}

func splitList(v string) []string {
	var out []string
	for e := range strings.SplitSeq(v, ",") {
		e = strings.TrimSpace(e)
		if e != "" && !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}

func oneOf(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// nearest returns the word with the smallest edit distance, the first of equals.
func nearest(s string, words []string) string {
	best, bestD := "", -1
	for _, w := range words {
		if d := distance(strings.ToLower(s), strings.ToLower(w)); bestD < 0 || d < bestD {
			best, bestD = w, d
		}
	}
	return best
}

// distance is the Levenshtein distance of two short strings.
func distance(a, b string) int {
	if len(a) > 64 { // a field name of a user may be anything
		a = a[:64]
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diag, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diag+cost)
		}
	}
	return row[len(b)]
}
