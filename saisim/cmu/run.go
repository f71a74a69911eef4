package cmu

import (
	"math/bits"

	"tamtam/tam/flymon"
)

// Packet is the input of CMU groups: a copy that enters the egress pipe.
type Packet struct {
	// The last word of Vector is the time of day in ns at which the copy enters, also in the second pass.
	Vector     flymon.Vector
	Ports      bool   // the packet has ports
	Size       uint32 // bytes of the frame as it leaves, including the FCS
	QueueBytes uint32 // bytes in the queue when the copy arrived there
	QueueNS    uint64 // time that the copy spent in the queue
	Number     uint64 // number of the copy that entered, from 1 on; it determines the coin
}

// Coin returns the coin of a packet, 0 to 255. All units use the same coin. It is a hash of the packet's number (the
// finalizer of SplitMix64), so that a run can be repeated.
func Coin(number uint64) uint16 {
	x := number * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return uint16((x ^ x>>31) >> 56)
}

// A pass is one run of packets through the groups.
type pass uint8

const (
	first  pass = iota // units run
	ask                // only check whether units would run
	second             // units run, for packets checked before
	lost               // units do not run, although the packets were checked
)

// SetLanes sets the maximum number of packets that run through the groups together: 1 to 64. It affects only the speed.
func (g *Groups) SetLanes(n int) {
	g.flush()
	g.together = min(max(n, 1), Lanes)
}

// Run runs the units of tasks in stacked groups. It reports whether tasks in spliced groups need the packet too, after
// recirculation. The units may run later, together with those of packets that follow, but before any read.
func (g *Groups) Run(p *Packet) (again bool) {
	g.number, g.at = p.Number, p.Vector[5]
	if g.stacked.tasks > 0 {
		g.waiting[g.n&(Lanes-1)] = *p
		if g.n++; g.n >= g.together {
			g.flush()
		}
	}
	return g.spliced.tasks > 0 && g.alone(p, ask)
}

// RunAgain runs the units of tasks in spliced groups for a recirculated packet, if the task existed at its first pass.
func (g *Groups) RunAgain(p *Packet) { g.alone(p, second) }

// LostAgain counts a packet that was lost before its second pass.
func (g *Groups) LostAgain(p *Packet) { g.alone(p, lost) }

// alone passes one packet to the spliced groups.
func (g *Groups) alone(p *Packet, what pass) bool {
	g.single[0] = *p
	return g.pass(&g.spliced, g.single[:], what)
}

// flush runs the units for the waiting packets. Every function that reads the stacked groups, or changes their tasks,
// calls it first.
func (g *Groups) flush() {
	if g.n > 0 {
		g.pass(&g.stacked, g.waiting[:g.n], first)
		g.n = 0
	}
}

// pass runs the tasks that match some packets, one task after the other, and reports whether there are any. Each task
// processes its packets in order, and shares no state with other tasks.
func (g *Groups) pass(c *classifier, packets []Packet, what pass) (any bool) {
	g.packets, g.have, g.tossed = packets, 0, 0
	g.survey()
	all := lanes(1)<<len(packets) - 1
	for _, t := range c.all {
		any = g.process(t, all, what) || any
	}
	if len(c.tuples) == 0 {
		return any
	}
	g.classify(c)
	for _, t := range g.active {
		in := t.lanes
		t.lanes = 0
		any = g.process(t, in, what) || any
	}
	return any
}

// survey computes what tasks need to know about all packets.
func (g *Groups) survey() {
	earliest, latest, bytes := ^uint64(0), uint64(0), uint64(0)
	for i := range g.packets {
		p := &g.packets[i]
		earliest, latest, bytes = min(earliest, p.Vector[5]), max(latest, p.Vector[5]), bytes+uint64(p.Size)
	}
	g.earliest, g.latest, g.bytes = earliest, latest, bytes
}

// classify finds the tasks whose filters match some packets, with these packets.
func (g *Groups) classify(c *classifier) {
	g.active = g.active[:0]
	for i := range g.packets {
		g.keys[i&(Lanes-1)] = wordsOf(&g.packets[i].Vector, g.packets[i].Ports)
	}
	for _, tuple := range c.tuples {
		for i := range g.packets {
			w := &g.keys[i&(Lanes-1)]
			src, dst := uint16(w[4]>>48), uint16(w[4]>>32)
			members := tuple.find(w)
			for k := range members {
				m := &members[k]
				if !m.has(src, dst) {
					continue
				}
				if m.task.lanes == 0 {
					g.active = append(g.active, m.task)
				}
				m.task.lanes |= 1 << i
			}
		}
	}
}

