package web

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"tamtam/tam/query"
)

// queryParams are the parameters of views whose rows a filter selects. An export has the same.
var queryParams = []string{"where", "sort", "by", "top"}

// formats are the endings of a view's path for other forms of its rows, with their media types.
var formats = map[string]string{
	".csv": "text/csv; charset=utf-8", ".json": "application/json", ".complete": "application/json",
}

// A listing is the rows that a request selects, without their type.
type listing interface {
	form(q *request) *queryForm
	export(w io.Writer, q *request) error
}

// rowsOf holds the rows of a view that a request selects, in the requested order.
type rowsOf[R any] struct {
	table    *query.Table[R]
	all      []R
	selected []R
	unknown  int // number of rows whose outcome is unknown
	more     int // number of rows, or of groups, behind the first ones that were requested
	grouping *query.Grouping[R]
	groups   []*query.Group
	shown    []*query.Group // the groups of the requested page
	stacked  map[*query.Group][]segment
	legend   []legendWord
}

// choose selects the rows of a view by the parameters of a request. If groups are requested, it returns no rows, and
// the page shows the groups instead of the view. stack is the field by which sums of groups are divided; "" means none.
func choose[R any](q *request, t *query.Table[R], rows []R, stack string) ([]R, error) {
	x := &rowsOf[R]{table: t, all: rows, selected: rows}
	q.chosen = x
	if q.format == ".complete" {
		return nil, nil
	}
	top, err := q.top(len(rows))
	if err != nil {
		return nil, err
	}
	f, err := t.Filter(q.get("where"))
	if err != nil {
		return nil, err
	}
	if x.selected, x.unknown, err = f.Select(q.ctx, rows); err != nil {
		return nil, err
	}
	if x.grouping, err = t.Grouping(q.get("by")); err != nil {
		return nil, err
	}
	if x.grouping != nil {
		q.grouped = true
		return nil, x.group(q, stack, top)
	}
	order, err := t.Order(q.sortOf(""))
	if err != nil {
		return nil, err
	}
	if order != nil {
		before := x.selected
		x.selected = make([]R, len(before))
		for to, from := range sorted(len(before), func(a, b *int) int { return order(&before[*a], &before[*b]) }) {
			x.selected[to] = before[from]
		}
	}
	if x.more = max(0, len(x.selected)-top); x.more > 0 {
		x.selected = x.selected[:top]
	}
	return x.selected, nil
}

// group divides the selected rows into groups.
func (x *rowsOf[R]) group(q *request, stack string, top int) (err error) {
	for i := range x.selected {
		x.grouping.Add(&x.selected[i])
	}
	if x.groups, err = x.grouping.Sorted(q.sortOf("")); err != nil {
		return err
	}
	if x.more = max(0, len(x.groups)-top); x.more > 0 {
		x.groups = x.groups[:top]
	}
	x.stack(stack)
	if x.shown, err = onPage(q, x.groups); err == nil {
		q.pages.What = "Groups"
	}
	return err
}

// A segment is a part of a stacked bar.
type segment struct {
	bar
	Title string
}

// mostColours is the number of colours of stacked bars. Further values have the last one.
const mostColours = 6

// stack draws the first total of each group as a bar, divided by the values of a field.
func (x *rowsOf[R]) stack(name string) {
	if len(x.grouping.Totals) == 0 {
		return
	}
	var most int64 = 1
	for _, g := range x.groups {
		most = max(most, g.Totals[0].Low)
	}
	x.stacked = map[*query.Group][]segment{}
	f := x.table.Field(name)
	if f == nil || slices.Contains(x.grouping.By, f) {
		for _, g := range x.groups {
			if g.Totals[0].Known {
				x.stacked[g] = []segment{{barOf(0, g.Totals[0].Low, most, "resident"), rangeText(g.Totals[0].Range, query.Count)}}
			}
		}
		return
	}
	var names []string
	for _, by := range x.grouping.By {
		names = append(names, by.Name)
	}
	parts, err := x.table.Grouping(strings.Join(append(names, name), ","))
	if err != nil {
		return // more fields than a grouping may have
	}
	for i := range x.selected {
		parts.Add(&x.selected[i])
	}
	list, _ := parts.Sorted("")
	sums := map[string]int64{}
	key := func(cells []query.Cell) string { return fmt.Sprint(cells) }
	byKey := map[string][]*query.Group{}
	at := slices.Index(parts.By, f)
	for _, p := range list {
		k := key(slices.Delete(slices.Clone(p.Keys), at, at+1))
		byKey[k] = append(byKey[k], p)
		sums[cellText(&p.Keys[at])] += p.Totals[0].Low
	}
	words := sortedKeys(sums)
	slices.SortStableFunc(words, func(a, b string) int { return cmp.Compare(sums[b], sums[a]) })
	classes, colours := map[string]string{}, 0
	for _, w := range words {
		if classes[w] = "link"; w != noneText && w != notKnown { // a value has a colour
			classes[w] = "k" + strconv.Itoa(min(colours, mostColours-1))
			colours++
		}
		x.legend = append(x.legend, legendWord{w, classes[w]})
	}
	for _, g := range x.groups {
		var from int64
		for _, p := range byKey[key(g.Keys)] {
			n := p.Totals[0].Low
			word := cellText(&p.Keys[at])
			x.stacked[g] = append(x.stacked[g], segment{barOf(from, from+n, most, classes[word]), word + ": " + count(n)})
			from += n
		}
	}
}

