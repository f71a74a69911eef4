package marks

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"

	"tamtam/tam/altmark"
)

// Path is a path of packets with at least two measurement points, in the order in which
// packets pass them: an initiator, any number of transits, a terminator. All of them measure one
// flow group with one method, interval and mark.
type Path struct {
	Name   string
	Points []Point
	// Wait is how many periods to wait for a report after those of later periods have begun to
	// arrive; 1 to 8, 0 is [DefaultWait].
	Wait int
}

// Point is one session at one switch. Points of a path have different switches.
type Point struct {
	Switch, Session string
	// Settings are the session's; with a zero role they are not known yet.
	Settings altmark.Session
}

// DefaultWait is how many periods late a report may be before it counts as missing.
const DefaultWait = 3

// Status says what a result is worth.
type Status uint8

// The statuses.
const (
	OK      Status = iota + 1 // complete
	Flagged                   // the reasons say what cannot be relied on
	Missing                   // a report is missing: nothing is known
)

// Words that begin the reasons which only the reports of several points together can give.
const (
	Split  = "split-or-duplicated" // more packets reached a point than one before it
	Pulses = "pulses-differ"       // muxed: a pulse was lost or late, or a late packet taken for one
	// Recoloured: packets may have been counted in the period beside their own, as re-marked ones are.
	Recoloured = "colour-changed"
	Margin     = "sync-margin-low" // a delay is not what the settings say, so the guards are not either
	// OffGraph: a point that is not of the graph counted packets, or may have: they take a way that is not known.
	OffGraph = "off-graph"
)

var statusWords = []string{"", "ok", "flagged", "missing"}

// String is ok, flagged or missing.
func (s Status) String() string {
	if int(s) < len(statusWords) {
		return statusWords[s]
	}
	return fmt.Sprint(uint8(s))
}

// Result is what became of the packets of one period between two points.
//
// A number is known only where its Valid says so. Loss and delay are valid independently of each
// other; a period without a pulse has no delay, and nothing is wrong with it.
type Result struct {
	Path, From, To string // names of path and switches; From equals To for a round trip
	Period         uint64 // floor(time of day / interval)
	Start          altmark.Time
	Status         Status
	Reasons        []string // why it is not OK

	Counted bool // both points reported, and the counts are theirs
	Counts
	Lost      int64 // Sent - Received
	LossValid bool

	Delay      time.Duration // of the marked packet, by the clocks of both points
	DelayValid bool
	// RawDelay is the same without trust in the clocks: it includes their difference, which cancels
	// out over two opposite paths, see [TwoWay].
	RawDelay      time.Duration
	RawDelayValid bool
	// Jitter is this delay minus that of the period before (the delay variation of RFC 3393).
	Jitter      time.Duration
	JitterValid bool
	// Mean is the mean delay of all packets of the period, where the sessions ask for it.
	Mean Mean
	// Window summarises the delays of the last [Window] periods up to this one.
	Window Delays

	// Revised means that this result replaces an earlier one, because a report came late.
	Revised bool
}

// A Segment is what a result is of: a path or a graph, from a point or several to others.
type Segment struct{ Path, From, To string }

// Segment is what the result is of.
func (r *Result) Segment() Segment { return Segment{r.Path, r.From, r.To} }

// Counts are what two points counted in a period.
type Counts struct {
	Sent, Received           uint64 // packets at From and To
	SentBytes, ReceivedBytes uint64 // of frames with FCS: they differ where a switch adds or takes headers
	Excess                   bool   // nothing but packets in excess somewhere makes the loss uncertain
}

// Window is how many periods [Result.Window] covers.
const Window = 16

// Delays are bounds and mean of the valid delays of some periods; the mean is rounded to
// the nearest nanosecond. All zero when Count is.
type Delays struct {
	Count          int
	Min, Mean, Max time.Duration
}

// Stats counts the reports that a [Joiner] was given.
type Stats struct {
	Reports    uint64 // all of them
	Duplicates uint64 // equal to an earlier one
	Amended    uint64 // like an earlier one, flagged late-frames since
	Conflicts  uint64 // different from an earlier one of the same period, which is flagged
	Late       uint64 // after the period was emitted as missing, or was forgotten
	Refused    uint64 // impossible for any period
}

// keptPeriods is how many periods of a path are remembered.
const keptPeriods = 32

// periodsBefore is how many periods before one may cast doubt on it. Where one of them is forgotten a result does not
// become better: it could be for want of what that told.
const periodsBefore = 3

