package answer

import (
	"fmt"
	"math/bits"

	"tamtam/tam/flymon"
	"tamtam/tam/sketch"
)

// A Dump is one bank of a task's registers, and what they are.
type Dump struct {
	Geometry       flymon.Geometry
	Task           flymon.Task
	Layout         flymon.Layout
	Sketch         flymon.Sketch
	Registers      [][]uint32 // by unit of Layout.Units
	Packets, Bytes uint64     // that the task saw
	Ran            uint64     // how long it counted, in ns
}

// A Reading answers.
type Reading struct {
	Dump
	distribution sketch.Distribution               // of MRAC
	counted      bool                              // the distribution is there
	hashes       []*flymon.Compressor              // by group * units + unit; nil: no mask
	inUse        float64                           // what used returns
	decoded      map[flymon.Vector]flymon.Estimate // of Counter Braids, if all flows are known
	loads        []float64                         // of sets: the part of bits that are set, by row
}

// A FlowEstimate is a flow with what was measured of it.
type FlowEstimate struct {
	Flow flymon.Vector
	flymon.Estimate
}

// A Bin is how many flows there are of a size.
type Bin struct {
	Size  uint64
	Flows float64
}

// New checks that a dump is one of its layout.
func New(d Dump) (*Reading, error) {
	if err := d.Geometry.Validate(); err != nil {
		return nil, err
	}
	if err := d.check(); err != nil {
		return nil, fmt.Errorf("task %q: %w", d.Layout.Task, err)
	}
	r := &Reading{Dump: d, hashes: make([]*flymon.Compressor, d.Geometry.All()*d.Geometry.Units)}
	for _, m := range d.Layout.Masks {
		r.hashes[m.Group*d.Geometry.Units+m.Unit] = flymon.NewCompressor(flymon.Poly(m.Group, m.Unit), m.Key)
	}
	r.inUse = r.countUsed()
	switch r.Sketch.Algorithm {
	case flymon.Bloom, flymon.LinearCounting, flymon.OddSketch:
		for _, row := range r.Sketch.Rows {
			// A dump may have bits set that the map never sets: a row is no fuller than full.
			r.loads = append(r.loads, min(1, ones(r.Registers[row[0]])/r.bitsIn(row[0])))
		}
	}
	return r, nil
}

// compressed is a compressed key of a vector in a group.
func (r *Reading) compressed(group int, ref flymon.Ref, v flymon.Vector) uint32 {
	of := r.hashes[group*r.Geometry.Units:]
	c := of[ref.A].Sum(&v)
	if ref.B > 0 {
		c ^= of[ref.B-1].Sum(&v)
	}
	return bits.RotateLeft32(c, -int(ref.Shift))
}

// bucket is the number of a vector's bucket in a unit.
func (r *Reading) bucket(unit int, v flymon.Vector) uint32 {
	u := &r.Layout.Units[unit]
	return u.Translate(r.compressed(u.Group, u.Key, v), uint32(r.Geometry.Depth))
}

// word is a vector's bucket in a unit.
func (r *Reading) word(unit int, v flymon.Vector) uint32 { return r.Registers[unit][r.bucket(unit, v)] }

// scale is by how much the numbers of packets are multiplied: those of a task that sees
// only a share of them.
func (r *Reading) scale() float64 { return float64(uint64(1) << r.Task.Share) }

// flow is the part of a vector that tells flows apart: of the task's key, or where that is
// none of its attribute's.
func (r *Reading) flow(v flymon.Vector) flymon.Vector {
	if r.Task.Key.IsZero() {
		return v.And(r.Task.Attribute.Of)
	}
	return v.And(r.Task.Key)
}

// Load says which part of the buckets is in use, and which is as high as it can be.
func (r *Reading) Load() (load, full float64) {
	n, used, top := 0, 0, 0
	for i, words := range r.Registers {
		most := r.full(i)
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

// full is the value from which on a bucket of a unit tells nothing more.
func (r *Reading) full(unit int) uint32 {
	u := &r.Layout.Units[unit]
	switch {
	case r.Sketch.Algorithm == flymon.BeauCoup:
		return 1<<r.Sketch.Coupons - 1
	case (u.P2.From == flymon.Const || u.P2.From == flymon.Least && u.P2.Value > 0) && u.Op == flymon.CondAdd:
		return max(u.P2.Value&r.Geometry.Mask(), 1)
	}
	return r.Geometry.Mask()
}
