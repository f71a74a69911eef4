package pipe

import "math/bits"

// of returns the value of an operand for the packet in a lane: a slice of a word, or a constant.
func (o *operand) of(p *PHV, lane uint8) uint64 {
	return p.W[o.word][lane&(Lanes-1)]>>(o.shift&63)&o.mask | o.value
}

// set writes a field.
func (t *target) set(p *PHV, lane uint8, v uint64) {
	w := &p.W[t.word][lane&(Lanes-1)]
	*w = *w&t.keep | (v&t.mask)<<(t.shift&63)
}

// A hash is a compiled hash: the sum of each byte's contribution.
type hash struct {
	fours []tap4
	taps  []tap
	start uint32 // CRC of a message of zeros as long as this one
	mask  uint32
	to    uint8
}

// A tap is one byte of the message. Bytes that are masked out contribute nothing.
type tap struct {
	table *crcTable
	word  uint8
	shift uint8
	mask  uint8
}

// A tap4 is four bytes of the message that are adjacent in a word of the PHV.
type tap4 struct {
	tables *[4]crcTable // tables of the four bytes, from the last to the first
	word   uint8
	shift  uint8
	mask   uint32
}

func (c *compiler) compileHash(h *Hash, word uint8) hash {
	n := 0
	for _, in := range h.Inputs {
		n += (int(c.fields[in.Field].width) + 7) / 8
	}
	poly := h.polynomial()
	k := hash{start: poly.ofZeros(n, h.Seed), mask: uint32(ones(h.bits())), to: word}
	tables := poly.tables(n)
	var all []tap // n-1-i bytes follow byte i
	for _, in := range h.Inputs {
		o := c.slice(in.Field)
		if in.Mask != 0 {
			o.mask = in.Mask
		}
		for b := (int(c.fields[in.Field].width)+7)/8 - 1; b >= 0; b-- {
			all = append(all, tap{&tables[n-1-len(all)], o.word, o.shift + uint8(8*b), uint8(o.mask >> (8 * b))})
		}
	}
	for i := 0; i < len(all); {
		if together(all[i:]) {
			t := tap4{tables: (*[4]crcTable)(tables[n-4-i:]), word: all[i].word, shift: all[i+3].shift}
			for _, b := range all[i : i+4] {
				t.mask = t.mask<<8 | uint32(b.mask)
			}
			k.fours = append(k.fours, t)
			i += 4
			continue
		}
		if all[i].mask != 0 {
			k.taps = append(k.taps, all[i])
		}
		i++
	}
	return k
}

// together reports whether the next four bytes are adjacent in one word.
func together(t []tap) bool {
	if len(t) < 4 {
		return false
	}
	for i := 1; i < 4; i++ {
		if t[i].word != t[0].word || t[i].shift+8 != t[i-1].shift {
			return false
		}
	}
	return true
}

// hashesTogether is the maximum number of hashes of the same inputs that run together.
const hashesTogether = 4

// A hashSet is two to four hashes of a stage that have the same inputs. They share the walk over the message: an entry
// of its tables has the byte's contributions to all of them, two in each word.
type hashSet struct {
	fours []setTap4
	taps  []setTap
	start [hashesTogether / 2]uint64
	masks [hashesTogether]uint64
	to    [hashesTogether]uint8 // an odd number of hashes has the last one twice
	n     int
}

type setTable [256][hashesTogether / 2]uint64

type setTap4 struct {
	tables *[4]setTable // tables of the four bytes, from the last to the first
	word   uint8
	shift  uint8
	mask   uint32
}

type setTap struct {
	table *setTable
	word  uint8
	shift uint8
	mask  uint8
}

// newHashSet combines hashes, which must have the same inputs.
func newHashSet(all []hash) hashSet {
	s := hashSet{n: len(all)}
	for i := range all {
		s.start[i/2] |= uint64(all[i].start) << (32 * (i & 1))
		s.masks[i], s.to[i] = uint64(all[i].mask), all[i].to
	}
	if s.n < hashesTogether {
		s.to[s.n] = s.to[s.n-1] // overwritten
	}
	first := &all[0]
	for i := range first.fours {
		t := &first.fours[i]
		x := setTap4{tables: new([4]setTable), word: t.word, shift: t.shift, mask: t.mask}
		for b := range x.tables {
			x.tables[b] = *combined(all, func(h *hash) *crcTable { return &h.fours[i].tables[b] })
		}
		s.fours = append(s.fours, x)
	}
	for i, t := range first.taps {
		s.taps = append(s.taps, setTap{combined(all, func(h *hash) *crcTable { return h.taps[i].table }), t.word, t.shift,
			t.mask})
	}
	return s
}

