package query

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Kind is the type of a field's values, with their unit.
type Kind uint8

// The kinds of fields. The numbers are Count and those after it.
const (
	Text     Kind = iota
	Boolean       // yes or no
	Address       // an IP address
	Count         // a whole number
	Duration      // in nanoseconds
	Bytes         // in bytes
	Share         // in millionths, written as a percentage
	Time          // in nanoseconds since 1970
	Kinds         // one more than the greatest kind
)

// String returns the kind's name, as exports contain it.
func (k Kind) String() string {
	names := [...]string{"text", "boolean", "address", "count", "nanoseconds", "bytes", "millionths", "unix-nanoseconds"}
	if int(k) >= len(names) {
		return fmt.Sprintf("kind %d", uint8(k))
	}
	return names[k]
}

// Number reports whether the values are numbers.
func (k Kind) Number() bool { return k >= Count }

// Literal returns a number of this kind as a filter contains it.
func (k Kind) Literal(n int64) string {
	switch k {
	case Duration:
		return strconv.FormatInt(n, 10) + "ns"
	case Share:
		return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.4f", float64(n)/1e4), "0"), ".") + "%"
	case Time:
		return time.Unix(0, n).UTC().Format(time.RFC3339Nano)
	}
	return strconv.FormatInt(n, 10)
}

// A Range holds the bounds of a number, both inclusive. They are equal if the number is known exactly. A High of
// math.MaxInt64 means that there is no upper bound.
type Range struct{ Low, High int64 }

// Exactly returns the range of a known number.
func Exactly(n int64) Range { return Range{n, n} }

// Exact reports whether the number is known.
func (r Range) Exact() bool { return r.Low == r.High }

// Open reports whether the number has no upper bound.
func (r Range) Open() bool { return r.High == math.MaxInt64 && r.Low != r.High }

// A Total is how the numbers of a field combine in a group of rows.
type Total uint8

const (
	// NoTotal means that groups do not combine the field.
	NoTotal Total = iota
	// Sum adds the numbers, which are not negative. If some are unknown, the sum has no upper bound.
	Sum
	// Between returns the range from the least to the greatest number. The mean and each quantile of all values of a group
	// are between those of its rows. The range is unknown if one of the numbers is.
	Between
	// Most returns the range of the greatest number. It has no upper bound if some are unknown.
	Most
)

// A Field is one column of a kind of row R.
type Field[R any] struct {
	Name string // letters, digits, dots and dashes, such as delay.p99
	Help string
	Kind Kind
	// Words are known values of a text. If Closed is set, there are no other values.
	Words  []string
	Closed bool
	// Spelling lets filters contain a text in other spellings. nil means that each text has one spelling.
	Spelling *Spelling
	Total    Total
	// Key marks a field that must be part of every grouping, since numbers of rows that differ in it must not be added.
	Key bool
	// Bounded marks a number whose bounds may differ.
	Bounded bool

	// One of these functions returns the i-th value in a row, or false if there is no further one. Texts and Booleans use
	// Text; a Boolean's values are "yes" and "no". The functions must not allocate.
	Text    func(row *R, i int) (string, bool)
	Address func(row *R, i int) (netip.Addr, bool)
	Number  func(row *R, i int) (Range, bool)
	// Whole reports whether a row has no further value that is unknown. nil means that a row without a value has an
	// unknown one, and that other rows have none.
	Whole func(row *R) bool
}

// A Spelling defines the texts of a field by the words that filters may contain for them.
type Spelling struct {
	// Value returns the text that a word stands for, or false if the word stands for none.
	Value func(word string) (string, bool)
	Want  string // describes the words that Field.Words does not list
}

// One returns the accessor of a field with at most one value.
func One[R, V any](get func(*R) (V, bool)) func(*R, int) (V, bool) {
	return func(r *R, i int) (v V, ok bool) {
		if i > 0 {
			return v, false
		}
		return get(r)
	}
}

// YesNo returns the text of a Boolean.
func YesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// whole reports whether the row's n values are all values that it has.
func (f *Field[R]) whole(r *R, n int) bool {
	if f.Whole == nil {
		return n > 0
	}
	return f.Whole(r)
}

// has reports whether the row has an i-th value.
func (f *Field[R]) has(r *R, i int) (ok bool) {
	switch {
	case f.Kind.Number():
		_, ok = f.Number(r, i)
	case f.Kind == Address:
		_, ok = f.Address(r, i)
	default:
		_, ok = f.Text(r, i)
	}
	return ok
}

// A Table declares the fields of a kind of row.
type Table[R any] struct {
	Rows   string // name of the rows in the plural, such as flows
	Fields []Field[R]
	// Start is the time in ns since 1970 from which durations are counted that are compared with times, as in the results
	// of a simulation. It is 0 if times are compared with times of day.
	Start int64
}

// Field returns the field of this name, or nil.
func (t *Table[R]) Field(name string) *Field[R] {
	i := slices.IndexFunc(t.Fields, func(f Field[R]) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &t.Fields[i]
}

// names returns the names of the fields.
func (t *Table[R]) names() (list []string) {
	for i := range t.Fields {
		list = append(list, t.Fields[i].Name)
	}
	return list
}

// Check returns an error if the declaration of a field cannot work.
func (t *Table[R]) Check() error {
	seen := map[string]bool{}
	for i := range t.Fields {
		f := &t.Fields[i]
		odd := func(c rune) bool { return c > 'z' || !isWord(c) || c >= 'A' && c <= 'Z' }
		reads := map[bool]bool{true: f.Number != nil, false: f.Text != nil}[f.Kind.Number()]
		if f.Kind == Address {
			reads = f.Address != nil
		}
		named := f.Name != "" && !strings.ContainsFunc(f.Name, odd) && !reserved[f.Name] && !seen[f.Name]
		if !named || f.Kind >= Kinds || !reads {
			return fmt.Errorf("field %q of %s: want a name that is a word in small letters and of one field, a kind, and the "+
				"function that reads this kind", f.Name, t.Rows)
		}
		if f.Total != NoTotal && !f.Kind.Number() || f.Key && f.Kind.Number() {
			return fmt.Errorf("field %q of %s: want a total of a number, and a key that is none", f.Name, t.Rows)
		}
		seen[f.Name] = true
	}
	return nil
}
