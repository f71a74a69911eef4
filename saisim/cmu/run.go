package cmu

import (
	"math/bits"

	"tamtam/tam/flymon"
)

// Packet is what CMU groups see of a copy that enters the egress pipe.
type Packet struct {
	// Vector's last word is the time of day in ns at which the copy enters, also in the
	// second pass.
	Vector     flymon.Vector
	Ports      bool   // it has ports
	Size       uint32 // bytes of the frame as it leaves, with FCS
	QueueBytes uint32 // in the queue as it came
	QueueNS    uint64 // in the queue
	Number     uint64 // 1, 2, 3... of copies that entered; it draws the coin
}

// Coin is the coin of a packet, 0 to 255: all units see the same. It is a hash of the
// packet's number (the finalizer of SplitMix64), so that a run can be repeated.
func Coin(number uint64) uint16 {
	x := number * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return uint16((x ^ x>>31) >> 56)
}

// A pass is one run of a packet through the groups.
type pass uint8

const (
	first  pass = iota // units run
	ask                // only whether units would run
	second             // units run, of a packet that was asked about before
	lost               // units do not run, though the packet was asked about
)

// Run runs the units of tasks in stacked groups, and reports whether tasks in spliced groups need the
// packet too, after recirculation.
func (g *Groups) Run(p *Packet) (again bool) {
	g.number, g.at = p.Number, p.Vector[5]
	if g.stacked.tasks > 0 {
		g.pass(&g.stacked, p, first)
	}
	return g.spliced.tasks > 0 && g.pass(&g.spliced, p, ask)
}

// RunAgain runs the units of tasks in spliced groups for a packet that was recirculated, if the task
// existed at its first pass.
func (g *Groups) RunAgain(p *Packet) { g.pass(&g.spliced, p, second) }

// LostAgain says that the packet was lost before its second pass.
func (g *Groups) LostAgain(p *Packet) { g.pass(&g.spliced, p, lost) }

// pass shows a packet to the tasks that match, and reports whether there are any.
func (g *Groups) pass(c *classifier, p *Packet, what pass) (any bool) {
	g.have = 0
	for _, t := range c.all {
		any = g.hit(t, p, what) || any
	}
	if len(c.tuples) == 0 {
		return any
	}
	w := wordsOf(&p.Vector, p.Ports)
	src, dst := uint16(w[4]>>48), uint16(w[4]>>32)
	for _, tuple := range c.tuples {
		members := tuple.find(&w)
		for i := range members {
			if m := &members[i]; m.has(src, dst) {
				any = g.hit(m.task, p, what) || any
			}
		}
	}
	return any
}

// hit handles a packet that a task's filter matches. It reports whether the task takes it.
func (g *Groups) hit(t *task, p *Packet, what pass) bool {
	coin := uint32(0)
	if t.coins {
		coin = uint32(Coin(p.Number))
		if !t.admits(coin) {
			return false
		}
	}
	if what == ask {
		return true
	}
	if what != first && p.Number <= t.since {
		return false // it was being recirculated when the task came
	}
	at := p.Vector[5]
	if at-t.start >= t.length {
		t.turn(at)
	}
	b := &t.banks[t.bank&1]
	if t.truth != nil {
		t.exact(p)
	}
	if what == lost {
		b.Lost++
		return true
	}
	b.Packets++
	b.Bytes += uint64(p.Size)
	b.Last = at
	g.run(t, p, coin)
	return true
}

// admits reports whether any unit runs for a coin.
func (t *task) admits(coin uint32) bool {
	for i := range t.units {
		if u := &t.units[i]; coin-u.from < u.span {
			return true
		}
	}
	return false
}

// turn finds the epoch of a time, and how long it lasts.
func (t *task) turn(at uint64) {
	n := uint64(0)
	t.start, t.length = 0, ^uint64(0)
	if t.layout.Epoch > 0 {
		n = at / t.layout.Epoch
		t.start, t.length = n*t.layout.Epoch, t.layout.Epoch
	}
	t.bank = uint32(n & 1)
	b := &t.banks[t.bank]
	if !b.Used {
		b.Used, b.First, b.Last = true, at, at
	} else if b.Epoch != n {
		b.Dirty = true
	}
	b.Epoch = n
}