// combined returns a table of a set from those of its hashes.
func combined(all []hash, of func(*hash) *crcTable) *setTable {
	t := new(setTable)
	for i := range all {
		for v, sum := range of(&all[i]) {
			t[v][i/2] |= uint64(sum) << (32 * (i & 1))
		}
	}
	return t
}

// run computes the hashes, one part of the message after another.
func (s *hashSet) run(p *PHV, list []uint8) {
	r0, r1 := &p.pairs[0], &p.pairs[1]
	for _, l := range list {
		l &= Lanes - 1
		r0[l], r1[l] = s.start[0], s.start[1]
	}
	for i := range s.fours {
		t := &s.fours[i]
		words, shift, mask, tables := &p.W[t.word], t.shift&63, t.mask, t.tables
		for _, l := range list {
			l &= Lanes - 1
			v := uint32(words[l]>>shift) & mask
			a, b, c, d := &tables[0][uint8(v)], &tables[1][uint8(v>>8)], &tables[2][uint8(v>>16)], &tables[3][v>>24]
			r0[l] ^= a[0] ^ b[0] ^ c[0] ^ d[0]
			r1[l] ^= a[1] ^ b[1] ^ c[1] ^ d[1]
		}
	}
	for i := range s.taps {
		t := &s.taps[i]
		words, shift, mask, table := &p.W[t.word], t.shift&63, t.mask, t.table
		for _, l := range list {
			l &= Lanes - 1
			a := &table[uint8(words[l]>>shift)&mask]
			r0[l], r1[l] = r0[l]^a[0], r1[l]^a[1]
		}
	}
	for i := 0; i < s.n; i += 2 {
		sums, first, second := &p.pairs[i/2&1], &p.W[s.to[i&3]], &p.W[s.to[(i+1)&3]]
		mask, mask2 := s.masks[i&3], s.masks[(i+1)&3]
		for _, l := range list {
			l &= Lanes - 1
			second[l] = sums[l] >> 32 & mask2
			first[l] = sums[l] & mask
		}
	}
}

// run computes the hash, one part of the message after another.
func (h *hash) run(p *PHV, list []uint8) {
	sums := &p.sums
	for _, l := range list {
		sums[l&(Lanes-1)] = h.start
	}
	for i := range h.fours {
		t := &h.fours[i]
		words, shift, mask, tables := &p.W[t.word], t.shift&63, t.mask, t.tables
		for _, l := range list {
			l &= Lanes - 1
			v := uint32(words[l]>>shift) & mask
			sums[l] ^= tables[0][uint8(v)] ^ tables[1][uint8(v>>8)] ^ tables[2][uint8(v>>16)] ^ tables[3][v>>24]
		}
	}
	for i := range h.taps {
		t := &h.taps[i]
		words, shift, mask, table := &p.W[t.word], t.shift&63, t.mask, t.table
		for _, l := range list {
			l &= Lanes - 1
			sums[l] ^= table[uint8(words[l]>>shift)&mask]
		}
	}
	to := &p.W[h.to]
	for _, l := range list {
		l &= Lanes - 1
		to[l] = uint64(sums[l] & h.mask)
	}
}

// Run runs the stages from, from+1, ... to-1 of the ingress pipe for packets. It returns the packets that ctl.drop has
// not ended.
func (c *Compiled) Run(p *PHV, in Set, from, to uint32) Set { return c.ingress.run(p, in, from, to) }

// RunEgress does the same as Run for the egress pipe.
func (c *Compiled) RunEgress(p *PHV, in Set, from, to uint32) Set {
	return c.egress.run(p, in, from, to)
}

// run runs the main loop: step by step, each step for all packets. The package comment defines the meaning of each
// step.
// The order in a stage is: hashes, copies of words that the stage changes before it reads them, tables.
func (c *code) run(p *PHV, in Set, from, to uint32) Set {
	pc, end := c.at[from], c.at[to]
	if pc == end {
		return in
	}
	list := in.list(&p.all)
	for pc < end && len(list) > 0 {
		step := &c.ins[pc]
		pc++
		switch step.op {
		case opHash:
			c.hashes[step.n].run(p, list)
		case opHashSet:
			c.hashSets[step.n].run(p, list)
		case opTable:
			pc = c.match(p, &c.tables[step.n], list)
		case opGo:
			pc = step.n
		case opSnapshot:
			for _, w := range c.snapshots[step.n] {
				for _, l := range list {
					p.W[w.to][l&(Lanes-1)] = p.W[w.from][l&(Lanes-1)]
				}
			}
		case opDrop:
			list = p.dropped(list, uint32(step.n))
		default:
			c.operate(p, step, list)
		}
	}
	return setOf(list)
}

