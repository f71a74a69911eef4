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
	ownKind    kind = iota // read and written by functions of its own
	textKind               // anything
	numberKind             // lo..hi
	wordKind               // one of words, in any case
	nameKind               // of another row
	macKind                // of one host
)

type unsigned interface {
	~uint8 | ~uint16 | ~uint32 | ~uint64
}

// must says that the field has to be there, and what would be right where it is missing.
func (f field[T]) must(want string) field[T] {
	f.Must, f.want, f.Default = true, want, ""
	return f
}

// or is what holds where the field is not given.
func (f field[T]) or(def string) field[T] {
	f.Default = def
	return f
}

// always has the field written also where it is empty.
func (f field[T]) always() field[T] {
	f.keep = true
	return f
}

// ifSet has the field written only where it does not say its default.
func (f field[T]) ifSet() field[T] {
	f.quiet = true
	return f
}

// number is a field with a number in lo..hi, def if it is not given.
func number[T any, N unsigned](name string, lo, hi, def uint64, at func(*T) *N, words string) field[T] {
	return field[T]{
		Field: Field{Name: name, Form: rangeForm(lo, hi), Default: utoa(def), Words: words, kind: numberKind, lo: lo, hi: hi},
		read:  func(r *reader, f *Field, row *T) { *at(row) = N(r.number(f.Name, lo, hi, def)) },
		write: func(row *T) string { return utoa(*at(row)) },
	}
}

// optional is a number that a row without it holds as 0, which is not in lo..hi.
func optional[T any, N unsigned](name string, lo, hi uint64, at func(*T) *N, words string) field[T] {
	f := number(name, lo, hi, 0, at, words)
	f.write = func(row *T) string { return put0(uint64(*at(row))) }
	f.Default = ""
	return f
}

// count is a number that was measured: a row that does not have it says nothing of it, least of all 0.
func count[T any, N unsigned](name string, at func(*T) *N, words string) field[T] {
	return number(name, 0, uint64(^N(0)), 0, at, words).must(rangeWords(0, uint64(^N(0))))
}

// known is a number of 64 bits that is not known where the field is not there.
func known[T any](name string, at func(*T) **uint64, words string) field[T] {
	return field[T]{
		Field: Field{Name: name, Form: rangeForm(0, 1<<64-1), Words: words, kind: numberKind, hi: 1<<64 - 1},
		read: func(r *reader, f *Field, row *T) {
			if _, ok := r.fields[f.Name]; ok {
				n := r.number(f.Name, 0, 1<<64-1, 0)
				*at(row) = &n
			}
		},
		write: func(row *T) string {
			if n := *at(row); n != nil {
				return utoa(*n)
			}
			return ""
		},
	}
}

// signed is a number of 64 bits with a sign, that is not known where the field is not there.
func signed[T any, N ~int64](name string, at func(*T) **N, words string) field[T] {
	return own(name, "a whole number", words, func(r *reader, row *T) {
		if n := r.signed(name); n != nil {
			v := N(*n)
			*at(row) = &v
		}
	}, func(row *T) string {
		if n := *at(row); n != nil {
			return strconv.FormatInt(int64(*n), 10)
		}
		return ""
	})
}

// put0 writes a number that is not 0.
func put0(n uint64) string {
	if n == 0 {
		return ""
	}
	return utoa(n)
}

// rangeForm is a range in words.
func rangeForm(lo, hi uint64) string {
	if lo == 0 && hi >= 1<<62 {
		return "a number of " + strconv.Itoa(bits.Len64(hi)) + " bits"
	}
	return utoa(lo) + ".." + utoa(hi)
}

// duration is a number of units of time; without a default, and 0 not in lo..hi, 0 where it is not given.
func duration[T any](
	name string, unit time.Duration, lo, hi uint64, def time.Duration, at func(*T) *time.Duration, words string,
) field[T] {
	f := number[T, uint64](name, lo, hi, uint64(def/unit), nil, words)
	f.read = func(r *reader, f *Field, row *T) {
		*at(row) = time.Duration(r.number(f.Name, lo, hi, uint64(def/unit))) * unit
	}
	f.write = func(row *T) string { return utoa(uint64(*at(row) / unit)) }
	if def == 0 && lo > 0 {
		f.Default = ""
		f.write = func(row *T) string { return put0(uint64(*at(row) / unit)) }
	}
	return f
}

