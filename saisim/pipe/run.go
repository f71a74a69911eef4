package pipe

// of reads an operand: a slice of a word, or a constant.
func (o *operand) of(p *PHV) uint64 {
	return p.W[o.word]>>(o.shift&63)&o.mask | o.value
}

// set writes a field.
func (t *target) set(p *PHV, v uint64) {
	p.W[t.word] = p.W[t.word]&t.keep | (v&t.mask)<<(t.shift&63)
}

// A hash, compiled: the sum of what each byte adds.
type hash struct {
	fours []tap4
	taps  []tap
	start uint32 // of a message of zeros
	mask  uint32
	to    uint8
}

// A tap is one byte of the message; bytes that are masked out add nothing.
type tap struct {
	table *crcTable
	word  uint8
	shift uint8
	mask  uint8
}

// A tap4 is four bytes of the message that stand together in a word of the PHV.
type tap4 struct {
	tables *[4]crcTable // of the last byte to the first
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
	var all []tap // the byte i is followed by n-1-i bytes
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

// together reports whether the next four bytes stand together in one word.
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

func (h *hash) run(p *PHV) {
	r := h.start
	for i := range h.fours {
		t := &h.fours[i]
		v := uint32(p.W[t.word]>>(t.shift&63)) & t.mask
		r ^= t.tables[0][uint8(v)] ^ t.tables[1][uint8(v>>8)] ^ t.tables[2][uint8(v>>16)] ^ t.tables[3][v>>24]
	}
	for i := range h.taps {
		t := &h.taps[i]
		r ^= t.table[uint8(p.W[t.word]>>(t.shift&63))&t.mask]
	}
	p.W[h.to] = uint64(r & h.mask)
}

// Run runs the stages from, from+1, ... to-1 of the ingress pipe. It returns false
// if ctl.drop ended it.
func (c *Compiled) Run(p *PHV, from, to uint32) bool { return c.ingress.run(p, from, to) }

// RunEgress is Run for the egress pipe.
func (c *Compiled) RunEgress(p *PHV, from, to uint32) bool { return c.egress.run(p, from, to) }

// run is the loop that every packet goes through. Its cases are the meaning of the
// package comment, step by step; the order in a stage is hashes, copies of what
// the stage changes before it reads it, tables.
func (c *code) run(p *PHV, from, to uint32) bool {
	pc, end := int(c.at[from]), int(c.at[to])
	for pc < end {
		in := &c.ins[pc]
		pc++
		switch in.op {
		case opSet:
			in.to.set(p, in.a.of(p))
		case opAdd:
			in.to.set(p, in.a.of(p)+in.b.of(p))
		case opSub:
			in.to.set(p, in.a.of(p)-in.b.of(p))
		case opAnd:
			in.to.set(p, in.a.of(p)&in.b.of(p))
		case opOr:
			in.to.set(p, in.a.of(p)|in.b.of(p))
		case opXor:
			in.to.set(p, in.a.of(p)^in.b.of(p))
		case opShl:
			in.to.set(p, in.a.of(p)<<in.b.of(p))
		case opShr:
			in.to.set(p, in.a.of(p)>>in.b.of(p))
		case opMin:
			in.to.set(p, min(in.a.of(p), in.b.of(p)))
		case opMax:
			in.to.set(p, max(in.a.of(p), in.b.of(p)))
		case opSelect:
			if in.c.of(p) != 0 {
				in.to.set(p, in.a.of(p))
			} else {
				in.to.set(p, in.b.of(p))
			}
		case opCall:
			c.calls[in.n].run(p)
		case opCount:
			c.calls[in.n].count(p)
		case opHash:
			c.hashes[in.n].run(p)
		case opTable:
			pc = int(c.tables[in.n].run(p))
		case opGo:
			pc = int(in.n)
		case opSnapshot:
			for _, w := range c.snapshots[in.n] {
				p.W[w.to] = p.W[w.from]
			}
		case opDrop:
			if p.W[WordControl]&1 != 0 {
				p.stopped = uint32(in.n)
				return false
			}
		}
	}
	return true
}

// run looks the packet up and returns where the code of its action begins.
func (t *table) run(p *PHV) int32 {
	if len(t.gate) > 0 && !t.open(p) {
		if t.slot >= 0 {
			p.ran[t.slot&255] = outcomeSkipped
		}
		return t.end
	}
	r := t.lookup(p)
	p.Ran[t.tap>>6] |= 1 << (t.tap & 63)
	p.Hit[t.tap>>6] |= uint64(r.outcome&outcomeHit>>1) << (t.tap & 63)
	if t.slot >= 0 {
		p.ran[t.slot&255] = r.outcome
	}
	if t.counts {
		r.counter.Packets++
		r.counter.Bytes += p.W[WordFrame] >> 44
	}
	for i, v := range r.args {
		p.W[firstParam+i&(maxParams-1)] = v
	}
	return r.pc
}

// An alwaysRun is a table without a lookup.
type alwaysRun struct {
	stage uint32
	tap   uint8
}

// Always adds to Ran the tables that run in the stages from, from+1, ... to-1, whatever
// the packet is. If the run over these stages ended early, on is false.
func (c *Compiled) Always(p *PHV, egress bool, from, to uint32, on bool) {
	if !on {
		to = p.stopped + 1
	}
	for _, a := range c.side(egress).always {
		if a.stage >= from && a.stage < to {
			p.Ran[a.tap>>6] |= 1 << (a.tap & 63)
		}
	}
}

// Begin makes the user fields ready for the ingress pipe. The chip fills the fixed
// words.
func (c *Compiled) Begin(p *PHV) { clear(p.W[firstUser : firstUser+c.users]) }

// Bridge takes the values that go on to the egress pipe.
func (c *Compiled) Bridge(p *PHV, to *[BridgeWords]uint64) {
	copy(to[:c.first], p.W[firstUser:])
}

// BeginEgress makes the user fields ready for the egress pipe.
func (c *Compiled) BeginEgress(p *PHV, from *[BridgeWords]uint64) {
	clear(p.W[firstUser+c.first : firstUser+max(c.users, c.first)])
	copy(p.W[firstUser:], from[:c.first])
}

// Reads returns the fixed words that the ingress or egress pipe reads, bit i for
// word i; Writes those that it writes. The chip need not fill what is not read,
// nor look at what is not written.
func (c *Compiled) Reads(egress bool) uint32 { return c.side(egress).reads }

// Writes is the counterpart of Reads.
func (c *Compiled) Writes(egress bool) uint32 { return c.side(egress).writes }

// Empty reports whether nothing runs in the pipe.
func (c *Compiled) Empty(egress bool) bool { return len(c.side(egress).ins) == 0 }

func (c *Compiled) side(egress bool) *code {
	if egress {
		return &c.egress
	}
	return &c.ingress
}
