package answer

import (
	"fmt"
	"math"

	"tamtam/tam/flymon"
)

// Units of an instance of max-interval.
const (
	lastArrival     = 1
	longestInterval = 2
)

// longest is the longest time between two packets of a flow, in ns: the least of the
// instances'. A flow that shares the bucket of its last arrival has shorter intervals, those to
// the other's packets (and one that is its own too much, if the Bloom filter takes it for known); one
// that shares that of the longest has the longer one of both. So the answer is exact if in
// each instance nobody shares the first, and in one nobody the second: with a the chance that a
// bucket is nobody else's, a^d (1 - (1-a)^d) for d instances.
//
// Arrivals are cut off to units, so the difference of two is less than a unit off. Besides, the time 0 is stored as 1,
// which makes one interval a unit longer, or another one shorter: together less than two units.
func (r *Reading) longest(v flymon.Vector) flymon.Estimate {
	instances := float64(len(r.Sketch.Rows))
	unit := float64(uint64(1) << r.Sketch.Scale)
	most := r.longestPossible()
	least, impossible := math.Inf(1), false
	for _, row := range r.Sketch.Rows {
		interval := float64(r.word(row[longestInterval], v)) * unit
		if interval-2*unit >= most {
			impossible = true
			continue
		}
		least = math.Min(least, interval)
	}
	if impossible {
		return flymon.Estimate{
			Value: math.Min(least, most), Saturated: true,
			Bound: "some interval is longer than the epoch: the clock was set, or what was before was not cleared",
		}
	}
	if r.Task.Share > 0 {
		return unknown(flymon.Estimate{Value: math.Min(least, most)},
			r.seen()+", of which intervals may be longer or shorter")
	}
	alone := 1 - r.used()
	exact := math.Pow(alone, instances) * (1 - math.Pow(1-alone, instances))
	if exact < leastChance {
		return unknown(flymon.Estimate{Value: math.Min(least, most)}, "other flows are in nearly all buckets")
	}
	e := flymon.Estimate{
		Value: math.Min(least, most), Lower: math.Max(0, least-2*unit+1), Upper: math.Min(least+2*unit-1, most),
		Confidence: exact,
	}
	e.Bound = fmt.Sprintf("exact to %.0f ns if no other flow has the bucket of its last arrival in any of %.0f "+
		"instances, nor that of its longest interval in one", 2*unit, instances)
	if turn := unit * (float64(r.Geometry.Mask()) - 1); float64(r.Ran) >= turn {
		// What is left of a longer one is shorter: it is a lower bound still.
		e.Upper, e.Saturated = math.Inf(1), true
		e.Bound += fmt.Sprintf("; it has counted for longer than %.0f s, after which times begin anew: as long or longer",
			turn/1e9)
	}
	return e
}

// longestPossible is what no interval is longer than: the epoch. A task that has none, or that
// is read while it counts, may have any.
func (r *Reading) longestPossible() float64 {
	if r.Task.Epoch == 0 || r.Task.Live {
		return math.Inf(1)
	}
	return float64(r.Task.Epoch)
}