// lastPeriod is beyond every possible period: 2^48 seconds at the shortest interval.
const lastPeriod = 1 << 60

// Joiner joins the reports of one path. It compares only reports of the same period number,
// returns every period of which there is any report and those in between, and remembers the last
// 32.
//
// A period's results are returned once the reports of all points are in for it and for the next two
// periods, since a later report tells of packets that came too late. When a report does not come
// within [Path.Wait] more periods, the results are returned without it. The order in which
// reports come does not change what the last result for a period says, as long as it is remembered and
// so are the periods before it that tell of it.
//
// Each report is added with its arrival time, by one clock for all points: reports of one period
// number that arrive more than half a period apart may be of different times, and are not compared.
//
// A Joiner has no clock and no lock.
type Joiner struct {
	path    Path // a point is a stage
	stages  []pointStage
	graph   bool // packets need not pass all stages: those of cluster are compared
	cluster [2]int
	once    [2]bool   // no packet passes two points of that stage of the cluster
	brief   bool      // results have no jitter and no window
	watched int       // the stage of points that no packet may pass, plus 1; 0: there is none
	beside  []*Joiner // of a graph: the joins of its clusters, one of which may be this
	faults  []string  // of the settings
	entries []*periodEntry
	last    [][]uint64 // last reported period of each point of a stage, plus 1; 0: none
	due     uint64     // the period given to Advance, plus 1
	base    uint64     // the latest period for which reports are due
	gone    []uint64   // periods that were emitted and forgotten, the latest of them
	begun   bool
	history uint64 // the latest period with a report of unknown arrival time
	notices []string
	stats   Stats
}

// periodEntry is one period.
type periodEntry struct {
	number  uint64
	parts   [][]pointReading // by stage, of its points
	reports []pointReading   // by stage: the sum
	emitted []Result         // by segment; nil: not yet
}

type pointReading struct {
	altmark.Period
	arrived       time.Time // zero: not known
	until         time.Time // of a sum: when the last of it arrived
	has, conflict bool
}

// amendedBy reports whether p says the same, but for frames that the switch has learned of since.
func (r *pointReading) amendedBy(p altmark.Period) bool {
	p.Flags ^= altmark.LateFrames
	return r.Period == p
}

// NewJoiner returns an error if the path has no name, fewer than two points or more than 256, points without names or
// with the same switch, or a Wait out of its range. Wrong roles and settings that do not agree are not
// an error here: every result says so.
func NewJoiner(path Path) (*Joiner, error) {
	if path.Name == "" {
		return nil, fmt.Errorf("path %q has no name", path.Name)
	}
	if n := len(path.Points); n < 2 || n > maxMeshPoints {
		return nil, fmt.Errorf("path %s: %d points, want two or more, and at most %d", path.Name, n, maxMeshPoints)
	}
	if path.Wait < 0 || path.Wait > 8 {
		return nil, fmt.Errorf("path %s: wait is %d, want 1 to 8 periods, or 0 for %d",
			path.Name, path.Wait, DefaultWait)
	}
	path.Wait = cmp.Or(path.Wait, DefaultWait)
	path.Points = slices.Clone(path.Points)
	seen := map[string]bool{}
	for i, p := range path.Points {
		if p.Switch == "" || p.Session == "" {
			return nil, fmt.Errorf("path %s: point %d has switch %q and session %q, want names",
				path.Name, i+1, p.Switch, p.Session)
		}
		if seen[p.Switch] {
			return nil, fmt.Errorf("path %s: switch %s is twice on it, want different switches", path.Name, p.Switch)
		}
		seen[p.Switch] = true
	}
	stages := make([]pointStage, len(path.Points))
	for i, p := range path.Points {
		stages[i] = pointStage{{p, roleAlong(i, len(path.Points))}}
	}
	return newJoiner(path, stages), nil
}

// newJoiner returns the join of stages of points, which are the path's.
func newJoiner(path Path, stages []pointStage) *Joiner {
	m := &Joiner{path: path, stages: stages}
	m.path.Points = make([]Point, len(stages))
	m.restart()
	return m
}

// restart begins anew with the settings that the points have now.
func (m *Joiner) restart() {
	m.last = nil
	for i, s := range m.stages {
		m.path.Points[i] = s.sum()
		m.last = append(m.last, make([]uint64, len(s)))
	}
	m.faults = pathFaults(m.stages)
	m.entries, m.gone, m.due, m.begun, m.history = nil, nil, 0, false, 0
}

