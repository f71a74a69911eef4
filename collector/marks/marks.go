package marks

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"

	"tamtam/tam/altmark"
)

// Path is a path with at least two measurement points, in packet order: an initiator, any number of transits, a
// terminator. All of them measure one flow group with the same method, interval and mark.
type Path struct {
	Name   string
	Points []Point
	// Wait is the number of periods to wait for a report after reports of later periods have begun to arrive, 1 to 8.
	// Zero means [DefaultWait].
	Wait int
}

// Point is a session at a switch. The points of a path have different switches.
type Point struct {
	Switch, Session string
	// Settings are the session's settings. With a zero role they are unknown.
	Settings altmark.Session
}

// DefaultWait is the default number of periods after which a report counts as missing.
const DefaultWait = 3

// Status is the confidence in a result.
type Status uint8

// The statuses.
const (
	OK      Status = iota + 1 // the result is complete
	Flagged                   // the reasons name the unreliable parts
	Missing                   // a report is missing, so nothing is known
)

// Prefixes of reasons that follow only from the reports of several points together.
const (
	Split  = "split-or-duplicated" // more packets reached a point than an earlier one
	Pulses = "pulses-differ"       // muxed marking: a pulse was lost or late, or a late packet was mistaken for one
	// Recoloured means that packets may have been counted in an adjacent period, like re-marked ones.
	Recoloured = "colour-changed"
	Margin     = "sync-margin-low" // a delay contradicts the settings, so the guards are not reliable
	// OffGraph means that a point outside the graph counted packets, or may have. Such packets take an unknown path.
	OffGraph = "off-graph"
)

var statusWords = []string{"", "ok", "flagged", "missing"}

// String returns ok, flagged or missing.
func (s Status) String() string {
	if int(s) < len(statusWords) {
		return statusWords[s]
	}
	return fmt.Sprint(uint8(s))
}

// Result describes the packets of one period between two points.
//
// A number is known only if its Valid field is true. Loss and delay are valid independently of each other. A period
// without a pulse has no delay, which is not a fault.
type Result struct {
	Path, From, To string // names of path and switches; From equals To for a round trip
	Period         uint64 // floor(time of day / interval)
	Start          altmark.Time
	Status         Status
	Reasons        []string // reasons why the status is not OK

	Counted bool // true if both points reported and the counts are valid
	Counts
	Lost      int64 // Sent - Received
	LossValid bool

	Delay      time.Duration // delay of the marked packet, by the clocks of both points
	DelayValid bool
	// RawDelay is the delay if the clocks are not trusted. It includes their difference, which cancels out over two
	// opposite paths, see [TwoWay].
	RawDelay      time.Duration
	RawDelayValid bool
	// Jitter is the delay of this period minus the delay of the previous period (the delay variation of RFC 3393).
	Jitter      time.Duration
	JitterValid bool
	// Mean is the mean delay of all packets of the period, if the sessions measure it.
	Mean Mean
	// Window summarises the delays of the last [Window] periods up to this one.
	Window Delays

	// Revised means that this result replaces an earlier one, because a report arrived late.
	Revised bool
}

// A Segment is the part of a path or graph that a result covers, from one or more points to one or more other points.
type Segment struct{ Path, From, To string }

// Segment returns the segment of the result.
func (r *Result) Segment() Segment { return Segment{r.Path, r.From, r.To} }

// Counts holds the counts of two points in a period.
type Counts struct {
	Sent, Received           uint64 // number of packets at From and at To
	SentBytes, ReceivedBytes uint64 // numbers of bytes of frames with FCS; they differ if a switch changes headers
	Excess                   bool   // true if the loss is uncertain only because of excess packets somewhere
}

// Window is the number of periods in [Result.Window].
const Window = 16

// Delays holds the bounds and the mean of the valid delays of some periods. The mean is rounded to the nearest
// nanosecond. All fields are zero if Count is.
type Delays struct {
	Count          int
	Min, Mean, Max time.Duration
}

