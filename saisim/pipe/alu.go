package pipe

import "slices"

// A call is a compiled use of a register's stateful ALU.
type call struct {
	array       *Array
	depth       uint64
	index, x, y operand
	to          target // mask 0 if there is no target
	alu         alu
	step        uint64 // step of a call that only counts
	saturates   bool
}

// An alu is an instruction for words of one width.
type alu struct {
	mask       uint64
	conditions [2]condition
	updates    []update
	output     uint8 // index of the output; noOutput if there is none
	when       uint8
}

type condition struct {
	kind uint8 // comparison; never if there is no condition
	a, b source
}

const (
	never    = 0xff
	noOutput = 0xff
	always   = 0xf
)

type update struct {
	when uint8
	do   uint8
	a, b source
}

// A source is the sum of one of {0, mem, x, y} and a constant, one of which is 0.
type source struct {
	from  uint8
	value uint64
}

// guardTable returns a set of bits: bit i is set if the guard holds for the conditions i = c0 + 2*c1.
func guardTable(when string) uint8 {
	c := [...]uint8{always, 0b1010, 0b0101, 0b1100, 0b0011}
	i := slices.Index(guards, when)
	if i < len(c) {
		return c[i]
	}
	a, b := c[1], c[3]
	if when[0] == '!' {
		a = c[2]
		when = when[1:]
	}
	if when[2] == '!' {
		b = c[4]
	}
	if when[1] == '&' {
		return a & b
	}
	return a | b
}

func compileALU(in *Instruction, width uint8) alu {
	u := alu{mask: ones(width), output: noOutput, when: guardTable(in.Output.When)}
	u.conditions[0].kind, u.conditions[1].kind = never, never
	pick := func(s Source) source {
		return source{uint8(slices.Index(sources, s.From)), s.Const & u.mask}
	}
	for i, c := range in.Conditions {
		u.conditions[i] = condition{uint8(slices.Index(comparisons, c.Is)), pick(c.A), pick(c.B)}
	}
	for _, x := range in.Updates {
		k := update{when: guardTable(x.When), do: uint8(slices.Index(updates, x.Do)), a: pick(x.A)}
		if x.Do != "set" {
			k.b = pick(x.B)
		}
		u.updates = append(u.updates, k)
	}
	if in.Output.Value != "" {
		u.output = uint8(slices.Index(outputs, in.Output.Value))
	}
	return u
}

// counts reports whether the call only adds to a word of at most 32 bits, as sketches and counters do. It prepares such
// a call for count.
func (k *call) counts() bool {
	u := &k.alu
	if k.array.w32 == nil || k.to.mask != 0 || len(u.updates) != 1 || u.conditions[0].kind != never ||
		u.conditions[1].kind != never {
		return false
	}
	x := &u.updates[0]
	add := x.do == 1 || x.do == 3
	if !add || x.when != always || x.a.from != 1 || x.b.from != 0 {
		return false
	}
	k.step, k.saturates = x.b.value, x.do == 3
	return true
}

// count executes a call for which counts returned true.
func (k *call) count(p *PHV, list []uint8) {
	words, index, shift, mask, value := k.array.w32, &p.W[k.index.word], k.index.shift&63, k.index.mask, k.index.value
	for _, l := range list {
		i := index[l&(Lanes-1)]>>shift&mask | value
		if i >= uint64(len(words)) {
			continue
		}
		n := uint64(words[i]) + k.step
		if n > k.alu.mask && k.saturates {
			n = k.alu.mask
		}
		words[i] = uint32(n & k.alu.mask)
	}
}

// run executes the call for packets, in their order.
func (k *call) run(p *PHV, list []uint8) {
	for _, l := range list {
		var out uint64
		switch i, a := k.index.of(p, l), k.array; {
		case i >= k.depth:
		case a.w32 != nil:
			word := &a.w32[i]
			var next uint64
			next, out = k.alu.run(uint64(*word), k.x.of(p, l), k.y.of(p, l))
			*word = uint32(next)
		default:
			word := &a.w64[i]
			*word, out = k.alu.run(*word, k.x.of(p, l), k.y.of(p, l))
		}
		if k.to.mask != 0 {
			k.to.set(p, l, out)
		}
	}
}

// run returns the new word and the output.
func (u *alu) run(mem, x, y uint64) (next, out uint64) {
	v := [4]uint64{0, mem, x & u.mask, y & u.mask}
	var pred uint8
	if c := &u.conditions[0]; c.kind != never && compare(c.kind, v[c.a.from&3]|c.a.value, v[c.b.from&3]|c.b.value) {
		pred = 1
	}
	if c := &u.conditions[1]; c.kind != never && compare(c.kind, v[c.a.from&3]|c.a.value, v[c.b.from&3]|c.b.value) {
		pred |= 2
	}
	next = mem
	for i := range u.updates {
		if x := &u.updates[i]; x.when>>pred&1 != 0 {
			next = u.update(x.do, v[x.a.from&3]|x.a.value, v[x.b.from&3]|x.b.value)
			break
		}
	}
	if u.output == noOutput || u.when>>pred&1 == 0 {
		return next, 0
	}
	switch u.output {
	case 0:
		return next, mem
	case 1:
		return next, next
	case 2:
		return next, uint64(pred)
	}
	return next, v[(u.output-1)&3]
}

// update returns the result of an update, by number.
func (u *alu) update(do uint8, a, b uint64) uint64 {
	switch do {
	case 0:
		return a
	case 1:
		return (a + b) & u.mask
	case 2:
		return (a - b) & u.mask
	case 3:
		if s := (a + b) & u.mask; s >= a {
			return s
		}
		return u.mask
	case 4:
		if a < b {
			return 0
		}
		return a - b
	case 5:
		return a & b
	case 6:
		return a | b
	case 7:
		return a ^ b
	case 8:
		return a &^ b
	case 9:
		return min(a, b)
	}
	return max(a, b)
}
