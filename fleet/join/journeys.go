package join

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"time"

	"tamtam/collector"
	"tamtam/collector/journey"
	"tamtam/collector/result"
	"tamtam/fleet/event"
)

// DefaultWithin is the longest time from one switch to the next unless Options specify another: less than the default
// of `tamtam path`, since rows wait for it.
const DefaultWithin = time.Second

// capturedApart is the maximum delay between the captures of two copies of the same packet, in addition to the packet's
// own travel time.
const capturedApart = time.Second

// journeys joins the recorded copies of one packet to its path, by the same join as `tamtam path`.
//
// Windows are of capture times, since the clocks of switches may be arbitrary. A window reports the paths that begin in
// it. They are joined with everything captured from two reaches before the window to two reaches after it. A reach is
// the maximum time between the records of one packet at two switches. So the window is due two reaches after its end,
// and a path that extends into the last reach may continue beyond it.
type journeys struct {
	reader        *collector.JourneyReader
	wiring        journey.Wiring
	options       journey.Options
	length, reach int64

	kept   []*copied
	newest int64 // due time of the last window so far
	read   []collector.RecordCopy
}

type copied struct {
	collector.RecordCopy
	said journey.Record // contents, decoded by the plans
	at   int64
	late bool // true if it arrived after its window was closed, and is not yet reported
}

// newJourneys returns nil if records cannot be joined, for example without switch ids.
func newJourneys(o Options) *journeys {
	if o.Topology == nil {
		return nil
	}
	switches, wiring, err := o.Topology.Wiring()
	if err != nil {
		return nil
	}
	reader, err := collector.NewJourneyReader(o.Plans, switches)
	if err != nil {
		return nil // Options.Check reports the error
	}
	o.Journey.Within = cmp.Or(o.Journey.Within, DefaultWithin)
	reach := int64(o.Journey.Within + capturedApart)
	return &journeys{reader: reader, wiring: wiring, options: o.Journey, reach: reach,
		length: max(int64(o.Window), 2*reach)}
}

func (j *journeys) start(at int64) int64 { return at - at%j.length }

// due returns the time at which everything that is joined with a capture at this time has been read.
func (j *journeys) due(at int64) int64 { return j.start(at) + j.length + 2*j.reach }

// until returns the time from which a capture at this time is no longer needed.
func (j *journeys) until(at int64) int64 { return j.due(at + 2*j.reach) }

func (j *journeys) addBatch(r *event.Reader, w *windows) error {
	blobs, err := r.Blobs()
	if err != nil {
		return err
	}
	j.read = j.read[:0]
	for _, b := range blobs {
		c, err := event.ReadRecord(b)
		if err != nil {
			return err
		}
		// otherwise the whole batch stays in memory
		c.Bits, c.Identities = slices.Clone(c.Bits), slices.Clone(c.Identities)
		j.read = append(j.read, c)
	}
	w.back, w.ahead = max(w.back, j.length+3*j.reach), max(w.ahead, 2*j.reach)
	var late result.Amend
	for i, b := range blobs {
		if !j.add(&j.read[i], b.Time, w) {
			continue
		}
		if late.Flags == 0 {
			late = result.Amend{From: b.Time, To: b.Time, Flags: result.Late}
		}
		late.From, late.To = min(late.From, b.Time), max(late.To, b.Time)
	}
	if late.Flags != 0 { // rows already made for its packets, and for indistinguishable ones, lack it
		late.From, late.To = max(late.From-2*j.reach, 0), late.To+2*j.reach
		w.amends = append(w.amends, late)
	}
	clear(j.read)
	return nil
}

// add keeps a copy. late reports that the copy's window is closed and that the copy has not been reported.
func (j *journeys) add(c *collector.RecordCopy, at int64, w *windows) (late bool) {
	w.until = max(w.until, j.until(at))
	closed := j.due(at) <= w.closed
	if late = closed && !w.again; late {
		w.late++
	}
	switch {
	case j.reader.Name(c.Switch) == "":
		w.leftOut++
		return false
	case !collector.Timed(&c.Record):
		if w.leftOut++; !w.again { // otherwise the loss is counted already
			w.gap(at, at, result.Gap)
		}
		return false
	case j.until(at) <= w.closed && w.again:
		return false
	case len(j.kept)+w.rows >= w.most:
		w.leftOut++
		w.gap(at, at, result.Overflow)
		return false
	}
	j.kept = append(j.kept, &copied{RecordCopy: *c, said: j.reader.Record(c), at: at, late: late})
	j.newest = max(j.newest, j.due(at))
	return late
}

func (j *journeys) last() int64 { return j.newest }

func (j *journeys) says(from, to int64) bool {
	return slices.ContainsFunc(j.kept, func(c *copied) bool { return c.late || j.due(c.at) > from && j.due(c.at) <= to })
}

// A pass is one pass that reports packets into a batch.
type pass struct {
	*journeys
	from    int64 // windows due by then are already reported
	silent  bool
	windows *windows
	batch   *result.Batch
	drops   map[result.Drop]int // index in batch.Drops, keyed by all fields except the counts
}

func (j *journeys) advance(from, to int64, silent bool, w *windows, b *result.Batch) {
	if !j.says(from, to) {
		j.forget(to)
		return
	}
	of := map[journey.Key][]*copied{}
	begin := map[int64]map[journey.Key]bool{} // packets with records in windows that are due, by window start
	late := map[journey.Key]bool{}
	for _, c := range j.kept {
		of[c.Key] = append(of[c.Key], c)
		if due := j.due(c.at); c.late {
			late[c.Key] = true
		} else if due > from && due <= to {
			at := j.start(c.at)
			if begin[at] == nil {
				begin[at] = map[journey.Key]bool{}
			}
			begin[at][c.Key] = true
		}
	}
	t := &pass{j, from, silent, w, b, map[result.Drop]int{}}
	for _, key := range slices.Sorted(maps.Keys(late)) {
		t.late(of[key])
	}
	for _, at := range slices.Sorted(maps.Keys(begin)) {
		for _, key := range slices.Sorted(maps.Keys(begin[at])) {
			t.window(at, of[key])
		}
	}
	slices.SortStableFunc(b.Journeys, func(a, b result.Journey) int { return cmp.Compare(a.Time, b.Time) })
	j.forget(to)
}

