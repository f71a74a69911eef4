package web

import (
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tamtam/collector/result"
	"tamtam/mgmt/web/rows"
	"tamtam/tam/query"
)

// storedPath is the path of the view of stored rows. It is the only one that reads no snapshot.
const storedPath = "/stored"

// usualOfStored is the shown time if none is chosen. If it has no rows, it ends at the newest row: all rows may be too
// many.
const usualOfStored = "1d"

// storedRows are the groups of stored rows that a request asks for.
type storedRows struct {
	scanner result.Scanner
	ask     result.Ask
	answer  *result.Answer // nil if the question has an error, or was not asked
	groups  []*query.Group // in the requested order
	shown   []*query.Group // those of the requested page
	more    int            // number of groups behind the top ones
}

// storedData is the part of the view around its groups.
type storedData struct {
	Kinds   []endCount
	Show    string
	Numbers []string
	Keeps   [][2]string
	Path    string
	Answer  *result.Answer
	Elapsed string
}

// storedKinds holds the kind of rows whose flags are shown.
var storedKinds = map[string]rows.RowKind{"hops": rows.StampRows, "drops": rows.DropRows}

// stored returns the view of groups of stored rows, of which there may be more than a snapshot can hold.
func (p *Page) stored(q *request) (any, error) {
	if p.cfg.Scanner == nil {
		return nil, missing("%s: the rows of this page are not in files", storedPath)
	}
	kinds := p.cfg.Scanner.Kinds()
	x := &storedRows{scanner: p.cfg.Scanner, ask: result.Ask{Kind: kinds[0], Where: q.get("where"), By: q.get("by"),
		Show: q.get("show")}}
	if k := q.get("kind"); k != "" {
		x.ask.Kind = k
	}
	if !slices.Contains(kinds, x.ask.Kind) {
		return nil, wrong("kind=%.40q: want %s", x.ask.Kind, strings.Join(kinds, " or "))
	}
	q.chosen = x
	if q.format == ".complete" {
		return nil, nil
	}
	s, err := q.span()
	if err != nil {
		return nil, err
	}
	x.ask.From, x.ask.To = s.times(q.now)
	began := time.Now()
	if x.answer, err = p.cfg.Scanner.Scan(q.ctx, &x.ask); err != nil {
		return nil, err
	}
	if newest := x.answer.Newest; x.answer.Rows == 0 && newest > 0 && q.Since == usualOfStored && q.get("since") == "" {
		q.Since, q.other = "", &span{Text: "last day that has rows"}
		x.ask.From, x.ask.To = s.times(time.Unix(0, newest))
		if x.answer, err = p.cfg.Scanner.Scan(q.ctx, &x.ask); err != nil {
			return nil, err
		}
	}
	took := time.Since(began)
	q.snap.Flags[storedKinds[x.ask.Kind]] = x.answer.Flags
	q.snap.Lacks = x.answer.Lacks
	if q.snap.Others = x.answer.Rows == 0 && x.answer.Newest > 0; !q.snap.Others {
		q.snap.Latest = min(x.answer.Newest, x.ask.To)
	}
	if err := x.order(q); err != nil {
		return nil, err
	}
	d := &storedData{Show: x.ask.Show, Path: q.view.path, Answer: x.answer, Elapsed: durText(int64(took))}
	for _, k := range kinds {
		v := q.With("kind", k)
		if k != x.ask.Kind { // the fields of another kind differ
			v = q.Link(q.view.path, "kind", k)
		}
		d.Kinds = append(d.Kinds, endCount{End: k, Href: v, On: k == x.ask.Kind})
	}
	_, d.Numbers = p.cfg.Scanner.Words(x.ask.Kind)
	for _, k := range sortedKeys(q.values) {
		if k != "show" && k != "page" {
			d.Keeps = append(d.Keeps, [2]string{k, q.values.Get(k)})
		}
	}
	return d, nil
}

// order sorts the groups and selects those of the requested page.
func (x *storedRows) order(q *request) error {
	top, err := q.top(len(x.answer.Groups))
	if err != nil {
		return err
	}
	by := q.get("sort")
	if strings.TrimSpace(by) == "" {
		by = "-" + query.Rows
	}
	order, err := x.answer.Table.Order(by)
	if err != nil {
		return err
	}
	x.groups = x.answer.Groups
	slices.SortStableFunc(x.groups, func(a, b *query.Group) int { return order(a, b) })
	if x.more = max(0, len(x.groups)-top); x.more > 0 {
		x.groups = x.groups[:top]
	}
	if x.shown, err = onPage(q, x.groups); err == nil {
		q.pages.What = "Groups"
	}
	return err
}