// Path returns the path with the current settings.
func (m *Joiner) Path() Path {
	p := m.path
	p.Points = slices.Clone(p.Points)
	return p
}

// Interval is the length of the path's periods; it says nothing while no settings are known.
func (m *Joiner) Interval() altmark.Interval { return m.path.Points[0].Settings.Interval }

// Stats returns the counts so far.
func (m *Joiner) Stats() Stats { return m.stats }

// Add takes a report of a point, counted from 0, and returns the results that it completes or
// changes, by period and then along the path. Arrival is by a clock that is the same for all points
// and belongs to none of them; it is zero where it is not known, as for what a switch reported
// before the collector listened.
func (m *Joiner) Add(point int, p altmark.Period, arrived time.Time) []Result {
	return m.add(point, 0, p, arrived)
}

// add takes a report of a point of a stage.
func (m *Joiner) add(stage, point int, p altmark.Period, arrived time.Time) (out []Result) {
	if m.take(stage, point, p, arrived, &out) {
		m.revise(p.Number, &out)
		m.settle(&out) // what is said first needs no revision
	}
	return sortResults(out)
}

// take takes a report; false if that is of no period that is remembered.
func (m *Joiner) take(stage, point int, p altmark.Period, arrived time.Time, out *[]Result) bool {
	m.stats.Reports++
	if p.Number >= lastPeriod || uint64(p.Colour) != p.Number&1 {
		m.stats.Refused++
		return false
	}
	if slices.Contains(m.gone, p.Number) {
		m.stats.Late++
		return false
	}
	m.last[stage][point] = p.Number + 1
	m.rebase(out)
	e := m.entry(p.Number, out)
	switch r := &e.parts[stage][point]; {
	case !r.has:
		*r = pointReading{Period: p, arrived: arrived, until: arrived, has: true}
		if arrived.IsZero() && (p.Number > m.history || p.Number+keptPeriods < m.history) {
			m.history = p.Number
		}
		if e.emitted != nil {
			m.stats.Late++
		}
	case r.Period == p:
		m.stats.Duplicates++
	case r.amendedBy(p):
		m.stats.Amended++
		r.Flags |= p.Flags
	default:
		m.stats.Conflicts++
		r.Flags |= p.Flags
		r.conflict = true
	}
	e.reports[stage] = sumOf(e.parts[stage])
	return true
}

// Advance says that reports of period k are due by now. Without it, only reports show that time
// passes, and when none come at all nothing is ever missing.
func (m *Joiner) Advance(k uint64) []Result {
	if k >= lastPeriod || !m.begun {
		return nil
	}
	var out []Result
	m.due = k + 1
	m.rebase(&out)
	m.settle(&out)
	return sortResults(out)
}

// Flush returns the results of all periods still waited for, as at the end of a measurement.
func (m *Joiner) Flush() []Result {
	var out []Result
	for _, e := range m.entries {
		if e.emitted == nil {
			m.emit(e, &out)
		}
	}
	return sortResults(out)
}

// Settings says that a session's settings have changed. What was waited for is emitted, and the
// join starts over: periods before and after cannot be compared.
func (m *Joiner) Settings(point int, s altmark.Session) []Result {
	p := &m.stages[point][0]
	if p.Settings == s {
		return nil
	}
	out := m.Flush()
	p.Settings = s
	m.restart()
	return out
}

// rebase finds the latest period for which reports are due. It moves back when the clock of a
// switch does.
func (m *Joiner) rebase(out *[]Result) {
	base := m.due
	for _, last := range m.last {
		base = max(base, slices.Max(last))
	}
	base--
	if m.begun && base > m.base && base-m.base <= keptPeriods/2 {
		for k := m.base; k < base; k++ {
			if !slices.Contains(m.gone, k) {
				m.entry(k, out) // perhaps no point ever reports it: then it is missing
			}
		}
	}
	m.base, m.begun = base, true
}

// entry returns the entry of a period, and adds it if there is none. When there are too many, the
// oldest is dropped.
func (m *Joiner) entry(k uint64, out *[]Result) *periodEntry {
	if e := m.find(k); e != nil {
		return e
	}
	if len(m.entries) == keptPeriods {
		if old := m.entries[0]; old.emitted == nil {
			m.emit(old, out)
		}
		if len(m.gone) == 2*keptPeriods {
			m.gone = slices.Delete(m.gone, 0, 1)
		}
		m.gone = append(m.gone, m.entries[0].number)
		m.entries = slices.Delete(m.entries, 0, 1)
	}
	e := &periodEntry{number: k, reports: make([]pointReading, len(m.stages))}
	for _, s := range m.stages {
		e.parts = append(e.parts, make([]pointReading, len(s)))
	}
	m.entries = append(m.entries, e)
	return e
}

