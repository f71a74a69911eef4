package cmu

import (
	"math/bits"

	"tamtam/flymon"
)

// run does a task for a packet that its filter matches.
func (g *Groups) run(t *task, p *Packet) {
	ns := p.Vector[5]
	if t.layout.Epoch != 0 && (ns < t.begin || ns >= t.end) {
		t.turn(ns)
	}
	b := &t.status.Banks[t.counting]
	coin := uint16(0)
	if t.coins {
		coin = Coin(p.Number)
	}
	if u := &t.units[0]; u.to == 0 || coin >= u.from && coin < u.to {
		if !b.Used {
			b.Used, b.First = true, ns
		}
		b.Last = ns
		b.Packets++
		b.Bytes += uint64(p.Size)
		if t.truth[t.counting] != nil {
			t.truth[t.counting].count(t, p)
		}
	}
	for i := range t.units {
		u := &t.units[i]
		if u.to != 0 && (coin < u.from || coin >= u.to) {
			g.results[i] = 0
			continue
		}
		word := &u.regs[u.base+uint32(t.counting)*(u.low+1)+g.key(u.key, p)>>u.down&u.low]
		p1 := u.mapped(g.value(u, &u.p1, p)) & u.width
		old := *word
		next, result := operate(u.op, old, p1, g.value(u, &u.p2, p)&u.width, u.width)
		*word = next
		g.results[i] = result
		if d := t.digest; d != nil && d.Unit == i && old < d.Threshold && result >= d.Threshold {
			t.tell(b, p)
		}
	}
}

// operate is Appendix A of the paper, and the fourth slot.
func operate(op uint8, word, p1, p2, width uint32) (next, result uint32) {
	switch op {
	case opCondAdd:
		if word < p2 {
			next = (word + p1) & width
			return next, next
		}
		return word, 0
	case opMax:
		if word < p1 {
			return p1, p1
		}
		return word, 0
	case opAndOr:
		if p2 == 0 {
			next = word & p1
		} else {
			next = word | p1
		}
		return next, next
	}
	if p2 == 0 {
		return word ^ p1, word
	}
	return p1, word
}

// key is a compressed key, rotated.
func (g *Groups) key(r ref, p *Packet) uint32 {
	c := g.sum(int(r.a), p)
	if r.b >= 0 {
		c ^= g.sum(int(r.b), p)
	}
	return bits.RotateLeft32(c, -int(r.shift))
}

// value is a parameter before it is mapped.
func (g *Groups) value(u *unit, a *param, p *Packet) uint32 {
	switch a.from {
	case fromConst:
		return a.value
	case fromSize:
		return min(p.Size, u.width)
	case fromTimestamp:
		return uint32(p.Vector[5] >> (a.scale & 63))
	case fromQueueLength:
		return uint32(min(uint64(p.QueueBytes)>>(a.scale&63), uint64(u.width)))
	case fromQueueDelay:
		return uint32(min(p.QueueNS>>(a.scale&63), uint64(u.width)))
	case fromKey:
		return g.key(a.key, p) & a.value
	case fromResult:
		return g.results[a.of[0]]
	case fromLeast:
		least := ^uint32(0)
		for _, i := range a.of {
			if r := g.results[i]; r != 0 && r < least {
				least = r
			}
		}
		return least
	}
	if g.results[a.of[1]] != 0 {
		return 0
	}
	return uint32(p.Vector[5]>>(a.scale&63)) - g.results[a.of[0]]
}

// mapped is P1 behind the map.
func (u *unit) mapped(v uint32) uint32 {
	switch {
	case u.table != nil:
		return u.table[v>>u.tableAt&u.tableLow]
	case len(u.rules) > 0:
		return u.first(v)
	}
	return v
}

// turn takes the bank of the epoch that a time is in.
func (t *task) turn(ns uint64) {
	n := ns / t.layout.Epoch
	t.begin = n * t.layout.Epoch
	t.end = t.begin + t.layout.Epoch
	t.counting = int(n & 1)
	b := &t.status.Banks[t.counting]
	if b.Used && b.Epoch != n {
		b.Dirty = true
	}
	b.Epoch = n
}

// bank is the bank of a time.
func (t *task) bank(ns uint64) *Bank {
	if t.layout.Epoch != 0 && (ns < t.begin || ns >= t.end) {
		t.turn(ns)
	}
	return &t.status.Banks[t.counting]
}

// tell keeps a digest for the controller.
func (t *task) tell(b *Bank, p *Packet) {
	keys := &t.keys[t.counting]
	if len(*keys) == cap(*keys) {
		b.DigestsLost++
		return
	}
	*keys = append(*keys, p.Vector.And(t.digest.Key))
	b.Digests = len(*keys)
}

// keyOf is the packet as filters see it: the lowest bit of word 4 says that it has
// ports.
func keyOf(p *Packet) [5]uint64 {
	k := [5]uint64(p.Vector[:5])
	if p.Ports {
		k[4] |= hasPorts
	}
	return k
}

const (
	hasPorts    = 1
	versionMask = 0xff << 16
	_           = flymon.Words - 6 // the vector has six words, the time last
)