// top returns the number of rows or groups that a request asks for, of n.
func (q *request) top(n int) (int, error) {
	text := q.get("top")
	if text == "" {
		return n, nil
	}
	top, err := strconv.Atoi(text)
	if err != nil || top < 1 {
		return 0, wrong("top=%.40q: want how many rows or groups to show, from 1 on", text)
	}
	return top, nil
}

// times returns the begin and the end of a span, in ns since 1970.
func (s span) times(now time.Time) (from, to int64) {
	from, to = s.from, s.to
	if to == 0 {
		to = math.MaxInt64
	}
	if s.length > 0 {
		from = now.Add(-s.length).UnixNano()
	}
	return from, to
}

// form returns the form, and the groups of the requested page.
func (x *storedRows) form(q *request) *queryForm {
	f := &queryForm{Where: q.get("where"), Sort: q.get("sort"), By: q.get("by"), Top: q.get("top"), Path: q.view.path,
		Rows: x.ask.Kind, More: x.more, CSV: q.As(".csv"), JSON: q.As(".json"),
		Plain: q.Link(q.view.path, "kind", x.ask.Kind)}
	f.Fields, _ = x.scanner.Words(x.ask.Kind)
	if f.Groupings = slices.Clone(f.Fields); f.By != "" && !slices.Contains(f.Groupings, f.By) {
		f.Groupings = append([]string{f.By}, f.Groupings...)
	}
	f.Asked = f.Where+f.By+f.Sort+f.Top != ""
	f.Filtered = strings.TrimSpace(f.Where) != ""
	for _, k := range sortedKeys(q.values) {
		if !slices.Contains(queryParams, k) && k != "page" {
			f.Keeps = append(f.Keeps, [2]string{k, q.values.Get(k)})
		}
	}
	if x.answer != nil {
		f.All, f.Matched, f.Unknown = int(x.answer.Rows), int(x.answer.Selected), int(x.answer.Unknown)
		x.fill(q, f)
	}
	return f
}

// fill adds the groups of the requested page.
func (x *storedRows) fill(q *request, f *queryForm) {
	t := x.answer.Table
	for i := range t.Fields {
		class, name := "n", t.Fields[i].Name
		if strings.HasSuffix(name, query.UnknownRows) { // a note of the field before it
			continue
		}
		if i < x.answer.Keys {
			class = ""
		}
		f.Heads = append(f.Heads, q.Head(name, name, class))
		f.Orders = append(f.Orders, [2]string{name, name + ", least first"}, [2]string{"-" + name, name + ", greatest first"})
	}
	if x.answer.Keys == 0 { // each line begins with a name
		f.Heads = append([]template.HTML{`<th scope="col">Group</th>`}, f.Heads...)
	}
	f.Measure, f.BarAt = "Share of the rows", max(1, x.answer.Keys)
	for _, g := range x.shown {
		l := groupLine{Bars: []segment{{barOf(0, g.Rows, max(1, x.answer.Selected), "resident"),
			fmt.Sprintf("%s of %s rows", count(g.Rows), count(x.answer.Selected))}}}
		if x.answer.Keys == 0 {
			l.Cells = append(l.Cells, groupCell{Name: "Group", Text: "all"})
		}
		for i := range t.Fields {
			if strings.HasSuffix(t.Fields[i].Name, query.UnknownRows) {
				continue
			}
			cell := t.Fields[i].Cell(g)
			c := groupCell{Name: t.Fields[i].Name, Text: cellText(&cell), Unknown: !cell.Known()}
			if i < x.answer.Keys {
				key := &g.Keys[i]
				c.Href = q.With("where", query.And(f.Where, selects(c.Name, key.Kind, key)))
			} else {
				c.Class = "n"
			}
			if k := (i - x.answer.Keys - 1) / 2; i > x.answer.Keys && g.Totals[k].Unknown > 0 {
				c.Note = count(g.Totals[k].Unknown) + " rows unknown"
			}
			l.Cells = append(l.Cells, c)
		}
		f.Lines = append(f.Lines, l)
	}
}

// export writes the groups in the requested format.
func (x *storedRows) export(w io.Writer, q *request) error {
	if q.format == ".complete" {
		return json.NewEncoder(w).Encode(x.scanner.Complete(x.ask.Kind, q.get("where")))
	}
	a := &about{Rows: x.ask.Kind, Where: x.ask.Where, Read: int(x.answer.Rows), Unknown: int(x.answer.Unknown),
		More: x.more, Inexact: []string{}}
	a.inexact(q)
	groups := make([]query.Group, len(x.groups))
	for i, g := range x.groups {
		groups[i] = *g
	}
	return exportRows(w, q, a, x.answer.Table, groups)
}