// values returns the texts that rows have of a field, for completion.
func (x *rowsOf[R]) values(name string) (list []string) {
	const most = 50
	f := x.table.Field(name)
	if f == nil || f.Kind.Number() || len(f.Words) > 0 {
		return nil
	}
	seen := map[string]bool{}
	for i := range x.all {
		c := f.Cell(&x.all[i])
		for _, t := range c.Texts {
			if !seen[t] && len(seen) < most {
				seen[t] = true
			}
		}
	}
	list = sortedKeys(seen)
	slices.SortFunc(list, query.Natural)
	return list
}

// A queryForm is the filter of a view with its outcome, as the page shows it.
type queryForm struct {
	Where, Sort, By, Top string
	Path                 string
	Keeps                [][2]string // other parameters
	Fields               []string
	Groupings            []string
	Orders               [][2]string // values of the parameter sort, with their texts
	Rows                 string      // name of the rows
	All, Matched         int         // numbers of rows
	Unknown              int         // number of rows of which it is unknown whether they meet the filter
	More                 int         // number of rows or groups behind the top ones
	CSV, JSON, Plain     string      // addresses of the rows in other formats, and of the view without a filter
	Asked, Filtered      bool        // a parameter is given; one that leaves rows out
	Groups               bool        // groups are shown instead of rows
	Heads                []template.HTML
	Lines                []groupLine
	Legend               []legendWord
	Measure              string // what the bars show
	BarAt                int    // index of the column that the bars are behind
	Overlap              bool   // a row is in several groups
	InGroups             int    // number of groups
	LeftOut              int    // number of rows that are in no group, because there were too many
}

type legendWord struct{ Word, Class string }

// A groupLine is a row of the table of groups.
type groupLine struct {
	Cells []groupCell
	Bars  []segment
}

type groupCell struct {
	Name, Text, Class string
	Unknown           bool
	Note              string
	Href              string // selects the rows of the group
}

// form returns the form, and the groups of the requested page.
func (x *rowsOf[R]) form(q *request) *queryForm {
	f := &queryForm{Where: q.get("where"), Sort: q.get("sort"), By: q.get("by"), Top: q.get("top"), Path: q.view.path,
		Rows: x.table.Rows, All: len(x.all), Matched: len(x.selected), Unknown: x.unknown, More: x.more,
		CSV: q.As(".csv"), JSON: q.As(".json"), Groups: x.grouping != nil}
	if !f.Groups {
		f.Matched += x.more
	}
	for i := range x.table.Fields {
		name := x.table.Fields[i].Name
		f.Fields = append(f.Fields, name)
		if !f.Groups {
			f.Orders = append(f.Orders, [2]string{name, name + ", least first"},
				[2]string{"-" + name, name + ", greatest first"})
		}
	}
	if f.Groupings = slices.Clone(f.Fields); f.By != "" && !slices.Contains(f.Groupings, f.By) {
		f.Groupings = append([]string{f.By}, f.Groupings...)
	}
	if f.Sort != "" && !slices.ContainsFunc(f.Orders, func(o [2]string) bool { return o[0] == f.Sort }) {
		f.Orders = append([][2]string{{f.Sort, f.Sort}}, f.Orders...)
	}
	f.Asked = f.Where+f.By+f.Sort+f.Top != ""
	f.Filtered = strings.TrimSpace(f.Where) != ""
	f.Plain = q.where("")
	for _, k := range sortedKeys(q.values) {
		if !slices.Contains(queryParams, k) && k != "page" {
			f.Keeps = append(f.Keeps, [2]string{k, q.values.Get(k)})
		}
	}
	if f.Groups {
		x.fill(q, f)
	}
	return f
}