// Stats counts the reports added to a [Joiner].
type Stats struct {
	Reports    uint64 // number of all reports
	Duplicates uint64 // number of reports that equal an earlier one
	Amended    uint64 // number of reports that equal an earlier one, except for the new flag late-frames
	Conflicts  uint64 // number of reports that differ from an earlier one of the same period, which is flagged
	Late       uint64 // number of reports for periods that were already emitted as missing, or dropped
	Refused    uint64 // number of reports that are invalid for any period
}

// keptPeriods is the number of periods of a path that a join stores.
const keptPeriods = 32

// periodsBefore is the number of earlier periods that may make a period uncertain. If one of them was dropped, a result
// is not upgraded: it might be better only because the reasons in that period are gone.
const periodsBefore = 3

// lastPeriod exceeds every possible period: 2^48 seconds at the shortest interval.
const lastPeriod = 1 << 60

// Joiner joins the reports of one path. It compares only reports of the same period number. It returns a result for
// every period with a report and those in between, and keeps the last 32 periods.
//
// A period's results are returned once all points have reported it and the next two periods, because later reports
// reveal late packets. If a report does not arrive within [Path.Wait] more periods, the results are returned without
// it. The last result of a period does not depend on the order of reports, while that period and the earlier ones that
// concern it are kept.
//
// Each report is added with its arrival time, by one clock for all points. Reports of one period number that arrive
// more than half a period apart may be of different times, and are not compared.
//
// A Joiner has no clock and no lock.
type Joiner struct {
	path    Path // each point is a stage
	stages  []pointStage
	graph   bool // true if packets need not pass all stages; only the stages of cluster are compared
	cluster [2]int
	once    [2]bool   // for each stage of the cluster, true if no packet passes two of its points
	brief   bool      // true if results have no jitter and no window
	watched int       // index of the stage of watched points, plus 1; zero if there is none
	beside  []*Joiner // for a graph, the joins of its clusters, which may include this one
	faults  []string  // faults of the settings
	entries []*periodEntry
	last    [][]uint64 // last reported period of each point of a stage, plus 1; zero if there is none
	due     uint64     // the period given to Advance, plus 1
	base    uint64     // latest period for which reports are due
	gone    []uint64   // latest periods that were emitted and dropped
	begun   bool
	history uint64 // latest period with a report of unknown arrival time
	notices []string
	stats   Stats
}

// periodEntry holds the reports and results of one period.
type periodEntry struct {
	number  uint64
	parts   [][]pointReading // reports of the points, by stage
	reports []pointReading   // sum of the reports, by stage
	emitted []Result         // results by segment; nil before the first emission
}

type pointReading struct {
	altmark.Period
	arrived       time.Time // arrival time of the report; zero if unknown
	until         time.Time // for a sum, the arrival time of its last report
	has, conflict bool
}

// amendedBy reports whether p is the same report, except for late frames that the switch has detected since.
func (r *pointReading) amendedBy(p altmark.Period) bool {
	p.Flags ^= altmark.LateFrames
	return r.Period == p
}

// NewJoiner returns a Joiner. It returns an error if the path has no name, an invalid Wait, or fewer than 2 or more
// than 256 points. Points must have names and different switches. Wrong roles and settings that do not match are not
// errors. They are reasons in every result.
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

// newJoiner returns the join of stages, whose points are the path's.
func newJoiner(path Path, stages []pointStage) *Joiner {
	m := &Joiner{path: path, stages: stages}
	m.path.Points = make([]Point, len(stages))
	m.restart()
	return m
}

// restart starts over with the current settings of the points.
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

// Interval returns the length of the path's periods. It has no meaning while no settings are known.
func (m *Joiner) Interval() altmark.Interval { return m.path.Points[0].Settings.Interval }

// Stats returns the counters.
func (m *Joiner) Stats() Stats { return m.stats }

// Add adds a report of the point with this index. It returns the results that the report completes or changes, by
// period and then along the path. The arrival times must be by one clock for all points, which is not the clock of a
// point. The time is zero if unknown, as for reports from before the collector started.
func (m *Joiner) Add(point int, p altmark.Period, arrived time.Time) []Result {
	return m.add(point, 0, p, arrived)
}

// add adds a report of a point of a stage.
func (m *Joiner) add(stage, point int, p altmark.Period, arrived time.Time) (out []Result) {
	if m.store(stage, point, p, arrived, &out) {
		m.revise(p.Number, &out)
		m.flush(&out) // the first results of periods need no revision
	}
	return sortResults(out)
}

