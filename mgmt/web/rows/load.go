package rows

import (
	"math"
	"slices"

	"tamtam/collector/result"
	"tamtam/tam/query"
)

// Bounds of the view of loads.
const (
	mostLoads = 100_000 // number of rows
)

// A LoadItem is the traffic of a port in one direction and in one slot of time.
type LoadItem struct {
	Sw, Port, Link, Direction string
	At                        Interval
	Bytes, packets            query.Range // a second
	share                     query.Range // of the rate, in millionths
	known, rated              bool        // bytes and packets are known; share is known
	depth                     int64       // greatest number of bytes in the port's queues that was read
	queued                    bool        // depth is known
	Was                       *LoadItem   // of the range that is compared
}

// LoadTable declares loads, and comparedLoads loads that are compared with an earlier range.
var LoadTable, ComparedLoads = func() (_, _ *query.Table[LoadItem]) {
	t := &query.Table[LoadItem]{Rows: "loads", Fields: []query.Field[LoadItem]{
		timeField("time", "begin of the slot", func(r *LoadItem) int64 { return r.At.From }),
		numberField("length", "length of the slot", query.Duration, query.NoTotal,
			func(r *LoadItem) (query.Range, bool) { return query.Exactly(r.At.To - r.At.From), true }),
		textField("switch", "where it was counted", func(r *LoadItem) string { return r.Sw }),
		textField("port", "where it was counted", func(r *LoadItem) string { return r.Port }),
		textField("link", "the ends of the port's link, in the direction of the traffic",
			func(r *LoadItem) string { return r.Link }),
		{Name: "direction", Help: "sent or received by the port", Kind: query.Text, Words: []string{"sent", "received"},
			Closed: true, Text: query.One(func(r *LoadItem) (string, bool) { return r.Direction, true })},
		numberField("bytes", "bytes a second, as the port counts them", query.Bytes, query.Between,
			func(r *LoadItem) (query.Range, bool) { return r.Bytes, r.known }),
		numberField("packets", "packets a second", query.Count, query.Between,
			func(r *LoadItem) (query.Range, bool) { return r.packets, r.known }),
		numberField("load", "share of the port's rate, with preambles and gaps", query.Share, query.Between,
			func(r *LoadItem) (query.Range, bool) { return r.share, r.rated }),
		numberField("queue.depth", "most bytes that were read in the port's queues", query.Bytes, query.Most,
			func(r *LoadItem) (query.Range, bool) { return query.Range{Low: r.depth, High: math.MaxInt64}, r.queued }),
	}}
	c := &query.Table[LoadItem]{Rows: t.Rows, Fields: slices.Clone(t.Fields)}
	for _, column := range LoadColumns {
		name := column.Name
		before := query.FieldOf(*t.Field(name), func(r *LoadItem) *LoadItem { return r.Was })
		c.Fields = append(c.Fields, query.Comparison(*t.Field(name), before)...)
	}
	return t, c
}()

// LoadColumns are the numbers that the table of loads shows.
var LoadColumns = []Column{{"bytes", "Bytes a second"}, {"packets", "Packets a second"}, {"load", "Load"},
	{"queue.depth", "Bytes in queues"}}

// A grid divides time into slots, from the first reading on.
type grid struct {
	origin, Length int64
	Shown          Interval
}

// GridOf returns slots that are so long that few of them contain all readings, and that the bounds of rates are close.
func GridOf(ports []result.PortReadings, want Interval) (g grid) {
	all := Interval{math.MaxInt64, 0}
	var apart []int64
	var age int64
	for i := range ports {
		list := ports[i].Readings
		for k := range list {
			all = Interval{min(all.From, list[k].Time), max(all.To, list[k].Time)}
			age = max(age, list[k].Age)
			if k > 0 && len(apart) < mostParts {
				apart = append(apart, list[k].Time-list[k-1].Time)
			}
		}
	}
	if len(apart) == 0 || all.To <= all.From {
		return g
	}
	origin := all.From
	if want.To != math.MaxInt64 {
		all = want
	}
	slices.Sort(apart)
	unit := max(1, apart[len(apart)/2])
	if age > 0 {
		if unit = 4 * (unit + age); unit > 1e9 {
			unit = FloorTo(unit+1e9-1, 1e9)
		}
	}
	for unit < math.MaxInt64/4 && (all.To-all.From)/unit >= mostSlots {
		unit *= 2
	}
	return grid{origin, unit, all}
}

