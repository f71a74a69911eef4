package web

import (
	"cmp"
	"slices"
	"strings"

	"tamtam/collector/result"
	"tamtam/mgmt/web/rows"
)

type seriesRow struct {
	Flow, Cluster, From, To string
	Href                    string
	marked
	Last   string // status of the last period
	Strip  []mark
	Class  string
	latest []result.Loss // the periods of the strip
}

var seriesColumns = columnsOf[seriesRow]("").
	text("flow", func(r *seriesRow) string { return r.Flow }).
	text("cluster", func(r *seriesRow) string { return r.Cluster }).
	text("from", func(r *seriesRow) string { return r.From }).
	text("to", func(r *seriesRow) string { return r.To }).
	number("lost", func(r *seriesRow) (float64, bool) { return float64(r.Lost), r.Periods > r.Unknown }).
	number("sent", func(r *seriesRow) (float64, bool) { return float64(r.Sent), r.Periods > r.Unknown }).
	count("periods", func(r *seriesRow) int64 { return int64(r.Periods) }).
	text("last", func(r *seriesRow) string { return r.Last })

// A mark is a period in a picture of 1000 by 40: how many packets were lost, or that this is unknown.
type mark struct {
	X, Y, W, H string
	Class      string // lost, none, unknown
	Title      string
}

type markingData struct {
	Query string
	Rows  []seriesRow
	Own   []ownMarkingRow
	More  int // number of further series, which are not shown
}

// marking returns the view of all series of alternate marking.
func (p *Page) marking(q *request) (any, error) {
	d := &markingData{Query: q.get("q")}
	var err error
	if d.Own, err = p.ownMarking(q); err != nil {
		return nil, err
	}
	if d.More = max(0, len(d.Own)-mostSessions); d.More > 0 {
		d.Own = d.Own[:mostSessions]
	}
	var list []*rows.Series
	for _, x := range q.snap.Series {
		if d.Query == "" || strings.Contains(strings.Join([]string{x.Flow, x.Cluster, x.From, x.To}, " "), d.Query) {
			list = append(list, x)
		}
	}
	slices.SortFunc(list, func(a, b *rows.Series) int {
		return cmp.Or(natural(a.Flow, b.Flow), natural(a.Cluster, b.Cluster), natural(a.From, b.From), natural(a.To, b.To))
	})
	for _, x := range list {
		d.Rows = append(d.Rows, p.seriesRow(q, x))
	}
	if err = seriesColumns.sort(q, d.Rows); err == nil {
		d.Rows, err = pageOf(q, d.Rows)
	}
	for i := range d.Rows {
		d.Rows[i].Strip = p.strip(d.Rows[i].latest)
	}
	return d, err
}

// mostStrip is the number of periods that a strip shows, the latest ones. Templates contain this number.
const mostStrip = 100

func (p *Page) seriesRow(q *request, x *rows.Series) seriesRow {
	r := seriesRow{Flow: x.Flow, Cluster: x.Cluster, From: x.From, To: x.To,
		Href: q.Link("/periods", "flow", x.Flow, "cluster", x.Cluster, "from", x.From, "to", x.To)}
	r.add(x)
	if n := len(x.Periods); n > 0 {
		r.Last = rows.StatusText(x.Periods[n-1].Status)
	}
	switch {
	case r.Unknown == r.Periods:
		r.Class = "unknown"
	case r.Lost > 0:
		r.Class = "bad"
	case !r.whole():
		r.Class = "inexact"
	}
	r.latest = x.Periods[max(0, len(x.Periods)-mostStrip):]
	return r
}

// strip returns a mark for each period, for a picture: its height shows the number of lost packets.
func (p *Page) strip(periods []result.Loss) (marks []mark) {
	if len(periods) == 0 {
		return nil
	}
	var most int64 = 1
	for i := range periods {
		if periods[i].Known {
			most = max(most, periods[i].Lost)
		}
	}
	each := min(40, 1000/float64(len(periods)))
	for i := range periods {
		l := &periods[i]
		m := mark{X: coord(float64(i) * each), W: coord(max(1, each-1)), Class: "none", Y: "38.0", H: "2.0"}
		m.Title = "period " + countAny(l.Period) + ": " + rows.StatusText(l.Status)
		switch {
		case !l.Known:
			m.Class, m.Y, m.H = "unknown", "0.0", "40.0"
			m.Title += ", loss " + notKnown
		case l.Lost != 0:
			high := max(4, 40*float64(max(0, l.Lost))/float64(most))
			m.Class, m.Y, m.H = "lost", coord(40-high), coord(high)
			m.Title += ", lost " + count(l.Lost)
		default:
			m.Title += ", lost 0"
		}
		if l.Flags != 0 {
			m.Title += ", not exact"
		}
		marks = append(marks, m)
	}
	return marks
}

type periodRow struct {
	result.Loss
	Class   string
	Trouble string // why the result may be inexact
}

type periodsData struct {
	seriesRow
	All  bool // the periods are those of all series
	Rows []periodRow
}

// periods returns the view of one series, or of all, the latest period first.
func (p *Page) periods(q *request) (any, error) {
	if q.get("flow")+q.get("cluster")+q.get("from")+q.get("to") == "" {
		var list []result.Loss
		for _, x := range q.snap.Series {
			list = append(list, x.Periods...)
		}
		slices.SortFunc(list, func(a, b result.Loss) int {
			return cmp.Or(cmp.Compare(a.Window.Start, b.Window.Start), cmp.Compare(a.Period, b.Period), natural(b.Flow, a.Flow),
				natural(b.Cluster, a.Cluster), natural(b.From, a.From), natural(b.To, a.To))
		})
		return p.periodRows(q, &periodsData{All: true}, list)
	}
	x := q.snap.Series[rows.SeriesKey{Flow: q.get("flow"), Cluster: q.get("cluster"), From: q.get("from"),
		To: q.get("to")}]
	if x == nil {
		return nil, missing("flow %.100q, cluster %.100q, from %.100q to %.100q: no periods in this time", q.get("flow"),
			q.get("cluster"), q.get("from"), q.get("to"))
	}
	d := &periodsData{seriesRow: p.seriesRow(q, x)}
	d.Strip = p.strip(d.latest)
	return p.periodRows(q, d, slices.Clone(x.Periods))
}

// periodRows adds the rows of periods, the latest one of which is the last.
func (p *Page) periodRows(q *request, d *periodsData, list []result.Loss) (any, error) {
	slices.Reverse(list)
	items, err := choose(q, since(p, rows.PeriodTable), rows.PeriodItems(list), "status")
	if err != nil {
		return nil, err
	}
	if items, err = pageOf(q, items); err != nil {
		return nil, err
	}
	for i := range items {
		l := *items[i].Loss
		r := periodRow{Loss: l}
		switch {
		case !l.Known:
			r.Class = "inexact"
			r.Trouble = cmp.Or(l.Detail, rows.StatusText(l.Status), "the switch gives no reason")
		case l.Status != "ok":
			r.Class = "inexact"
			r.Trouble = cmp.Or(l.Detail, rows.StatusText(l.Status))
		case l.Flags != 0:
			r.Class = "inexact"
		case l.Lost != 0:
			r.Class = "bad"
		}
		r.Status = rows.StatusText(l.Status)
		r.Trouble = strings.Trim(r.Trouble+"; "+strings.Join(rows.FlagWords(l.Flags), "; "), "; ")
		d.Rows = append(d.Rows, r)
	}
	return d, nil
}
