package reference

import (
	"math/big"

	"tamtam/saisim"
	"tamtam/saisim/tm"
)

// A shaper follows the text of saisim/tm, with rational numbers of tokens and seconds. It does nothing while its rate
// is zero.
type shaper struct {
	tm.Shaper
	tokens *big.Rat // negative while more has left than the rate allows
	since  saisim.Cycle
	hz     uint64
	opens  saisim.Cycle // the first cycle with no tokens missing, if nothing leaves and nothing changes until then
}

// set changes the shaper after the work of a cycle.
func (s *shaper) set(to tm.Shaper, now saisim.Cycle, hz uint64) {
	if s.Rate == 0 || s.Packets != to.Packets {
		s.tokens = whole(to.Burst)
	} else {
		s.refill(now)
	}
	s.Shaper, s.since, s.hz = to, now, hz
	s.tokens = lesser(s.tokens, whole(to.Burst))
	s.wait()
}

func (s *shaper) refill(now saisim.Cycle) {
	more := new(big.Rat).Mul(whole(s.Rate), new(big.Rat).Quo(whole(uint64(now-s.since)), whole(s.hz)))
	s.since = now
	s.tokens = lesser(new(big.Rat).Add(s.tokens, more), whole(s.Burst))
}

// holds reports whether nothing may leave in a cycle.
func (s *shaper) holds(now saisim.Cycle) bool { return s.Rate > 0 && s.until(now) > now }

// until returns the cycle from which the shaper lets packets leave.
func (s *shaper) until(now saisim.Cycle) saisim.Cycle {
	if s.Rate == 0 {
		return 0
	}
	return max(now, s.opens)
}

// wait notes when the tokens that are missing will be there.
func (s *shaper) wait() {
	s.opens = s.since
	if s.Rate == 0 || s.tokens.Sign() >= 0 {
		return
	}
	cycles := new(big.Rat).Mul(new(big.Rat).Neg(s.tokens), new(big.Rat).Quo(whole(s.hz), whole(s.Rate)))
	n := new(big.Int).Add(cycles.Num(), new(big.Int).Sub(cycles.Denom(), big.NewInt(1)))
	s.opens += saisim.Cycle(n.Quo(n, cycles.Denom()).Uint64())
}

// spend takes the tokens of a copy that leaves now.
func (s *shaper) spend(o *outgoing, now saisim.Cycle) {
	if s.Rate == 0 {
		return
	}
	s.refill(now)
	cost := uint64(1)
	if !s.Packets {
		cost = uint64(max(o.bufferBytes()+fcs, smallest))
	}
	s.tokens = new(big.Rat).Sub(s.tokens, whole(cost))
	s.wait()
}

// shapedUntil returns the cycle from which the shapers let a copy of the port leave. The port must not be empty.
func (s *scheduler) shapedUntil(now saisim.Cycle) saisim.Cycle {
	first := ^saisim.Cycle(0)
	for _, q := range s.queues {
		if len(q.items) > 0 {
			first = min(first, max(q.paused, q.shaper.until(now)))
		}
	}
	return max(first, s.all.until(now))
}

// mayServe reports whether a port may send a copy into the egress pipe in this cycle.
func (c *Chip) mayServe(p *port) bool {
	if p.empty() || c.schedulerFree(p) > c.now {
		return false
	}
	if p.shapedUntil(c.now) > c.now {
		c.Queueing("a port waits for its shapers")
		return false
	}
	return true
}
