package reference

import (
	"math/big"

	"tamtam/saisim"
	"tamtam/saisim/config"
)

// A policer follows the text of RFC 2697 and RFC 2698, with rational numbers of tokens and seconds.
type policer struct {
	config.Policer
	committed, other *big.Rat // Tc, and Te or Tp
	since            saisim.Cycle
	counts           [config.NumColours][2]uint64
}

// setPolicers applies the policers of a configuration. A new policer is full. A changed policer keeps its tokens, up to
// the new burst sizes.
func (c *Chip) setPolicers(rows []config.Policer) {
	had := c.policers
	c.policers = map[config.ID]*policer{}
	for _, r := range rows {
		p := had[r.ID]
		if p == nil {
			p = &policer{committed: whole(r.CBS), other: whole(r.PBS)}
		} else {
			p.refill(c.now, c.prof.ClockHz)
		}
		p.Policer, p.since = r, c.now
		p.committed, p.other = lesser(p.committed, whole(r.CBS)), lesser(p.other, whole(r.PBS))
		c.policers[r.ID] = p
	}
}

func whole(n uint64) *big.Rat { return new(big.Rat).SetInt(new(big.Int).SetUint64(n)) }

func lesser(a, b *big.Rat) *big.Rat {
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}

// refill adds the tokens of the time since the last refill. In RFC 2697, they go into the second bucket while the first
// is full.
func (p *policer) refill(now saisim.Cycle, hz uint64) {
	seconds := new(big.Rat).Quo(whole(uint64(now-p.since)), whole(hz))
	p.since = now
	p.committed = new(big.Rat).Add(p.committed, new(big.Rat).Mul(whole(p.CIR), seconds))
	more := new(big.Rat).Mul(whole(p.PIR), seconds)
	if p.Mode == config.SingleRate {
		if more = new(big.Rat).Sub(p.committed, whole(p.CBS)); more.Sign() < 0 {
			more = whole(0)
		}
	}
	p.committed = lesser(p.committed, whole(p.CBS))
	p.other = lesser(new(big.Rat).Add(p.other, more), whole(p.PBS))
}

// colourOf meters a frame that costs that many tokens, by the steps in the RFCs.
func (p *policer) colourOf(tokens *big.Rat) config.Colour {
	enough := p.committed.Cmp(tokens) >= 0
	otherEnough := p.other.Cmp(tokens) >= 0
	spendCommitted := func() { p.committed = new(big.Rat).Sub(p.committed, tokens) }
	spendOther := func() { p.other = new(big.Rat).Sub(p.other, tokens) }
	switch {
	case p.Mode == config.TwoRate && !otherEnough:
		return config.Red
	case p.Mode == config.TwoRate:
		spendOther()
		if !enough {
			return config.Yellow
		}
		spendCommitted()
		return config.Green
	case enough:
		spendCommitted()
		return config.Green
	case p.Mode == config.SingleRate && otherEnough:
		spendOther()
		return config.Yellow
	}
	return config.Red
}

// toCPU returns how a packet reaches the CPU: by the rule of its trap, or by the default.
func (conf *settings) toCPU(t config.Trap) config.ToCPU {
	for _, r := range conf.Traps {
		if r.Trap == t {
			return r.ToCPU
		}
	}
	return conf.TrapDefault.ToCPU
}

// countTrap counts a copy for the CPU by the counter of its trap.
func (c *Chip) countTrap(pk *packet, t config.Trap) {
	if id := c.conf.toCPU(t).Counter; id != config.None {
		n := c.trapCounts[id]
		c.trapCounts[id] = [2]uint64{n[0] + 1, n[1] + uint64(pk.length+fcs)}
	}
}

// TrapCount returns the packets and the bytes that a counter of traps has counted.
func (c *Chip) TrapCount(id config.ID) [2]uint64 { return c.trapCounts[id] }

// policed reports whether a packet for the CPU is dropped by the policer, and counts it.
func (c *Chip) policed(pk *packet) bool {
	id := c.conf.toCPU(pk.trap).Policer
	dropped := c.policedAs(pk, id)
	if c.policers[id] != nil {
		pk.find(saisim.Finding{Table: "policer", Entry: id, Hit: !dropped})
	}
	return dropped
}

// policedAs does the same as policed, with the given policer.
func (c *Chip) policedAs(pk *packet, id config.ID) bool {
	p := c.policers[id]
	if p == nil {
		return false
	}
	return c.meters(p, pk.length+fcs)
}

// meters meters a frame of n bytes, and reports whether the policer drops it.
func (c *Chip) meters(p *policer, n int) bool {
	p.refill(c.now, c.prof.ClockHz)
	tokens := uint64(1)
	if p.Bytes {
		tokens = uint64(n)
	}
	colour := p.colourOf(whole(tokens))
	p.counts[colour][0]++
	p.counts[colour][1] += uint64(n)
	return p.Drop[colour]
}

// PolicerCounts returns the packets and bytes that a policer has metered, by colour.
func (c *Chip) PolicerCounts(id config.ID) [config.NumColours][2]uint64 {
	if p := c.policers[id]; p != nil {
		return p.counts
	}
	return [config.NumColours][2]uint64{}
}
