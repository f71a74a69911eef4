package engine

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"

	"tamtam/saisim/tailstamp"
	"tamtam/tam/altmark"
)

// The time-of-day clock is a counter that the chip's oscillator drives. Records carry its readings. Simulated time does
// not depend on it: cycles are exact and [Clock.True] is the time of an ideal clock. The clock may be wrong by a step,
// by the oscillator's drift, and by the corrections of a servo.
//
// From one change to the next it is exactly linear. Let S be 10^9 + drift + rate, both in parts per billion. In the n
// cycles after a change, the clock advances by n * S / ClockHz nanoseconds. The part below a nanosecond is kept from
// segment to segment as a fraction, so that changes do not add up an error. Readings are rounded down to nanoseconds.
//
// A change takes effect at the current cycle. It applies to the timestamps of that cycle and of later ones. Timestamps
// of earlier cycles keep the old values, even if they are read later. For example, the ingress time of a frame is read
// when the frame leaves. A rate never makes the clock go backwards. A step back does, and a frame that is in the chip
// at that time may leave at a time of day before its arrival.

// MaxClockRate is the maximum of drift and rate, in parts per billion: a tenth.
const MaxClockRate = 100_000_000

// maxSegments is the maximum number of changes that a clock keeps. For cycles before them, the oldest change counts as
// the first.
const maxSegments = 4096

// A Clock is the time of day with its history. It does not change once it is created, so that it can be read without a
// lock.
type Clock struct {
	// Drift is the oscillator's deviation, Rate the additional correction. Both are in parts per billion and positive
	// if fast.
	Drift, Rate    int64
	Unsynchronised bool

	hz       uint64
	ideal    todSegment
	steps    uint64       // number of times that it was set
	segments []todSegment // at least one, in the order of time
}

// A todSegment defines the clock from a cycle on.
type todSegment struct {
	from    Cycle
	seconds uint64
	rest    uint64 // part of a second, in units of 1/(hz * 10^9) s; below 8 * 10^18
	speed   uint64 // increase of rest per cycle
	unsync  bool
	steps   uint64 // number of times that the clock had been set when the segment began
}

const nanos = 1_000_000_000

func newClock(hz uint64, start time.Time) *Clock {
	t := tailstamp.At(start)
	s := todSegment{seconds: t.Seconds, rest: uint64(t.Nanoseconds) * hz, speed: nanos}
	return &Clock{hz: hz, ideal: s, segments: []todSegment{s}}
}

// advance returns the segment's time at a cycle. The cycle must not be before the segment.
func (s *todSegment) advance(hz uint64, c Cycle) (seconds, rest uint64) {
	hi, lo := bits.Mul64(uint64(c-s.from), s.speed)
	lo, carry := bits.Add64(lo, s.rest, 0)
	hi += carry
	if hi >= hz*nanos {
		return 1<<64 - 1, 0 // beyond any run: 2^60 cycles of 1 Hz do not reach this
	}
	q, r := bits.Div64(hi, lo, hz*nanos)
	return s.seconds + q, r
}

func (s *todSegment) at(hz uint64, c Cycle) tailstamp.Timestamp {
	seconds, rest := s.advance(hz, c)
	return tailstamp.Timestamp{Seconds: seconds, Nanoseconds: uint32(rest / hz)}
}

func (t *Clock) segment(c Cycle) *todSegment {
	i := len(t.segments) - 1
	for i > 0 && c < t.segments[i].from {
		i--
	}
	return &t.segments[i]
}

// At returns the clock's time at a cycle, rounded down to nanoseconds.
func (t *Clock) At(c Cycle) tailstamp.Timestamp { return t.segment(c).at(t.hz, c) }

// True returns an ideal clock's time at a cycle: the start + floor(c * 10^9 / hz) ns.
func (t *Clock) True(c Cycle) tailstamp.Timestamp { return t.ideal.at(t.hz, c) }

// An IdealClock reads the time of an ideal clock. It is fast for cycles that follow each other. It is not safe for
// concurrent use.
type IdealClock struct {
	clock  Clock
	reader clockReader
}

// Ideal returns a reader of [Clock.True].
func (t *Clock) Ideal() *IdealClock {
	return &IdealClock{clock: Clock{hz: t.hz, ideal: t.ideal, segments: []todSegment{t.ideal}}}
}

// At does [Clock.True].
func (i *IdealClock) At(c Cycle) tailstamp.Timestamp {
	at, _ := i.reader.read(&i.clock, c)
	return at
}

// read returns the clock's time at a cycle, and whether it was not synchronised.
func (t *Clock) read(c Cycle) (tailstamp.Timestamp, bool) {
	s := t.segment(c)
	return s.at(t.hz, c), s.unsync
}

// A clockReader reads the clock for the packets in the chip. Most readings are in the second that an earlier one has
// opened. They need two multiplications instead of two divisions, one of them long.
type clockReader struct {
	of      *Clock
	from    Cycle // cycle of the reading that opened the second
	span    Cycle // number of cycles from there on that are in the second
	seconds uint64
	rest    uint64 // part of the second at cycle from
	speed   uint64
	hz      uint64
	inverse uint64 // floor((2^64 - 1) / hz)
	unsync  bool
}