// store stores a report. It returns false if the period is not kept.
func (m *Joiner) store(stage, point int, p altmark.Period, arrived time.Time, out *[]Result) bool {
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

// Advance declares that reports of period k are due. Otherwise only reports advance time: without any report, no period
// would ever count as missing.
func (m *Joiner) Advance(k uint64) []Result {
	if k >= lastPeriod || !m.begun {
		return nil
	}
	var out []Result
	m.due = k + 1
	m.rebase(&out)
	m.flush(&out)
	return sortResults(out)
}

// Flush returns the results of all pending periods, as at the end of a measurement.
func (m *Joiner) Flush() []Result {
	var out []Result
	for _, e := range m.entries {
		if e.emitted == nil {
			m.emit(e, &out)
		}
	}
	return sortResults(out)
}

// Settings changes a session's settings. It emits pending periods and starts over, because periods before and after the
// change cannot be compared.
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

// rebase updates the latest period for which reports are due. It may decrease if the clock of a switch is set back.
func (m *Joiner) rebase(out *[]Result) {
	base := m.due
	for _, last := range m.last {
		base = max(base, slices.Max(last))
	}
	base--
	if m.begun && base > m.base && base-m.base <= keptPeriods/2 {
		for k := m.base; k < base; k++ {
			if !slices.Contains(m.gone, k) {
				m.entry(k, out) // if no point ever reports the period, it is missing
			}
		}
	}
	m.base, m.begun = base, true
}

// entry returns the entry of a period, and adds it if there is none. If there are too many, it drops the oldest.
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

// report returns the report of a point for a period, or an empty one if there is none or the period was dropped.
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

// flush emits the results of periods that are complete or whose wait has ended. For periods from before the
// collector's start, it waits until the points report again.
func (m *Joiner) flush(out *[]Result) {
	for _, e := range m.entries {
		k, from := e.number, e.number
		if e.early() {
			from = max(k, m.history)
		}
		if e.emitted == nil && (m.base >= from+2+uint64(m.path.Wait) ||
			m.complete(k) && m.complete(k+1) && m.complete(k+2) &&
				(!e.early() || !m.checkClocks(k, everywhere(&m.path)...).open)) {
			m.emit(e, out)
		}
	}
}

// early reports whether the arrival time of a report in the period is unknown.
func (e *periodEntry) early() bool {
	return slices.ContainsFunc(e.reports, func(r pointReading) bool { return r.has && r.arrived.IsZero() })
}

// untimely reports whether only later periods can decide whether the clocks were right in this period.
func (m *Joiner) untimely(e *periodEntry) bool {
	return slices.ContainsFunc(everywhere(&m.path), func(p int) bool { return e.reports[p].has && !m.timely(e.number, p) })
}

// everywhere returns the indexes of a path's points.
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
				// A dropped period is not new information.
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

// forgot reports whether one of the n periods before period k was dropped. In other clusters of the graph, k and k+1
// count too.
func forgot(m *Joiner, k, n uint64) bool {
	among := func(gone []uint64, k, n uint64) bool {
		return slices.ContainsFunc(gone, func(g uint64) bool { return g < k && k-g <= n })
	}
	return among(m.gone, k, n) || slices.ContainsFunc(m.beside, func(b *Joiner) bool { return among(b.gone, k+2, n+2) })
}

// better reports whether a result is more certain than the previous one, or has fewer reasons against it.
func better(r, old Result) bool {
	return r.Status == OK && old.Status != OK || r.LossValid && !old.LossValid ||
		r.DelayValid && !old.DelayValid || r.Mean.Valid && !old.Mean.Valid || len(r.Reasons) < len(old.Reasons)
}

func (m *Joiner) emit(e *periodEntry, out *[]Result) {
	e.emitted = m.results(e)
	*out = append(*out, e.emitted...)
}

// sortResults sorts results by period, and keeps the order within a period.
func sortResults(out []Result) []Result {
	slices.SortStableFunc(out, func(a, b Result) int { return cmp.Compare(a.Period, b.Period) })
	return out
}
