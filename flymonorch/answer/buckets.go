package answer

import (
	"math/bits"

	"tamtam/tam/flymon"
)

// buckets finds the registers of a vector and their values.
type buckets struct {
	Dump
	hashes []*flymon.Compressor // compressors by group * units + unit; nil if the unit has no mask
}

// compressed returns a compressed key of a vector in a group.
func (b *buckets) compressed(group int, ref flymon.Ref, v flymon.Vector) uint32 {
	of := b.hashes[group*b.Geometry.Units:]
	c := of[ref.A].Sum(flymon.PolyNumber(group, ref.A), &v)
	if ref.B > 0 {
		c ^= of[ref.B-1].Sum(flymon.PolyNumber(group, ref.B-1), &v)
	}
	return bits.RotateLeft32(c, -int(ref.Shift))
}

// bucket returns the index of a vector's bucket in a unit.
func (b *buckets) bucket(unit int, v flymon.Vector) uint32 {
	u := &b.Layout.Units[unit]
	return u.Translate(b.compressed(u.Group, u.Key, v), uint32(b.Geometry.Depth))
}

// word returns the value of a vector's bucket in a unit.
func (b *buckets) word(unit int, v flymon.Vector) uint32 { return b.Registers[unit][b.bucket(unit, v)] }

// bit returns the bit of an element in its bucket of a unit.
func (b *buckets) bit(unit int, v flymon.Vector) uint32 {
	u := &b.Layout.Units[unit]
	p := b.compressed(u.Group, u.P1.Key, v)
	if u.P1.Bits > 0 && u.P1.Bits < 32 {
		p &= 1<<u.P1.Bits - 1
	}
	for _, rule := range u.Map {
		if (p^rule.Value)&rule.Mask == 0 {
			return rule.Out
		}
	}
	return 0
}

// bitsIn returns the number of bits of a unit from which an element selects one.
func (b *buckets) bitsIn(unit int) float64 {
	n := len(b.Layout.Units[unit].Map)
	if n == 0 {
		n = 1
	}
	return float64(n) * float64(len(b.Registers[unit]))
}

// Load returns the share of buckets that are in use, and the share that is saturated.
func (b *buckets) Load() (load, full float64) {
	n, used, top := 0, 0, 0
	for i, words := range b.Registers {
		most := b.full(i)
		for _, w := range words {
			n++
			if w != 0 {
				used++
			}
			if w >= most {
				top++
			}
		}
	}
	return float64(used) / float64(n), float64(top) / float64(n)
}

// full returns the lowest value of a saturated bucket in a unit.
func (b *buckets) full(unit int) uint32 {
	u := &b.Layout.Units[unit]
	switch {
	case b.Sketch.Algorithm == flymon.BeauCoup:
		return 1<<b.Sketch.Coupons - 1
	case (u.P2.From == flymon.Const || u.P2.From == flymon.Least && u.P2.Value > 0) && u.Op == flymon.CondAdd:
		return max(u.P2.Value&b.Geometry.Mask(), 1)
	}
	return b.Geometry.Mask()
}