// process processes the packets that match a task's filter. It reports whether the task needs any of them.
func (g *Groups) process(t *task, in lanes, what pass) bool {
	if t.coins {
		in = g.admitted(t, in)
	}
	if what == ask || in == 0 {
		return in != 0
	}
	if what == first && t.truth == nil && g.earliest-t.start < t.length && g.latest-t.start < t.length {
		g.tally(t, in)
		g.run(t, in)
		return true
	}
	var now lanes // packets in the bank's epoch
	for rest := in; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(uint64(rest))
		p := &g.packets[i]
		if what != first && p.Number <= t.since {
			continue // it was being recirculated when the task was applied
		}
		at := p.Vector[5]
		if at-t.start >= t.length {
			g.run(t, now)
			t.turn(at)
			now = 0
		}
		b := &t.banks[t.bank&1]
		if t.truth != nil {
			t.exact(p)
		}
		if what == lost {
			b.Lost++
			continue
		}
		b.Packets++
		b.Bytes += uint64(p.Size)
		b.Last = at
		now |= 1 << i
	}
	g.run(t, now)
	return true
}

// tally counts packets in the bank of a task. All must be in its epoch.
func (g *Groups) tally(t *task, in lanes) {
	b := &t.banks[t.bank&1]
	b.Packets += uint64(bits.OnesCount64(uint64(in)))
	b.Last = g.packets[bits.Len64(uint64(in))-1].Vector[5]
	if in+1 == 1<<len(g.packets) {
		b.Bytes += g.bytes
		return
	}
	for rest := in; rest != 0; rest &= rest - 1 {
		b.Bytes += uint64(g.packets[bits.TrailingZeros64(uint64(rest))].Size)
	}
}

// admitted returns the packets with a coin for which any unit runs.
func (g *Groups) admitted(t *task, in lanes) (admitted lanes) {
	for rest := in &^ g.tossed; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(uint64(rest))
		g.coins[i] = uint32(Coin(g.packets[i].Number))
	}
	g.tossed |= in
	for rest := in; rest != 0; rest &= rest - 1 {
		if i := bits.TrailingZeros64(uint64(rest)); t.admits(g.coins[i]) {
			admitted |= 1 << i
		}
	}
	return admitted
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

// turn sets the epoch and the bank for a time.
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

// run runs all units of a task in order, each for all packets: every unit has its own register.
func (g *Groups) run(t *task, in lanes) {
	if in == 0 {
		return
	}
	g.compress(t.keys, in)
	list := g.list[:0]
	if in&(in+1) == 0 { // the first ones
		list = g.ordered[:bits.Len64(uint64(in))]
	} else {
		for rest := in; rest != 0; rest &= rest - 1 {
			list = append(list, uint8(bits.TrailingZeros64(uint64(rest))))
		}
	}
	for i := range t.units {
		u, some := &t.units[i], list
		if u.op == count {
			u.count(g.keysOf(u, list), t.bank)
			continue
		}
		if t.coins {
			some = g.choose(u, i, list)
		}
		g.operands(u, some)
		g.operate(u, &g.results[i], t.bank, some)
		if i != t.digestUnit {
			continue
		}
		for _, l := range some {
			if g.measures[l&(Lanes-1)] >= t.threshold {
				t.digest(&g.packets[l].Vector)
			}
		}
	}
}

// keysOf returns the compressed keys of the packets for which a unit with only one such key runs.
func (g *Groups) keysOf(u *unit, list []uint8) []uint32 {
	n, all := len(list), &g.sums[u.a]
	if int(list[n-1]) == n-1 { // the first ones
		return all[:n]
	}
	some := g.some[:n]
	for i, l := range list {
		some[i] = all[l&(Lanes-1)]
	}
	return some
}

// count runs a unit of this operation: it adds a constant while the bucket is below another one. If it were inlined,
// the values of its loop would not stay in registers.
//
//go:noinline
func (u *unit) count(keys []uint32, bank uint32) {
	words := u.words[bank<<u.log:]
	left, mask, step, below, wide := int(u.left), u.mask, u.p1, u.p2, u.wide
	for _, key := range keys {
		word := &words[bits.RotateLeft32(key, left)&mask]
		if *word < below {
			*word = (*word + step) & wide
		}
	}
}

