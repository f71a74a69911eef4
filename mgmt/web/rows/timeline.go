package rows

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
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
	shortest [RowKinds]int64 // length of the shortest window of each kind of rows, in ns; 0 if there is none
	grain    int64           // the ends of intervals are rounded outwards to multiples of it; 0 if they are exact
	parts    map[Interval]*sums
	// spans counts dropped packets by the length of the intervals in which they lie: spans[i] by those below 1<<i ns.
	spans  [65]int64
	chosen Interval // the requested range, to which rows may belong only in part; zero if no range was chosen
}

// An Interval is a time range in ns since 1970, without its end.
type Interval struct{ From, To int64 }

// within reports whether an interval is a part of another one.
func (v Interval) within(o Interval) bool { return v.From >= o.From && v.To <= o.To }

// wide returns the interval between multiples of a length that contains another one.
func (v Interval) wide(length int64) Interval {
	to := FloorTo(v.To-1, length)
	if to > math.MaxInt64-length {
		return Interval{FloorTo(v.From, length), math.MaxInt64}
	}
	return Interval{FloorTo(v.From, length), to + length}
}

func intervalOf(w result.Window) Interval {
	if w.Start > math.MaxInt64-max(w.Length, 1) {
		return Interval{w.Start, math.MaxInt64}
	}
	return Interval{w.Start, w.Start + max(w.Length, 1)}
}

// dropInterval returns the interval in which the packets of a row were dropped. The window of a row may be that in
// which reports came, which is longer or later. It counts only if the times in the reports are not to be relied on.
func dropInterval(d *result.Drop) Interval {
	if d.Flags&result.Unsynchronised != 0 || d.First <= 0 || d.Last < d.First || d.Last == math.MaxInt64 {
		return intervalOf(d.Window)
	}
	return Interval{d.First, d.Last + 1}
}

// sums are what rows count in an interval.
type sums struct {
	stamped    bool
	packets    int64 // at the first switch of their paths
	visits     int64 // packets at all hops, of which resident has those with a known time
	resident   result.Distribution
	Drops      map[DropPart]int64
	periods    int64 // of alternate marking
	unknown    int64 // periods without known loss
	lost, sent int64 // of the other periods
	depth      int64 // greatest known number of bytes in a queue
	queued     bool  // a depth is known
	flags      [RowKinds]result.Flags
}

// A DropPart distinguishes drops in a slot.
type DropPart struct{ Source, Reason string }

// A Slot is a part of a timeline, of one length.
type Slot struct {
	At, Length     int64
	In             sums // rows whose interval is within the slot
	May            sums // rows whose interval only overlaps the slot, so that they may lie in it or not
	Overlaps       bool // there are such rows
	Flags          [RowKinds]result.Flags
	lost, dropped  query.Range
	reports, whole bool // drops are reported; no report is missing
	residence      spread
}