// Items returns the rows of ports, and the number of ports that were left out. link returns the link of the port
// SWITCH:PORT as text, in the direction of the traffic, or "".
func (g *grid) Items(ports []result.PortReadings, link func(port string, sent bool) string,
) (items []LoadItem, left int) {
	if g.Length <= 0 {
		return nil, 0
	}
	first := FloorTo(g.Shown.From-g.origin, g.Length) / g.Length
	for i := range ports {
		p := &ports[i]
		if len(items) > mostLoads-2*mostSlots {
			left++
			continue
		}
		for at := g.slot(first); at.From < g.Shown.To && at.To > at.From; at = g.after(at) {
			for _, direction := range []string{"sent", "received"} {
				if x, ok := portLoad(p, at, direction); ok {
					x.Link = link(p.Switch+":"+p.Port, direction == "sent")
					items = append(items, x)
				}
			}
		}
	}
	return items, left
}

// slot returns the slot of a number, from the first reading on.
func (g *grid) slot(k int64) Interval {
	return Interval{g.origin + k*g.Length, g.origin + (k+1)*g.Length}
}

// after returns the slot behind another one. It is empty at the end of time, where a chosen range may end.
func (g *grid) after(at Interval) Interval {
	return Interval{at.To, at.To + min(g.Length, math.MaxInt64-at.To)}
}

// portLoad returns the traffic of a port in a slot. It returns false if nothing is known of it.
func portLoad(p *result.PortReadings, at Interval, direction string) (x LoadItem, ok bool) {
	x = LoadItem{Sw: p.Switch, Port: p.Port, Direction: direction, At: at}
	of := func(r *result.Reading) *result.Traffics { return &r.In }
	if direction == "sent" {
		of = func(r *result.Reading) *result.Traffics { return &r.Out }
		for i := p.From(at.From); i < len(p.Readings) && p.Readings[i].Time < at.To; i++ {
			if depth := p.Readings[i].Queued; depth >= 0 {
				x.depth, x.queued = max(x.depth, depth), true
			}
		}
	}
	bytes, bytesKnown := p.Between(at.From, at.To, func(r *result.Reading) (uint64, bool) {
		return of(r).Bytes,
			of(r).Known
	})
	packets, packetsKnown := p.Between(at.From, at.To, func(r *result.Reading) (uint64, bool) {
		return of(r).Packets,
			of(r).Known
	})
	if x.known = bytesKnown && packetsKnown; x.known {
		length := uint64(at.To - at.From)
		x.Bytes = query.Range{Low: result.PerSecond(bytes[0], length, false), High: result.PerSecond(bytes[1], length, true)}
		x.packets = query.Range{Low: result.PerSecond(packets[0], length, false), High: result.PerSecond(packets[1], length,
			true)}
		if x.rated = p.Mbps > 0; x.rated {
			share := func(bytes, packets int64) float64 {
				return min(1, 8*(float64(bytes)+float64(overhead*packets))/(float64(p.Mbps)*1e6)) * 1e6
			}
			x.share = query.Range{Low: int64(math.Floor(share(x.Bytes.Low, x.packets.Low))),
				High: int64(math.Ceil(share(x.Bytes.High, x.packets.High)))}
		}
	}
	return x, x.known || x.queued
}

// overhead is the number of bytes of a frame on the wire that counters do not include: preamble and minimum gap.
const overhead = 8 + 12

// BesideLoads adds those of an earlier range to loads.
func BesideLoads(items, was []LoadItem) []LoadItem {
	type key struct {
		sw, port, direction string
		at                  int64
	}
	keyOf := func(x *LoadItem) key { return key{x.Sw, x.Port, x.Direction, x.At.From} }
	earlier := map[key]*LoadItem{}
	for i := range was {
		earlier[keyOf(&was[i])] = &was[i]
	}
	for i := range items {
		k := keyOf(&items[i])
		items[i].Was = earlier[k]
		delete(earlier, k)
	}
	for i := range was {
		if x := &was[i]; earlier[keyOf(x)] != nil {
			items = append(items, LoadItem{Sw: x.Sw, Port: x.Port, Link: x.Link, Direction: x.Direction, At: x.At, Was: x})
		}
	}
	return items
}
