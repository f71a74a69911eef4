package query

import (
	"cmp"
	"strings"
	"unicode/utf8"
)

// An Order compares two rows.
type Order[R any] func(a, b *R) int

// Order compiles an order: names of fields with a comma between them, each with a minus in front if the greatest value
// comes first. Unknown values come last, in both directions. An empty text is no order, and returns nil. The error is
// an *Error.
func (t *Table[R]) Order(text string) (Order[R], error) {
	var list []Order[R]
	err := each("order", text, func(name string) string {
		bare, down := strings.CutPrefix(name, "-")
		f := t.Field(bare)
		if f == nil {
			return wantName(t.Rows, bare, t.names())
		}
		list = append(list, f.order(down))
		return ""
	})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return func(a, b *R) int {
		for _, c := range list {
			if n := c(a, b); n != 0 {
				return n
			}
		}
		return 0
	}, nil
}

// mostNames bounds the fields of an order or a grouping.
const mostNames = 8

// each calls do with the names in a list with commas. do returns what is wrong with a name, or "".
func each(of, text string, do func(name string) string) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	at := 0
	for n := 0; ; n++ {
		part, _, more := strings.Cut(text[at:], ",")
		name := strings.TrimSpace(part)
		why := ""
		if n == mostNames {
			why = "too many fields: want at most 8"
		} else {
			why = do(name)
		}
		if why != "" {
			begin := at + len(part) - len(strings.TrimLeft(part, " "))
			return &Error{Of: of, Column: 1 + utf8.RuneCountInString(text[:begin]), Word: name, Want: why}
		}
		if !more {
			return nil
		}
		at += len(part) + 1
	}
}

func wantName(rows, name string, all []string) string {
	want := "want fields with a comma between them, such as " + strings.Join(all, ", ")
	if near := nearest(name, all); near != "" {
		want = "perhaps " + near + "? " + want
	}
	return rows + " have no such field: " + want
}

// order returns an order by the first value of a field.
func (f *Field[R]) order(down bool) Order[R] {
	return func(a, b *R) int {
		has, with := f.has(a, 0), f.has(b, 0)
		if !has || !with {
			return cmp.Compare(f.missing(a, has), f.missing(b, with))
		}
		n := 0
		switch {
		case f.Kind.Number():
			x, _ := f.Number(a, 0)
			y, _ := f.Number(b, 0)
			n = cmp.Or(cmp.Compare(x.Low, y.Low), cmp.Compare(x.High, y.High))
			if down {
				n = cmp.Or(cmp.Compare(x.most(), y.most()), cmp.Compare(x.Low, y.Low))
			}
		case f.Kind == Address:
			x, _ := f.Address(a, 0)
			y, _ := f.Address(b, 0)
			n = x.Compare(y)
		default:
			x, _ := f.Text(a, 0)
			y, _ := f.Text(b, 0)
			n = Natural(x, y)
		}
		if down {
			return -n
		}
		return n
	}
}

// most returns the upper bound, or the lower one if there is no upper one.
func (r Range) most() int64 {
	if r.Open() {
		return r.Low
	}
	return r.High
}

// missing returns the place of a row by its value: 0 if it has one, 1 if it has none, 2 if the value is unknown.
func (f *Field[R]) missing(r *R, has bool) int {
	switch {
	case has:
		return 0
	case f.whole(r, 0):
		return 1
	}
	return 2
}

// Natural compares texts with numbers in them by the numbers: Ethernet4 before Ethernet16.
func Natural(a, b string) int {
	for a != "" && b != "" {
		x, y := lead(a), lead(b)
		if x == "" || y == "" {
			if a[0] != b[0] {
				return int(a[0]) - int(b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		p, q := strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
		if c := cmp.Or(cmp.Compare(len(p), len(q)), strings.Compare(p, q), cmp.Compare(len(x), len(y))); c != 0 {
			return c
		}
		a, b = a[len(x):], b[len(y):]
	}
	return cmp.Compare(len(a), len(b))
}

// lead returns the digits at the beginning of a text.
func lead(s string) string {
	return s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
}