// part returns the sums of an interval.
func (t *timeline) part(v Interval) *sums {
	if t.parts == nil {
		t.parts = map[Interval]*sums{}
	}
	if t.grain > 0 {
		v = v.wide(t.grain)
	}
	x := t.parts[v]
	for x == nil {
		if len(t.parts) < mostParts {
			x = &sums{Drops: map[DropPart]int64{}}
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
func (t *timeline) window(of RowKind, w result.Window) {
	if w.Length > 0 && (t.shortest[of] == 0 || w.Length < t.shortest[of]) {
		t.shortest[of] = w.Length
	}
}

// coarsen rounds intervals outwards, so that few different ones remain.
func (t *timeline) coarsen() {
	for len(t.parts) > mostParts/2 {
		if t.grain == 0 {
			t.grain = t.unit(StampRows)
		} else {
			t.grain *= 2
		}
		was := t.parts
		t.parts = map[Interval]*sums{}
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
func (t *timeline) unit(of RowKind) int64 {
	own := t.shortest[of]
	if of == DropRows {
		own = t.dropUnit()
	}
	return cmp.Or(own, t.shortest[StampRows], t.dropUnit(), t.shortest[MarkRows], leastSlot)
}

// leastSlot is the length of slots of rows that have no windows, before it is doubled.
const leastSlot = int64(time.Microsecond)

// dropUnit returns the shortest length of slots for drops, 0 if there are none. It is that of the shortest window if
// half of the intervals are of that magnitude. Otherwise times in the reports are more precise than the windows.
func (t *timeline) dropUnit() int64 {
	var all, below int64
	for _, n := range t.spans {
		all = PlusBound(all, n)
	}
	window := t.shortest[DropRows]
	if window == 0 || all == 0 {
		return window
	}
	for i, n := range t.spans {
		if below = PlusBound(below, n); below > all/2 {
			if i < 60 && 4<<i < window {
				return min(leastSlot, window)
			}
			break
		}
	}
	return window
}

// FloorTo returns the largest multiple of by that is at most n.
func FloorTo(n, by int64) int64 { return n - (n%by+by)%by }

// Span returns the interval that contains all rows, without what is outside of the requested range.
func (t *timeline) Span() (all Interval) {
	all = Interval{math.MaxInt64, math.MinInt64}
	for v := range t.parts {
		all = Interval{min(all.From, v.From), max(all.To, v.To)}
	}
	if t.chosen != (Interval{}) {
		all = Interval{max(all.From, t.chosen.From), min(all.To, t.chosen.To)}
	}
	return all
}

// Length returns the length of slots with which few of them contain all rows, for a kind of rows.
func (t *timeline) Length(of RowKind) int64 {
	n, all := max(t.unit(of), t.grain), t.Span()
	if all.To <= all.From {
		return n
	}
	for n < math.MaxInt64/4 && (all.To-1)/n-all.From/n >= mostSlots {
		n *= 2
	}
	return n
}

// add adds other sums.
func (x *sums) add(o *sums) {
	x.stamped, x.packets, x.visits = x.stamped || o.stamped, x.packets+o.packets, x.visits+o.visits
	if !x.resident.Add(o.resident) {
		x.flags[StampRows] |= result.Overflow
	}
	if x.Drops == nil {
		x.Drops = map[DropPart]int64{}
	}
	for k, n := range o.Drops {
		x.Drops[k] = PlusBound(x.Drops[k], n)
	}
	x.periods, x.unknown = x.periods+o.periods, x.unknown+o.unknown
	x.lost, x.sent = PlusBound(x.lost, o.lost), PlusBound(x.sent, o.sent)
	x.depth, x.queued = max(x.depth, o.depth), x.queued || o.queued
	for k := range x.flags {
		x.flags[k] |= o.flags[k]
	}
}

func (t *timeline) addHop(h *result.Hop) {
	t.window(StampRows, h.Window)
	x := t.part(intervalOf(h.Window))
	x.stamped = true
	if h.Index == 0 {
		x.packets += h.Packets
	}
	x.visits += h.Packets
	x.flags[StampRows] |= h.Flags
	if !x.resident.Add(h.Resident) {
		x.flags[StampRows] |= result.Overflow
	}
}

func (t *timeline) addDrop(d *result.Drop) {
	t.window(DropRows, d.Window)
	v := dropInterval(d)
	t.spans[bits.Len64(uint64(v.To-v.From))] += max(0, min(d.Packets, 1<<40))
	x := t.part(v)
	part := DropPart{d.Source, d.Reason}
	x.Drops[part] = PlusBound(x.Drops[part], d.Packets)
	x.flags[DropRows] |= d.Flags
}

func (t *timeline) addJourney(j *result.Journey) {
	x := t.part(intervalOf(result.Window{Start: j.Time}))
	x.flags[PacketRows] |= j.Flags
	for i := range j.Hops {
		if d := j.Hops[i].Depth; d >= 0 {
			x.depth, x.queued = max(x.depth, d), true
		}
	}
}

// wholePaths returns the series of whole paths: without those of a cluster, and of a segment between two points of a
// path, whose ends are the begin or end of another segment of the flow.
func wholePaths(all map[SeriesKey]*Series) (whole []*Series) {
	type end struct{ flow, point string }
	begins, ends := map[end]bool{}, map[end]bool{}
	for k := range all {
		if k.Cluster == "" {
			begins[end{k.Flow, k.From}], ends[end{k.Flow, k.To}] = true, true
		}
	}
	for k, x := range all {
		if k.Cluster == "" && !ends[end{k.Flow, k.From}] && !begins[end{k.Flow, k.To}] {
			whole = append(whole, x)
		}
	}
	return whole
}

// finish adds the periods, each of which may have been repeated.
func (t *timeline) finish(s *Snapshot) {
	for _, x := range s.Series {
		for i := range x.Periods {
			t.window(MarkRows, x.Periods[i].Window)
		}
	}
	for _, x := range wholePaths(s.Series) { // clusters and segments count the same packets again
		for i := range x.Periods {
			l := &x.Periods[i]
			y := t.part(intervalOf(l.Window))
			y.periods++
			y.flags[MarkRows] |= l.Flags
			if l.Known {
				y.lost, y.sent = PlusBound(y.lost, l.Lost), PlusBound(y.sent, l.Sent)
			} else {
				y.unknown++
			}
		}
	}
}

// Slots returns the slots of a length that have rows, in the order of time. Rows are as much later as shift is.
func (t *timeline) Slots(s *Snapshot, length, shift int64) []Slot {
	found := map[int64]*Slot{}
	at := func(i int64) *Slot {
		x := found[i]
		if x == nil {
			x = &Slot{At: i * length, Length: length}
			found[i] = x
		}
		return x
	}
	for v, x := range t.parts {
		whole := t.chosen == Interval{} || v.within(t.chosen)
		if t.chosen != (Interval{}) {
			v = Interval{max(v.From, t.chosen.From), min(v.To, t.chosen.To)}
		}
		if v.To <= v.From {
			continue
		}
		first, last := FloorTo(v.From+shift, length)/length, FloorTo(v.To-1+shift, length)/length
		if whole && first == last {
			at(first).In.add(x)
			continue
		}
		for i := first; i <= last; i++ {
			y := at(i)
			y.May.add(x)
			y.Overlaps = true
		}
	}
	reports := s.reportsDrops()
	list := make([]Slot, 0, len(found))
	for _, x := range found {
		x.finish(s.amends, reports, shift)
		list = append(list, *x)
	}
	slices.SortFunc(list, func(a, b Slot) int { return cmp.Compare(a.At, b.At) })
	return list
}

// finish computes the values of a slot.
func (x *Slot) finish(amends []amended, reports bool, shift int64) {
	for k := range x.Flags {
		x.Flags[k] = x.In.flags[k] | x.May.flags[k]
	}
	for i := range amends {
		a := &amends[i]
		if a.From >= x.At+x.Length-shift || a.To < x.At-shift {
			continue
		}
		for k, kinds := range amendedKinds {
			if slices.ContainsFunc(kinds, a.of) {
				x.Flags[k] |= a.Flags
			}
		}
	}
	by, perhaps := map[string]int64{}, map[string]int64{}
	for k, n := range x.In.Drops {
		by[k.Source] = PlusBound(by[k.Source], n)
	}
	for k, n := range x.May.Drops {
		perhaps[k.Source] = PlusBound(perhaps[k.Source], n)
	}
	for _, n := range by {
		x.dropped.Low, x.dropped.High = max(x.dropped.Low, n), PlusBound(x.dropped.High, n)
	}
	for _, n := range perhaps {
		x.dropped.High = PlusBound(x.dropped.High, n)
	}
	x.reports = reports || len(by) > 0 || len(perhaps) > 0
	x.dropped.High = counted(x.dropped.High, x.Flags[DropRows]).High
	x.lost = query.Range{Low: x.In.lost, High: x.In.lost}
	if x.May.periods > 0 {
		all := PlusBound(x.In.lost, x.May.lost)
		x.lost = query.Range{Low: min(x.In.lost, all), High: max(x.In.lost, all)}
	}
	if !x.untimed() {
		x.residence = SpreadOf(x.In.resident.Count, []*result.Distribution{&x.In.resident})
		x.residence.widen(&x.May.resident)
	}
}

// untimed reports whether the time of a packet is unknown, which may be any.
func (x *Slot) untimed() bool {
	return x.In.visits != x.In.resident.Count || x.May.visits != x.May.resident.Count
}

// widen extends a spread by packets any part of which may belong to it. Without a packet that belongs to it for
// certain, it is that of these packets, if there are any.
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

// Reasons returns why the values of a slot may be inexact.
func (x *Slot) Reasons() []string {
	words := FlagWords(x.anyFlags())
	if x.Overlaps {
		words = append(words, "packets "+MayLie)
	}
	if x.untimed() {
		words = append(words, "times of some packets are unknown")
	}
	return words
}

// MayLie describes rows whose interval extends beyond a slot or a range.
const MayLie = "may lie in this time or beside it: their reports are of a longer time"

// SlotTable declares the slots.
var SlotTable = &query.Table[Slot]{Rows: "slots", Fields: slices.Concat(
	[]query.Field[Slot]{
		timeField("time", "begin of the slot", func(r *Slot) int64 { return r.At }),
		numberField("length", "length of the slot", query.Duration, query.NoTotal,
			func(r *Slot) (query.Range, bool) { return query.Exactly(r.Length), true }),
		numberField("packets", "stamped packets", query.Count, query.Sum, func(r *Slot) (query.Range, bool) {
			return more(counted(r.In.packets, r.Flags[StampRows]), r.May.packets), r.In.stamped || r.May.stamped
		}),
	},
	slices.DeleteFunc(delayFields(func(r *Slot) *spread { return &r.residence }), func(f query.Field[Slot]) bool {
		return f.Name == "delay.p999" || f.Name == "delay.min"
	}),
	[]query.Field[Slot]{
		numberField("lost", "lost packets of periods with known loss", query.Count, query.Sum,
			func(r *Slot) (query.Range, bool) {
				n := countedRange(r.lost, r.Flags[MarkRows])
				if r.In.unknown+r.May.unknown > 0 {
					n.High = math.MaxInt64
				}
				return n, r.In.periods+r.May.periods > r.In.unknown+r.May.unknown
			}),
		numberField("periods", "periods of alternate marking", query.Count, query.Sum,
			func(r *Slot) (query.Range, bool) { return more(query.Exactly(r.In.periods), r.May.periods), true }),
		numberField("periods.unknown", "periods whose loss is unknown", query.Count, query.Sum,
			func(r *Slot) (query.Range, bool) { return more(query.Exactly(r.In.unknown), r.May.unknown), true }),
		numberField("drops", "dropped packets, as reported", query.Count, query.Sum,
			func(r *Slot) (query.Range, bool) { return r.dropped, r.reports }),
		numberField("queue.depth", "most bytes in a queue, of packets whose records were joined", query.Bytes, query.Most,
			func(r *Slot) (query.Range, bool) {
				return query.Range{Low: r.In.depth, High: math.MaxInt64}, r.In.queued
			}),
	},
	flagFields((*Slot).anyFlags, func(r *Slot) bool { return !r.Overlaps }),
	[]query.Field[Slot]{{Name: "may-lie", Help: "reports of more than this time may belong to the slot, or not",
		Kind: query.Boolean, Text: query.One(func(r *Slot) (string, bool) { return query.YesNo(r.Overlaps), true })}},
)}

// more returns a range that may be greater by a number.
func more(r query.Range, by int64) query.Range {
	r.High = PlusBound(r.High, by)
	return r
}

// PlusBound adds numbers that are not negative, up to math.MaxInt64, which means no bound.
func PlusBound(a, b int64) int64 {
	if b > math.MaxInt64-max(a, 0) {
		return math.MaxInt64
	}
	return a + b
}

// anyFlags returns the flags of all rows of a slot.
func (x *Slot) anyFlags() (flags result.Flags) {
	for _, f := range x.Flags {
		flags |= f
	}
	return flags
}

// A Column is a field that a table shows, with its heading.
type Column struct{ Name, Word string }

// TimeColumns are the fields that the table of slots shows.
var TimeColumns = []Column{{"packets", "Stamped packets"}, {"delay.p50", "Median in a switch"},
	{"delay.p99", "99 % in a switch"}, {"lost", "Lost"}, {"drops", "Drops"}, {"queue.depth", "Bytes in queues"}}

// A timed is a slot with the slot of the earlier range that it is compared with.
type timed struct {
	Slot
	was *Slot // nil if there is none
}

// Besides returns slots with those of an earlier range at the same times.
func Besides(now, was []Slot) (list []timed) {
	for len(now)+len(was) > 0 {
		switch {
		case len(was) == 0 || len(now) > 0 && now[0].At < was[0].At:
			list, now = append(list, timed{now[0], nil}), now[1:]
		case len(now) == 0 || was[0].At < now[0].At:
			list, was = append(list, timed{Slot{At: was[0].At, Length: was[0].Length}, &was[0]}), was[1:]
		default:
			list, now, was = append(list, timed{now[0], &was[0]}), now[1:], was[1:]
		}
	}
	return list
}

// TimedTable declares slots, and comparedTable slots that are compared with an earlier range.
var TimedTable, ComparedTable = func() (_, _ *query.Table[timed]) {
	t := &query.Table[timed]{Rows: SlotTable.Rows}
	for _, f := range SlotTable.Fields {
		t.Fields = append(t.Fields, query.FieldOf(f, func(r *timed) *Slot { return &r.Slot }))
	}
	c := &query.Table[timed]{Rows: t.Rows, Fields: slices.Clone(t.Fields)}
	for _, column := range TimeColumns {
		name := column.Name
		before := query.FieldOf(*SlotTable.Field(name), func(r *timed) *Slot { return r.was })
		c.Fields = append(c.Fields, query.Comparison(*t.Field(name), before)...)
	}
	return t, c
}()
