package rows

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"tamtam/collector/alarm"
	"tamtam/collector/result"
	"tamtam/tam/query"
)

// Bounds of a snapshot. Rows beyond them are counted, and the page reports that.
const (
	mostRows       = 2_000_000 // number of rows that are read
	mostFlows      = 5_000     // number of flows and paths
	mostHops       = 32        // number of hops of a path
	MostDrops      = 5_000
	mostSeries     = 1_000 // number of series of alternate marking
	MostPeriods    = 500   // number of periods of a series, the latest ones
	MostJourneys   = 2_000 // number of journeys, the latest ones, and the same number of journeys of dropped packets
	mostSketches   = 10_000
	mostSources    = 2_000 // number of sources of a partition
	mostPartitions = 256
	mostAmends     = 1_000
)

// A RowKind is a kind of rows that have flags.
type RowKind int

// These are the kinds of rows: of stamps, of drops, of periods of alternate marking, and of packets.
const (
	StampRows RowKind = iota
	DropRows
	MarkRows
	PacketRows
	RowKinds // the number of kinds
)

// A Snapshot is the aggregated rows of a time range.
type Snapshot struct {
	from, to int64
	Rows     int
	Unread   string   // why rows of the store are missing; empty if no row is missing
	Lacks    []string // why rows may be missing from the store
	Stopped  bool     // true if there are more rows, which were not read
	newest
	Flags [RowKinds]result.Flags
	Left  map[string]int64 // by kind, number of rows that were omitted because of a bound

	Ways     map[WayKey]*Way
	Drops    map[dropKey]*DropSum
	Series   map[SeriesKey]*Series
	Journeys []result.Journey // the latest last
	Died     []result.Journey // journeys of dropped packets, the latest last
	Sketches map[SketchKey]result.Sketch
	totals   map[SketchKey][]result.Sketch // those about all packets, the earliest first
	amends   []amended
	sources  map[string]map[sourceKey]result.Source // by partition

	Time timeline

	judged sync.Once
	alarms []alarm.Graph // see judge
}

// A newest describes how new rows are.
type newest struct {
	Now    int64 // by the clock of the rows
	Latest int64 // event time; 0 if no row has a time, except for rows that are ahead
	// ahead is the latest start, in ns, of rows that begin later than now because of a wrong clock. It is 0 if there
	// are none.
	Ahead  int64
	Others bool // true if rows exist, but only of other times
}

// A WayKey identifies a path of a flow.
type WayKey struct{ Flow, Path string }

// A Way is one path of one flow, summed over all windows.
type Way struct {
	WayKey
	Hops    []HopSum
	Flags   result.Flags
	From    int64
	To      int64
	Windows int  // number of rows of the first hop: one for each window, and one for each late addition to a window
	Late    bool // true if there are such additions: Windows is then an upper bound
}

// A HopSum is a hop of a path, summed over all windows.
type HopSum struct {
	Known            bool // true if there was a row for the hop
	Sw               uint32
	In, Out          uint16
	Packets, Unknown int64
	Perhaps          int64 // the part of packets that may lie beside the chosen range
	Resident, Link   result.Distribution
	Flags            result.Flags
}

type dropKey struct {
	Sw, Port, Reason, Rule, Flow, Source string
	Queue                                int
}

// A DropSum is drops of one kind, summed over all windows.
type DropSum struct {
	dropKey
	Packets     int64
	Perhaps     int64 // the part of packets that may lie beside the chosen range
	First, Last int64
	from, to    int64 // start and end of the windows
	Flags       result.Flags
}

// A SeriesKey distinguishes series of alternate marking.
type SeriesKey struct{ Flow, Cluster, From, To string }

// A Series is the alternate-marking results between two places, the earliest period first.
type Series struct {
	SeriesKey
	Periods []result.Loss
	Left    int64
}

// A SketchKey distinguishes answers of sketches.
type SketchKey struct{ Sw, Task, Key string }

// Read makes a snapshot of the rows that the store has from a time on, and before the time to.
func Read(ctx context.Context, store Store, from, to int64, now time.Time) (*Snapshot, error) {
	s := &Snapshot{
		from: from, to: to, newest: newest{Now: now.UnixNano()}, Left: map[string]int64{}, Ways: map[WayKey]*Way{},
		Drops: map[dropKey]*DropSum{}, Series: map[SeriesKey]*Series{}, Sketches: map[SketchKey]result.Sketch{},
		totals:  map[SketchKey][]result.Sketch{},
		sources: map[string]map[sourceKey]result.Source{},
	}
	if to != math.MaxInt64 {
		s.Time.chosen = Interval{from, to}
	}
	if store == nil {
		return s, nil
	}
	err := store.Each(ctx, from, to, func(b *result.Batch) bool {
		if s.Rows += b.Rows(); s.Rows > mostRows {
			s.Rows -= b.Rows()
			s.Stopped = true
			return false
		}
		s.add(b)
		return true
	})
	var unread *result.Unread
	if errors.As(err, &unread) {
		s.Unread, err = unread.Error(), nil
	} else if err != nil {
		return nil, err
	}
	s.finish()
	if l, ok := store.(lacking); ok {
		if s.Lacks, err = l.Lacks(from, to); err != nil {
			return nil, err
		}
	}
	if s.Latest == 0 && s.Ahead == 0 {
		s.Others, err = others(ctx, store)
	}
	return s, err
}

