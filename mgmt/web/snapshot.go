package web

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
)

// Bounds of a snapshot. Rows beyond them are counted, and the page reports that.
const (
	mostRows       = 2_000_000 // number of rows that are read
	mostFlows      = 5_000     // number of flows and paths
	mostHops       = 32        // number of hops of a path
	mostDrops      = 5_000
	mostSeries     = 1_000 // number of series of alternate marking
	mostPeriods    = 500   // number of periods of a series, the latest ones
	mostJourneys   = 2_000 // number of journeys, the latest ones, and the same number of journeys of dropped packets
	mostSketches   = 10_000
	mostSources    = 2_000 // number of sources of a partition
	mostPartitions = 256
	mostAmends     = 1_000
)

// A rowKind is a kind of rows that have flags.
type rowKind int

const (
	stampRows rowKind = iota
	dropRows
	markRows
	packetRows
	rowKinds // the number of kinds
)

// A snapshot is the aggregated rows of a time range.
type snapshot struct {
	from, to int64
	rows     int
	unread   string   // why rows of the store are missing; empty if no row is missing
	lacks    []string // why rows may be missing from the store
	stopped  bool     // true if there are more rows, which were not read
	newest
	flags [rowKinds]result.Flags
	left  map[string]int64 // by kind, number of rows that were omitted because of a bound

	ways     map[wayKey]*way
	drops    map[dropKey]*dropSum
	series   map[seriesKey]*series
	journeys []result.Journey // the latest last
	died     []result.Journey // journeys of dropped packets, the latest last
	sketches map[sketchKey]result.Sketch
	totals   map[sketchKey][]result.Sketch // those about all packets, the earliest first
	amends   []amended
	sources  map[string]map[sourceKey]result.Source // by partition

	time timeline

	judged sync.Once
	alarms []alarm.Graph // see judge
}

// A newest describes how new rows are.
type newest struct {
	now    int64 // by the clock of the rows
	latest int64 // event time; 0 if no row has a time, except for rows that are ahead
	// ahead is the latest start, in ns, of rows that begin later than now because of a wrong clock. It is 0 if there
	// are none.
	ahead  int64
	others bool // true if rows exist, but only of other times
}

type wayKey struct{ flow, path string }

// A way is one path of one flow, summed over all windows.
type way struct {
	wayKey
	hops    []hopSum
	flags   result.Flags
	from    int64
	to      int64
	windows int
}

// A hopSum is a hop of a path, summed over all windows.
type hopSum struct {
	known            bool // true if there was a row for the hop
	sw               uint32
	in, out          uint16
	packets, unknown int64
	perhaps          int64 // the part of packets that may lie beside the chosen range
	resident, link   result.Distribution
	flags            result.Flags
}

type dropKey struct {
	sw, port, reason, rule, flow, source string
	queue                                int
}

type dropSum struct {
	dropKey
	packets     int64
	perhaps     int64 // the part of packets that may lie beside the chosen range
	first, last int64
	from, to    int64 // start and end of the windows
	flags       result.Flags
}

type seriesKey struct{ flow, cluster, from, to string }

// A series is the alternate-marking results between two places, the earliest period first.
type series struct {
	seriesKey
	periods []result.Loss
	left    int64
}

type sketchKey struct{ sw, task, key string }

