package web

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tamtam/collector/result"
	"tamtam/tam/query"
)

// Bounds of the view of loads.
const (
	mostLoads      = 100_000 // number of rows
	mostLoadCharts = 12
)

// A loadItem is the traffic of a port in one direction and in one slot of time.
type loadItem struct {
	sw, port, link, direction string
	at                        interval
	bytes, packets            query.Range // a second
	share                     query.Range // of the rate, in millionths
	known, rated              bool        // bytes and packets are known; share is known
	depth                     int64       // greatest number of bytes in the port's queues that was read
	queued                    bool        // depth is known
	was                       *loadItem   // of the range that is compared
}

// loadTable declares loads, and comparedLoads loads that are compared with an earlier range.
var loadTable, comparedLoads = func() (_, _ *query.Table[loadItem]) {
	t := &query.Table[loadItem]{Rows: "loads", Fields: []query.Field[loadItem]{
		timeField("time", "begin of the slot", func(r *loadItem) int64 { return r.at.from }),
		numberField("length", "length of the slot", query.Duration, query.NoTotal,
			func(r *loadItem) (query.Range, bool) { return query.Exactly(r.at.to - r.at.from), true }),
		textField("switch", "where it was counted", func(r *loadItem) string { return r.sw }),
		textField("port", "where it was counted", func(r *loadItem) string { return r.port }),
		textField("link", "the ends of the port's link, in the direction of the traffic",
			func(r *loadItem) string { return r.link }),
		{Name: "direction", Help: "sent or received by the port", Kind: query.Text, Words: []string{"sent", "received"},
			Closed: true, Text: query.One(func(r *loadItem) (string, bool) { return r.direction, true })},
		numberField("bytes", "bytes a second, as the port counts them", query.Bytes, query.Between,
			func(r *loadItem) (query.Range, bool) { return r.bytes, r.known }),
		numberField("packets", "packets a second", query.Count, query.Between,
			func(r *loadItem) (query.Range, bool) { return r.packets, r.known }),
		numberField("load", "share of the port's rate, with preambles and gaps", query.Share, query.Between,
			func(r *loadItem) (query.Range, bool) { return r.share, r.rated }),
		numberField("queue.depth", "most bytes that were read in the port's queues", query.Bytes, query.Most,
			func(r *loadItem) (query.Range, bool) { return query.Range{Low: r.depth, High: math.MaxInt64}, r.queued }),
	}}
	c := &query.Table[loadItem]{Rows: t.Rows, Fields: slices.Clone(t.Fields)}
	for _, name := range loadColumns {
		before := query.FieldOf(*t.Field(name), func(r *loadItem) *loadItem { return r.was })
		c.Fields = append(c.Fields, query.Comparison(*t.Field(name), before)...)
	}
	return t, c
}()

// loadColumns are the numbers that the table of loads shows.
var loadColumns = []string{"bytes", "packets", "load", "queue.depth"}

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
		_, err := choose(q, since(p, loadTable), nil, "")
		return d, err
	}
	want := q.wanted()
	ports, err := p.cfg.Counters.Counters(q.ctx, want.from, want.to)
	if err != nil {
		return nil, err
	}
	g := gridOf(ports, want)
	if d.Compared, err = p.compare(q, g.shown, g.length); err != nil {
		return nil, err
	}
	n, err := p.netOf(q)
	if err != nil {
		return nil, err
	}
	items, left := g.items(n, ports)
	d.LeftOut = left
	table := loadTable
	if c := d.Compared; c != nil {
		table = comparedLoads
		earlier, err := p.cfg.Counters.Counters(q.ctx, c.From-g.length, c.To+g.length)
		if err != nil {
			return nil, err
		}
		for i := range earlier {
			earlier[i].Readings = slices.Clone(earlier[i].Readings)
			for k := range earlier[i].Readings {
				earlier[i].Readings[k].Time += c.Shift
			}
		}
		was, _ := g.items(n, earlier)
		items = besideLoads(items, was)
	}
	shown, err := choose(q, since(p, table), items, "")
	if err != nil {
		return nil, err
	}
	if !q.grouped && len(shown) > 0 {
		d.begin(q, g.shown.from, g.shown.to)
		d.Snap = g.length
		d.draw(shown)
	}
	if shown, err = pageOf(q, shown); err != nil {
		return nil, err
	}
	for i := range shown {
		x := &shown[i]
		r := loadRow{At: x.at.from, Switch: x.sw, Port: x.port, Link: x.link, Direction: x.direction}
		for _, name := range loadColumns {
			r.Cells = append(r.Cells, cellOf(table, x, name, d.Compared != nil))
		}
		d.Rows = append(d.Rows, r)
	}
	return d, nil
}

