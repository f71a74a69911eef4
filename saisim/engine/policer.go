package engine

import (
	"math/bits"

	"tamtam/saisim/config"
)

// MaxBurst returns the largest burst size, in packets or bytes, that a policer of a chip with this clock can have.
func MaxBurst(hz uint64) uint64 { return maxFill / hz }

// maxFill keeps the sum of two buckets below 2^64.
const maxFill = 1<<63 - 1

// A Tally counts packets, and bytes of frames with FCS.
type Tally struct{ Packets, Bytes uint64 }

// A policer assigns colours to packets by two token buckets (RFC 2697, RFC 2698), which are full at the beginning.
//
// Tokens are counted in parts. A token has as many parts as the clock has cycles in a second. So a bucket of rate R
// gets exactly R parts each cycle, at any clock rate. The RFCs add whole tokens and leave the instants open. Here a
// token is available as soon as all of its parts are.
type policer struct {
	config.Policer
	hz     uint64 // number of parts of a token
	at     Cycle  // cycle up to which the buckets are filled
	c, p   bucket // committed; excess (RFC 2697) or peak (RFC 2698)
	counts [config.NumColours]Tally
}

// A bucket holds at most size parts of tokens.
type bucket struct{ has, size, rate uint64 }

// fill adds the tokens of some cycles, and returns the number of parts beyond the capacity. Counts of 2^64 and more
// become 2^64-1.
func (b *bucket) fill(cycles Cycle) (over uint64) {
	hi, lo := bits.Mul64(b.rate, uint64(cycles))
	if hi != 0 {
		lo = 1<<64 - 1
	}
	return b.add(lo)
}

func (b *bucket) add(parts uint64) (over uint64) {
	room := b.size - b.has
	if parts <= room {
		b.has += parts
		return 0
	}
	b.has = b.size
	return parts - room
}

// resize sets the bucket's size and rate. The bucket keeps its contents, up to its new size.
func (b *bucket) resize(size, rate uint64) {
	b.has, b.size, b.rate = min(b.has, size), size, rate
}

// newPolicer returns a policer with full buckets.
func newPolicer(r config.Policer, hz uint64, now Cycle) *policer {
	p := &policer{hz: hz, at: now}
	p.change(r, now)
	p.c.has, p.p.has = p.c.size, p.p.size
	return p
}

// change sets the policer's configuration from now on.
func (p *policer) change(r config.Policer, now Cycle) {
	p.advance(now)
	p.Policer = r
	p.c.resize(r.CBS*p.hz, r.CIR)
	p.p.resize(r.PBS*p.hz, r.PIR)
}

// advance fills the buckets up to a cycle.
func (p *policer) advance(now Cycle) {
	cycles := now - p.at
	p.at = now
	over := p.c.fill(cycles)
	if p.Mode == config.TwoRate {
		p.p.fill(cycles)
	} else {
		p.p.add(over) // has no effect for StormControl
	}
}

// passes reports whether a frame of the given number of bytes may pass, and counts it.
func (p *policer) passes(now Cycle, bytes uint64) bool {
	p.advance(now)
	parts := p.hz
	if p.Bytes {
		parts *= bytes
	}
	colour := p.meter(parts)
	p.counts[colour].Packets++
	p.counts[colour].Bytes += bytes
	return !p.Drop[colour]
}

// meter consumes the parts of a frame's tokens, and returns its colour. All frames arrive without a colour, so
// colour-aware and colour-blind policers behave the same.
func (p *policer) meter(parts uint64) config.Colour {
	switch p.Mode {
	case config.SingleRate:
		switch {
		case p.c.has >= parts:
			p.c.has -= parts
			return config.Green
		case p.p.has >= parts:
			p.p.has -= parts
			return config.Yellow
		}
	case config.TwoRate:
		switch {
		case p.p.has < parts:
		case p.c.has < parts:
			p.p.has -= parts
			return config.Yellow
		default:
			p.p.has -= parts
			p.c.has -= parts
			return config.Green
		}
	case config.StormControl:
		if p.c.has >= parts {
			p.c.has -= parts
			return config.Green
		}
	}
	return config.Red
}
