package web

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"

	"tamtam/collector/result"
	"tamtam/tam/query"
)

// mostSlots bounds the slots of a timeline. When there would be more, each becomes twice as long.
const mostSlots = 240

// A timeline is the rows of a snapshot over time, in slots of equal length.
type timeline struct {
	length int64 // of a slot, in ns: a power of two of milliseconds, and at least as long as each window
	slots  map[int64]*slot
}

// A slot is the part of a timeline that begins at a time.
type slot struct {
	at, length     int64
	stamped        bool
	packets        int64 // at the first switch of their paths
	resident       result.Distribution
	drops          map[dropPart]int64
	periods        int64 // of alternate marking
	unknown        int64 // periods without known loss
	lost, sent     int64 // of the other periods
	depth          int64 // greatest known number of bytes in a queue
	queued         bool  // a depth is known
	flags          [rowKinds]result.Flags
	dropped        query.Range
	reports, whole bool // drops are reported; no report is missing
	residence      spread
}

// A dropPart distinguishes drops in a slot.
type dropPart struct{ source, reason string }

// slot returns the slot of a row with this window.
func (t *timeline) slot(w result.Window) *slot {
	if t.slots == nil {
		t.slots, t.length = map[int64]*slot{}, 1e6
	}
	for t.length < w.Length && t.length < math.MaxInt64/4 {
		t.widen()
	}
	for {
		at := floorTo(w.Start, t.length)
		if x := t.slots[at]; x != nil {
			return x
		}
		if len(t.slots) < mostSlots && t.fits(at) {
			x := &slot{at: at, length: t.length, drops: map[dropPart]int64{}}
			t.slots[at] = x
			return x
		}
		t.widen()
	}
}

// fits reports whether the time from the first slot to the last one, with one at this time, has few slots.
func (t *timeline) fits(at int64) bool {
	low, high := at, at
	for x := range t.slots {
		low, high = min(low, x), max(high, x)
	}
	return high/t.length-low/t.length < mostSlots
}

func floorTo(n, by int64) int64 { return n - (n%by+by)%by }

// widen makes each slot twice as long.
func (t *timeline) widen() {
	t.length *= 2
	was := t.slots
	t.slots = map[int64]*slot{}
	for _, x := range was {
		at := floorTo(x.at, t.length)
		into := t.slots[at]
		if into == nil {
			x.at, x.length = at, t.length
			t.slots[at] = x
			continue
		}
		into.add(x)
	}
}

// add adds another slot, before periods are counted.
func (x *slot) add(o *slot) {
	x.stamped, x.packets = x.stamped || o.stamped, x.packets+o.packets
	if !x.resident.Add(o.resident) {
		x.flags[stampRows] |= result.Overflow
	}
	for k, n := range o.drops {
		x.drops[k] += n
	}
	x.depth, x.queued = max(x.depth, o.depth), x.queued || o.queued
	for k := range x.flags {
		x.flags[k] |= o.flags[k]
	}
}

func (t *timeline) addHop(h *result.Hop) {
	x := t.slot(h.Window)
	x.stamped = true
	if h.Index == 0 {
		x.packets += h.Packets
	}
	x.flags[stampRows] |= h.Flags
	if !x.resident.Add(h.Resident) {
		x.flags[stampRows] |= result.Overflow
	}
}

func (t *timeline) addDrop(d *result.Drop) {
	x := t.slot(d.Window)
	x.drops[dropPart{d.Source, d.Reason}] += d.Packets
	x.flags[dropRows] |= d.Flags
}

func (t *timeline) addJourney(j *result.Journey) {
	x := t.slot(result.Window{Start: j.Time})
	x.flags[packetRows] |= j.Flags
	for i := range j.Hops {
		if d := j.Hops[i].Depth; d >= 0 {
			x.depth, x.queued = max(x.depth, d), true
		}
	}
}