// wanted returns the requested range. Without a beginning or an end, these are the least and the greatest times.
func (q *request) wanted() interval {
	for _, s := range spans {
		switch {
		case s.Word != q.Since:
		case s.length > 0:
			return interval{q.now.Add(-s.length).UnixNano(), math.MaxInt64}
		default:
			return interval{0, math.MaxInt64}
		}
	}
	if s, err := q.span(); err == nil && s.to > 0 {
		return interval{s.from, s.to}
	}
	return interval{0, math.MaxInt64}
}

// A grid divides time into slots, from the first reading on.
type grid struct {
	origin, length int64
	shown          interval
}

// gridOf returns slots that are so long that few of them contain all readings, and that the bounds of rates are close.
func gridOf(ports []result.PortReadings, want interval) (g grid) {
	all := interval{math.MaxInt64, 0}
	var apart []int64
	var age int64
	for i := range ports {
		list := ports[i].Readings
		for k := range list {
			all = interval{min(all.from, list[k].Time), max(all.to, list[k].Time)}
			age = max(age, list[k].Age)
			if k > 0 && len(apart) < mostParts {
				apart = append(apart, list[k].Time-list[k-1].Time)
			}
		}
	}
	if len(apart) == 0 || all.to <= all.from {
		return g
	}
	origin := all.from
	if want.to != math.MaxInt64 {
		all = want
	}
	slices.Sort(apart)
	unit := max(1, apart[len(apart)/2])
	if age > 0 {
		if unit = 4 * (unit + age); unit > 1e9 {
			unit = floorTo(unit+1e9-1, 1e9)
		}
	}
	for unit < math.MaxInt64/4 && (all.to-all.from)/unit >= mostSlots {
		unit *= 2
	}
	return grid{origin, unit, all}
}

// items returns the rows of ports, and the number of ports that were left out.
func (g *grid) items(n *net, ports []result.PortReadings) (items []loadItem, left int) {
	if g.length <= 0 {
		return nil, 0
	}
	ends := map[string]*direction{}
	for _, d := range n.directions {
		ends[d.from.Node+":"+d.from.Port] = d
	}
	first := floorTo(g.shown.from-g.origin, g.length) / g.length
	for i := range ports {
		p := &ports[i]
		if len(items) > mostLoads-2*mostSlots {
			left++
			continue
		}
		d := ends[p.Switch+":"+p.Port]
		for k := first; ; k++ {
			at := interval{g.origin + k*g.length, g.origin + (k+1)*g.length}
			if at.from >= g.shown.to {
				break
			}
			for _, direction := range []string{"sent", "received"} {
				if x, ok := portLoad(p, at, direction); ok {
					if d != nil && direction == "sent" {
						x.link = place(d.from) + " → " + place(d.to)
					} else if d != nil {
						x.link = place(d.to) + " → " + place(d.from)
					}
					items = append(items, x)
				}
			}
		}
	}
	return items, left
}

