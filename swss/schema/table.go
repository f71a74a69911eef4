package schema

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// A Field is a field of a table.
type Field struct {
	Name    string
	Form    string // form of the field's values, in words
	Default string // the default, as it would be written; "" if Words describes it
	Words   string // purpose of the field, in words
	Must    bool   // true if a row without the field is refused

	// Leaf is the path of the field's leaf below the container for the table's leaves in a list's entry; "" if it has
	// no leaf.
	Leaf string
	// Label is the field's name in an operator's tables; "" if they do not show the field.
	Label string
	// Parts is the separator of a list's elements; "" if the field is not a list.
	Parts string
	// Metric is the name of the field's family of metrics, see [Metrics]; "" if they omit it. Outcome is the value of the
	// family's label for this field.
	Metric, Outcome string
	// Word is the index of a counter among the numbers of the chip, if that differs from its index in the table.
	Word int
	// Refers is the table of CONFIG_DB whose row the field names; "" if it names none, or rows of several tables.
	Refers string
	// For lists the roles of a session that count the field; empty means all roles.
	For []string

	kind     kind
	required bool          // true if the field is mandatory; Form then describes the valid form
	none     bool          // true if there is no default
	keep     bool          // true if the field is written even if it is empty
	quiet    bool          // true if the field is not written while it equals the default
	second   bool          // for a flag: true if the second word means true, instead of the first
	lo, hi   uint64        // for a number: bounds, both included
	def      uint64        // for a number: the default
	unit     time.Duration // for a number that is a time: the unit of the number
	words    []string      // for a word: the valid words; otherwise names of fields without effect
	want     string        // valid form, for the error if the field is missing
	gauge    bool          // for a counter: true if it may decrease
}

// leafName returns the path of the field's leaf, by default its name with dashes. It returns "" if the field has
// none.
func (f *Field) leafName() string {
	if f.Leaf == noLeaf {
		return ""
	}
	return cmp.Or(f.Leaf, strings.ToLower(strings.ReplaceAll(f.Name, "_", "-")))
}

// Values of Leaf and Label in the declaration of a field that has no leaf or no label.
const (
	noLeaf  = "-"
	noLabel = "-"
)

// Has reports whether the role counts the field.
func (f *Field) Has(role string) bool { return len(f.For) == 0 || slices.Contains(f.For, role) }

// described completes a table's description of a field by the properties of its kind.
func (f Field) described() Field {
	switch f.kind {
	case numberKind:
		f.Form = rangeForm(f.lo, f.hi)
		if !f.Must && !f.none {
			f.Default = utoa(f.def)
		}
	case withinKind:
		f.Form = rangeForm(f.lo, f.hi)
	case wordKind:
		f.Form = oneOf(f.words)
	case refKind:
		f.Form = "a row of " + f.Form
	}
	f.Form = cmp.Or(f.Form, kindForms[f.kind])
	f.Leaf = f.leafName()
	if f.Label = cmp.Or(f.Label, labelOf(f.Leaf)); f.Label == noLabel {
		f.Label = ""
	}
	return f
}

// Range returns the least and the greatest number that the field can hold. ok is false if it is not a number.
func (f *Field) Range() (lo, hi uint64, ok bool) {
	return f.lo, f.hi, f.kind == numberKind || f.kind == withinKind
}

// Choices returns the words that the field can hold. It returns nil for other kinds of fields.
func (f *Field) Choices() []string {
	if f.kind != wordKind {
		return nil
	}
	return slices.Clone(f.words)
}

