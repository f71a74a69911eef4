package answer

import (
	"fmt"
	"slices"

	"tamtam/tam/flymon"
	"tamtam/tam/sketch"
)

// A Dump holds one bank of a task's registers, and what the registers mean.
type Dump struct {
	Geometry       flymon.Geometry
	Task           flymon.Task
	Layout         flymon.Layout
	Sketch         flymon.Sketch
	Registers      [][]uint32 // registers by unit of Layout.Units
	Packets, Bytes uint64     // numbers of packets and bytes that the task counted
	Ran            uint64     // time for which the task counted, in ns
}

// A Reading computes answers from a dump.
type Reading struct {
	buckets
	distribution sketch.Distribution               // distribution by MRAC
	counted      bool                              // true if distribution is valid
	inUse        float64                           // result of countUsed
	full0        bool                              // true if a bucket of the first row is full
	decoded      map[flymon.Vector]flymon.Estimate // decoded flows of Counter Braids, if all flows are known
	loads        []float64                         // for sketches of sets, the fraction of bits that are 1, by row
}

// A FlowEstimate is a flow with its estimate.
type FlowEstimate struct {
	Flow flymon.Vector
	flymon.Estimate
}

// A Bin is the number of flows of a size.
type Bin struct {
	Size  uint64
	Flows float64
}

// New returns a reading of a dump. It returns an error if the dump does not match its layout.
func New(d Dump) (*Reading, error) {
	if err := d.Geometry.Validate(); err != nil {
		return nil, err
	}
	if err := d.check(); err != nil {
		return nil, fmt.Errorf("task %q: %w", d.Layout.Task, err)
	}
	hashes := make([]*flymon.Compressor, d.Geometry.All()*d.Geometry.Units)
	compressors := map[flymon.Key]*flymon.Compressor{}
	for _, m := range d.Layout.Masks {
		if compressors[m.Key] == nil {
			compressors[m.Key] = flymon.NewCompressor(m.Key)
		}
		hashes[m.Group*d.Geometry.Units+m.Unit] = compressors[m.Key]
	}
	r := &Reading{buckets: buckets{d, hashes}}
	r.inUse = r.countUsed()
	first := r.Sketch.Rows[0][0]
	r.full0 = slices.Max(r.Registers[first]) >= r.full(first)
	switch r.Sketch.Algorithm {
	case flymon.Bloom, flymon.LinearCounting, flymon.OddSketch:
		for _, row := range r.Sketch.Rows {
			// A dump may have bits that the map never sets, but a row cannot be more than full.
			r.loads = append(r.loads, min(1, ones(r.Registers[row[0]])/r.bitsIn(row[0])))
		}
	}
	return r, nil
}

// scale returns the factor for packet counts of a task that counts only a share of the packets.
func (r *Reading) scale() float64 { return float64(uint64(1) << r.Task.Share) }

// flow returns the part of a vector that distinguishes flows: by the task's key, or by its attribute's key if the task
// has none.
func (r *Reading) flow(v flymon.Vector) flymon.Vector {
	if r.Task.Key.IsZero() {
		return v.And(r.Task.Attribute.Of)
	}
	return v.And(r.Task.Key)
}