// portLoad returns the traffic of a port in a slot. It returns false if nothing is known of it.
func portLoad(p *result.PortReadings, at interval, direction string) (x loadItem, ok bool) {
	x = loadItem{sw: p.Switch, port: p.Port, direction: direction, at: at}
	of := func(r *result.Reading) *result.Traffics { return &r.In }
	if direction == "sent" {
		of = func(r *result.Reading) *result.Traffics { return &r.Out }
		for i := p.From(at.from); i < len(p.Readings) && p.Readings[i].Time < at.to; i++ {
			if depth := p.Readings[i].Queued; depth >= 0 {
				x.depth, x.queued = max(x.depth, depth), true
			}
		}
	}
	bytes, bytesKnown := p.Between(at.from, at.to, func(r *result.Reading) (uint64, bool) {
		return of(r).Bytes,
			of(r).Known
	})
	packets, packetsKnown := p.Between(at.from, at.to, func(r *result.Reading) (uint64, bool) {
		return of(r).Packets,
			of(r).Known
	})
	if x.known = bytesKnown && packetsKnown; x.known {
		length := uint64(at.to - at.from)
		x.bytes = query.Range{Low: result.PerSecond(bytes[0], length, false), High: result.PerSecond(bytes[1], length, true)}
		x.packets = query.Range{Low: result.PerSecond(packets[0], length, false), High: result.PerSecond(packets[1], length,
			true)}
		if x.rated = p.Mbps > 0; x.rated {
			share := func(bytes, packets int64) float64 {
				return min(1, 8*(float64(bytes)+float64(overhead*packets))/(float64(p.Mbps)*1e6)) * 1e6
			}
			x.share = query.Range{Low: int64(math.Floor(share(x.bytes.Low, x.packets.Low))),
				High: int64(math.Ceil(share(x.bytes.High, x.packets.High)))}
		}
	}
	return x, x.known || x.queued
}

// overhead is the number of bytes of a frame on the wire that counters do not include: preamble and minimum gap.
const overhead = 8 + 12

// besideLoads adds those of an earlier range to loads.
func besideLoads(items, was []loadItem) []loadItem {
	type key struct {
		sw, port, direction string
		at                  int64
	}
	keyOf := func(x *loadItem) key { return key{x.sw, x.port, x.direction, x.at.from} }
	earlier := map[key]*loadItem{}
	for i := range was {
		earlier[keyOf(&was[i])] = &was[i]
	}
	for i := range items {
		k := keyOf(&items[i])
		items[i].was = earlier[k]
		delete(earlier, k)
	}
	for i := range was {
		if x := &was[i]; earlier[keyOf(x)] != nil {
			items = append(items, loadItem{sw: x.sw, port: x.port, link: x.link, direction: x.direction, at: x.at, was: x})
		}
	}
	return items
}

// draw draws the ports and directions with the most traffic.
func (d *loadData) draw(items []loadItem) {
	type key struct{ sw, port, direction string }
	series := map[key][]*loadItem{}
	most := map[key]int64{}
	for i := range items {
		x := &items[i]
		k := key{x.sw, x.port, x.direction}
		series[k] = append(series[k], x)
		most[k] = max(most[k], x.bytes.Low)
		if x.was != nil {
			most[k] = max(most[k], x.was.bytes.Low)
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
		link := series[k][0].link
		defer func() { drawn[link] = true }()
		return link != "" && drawn[link]
	})
	d.More = max(0, len(keys)-mostLoadCharts)
	for _, k := range keys[:len(keys)-d.More] {
		list := series[k]
		slices.SortFunc(list, func(a, b *loadItem) int { return cmp.Compare(a.at.from, b.at.from) })
		name := fmt.Sprintf("Bytes a second, %s by %s:%s", k.direction, k.sw, k.port)
		if list[0].link != "" {
			name += " (" + list[0].link + ")"
		}
		for _, of := range []struct {
			name, field string
			kind        query.Kind
		}{{name, "bytes", query.Bytes}, {"Bytes in the queues of " + k.sw + ":" + k.port, "queue.depth", query.Bytes}} {
			f := loadTable.Field(of.field)
			var now, was []point
			full := false
			for _, x := range list {
				r, ok := f.Number(x, 0)
				full = full || r.Low > 0
				now = append(now, point{at: x.at, value: r, known: ok})
				if x.was != nil {
					r, ok := f.Number(x.was, 0)
					full = full || r.Low > 0
					was = append(was, point{at: x.at, value: r, known: ok})
				}
			}
			if of.field == "bytes" || full {
				d.chart(of.name, of.kind, now, was)
			}
		}
	}
}
