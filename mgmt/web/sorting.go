package web

import (
	"cmp"
	"html/template"
	"math"
	"slices"
	"strings"

	"tamtam/tam/query"
)

// Columns are the columns of a table without a filter, by which it can be sorted. The parameter sort has the fields of
// all tables of a view with commas between them. The fields of its first table have their plain names. Those of each
// other table begin with the name of the table, such as port:state.
type columns[R any] struct {
	table string // name of the table, with a colon at its end; empty for the first table of a view
	list  []sortColumn[R]
}

// A sortColumn has one of two functions.
type sortColumn[R any] struct {
	name   string
	text   func(*R) string // "" is an unknown one
	number func(*R) (v int64, known bool)
}

func columnsOf[R any](table string) *columns[R] {
	if table != "" {
		table += ":"
	}
	return &columns[R]{table: table}
}

// text adds a column of texts; "" is an unknown one.
func (c *columns[R]) text(name string, get func(*R) string) *columns[R] {
	c.list = append(c.list, sortColumn[R]{name: c.table + name, text: get})
	return c
}

// number adds a column of numbers, each of which may be unknown.
func (c *columns[R]) number(name string, get func(*R) (v float64, known bool)) *columns[R] {
	c.list = append(c.list, sortColumn[R]{name: c.table + name, number: func(r *R) (int64, bool) {
		v, known := get(r)
		return ordered(v), known && !math.IsNaN(v)
	}})
	return c
}

// count adds a column of known numbers.
func (c *columns[R]) count(name string, get func(*R) int64) *columns[R] {
	c.list = append(c.list, sortColumn[R]{name: c.table + name, number: func(r *R) (int64, bool) { return get(r), true }})
	return c
}

// ordered returns an integer with the same order as that of all numbers.
func ordered(v float64) int64 {
	n := int64(math.Float64bits(v))
	if n < 0 {
		return math.MinInt64 - n
	}
	return n
}

// sort sorts rows as the request asks for. Without a request their order stays.
//
// It sorts their indices, so that the language of queries is not compiled for each kind of row.
func (c *columns[R]) sort(q *request, list []R) error {
	t := query.Table[int]{Rows: "columns"}
	for _, of := range c.list {
		f := query.Field[int]{Name: of.name, Kind: query.Text}
		if of.number != nil {
			f.Kind = query.Count
			f.Number = query.One(func(i *int) (query.Range, bool) {
				v, known := of.number(&list[*i])
				return query.Exactly(v), known
			})
		} else {
			f.Text = query.One(func(i *int) (string, bool) {
				s := of.text(&list[*i])
				return s, s != ""
			})
		}
		t.Fields = append(t.Fields, f)
	}
	order, err := t.Order(q.sortOf(c.table))
	if err != nil || order == nil {
		return err
	}
	before := slices.Clone(list)
	for to, from := range sorted(len(list), order) {
		list[to] = before[from]
	}
	return nil
}

// sorted returns the numbers from 0 to n-1 in an order. Equal ones stay in sequence.
func sorted(n int, order query.Order[int]) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	slices.SortStableFunc(list, func(a, b int) int { return order(&a, &b) })
	return list
}

// heads returns the headings of all columns, with their words.
func (c *columns[R]) heads(q *request, words []string) (list []template.HTML) {
	for i, of := range c.list {
		class := ""
		if of.number != nil {
			class = "n"
		}
		list = append(list, q.Head(of.name, words[i], class))
	}
	return list
}

// tableOf returns the table of a field in the parameter sort.
func tableOf(field string) string {
	table, _, found := strings.Cut(strings.TrimLeft(field, "- "), ":")
	if !found {
		return ""
	}
	return table + ":"
}

// sorts returns the fields in the parameter sort of one table, or of all others.
func (q *request) sorts(table string, others bool) (fields []string) {
	for _, f := range strings.Split(q.get("sort"), ",") {
		if f != "" && (tableOf(f) == table) != others {
			fields = append(fields, f)
		}
	}
	return fields
}

// sortOf returns the order of a table that the request asks for.
func (q *request) sortOf(table string) string {
	q.sorted = append(q.sorted, table)
	return strings.Join(q.sorts(table, false), ",")
}

// unsorted returns an error if the parameter sort has a field of a table that the view does not have.
func (q *request) unsorted() error {
	for _, f := range strings.Split(q.get("sort"), ",") {
		if f != "" && !slices.Contains(q.sorted, tableOf(f)) && (tableOf(f) != "" || !q.view.filters) {
			return wrong("sort=%.40q: this view has no such column", f)
		}
	}
	return nil
}

// confidence returns why something is not exact, as one text to sort by.
func confidence(reasons []string) string { return cmp.Or(strings.Join(reasons, "; "), "exact") }

// Sorted reports whether the request asks for an order of a table, by its name.
func (q *request) Sorted(table string) bool {
	if table != "" {
		table += ":"
	}
	return len(q.sorts(table, false)) > 0
}
