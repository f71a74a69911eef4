package cmu

import (
	"math/bits"
	"slices"

	"tamtam/tam/flymon"
)

// A task is a layout in the form that the packet path runs.
type task struct {
	start, length uint64 // epoch of the last packet; length is 0 if it is unknown
	bank          uint32
	lanes         lanes  // matching packets of those that run together
	coins         bool   // true if a unit runs by coin
	keys          uint64 // set of slots whose compressed keys the task needs
	units         []unit
	digestUnit    int // -1 if there is no digest
	threshold     uint32
	truth         *[2]Truth // nil without oracle
	banks         [2]flymon.ChipBank
	digests       [2][]flymon.Vector
	seen          [2]keySet // keys of digests

	layout     flymon.Layout // its own copy
	since      uint64        // number of the last packet before its units began to count
	generation uint64
	frozen     frozen
}

// frozen is the state of a task's frozen partitions, as long as it has any.
type frozen struct {
	banks   [2]flymon.ChipBank
	at      uint64
	digests [2][]flymon.Vector
	truth   *[2]Truth // oracle, which continues to count
}

type op uint8

const (
	condAdd op = iota
	maximum
	andOr
	xorSwap
	// count is condAdd with constant parameters, by one compressed key and for all packets. Nothing reads the result.
	count
)

// A unit is a flymon.Unit with all precomputed values that do not depend on the packet. Its size is one cache line.
type unit struct {
	words      []uint32 // words of the partition, bank after bank
	mask       uint32   // mask of the rotated key: the bucket in its bank
	wide       uint32   // mask of a bucket
	from, span uint32   // range of coins
	p1, p2     uint32   // parameters, if they are constant
	a, b       uint16   // numbers of the compressed keys that are its key
	left       uint8    // rotation of the key
	log        uint8    // log2 of the bank size
	op         op
	sources    *sources // sources of parameters that are not constant; nil if both are constant
}

// sources contains where parameters come from.
type sources struct {
	p1, p2 param
	mapping
}

type source uint8

const (
	fromConst source = iota
	fromSize
	fromTimestamp
	fromQueueLength
	fromQueueDelay
	fromKey
	fromResult
	fromLeast
	fromSince
)

type param struct {
	value uint32
	mask  uint32 // mask for keys and differences; maximum for sizes and queues
	from  source
	scale uint8
	left  uint8
	a, b  uint16
	of    []int
}

// compile computes the task's units. Its hash units have slots already.
func (g *Groups) compile(t *task) {
	l := &t.layout
	t.digestUnit = -1
	if d := l.Digest; d != nil {
		t.digestUnit, t.threshold = d.Unit, d.Threshold
	}
	t.units = make([]unit, len(l.Units))
	for i := range l.Units {
		g.compileUnit(t, &t.units[i], &l.Units[i])
	}
	for i := range t.units {
		if u := &t.units[i]; u.op == condAdd && u.sources == nil && u.b == noKey && !t.coins && !t.reads(i) {
			u.op = count
		}
	}
}

// reads reports whether a unit's result or the value for digests has a reader.
func (t *task) reads(i int) bool {
	return i == t.digestUnit || slices.ContainsFunc(t.units, func(u unit) bool {
		return u.sources != nil && (slices.Contains(u.sources.p1.of, i) || slices.Contains(u.sources.p2.of, i))
	})
}

func (g *Groups) compileUnit(t *task, u *unit, from *flymon.Unit) {
	u.words = g.partition(from, t.layout.Banks())
	u.log = uint8(bits.TrailingZeros32(from.Size))
	u.mask = from.Size - 1
	u.wide = g.geometry.Mask()
	u.from, u.span = uint32(from.From), uint32(from.To-from.From)
	if from.To == 0 {
		u.span = 256
	}
	t.coins = t.coins || from.To != 0
	u.a, u.b, u.left = g.ref(t, from.Group, from.Key)
	if from.Shifted { // the upper bits of an address in the register select the bucket, not the lower ones
		u.left = (u.left - uint8(bits.TrailingZeros32(uint32(g.geometry.Depth))) + u.log) & 31
	}
	switch from.Op {
	case flymon.CondAdd:
		u.op = condAdd
	case flymon.Max:
		u.op = maximum
	case flymon.AndOr:
		u.op = andOr
	case flymon.XorSwap:
		u.op = xorSwap
	}
	s := &sources{g.compileParam(t, from.Group, &from.P1), g.compileParam(t, from.Group, &from.P2), newMapping(from.Map)}
	u.sources = s
	if s.p1.from == fromConst && s.p2.from == fromConst {
		u.p1, u.p2 = s.translate(s.p1.value)&u.wide, s.p2.value&u.wide
		u.sources = nil
	}
}

// ref returns the numbers of two compressed keys whose exclusive or is a key, and the key's rotation.
func (g *Groups) ref(t *task, group int, r flymon.Ref) (a, b uint16, left uint8) {
	a, b = g.hashes[group*g.geometry.Units+r.A].sum, noKey
	t.need(a)
	if r.B > 0 {
		b = g.hashes[group*g.geometry.Units+r.B-1].sum
		t.need(b)
	}
	return a, b, (32 - r.Shift) & 31
}

// need adds the slot of a compressed key to those that the task needs.
func (t *task) need(sum uint16) { t.keys |= 1 << (int(sum) / len(flymon.Sums{})) }

func (g *Groups) compileParam(t *task, group int, from *flymon.Param) param {
	p := param{scale: from.Scale, mask: g.geometry.Mask(), of: from.Of}
	switch from.From {
	case flymon.Const:
		p.from, p.value = fromConst, from.Value
	case flymon.Size:
		p.from = fromSize
	case flymon.Timestamp:
		p.from = fromTimestamp
	case flymon.QueueLength:
		p.from = fromQueueLength
	case flymon.QueueDelay:
		p.from = fromQueueDelay
	case flymon.Compressed:
		p.from = fromKey
		p.a, p.b, p.left = g.ref(t, group, from.Key)
		p.mask = ^uint32(0)
		if from.Bits > 0 {
			p.mask >>= 32 - from.Bits
		}
	case flymon.Result:
		p.from = fromResult
	case flymon.Least:
		p.from, p.value = fromLeast, from.Value
		if p.value == 0 {
			p.value = ^uint32(0)
		}
	case flymon.Since:
		p.from = fromSince
	}
	return p
}