// others reports whether a store has rows of any time, judging by its first batches.
func others(ctx context.Context, store Store) (found bool, err error) {
	looks := 0
	err = store.Each(ctx, 0, math.MaxInt64, func(b *result.Batch) bool {
		_, _, found = b.Span()
		looks++
		return !found && looks < mostLooks
	})
	var unread *result.Unread
	if errors.As(err, &unread) { // the snapshot reports that already
		err = nil
	}
	return found, err
}

// mostLooks bounds the batches that are checked for a row of another time.
const mostLooks = 64

// add adds the rows of a batch that are within the time range.
func (s *Snapshot) add(b *result.Batch) {
	for i := range b.Hops {
		if h := &b.Hops[i]; s.within(intervalOf(h.Window), h.Window.Start+h.Window.Length, StampRows, h.Flags) {
			s.addHop(h)
			if s.past(h.Window.Start) {
				s.Time.addHop(h)
			}
		}
	}
	for i := range b.Drops {
		if d := &b.Drops[i]; s.within(dropInterval(d), d.Last, DropRows, d.Flags) {
			s.addDrop(d)
			if s.past(dropInterval(d).From) {
				s.Time.addDrop(d)
			}
		}
	}
	for i := range b.Losses {
		if l := &b.Losses[i]; s.within(intervalOf(l.Window), l.Window.Start+l.Window.Length, MarkRows, l.Flags) {
			s.addLoss(l)
		}
	}
	for i := range b.Journeys {
		if j := &b.Journeys[i]; s.within(Interval{j.Time, j.Time + 1}, j.Time, PacketRows, j.Flags) {
			s.Journeys = append(s.Journeys, *j)
			if s.past(j.Time) {
				s.Time.addJourney(j)
			}
			if DiedAt(j) >= 0 {
				s.Died = append(s.Died, *j)
			}
		}
	}
	s.trim(2 * MostJourneys)
	for _, k := range b.Sketches {
		if s.within(Interval{k.Time, k.Time + 1}, k.Time, MarkRows, 0) {
			s.addSketch(k)
		}
	}
	for _, a := range b.Amends {
		s.amend(b.Partition, a)
	}
	s.addSources(b)
}

// An amended is a later correction of the flags of rows in a time range.
type amended struct {
	kind string // kind of the partition
	result.Amend
}

// of reports whether an amendment concerns rows of a kind.
func (a *amended) of(k result.Kind) bool {
	known := false
	for kind := result.Stamps; kind < result.Kinds; kind++ {
		known = known || kind.String() == a.kind
	}
	return !known || a.kind == k.String()
}

// amend stores an amendment. An amendment may be read before the rows that it amends. Beyond mostAmends, several are
// merged.
func (s *Snapshot) amend(partition string, a result.Amend) {
	kind, _, _ := strings.Cut(partition, "-")
	if len(s.amends) == mostAmends {
		last := &s.amends[mostAmends-1]
		last.kind = ""
		last.From, last.To, last.Flags = min(last.From, a.From), max(last.To, a.To), last.Flags|a.Flags
		return
	}
	s.amends = append(s.amends, amended{kind, a})
}

// applyAmends applies amendments to all rows of their times, and to the views that may lack rows.
func (s *Snapshot) applyAmends() {
	for _, a := range s.amends {
		s.amendViews(&a)
		if a.of(result.Stamps) {
			for _, w := range s.Ways {
				if a.From < w.To && a.To >= w.From {
					w.flag(a.Flags)
				}
			}
		}
		s.amendDrops(&a)
		s.amendJourneys(&a)
		if a.of(result.Periods) {
			for _, x := range s.Series {
				x.flag(a.Amend)
			}
		}
	}
}

// amendedKinds holds, for each kind of rows, the sources whose amendments concern it.
var amendedKinds = [RowKinds][]result.Kind{StampRows: {result.Stamps}, DropRows: {result.Drops, result.Records},
	PacketRows: {result.Records}, MarkRows: {result.Periods}}