// read does the same as [Clock.read].
func (r *clockReader) read(t *Clock, c Cycle) (tailstamp.Timestamp, bool) {
	n := c - r.from
	if r.of != t || n >= r.span {
		return r.open(t, c)
	}
	return r.at(n), r.unsync
}

// at returns the time n cycles after the reading that opened the second, in this second.
func (r *clockReader) at(n Cycle) tailstamp.Timestamp {
	rest := r.rest + uint64(n)*r.speed
	ns, _ := bits.Mul64(rest, r.inverse) // inverse is low by less than 1, so ns is low by less than rest / 2^64 + 1
	if rest-ns*r.hz >= r.hz {
		ns++
	}
	return tailstamp.Timestamp{Seconds: r.seconds, Nanoseconds: uint32(ns)}
}

// open reads the clock at a cycle outside the open second. If the cycle is later, the second that contains it becomes
// the open one.
func (r *clockReader) open(t *Clock, c Cycle) (tailstamp.Timestamp, bool) {
	s := &t.segments[len(t.segments)-1]
	if c < s.from || r.of == t && c < r.from {
		return t.read(c)
	}
	*r = clockReader{of: t, from: c, speed: s.speed, hz: t.hz, inverse: math.MaxUint64 / t.hz, unsync: s.unsync}
	r.seconds, r.rest = s.advance(t.hz, c)
	r.span = Cycle((t.hz*nanos-r.rest-1)/s.speed + 1)
	return tailstamp.Timestamp{Seconds: r.seconds, Nanoseconds: uint32(r.rest / t.hz)}, r.unsync
}

// Status returns the clock's state at a cycle, for register reads.
func (t *Clock) Status(now Cycle) altmark.ChipClock {
	at, unsync := t.read(now)
	return altmark.ChipClock{At: altmark.Time(at), Synchronised: !unsync, Steps: t.steps}
}

// timeOfDay returns the clock's time at a cycle, and whether it was not synchronised.
func (c *core) timeOfDay(at Cycle) (tailstamp.Timestamp, bool) { return c.tod.read(c.clock.Load(), at) }

// A stay holds a packet's times of arrival and departure by the clock, and their flaws.
type stay struct {
	in, out tailstamp.Timestamp
	unsync  bool // true if the clock was not synchronised at one of the two times
	set     bool // true if the clock was set between the two times
}

// stayFrom returns the clock's times at one cycle and a later one.
func (c *core) stayFrom(from, to Cycle) (s stay) {
	t, r := c.clock.Load(), &c.tod
	if x, y := from-r.from, to-r.from; r.of == t && x < r.span && y < r.span { // after the last change of the clock
		s.in, s.out, s.unsync = r.at(x), r.at(y), r.unsync
		return s
	}
	var a, b bool
	s.in, a = c.timeOfDay(from)
	s.out, b = c.timeOfDay(to)
	s.unsync, s.set = a || b, t.SetBetween(from, to)
	return s
}

// SetBetween reports whether the clock was set after one cycle, up to a later one.
func (t *Clock) SetBetween(from, to Cycle) bool {
	last := &t.segments[len(t.segments)-1]
	return from < last.from && t.segment(from).steps != t.segment(to).steps
}

// CycleAt returns the first cycle that is not before d after the start.
func (t *Clock) CycleAt(d time.Duration) Cycle {
	if d <= 0 {
		return 0
	}
	hi, whole := bits.Mul64(uint64(d)/nanos, t.hz)
	part := (uint64(d)%nanos*t.hz + nanos - 1) / nanos // below 2^64, as hz is at most 8 * 10^9
	at, carry := bits.Add64(whole, part, 0)
	if hi|carry != 0 {
		return never
	}
	return Cycle(at)
}

// change returns the clock, set forward by step, with its present drift, rate and unsync from cycle c on. c must not be
// before any earlier change.
func (t Clock) change(c Cycle, step time.Duration) (*Clock, error) {
	if step != 0 {
		t.steps++
	}
	s := todSegment{from: c, speed: uint64(nanos + t.Drift + t.Rate), unsync: t.Unsynchronised, steps: t.steps}
	last := &t.segments[len(t.segments)-1]
	s.seconds, s.rest = last.advance(t.hz, c)
	whole, part := int64(step/time.Second), int64(step%time.Second)
	if part < 0 {
		whole, part = whole-1, part+nanos
	}
	s.rest += uint64(part) * t.hz // both summands are below 8 * 10^18
	if s.rest >= t.hz*nanos {
		s.rest -= t.hz * nanos
		whole++
	}
	if whole < 0 && uint64(-whole) > s.seconds {
		return nil, fmt.Errorf("clock: a step of %v leads to a time before 1970", step)
	}
	s.seconds += uint64(whole)
	switch {
	case last.from == c: // never in place: the old clock may be in use
		t.segments = append(slices.Clone(t.segments[:len(t.segments)-1]), s)
	case len(t.segments) >= maxSegments:
		t.segments = append(slices.Clone(t.segments[maxSegments/2:]), s)
	default:
		t.segments = append(t.segments, s)
	}
	return &t, nil
}
