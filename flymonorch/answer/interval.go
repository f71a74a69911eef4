package answer

import (
	"fmt"
	"math"

	"tamtam/tam/flymon"
	"tamtam/tam/libm"
)

// Units of an instance of max-interval.
const (
	lastArrival     = 1
	longestInterval = 2
)

// longest returns the longest time between two packets of a flow in ns, which is the least of the instances. A flow
// that shares the bucket of its last arrival has shorter intervals, those to the other flow's packets. It also has one
// interval too many if the Bloom filter mistakes it for known. A flow that shares the bucket of the longest interval
// has the longer one of both. So the answer is exact if the flow shares the first bucket in no instance, and is alone
// in the second in at least one. Let a be the probability that a bucket is not shared. For d instances the answer is
// exact with probability a^d (1 - (1-a)^d).
//
// Arrivals are truncated to units, so a difference of two is off by less than a unit. In addition, the time 0 is stored
// as 1, which makes one interval a unit longer or another one shorter. Together this is less than two units.
func (r *Reading) longest(v flymon.Vector) flymon.Estimate {
	instances := float64(len(r.Sketch.Rows))
	unit := float64(uint64(1) << r.Sketch.Scale)
	most := r.longestPossible()
	least, impossible := math.Inf(1), false
	for _, row := range r.Sketch.Rows {
		interval := float64(float64(r.word(row[longestInterval], v)) * unit)
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
	exact := libm.Pow(alone, instances) * (1 - libm.Pow(1-alone, instances))
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
		// An interval that is longer than a turn of the clock is stored modulo the turn, so the result is still a lower
		// bound.
		e.Upper, e.Saturated = math.Inf(1), true
		e.Bound += fmt.Sprintf("; it has counted for longer than %.0f s, after which times wrap around: as long or longer",
			turn/1e9)
	}
	return e
}

// longestPossible returns the maximum length of an interval: the epoch. It is infinite for a task without epochs, or
// one that is read while it counts.
func (r *Reading) longestPossible() float64 {
	if r.Task.Epoch == 0 || r.Task.Live {
		return math.Inf(1)
	}
	return float64(r.Task.Epoch)
}
