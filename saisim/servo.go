package saisim

import (
	"time"

	"tamtam/saisim/tailstamp"
)

// A Servo disciplines a clock by exchanges of IEEE 1588 messages with a master. Sync leaves the master at t1 of its
// clock and arrives at t2 of ours. Delay_Req leaves us at t3 and arrives at t4 of the master's clock (IEEE 1588-2019,
// 11.3). If the path takes as long in both directions, then
//
//	offset = ((t2 - t1) - (t4 - t3)) / 2   of our clock from the master's
//	delay  = ((t2 - t1) + (t4 - t3)) / 2
//
// If the path from the master is longer by a than the path to it, the offset appears larger by a/2 than it is, and the
// clock stays a/2 slow. The messages contain no sign of that.
//
// The first exchange is stored. The second yields the oscillator's frequency from the change of the offset, and steps
// the clock. From then on a proportional and integral controller sets the rate. With p = offset / interval, in parts
// per billion, the integral falls by 0.3 p and the rate is the integral - 0.7 p. The offset shrinks by half or more at
// every exchange. An offset above StepOver steps the clock again. All arithmetic is in integers, so the same exchanges
// result in the same corrections.
//
// The zero Servo is ready to use.
type Servo struct {
	StepOver time.Duration // offset above which the clock is stepped; zero means 20 µs
	// Bound is the largest offset of a synchronised clock. A clock counts as synchronised after four such offsets in a
	// row. Zero means 1 µs.
	Bound time.Duration

	samples  int // 0, 1 or 2, where 2 means two or more
	lastT1   tailstamp.Timestamp
	offset   int64 // offset in ns at lastT1, after the correction
	integral int64 // in 1/1000 ppb
	rate     int64 // in ppb
	good     int
}

// A Correction is a servo's correction of a clock; see [Chip.Discipline].
type Correction struct {
	Offset, Delay time.Duration // as measured
	Step          time.Duration // time to add to the clock
	Rate          int64         // in ppb; replaces the previous rate
	Synchronised  bool
}

// Sample returns the correction after one exchange. If t1 is not after t1 of the previous exchange, the servo starts
// again.
func (s *Servo) Sample(t1, t2, t3, t4 tailstamp.Timestamp) Correction {
	there, back := difference(t2, t1), difference(t4, t3)
	k := Correction{Offset: time.Duration((there - back) / 2), Delay: time.Duration((there + back) / 2)}
	offset, interval := int64(k.Offset), difference(t1, s.lastT1)
	if s.samples > 0 && interval <= 0 {
		s.samples = 0
	}
	switch {
	case s.samples == 0:
		s.samples = 1
	case s.samples == 1:
		s.samples = 2
		s.rate = clampRate(s.rate - perInterval(offset-s.offset, interval))
		s.integral = s.rate * 1000
		k.Step = time.Duration(-offset)
	case abs(offset) > orDefault(s.StepOver, 20*time.Microsecond):
		s.samples = 1 // the frequency must also be determined again
		k.Step = time.Duration(-offset)
	default:
		p := perInterval(offset, interval)
		s.integral = clampRate((s.integral-300*p)/1000)*1000 + (s.integral-300*p)%1000
		s.rate = clampRate((s.integral - 700*p) / 1000)
	}
	s.lastT1, s.offset = t1, offset+int64(k.Step)
	if s.good++; abs(offset) > orDefault(s.Bound, time.Microsecond) {
		s.good = 0
	}
	k.Rate, k.Synchronised = s.rate, s.good >= 4
	return k
}

const nanos = 1_000_000_000 // in a second

// difference returns a - b in ns, limited to about 73 years in either direction.
func difference(a, b tailstamp.Timestamp) int64 {
	const most = 1 << 61
	sec := int64(a.Seconds) - int64(b.Seconds)
	sec = min(max(sec, -most/nanos), most/nanos)
	return sec*nanos + int64(a.Nanoseconds) - int64(b.Nanoseconds)
}

// perInterval returns the rate in ppb that adds d ns in the interval. The result is limited to MaxClockRate.
func perInterval(d, interval int64) int64 {
	if abs(d) >= 1<<33 { // 8 s
		return MaxClockRate * d / abs(d)
	}
	return clampRate(d * nanos / interval)
}

func clampRate(ppb int64) int64 { return min(max(ppb, -MaxClockRate), MaxClockRate) }

func abs(n int64) int64 { return max(n, -n) }

func orDefault(d, or time.Duration) int64 {
	if d == 0 {
		d = or
	}
	return int64(d)
}
