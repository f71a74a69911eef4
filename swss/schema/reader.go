package schema

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A reader reads the fields of one row from a hash. It collects the errors, so that a user sees all of them at once.
type reader struct {
	table  string
	key    string
	fields map[string]string // the caller's map, if nothing in it needs normalising
	open   bool              // true if unknown fields are accepted
	known  []string          // names of fields read so far, for unknown; empty for open rows
	// examined means that read fields are recorded for open rows, too.
	examined bool
	idle     []string // names of fields of the row that have no effect
	asked    bool     // true if unknown was called
	closed   bool     // true if the whole row is refused, whatever else is missing
	errs     []error
	more     int // number of errors that were found but are not in errs
}

// maxErrors is the maximum number of errors that are reported for a row.
const maxErrors = 12

// newReader normalises the field names: it removes a list suffix "@" and the placeholder field NULL of empty rows.
// upper is for the ACL tables, whose field names SONiC compares in upper case.
func newReader(table, key string, fields map[string]string, upper bool) *reader {
	r := &reader{table: table, key: key}
	why, closed := fields[tooLarge]
	if most := longestKey(table); len(key) > most {
		why, closed = fmt.Sprintf("the key has %d bytes: want at most %d", len(key), most), true
	}
	if closed {
		r.errs = []error{&FieldError{Object: table + "|" + key, Whole: why}}
		r.closed, r.asked = true, true
		return r
	}
	r.clean(fields, upper)
	r.bound()
	return r
}

// maxList is the maximum number of elements of a list in a field. It exceeds the number of ports, queues or tables of
// any switch. Each element may become an object of many times its length.
const maxList = 4096

// bound refuses a row with a list that has too many elements, whatever else is wrong with it.
func (r *reader) bound() {
	long, n := "", 0
	for f, v := range r.fields {
		if count := elements(v); count > maxList && (n == 0 || f < long) {
			long, n = f, count
		}
	}
	if n == 0 {
		return
	}
	want := fmt.Sprintf("at most %d elements, not %d", maxList, n)
	r.errs = []error{&FieldError{Object: r.table + "|" + r.key, Field: long, Value: r.fields[long], Want: want}}
	r.closed, r.asked, r.fields = true, true, nil
}

// elements returns the number of elements of a value that may be a list. JSON counts as one.
func elements(v string) int {
	if len(v) < maxList || v[0] == '{' || v[0] == '[' {
		return 1
	}
	return 1 + max(strings.Count(v, ","), strings.Count(v, ";"), strings.Count(v, " "))
}

// maxKey is the maximum length of a row's key, in bytes.
const maxKey = 255

// longestKey returns the maximum length of a row's key in a table. The key of a graph's result contains all switches
// of both sides.
func longestKey(table string) int {
	if table == CountersAltMarkPath {
		return 2*maxSides*(maxKey+1) + maxKey
	}
	return maxKey
}

// tooLarge is the name of the only field in the substitute for a row that was not read.
const tooLarge = "\x00too large"

// TooLarge returns the substitute for a row that was not read, because it has more than most bytes of fields and
// values. No table accepts it, and the error contains the reason.
func TooLarge(size, most int64) map[string]string {
	return map[string]string{tooLarge: fmt.Sprintf("the row has %d bytes: want at most %d", size, most)}
}

// TooMany returns the substitute for a row that was not read, because the table has more than rows rows or most
// bytes.
func TooMany(rows, most int64) map[string]string {
	return map[string]string{tooLarge: fmt.Sprintf(
		"the table has more than %d rows, or more than %d bytes: the first by name are taken", rows, most)}
}

func (r *reader) clean(fields map[string]string, upper bool) {
	if !upper && isClean(fields) {
		r.fields = fields
		return
	}
	r.fields = make(map[string]string, len(fields))
	twice := false
	for f, v := range fields {
		if name := fieldName(f, upper); name != "" {
			_, dup := r.fields[name]
			r.fields[name], twice = strings.TrimSpace(v), twice || dup
		}
	}
	if twice {
		r.oneSpelling(fields, upper)
	}
}

// isClean reports whether the fields need no normalising, as for all rows that this package wrote.
func isClean(fields map[string]string) bool {
	for f, v := range fields {
		if fieldName(f, false) != f || f == "" || len(strings.TrimSpace(v)) != len(v) {
			return false
		}
	}
	return true
}

// oneSpelling normalises the fields. It uses the first of several spellings of a field, and reports the others as
// errors.
func (r *reader) oneSpelling(fields map[string]string, upper bool) {
	written := make(map[string]string, len(fields))
	for _, f := range slices.Sorted(maps.Keys(fields)) {
		name, v := fieldName(f, upper), strings.TrimSpace(fields[f])
		if first, dup := written[name]; !dup && name != "" {
			r.fields[name], written[name] = v, f
		} else if old := r.fields[name]; old != v && name != "" {
			r.bad(f, cmp.Or(v, empty), fmt.Sprintf("the field once; %s is %s", plain(first), quoted(old)))
		}
	}
}

