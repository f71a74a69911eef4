package schema

import (
	"cmp"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// A kind determines the values that a field can have.
type kind uint8

const (
	ownKind     kind = iota // read and written by its own functions
	textKind                // any text
	numberKind              // lo..hi
	wordKind                // one of words; case does not matter
	withinKind              // lo..hi, read and written by its own functions
	nameKind                // the name of another row
	refKind                 // the name of a row of table, also in SONiC's old form [TABLE|name]
	macKind                 // the address of one host
	ignoredKind             // placeholder for fields without effect
)

var kindForms = [...]string{
	textKind: "text", nameKind: "a name", macKind: "a unicast MAC address",
}

type unsigned interface {
	uint8 | uint16 | uint32 | uint64
}

// must makes the field mandatory. want describes the valid form, for the error if the field is missing. It is "" if the
// field's own function reports that error.
func (f field) must(want string) field {
	f.Must, f.want = true, want
	return f
}

// needed makes the field, a number or word, mandatory.
func (f field) needed() field {
	f.Must, f.required = true, true
	return f
}

// or sets the default.
func (f field) or(def string) field {
	f.Default, f.none = def, true
	return f
}

// always returns f as a field that is written even if it is empty.
func (f field) always() field {
	f.keep = true
	return f
}

// ifSet returns f as a field that is written only if it differs from its default.
func (f field) ifSet() field {
	f.quiet = true
	return f
}

// leaf sets the path of the field's leaf, if that is not its name with dashes.
func (f field) leaf(path string) field {
	f.Leaf = path
	return f
}

// hidden makes the field have no leaf.
func (f field) hidden() field { return f.leaf(noLeaf) }

// labelled sets the field's name in an operator's tables, if that differs from the name of its leaf.
func (f field) labelled(label string) field {
	f.Label = label
	return f
}

// metric adds the field to a family of metrics. outcome is the value of the family's label for this field, if it has
// one.
func (f field) metric(name, outcome string) field {
	f.Metric, f.Outcome = name, outcome
	return f
}

// word sets the index of a counter among the numbers of the chip.
func (f field) word(n int) field {
	f.Word = n
	return f
}

// of restricts the counter to some roles.
func (f field) of(roles ...string) field {
	f.For = roles
	return f
}

// parted makes the field a list.
func (f field) parted(separator string) field {
	f.Parts = separator
	return f
}

// to makes the field name a row of a table of CONFIG_DB.
func (f field) to(table string) field {
	f.Refers = table
	return f
}

// number returns a field with a number in lo..hi, default def.
func number[N unsigned](name string, lo, hi, def uint64, at *N, words string) field {
	return field{Field: Field{Name: name, Words: words, kind: numberKind, lo: lo, hi: hi, def: def}, at: at}
}

// optional returns a field with a number that is 0, which is outside lo..hi, if the field is absent.
func optional[N unsigned](name string, lo, hi uint64, at *N, words string) field {
	return number(name, lo, hi, 0, at, words).or("")
}

// count returns a field with a measured number. If the field is absent, the number is unknown, which differs from 0.
func count[N unsigned](name string, at *N, words string) field {
	return number(name, 0, uint64(^N(0)), 0, at, words).needed()
}

// known returns a field with a 64-bit number that is unknown if the field is absent.
func known(name string, at **uint64, words string) field {
	return field{Field: Field{Name: name, Words: words, kind: numberKind, hi: 1<<64 - 1, none: true}, at: at}
}

// signed returns a field with a signed 64-bit number that is unknown if the field is absent.
func signed[N ~int64](name string, at **N, words string) field {
	return own(name, "a whole number", words, func(r *reader) {
		if n := r.signed(name); n != nil {
			v := N(*n)
			*at = &v
		}
	}, func() string {
		if *at == nil {
			return ""
		}
		return strconv.FormatInt(int64(**at), 10)
	})
}

// rangeForm describes a range in words.
func rangeForm(lo, hi uint64) string {
	if lo == 0 && hi >= 1<<62 {
		return "a number of " + strconv.Itoa(bits.Len64(hi)) + " bits"
	}
	return utoa(lo) + ".." + utoa(hi)
}

// duration returns a field with a number of units of time. If the field is absent, the duration is def. If def is 0 and
// lo is greater than 0, 0 means that the field is absent.
func duration(
	name string, unit time.Duration, lo, hi uint64, def time.Duration, at *time.Duration, words string,
) field {
	f := number[uint64](name, lo, hi, uint64(def/unit), nil, words)
	f.at, f.unit, f.none = at, unit, def == 0 && lo > 0
	return f
}

// text returns a field with arbitrary text.
func text(name string, at *string, words string) field {
	return field{Field: Field{Name: name, Words: words, kind: textKind}, at: at}
}

// word returns a field with one of the options, default def. Case does not matter.
func word(name, def string, options []string, at *string, words string) field {
	return field{Field: Field{Name: name, Default: def, Words: words, kind: wordKind, words: options}, at: at}
}

// flag returns a field with one of two words. The first means true.
func flag(name, yes, no string, def bool, at *bool, words string) field {
	f := word(name, no, []string{yes, no}, nil, words)
	if f.at = at; def {
		f.Default = yes
	}
	return f
}

// either returns a field with one of two words. The second means true; the first is the default.
func either(name, no, yes string, at *bool, words string) field {
	f := word(name, no, []string{no, yes}, nil, words)
	f.at, f.second = at, true
	return f
}

// boolean returns a flag with the words true and false.
func boolean(name string, def bool, at *bool, words string) field {
	return flag(name, "true", "false", def, at, words)
}

// enum returns a field whose value is one of options. Another package parses and formats the value.
func enum[E fmt.Stringer](
	name, def string, options []string, parse func(string) (E, error), at *E, words string,
) field {
	return field{
		Field: Field{Name: name, Default: def, Words: words, kind: wordKind, words: options},
		read:  func(r *reader) { *at, _ = parse(r.word(name, def, options...)) },
		write: func() string { return (*at).String() },
	}
}

// parsed returns a field that another package parses and formats. form describes its values, in words.
func parsed[E fmt.Stringer](name, def, form string, parse func(string) (E, error), at *E, words string) field {
	return field{
		Field: Field{Name: name, Form: form, Default: def, Words: words, Must: def == ""},
		read: func(r *reader) {
			v, ok := r.value(name)
			if !ok {
				v = def
			}
			if v == "" {
				r.bad(name, "", form)
				return
			}
			var err error
			if *at, err = parse(v); err != nil {
				r.bad(name, v, form)
			}
		},
		write: func() string { return (*at).String() },
	}
}

// name returns a field with the name of another row.
func name(name, def string, at *string, words string) field {
	return field{Field: Field{Name: name, Default: def, Words: words, kind: nameKind}, at: at}
}

// ref returns a field with the name of a row of a table of CONFIG_DB, also in SONiC's old form [TABLE|name].
func ref(name, table string, at *string, words string) field {
	return field{Field: Field{Name: name, Words: words, kind: refKind, Form: table}, at: at}
}

// hostMAC returns a field with the MAC address of one host; zero if it is absent.
func hostMAC(name string, at *MAC, words string) field {
	return field{Field: Field{Name: name, Words: words, kind: macKind}, at: at}
}

// list returns a field with elements separated by commas, which are sorted.
func list(name, form string, at *[]string, valid func(string) bool, words string) field {
	return own(name, form, words, func(r *reader) {
		*at = r.list(name)
		SortNames(*at)
		for _, e := range *at {
			if !valid(e) {
				r.bad(name, e, form)
			}
		}
	}, func() string { return strings.Join(*at, ",") }).parted(",")
}

// own returns a field that is read and written by its own functions.
func own(name, form, words string, read func(r *reader), write func() string) field {
	return field{Field: Field{Name: name, Form: form, Words: words}, read: read, write: write}
}

// in sets the type that reads and writes the field.
func (f field) in(at special) field {
	f.at = at
	return f
}

// within returns an own field with a number in lo..hi.
func within(name string, lo, hi uint64, words string, read func(r *reader), write func() string) field {
	f := own(name, "", words, read, write)
	f.kind, f.lo, f.hi = withinKind, lo, hi
	return f
}

// unsupported returns a field of SONiC that this switch cannot implement. It accepts only the value allowed.
func unsupported(name, allowed, want, words string) field {
	return own(name, cmp.Or(allowed, "not to be given"), words, func(r *reader) {
		if v, ok := r.value(name); ok && v != allowed {
			r.bad(name, v, want)
		}
	}, nil)
}

// ignored returns a placeholder for fields of SONiC that have no effect in this switch: they are reported, see
// [UnappliedParts]. A value after "=" is the switch's fixed behaviour.
func ignored(names ...string) field {
	return field{Field: Field{kind: ignoredKind, words: names}}
}

// shown returns the fields of a part of a row for its table's list, with leaves in a container. The function that reads
// the fields decides whether the row has the part.
func shown(container string, fields []field) []field {
	out := make([]field, len(fields))
	for i, f := range fields {
		out[i].Field = f.Field
		out[i].Leaf = container + "/" + f.leafName()
		out[i].Must, out[i].none, out[i].keep = false, true, false
	}
	return out
}

// named returns the key of rows that have names of their own.
func named(at *string) key { return key{form: "a name", at: at, valid: ValidName, want: nameWords} }

// only returns the key of a table's only row.
func only(name string) key {
	return key{form: name, read: func(r *reader, key string) {
		if key != name {
			r.bad("", key, name)
		}
	}}
}

// about returns the key of rows that describe the thing with that name, and do not store the name.
func about(form string) key { return key{form: form, read: func(*reader, string) {}} }

// called returns the key of rows with names of a certain form.
func called(form string, valid func(string) bool, at *string) key {
	return key{form: form, at: at, valid: valid, want: form}
}

// numbers formats a list of numbers.
func numbers[N unsigned](list []N) string {
	out := make([]byte, 0, 64)
	for i, n := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendUint(out, uint64(n), 10)
	}
	return string(out)
}