// read makes a snapshot of the rows that the store has from a time on, and before the time to.
func read(ctx context.Context, store Store, from, to int64, now time.Time) (*snapshot, error) {
	s := &snapshot{
		from: from, to: to, newest: newest{now: now.UnixNano()}, left: map[string]int64{}, ways: map[wayKey]*way{},
		drops: map[dropKey]*dropSum{}, series: map[seriesKey]*series{}, sketches: map[sketchKey]result.Sketch{},
		totals:  map[sketchKey][]result.Sketch{},
		sources: map[string]map[sourceKey]result.Source{},
	}
	if to != math.MaxInt64 {
		s.time.chosen = interval{from, to}
	}
	if store == nil {
		return s, nil
	}
	err := store.Each(ctx, from, to, func(b *result.Batch) bool {
		if s.rows += b.Rows(); s.rows > mostRows {
			s.rows -= b.Rows()
			s.stopped = true
			return false
		}
		s.add(b)
		return true
	})
	var unread *result.Unread
	if errors.As(err, &unread) {
		s.unread, err = unread.Error(), nil
	} else if err != nil {
		return nil, err
	}
	s.finish()
	if s.latest == 0 && s.ahead == 0 {
		s.others, err = others(ctx, store)
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
func (s *snapshot) add(b *result.Batch) {
	for i := range b.Hops {
		if h := &b.Hops[i]; s.within(intervalOf(h.Window), h.Window.Start+h.Window.Length, stampRows, h.Flags) {
			s.addHop(h)
			if s.past(h.Window.Start) {
				s.time.addHop(h)
			}
		}
	}
	for i := range b.Drops {
		if d := &b.Drops[i]; s.within(dropInterval(d), d.Last, dropRows, d.Flags) {
			s.addDrop(d)
			if s.past(dropInterval(d).from) {
				s.time.addDrop(d)
			}
		}
	}
	for i := range b.Losses {
		if l := &b.Losses[i]; s.within(intervalOf(l.Window), l.Window.Start+l.Window.Length, markRows, l.Flags) {
			s.addLoss(l)
		}
	}
	for i := range b.Journeys {
		if j := &b.Journeys[i]; s.within(interval{j.Time, j.Time + 1}, j.Time, packetRows, j.Flags) {
			s.journeys = append(s.journeys, *j)
			if s.past(j.Time) {
				s.time.addJourney(j)
			}
			if diedAt(j) >= 0 {
				s.died = append(s.died, *j)
			}
		}
	}
	s.trim(2 * mostJourneys)
	for _, k := range b.Sketches {
		if s.within(interval{k.Time, k.Time + 1}, k.Time, markRows, 0) {
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
func (s *snapshot) amend(partition string, a result.Amend) {
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
func (s *snapshot) applyAmends() {
	for _, a := range s.amends {
		s.amendViews(&a)
		if a.of(result.Stamps) {
			for _, w := range s.ways {
				if a.From < w.to && a.To >= w.from {
					w.flag(a.Flags)
				}
			}
		}
		s.amendDrops(&a)
		s.amendJourneys(&a)
		if a.of(result.Periods) {
			for _, x := range s.series {
				x.flag(a.Amend)
			}
		}
	}
}

// amendedKinds holds, for each kind of rows, the sources whose amendments concern it.
var amendedKinds = [rowKinds][]result.Kind{stampRows: {result.Stamps}, dropRows: {result.Drops, result.Records},
	packetRows: {result.Records}, markRows: {result.Periods}}

// amendViews adds an amendment's flags to views: if all rows of a time are missing, no row can carry them.
func (s *snapshot) amendViews(a *amended) {
	if a.From > s.to || a.To < s.from {
		return
	}
	for of, kinds := range amendedKinds {
		if slices.ContainsFunc(kinds, a.of) {
			s.flags[of] |= a.Flags
		}
	}
}

// amendDrops applies an amendment to drops. For a drop that was read from records, amendments of records count.
func (s *snapshot) amendDrops(a *amended) {
	drops, records := a.of(result.Drops), a.of(result.Records)
	for _, x := range s.drops {
		told := drops
		if x.source == result.Records.String() {
			told = records
		}
		if told && a.From < x.to && a.To >= x.from {
			x.flags |= a.Flags
		}
	}
}

func (s *snapshot) amendJourneys(a *amended) {
	if !a.of(result.Records) {
		return
	}
	for _, list := range [][]result.Journey{s.journeys, s.died} {
		for i := range list {
			if j := &list[i]; a.From <= j.Time && a.To >= j.Time {
				j.Flags |= a.Flags
			}
		}
	}
}

// flag flags the periods of an amendment.
func (x *series) flag(a result.Amend) {
	for i := range x.periods {
		if l := &x.periods[i]; a.From < l.Window.Start+l.Window.Length && a.To >= l.Window.Start {
			l.Flags |= a.Flags
		}
	}
}

// flag flags a path and all its hops.
func (w *way) flag(flags result.Flags) {
	w.flags |= flags
	for i := range w.hops {
		w.hops[i].flags |= flags
	}
}

// past reports whether a time is not in the future, by the clock of the rows.
func (s *snapshot) past(at int64) bool { return at <= s.now+int64(staleAfter) }

// within records the newest event time and the flags of a row, and reports whether the row's interval overlaps the time
// range.
func (s *snapshot) within(v interval, newest int64, of rowKind, flags result.Flags) bool {
	if v.to <= s.from || v.from >= s.to {
		return false
	}
	if !s.past(v.from) {
		s.ahead = max(s.ahead, v.from)
	} else {
		s.latest = max(s.latest, newest)
	}
	s.flags[of] |= flags
	return true
}

// beside reports whether a row of an interval may lie beside the chosen range. Other ranges are those of the rows.
func (s *snapshot) beside(v interval) bool {
	return s.time.chosen != (interval{}) && !v.within(s.time.chosen)
}

// room reports whether a kind of rows, of which there are n, may have one more. If n has reached most, it counts the
// row as omitted.
func (s *snapshot) room(kind string, n, most int) bool {
	if n < most {
		return true
	}
	s.left[kind]++
	return false
}

func (s *snapshot) addHop(h *result.Hop) {
	key := wayKey{h.Flow, h.Path}
	w := s.ways[key]
	if w == nil {
		if !s.room("ways of flows", len(s.ways), mostFlows) {
			return
		}
		w = &way{wayKey: key, from: h.Window.Start}
		s.ways[key] = w
	}
	if h.Index < 0 || h.Index >= mostHops {
		s.left["hops"]++
		return
	}
	for len(w.hops) <= h.Index {
		w.hops = append(w.hops, hopSum{})
	}
	x := &w.hops[h.Index]
	if s.beside(intervalOf(h.Window)) {
		x.perhaps += h.Packets
	}
	x.known, x.sw, x.in, x.out = true, h.Switch, h.In, h.Out
	x.packets += h.Packets
	x.unknown += h.Unknown
	flags := h.Flags
	if fits := x.resident.Add(h.Resident); !x.link.Add(h.Link) || !fits {
		flags |= result.Overflow
		s.flags[stampRows] |= result.Overflow
	}
	x.flags |= flags
	w.flags |= flags
	w.from, w.to = min(w.from, h.Window.Start), max(w.to, h.Window.Start+h.Window.Length)
	if h.Index == 0 {
		w.windows++
	}
}

func (s *snapshot) addDrop(d *result.Drop) {
	key := dropKey{d.Switch, d.Port, d.Reason, d.Rule, d.Flow, d.Source, d.Queue}
	x := s.drops[key]
	if x == nil {
		if !s.room("drops", len(s.drops), mostDrops) {
			return
		}
		x = &dropSum{dropKey: key, first: d.First, last: d.Last, from: d.Window.Start}
		s.drops[key] = x
	}
	x.packets += d.Packets
	if s.beside(dropInterval(d)) {
		x.perhaps += d.Packets
	}
	x.first, x.last = min(x.first, d.First), max(x.last, d.Last)
	x.from, x.to = min(x.from, d.Window.Start), max(x.to, d.Window.Start+d.Window.Length)
	x.flags |= d.Flags
}

func (s *snapshot) addLoss(l *result.Loss) {
	key := seriesKey{l.Flow, l.Cluster, l.From, l.To}
	x := s.series[key]
	if x == nil {
		if !s.room("series of alternate marking", len(s.series), mostSeries) {
			return
		}
		x = &series{seriesKey: key}
		s.series[key] = x
	}
	x.periods = append(x.periods, *l)
	if len(x.periods) >= 2*mostPeriods {
		x.trim()
	}
}

// trim sorts the periods of a series, and keeps the latest. If a period is repeated, it keeps the last one.
func (x *series) trim() {
	slices.SortStableFunc(x.periods, func(a, b result.Loss) int {
		return cmp.Or(cmp.Compare(a.Window.Start, b.Window.Start), cmp.Compare(a.Period, b.Period))
	})
	x.periods = lastOf(x.periods, func(a, b *result.Loss) bool {
		return a.Window.Start == b.Window.Start && a.Period == b.Period
	})
	if n := len(x.periods) - mostPeriods; n > 0 {
		x.left += int64(n)
		x.periods = slices.Delete(x.periods, 0, n)
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

func (s *snapshot) addSketch(k result.Sketch) {
	k.Known = k.Known && !math.IsNaN(k.Truth) // NaN is unknown
	k.Bounded = k.Bounded && !math.IsNaN(k.Low) && !math.IsNaN(k.High)
	key := sketchKey{k.Switch, k.Task, k.Key}
	s.addTotal(key, &k)
	old, ok := s.sketches[key]
	if ok && old.Time > k.Time || !ok && !s.room("answers of sketches", len(s.sketches), mostSketches) {
		return
	}
	s.sketches[key] = k
}

// trim sorts journeys if there are more than most, and keeps the latest. A journey is repeated when more of it arrived
// late. Then the last one is kept.
func (s *snapshot) trim(most int) {
	for _, list := range []*[]result.Journey{&s.journeys, &s.died} {
		if len(*list) <= most {
			continue
		}
		slices.SortStableFunc(*list, func(a, b result.Journey) int { return compareJourneys(&a, &b) })
		*list = lastOf(*list, func(a, b *result.Journey) bool { return compareJourneys(a, b) == 0 })
		n := max(0, len(*list)-mostJourneys)
		if list == &s.journeys && n > 0 {
			s.left["packets"] += int64(n)
		}
		*list = append((*list)[:0:0], (*list)[n:]...)
	}
}

// compareJourneys orders journeys by time; 0 means the same packet.
func compareJourneys(a, b *result.Journey) int {
	if c := cmp.Or(cmp.Compare(a.Time, b.Time), strings.Compare(a.Key, b.Key)); c != 0 {
		return c
	}
	return strings.Compare(placeOf(a), placeOf(b))
}

// finish applies the pending amendments, then sorts all lists, trims them to their limits and counts what was left out.
func (s *snapshot) finish() {
	s.applyAmends()
	s.trim(0)
	for _, x := range s.series {
		if x.trim(); x.left > 0 {
			s.left["periods of alternate marking"] += x.left
		}
	}
	for k, list := range s.totals {
		s.totals[k] = s.trimTotals(list)
	}
	s.time.finish(s)
}

// diedAt returns the hop at which a packet was dropped, or -1 if no drop is known.
func diedAt(j *result.Journey) int {
	return slices.IndexFunc(j.Hops, func(h result.JourneyHop) bool { return h.Dropped != "" })
}
