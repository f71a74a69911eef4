package web

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"net/url"
	"slices"
	"strconv"
	"time"

	"tamtam/collector/result"
	"tamtam/tam/query"
)

// mostSlots bounds the slots of a timeline. When there would be more, each becomes twice as long.
const mostSlots = 240

// mostParts bounds the intervals of a timeline. When there are more, their ends are rounded.
const mostParts = 4096

// A timeline is the rows of a snapshot over time. Each row lies somewhere in an interval, such as a window.
type timeline struct {
	shortest [rowKinds]int64 // length of the shortest window of each kind of rows, in ns; 0 if there is none
	grain    int64           // the ends of intervals are rounded outwards to multiples of it; 0 if they are exact
	parts    map[interval]*sums
	// spans counts dropped packets by the length of the intervals in which they lie: spans[i] by those below 1<<i ns.
	spans  [65]int64
	chosen interval // the requested range, to which rows may belong only in part; zero if no range was chosen
}

// An interval is a time range in ns since 1970, without its end.
type interval struct{ from, to int64 }

// within reports whether an interval is a part of another one.
func (v interval) within(o interval) bool { return v.from >= o.from && v.to <= o.to }

// wide returns the interval between multiples of a length that contains another one.
func (v interval) wide(length int64) interval {
	to := floorTo(v.to-1, length)
	if to > math.MaxInt64-length {
		return interval{floorTo(v.from, length), math.MaxInt64}
	}
	return interval{floorTo(v.from, length), to + length}
}

func intervalOf(w result.Window) interval {
	if w.Start > math.MaxInt64-max(w.Length, 1) {
		return interval{w.Start, math.MaxInt64}
	}
	return interval{w.Start, w.Start + max(w.Length, 1)}
}

// dropInterval returns the interval in which the packets of a row were dropped. The window of a row may be that in
// which
// reports came, which is longer or later. It counts only if the times in the reports are not to be relied on.
func dropInterval(d *result.Drop) interval {
	if d.Flags&result.Unsynchronised != 0 || d.First <= 0 || d.Last < d.First || d.Last == math.MaxInt64 {
		return intervalOf(d.Window)
	}
	return interval{d.First, d.Last + 1}
}

// sums are what rows count in an interval.
type sums struct {
	stamped    bool
	packets    int64 // at the first switch of their paths
	resident   result.Distribution
	drops      map[dropPart]int64
	periods    int64 // of alternate marking
	unknown    int64 // periods without known loss
	lost, sent int64 // of the other periods
	depth      int64 // greatest known number of bytes in a queue
	queued     bool  // a depth is known
	flags      [rowKinds]result.Flags
}

// A dropPart distinguishes drops in a slot.
type dropPart struct{ source, reason string }

// A slot is a part of a timeline, of one length.
type slot struct {
	at, length     int64
	in             sums // rows whose interval is within the slot
	may            sums // rows whose interval only overlaps the slot, so that they may lie in it or not
	overlaps       bool // there are such rows
	flags          [rowKinds]result.Flags
	lost, dropped  query.Range
	reports, whole bool // drops are reported; no report is missing
	residence      spread
}

// part returns the sums of an interval.
func (t *timeline) part(v interval) *sums {
	if t.parts == nil {
		t.parts = map[interval]*sums{}
	}
	if t.grain > 0 {
		v = v.wide(t.grain)
	}
	x := t.parts[v]
	for x == nil {
		if len(t.parts) < mostParts {
			x = &sums{drops: map[dropPart]int64{}}
			t.parts[v] = x
			break
		}
		t.coarsen()
		v = v.wide(t.grain)
		x = t.parts[v]
	}
	return x
}

// window notes the length of a row's window.
func (t *timeline) window(of rowKind, w result.Window) {
	if w.Length > 0 && (t.shortest[of] == 0 || w.Length < t.shortest[of]) {
		t.shortest[of] = w.Length
	}
}

// coarsen rounds intervals outwards, so that few different ones remain.
func (t *timeline) coarsen() {
	for len(t.parts) > mostParts/2 {
		if t.grain == 0 {
			t.grain = t.unit(stampRows)
		} else {
			t.grain *= 2
		}
		was := t.parts
		t.parts = map[interval]*sums{}
		for v, x := range was {
			v = v.wide(t.grain)
			if into := t.parts[v]; into != nil {
				into.add(x)
			} else {
				t.parts[v] = x
			}
		}
	}
}