// fieldName returns a field's name without its list suffix, and "" for the placeholder.
func fieldName(f string, upper bool) string {
	name, _, _ := strings.Cut(f, "@")
	if upper {
		name = strings.ToUpper(name)
	}
	if name == "NULL" {
		return ""
	}
	return name
}

// value returns a field's value and records that the row may have it.
func (r *reader) value(field string) (string, bool) {
	if !r.open {
		r.known = append(r.known, field)
	}
	v, ok := r.fields[field]
	return v, ok && v != ""
}

func (r *reader) bad(field, value, want string) {
	if r.closed || r.full() {
		return
	}
	r.errs = append(r.errs, &FieldError{Object: r.table + "|" + r.key, Field: field, Value: value, Want: want})
}

// needs reports an error if a field is missing that other fields require.
func (r *reader) needs(field, want string) {
	if r.fields[field] == "" {
		r.bad(field, "", want)
	}
}

// full reports whether the maximum number of errors was reported, and then counts the current one.
func (r *reader) full() bool {
	if len(r.errs) < maxErrors {
		return false
	}
	r.more++
	return true
}

// err joins the errors, in the order in which they were found.
func (r *reader) err() error {
	if r.more == 0 {
		return errors.Join(r.errs...)
	}
	return errors.Join(append(slices.Clip(r.errs), fmt.Errorf("and %d more", r.more))...)
}

// unknown reports an error for every field that was not read, with the nearest known name.
func (r *reader) unknown() {
	if r.asked || !r.strange() {
		return
	}
	r.asked = true
	slices.Sort(r.known)
	r.known = slices.Compact(r.known)
	for _, f := range slices.Sorted(maps.Keys(r.fields)) {
		if _, found := slices.BinarySearch(r.known, f); found || r.full() {
			continue
		}
		r.bad(f, cmp.Or(r.fields[f], empty), "a field of the table"+suggest(f, r.known))
	}
}

// strange reports whether there is a field that was not read.
func (r *reader) strange() bool {
	for f := range r.fields {
		if !slices.Contains(r.known, f) {
			return true
		}
	}
	return false
}

// badWord reports an error for a word of a list that is not one of words.
func (r *reader) badWord(field, w, want string, words []string) {
	if !r.full() {
		r.bad(field, w, want+suggest(w, words))
	}
}

// suggest returns the word that the user may have meant: the nearest word, or all words if none is near and there are
// at most six.
func suggest(s string, words []string) string {
	const few = 6
	near, d := nearest(s, words)
	switch {
	case d <= max(1, min(len(s), len(near))/2):
		return "; the nearest is " + near
	case len(words) <= few:
		return ": " + oneOf(words)
	}
	return ""
}

// text reads a field as text.
func (r *reader) text(field string) string {
	v, _ := r.value(field)
	return v
}

// number reads a decimal or 0x number in lo..hi. It returns def if the field is absent.
func (r *reader) number(field string, lo, hi, def uint64) uint64 {
	v, ok := r.value(field)
	if !ok {
		if _, present := r.fields[field]; present {
			r.bad(field, empty, rangeWords(lo, hi))
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

// word reads one of the given words in any case and returns it as listed. It returns def if the field is absent.
func (r *reader) word(field, def string, words ...string) string {
	v, ok := r.value(field)
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

// flag reads a field with two words and reports whether it is the first.
func (r *reader) flag(field string, def bool, yes, no string) bool {
	d := no
	if def {
		d = yes
	}
	return r.word(field, d, yes, no) == yes
}

// name reads a field that names another row.
func (r *reader) name(field, def string) string {
	v, ok := r.value(field)
	if !ok {
		return def
	}
	if !ValidName(v) {
		r.bad(field, v, nameWords)
		return def
	}
	return v
}

// list reads a comma-separated list, and drops empty and repeated elements.
func (r *reader) list(field string) []string {
	v, _ := r.value(field)
	return splitList(v)
}

func splitList(v string) []string {
	var out []string
	seen := map[string]bool{"": true}
	for e := range strings.SplitSeq(v, ",") {
		e = strings.TrimSpace(e)
		if !seen[e] {
			seen[e] = true
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

// nearest returns the word with the smallest edit distance, the first if several have it, and that distance.
func nearest(s string, words []string) (best string, distance int) {
	distance = -1
	for _, w := range words {
		if d := edits(strings.ToLower(s), strings.ToLower(w)); distance < 0 || d < distance {
			best, distance = w, d
		}
	}
	return best, distance
}

// edits returns the Levenshtein distance of two short strings.
func edits(a, b string) int {
	if len(a) > 64 { // a user's field name may have any length
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
