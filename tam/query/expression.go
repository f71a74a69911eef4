package query

import "net/netip"

// A joint is the kind of an expression.
type joint uint8

const (
	compare joint = iota // a value of the field meets a test
	known                // all values of the field are known
	unknown              // a value of the field is unknown
	none                 // it is known that the field has no value
	not                  // the opposite of the only part
	and
	or
)

// An expression is a part of a filter, before it is compiled for a kind of row.
type expression struct {
	joint joint
	parts []*expression // what not, and and or join
	field int           // index in the table of the field whose values are compared
	// The kind of the field decides which of these tests is set, if values are compared.
	text    func(string) bool
	number  func(Range) Verdict
	address func(netip.Addr) bool
}

func opposite(e *expression) *expression { return &expression{joint: not, parts: []*expression{e}} }

// anyText returns an expression for rows with a text that meets a test.
func (f *declaration) anyText(test func(string) bool) *expression {
	return &expression{field: f.at, text: test}
}

// anyNumber returns an expression for rows with a number that meets a test.
func (f *declaration) anyNumber(test func(Range) Verdict) *expression {
	return &expression{field: f.at, number: test}
}

// anyAddress returns an expression for rows with an address that meets a test.
func (f *declaration) anyAddress(test func(netip.Addr) bool) *expression {
	return &expression{field: f.at, address: test}
}

// A match evaluates a part of a filter.
type match[R any] func(*R) Verdict

// compile returns the function that evaluates an expression.
func (t *Table[R]) compile(e *expression) match[R] {
	var parts []match[R]
	for _, p := range e.parts {
		parts = append(parts, t.compile(p))
	}
	f := &t.Fields[e.field]
	switch {
	case e.joint == not:
		m := parts[0]
		return func(r *R) Verdict { return Yes - m(r) }
	case e.joint == and:
		return func(r *R) Verdict {
			v := Yes
			for _, m := range parts {
				if v = min(v, m(r)); v == No {
					break
				}
			}
			return v
		}
	case e.joint == or:
		return func(r *R) Verdict {
			v := No
			for _, m := range parts {
				if v = max(v, m(r)); v == Yes {
					break
				}
			}
			return v
		}
	case e.joint == known:
		return func(r *R) Verdict { return verdict(f.has(r, 0) && f.whole(r, f.count(r))) }
	case e.joint == unknown:
		return func(r *R) Verdict { return verdict(!f.whole(r, f.count(r))) }
	case e.joint == none:
		return func(r *R) Verdict { return verdict(!f.has(r, 0) && f.whole(r, 0)) }
	case e.text != nil:
		return f.anyText(e.text)
	case e.number != nil:
		return f.anyNumber(e.number)
	}
	return f.anyAddress(e.address)
}

// anyText returns a match for rows with a text that meets a test.
func (f *Field[R]) anyText(test func(string) bool) match[R] {
	return func(r *R) Verdict {
		for i := 0; ; i++ {
			x, ok := f.Text(r, i)
			if !ok {
				return f.rest(r, i, No)
			}
			if test(x) {
				return Yes
			}
		}
	}
}

// anyNumber returns a match for rows with a number that meets a test.
func (f *Field[R]) anyNumber(test func(Range) Verdict) match[R] {
	return func(r *R) Verdict {
		v := No
		for i := 0; ; i++ {
			x, ok := f.Number(r, i)
			if !ok {
				return f.rest(r, i, v)
			}
			if v = max(v, test(x)); v == Yes {
				return Yes
			}
		}
	}
}

// anyAddress returns a match for rows with an address that meets a test.
func (f *Field[R]) anyAddress(test func(netip.Addr) bool) match[R] {
	return func(r *R) Verdict {
		for i := 0; ; i++ {
			x, ok := f.Address(r, i)
			if !ok {
				return f.rest(r, i, No)
			}
			if test(x.Unmap()) {
				return Yes
			}
		}
	}
}

// rest returns the outcome for a row whose n known values lead to v.
func (f *Field[R]) rest(r *R, n int, v Verdict) Verdict {
	if !f.whole(r, n) {
		return max(v, Unknown)
	}
	return v
}

// count returns the number of values in a row.
func (f *Field[R]) count(r *R) (n int) {
	for f.has(r, n) {
		n++
	}
	return n
}

func verdict(b bool) Verdict {
	if b {
		return Yes
	}
	return No
}
