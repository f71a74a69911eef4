package query

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// A Cell is a row's values of a field.
type Cell struct {
	Kind    Kind
	Texts   []string // values of a text, Boolean or address
	Numbers []Range
	Whole   bool // false if a further value is unknown; without values, true means that there is none
}

// Known reports whether there is a value.
func (c *Cell) Known() bool { return len(c.Texts)+len(c.Numbers) > 0 }

// Cell returns a row's values of a field.
func (f *Field[R]) Cell(r *R) Cell {
	c := Cell{Kind: f.Kind}
	n := 0
	for ; f.has(r, n); n++ {
		switch {
		case f.Kind.Number():
			x, _ := f.Number(r, n)
			c.Numbers = append(c.Numbers, x)
		case f.Kind == Address:
			x, _ := f.Address(r, n)
			c.Texts = append(c.Texts, x.String())
		default:
			x, _ := f.Text(r, n)
			c.Texts = append(c.Texts, x)
		}
	}
	c.Whole = f.whole(r, n)
	return c
}

// mostGroups bounds the groups of a grouping, and mostOfRow the groups that one row is in.
const (
	mostGroups = 10_000
	mostOfRow  = 1_000
)

// A Grouping collects rows with equal values of some fields.
type Grouping[R any] struct {
	By     []*Field[R] // the fields that make groups
	Totals []*Field[R] // the fields whose numbers the groups combine
	// Overlap is true if a row was in several groups, because it has several values of a field: groups then do not add up.
	Overlap bool
	Left    int // number of rows that were left out, because they would have been in too many groups

	groups map[string]*Group
	key    []byte
}

// A Group is rows with equal values of the fields of a grouping.
type Group struct {
	Keys   []Cell // one for each field of By; without a value if it is unknown or there is none
	Rows   int64
	Totals []Sums // one for each field of Totals
}

// Sums combine the numbers of a field in a group.
type Sums struct {
	Range
	Known   bool  // false if nothing is known of the combined number
	Unknown int64 // number of rows in which the number is unknown
}

// Grouping compiles a grouping: names of fields with a comma between them. An empty text is none, and returns nil. Key
// fields are added, unless the text has them. The error is an *Error.
func (t *Table[R]) Grouping(text string) (*Grouping[R], error) {
	g := &Grouping[R]{groups: map[string]*Group{}}
	err := each("groups", text, func(name string) string {
		f := t.Field(name)
		switch {
		case f == nil:
			return wantName(t.Rows, name, t.names())
		case slices.Contains(g.By, f):
			return "the field is there already: want each once"
		}
		g.By = append(g.By, f)
		return ""
	})
	if err != nil || len(g.By) == 0 {
		return nil, err
	}
	for i := range t.Fields {
		f := &t.Fields[i]
		if f.Key && !slices.Contains(g.By, f) {
			g.By = append(g.By, f)
		}
		if f.Total != NoTotal && !slices.Contains(g.By, f) {
			g.Totals = append(g.Totals, f)
		}
	}
	return g, nil
}

// Add adds a row to its groups.
func (g *Grouping[R]) Add(r *R) {
	cells := make([]Cell, len(g.By))
	in := 1
	for i, f := range g.By {
		cells[i] = f.Cell(r)
		n := len(cells[i].Texts) + len(cells[i].Numbers)
		if !cells[i].Whole {
			n++ // the group of unknown values
		}
		in = min(in, mostOfRow+1) * max(1, n)
	}
	if in > mostOfRow {
		g.Left++
		return
	}
	g.Overlap = g.Overlap || in > 1
	keys := make([]Cell, len(cells))
	g.each(r, cells, keys, 0)
}

// each adds a row to the group of each combination of values. A further value that is unknown may be any, so that the
// row is also in the group of unknown values.
func (g *Grouping[R]) each(r *R, cells, keys []Cell, i int) {
	if i == len(cells) {
		g.add(r, keys)
		return
	}
	c := &cells[i]
	if !c.Known() || !c.Whole {
		keys[i] = Cell{Kind: c.Kind, Whole: c.Whole}
		g.each(r, cells, keys, i+1)
	}
	for k := range c.Texts {
		if !slices.Contains(c.Texts[:k], c.Texts[k]) { // a packet may visit a switch twice
			keys[i] = Cell{Kind: c.Kind, Texts: c.Texts[k : k+1], Whole: true}
			g.each(r, cells, keys, i+1)
		}
	}
	for k := range c.Numbers {
		if !slices.Contains(c.Numbers[:k], c.Numbers[k]) {
			keys[i] = Cell{Kind: c.Kind, Numbers: c.Numbers[k : k+1], Whole: true}
			g.each(r, cells, keys, i+1)
		}
	}
}