// text is a field that is taken as it is.
func text[T any](name string, at func(*T) *string, words string) field[T] {
	return field[T]{
		Field: Field{Name: name, Form: "text", Words: words, kind: textKind},
		read:  func(r *reader, f *Field, row *T) { *at(row) = r.text(f.Name) },
		write: func(row *T) string { return *at(row) },
	}
}

// word is a field with one of some words in any case, def if it is not given.
func word[T any, S ~string](name string, def S, options []S, at func(*T) *S, words string) field[T] {
	var list []string
	for _, o := range options {
		list = append(list, string(o))
	}
	return field[T]{
		Field: Field{Name: name, Form: oneOf(list), Default: string(def), Words: words, kind: wordKind, words: list},
		read:  func(r *reader, f *Field, row *T) { *at(row) = S(r.word(f.Name, string(def), list...)) },
		write: func(row *T) string { return string(*at(row)) },
	}
}

// flag is a field of two words, the first of which is true.
func flag[T any](name, yes, no string, def bool, at func(*T) *bool, words string) field[T] {
	word := func(b bool) string {
		if b {
			return yes
		}
		return no
	}
	list := []string{yes, no}
	return field[T]{
		Field: Field{Name: name, Form: oneOf(list), Default: word(def), Words: words, kind: wordKind, words: list},
		read:  func(r *reader, f *Field, row *T) { *at(row) = r.flag(f.Name, def, yes, no) },
		write: func(row *T) string { return word(*at(row)) },
	}
}

// either is a field of two words, the second of which is true, and the first holds if none is given.
func either[T any](name, no, yes string, at func(*T) *bool, words string) field[T] {
	f := flag(name, yes, no, false, at, words)
	f.words = []string{no, yes}
	f.Form = oneOf(f.words)
	f.read = func(r *reader, f *Field, row *T) { *at(row) = r.word(f.Name, no, f.words...) == yes }
	return f
}

// boolean is a flag of the words true and false.
func boolean[T any](name string, def bool, at func(*T) *bool, words string) field[T] {
	return flag(name, "true", "false", def, at, words)
}

// enum is a field with one of some words, which another package reads and writes.
func enum[T any, E fmt.Stringer](
	name, def string, options []string, parse func(string) (E, error), at func(*T) *E, words string,
) field[T] {
	return field[T]{
		Field: Field{Name: name, Form: oneOf(options), Default: def, Words: words, kind: wordKind, words: options},
		read: func(r *reader, f *Field, row *T) {
			*at(row), _ = parse(r.word(f.Name, def, options...))
		},
		write: func(row *T) string { return (*at(row)).String() },
	}
}

// parsed is a field that another package reads and writes; form is what it holds, in words.
func parsed[T any, E fmt.Stringer](
	name, def, form string, parse func(string) (E, error), at func(*T) *E, words string,
) field[T] {
	return field[T]{
		Field: Field{Name: name, Form: form, Default: def, Words: words, Must: def == ""},
		read: func(r *reader, f *Field, row *T) {
			v, ok := r.take(f.Name)
			if !ok {
				v = def
			}
			if v == "" {
				r.bad(f.Name, "", form)
				return
			}
			var err error
			if *at(row), err = parse(v); err != nil {
				r.bad(f.Name, v, form)
			}
		},
		write: func(row *T) string { return (*at(row)).String() },
	}
}

// name is a field with the name of another row.
func name[T any](name, def string, at func(*T) *string, words string) field[T] {
	return field[T]{
		Field: Field{Name: name, Form: "a name", Default: def, Words: words, kind: nameKind},
		read:  func(r *reader, f *Field, row *T) { *at(row) = r.name(f.Name, def) },
		write: func(row *T) string { return *at(row) },
	}
}

// ref is a field with the name of a row of a table of CONFIG_DB, also in SONiC's old form [TABLE|name].
func ref[T any](name, table string, at func(*T) *string, words string) field[T] {
	return field[T]{
		Field: Field{Name: name, Form: "a row of " + table, Words: words, kind: nameKind},
		read:  func(r *reader, f *Field, row *T) { *at(row) = r.ref(f.Name, table) },
		write: func(row *T) string { return *at(row) },
	}
}