// fill adds the groups of the requested page.
func (x *rowsOf[R]) fill(q *request, f *queryForm) {
	f.InGroups = len(x.groups) + x.more
	f.Overlap, f.LeftOut = x.grouping.Overlap, x.grouping.Left
	f.Legend = x.legend
	for _, by := range x.grouping.By {
		f.Heads = append(f.Heads, q.Head(by.Name, by.Name, ""))
	}
	f.Heads = append(f.Heads, q.Head(query.Rows, x.table.Rows, "n"))
	for _, of := range x.grouping.Totals {
		f.Heads = append(f.Heads, q.Head(of.Name, of.Name, "n"))
	}
	f.Measure, f.BarAt = "Share", len(x.grouping.By)
	if len(x.grouping.Totals) > 0 {
		f.Measure = x.grouping.Totals[0].Name
		f.BarAt++
	}
	for _, g := range x.shown {
		l := groupLine{Bars: x.stacked[g]}
		for i, by := range x.grouping.By {
			c := &g.Keys[i]
			l.Cells = append(l.Cells, groupCell{Name: by.Name, Text: cellText(c), Unknown: !c.Known(),
				Href: q.where(query.And(f.Where, selects(by.Name, by.Kind, c)))})
		}
		l.Cells = append(l.Cells, groupCell{Name: x.table.Rows, Text: count(g.Rows), Class: "n"})
		for i, of := range x.grouping.Totals {
			s := &g.Totals[i]
			c := groupCell{Name: of.Name, Text: notKnown, Class: "n", Unknown: true}
			if s.Known {
				c.Text, c.Unknown = rangeText(s.Range, of.Kind), false
			}
			if s.Unknown > 0 {
				c.Note = count(s.Unknown) + " unknown"
			}
			l.Cells = append(l.Cells, c)
		}
		f.Lines = append(f.Lines, l)
	}
}

// selects returns the filter for the rows of a group.
func selects(name string, kind query.Kind, c *query.Cell) string {
	switch {
	case !c.Known() && c.Whole:
		return name + " is none"
	case !c.Known():
		return name + " is unknown"
	case len(c.Texts) > 0:
		return name + " = " + query.Quote(c.Texts[0])
	}
	r := c.Numbers[0]
	return fmt.Sprintf("%s in %s..%s", name, kind.Literal(r.Low), kind.Literal(r.High))
}

// noneText is the text of a value that is known not to exist.
const noneText = "none"

// cellText returns the values of a cell as text.
func cellText(c *query.Cell) string {
	var list []string
	for _, t := range c.Texts {
		list = append(list, cmp.Or(t, "(empty)"))
	}
	for _, n := range c.Numbers {
		list = append(list, rangeText(n, c.Kind))
	}
	switch {
	case len(list) == 0 && c.Whole:
		return noneText
	case len(list) == 0:
		return notKnown
	case !c.Whole:
		list = append(list, "and perhaps others")
	}
	return strings.Join(list, ", ")
}

// rangeText returns a number with its unit, or its bounds.
func rangeText(r query.Range, k query.Kind) string {
	one := func(n int64) string {
		switch k {
		case query.Duration:
			return durText(n)
		case query.Share:
			return percentText(float64(n) / 1e6)
		case query.Time:
			return k.Literal(n)
		}
		return count(n)
	}
	switch {
	case r.Exact():
		return one(r.Low)
	case r.Open():
		return "at least " + one(r.Low)
	}
	return one(r.Low) + " to " + one(r.High)
}

// As returns the address of the rows in another format.
func (q *request) As(format string) string {
	at := q.With("page", "")
	path, params, _ := strings.Cut(at, "?")
	if params != "" {
		params = "?" + params
	}
	return path + format + params
}

// where returns the address of this view with another filter, and without groups.
func (q *request) where(filter string) string {
	var pairs []string
	for _, k := range sortedKeys(q.values) {
		if k != "page" && k != "since" && k != "by" && k != "sort" && k != "top" && k != "where" {
			pairs = append(pairs, k, q.values.Get(k))
		}
	}
	return q.Link(q.view.path, append(pairs, "where", filter)...)
}

// Head returns the header of a column, with a link that sorts by its field: first downwards if it is a number. Other
// tables of the view stay as they are sorted.
func (q *request) Head(field, word, class string) template.HTML {
	down, up := "-"+field, field
	next, state, sign := down, "", ""
	if class == "" {
		next = up
	}
	switch strings.Join(q.sorts(tableOf(field), false), ",") {
	case down:
		next, state, sign = up, ` aria-sort="descending"`, " ↓"
	case up:
		next, state, sign = down, ` aria-sort="ascending"`, " ↑"
	}
	if class != "" {
		class = ` class="` + class + `"`
	}
	next = strings.Join(append(q.sorts(tableOf(field), true), next), ",")
	href := template.HTMLEscapeString(q.With("sort", next))
	text := template.HTMLEscapeString(word)
	return template.HTML(fmt.Sprintf(`<th scope="col"%s%s><a href="%s">%s</a>%s</th>`, class, state, href, text, sign))
}