func (j *journeys) forget(to int64) {
	j.kept = slices.DeleteFunc(j.kept, func(c *copied) bool { return j.until(c.at) <= to })
	for _, c := range j.kept {
		c.late = false
	}
}

// between returns the copies that were captured from a time up to, but not including, another. Their order does not
// depend on which source reported them.
func between(all []*copied, from, to int64) []*copied {
	some := make([]*copied, 0, len(all))
	for _, c := range all {
		if c.at >= from && c.at < to {
			some = append(some, c)
		}
	}
	slices.SortStableFunc(some, func(a, b *copied) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.Switch, b.Switch), cmp.Compare(a.Plan, b.Plan),
			cmp.Compare(a.InPort, b.InPort), cmp.Compare(a.OutPort, b.OutPort), bytes.Compare(a.Bits, b.Bits),
			bytes.Compare(a.Identities, b.Identities))
	})
	return some
}

// window reports the packets with a key whose paths begin in a window.
func (t *pass) window(start int64, all []*copied) {
	end := start + t.length
	some := between(all, start-2*t.reach, end+2*t.reach)
	seen := times(some)
	for _, trip := range journey.Join(records(some), t.wiring, t.options) {
		if began := seen[visitOf(trip.Visits[0])].first; began < start || began >= end {
			continue
		}
		t.report(some[0].Key, trip, seen, end+t.reach, 0, func(*journey.Visit) bool { return true })
	}
}

// late reports the paths of the packets with a key for which records came late, as far as their copies are still kept.
func (t *pass) late(all []*copied) {
	from, to := all[0].at, all[0].at
	cameLate := map[visit]bool{}
	first := true
	for _, c := range all {
		if !c.late {
			continue
		}
		if first {
			from, to, first = c.at, c.at, false
		}
		from, to = min(from, c.at), max(to, c.at)
		cameLate[c.visit()] = true
	}
	some := between(all, from-2*t.reach, to+2*t.reach)
	seen := times(some)
	for _, trip := range journey.Join(records(some), t.wiring, t.options) {
		if !slices.ContainsFunc(trip.Visits, func(v *journey.Visit) bool { return cameLate[visitOf(v)] }) {
			continue
		}
		t.report(some[0].Key, trip, seen, to+t.reach, result.Late, func(v *journey.Visit) bool {
			return cameLate[visitOf(v)] || t.due(seen[visitOf(v)].first) > t.from
		})
	}
}

func records(some []*copied) []journey.Record {
	list := make([]journey.Record, len(some))
	for i, c := range some {
		list[i] = c.said
	}
	return list
}

// A visit identifies one of the visits of a packet's key.
type visit struct {
	name, port string
	arrived    time.Duration
}

func visitOf(v *journey.Visit) visit { return visit{v.Switch, v.In, v.Arrived} }

func (c *copied) visit() visit { return visit{c.said.Switch, c.said.In, c.said.Arrived} }

// captured holds the times of the first and last captured record of a visit.
type captured struct{ first, last int64 }

func times(some []*copied) map[visit]captured {
	seen := make(map[visit]captured, len(some))
	for _, c := range some {
		x, ok := seen[c.visit()]
		if !ok {
			x = captured{c.at, c.at}
		}
		seen[c.visit()] = captured{min(x.first, c.at), max(x.last, c.at)}
	}
	return seen
}

// report adds a path to the batch. A path that extends beyond edge may continue, and is flagged. Drops are reported for
// the visits that the function drops selects, so that each is reported once.
func (t *pass) report(key journey.Key, trip journey.Journey, seen map[visit]captured, edge int64, flags result.Flags,
	drops func(*journey.Visit) bool,
) {
	row := rowOf(key, trip)
	span := seen[visitOf(trip.Visits[0])]
	for _, v := range trip.Visits {
		x := seen[visitOf(v)]
		span = captured{min(span.first, x.first), max(span.last, x.last)}
	}
	row.Flags |= flags | t.windows.gapFlags(span.first-t.reach, span.last+t.reach)
	if span.last >= edge {
		row.Flags |= result.Edge
	}
	if t.silent {
		row.Flags |= result.Silent
	}
	t.batch.Journeys = append(t.batch.Journeys, row)
	for _, v := range trip.Visits {
		if !drops(v) {
			continue
		}
		at := t.start(seen[visitOf(v)].first)
		for _, e := range v.Exits {
			if d, ok := dropOf(v, e, trip.Flow); ok {
				d.Window = result.Window{Start: at, Length: t.length}
				d.Flags = row.Flags &^ (result.Missing | result.Unsynchronised | result.Edge)
				if v.ClockSuspect { // its times are by the clock of this switch only
					d.Flags |= result.Unsynchronised
				}
				t.drop(d, int64(e.Left))
			}
		}
	}
}

func (t *pass) drop(d result.Drop, at int64) {
	i, ok := t.drops[d]
	if !ok {
		i = len(t.batch.Drops)
		t.drops[d] = i
		d.First, d.Last = at, at
		t.batch.Drops = append(t.batch.Drops, d)
	}
	x := &t.batch.Drops[i]
	x.Packets++
	x.First, x.Last = min(x.First, at), max(x.Last, at)
}