// list returns the lanes of a set.
func (s Set) list(of *[Lanes]uint8) []uint8 {
	n := 0
	for ; s != 0; s &= s - 1 {
		of[n&(Lanes-1)] = uint8(bits.TrailingZeros64(uint64(s)))
		n++
	}
	return of[:n]
}

func setOf(list []uint8) (s Set) {
	for _, l := range list {
		s |= 1 << (l & (Lanes - 1))
	}
	return s
}

// dropped removes the packets that ctl.drop ends after a stage from the list.
func (p *PHV) dropped(list []uint8, stage uint32) []uint8 {
	rest := list[:0]
	for _, l := range list {
		if p.W[WordControl][l&(Lanes-1)]&1 != 0 {
			p.stopped[l&(Lanes-1)] = stage
		} else {
			rest = append(rest, l)
		}
	}
	return rest
}

// action runs the code of an action.
func (c *code) action(p *PHV, pc int32, list []uint8) {
	for ; c.ins[pc].op != opGo; pc++ {
		c.operate(p, &c.ins[pc], list)
	}
}

// operate runs a step that is part of an action.
func (c *code) operate(p *PHV, in *ins, list []uint8) {
	switch in.op {
	case opCall:
		c.calls[in.n].run(p, list)
		return
	case opCount:
		c.calls[in.n].count(p, list)
		return
	case opSet:
		in.set(p, list)
		return
	}
	a, b, to := &in.a, &in.b, &in.to
	for _, l := range list {
		x, y := a.of(p, l), b.of(p, l)
		switch in.op {
		case opAdd:
			x += y
		case opSub:
			x -= y
		case opAnd:
			x &= y
		case opOr:
			x |= y
		case opXor:
			x ^= y
		case opShl:
			x <<= y
		case opShr:
			x >>= y
		case opMin:
			x = min(x, y)
		case opMax:
			x = max(x, y)
		case opSelect:
			if in.c.of(p, l) == 0 {
				x = y
			}
		}
		to.set(p, l, x)
	}
}

// set copies an operand to a field.
func (in *ins) set(p *PHV, list []uint8) {
	from, shift, mask, value := &p.W[in.a.word], in.a.shift&63, in.a.mask, in.a.value
	to, keep, width, up := &p.W[in.to.word], in.to.keep, in.to.mask, in.to.shift&63
	for _, l := range list {
		l &= Lanes - 1
		to[l] = to[l]&keep | (from[l]>>shift&mask|value)&width<<up
	}
}

// match looks packets up and runs their actions. It returns the start of the code after the table's code.
func (c *code) match(p *PHV, t *table, list []uint8) int32 {
	if list = t.gated(p, list); len(list) == 0 {
		return t.end
	}
	if p.Found != nil && len(t.parts) > 0 {
		t.report(p, list)
	}
	if t.uniform && !p.Traced {
		t.all(p, list)
		if t.miss.pc != t.end {
			c.action(p, t.miss.pc, list)
		}
		return t.end
	}
	one := true
	pc := t.run(p, list[0])
	p.pcs[list[0]&(Lanes-1)] = pc
	for _, l := range list[1:] {
		x := t.run(p, l)
		p.pcs[l&(Lanes-1)] = x
		one = one && x == pc
	}
	switch {
	case one && pc != t.end:
		c.action(p, pc, list)
	case !one:
		c.actions(p, t, list)
	}
	return t.end
}

// report reports the results of the packets' next lookups to Found.
func (t *table) report(p *PHV, list []uint8) {
	for _, l := range list {
		r := t.lookup(p, l)
		p.Found(l, t.name, uint32(r.look), r.outcome&outcomeHit != 0)
	}
}

// actions runs the actions of a table, each for its packets. Packets with the same action run together. If actions
// share a register, they run in the order of packets instead.
func (c *code) actions(p *PHV, t *table, list []uint8) {
	for len(list) > 0 {
		pc := p.pcs[list[0]&(Lanes-1)]
		same, rest := p.same[:0], p.some[:0]
		for i, l := range list {
			if p.pcs[l&(Lanes-1)] == pc {
				same = append(same, l)
				continue
			}
			if t.ordered {
				rest = append(rest, list[i:]...)
				break
			}
			rest = append(rest, l)
		}
		if pc != t.end {
			c.action(p, pc, same)
		}
		list = rest
	}
}

