package schema

import (
	"cmp"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// A kind of fields.
type kind uint8

const (
	ownKind     kind = iota // read and written by functions of its own
	textKind                // anything
	numberKind              // lo..hi
	wordKind                // one of words, in any case
	withinKind              // lo..hi, read and written by functions of its own
	nameKind                // of another row
	refKind                 // of a row of table, also in SONiC's old form [TABLE|name]
	macKind                 // of one host
	ignoredKind             // no field: those without effect
)

var kindForms = [...]string{
	textKind: "text", nameKind: "a name", macKind: "a unicast MAC address",
}

type unsigned interface {
	uint8 | uint16 | uint32 | uint64
}

// must makes the field mandatory; want is what would be right if it is missing, "" if reading it says so.
func (f field) must(want string) field {
	f.Must, f.want = true, want
	return f
}

// needed makes the field, a number or word, mandatory.
func (f field) needed() field {
	f.Must, f.required = true, true
	return f
}

// or sets what applies if the field is not given.
func (f field) or(def string) field {
	f.Default, f.none = def, true
	return f
}

// always makes the field be written even if it is empty.
func (f field) always() field {
	f.keep = true
	return f
}

// ifSet makes the field be written only if it differs from its default.
func (f field) ifSet() field {
	f.quiet = true
	return f
}

// leaf sets the path of the field's leaf, where that is not its name with dashes.
func (f field) leaf(path string) field {
	f.Leaf = path
	return f
}

// hidden says that no leaf has the field.
func (f field) hidden() field { return f.leaf(noLeaf) }

// labelled sets what an operator's tables call the field, where that is not the name of its leaf.
func (f field) labelled(label string) field {
	f.Label = label
	return f
}

// outcome has the metrics of sessions have the counter, under a name.
func (f field) outcome(name string) field {
	f.Outcome = name
	return f
}

// word sets the place of a counter among the numbers of the chip.
func (f field) word(n int) field {
	f.Word = n
	return f
}

// of says that only some roles count it.
func (f field) of(roles ...string) field {
	f.For = roles
	return f
}

// parted says that the field is a list.
func (f field) parted(separator string) field {
	f.Parts = separator
	return f
}

// number is a field with a number in lo..hi, def if it is not given.
func number[N unsigned](name string, lo, hi, def uint64, at *N, words string) field {
	return field{Field: Field{Name: name, Words: words, kind: numberKind, lo: lo, hi: hi, def: def}, at: at}
}

// optional is a number that is 0, which is not in lo..hi, if the field is absent.
func optional[N unsigned](name string, lo, hi uint64, at *N, words string) field {
	return number(name, lo, hi, 0, at, words).or("")
}

// count is a number that was measured: if the field is absent, it is not known, which is not the same as 0.
func count[N unsigned](name string, at *N, words string) field {
	return number(name, 0, uint64(^N(0)), 0, at, words).needed()
}

// known is a number of 64 bits that is not known if the field is absent.
func known(name string, at **uint64, words string) field {
	return field{Field: Field{Name: name, Words: words, kind: numberKind, hi: 1<<64 - 1, none: true}, at: at}
}

// signed is a signed number of 64 bits that is not known if the field is absent.
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

// rangeForm is a range in words.
func rangeForm(lo, hi uint64) string {
	if lo == 0 && hi >= 1<<62 {
		return "a number of " + strconv.Itoa(bits.Len64(hi)) + " bits"
	}
	return utoa(lo) + ".." + utoa(hi)
}

// duration is a number of units of time; without a default, and 0 not in lo..hi, it is 0 if not given.
func duration(
	name string, unit time.Duration, lo, hi uint64, def time.Duration, at *time.Duration, words string,
) field {
	f := number[uint64](name, lo, hi, uint64(def/unit), nil, words)
	f.at, f.unit, f.none = at, unit, def == 0 && lo > 0
	return f
}

// text is a field that is taken as is.
func text(name string, at *string, words string) field {
	return field{Field: Field{Name: name, Words: words, kind: textKind}, at: at}
}

// word is a field with one of some words in any case, def if it is not given.
func word(name, def string, options []string, at *string, words string) field {
	return field{Field: Field{Name: name, Default: def, Words: words, kind: wordKind, words: options}, at: at}
}

// flag is a field with one of two words, the first of which means true.
func flag(name, yes, no string, def bool, at *bool, words string) field {
	f := word(name, no, []string{yes, no}, nil, words)
	if f.at = at; def {
		f.Default = yes
	}
	return f
}

// either is a field with one of two words, the second of which means true; the first is the default.
func either(name, no, yes string, at *bool, words string) field {
	f := word(name, no, []string{no, yes}, nil, words)
	f.at, f.second = at, true
	return f
}

// boolean is a flag of the words true and false.
func boolean(name string, def bool, at *bool, words string) field {
	return flag(name, "true", "false", def, at, words)
}

// enum is a field with one of some words, which another package reads and writes.
func enum[E fmt.Stringer](
	name, def string, options []string, parse func(string) (E, error), at *E, words string,
) field {
	return field{
		Field: Field{Name: name, Default: def, Words: words, kind: wordKind, words: options},
		read:  func(r *reader) { *at, _ = parse(r.word(name, def, options...)) },
		write: func() string { return (*at).String() },
	}
}

// parsed is a field that another package reads and writes; form is what it holds, in words.
func parsed[E fmt.Stringer](name, def, form string, parse func(string) (E, error), at *E, words string) field {
	return field{
		Field: Field{Name: name, Form: form, Default: def, Words: words, Must: def == ""},
		read: func(r *reader) {
			v, ok := r.take(name)
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

// name is a field with the name of another row.
func name(name, def string, at *string, words string) field {
	return field{Field: Field{Name: name, Default: def, Words: words, kind: nameKind}, at: at}
}

// ref is a field with the name of a row of a table of CONFIG_DB, also in SONiC's old form [TABLE|name].
func ref(name, table string, at *string, words string) field {
	return field{Field: Field{Name: name, Words: words, kind: refKind, Form: table}, at: at}
}

// hostMAC is a field with the MAC address of one host; zero if it is absent.
func hostMAC(name string, at *MAC, words string) field {
	return field{Field: Field{Name: name, Words: words, kind: macKind}, at: at}
}

// list is a field with elements separated by commas, which are kept in order.
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

// own is a field that is read and written by functions of its own.
func own(name, form, words string, read func(r *reader), write func() string) field {
	return field{Field: Field{Name: name, Form: form, Words: words}, read: read, write: write}
}

// in binds the field to what reads and writes it.
func (f field) in(at special) field {
	f.at = at
	return f
}

// within is an own field with a number in lo..hi.
func within(name string, lo, hi uint64, words string, read func(r *reader), write func() string) field {
	f := own(name, "", words, read, write)
	f.kind, f.lo, f.hi = withinKind, lo, hi
	return f
}

// unsupported is a field of SONiC that this switch cannot implement, with the only values that it accepts.
func unsupported(name, allowed, want, words string) field {
	return own(name, cmp.Or(allowed, "not to be given"), words, func(r *reader) {
		if v, ok := r.take(name); ok && v != allowed {
			r.bad(name, v, want)
		}
	}, nil)
}

// ignored are fields of SONiC that have no effect in this switch: they are reported, see [UnappliedParts]. A value
// behind "=" is what the switch does in any case.
func ignored(names ...string) field {
	return field{Field: Field{kind: ignoredKind, words: names}}
}

// shown are fields of a part of a row as its table lists them, with their leaves in a container. Their reader decides
// whether the part exists.
func shown(container string, fields []field) []field {
	out := make([]field, len(fields))
	for i, f := range fields {
		out[i].Field = f.Field
		out[i].Leaf = container + "/" + f.leafName()
		out[i].Must, out[i].none, out[i].keep = false, true, false
	}
	return out
}

// named is the key of rows that have a name of their own.
func named(at *string) key { return key{form: "a name", at: at, valid: ValidName, want: nameWords} }

// only is the key of a table's only row.
func only(name string) key {
	return key{form: name, read: func(r *reader, key string) {
		if key != name {
			r.bad("", key, name)
		}
	}}
}

// about is the key of rows that are about something of that name, and do not repeat it.
func about(form string) key { return key{form: form, read: func(*reader, string) {}} }

// called is the key of rows that have a name of a kind.
func called(form string, valid func(string) bool, at *string) key {
	return key{form: form, at: at, valid: valid, want: form}
}

// numbers writes a list of numbers.
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