// choose returns the packets with a coin for which a unit runs. It sets the result to 0 for the others.
func (g *Groups) choose(u *unit, i int, list []uint8) []uint8 {
	some := g.chosen[:0]
	for _, l := range list {
		if l &= Lanes - 1; g.coins[l]-u.from < u.span {
			some = append(some, l)
		} else {
			g.results[i][l] = 0
		}
	}
	return some
}

// compress computes the compressed keys of the slots in the bit set need.
func (g *Groups) compress(need uint64, in lanes) {
	for ; need != 0; need &= need - 1 {
		i := bits.TrailingZeros64(need)
		if g.have>>i&1 == 0 {
			g.have |= 1 << i
			g.summed[i] = 0
		}
		rest := in &^ g.summed[i]
		g.summed[i] |= in
		s, to := &g.slots[i], g.sums[i*len(flymon.Sums{}):]
		var sums flymon.Sums
		for ; rest != 0; rest &= rest - 1 {
			l := bits.TrailingZeros64(uint64(rest))
			s.compressor.Sums(&g.packets[l].Vector, s.used, &sums)
			for used := s.used; used != 0; used &= used - 1 {
				k := bits.TrailingZeros8(used)
				to[k][l] = sums[k]
			}
		}
	}
}

// operands computes the parameters of a unit.
func (g *Groups) operands(u *unit, list []uint8) {
	s := u.sources
	if s == nil {
		g.p1.all(u.p1)
		g.p2.all(u.p2)
		return
	}
	g.param(&g.p1, &s.p1, list)
	g.param(&g.p2, &s.p2, list)
	for _, l := range list {
		l &= Lanes - 1
		g.p1.of[l], g.p2.of[l] = s.translate(g.p1.of[l])&u.wide, g.p2.of[l]&u.wide
	}
}

// An operand is a parameter for the packets that run together.
type operand struct {
	of      [Lanes]uint32
	uniform bool // true if it is the same for all packets
}

// all sets the same parameter for all packets. It is often the same for several units in sequence.
func (o *operand) all(v uint32) {
	if o.uniform && o.of[0] == v {
		return
	}
	o.uniform = true
	for i := range o.of {
		o.of[i] = v
	}
}

// An address computes the bucket of a packet in a unit's partition.
type address struct {
	a, b       *[Lanes]uint32 // compressed keys
	left, mask uint32
	base       uint32 // start of the bank
}

func (x *address) of(l uint8) uint32 {
	return bits.RotateLeft32(x.a[l]^x.b[l], int(x.left))&x.mask + x.base
}

// operate runs a unit. For each packet, it sets the result and the value that is compared with a digest's threshold.
func (g *Groups) operate(u *unit, results *[Lanes]uint32, bank uint32, list []uint8) {
	at := address{&g.sums[u.a], &g.sums[u.b], uint32(u.left), u.mask, bank << u.log}
	words, wide, p1, p2, measures := u.words, u.wide, &g.p1.of, &g.p2.of, &g.measures
	switch u.op {
	case condAdd:
		for _, l := range list {
			l &= Lanes - 1
			word, result := &words[at.of(l)], uint32(0)
			next := *word
			if next < p2[l] {
				next = (next + p1[l]) & wide
				result = next
			}
			*word, results[l], measures[l] = next, result, next
		}
	case maximum:
		for _, l := range list {
			l &= Lanes - 1
			word, result, value := &words[at.of(l)], uint32(0), p1[l]
			if *word < value {
				*word, result = value, value
			}
			results[l], measures[l] = result, value
		}
	case andOr:
		for _, l := range list {
			l &= Lanes - 1
			word, value := &words[at.of(l)], p1[l]
			before := *word
			next, result := before|value, value&^before
			if p2[l] == 0 {
				next = before & value
				result = next
			}
			*word, results[l], measures[l] = next, result, next
		}
	case xorSwap:
		for _, l := range list {
			l &= Lanes - 1
			word, next := &words[at.of(l)], p1[l]
			before := *word
			if p2[l] == 0 {
				next ^= before
			}
			*word, results[l], measures[l] = next, before, next
		}
	}
}