// gated returns the packets for which the table runs.
func (t *table) gated(p *PHV, list []uint8) []uint8 {
	if len(t.gate) == 0 {
		return list
	}
	open := t.open(p, list)
	if bits.OnesCount64(uint64(open)) == len(list) {
		return list
	}
	some := p.some[:0]
	for _, l := range list {
		if l &= Lanes - 1; open>>l&1 != 0 {
			some = append(some, l)
		} else if t.slot >= 0 {
			p.ran[t.slot&255][l] = outcomeSkipped
		}
	}
	return some
}

// all passes the arguments of the default action to packets, for a table that always runs it.
func (t *table) all(p *PHV, list []uint8) {
	for i, v := range t.miss.args {
		to := &p.W[firstParam+i&(maxParams-1)]
		for _, l := range list {
			to[l&(Lanes-1)] = v
		}
	}
}

// run looks the packet up and returns the start of the code of its action.
func (t *table) run(p *PHV, lane uint8) int32 {
	r, lane := t.lookup(p, lane), lane&(Lanes-1)
	if p.Traced {
		p.Ran[lane][t.tap>>6] |= 1 << (t.tap & 63)
		p.Hit[lane][t.tap>>6] |= uint64(r.outcome&outcomeHit>>1) << (t.tap & 63)
		p.Acted[lane][t.tap] = uint8(r.outcome >> outcomeBits)
	}
	if t.slot >= 0 {
		p.ran[t.slot&255][lane] = r.outcome
	}
	if l := p.Looked[lane]; l != nil && t.place < lookPlaces {
		l.note(t.place, r)
	}
	if t.counts {
		r.counter.Packets++
		r.counter.Bytes += p.W[WordFrame][lane] >> 44
	}
	for i, v := range r.args {
		p.W[firstParam+i&(maxParams-1)][lane] = v
	}
	return r.pc
}

// An alwaysRun is a table without a lookup.
type alwaysRun struct {
	stage uint32
	tap   uint8
}

// Always adds to Ran the tables that always run in the stages from, from+1, ... to-1. The run of packets that are not
// in on has ended early in these stages.
func (c *Compiled) Always(p *PHV, egress bool, in, on Set, from, to uint32) {
	for ; in != 0; in &= in - 1 {
		l, end := bits.TrailingZeros64(uint64(in)), to
		if on>>l&1 == 0 {
			end = p.stopped[l] + 1
		}
		for _, a := range c.side(egress).always {
			if a.stage >= from && a.stage < end {
				p.Ran[l][a.tap>>6] |= 1 << (a.tap & 63)
			}
		}
	}
}

// Begin initialises the user fields of packets for the ingress pipe. The chip fills the fixed words.
func (c *Compiled) Begin(p *PHV, in Set) {
	list := in.list(&p.all)
	for w := range p.W[firstUser : firstUser+c.users] {
		word := &p.W[firstUser+w]
		for _, l := range list {
			word[l&(Lanes-1)] = 0
		}
	}
}

// Bridge saves the values of a packet that the egress pipe needs.
func (c *Compiled) Bridge(p *PHV, lane int, to *[BridgeWords]uint64) {
	for i := range to[:c.first] {
		to[i] = p.W[firstUser+i][lane]
	}
}

// BeginEgress initialises the user fields of a packet for the egress pipe.
func (c *Compiled) BeginEgress(p *PHV, lane int, from *[BridgeWords]uint64) {
	for i := c.first; i < c.users; i++ {
		p.W[firstUser+i][lane] = 0
	}
	for i, v := range from[:c.first] {
		p.W[firstUser+i][lane] = v
	}
}

// Reads returns the fixed words that the ingress or egress pipe reads, bit i for word i. [Compiled.Writes] returns
// those that it writes. The chip need not fill words that are not read. It need not read back words that are not
// written.
func (c *Compiled) Reads(egress bool) uint32 { return c.side(egress).reads }

// Writes returns the fixed words that the ingress or egress pipe writes, like [Compiled.Reads].
func (c *Compiled) Writes(egress bool) uint32 { return c.side(egress).writes }

// IngressTables returns the number of tables of the ingress pipe.
func (c *Compiled) IngressTables() int { return len(c.program.Ingress.Tables) }

// Empty reports whether the pipe runs nothing.
func (c *Compiled) Empty(egress bool) bool { return len(c.side(egress).ins) == 0 }

func (c *Compiled) side(egress bool) *code {
	if egress {
		return &c.egress
	}
	return &c.ingress
}