// labelOf derives a label from the last part of a leaf's path.
func labelOf(leaf string) string {
	words := strings.Split(leaf[strings.LastIndex(leaf, "/")+1:], "-")
	for i, w := range words {
		if w != "" {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, " ")
}

// withLeaves returns the fields of rows without a type, with their default leaves.
func withLeaves(fields ...Field) []Field {
	for i := range fields {
		fields[i] = fields[i].described()
	}
	return fields
}

// missing returns the valid form if a mandatory field is absent. It returns "" for an optional field.
func (f *Field) missing() string {
	switch {
	case !f.required:
		return f.want
	case f.kind == numberKind:
		return rangeWords(f.lo, f.hi)
	}
	return oneOf(f.words)
}

// A field is a field of an actual row: the place in the row, which its kind reads and writes, or functions that do
// so.
type field struct {
	Field
	at    any
	read  func(r *reader)
	write func() string // returns "" if the row does not have the field
}

// A special is a variable that reads and writes its field itself. So rows need no memory for functions that do this.
type special interface {
	parse(r *reader)
	value() string
}

// parse reads the field.
func (f *field) parse(r *reader) {
	switch at := f.at.(type) {
	case *string:
		*at = f.parseText(r)
	case *bool:
		*at = (r.word(f.Name, f.Default, f.words...) == f.words[0]) != f.second
	case *uint8:
		*at = uint8(f.number(r))
	case *uint16:
		*at = uint16(f.number(r))
	case *uint32:
		*at = uint32(f.number(r))
	case *uint64:
		*at = f.number(r)
	case **uint64:
		if _, ok := r.fields[f.Name]; ok {
			n := f.number(r)
			*at = &n
		}
	case *time.Duration:
		*at = time.Duration(f.number(r)) * f.unit
	case *MAC:
		*at = r.unicast(f.Name)
	case special:
		at.parse(r)
	default:
		f.read(r)
	}
}

// number reads a number within the field's bounds.
func (f *field) number(r *reader) uint64 { return r.number(f.Name, f.lo, f.hi, f.def) }

// parseText reads a text, word or name.
func (f *field) parseText(r *reader) string {
	switch f.kind {
	case wordKind:
		return r.word(f.Name, f.Default, f.words...)
	case nameKind:
		return r.name(f.Name, f.Default)
	case refKind:
		return r.ref(f.Name, f.Form)
	}
	return r.text(f.Name)
}

// value returns the text of the field for a row.
func (f *field) value() string {
	switch at := f.at.(type) {
	case *string:
		return *at
	case *bool:
		if *at != f.second {
			return f.words[0]
		}
		return f.words[1]
	case *uint8:
		return f.put(uint64(*at))
	case *uint16:
		return f.put(uint64(*at))
	case *uint32:
		return f.put(uint64(*at))
	case *uint64:
		return f.put(*at)
	case **uint64:
		if *at != nil {
			return utoa(**at)
		}
	case *time.Duration:
		return f.put(uint64(*at / f.unit))
	case *MAC:
		if !at.IsZero() {
			return at.String()
		}
	case *[]string:
		return strings.Join(*at, ",")
	case special:
		return at.value()
	default:
		return f.write()
	}
	return ""
}

// put formats a number. It returns "" for 0 if 0 means that there is no value.
func (f *field) put(n uint64) string {
	if n == 0 && f.none {
		return ""
	}
	return utoa(n)
}

// A key is the key of an actual row: a valid string that the row holds, or a function that reads it.
type key struct {
	form  string // form of the keys, in words
	at    *string
	valid func(string) bool
	want  string // valid form, for errors
	read  func(r *reader, key string)
}

// parse reads the key.
func (k *key) parse(r *reader, text string) {
	if k.read != nil {
		k.read(r, text)
	} else if *k.at = text; !k.valid(text) {
		r.bad("", text, k.want)
	}
}

// A layout defines how an actual row is stored in its table: how its key and each of its fields are read and written.
// A new kind of rows is a struct with a layout, and a line in [Tables].
type layout struct {
	table  string // name of the table in errors
	key    key
	fields []field
	// check checks conditions on several fields. It is called when all have been read.
	check func(r *reader)
	// format writes the parts of the row that are not in a single field.
	format func(f map[string]string)
	open   bool // true if unknown fields are ignored
	upper  bool // true if the case of field names does not matter
}

// laidOut is a row of type T.
type laidOut[T any] interface {
	*T
	layout() layout
}

// parse parses a row of type T.
func parse[T any, P laidOut[T]](key string, fields map[string]string) (row T, err error) {
	err = P(&row).layout().parse("", key, fields)
	return row, err
}

// parseIn parses a row of another table with the same layout.
func parseIn[T any, P laidOut[T]](table, key string, fields map[string]string) (row T, err error) {
	err = P(&row).layout().parse(table, key, fields)
	return row, err
}

// parse parses the row. table, if not "", overrides the layout's own table. Errors come in the order of the fields.
func (l layout) parse(table, key string, fields map[string]string) error {
	r := newReader(cmp.Or(table, l.table), key, fields, l.upper)
	l.key.parse(r, key)
	l.parseFields(r)
	return r.err()
}

// examine parses the row like parse. It returns the reader, which records the fields that were read, even if unknown
// fields are ignored.
func (l layout) examine(table, key string, fields map[string]string) *reader {
	r := newReader(cmp.Or(table, l.table), key, fields, l.upper)
	r.examined = true
	l.key.parse(r, key)
	l.parseFields(r)
	return r
}

// parseFields reads the fields of a row.
func (l *layout) parseFields(r *reader) {
	if r.open = l.open && !r.examined; !r.open {
		r.known = slices.Grow(r.known, len(l.fields))
	}
	for i := range l.fields {
		f := &l.fields[i]
		if f.at == nil && f.read == nil {
			if f.kind == ignoredKind && !r.open {
				r.ignore(f.words...)
			}
			continue
		}
		f.parse(r)
		if v, empty := r.fields[f.Name]; v == "" && !(empty && f.kind == numberKind) { // reported already
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

// initialFields is the initial capacity of a row's map: the maximum before Go splits the map. Most rows use only some
// of their fields.
const initialFields = 8

// row formats the row.
func (l layout) row() map[string]string {
	out := make(map[string]string, min(len(l.fields), initialFields))
	for i := range l.fields {
		f := &l.fields[i]
		if f.at == nil && f.write == nil {
			continue
		}
		if v := f.value(); v != "" && !(f.quiet && v == f.Default) || f.keep {
			out[f.Name] = v
		}
	}
	if l.format != nil {
		l.format(out)
	}
	return out
}
