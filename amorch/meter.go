package amorch

import (
	"time"

	"tamtam/tam/altmark"
)

// A meter converts the cumulative counters of one flow to periods. The counters of a colour do not change while the
// other colour is active, except within the guard at both ends. So a reading outside the guards includes all packets of
// the last period of the colour, and none of its next period. The difference of two such readings, one period of the
// colour apart, is a period.
//
// A meter never estimates. If a reading is missing, or the clock, the counters or the chip have been changed, it starts
// again, and flags the periods that it reports until it has a new base.
type meter struct {
	begun       bool
	again       bool // true if the flow has contained other packets since the last reading
	base        [2]base
	generation  uint64
	steps       uint64
	started     uint64
	unclean     uint64        // last period that gets the flags in why
	why         altmark.Flags // flags of unclean periods: First, ClockStep or CounterReset
	reported    uint64        // number of the last reported period
	hasReported bool          // true if there is a reported period
	read        uint64        // period of the last reading
	late        altmark.LatePeriods
}

// A base is a reading of a colour's counters. It includes all packets up to the end of a period.
type base struct {
	period uint64
	counts altmark.ChipCounts
}

// add adds a reading. If the reading completes a period, take returns the period and true.
func (m *meter) add(s altmark.Session, t altmark.ChipClock, r altmark.ChipFlow) (p altmark.Period, ok bool) {
	now := s.Interval.Period(t.At)
	guard, early := readingGuards(s)
	quiet := s.Interval.Within(t.At, guard, early)
	why := m.touched(t, r)
	switch {
	case !m.begun:
		m.begin(now, t, r, why)
		if !quiet {
			m.unclean++
		}
		return p, false
	case why == altmark.CounterReset:
		m.begin(now, t, r, why)
		return p, false
	}
	if now > 0 && quiet {
		p, ok = m.complete(s, t, now-1, r, why)
	}
	if why != 0 {
		m.begin(now, t, r, why)
	}
	// Each period is reported once, and never after a later one.
	if ok = ok && (!m.hasReported || p.Number > m.reported); ok {
		m.reported, m.hasReported = p.Number, true
	}
	return p, ok
}

// lateIn returns the periods that may contain late packets, according to a reading. If earlier readings were missed,
// the chip may have dropped some of these periods. Then lateIn returns all periods from the first.
func (m *meter) lateIn(now uint64, late altmark.LatePeriods) altmark.LatePeriods {
	was, missed := m.late, now > m.read+1
	m.late, m.read = late, now
	if late != was && missed {
		late.First = 0
	}
	return late
}

// touched returns the reason why a reading does not continue the previous one: First, CounterReset or ClockStep. It
// returns 0 if the reading continues it.
func (m *meter) touched(t altmark.ChipClock, r altmark.ChipFlow) altmark.Flags {
	switch {
	case !m.begun:
		return altmark.First
	case m.generation != r.Generation || m.started != t.Started || m.decreased(r):
		return altmark.CounterReset
	case m.steps != t.Steps:
		return altmark.ClockStep
	case m.again:
		return altmark.First
	}
	return 0
}

// complete makes a reading the base of period k's colour. It returns the period since the previous base, if that base
// is from an earlier period of the colour. After a clock step, the clock may be in any period.
func (m *meter) complete(
	s altmark.Session, t altmark.ChipClock, k uint64, r altmark.ChipFlow, why altmark.Flags,
) (p altmark.Period, ok bool) {
	old := m.base[k&1]
	m.base[k&1] = base{k, r.Of[k&1]}
	if old.period+2 <= k || why == altmark.ClockStep && old.period != k {
		p = m.period(s, t, k, old, r)
		p.Flags |= why
		return p, true
	}
	return p, false
}

// readingGuards returns the minimum distances of a reading from the begin and the end of its period. With pulse
// marking, a point counts by its own clock, so it counts every packet in its own period. The guard then applies to
// pulses only, and may be longer than a period.
func readingGuards(s altmark.Session) (guard, early time.Duration) {
	if s.Method == altmark.Pulse {
		return 0, 0
	}
	return s.Guard(), s.Early()
}