func (g *Grouping[R]) add(r *R, keys []Cell) {
	g.key = g.key[:0]
	for i := range keys {
		g.key = keys[i].appendKey(g.key)
	}
	of := g.groups[string(g.key)]
	if of == nil {
		if len(g.groups) == mostGroups {
			g.Left++
			return
		}
		of = &Group{Keys: slices.Clone(keys), Totals: make([]Sums, len(g.Totals))}
		g.groups[string(g.key)] = of
	}
	for i, f := range g.Totals {
		x, ok := f.Number(r, 0)
		of.Totals[i].add(f.Total, x, ok, of.Rows == 0)
	}
	of.Rows++
}

// appendKey appends a text that differs from that of each other cell.
func (c *Cell) appendKey(b []byte) []byte {
	b = append(b, '0'+byte(len(c.Texts)+2*len(c.Numbers)))
	if !c.Known() && c.Whole {
		b = append(b, 'n')
	}
	for _, t := range c.Texts {
		b = append(appendInt(b, int64(len(t))), t...)
	}
	for _, n := range c.Numbers {
		b = appendInt(appendInt(b, n.Low), n.High)
	}
	return b
}

func appendInt(b []byte, n int64) []byte {
	for range 8 {
		b = append(b, byte(n))
		n >>= 8
	}
	return b
}

// add combines a number with those before it.
func (s *Sums) add(how Total, x Range, known, first bool) {
	if !known {
		s.Unknown++
	}
	if first {
		s.Range, s.Known = x, known
		if !known && how != Between { // nothing is known but that it is not negative
			s.Range = Range{0, math.MaxInt64}
		}
		return
	}
	switch how {
	case Sum:
		if !known {
			x = Range{0, math.MaxInt64}
		}
		s.Known = s.Known || known
		s.Low, s.High = plus(s.Low, x.Low), plus(s.High, x.High)
		s.Low = min(s.Low, math.MaxInt64-1) // a sum beyond 64 bits has no upper bound, and is not exact
	case Between:
		s.Known = s.Known && known
		s.Low, s.High = min(s.Low, x.Low), max(s.High, x.High)
	case Most:
		switch {
		case !known:
			s.High = math.MaxInt64
		case !s.Known:
			s.Low, s.Known = x.Low, true
		default:
			s.Low, s.High = max(s.Low, x.Low), max(s.High, x.High)
		}
	}
}

// plus adds numbers, up to math.MaxInt64.
func plus(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64-a {
		return math.MaxInt64
	}
	return a + b
}

// Sorted returns the groups in an order: names as for [Table.Order], of the grouping's fields, its totals, or "rows".
// Groups that are equal in it are in the order of their keys. Without an order, the group with the greatest first total
// comes first.
func (g *Grouping[R]) Sorted(text string) ([]*Group, error) {
	list := make([]*Group, 0, len(g.groups))
	for _, x := range g.groups {
		list = append(list, x)
	}
	t := g.Table()
	if strings.TrimSpace(text) == "" {
		text = "-rows"
		if len(g.Totals) > 0 {
			text = "-" + g.Totals[0].Name
		}
	}
	order, err := t.Order(text)
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, f := range g.By {
		keys = append(keys, f.Name)
	}
	byKey, err := t.Order(strings.Join(keys, ","))
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b *Group) int { return cmp.Or(order(a, b), byKey(a, b)) })
	return list, nil
}

// Rows is the name of the number of rows of a group.
const Rows = "rows"

// UnknownRows is the end of the names of fields with the number of a group's rows in which a number is unknown.
const UnknownRows = ".unknown-rows"

// Table declares the fields of groups, for their order and export.
func (g *Grouping[R]) Table() *Table[Group] {
	t := &Table[Group]{Rows: "groups"}
	for i, by := range g.By {
		f := Field[Group]{Name: by.Name, Kind: by.Kind, Bounded: by.Bounded}
		f.Whole = func(x *Group) bool { return x.Keys[i].Whole }
		if by.Kind == Address {
			f.Kind = Text
		}
		f.Text = func(x *Group, k int) (s string, ok bool) {
			if k < len(x.Keys[i].Texts) {
				return x.Keys[i].Texts[k], true
			}
			return "", false
		}
		f.Number = func(x *Group, k int) (n Range, ok bool) {
			if k < len(x.Keys[i].Numbers) {
				return x.Keys[i].Numbers[k], true
			}
			return n, false
		}
		t.Fields = append(t.Fields, f)
	}
	t.Fields = append(t.Fields, Field[Group]{Name: Rows, Kind: Count,
		Number: One(func(x *Group) (Range, bool) { return Exactly(x.Rows), true })})
	for i, of := range g.Totals {
		t.Fields = append(t.Fields, Field[Group]{Name: of.Name, Kind: of.Kind, Bounded: true,
			Number: One(func(x *Group) (Range, bool) { return x.Totals[i].Range, x.Totals[i].Known })},
			Field[Group]{Name: of.Name + UnknownRows, Kind: Count,
				Number: One(func(x *Group) (Range, bool) { return Exactly(x.Totals[i].Unknown), true })})
	}
	return t
}