// run runs all units of a task, in their order.
func (g *Groups) run(t *task, p *Packet, coin uint32) {
	if need := t.keys &^ g.have; need != 0 {
		g.compress(need, &p.Vector)
	}
	for i := range t.units {
		u := &t.units[i]
		if coin-u.from >= u.span {
			g.results[i] = 0
			continue
		}
		key := bits.RotateLeft32(g.sums[u.a]^g.sums[u.b], int(u.left))
		word := &u.words[key&u.mask>>u.right+t.bank<<u.log]
		p1, p2 := u.p1, u.p2
		if s := u.sources; s != nil {
			p1 = s.translate(g.param(&s.p1, p)) & u.wide
			p2 = g.param(&s.p2, p) & u.wide
		}
		before, result := *word, uint32(0)
		switch u.op {
		case condAdd:
			if before < p2 {
				result = (before + p1) & u.wide
				*word = result
			}
		case maximum:
			if before < p1 {
				result = p1
				*word = result
			}
		case andOr:
			*word, result = before|p1, p1&^before
			if p2 == 0 {
				result = before & p1
				*word = result
			}
		case xorSwap:
			result = before
			*word = p1
			if p2 == 0 {
				*word = before ^ p1
			}
		}
		g.results[i] = result
		if i == t.digestUnit && (u.op == maximum && p1 >= t.threshold || u.op != maximum && *word >= t.threshold) {
			t.digest(&p.Vector)
		}
	}
}

// compress computes the compressed keys of slots.
func (g *Groups) compress(need uint64, v *flymon.Vector) {
	g.have |= need
	for ; need != 0; need &= need - 1 {
		i := bits.TrailingZeros64(need)
		g.sums[i] = g.slots[i].compressor.Sum(v)
	}
}

// digest keeps a flow for the controller, if it is new and there is room.
func (t *task) digest(v *flymon.Vector) {
	kept, b := &t.digests[t.bank&1], &t.banks[t.bank&1]
	flow := v.And(t.layout.Digest.Key)
	at := t.seen[t.bank&1].find(*kept, &flow)
	switch {
	case *at != 0:
	case len(*kept) == cap(*kept):
		b.DigestsLost++
	default:
		*kept = append(*kept, flow)
		*at = uint32(len(*kept))
		b.Digests++
	}
}

// A keySet finds keys in a list: numbers of its items plus 1, by open addressing; 0 is
// free. It has at least twice as many slots as the list has items.
type keySet []uint32

func newKeySet(items int) keySet { return make(keySet, 2<<bits.Len(uint(items))) }

// find returns the slot that a key has, or would have.
func (s keySet) find(keys []flymon.Vector, k *flymon.Vector) *uint32 {
	var h uint64
	for _, w := range k {
		h = (h ^ w) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	for i := h >> 32; ; i++ {
		at := &s[i&uint64(len(s)-1)]
		if *at == 0 || keys[*at-1] == *k {
			return at
		}
	}
}

// param returns the value of a parameter, of 32 bits.
func (g *Groups) param(s *param, p *Packet) uint32 {
	switch s.from {
	case fromConst:
		return s.value
	case fromSize:
		return min(p.Size, s.mask)
	case fromTimestamp:
		return s.time(p)
	case fromQueueLength:
		return min(p.QueueBytes>>s.scale, s.mask)
	case fromQueueDelay:
		return uint32(min(p.QueueNS>>s.scale, uint64(s.mask)))
	case fromKey:
		return bits.RotateLeft32(g.sums[s.a]^g.sums[s.b], int(s.left)) & s.mask
	case fromResult:
		return g.results[s.of[0]]
	case fromLeast:
		least := s.value
		for _, i := range s.of {
			if r := g.results[i]; r != 0 && r < least {
				least = r
			}
		}
		return least
	case fromSince:
		before := g.results[s.of[0]]
		if before == 0 || g.results[s.of[1]] != 0 {
			return 0
		}
		return (s.time(p) - before) & s.mask
	}
	return 0
}

// time returns a packet's timestamp, never 0.
func (s *param) time(p *Packet) uint32 { return max(1, uint32(p.Vector[5]>>s.scale)&s.mask) }