// unit returns the shortest length of slots for a kind of rows: that of the shortest window, so that each window is
// within one slot. Without such rows it is that of another kind.
func (t *timeline) unit(of rowKind) int64 {
	own := t.shortest[of]
	if of == dropRows {
		own = t.dropUnit()
	}
	return cmp.Or(own, t.shortest[stampRows], t.dropUnit(), t.shortest[markRows], leastSlot)
}

// leastSlot is the length of slots of rows that have no windows, before it is doubled.
const leastSlot = int64(time.Microsecond)

// dropUnit returns the shortest length of slots for drops, 0 if there are none. It is that of the shortest window if
// half
// of the intervals are of that magnitude. Otherwise times in the reports are more precise than the windows.
func (t *timeline) dropUnit() int64 {
	var all, below int64
	for _, n := range t.spans {
		all = plusBound(all, n)
	}
	window := t.shortest[dropRows]
	if window == 0 || all == 0 {
		return window
	}
	for i, n := range t.spans {
		if below = plusBound(below, n); below > all/2 {
			if i < 60 && 4<<i < window {
				return min(leastSlot, window)
			}
			break
		}
	}
	return window
}

func floorTo(n, by int64) int64 { return n - (n%by+by)%by }

// span returns the interval that contains all rows, without what is outside of the requested range.
func (t *timeline) span() (all interval) {
	all = interval{math.MaxInt64, math.MinInt64}
	for v := range t.parts {
		all = interval{min(all.from, v.from), max(all.to, v.to)}
	}
	if t.chosen != (interval{}) {
		all = interval{max(all.from, t.chosen.from), min(all.to, t.chosen.to)}
	}
	return all
}

// length returns the length of slots with which few of them contain all rows, for a kind of rows.
func (t *timeline) length(of rowKind) int64 {
	n, all := max(t.unit(of), t.grain), t.span()
	if all.to <= all.from {
		return n
	}
	for n < math.MaxInt64/4 && (all.to-1)/n-all.from/n >= mostSlots {
		n *= 2
	}
	return n
}

// add adds other sums.
func (x *sums) add(o *sums) {
	x.stamped, x.packets = x.stamped || o.stamped, x.packets+o.packets
	if !x.resident.Add(o.resident) {
		x.flags[stampRows] |= result.Overflow
	}
	if x.drops == nil {
		x.drops = map[dropPart]int64{}
	}
	for k, n := range o.drops {
		x.drops[k] += n
	}
	x.periods, x.unknown, x.lost, x.sent = x.periods+o.periods, x.unknown+o.unknown, x.lost+o.lost, x.sent+o.sent
	x.depth, x.queued = max(x.depth, o.depth), x.queued || o.queued
	for k := range x.flags {
		x.flags[k] |= o.flags[k]
	}
}

func (t *timeline) addHop(h *result.Hop) {
	t.window(stampRows, h.Window)
	x := t.part(intervalOf(h.Window))
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
	t.window(dropRows, d.Window)
	v := dropInterval(d)
	t.spans[bits.Len64(uint64(v.to-v.from))] += max(0, min(d.Packets, 1<<40))
	x := t.part(v)
	x.drops[dropPart{d.Source, d.Reason}] += d.Packets
	x.flags[dropRows] |= d.Flags
}

