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
	query.Table[R]
}

func columnsOf[R any](table string) *columns[R] {
	if table != "" {
		table += ":"
	}
	return &columns[R]{table, query.Table[R]{Rows: "columns"}}
}

// text adds a column of texts; "" is an unknown one.
func (c *columns[R]) text(name string, get func(*R) string) *columns[R] {
	c.Fields = append(c.Fields, query.Field[R]{Name: c.table + name, Kind: query.Text,
		Text: query.One(func(r *R) (string, bool) { s := get(r); return s, s != "" })})
	return c
}

// number adds a column of numbers, each of which may be unknown.
func (c *columns[R]) number(name string, get func(*R) (v float64, known bool)) *columns[R] {
	c.Fields = append(c.Fields, query.Field[R]{Name: c.table + name, Kind: query.Count,
		Number: query.One(func(r *R) (query.Range, bool) {
			v, known := get(r)
			return query.Exactly(ordered(v)), known && !math.IsNaN(v)
		})})
	return c
}

// count adds a column of known numbers.
func (c *columns[R]) count(name string, get func(*R) int64) *columns[R] {
	c.Fields = append(c.Fields, query.Field[R]{Name: c.table + name, Kind: query.Count,
		Number: query.One(func(r *R) (query.Range, bool) { return query.Exactly(get(r)), true })})
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
func (c *columns[R]) sort(q *request, list []R) error {
	order, err := c.Order(q.sortOf(c.table))
	if err == nil && order != nil {
		slices.SortStableFunc(list, func(a, b R) int { return order(&a, &b) })
	}
	return err
}

// heads returns the headings of all columns, with their words.
func (c *columns[R]) heads(q *request, words []string) (list []template.HTML) {
	for i := range c.Fields {
		class := ""
		if c.Fields[i].Kind.Number() {
			class = "n"
		}
		list = append(list, q.Head(c.Fields[i].Name, words[i], class))
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