// amendViews adds an amendment's flags to views: if all rows of a time are missing, no row can carry them.
func (s *Snapshot) amendViews(a *amended) {
	if a.From > s.to || a.To < s.from {
		return
	}
	for of, kinds := range amendedKinds {
		if slices.ContainsFunc(kinds, a.of) {
			s.Flags[of] |= a.Flags
		}
	}
}

// amendDrops applies an amendment to drops. For a drop that was read from records, amendments of records count.
func (s *Snapshot) amendDrops(a *amended) {
	drops, records := a.of(result.Drops), a.of(result.Records)
	for _, x := range s.Drops {
		reported := drops
		if x.Source == result.Records.String() {
			reported = records
		}
		if reported && a.From < x.to && a.To >= x.from {
			x.Flags |= a.Flags
		}
	}
}

func (s *Snapshot) amendJourneys(a *amended) {
	if !a.of(result.Records) {
		return
	}
	for _, list := range [][]result.Journey{s.Journeys, s.Died} {
		for i := range list {
			if j := &list[i]; a.From <= j.Time && a.To >= j.Time {
				j.Flags |= a.Flags
			}
		}
	}
}

// flag flags the periods of an amendment.
func (x *Series) flag(a result.Amend) {
	for i := range x.Periods {
		if l := &x.Periods[i]; a.From < l.Window.Start+l.Window.Length && a.To >= l.Window.Start {
			l.Flags |= a.Flags
		}
	}
}

// flag flags a path and all its hops.
func (w *Way) flag(flags result.Flags) {
	w.Flags |= flags
	for i := range w.Hops {
		w.Hops[i].Flags |= flags
	}
}

// past reports whether a time is not in the future, by the clock of the rows.
func (s *Snapshot) past(at int64) bool { return at <= s.Now+int64(StaleAfter) }

// within records the newest event time and the flags of a row, and reports whether the row's interval overlaps the time
// range.
func (s *Snapshot) within(v Interval, newest int64, of RowKind, flags result.Flags) bool {
	if v.To <= s.from || v.From >= s.to {
		return false
	}
	if !s.past(v.From) {
		s.Ahead = max(s.Ahead, v.From)
	} else {
		s.Latest = max(s.Latest, newest)
	}
	s.Flags[of] |= flags
	return true
}

// beside reports whether a row of an interval may lie beside the chosen range. Other ranges are those of the rows.
func (s *Snapshot) beside(v Interval) bool {
	return s.Time.chosen != (Interval{}) && !v.within(s.Time.chosen)
}

// room reports whether a kind of rows, of which there are n, may have one more. If n has reached most, it counts the
// row as omitted.
func (s *Snapshot) room(kind string, n, most int) bool {
	if n < most {
		return true
	}
	s.Left[kind]++
	return false
}

func (s *Snapshot) addHop(h *result.Hop) {
	key := WayKey{h.Flow, h.Path}
	w := s.Ways[key]
	if w == nil {
		if !s.room("ways of flows", len(s.Ways), mostFlows) {
			return
		}
		w = &Way{WayKey: key, From: h.Window.Start}
		s.Ways[key] = w
	}
	if h.Index < 0 || h.Index >= mostHops {
		s.Left["hops"]++
		return
	}
	for len(w.Hops) <= h.Index {
		w.Hops = append(w.Hops, HopSum{})
	}
	x := &w.Hops[h.Index]
	if s.beside(intervalOf(h.Window)) {
		x.Perhaps += h.Packets
	}
	x.Known, x.Sw, x.In, x.Out = true, h.Switch, h.In, h.Out
	x.Packets += h.Packets
	x.Unknown += h.Unknown
	flags := h.Flags
	if fits := x.Resident.Add(h.Resident); !x.Link.Add(h.Link) || !fits {
		flags |= result.Overflow
		s.Flags[StampRows] |= result.Overflow
	}
	x.Flags |= flags
	w.Flags |= flags
	w.From, w.To = min(w.From, h.Window.Start), max(w.To, h.Window.Start+h.Window.Length)
	if h.Index == 0 {
		w.Windows++
		w.Late = w.Late || h.Flags&result.Late != 0
	}
}

func (s *Snapshot) addDrop(d *result.Drop) {
	key := dropKey{d.Switch, d.Port, d.Reason, d.Rule, d.Flow, d.Source, d.Queue}
	x := s.Drops[key]
	if x == nil {
		if !s.room("drops", len(s.Drops), MostDrops) {
			return
		}
		x = &DropSum{dropKey: key, First: d.First, Last: d.Last, from: d.Window.Start}
		s.Drops[key] = x
	}
	if x.Packets > math.MaxInt64-max(d.Packets, 0) { // a report may have any number
		x.Flags |= result.Overflow
		s.Flags[DropRows] |= result.Overflow
	}
	x.Packets = PlusBound(x.Packets, d.Packets)
	if s.beside(dropInterval(d)) {
		x.Perhaps = PlusBound(x.Perhaps, d.Packets)
	}
	x.First, x.Last = min(x.First, d.First), max(x.Last, d.Last)
	x.from, x.to = min(x.from, d.Window.Start), max(x.to, d.Window.Start+d.Window.Length)
	x.Flags |= d.Flags
}