// wholePaths returns the series of whole paths: without those of a cluster, and of a segment between two points of a
// path, whose ends are the begin or end of another segment of the flow.
func wholePaths(all map[seriesKey]*series) (whole []*series) {
	type end struct{ flow, point string }
	begins, ends := map[end]bool{}, map[end]bool{}
	for k := range all {
		if k.cluster == "" {
			begins[end{k.flow, k.from}], ends[end{k.flow, k.to}] = true, true
		}
	}
	for k, x := range all {
		if k.cluster == "" && !ends[end{k.flow, k.from}] && !begins[end{k.flow, k.to}] {
			whole = append(whole, x)
		}
	}
	return whole
}

// finish adds the periods, each of which may have been repeated, and the amendments.
func (t *timeline) finish(s *snapshot) {
	for _, x := range s.series {
		for i := range x.periods {
			t.slot(x.periods[i].Window) // may widen
		}
	}
	for _, x := range wholePaths(s.series) { // clusters and segments count the same packets again
		for i := range x.periods {
			l := &x.periods[i]
			y := t.slot(l.Window)
			y.periods++
			y.flags[markRows] |= l.Flags
			if l.Known {
				y.lost, y.sent = y.lost+l.Lost, y.sent+l.Sent
			} else {
				y.unknown++
			}
		}
	}
	reports := s.reportsDrops()
	for _, x := range t.slots {
		for i := range s.amends {
			a := &s.amends[i]
			if a.From >= x.at+x.length || a.To < x.at {
				continue
			}
			for k, kinds := range amendedKinds {
				if slices.ContainsFunc(kinds, a.of) {
					x.flags[k] |= a.Flags
				}
			}
		}
		by := map[string]int64{}
		for k, n := range x.drops {
			by[k.source] += n
		}
		for _, n := range by {
			x.dropped.Low, x.dropped.High = max(x.dropped.Low, n), x.dropped.High+n
		}
		x.reports = reports || len(x.drops) > 0
		x.dropped.High = counted(x.dropped.High, x.flags[dropRows]).High
		x.residence = spreadOf(x.resident.Count, []*result.Distribution{&x.resident})
	}
}

// all returns the slots in the order of time.
func (t *timeline) all() (list []slot) {
	for _, x := range t.slots {
		list = append(list, *x)
	}
	slices.SortFunc(list, func(a, b slot) int { return cmp.Compare(a.at, b.at) })
	return list
}

// slotTable declares the slots.
var slotTable = &query.Table[slot]{Rows: "slots", Fields: slices.Concat(
	[]query.Field[slot]{
		timeField("time", "begin of the slot", func(r *slot) int64 { return r.at }),
		numberField("length", "length of the slot", query.Duration, query.NoTotal,
			func(r *slot) (query.Range, bool) { return query.Exactly(r.length), true }),
		numberField("packets", "stamped packets", query.Count, query.Sum, func(r *slot) (query.Range, bool) {
			return counted(r.packets, r.flags[stampRows]), r.stamped
		}),
	},
	slices.DeleteFunc(delayFields(func(r *slot) *spread { return &r.residence }), func(f query.Field[slot]) bool {
		return f.Name == "delay.p999" || f.Name == "delay.min"
	}),
	[]query.Field[slot]{
		numberField("lost", "lost packets of periods with known loss", query.Count, query.Sum,
			func(r *slot) (query.Range, bool) {
				n := counted(r.lost, r.flags[markRows])
				if r.unknown > 0 {
					n.High = math.MaxInt64
				}
				return n, r.periods > r.unknown
			}),
		numberField("periods", "periods of alternate marking", query.Count, query.Sum,
			func(r *slot) (query.Range, bool) { return query.Exactly(r.periods), true }),
		numberField("periods.unknown", "periods whose loss is unknown", query.Count, query.Sum,
			func(r *slot) (query.Range, bool) { return query.Exactly(r.unknown), true }),
		numberField("drops", "dropped packets, as reported", query.Count, query.Sum,
			func(r *slot) (query.Range, bool) { return r.dropped, r.reports }),
		numberField("queue.depth", "most bytes in a queue, of packets whose records were joined", query.Bytes, query.Most,
			func(r *slot) (query.Range, bool) { return query.Range{Low: r.depth, High: math.MaxInt64}, r.queued }),
	},
	flagFields((*slot).anyFlags, always[slot]),
)}