// begin makes a reading in period now the first of a measurement. The current colour may have begun earlier, and
// packets of the previous period may still arrive.
func (m *meter) begin(now uint64, t altmark.ChipClock, r altmark.ChipFlow, why altmark.Flags) {
	m.base[now&1] = base{now - min(now, 2), r.Of[now&1]}
	m.base[now&1^1] = base{now - min(now, 1), r.Of[now&1^1]}
	m.unclean, m.why = now, why
	if m.begun {
		m.unclean++ // packets in flight may have either colour, or be counted here only
	}
	m.begun, m.again, m.generation, m.steps, m.started = true, false, r.Generation, t.Steps, t.Started
	if m.hasReported && m.reported > now { // the clock was set back
		m.hasReported = false
	}
}

// decreased reports whether a counter has decreased.
func (m *meter) decreased(r altmark.ChipFlow) bool {
	for colour, b := range m.base {
		c := r.Of[colour]
		if c.Packets < b.counts.Packets || c.Bytes < b.counts.Bytes || c.Captures < b.counts.Captures ||
			c.Outside < b.counts.Outside || c.PulseBytes < b.counts.PulseBytes || c.Foreign < b.counts.Foreign ||
			c.Arrivals.Packets < b.counts.Arrivals.Packets {
			return true
		}
	}
	return false
}

// period returns the difference of a reading and a base.
func (m *meter) period(s altmark.Session, t altmark.ChipClock, k uint64, old base, r altmark.ChipFlow) altmark.Period {
	c, b := r.Of[k&1], old.counts
	p := altmark.Period{
		Number: k, Colour: uint8(k & 1), Packets: c.Packets - b.Packets, Bytes: c.Bytes - b.Bytes,
		Captures: uint32(min(c.Captures-b.Captures, 1<<32-1)), OutOfWindow: c.Outside - b.Outside, ReadAt: t.At,
	}
	if p.Captures > 0 {
		p.Timestamp, p.Digest = c.Captured, c.Digest
	}
	if p.Foreign = c.Foreign - b.Foreign; s.Foreign == altmark.DropForeign { // the entry counts dropped packets too
		p.Packets -= p.Foreign
		p.Bytes -= c.ForeignBytes - b.ForeignBytes
	}
	if s.MeanDelay {
		p.Arrivals = c.Arrivals.Since(b.Arrivals, s.Interval, k)
	}
	flag := func(is bool, f altmark.Flags) {
		if is {
			p.Flags |= f
		}
	}
	flag(k <= m.unclean, m.why)
	flag(old.period+2 != k, altmark.LateRead)
	flag(p.OutOfWindow > 0, altmark.OutOfWindow)
	flag(p.Captures > mostPulses(s), altmark.ManyPulses)
	flag(p.Foreign > 0 && s.Foreign == altmark.CountForeign, altmark.Foreign)
	flag(!t.Synchronised || p.Captures > 0 && c.Unsynchronised ||
		s.MeanDelay && c.Arrivals.Unsynchronised != b.Arrivals.Unsynchronised, altmark.Unsynchronised)
	flag(s.Role == altmark.Initiator && p.Captures > 0 && s.PulseTooLate(p.Timestamp), altmark.LatePulse)
	return p
}

// mostPulses returns the maximum number of pulses in a period. With pulse marking only the initiator sends one per
// period. At other points an early pulse and the previous one may be in the same period, which then has no delay.
func mostPulses(s altmark.Session) uint32 {
	if s.Method == altmark.Pulse && s.Role != altmark.Initiator {
		return 2
	}
	return 1
}

// bySteps corrects a reading of muxed marking without slots. There packets count by their mark, and a pulse carries the
// mark of the other colour.
func bySteps(r altmark.ChipFlow) altmark.ChipFlow {
	out := r
	for colour := range r.Of {
		own, other := r.Of[colour], r.Of[colour^1]
		out.Of[colour].Packets += own.Captures - other.Captures
		out.Of[colour].Bytes += own.PulseBytes - other.PulseBytes
	}
	return out
}
