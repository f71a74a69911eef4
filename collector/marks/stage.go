package marks

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"tamtam/tam/altmark"
)

// A pointStage is a group of parallel points. Each packet that passes the stage is counted by one of them, so their sum
// is like the report of a single point. A path has stages of one point.
type pointStage []stageMember

type stageMember struct {
	Point
	want altmark.Role // required role, or zero for any
}

// roleAlong returns the required role of point i of n on a path.
func roleAlong(i, n int) altmark.Role {
	switch i {
	case 0:
		return altmark.Initiator
	case n - 1:
		return altmark.Terminator
	}
	return altmark.Transit
}

// sum returns the stage as a single point, with the widest bounds of its points.
func (s pointStage) sum() Point {
	sum := s[0].Point
	names := make([]string, len(s))
	for i, p := range s {
		names[i] = p.Switch
		if p.Settings.Role == altmark.Initiator {
			p.Settings.MinDelay, p.Settings.MaxDelay = 0, 0
		}
		if i == 0 {
			sum.Settings = p.Settings
			continue
		}
		sum.Settings.SlotSync = sum.Settings.SlotSync && p.Settings.SlotSync
		sum.Settings.MeanDelay = sum.Settings.MeanDelay && p.Settings.MeanDelay
		sum.Settings.ClockError = max(sum.Settings.ClockError, p.Settings.ClockError)
		sum.Settings.MinDelay = min(sum.Settings.MinDelay, p.Settings.MinDelay)
		sum.Settings.MaxDelay = max(sum.Settings.MaxDelay, p.Settings.MaxDelay)
	}
	sum.Switch = strings.Join(names, "+")
	return sum
}

// sumOf adds up the reports of a stage's points for one period. The sum has a report only if the reports of all points
// exist, and the time of a pulse only if there was a single pulse.
func sumOf(parts []pointReading) pointReading {
	if len(parts) == 1 {
		return parts[0]
	}
	sum := pointReading{has: true}
	sum.Arrivals.Summed = true
	sum.Clock = parts[0].Clock
	for _, r := range parts {
		if sum.has = sum.has && r.has; !r.has {
			continue
		}
		sum.Number, sum.Colour = r.Number, r.Colour
		sum.conflict = sum.conflict || r.conflict
		sum.Packets += r.Packets
		sum.Bytes += r.Bytes
		sum.Arrivals = altmark.Arrivals{
			Summed:  sum.Arrivals.Summed && r.Arrivals.Summed,
			Packets: sum.Arrivals.Packets + r.Arrivals.Packets, Sum: sum.Arrivals.Sum.Add(r.Arrivals.Sum),
		}
		sum.OutOfWindow += r.OutOfWindow
		sum.Foreign += r.Foreign
		sum.Flags |= r.Flags
		switch {
		case r.Captures > 0:
			sum.Timestamp, sum.Digest, sum.Clock = r.Timestamp, r.Digest, r.Clock
		case sum.Captures == 0 && sum.Clock != r.Clock:
			sum.Clock = altmark.Clock{} // the sum has no single clock
		}
		sum.Captures += r.Captures
	}
	sum.arrived, sum.until = arrivals(parts)
	return sum
}

// arrivals returns the first and the last arrival of some reports, or zero times if one is unknown.
func arrivals(parts []pointReading) (first, last time.Time) {
	for _, r := range parts {
		switch {
		case !r.has:
		case r.arrived.IsZero():
			return time.Time{}, time.Time{}
		default:
			if first.IsZero() || r.arrived.Before(first) {
				first = r.arrived
			}
			if r.until.After(last) {
				last = r.until
			}
		}
	}
	return first, last
}

// elsewhere returns a reason for each point that counted packets outside the graph, or may have counted some. Late
// packets are counted in the report of the next period of their colour, as packets out of window.
func (m *Joiner) elsewhere(k uint64) (reasons []string) {
	if m.watched == 0 {
		return nil
	}
	say := func(format string, args ...any) { reasons = append(reasons, fmt.Sprintf(format, args...)) }
	for n, r := range m.find(k).parts[m.watched-1] {
		name := m.stages[m.watched-1][n].Switch
		switch {
		case !r.has:
			say("%s: no report, which shows whether packets leave the graph", name)
		case r.Packets > 0 || r.Captures > 0:
			say("%s: %s counted %d packets, and is not of the graph", OffGraph, name, r.Packets)
		case r.conflict:
			say("%s: two reports that differ, which show whether packets leave the graph", name)
		case r.Flags.VoidsLoss():
			say("%s: %s in the report that shows whether packets leave the graph", name, r.Flags)
		}
		for _, q := range []uint64{k - 2, k + 2} {
			if e := m.find(q); e != nil && e.parts[m.watched-1][n].Flags&altmark.OutOfWindow != 0 {
				say("%s: %s counted packets out of window in period %d, and is not of the graph", OffGraph, name, q)
			}
		}
	}
	return reasons
}

// otherMatches returns reasons for the points of some stages that received packets by a different match in a period. A
// packet that only one of them counts would look lost. Initiators that encapsulate match inner headers, all others
// outer ones. So each group is compared only within itself.
func otherMatches(stages []pointStage, parts [][]pointReading) (reasons []string) {
	type counted struct{ name, match string }
	first := map[bool]counted{}
	for i, stage := range stages {
		for n, r := range parts[i] {
			p := stage[n]
			inside := p.Settings.Role == altmark.Initiator && p.Settings.Encap.Given()
			this := counted{p.Switch, cmp.Or(r.Match, "packets that it does not report")}
			if _, ok := first[inside]; !ok {
				first[inside] = this
			}
			if x := first[inside]; x.match != this.match {
				reasons = append(reasons, fmt.Sprintf("%s: it matches %s, and %s matches %s: want the same packets",
					this.name, this.match, x.name, x.match))
			}
		}
	}
	return reasons
}