func (s *Snapshot) addLoss(l *result.Loss) {
	key := SeriesKey{l.Flow, l.Cluster, l.From, l.To}
	x := s.Series[key]
	if x == nil {
		if !s.room("series of alternate marking", len(s.Series), mostSeries) {
			return
		}
		x = &Series{SeriesKey: key}
		s.Series[key] = x
	}
	x.Periods = append(x.Periods, *l)
	if len(x.Periods) >= 2*MostPeriods {
		x.trim()
	}
}

// trim sorts the periods of a series, and keeps the latest. If a period is repeated, it keeps the last one.
func (x *Series) trim() {
	slices.SortStableFunc(x.Periods, func(a, b result.Loss) int {
		return cmp.Or(cmp.Compare(a.Window.Start, b.Window.Start), cmp.Compare(a.Period, b.Period))
	})
	x.Periods = lastOf(x.Periods, func(a, b *result.Loss) bool {
		return a.Window.Start == b.Window.Start && a.Period == b.Period
	})
	if n := len(x.Periods) - MostPeriods; n > 0 {
		x.Left += int64(n)
		x.Periods = slices.Delete(x.Periods, 0, n)
	}
}

// lastOf keeps the last of adjacent rows that are the same.
func lastOf[T any](rows []T, same func(a, b *T) bool) []T {
	last := rows[:0]
	for i := range rows {
		if n := len(last); n > 0 && same(&last[n-1], &rows[i]) {
			last[n-1] = rows[i]
		} else {
			last = append(last, rows[i])
		}
	}
	return last
}

func (s *Snapshot) addSketch(k result.Sketch) {
	k.Known = k.Known && !math.IsNaN(k.Truth) // NaN is unknown
	k.Bounded = k.Bounded && !math.IsNaN(k.Low) && !math.IsNaN(k.High)
	key := SketchKey{k.Switch, k.Task, k.Key}
	s.addTotal(key, &k)
	old, ok := s.Sketches[key]
	if ok && old.Time > k.Time || !ok && !s.room("answers of sketches", len(s.Sketches), mostSketches) {
		return
	}
	s.Sketches[key] = k
}

// trim sorts journeys if there are more than most, and keeps the latest. A journey is repeated when more of it arrived
// late. Then the last one is kept.
func (s *Snapshot) trim(most int) {
	for _, list := range []*[]result.Journey{&s.Journeys, &s.Died} {
		if len(*list) <= most {
			continue
		}
		slices.SortStableFunc(*list, func(a, b result.Journey) int { return compareJourneys(&a, &b) })
		*list = lastOf(*list, func(a, b *result.Journey) bool { return compareJourneys(a, b) == 0 })
		n := max(0, len(*list)-MostJourneys)
		if list == &s.Journeys && n > 0 {
			s.Left["packets"] += int64(n)
		}
		*list = append((*list)[:0:0], (*list)[n:]...)
	}
}

// compareJourneys orders journeys by time; 0 means the same packet.
func compareJourneys(a, b *result.Journey) int {
	if c := cmp.Or(cmp.Compare(a.Time, b.Time), strings.Compare(a.Key, b.Key)); c != 0 {
		return c
	}
	return strings.Compare(PlaceOf(a), PlaceOf(b))
}

// finish applies the pending amendments, then sorts all lists, trims them to their limits and counts what was left out.
func (s *Snapshot) finish() {
	s.applyAmends()
	s.trim(0)
	for _, x := range s.Series {
		if x.trim(); x.Left > 0 {
			s.Left["periods of alternate marking"] += x.Left
		}
	}
	for k, list := range s.totals {
		s.totals[k] = s.trimTotals(list)
	}
	s.Time.finish(s)
}

// DiedAt returns the hop at which a packet was dropped, or -1 if no drop is known.
func DiedAt(j *result.Journey) int {
	return slices.IndexFunc(j.Hops, func(h result.JourneyHop) bool { return h.Dropped != "" })
}

// SortedWays returns the paths sorted by flow and path.
func (s *Snapshot) SortedWays() []*Way {
	list := make([]*Way, 0, len(s.Ways))
	for _, w := range s.Ways {
		list = append(list, w)
	}
	slices.SortFunc(list, func(a, b *Way) int {
		return cmp.Or(query.Natural(a.Flow, b.Flow), query.Natural(a.Path, b.Path))
	})
	return list
}