func (m *Joiner) find(k uint64) *periodEntry {
	for i := len(m.entries) - 1; i >= 0; i-- {
		if m.entries[i].number == k {
			return m.entries[i]
		}
	}
	return nil
}

// report returns what a point reported of a period; empty if it did not, or the period was forgotten.
func (m *Joiner) report(k uint64, point int) pointReading {
	if e := m.find(k); e != nil {
		return e.reports[point]
	}
	return pointReading{}
}

func (m *Joiner) complete(k uint64) bool {
	e := m.find(k)
	return e != nil && !slices.ContainsFunc(e.reports, func(r pointReading) bool { return !r.has })
}

// settle emits what is complete or no longer waited for. For periods reported before the collector
// listened it waits until the points report again.
func (m *Joiner) settle(out *[]Result) {
	for _, e := range m.entries {
		k, from := e.number, e.number
		if e.early() {
			from = max(k, m.history)
		}
		if e.emitted == nil && (m.base >= from+2+uint64(m.path.Wait) ||
			m.complete(k) && m.complete(k+1) && m.complete(k+2) && (!e.early() || !m.doubt(k, everywhere(&m.path)...).open)) {
			m.emit(e, out)
		}
	}
}

// early reports whether the arrival time of some report of a period is not known.
func (e *periodEntry) early() bool {
	return slices.ContainsFunc(e.reports, func(r pointReading) bool { return r.has && r.arrived.IsZero() })
}

// untimely reports whether only later periods can tell about the clocks of this one.
func (m *Joiner) untimely(e *periodEntry) bool {
	return slices.ContainsFunc(everywhere(&m.path), func(p int) bool { return e.reports[p].has && !m.timely(e.number, p) })
}

// everywhere are the indices of a path's points.
func everywhere(path *Path) (points []int) {
	for i := range path.Points {
		points = append(points, i)
	}
	return points
}

// revise emits again the results that a report of period k changes.
func (m *Joiner) revise(k uint64, out *[]Result) {
	for _, e := range m.entries {
		if e.emitted == nil || e.number+2 < k && !m.untimely(e) || e.number >= k+Window {
			continue
		}
		for i, r := range m.results(e) {
			old := e.emitted[i]
			if r.Revised = old.Revised; reflect.DeepEqual(old, r) {
				continue
			}
			if forgot(m, e.number, Window-1) && r.Delay == old.Delay && r.DelayValid == old.DelayValid {
				// what was forgotten is nothing new
				r.Window, r.Jitter, r.JitterValid = old.Window, old.Jitter, old.JitterValid
			}
			if better(r, old) && forgot(m, e.number, periodsBefore) || reflect.DeepEqual(old, r) {
				continue
			}
			r.Revised = true
			e.emitted[i] = r
			*out = append(*out, r)
		}
	}
}

// forgot reports whether one of the n periods before period k is among those that were forgotten; in another cluster of
// the graph k itself and k+1, too.
func forgot(m *Joiner, k, n uint64) bool {
	among := func(gone []uint64, k, n uint64) bool {
		return slices.ContainsFunc(gone, func(g uint64) bool { return g < k && k-g <= n })
	}
	return among(m.gone, k, n) || slices.ContainsFunc(m.beside, func(b *Joiner) bool { return among(b.gone, k+2, n+2) })
}

// better reports whether a result is more certain than the one before it, or has fewer reasons against it.
func better(r, old Result) bool {
	return r.Status == OK && old.Status != OK || r.LossValid && !old.LossValid ||
		r.DelayValid && !old.DelayValid || r.Mean.Valid && !old.Mean.Valid || len(r.Reasons) < len(old.Reasons)
}

func (m *Joiner) emit(e *periodEntry, out *[]Result) {
	e.emitted = m.results(e)
	*out = append(*out, e.emitted...)
}

// sortResults sorts results by period; those of one period keep their order.
func sortResults(out []Result) []Result {
	slices.SortStableFunc(out, func(a, b Result) int { return cmp.Compare(a.Period, b.Period) })
	return out
}