// hostMAC is a field with the MAC address of one host; zero: it is not there.
func hostMAC[T any](name string, at func(*T) *MAC, words string) field[T] {
	return field[T]{
		Field: Field{Name: name, Form: "a unicast MAC address", Words: words, kind: macKind},
		read:  func(r *reader, f *Field, row *T) { *at(row) = r.unicast(f.Name) },
		write: func(row *T) string {
			if at(row).IsZero() {
				return ""
			}
			return at(row).String()
		},
	}
}

// list is a field with elements separated by commas, which are kept in order.
func list[T any](name, form string, at func(*T) *[]string, valid func(string) bool, words string) field[T] {
	return field[T]{
		Field: Field{Name: name, Form: form, Words: words},
		read: func(r *reader, f *Field, row *T) {
			elements := r.list(f.Name)
			SortNames(elements)
			for _, e := range elements {
				if !valid(e) {
					r.bad(f.Name, e, form)
				}
			}
			*at(row) = elements
		},
		write: func(row *T) string { return strings.Join(*at(row), ",") },
	}
}

// own is a field that is read and written by functions of its own.
func own[T any](name, form, words string, read func(r *reader, row *T), write func(row *T) string) field[T] {
	f := field[T]{Field: Field{Name: name, Form: form, Words: words}, write: write}
	if read != nil {
		f.read = func(r *reader, _ *Field, row *T) { read(r, row) }
	}
	return f
}

// unsupported is a field that SONiC has and this switch cannot do: what it may say instead.
func unsupported[T any](name, allowed, want, words string) field[T] {
	return field[T]{
		Field: Field{Name: name, Form: cmp.Or(allowed, "not to be given"), Words: words},
		read: func(r *reader, f *Field, _ *T) {
			if v, ok := r.take(f.Name); ok && v != allowed {
				r.bad(f.Name, v, want)
			}
		},
	}
}

// ignored are fields that SONiC has and this switch makes nothing of. The row holds which of them are given;
// in APPL_DB they are the field [FieldIgnored].
func ignored[T any](at func(*T) *[]string, names ...string) field[T] {
	return field[T]{
		Field: Field{Name: FieldIgnored, Form: "fields",
			Words: "Fields of SONiC that have no effect: " + strings.Join(names, ", ") + "."},
		read:  func(r *reader, _ *Field, row *T) { *at(row) = r.ignore(names...) },
		write: func(row *T) string { return strings.Join(*at(row), ",") },
	}
}

// within are the fields of a part of a row.
func within[T, U any](at func(*T) *U, fields ...field[U]) []field[T] {
	out := make([]field[T], len(fields))
	for i, f := range fields {
		out[i].Field = f.Field
		if f.read != nil {
			out[i].read = func(r *reader, d *Field, row *T) { f.read(r, d, at(row)) }
		}
		if f.write != nil {
			out[i].write = func(row *T) string { return f.write(at(row)) }
		}
	}
	return out
}

// described are fields of a part of a row as its table lists them. Who reads them decides whether the part is there.
func described[T, U any](fields []field[U]) []field[T] {
	out := make([]field[T], len(fields))
	for i, f := range fields {
		out[i].Field = f.Field
		out[i].Must = false
	}
	return out
}

// named is the key of rows that have a name of their own.
func named[T any](at func(*T) *string) key[T] {
	return key[T]{form: "a name", read: func(r *reader, key string, row *T) {
		*at(row) = key
		if !ValidName(key) {
			r.bad("", key, nameWords)
		}
	}}
}

// only is the key of a table's only row.
func only[T any](name string) key[T] {
	return key[T]{form: name, read: func(r *reader, key string, _ *T) {
		if key != name {
			r.bad("", key, name)
		}
	}}
}

// called is the key of rows that have a name of a kind.
func called[T any](form string, valid func(string) bool, at func(*T) *string) key[T] {
	return key[T]{form: form, read: func(r *reader, key string, row *T) {
		*at(row) = key
		if !valid(key) {
			r.bad("", key, form)
		}
	}}
}

// numbers writes a list of numbers.
func numbers[N unsigned](list []N) string {
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = utoa(n)
	}
	return strings.Join(words, ",")
}
