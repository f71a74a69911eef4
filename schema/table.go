package schema

import (
	"cmp"
	"strings"
)

// A Field is a field of a table.
type Field struct {
	Name    string
	Form    string // what it holds, in words
	Default string // what holds where it is not given, as it would be written; "": see Words
	Must    bool   // a row without it is refused
	Words   string // what it is for

	kind     kind
	lo, hi   uint64   // of a number
	def      uint64   // of a number, where it is not given
	words    []string // of a word; fields that are ignored
	want     string   // what would be right, where the field is missing
	required bool     // it is missing where it is not there, and Form is what would be right
	none     bool     // there is no default
	keep     bool     // it is written also where it is empty
	quiet    bool     // it is not written where it says what holds without it
}

// described completes what a table says of a field with what follows from its kind.
func (f Field) described() Field {
	switch f.kind {
	case numberKind:
		f.Form = rangeForm(f.lo, f.hi)
		if !f.Must && !f.none {
			f.Default = utoa(f.def)
		}
	case wordKind:
		f.Form = oneOf(f.words)
	case ignoredKind:
		f.Words = "Fields of SONiC that have no effect: " + strings.Join(f.words, ", ") + "."
	}
	f.Form = cmp.Or(f.Form, kindForms[f.kind])
	return f
}

// missing says what would be right in place of nothing; "": it need not be there.
func (f *Field) missing() string {
	switch {
	case !f.required:
		return f.want
	case f.kind == numberKind:
		return rangeWords(f.lo, f.hi)
	}
	return oneOf(f.words)
}

// A field is a field of a row at hand: how it is read into the row and written of it.
type field struct {
	Field
	read  func(r *reader)
	write func() string // "": the row does not have the field
}

// A key is what a row at hand is called.
type key struct {
	form string // what rows are called, in words
	read func(r *reader, key string)
}

// A layout says how a row at hand stands in its table: how its key and each of its fields are
// read and written. A new kind of rows is a struct with a layout, and its line in [Tables].
type layout struct {
	table  string // as errors name it
	key    key
	fields []field
	// check is for what concerns several fields. It is called when all are read.
	check func(r *reader)
	// format writes what no field writes by itself.
	format func(f map[string]string)
	open   bool // fields that are not listed are ignored
	upper  bool // the case of the names of fields does not matter
}

// laidOut is a row of type T.
type laidOut[T any] interface {
	*T
	layout() layout
}

// parse reads a row of type T.
func parse[T any, P laidOut[T]](key string, fields map[string]string) (row T, err error) {
	err = P(&row).layout().parse("", key, fields)
	return row, err
}

// parseIn reads a row of another table of the same layout.
func parseIn[T any, P laidOut[T]](table, key string, fields map[string]string) (row T, err error) {
	err = P(&row).layout().parse(table, key, fields)
	return row, err
}

// parse reads the row; table is its own if "". Errors come in the order of the fields.
func (l layout) parse(table, key string, fields map[string]string) error {
	r := newReader(cmp.Or(table, l.table), key, fields, l.upper)
	l.key.read(r, key)
	l.take(r)
	return r.err()
}

// take reads the fields of a row.
func (l *layout) take(r *reader) {
	for i := range l.fields {
		f := &l.fields[i]
		if f.read == nil {
			continue
		}
		f.read(r)
		if v, empty := r.fields[f.Name]; v == "" && !(empty && f.kind == numberKind) { // of that it is told already
			if want := f.missing(); want != "" {
				r.bad(f.Name, "", want)
			}
		}
	}
	if l.check != nil {
		l.check(r)
	}
	if !l.open {
		r.unknown()
	}
}

// row writes the row.
func (l layout) row() map[string]string {
	out := make(map[string]string, len(l.fields))
	for i := range l.fields {
		f := &l.fields[i]
		if f.write == nil {
			continue
		}
		if v := f.write(); v != "" && !(f.quiet && v == f.Default) || f.keep {
			out[f.Name] = v
		}
	}
	if l.format != nil {
		l.format(out)
	}
	return out
}