// export writes the rows or groups in the requested format.
func (x *rowsOf[R]) export(w io.Writer, q *request) error {
	switch {
	case q.format == ".complete":
		return json.NewEncoder(w).Encode(x.table.Complete(q.get("where"), x.values))
	case x.grouping != nil:
		groups := make([]query.Group, len(x.groups))
		for i, g := range x.groups {
			groups[i] = *g
		}
		return exportRows(w, q, x.about(q), x.grouping.Table(), groups)
	}
	return exportRows(w, q, x.about(q), x.table, x.selected)
}

// An about describes exported rows.
type about struct {
	Rows    string   `json:"rows"`
	Where   string   `json:"where"`
	Read    int      `json:"read"`     // number of rows before the filter
	Unknown int      `json:"unknown"`  // number of rows that the filter left out because its outcome is unknown
	More    int      `json:"more"`     // number of rows or groups behind the top ones
	Inexact []string `json:"inexact"`  // why rows may be inexact or missing
	Overlap bool     `json:"overlap"`  // a row is in several groups
	NoGroup int      `json:"no-group"` // number of rows that are in no group, because there were too many
}

// leftOut returns what is not among the exported rows.
func (a *about) leftOut() (list []string) {
	for _, x := range []struct {
		n    int
		what string
	}{{a.Unknown, "rows: it is unknown whether they meet the filter"}, {a.More, "rows or groups behind the top ones"},
		{a.NoGroup, "rows in further groups: there were too many"}} {
		if x.n > 0 {
			list = append(list, fmt.Sprintf("%d %s", x.n, x.what))
		}
	}
	return list
}

func (x *rowsOf[R]) about(q *request) *about {
	a := &about{Rows: x.table.Rows, Where: q.get("where"), Read: len(x.all), Unknown: x.unknown, More: x.more,
		Inexact: []string{}}
	a.inexact(q)
	if x.grouping != nil {
		a.Overlap = x.grouping.Overlap
		a.NoGroup = x.grouping.Left
	}
	return a
}

// inexact adds why the rows of a request may be inexact or missing.
func (a *about) inexact(q *request) {
	f := &frame{View: q.view, Q: q}
	f.of(q.snap, q.now)
	a.Inexact = append(append(append(a.Inexact, f.Flagged()...), f.Troubles...), f.Left...)
}

// exportRows writes rows as CSV or JSON.
func exportRows[R any](w io.Writer, q *request, a *about, t *query.Table[R], rows []R) error {
	if q.format == ".json" {
		return exportJSON(w, a, t, rows)
	}
	c := csv.NewWriter(w)
	if err := c.Write(t.Head()); err != nil {
		return err
	}
	for i := range rows {
		if err := c.Write(t.Record(&rows[i])); err != nil {
			return err
		}
	}
	c.Flush()
	for _, why := range a.leftOut() {
		if _, err := fmt.Fprintln(w, "# left out:", why); err != nil {
			return err
		}
	}
	return c.Error()
}

func exportJSON[R any](w io.Writer, a *about, t *query.Table[R], rows []R) error {
	type field struct {
		Name string `json:"name"`
		Kind string `json:"kind"`
	}
	out := struct {
		*about
		Fields []field          `json:"fields"`
		List   []map[string]any `json:"list"`
	}{a, nil, []map[string]any{}}
	for i := range t.Fields {
		out.Fields = append(out.Fields, field{t.Fields[i].Name, t.Fields[i].Kind.String()})
	}
	for i := range rows {
		out.List = append(out.List, t.Object(&rows[i]))
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(out)
}

// send answers with the rows of a view in another format.
func send(w http.ResponseWriter, q *request) error {
	if q.chosen == nil {
		return missing("%s%s: there are no rows here", q.view.path, q.format)
	}
	var b strings.Builder
	if err := q.chosen.export(&b, q); err != nil {
		return err
	}
	w.Header().Set("Content-Type", formats[q.format])
	if f := q.chosen.form(q); q.format == ".csv" { // the file has no place for them
		w.Header().Set("Tamtam-Unknown", strconv.Itoa(f.Unknown))
		w.Header().Set("Tamtam-More", strconv.Itoa(f.More))
		w.Header().Set("Content-Disposition", `attachment; filename="`+strings.Trim(q.view.path, "/")+`.csv"`)
	}
	_, _ = io.WriteString(w, b.String()) // the client may have disconnected
	return nil
}
