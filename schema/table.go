package schema

// A Field is a field of a table.
type Field struct {
	Name    string
	Form    string // what it holds, in words
	Default string // what holds where it is not given, as it would be written; "": see Words
	Must    bool   // a row without it is refused
	Words   string // what it is for

	kind   kind
	lo, hi uint64   // of a number
	words  []string // of a word
	want   string   // what would be right, where the field is missing
	keep   bool     // it is written also where it is empty
	quiet  bool     // it is not written where it says what holds without it
}

// A field is a field in rows of type T.
type field[T any] struct {
	Field
	read  func(r *reader, f *Field, row *T)
	write func(row *T) string // "": the row does not have the field
}

// A key is what rows of type T are called.
type key[T any] struct {
	form string // in words
	read func(r *reader, key string, row *T)
}

// rows says how rows of type T stand in a table: how the key and each field are read and
// written. A new kind of rows is one such value, and its line in [Tables].
type rows[T any] struct {
	table  string // as errors name it
	key    key[T]
	fields []field[T]
	// check is for what concerns several fields. It is called when all are read.
	check func(r *reader, row *T)
	// format writes what no field writes by itself.
	format func(row *T, f map[string]string)
	open   bool // fields that are not listed are ignored
	upper  bool // the case of the names of fields does not matter
}

// parse reads a row. Its errors come in the order of the fields.
func (t *rows[T]) parse(key string, fields map[string]string) (T, error) {
	return t.parseIn(t.table, key, fields)
}

// parseIn reads a row of another table of the same form.
func (t *rows[T]) parseIn(table, key string, fields map[string]string) (T, error) {
	r := newReader(table, key, fields, t.upper)
	var row T
	t.key.read(r, key, &row)
	t.take(r, &row)
	return row, r.err()
}

// take reads the fields of a row.
func (t *rows[T]) take(r *reader, row *T) {
	for i := range t.fields {
		f := &t.fields[i]
		if f.read == nil {
			continue
		}
		f.read(r, &f.Field, row)
		if v, empty := r.fields[f.Name]; f.want != "" && v == "" && !(empty && f.kind == numberKind) { // it has been told
			r.bad(f.Name, "", f.want)
		}
	}
	if t.check != nil {
		t.check(r, row)
	}
	if !t.open {
		r.unknown()
	}
}

// fieldsOf writes a row.
func (t *rows[T]) fieldsOf(row T) map[string]string {
	out := make(map[string]string, len(t.fields))
	for i := range t.fields {
		f := &t.fields[i]
		if f.write == nil {
			continue
		}
		if v := f.write(&row); v != "" && !(f.quiet && v == f.Default) || f.keep {
			out[f.Name] = v
		}
	}
	if t.format != nil {
		t.format(&row, out)
	}
	return out
}