func (x *slot) anyFlags() (flags result.Flags) {
	for _, f := range x.flags {
		flags |= f
	}
	return flags
}

// A chart draws one value of all slots, in a picture of 1000 by 100.
type chart struct {
	Name, Words string
	Most        string
	Parts       []chartPart
	Legend      []legendWord
	None        bool // no slot has a value
}

// A chartPart is a rectangle of a chart.
type chartPart struct{ X, Y, W, H, Class, Title string }

type timeData struct {
	Charts   []chart
	From, To int64
	Wider    string // address of a range that is twice as long; empty if all is shown
	Rows     []timeRow
	Length   int64
}

type timeRow struct {
	At      int64
	Href    string // shows the time around the slot
	Cells   []groupCell
	Reasons []string
}

// timeColumns are the fields that the table of slots shows.
var timeColumns = []string{"packets", "delay.p50", "delay.p99", "lost", "drops", "queue.depth"}

// over returns the view of the rows over time.
func (p *Page) over(q *request) (any, error) {
	all := q.snap.time.all()
	d := &timeData{Length: q.snap.time.length}
	shown, err := choose(q, since(p, slotTable), slices.Clone(all), "")
	if err != nil {
		return nil, err
	}
	if shown, err = pageOf(q, shown); err != nil {
		return nil, err
	}
	for i := range shown {
		x := &shown[i]
		r := timeRow{At: x.at, Href: q.Range(x.at-4*x.length, x.at+5*x.length), Reasons: flagWords(x.anyFlags())}
		for _, name := range timeColumns {
			f := slotTable.Field(name)
			c := f.Cell(x)
			r.Cells = append(r.Cells, groupCell{Name: name, Text: cellText(&c), Unknown: !c.Known(), Class: "n"})
		}
		d.Rows = append(d.Rows, r)
	}
	if len(all) == 0 || q.grouped {
		return d, nil
	}
	d.From, d.To = all[0].at, all[len(all)-1].at+d.Length
	d.draw(q, all)
	return d, nil
}

// draw draws the charts.
func (d *timeData) draw(q *request, all []slot) {
	scale := 1000 / float64(d.To-d.From)
	x := func(at int64) float64 { return float64(at-d.From) * scale }
	wide := float64(d.Length) * scale
	if q.values.Get("after") != "" {
		d.Wider = q.Range(d.From-(d.To-d.From)/2, d.To+(d.To-d.From)/2)
	}
	numbers := func(name string, of rowKind, kind query.Kind, value func(*slot) (query.Range, bool)) {
		c := chart{Name: name, None: true}
		var most int64 = 1
		for i := range all {
			if r, ok := value(&all[i]); ok {
				most = max(most, r.Low)
				if !r.Open() {
					most = max(most, r.High)
				}
			}
		}
		c.Most = rangeText(query.Exactly(most), kind)
		known := 0
		for i := range all {
			s := &all[i]
			r, ok := value(s)
			if !ok {
				continue
			}
			known++
			c.None = false
			c.bar(x(s.at), wide, 0, r.Low, most, "resident", rangeText(r, kind))
			if !r.Exact() {
				c.bar(x(s.at), wide, r.Low, min(r.High, most), most, "band", rangeText(r, kind))
			}
			c.flag(x(s.at), wide, s.flags[of])
		}
		c.Words = fmt.Sprintf("%d of %d slots have a value, up to %s", known, len(all), c.Most)
		d.Charts = append(d.Charts, c)
	}
	d.dropCharts(all, x, wide)
	field := func(name string) func(*slot) (query.Range, bool) {
		get := slotTable.Field(name).Number
		return func(s *slot) (query.Range, bool) { return get(s, 0) }
	}
	numbers("Lost packets, by alternate marking", markRows, query.Count, field("lost"))
	numbers("Median time in a switch", stampRows, query.Duration, field("delay.p50"))
	numbers("99 % of times in a switch", stampRows, query.Duration, field("delay.p99"))
	numbers("Stamped packets", stampRows, query.Count, field("packets"))
	numbers("Bytes in queues, at least", packetRows, query.Bytes, field("queue.depth"))
}

