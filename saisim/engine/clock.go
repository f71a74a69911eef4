package engine

import "math/bits"

// A Cycle is a number of cycles of the chip's clock since the chip was created.
type Cycle uint64

const never = Cycle(1<<64 - 1)

// mulDiv returns floor(a*b/c) and the remainder, for results below 2^64.
func mulDiv(a, b, c uint64) (q, r uint64) {
	hi, lo := bits.Mul64(a, b)
	if hi >= c {
		return 1<<64 - 1, 0
	}
	return bits.Div64(hi, lo, c)
}

// An instant is an exact time of a port's MAC: cycle + frac/den, where den is the line rate's denominator.
type instant struct {
	cycle Cycle
	frac  uint64
}

func (a instant) before(b instant) bool {
	return a.cycle < b.cycle || a.cycle == b.cycle && a.frac < b.frac
}

// ceil returns the cycle at which the chip sees an event at a.
func (a instant) ceil() Cycle {
	if a.frac > 0 {
		return a.cycle + 1
	}
	return a.cycle
}

// A lineRate holds the exact duration of a byte on the wire: num/den cycles.
type lineRate struct {
	num, den uint64
	// Precomputed spans: the preamble, the gap with the preamble, a frame of frameBytes, and such a frame with the gap
	// after it.
	preamble, between, frame, frameGap span
	frameBytes                         uint32
}

// A span is a duration of cycles + rest/den, with den of the MAC's line rate and rest < den.
type span struct {
	cycles Cycle
	rest   uint64
}

func newLineRate(hz uint64, mbps uint32) lineRate {
	num, den := 8*hz, uint64(mbps)*1_000_000
	for a, b := num, den; ; a, b = b, a%b {
		if b == 0 {
			r := lineRate{num: num / a, den: den / a}
			r.preamble, r.between = r.span(PreambleSFD), r.span(gap+PreambleSFD)
			r.frames(minWire)
			return r
		}
	}
}

// span returns the duration of n bytes. n must not exceed maxFrame by much.
func (r *lineRate) span(n uint32) span {
	x := uint64(n) * r.num // num <= 64e9, n < 2^19: below 2^55
	q := x / r.den
	return span{Cycle(q), x - q*r.den}
}

// frames sets frame and frameGap for frames of n bytes, FCS and padding included.
func (r *lineRate) frames(n uint32) {
	if n != r.frameBytes {
		r.frame, r.frameGap, r.frameBytes = r.span(n), r.span(n+gap), n
	}
}

// after returns the instant a span after a.
func (r *lineRate) after(a instant, s span) instant {
	a.cycle += s.cycles
	if a.frac += s.rest; a.frac >= r.den {
		a.frac -= r.den
		a.cycle++
	}
	return a
}

// Bytes on the wire besides the frame itself, and the smallest frame with FCS.
const (
	PreambleSFD = 8
	gap         = 12
	fcsLen      = 4
	minWire     = 64
)

// WireLen returns the length on the wire, with FCS, of a frame of n bytes without FCS.
func WireLen(n int) uint32 {
	return max(uint32(n)+fcsLen, minWire)
}
