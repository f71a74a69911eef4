package web

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tamtam/mgmt/web/rows"
	"tamtam/tam/query"
)

// mostLoadCharts bounds the series of loads that have charts.
const mostLoadCharts = 12

type loadRow struct {
	At                            int64
	Switch, Port, Link, Direction string
	Cells                         []groupCell
}

type loadData struct {
	chartData
	None    bool // no counters of ports are read here
	Rows    []loadRow
	More    int // number of links and directions that have no chart
	LeftOut int // number of ports that have no rows
}

// loads returns the view of the traffic of ports over time.
func (p *Page) loads(q *request) (any, error) {
	d := &loadData{None: p.cfg.Counters == nil}
	if d.None {
		_, err := choose(q, since(p, rows.LoadTable), nil, "")
		return d, err
	}
	want := q.wanted()
	ports, err := p.cfg.Counters.Counters(q.ctx, want.From, want.To)
	if err != nil {
		return nil, err
	}
	g := rows.GridOf(ports, want)
	if d.Compared, err = p.compare(q, g.Shown, g.Length); err != nil {
		return nil, err
	}
	n, err := p.netOf(q)
	if err != nil {
		return nil, err
	}
	link := n.linkTexts()
	items, left := g.Items(ports, link)
	d.LeftOut = left
	table := rows.LoadTable
	if c := d.Compared; c != nil {
		table = rows.ComparedLoads
		earlier, err := p.cfg.Counters.Counters(q.ctx, c.From-g.Length, c.To+g.Length)
		if err != nil {
			return nil, err
		}
		for i := range earlier {
			earlier[i].Readings = slices.Clone(earlier[i].Readings)
			for k := range earlier[i].Readings {
				earlier[i].Readings[k].Time += c.Shift
			}
		}
		was, _ := g.Items(earlier, link)
		items = rows.BesideLoads(items, was)
	}
	shown, err := choose(q, since(p, table), items, "")
	if err != nil {
		return nil, err
	}
	if !q.grouped && len(shown) > 0 {
		d.begin(q, g.Shown.From, g.Shown.To)
		d.Snap = g.Length
		d.draw(shown)
	}
	if shown, err = pageOf(q, shown); err != nil {
		return nil, err
	}
	for i := range shown {
		x := &shown[i]
		r := loadRow{At: x.At.From, Switch: x.Sw, Port: x.Port, Link: x.Link, Direction: x.Direction}
		for _, c := range rows.LoadColumns {
			r.Cells = append(r.Cells, cellOf(table, x, c, d.Compared != nil))
		}
		d.Rows = append(d.Rows, r)
	}
	return d, nil
}

// Columns returns the columns with numbers.
func (*loadData) Columns() []rows.Column { return rows.LoadColumns }

// linkTexts returns a function that returns the link of a port SWITCH:PORT as text, or "" if none is known.
func (n *net) linkTexts() func(port string, sent bool) string {
	ends := map[string]*direction{}
	for _, d := range n.directions {
		ends[d.from.Node+":"+d.from.Port] = d
	}
	return func(port string, sent bool) string {
		switch d := ends[port]; {
		case d == nil:
			return ""
		case sent:
			return place(d.from) + " → " + place(d.to)
		default:
			return place(d.to) + " → " + place(d.from)
		}
	}
}

// wanted returns the requested range. Without a beginning or an end, these are the least and the greatest times.
func (q *request) wanted() rows.Interval {
	for _, s := range spans {
		switch {
		case s.Word != q.Since:
		case s.length > 0:
			return rows.Interval{From: q.now.Add(-s.length).UnixNano(), To: math.MaxInt64}
		default:
			return rows.Interval{From: 0, To: math.MaxInt64}
		}
	}
	if s, err := q.span(); err == nil && s.to > 0 {
		return rows.Interval{From: s.from, To: s.to}
	}
	return rows.Interval{From: 0, To: math.MaxInt64}
}

// draw draws the ports and directions with the most traffic.
func (d *loadData) draw(items []rows.LoadItem) {
	type key struct{ sw, port, direction string }
	series := map[key][]*rows.LoadItem{}
	most := map[key]int64{}
	for i := range items {
		x := &items[i]
		k := key{x.Sw, x.Port, x.Direction}
		series[k] = append(series[k], x)
		most[k] = max(most[k], x.Bytes.Low)
		if x.Was != nil {
			most[k] = max(most[k], x.Was.Bytes.Low)
		}
	}
	var keys []key
	for k := range series {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(most[b], most[a]), cmp.Compare(b.direction, a.direction), natural(a.sw, b.sw),
			natural(a.port, b.port))
	})
	drawn := map[string]bool{}
	keys = slices.DeleteFunc(keys, func(k key) bool { // both ends of a link count the same traffic
		link := series[k][0].Link
		defer func() { drawn[link] = true }()
		return link != "" && drawn[link]
	})
	d.More = max(0, len(keys)-mostLoadCharts)
	for _, k := range keys[:len(keys)-d.More] {
		list := series[k]
		slices.SortFunc(list, func(a, b *rows.LoadItem) int { return cmp.Compare(a.At.From, b.At.From) })
		name := fmt.Sprintf("Bytes a second, %s by %s:%s", k.direction, k.sw, k.port)
		if list[0].Link != "" {
			name += " (" + list[0].Link + ")"
		}
		for _, of := range []struct {
			name, field string
			kind        query.Kind
		}{{name, "bytes", query.Bytes}, {"Bytes in the queues of " + k.sw + ":" + k.port, "queue.depth", query.Bytes}} {
			f := rows.LoadTable.Field(of.field)
			var now, was []point
			full := false
			for _, x := range list {
				r, ok := f.Number(x, 0)
				full = full || r.Low > 0
				now = append(now, point{at: x.At, value: r, known: ok})
				if x.Was != nil {
					r, ok := f.Number(x.Was, 0)
					full = full || r.Low > 0
					was = append(was, point{at: x.At, value: r, known: ok})
				}
			}
			if of.field == "bytes" || full {
				d.chart(of.name, of.kind, now, was)
			}
		}
	}
}