// dropCharts draws the drops of each source, divided by reason.
func (d *timeData) dropCharts(all []slot, x func(int64) float64, wide float64) {
	bySource := map[string]map[string]int64{}
	most := map[string]int64{}
	for i := range all {
		sums := map[string]int64{}
		for k, n := range all[i].drops {
			if bySource[k.source] == nil {
				bySource[k.source] = map[string]int64{}
			}
			bySource[k.source][k.reason] += n
			sums[k.source] += n
			most[k.source] = max(most[k.source], sums[k.source])
		}
	}
	for _, source := range sortedKeys(bySource) {
		reasons := sortedKeys(bySource[source])
		slices.SortStableFunc(reasons, func(a, b string) int { return cmp.Compare(bySource[source][b], bySource[source][a]) })
		c := chart{Name: "Drops by reason, reported by " + cmp.Or(source, "a source without a name"),
			Most: count(most[source])}
		for i, r := range reasons {
			if i < mostColours {
				c.Legend = append(c.Legend, legendWord{cmp.Or(r, notKnown), "k" + strconv.Itoa(i)})
			}
		}
		if len(reasons) > mostColours {
			c.Legend[mostColours-1].Word = "others"
		}
		for i := range all {
			var from int64
			for k, r := range reasons {
				n := all[i].drops[dropPart{source, r}]
				if n > 0 {
					c.bar(x(all[i].at), wide, from, from+n, most[source], "k"+strconv.Itoa(min(k, mostColours-1)), r+": "+count(n))
				}
				from += n
			}
			c.flag(x(all[i].at), wide, all[i].flags[dropRows])
		}
		c.Words = fmt.Sprintf("%d reasons, up to %s packets in a slot", len(reasons), c.Most)
		d.Charts = append(d.Charts, c)
	}
}

// bar adds a rectangle from one value to another.
func (c *chart) bar(x, wide float64, from, to, most int64, class, title string) {
	y := func(n int64) float64 { return 100 - 100*float64(max(0, n))/float64(max(1, most)) }
	high := max(y(from)-y(to), 1)
	c.Parts = append(c.Parts, chartPart{coord(x), coord(max(0, y(to)-1)), coord(max(wide-0.5, 0.5)), coord(high), class,
		title})
}

// flag marks a slot that may be inexact.
func (c *chart) flag(x, wide float64, flags result.Flags) {
	if flags != 0 {
		c.Parts = append(c.Parts, chartPart{coord(x), "0.0", coord(wide), "6.0", "flag", "not exact: " + flagWords(flags)[0]})
	}
}

// Range returns the address of this view for another range of time.
func (q *request) Range(after, before int64) string {
	v := url.Values{}
	for k, list := range q.values {
		if k != "since" && k != "page" {
			v[k] = list
		}
	}
	v.Set("after", strconv.FormatInt(max(0, after), 10))
	v.Set("before", strconv.FormatInt(before, 10))
	return q.view.path + "?" + v.Encode()
}

// Everything returns the address of this view for all times.
func (q *request) Everything() string {
	v := url.Values{}
	for k, list := range q.values {
		if k != "after" && k != "before" && k != "page" {
			v[k] = list
		}
	}
	v.Set("since", "all")
	return q.view.path + "?" + v.Encode()
}
