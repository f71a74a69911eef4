package marks

import (
	"fmt"
	"slices"
	"time"

	"tamtam/tam/altmark"
)

// Each point numbers periods by its own clock. If two clocks are 2L apart, or a multiple of it, their colours always
// agree. Then no count, mark or timestamp shows that their reports with the same number are of different times. The
// reports' arrival times by the collector's clock do. A point reports a period in the middle of the next one, so points
// with equal clocks report at about the same time.

// clockSuspect describes why the counts of a period may be of different times at different points.
type clockSuspect struct {
	reason string // reason; "" if the counts are of the same time
	notice string // text for the path if its reports are known to arrive apart
	open   bool   // true if this is undecided so far
}

// restarts holds the flags of a period after which a point's clock may differ.
const restarts = altmark.First | altmark.LateRead | altmark.ClockStep | altmark.CounterReset

// checkClocks compares the arrival times of the points' reports of period k. It reports whether the points' clocks may
// differ, so that their periods k cover different times. Arrival times are unknown for reports from before the
// collector's start. The next periods that all points reported in time are then decisive.
func (m *Joiner) checkClocks(k uint64, points ...int) clockSuspect {
	n := m.path.Points[0].Settings.Interval
	for q := k; ; q++ {
		e := m.find(q)
		if e == nil || slices.ContainsFunc(points, func(p int) bool {
			return !e.reports[p].has || q > k && e.reports[p].Flags&restarts != 0
		}) {
			return clockSuspect{open: true, reason: "clocks-unchecked: when the reports came is not known: " +
				"an offset of 2L between the clocks cannot be excluded"}
		}
		first, last, known := points[0], points[0], true
		for _, p := range points {
			known = known && m.timely(q, p)
			if e.reports[p].arrived.Before(e.reports[first].arrived) {
				first = p
			}
			if e.reports[p].until.After(e.reports[last].until) {
				last = p
			}
		}
		if !known {
			continue
		}
		apart := e.reports[last].until.Sub(e.reports[first].arrived)
		if 2*apart <= n.Duration() {
			return clockSuspect{}
		}
		a, b, half := m.path.Points[first].Switch, m.path.Points[last].Switch, n.Duration()/2
		text := fmt.Sprintf("reports of %s and %s came %v apart, want at most L/2 = %v",
			a, b, apart.Round(time.Microsecond), half)
		a, b = m.path.Points[min(first, last)].Switch, m.path.Points[max(first, last)].Switch
		return clockSuspect{
			reason: "clocks-apart: " + text,
			notice: fmt.Sprintf("an offset of 2L = %v between the clocks of %s and %s cannot be excluded: "+
				"their reports of a period come more than L/2 = %v apart", 4*half, a, b, half),
		}
	}
}

// timely reports whether a report arrived when it was created, as far as that can be determined. A report is late if it
// arrived together with the next one, as after a stalled connection.
func (m *Joiner) timely(k uint64, point int) bool {
	r, next := m.report(k, point), m.report(k+1, point)
	if r.arrived.IsZero() {
		return false
	}
	return next.arrived.IsZero() || 2*next.arrived.Sub(r.until) >= m.path.Points[0].Settings.Interval.Duration()
}

// segment returns the points that a result of points i and j depends on, including the initiator.
func segment(i, j int) []int {
	if i == 0 {
		return []int{0, j}
	}
	return []int{0, i, j}
}

// notice adds a notice for the path, once per pair of points.
func (m *Joiner) notice(d clockSuspect) {
	if d.notice != "" && !slices.Contains(m.notices, d.notice) {
		m.notices = append(m.notices, d.notice)
	}
}

// Notices returns remarks on the whole path, each only once. A remark is that an offset of 2L between clocks cannot be
// excluded, or that the accuracy of delays depends on a declared clock.
func (m *Joiner) Notices() []string { return slices.Clone(m.notices) }