func (t *timeline) addJourney(j *result.Journey) {
	x := t.part(intervalOf(result.Window{Start: j.Time}))
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

// finish adds the periods, each of which may have been repeated.
func (t *timeline) finish(s *snapshot) {
	for _, x := range s.series {
		for i := range x.periods {
			t.window(markRows, x.periods[i].Window)
		}
	}
	for _, x := range wholePaths(s.series) { // clusters and segments count the same packets again
		for i := range x.periods {
			l := &x.periods[i]
			y := t.part(intervalOf(l.Window))
			y.periods++
			y.flags[markRows] |= l.Flags
			if l.Known {
				y.lost, y.sent = y.lost+l.Lost, y.sent+l.Sent
			} else {
				y.unknown++
			}
		}
	}
}

// slots returns the slots of a length that have rows, in the order of time. Rows are as much later as shift is.
func (t *timeline) slots(s *snapshot, length, shift int64) []slot {
	found := map[int64]*slot{}
	at := func(i int64) *slot {
		x := found[i]
		if x == nil {
			x = &slot{at: i * length, length: length}
			found[i] = x
		}
		return x
	}
	for v, x := range t.parts {
		whole := t.chosen == interval{} || v.within(t.chosen)
		if t.chosen != (interval{}) {
			v = interval{max(v.from, t.chosen.from), min(v.to, t.chosen.to)}
		}
		if v.to <= v.from {
			continue
		}
		first, last := floorTo(v.from+shift, length)/length, floorTo(v.to-1+shift, length)/length
		if whole && first == last {
			at(first).in.add(x)
			continue
		}
		for i := first; i <= last; i++ {
			y := at(i)
			y.may.add(x)
			y.overlaps = true
		}
	}
	reports := s.reportsDrops()
	list := make([]slot, 0, len(found))
	for _, x := range found {
		x.finish(s.amends, reports, shift)
		list = append(list, *x)
	}
	slices.SortFunc(list, func(a, b slot) int { return cmp.Compare(a.at, b.at) })
	return list
}

// finish computes the values of a slot.
func (x *slot) finish(amends []amended, reports bool, shift int64) {
	for k := range x.flags {
		x.flags[k] = x.in.flags[k] | x.may.flags[k]
	}
	for i := range amends {
		a := &amends[i]
		if a.From+shift >= x.at+x.length || a.To+shift < x.at {
			continue
		}
		for k, kinds := range amendedKinds {
			if slices.ContainsFunc(kinds, a.of) {
				x.flags[k] |= a.Flags
			}
		}
	}
	by, perhaps := map[string]int64{}, map[string]int64{}
	for k, n := range x.in.drops {
		by[k.source] += n
	}
	for k, n := range x.may.drops {
		perhaps[k.source] += n
	}
	for _, n := range by {
		x.dropped.Low, x.dropped.High = max(x.dropped.Low, n), x.dropped.High+n
	}
	for _, n := range perhaps {
		x.dropped.High += n
	}
	x.reports = reports || len(by) > 0 || len(perhaps) > 0
	x.dropped.High = counted(x.dropped.High, x.flags[dropRows]).High
	x.lost = query.Range{Low: x.in.lost, High: x.in.lost}
	if x.may.periods > 0 {
		x.lost = query.Range{Low: min(x.in.lost, x.in.lost+x.may.lost), High: max(x.in.lost, x.in.lost+x.may.lost)}
	}
	x.residence = spreadOf(x.in.resident.Count, []*result.Distribution{&x.in.resident})
	x.residence.widen(&x.may.resident)
}

// widen extends a spread by packets any part of which may belong to it. Without a packet that belongs to it for
// certain,
// it is that of these packets, if there are any.
func (s *spread) widen(d *result.Distribution) {
	if d.Count == 0 {
		return
	}
	for _, r := range []*query.Range{&s.mean, &s.least, &s.p50, &s.p90, &s.p99, &s.p999, &s.most} {
		if !s.known {
			*r = query.Range{Low: d.Min, High: d.Max}
		}
		*r = query.Range{Low: min(r.Low, d.Min), High: max(r.High, d.Max)}
	}
	s.known = true
}

// reasons returns why the values of a slot may be inexact.
func (x *slot) reasons() []string {
	words := flagWords(x.anyFlags())
	if x.overlaps {
		words = append(words, "packets "+mayLie)
	}
	return words
}

// mayLie describes rows whose interval extends beyond a slot or a range.
const mayLie = "may lie in this time or beside it: their reports are of a longer time"

// slotTable declares the slots.
var slotTable = &query.Table[slot]{Rows: "slots", Fields: slices.Concat(
	[]query.Field[slot]{
		timeField("time", "begin of the slot", func(r *slot) int64 { return r.at }),
		numberField("length", "length of the slot", query.Duration, query.NoTotal,
			func(r *slot) (query.Range, bool) { return query.Exactly(r.length), true }),
		numberField("packets", "stamped packets", query.Count, query.Sum, func(r *slot) (query.Range, bool) {
			return more(counted(r.in.packets, r.flags[stampRows]), r.may.packets), r.in.stamped || r.may.stamped
		}),
	},
	slices.DeleteFunc(delayFields(func(r *slot) *spread { return &r.residence }), func(f query.Field[slot]) bool {
		return f.Name == "delay.p999" || f.Name == "delay.min"
	}),
	[]query.Field[slot]{
		numberField("lost", "lost packets of periods with known loss", query.Count, query.Sum,
			func(r *slot) (query.Range, bool) {
				n := countedRange(r.lost, r.flags[markRows])
				if r.in.unknown+r.may.unknown > 0 {
					n.High = math.MaxInt64
				}
				return n, r.in.periods+r.may.periods > r.in.unknown+r.may.unknown
			}),
		numberField("periods", "periods of alternate marking", query.Count, query.Sum,
			func(r *slot) (query.Range, bool) { return more(query.Exactly(r.in.periods), r.may.periods), true }),
		numberField("periods.unknown", "periods whose loss is unknown", query.Count, query.Sum,
			func(r *slot) (query.Range, bool) { return more(query.Exactly(r.in.unknown), r.may.unknown), true }),
		numberField("drops", "dropped packets, as reported", query.Count, query.Sum,
			func(r *slot) (query.Range, bool) { return r.dropped, r.reports }),
		numberField("queue.depth", "most bytes in a queue, of packets whose records were joined", query.Bytes, query.Most,
			func(r *slot) (query.Range, bool) {
				return query.Range{Low: r.in.depth, High: math.MaxInt64}, r.in.queued
			}),
	},
	flagFields((*slot).anyFlags, func(r *slot) bool { return !r.overlaps }),
	[]query.Field[slot]{{Name: "may-lie", Help: "reports of more than this time may belong to the slot, or not",
		Kind: query.Boolean, Text: query.One(func(r *slot) (string, bool) { return query.YesNo(r.overlaps), true })}},
)}

// more returns a range that may be greater by a number.
func more(r query.Range, by int64) query.Range {
	r.High = plusBound(r.High, by)
	return r
}

// plusBound adds numbers that are not negative, up to math.MaxInt64, which means no bound.
func plusBound(a, b int64) int64 {
	if b > math.MaxInt64-max(a, 0) {
		return math.MaxInt64
	}
	return a + b
}

// anyFlags returns the flags of all rows of a slot.
func (x *slot) anyFlags() (flags result.Flags) {
	for _, f := range x.flags {
		flags |= f
	}
	return flags
}

type timeData struct {
	chartData
	Rows   []timeRow
	Length int64
}

type timeRow struct {
	At      int64
	Href    string // shows the time around the slot
	Cells   []groupCell
	Reasons []string
}

// timeColumns are the fields that the table of slots shows.
var timeColumns = []string{"packets", "delay.p50", "delay.p99", "lost", "drops", "queue.depth"}

// A timed is a slot with the slot of the earlier range that it is compared with.
type timed struct {
	slot
	was *slot // nil if there is none
}

// over returns the view of the rows over time.
func (p *Page) over(q *request) (any, error) {
	line := &q.snap.time
	d := &timeData{Length: line.length(stampRows)}
	var err error
	if d.Compared, err = p.compare(q, line.span(), d.Length); err != nil {
		return nil, err
	}
	table := timedTable
	var was []slot
	if d.Compared != nil {
		was, table = d.Compared.slots(d.Length), comparedTable
	}
	all := besides(line.slots(q.snap, d.Length, 0), was)
	shown, err := choose(q, since(p, table), slices.Clone(all), "")
	if err != nil {
		return nil, err
	}
	if shown, err = pageOf(q, shown); err != nil {
		return nil, err
	}
	for i := range shown {
		x := &shown[i]
		r := timeRow{At: x.at, Href: q.Range(x.at-4*x.length, x.at+5*x.length), Reasons: x.reasons()}
		for _, name := range timeColumns {
			r.Cells = append(r.Cells, cellOf(table, x, name, d.Compared != nil))
		}
		d.Rows = append(d.Rows, r)
	}
	if len(all) == 0 || q.grouped {
		return d, nil
	}
	d.begin(q, all[0].at, all[len(all)-1].at+d.Length)
	d.Snap = d.Length
	d.draw(q.snap)
	return d, nil
}

// besides returns slots with those of an earlier range at the same times.
func besides(now, was []slot) (list []timed) {
	for len(now)+len(was) > 0 {
		switch {
		case len(was) == 0 || len(now) > 0 && now[0].at < was[0].at:
			list, now = append(list, timed{now[0], nil}), now[1:]
		case len(now) == 0 || was[0].at < now[0].at:
			list, was = append(list, timed{slot{at: was[0].at, length: was[0].length}, &was[0]}), was[1:]
		default:
			list, now, was = append(list, timed{now[0], &was[0]}), now[1:], was[1:]
		}
	}
	return list
}

// timedTable declares slots, and comparedTable slots that are compared with an earlier range.
var timedTable, comparedTable = func() (_, _ *query.Table[timed]) {
	t := &query.Table[timed]{Rows: slotTable.Rows}
	for _, f := range slotTable.Fields {
		t.Fields = append(t.Fields, query.FieldOf(f, func(r *timed) *slot { return &r.slot }))
	}
	c := &query.Table[timed]{Rows: t.Rows, Fields: slices.Clone(t.Fields)}
	for _, name := range timeColumns {
		before := query.FieldOf(*slotTable.Field(name), func(r *timed) *slot { return r.was })
		c.Fields = append(c.Fields, query.Comparison(*t.Field(name), before)...)
	}
	return t, c
}()

// draw draws the charts, each in slots that are as long as the windows of its rows need.
func (d *timeData) draw(s *snapshot) {
	var slots, was [rowKinds][]slot
	for of := range rowKinds {
		length := s.time.length(of)
		slots[of] = s.time.slots(s, length, 0)
		if d.Compared != nil {
			was[of] = d.Compared.slots(length)
		}
	}
	d.dropCharts(slots[dropRows], was[dropRows])
	for _, x := range []struct {
		name, field string
		of          rowKind
	}{
		{"Lost packets, by alternate marking", "lost", markRows}, {"Median time in a switch", "delay.p50", stampRows},
		{"99 % of times in a switch", "delay.p99", stampRows}, {"Stamped packets", "packets", stampRows},
		{"Bytes in queues, at least", "queue.depth", packetRows},
	} {
		f := slotTable.Field(x.field)
		points := func(list []slot) (points []point) {
			for i := range list {
				r, ok := f.Number(&list[i], 0)
				points = append(points, point{at: interval{list[i].at, list[i].at + list[i].length}, value: r, known: ok,
					flags: list[i].flags[x.of], overlaps: list[i].overlaps})
			}
			return points
		}
		d.chart(x.name, f.Kind, points(slots[x.of]), points(was[x.of]))
	}
}

// dropCharts draws the drops of each source, divided by reason. Those of an earlier range are a line.
func (d *timeData) dropCharts(all, was []slot) {
	bySource := map[string]map[string]int64{}
	most := map[string]int64{}
	sum := func(x *slot) (in, may map[string]int64) {
		in, may = map[string]int64{}, map[string]int64{}
		for k, n := range x.in.drops {
			in[k.source] += n
		}
		for k, n := range x.may.drops {
			may[k.source] += n
		}
		return in, may
	}
	for _, list := range [][]slot{all, was} {
		for i := range list {
			in, may := sum(&list[i])
			for _, of := range []map[dropPart]int64{list[i].in.drops, list[i].may.drops} {
				for k, n := range of {
					if bySource[k.source] == nil {
						bySource[k.source] = map[string]int64{}
					}
					bySource[k.source][k.reason] += n
					most[k.source] = max(most[k.source], in[k.source]+may[k.source])
				}
			}
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
		top := float64(most[source])
		for i := range all {
			x := &all[i]
			at, from := interval{x.at, x.at + x.length}, 0.0
			for k, r := range reasons {
				if n := float64(x.in.drops[dropPart{source, r}]); n > 0 {
					c.bar(&d.chartData, at, from, from+n, top, "k"+strconv.Itoa(min(k, mostColours-1)), r+": "+numberText(n))
					from += n
				}
			}
			for _, r := range reasons {
				if n := float64(x.may.drops[dropPart{source, r}]); n > 0 {
					c.bar(&d.chartData, at, from, from+n, top, "band", r+": up to "+numberText(n)+" more may lie here")
					from += n
				}
			}
			c.flag(&d.chartData, at, x.flags[dropRows])
		}
		for i := range was {
			in, may := sum(&was[i])
			c.before(&d.chartData, interval{was[i].at, was[i].at + was[i].length}, float64(in[source]),
				float64(in[source]+may[source]), top, count(in[source]))
		}
		c.Words = fmt.Sprintf("%d reasons, up to %s packets in a slot", len(reasons), c.Most)
		d.Charts = append(d.Charts, c)
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
