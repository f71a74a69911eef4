package marks

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"tamtam/tam/altmark"
)

// A pointStage is points beside each other: of each packet that passes the stage one of them counts it, so that
// their sum is as the report of a single point. A path has stages of one point.
type pointStage []stageMember

type stageMember struct {
	Point
	want altmark.Role // 0: any
}

// roleAlong is the role that point i of n of a path is to have.
func roleAlong(i, n int) altmark.Role {
	switch i {
	case 0:
		return altmark.Initiator
	case n - 1:
		return altmark.Terminator
	}
	return altmark.Transit
}

// sum is the stage as a single point: with the widest bounds that one of its points has.
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

// sumOf adds up the reports that the points of a stage made of one period; all of them are there, or it is not. Of
// pulses it has the time only if there was a single one.
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
			sum.Clock = altmark.Clock{} // no single clock
		}
		sum.Captures += r.Captures
	}
	sum.arrived, sum.until = arrivals(parts)
	return sum
}

// arrivals are when the first and the last of some reports arrived; zero where that of one is not known.
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

// elsewhere says which points counted packets that by the graph do not pass them, or may have. Those that came late are
// in the report of the next period of the colour, as ones out of window.
func (m *Joiner) elsewhere(k uint64) (reasons []string) {
	if m.watched == 0 {
		return nil
	}
	say := func(format string, args ...any) { reasons = append(reasons, fmt.Sprintf(format, args...)) }
	for n, r := range m.find(k).parts[m.watched-1] {
		name := m.stages[m.watched-1][n].Switch
		switch {
		case !r.has:
			say("%s: no report, which tells whether packets leave the graph", name)
		case r.Packets > 0 || r.Captures > 0:
			say("%s: %s counted %d packets, and is not of the graph", OffGraph, name, r.Packets)
		case r.conflict:
			say("%s: two reports that differ, which tell whether packets leave the graph", name)
		case r.Flags.VoidsLoss():
			say("%s: %s in the report that tells whether packets leave the graph", name, r.Flags)
		}
		for _, q := range []uint64{k - 2, k + 2} {
			if e := m.find(q); e != nil && e.parts[m.watched-1][n].Flags&altmark.OutOfWindow != 0 {
				say("%s: %s counted packets out of window in period %d, and is not of the graph", OffGraph, name, q)
			}
		}
	}
	return reasons
}

// otherMatches reports which points of some stages got packets by another match than the others in a period. What one
// of them counted and another did not would look lost. Initiators that put headers around packets match those inside,
// and all others the headers: these are compared with each other only.
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
