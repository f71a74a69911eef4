package answer

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"tamtam/tam/flymon"
	"tamtam/tam/libm"
	"tamtam/tam/sketch"
)

// Flow returns the answer for a flow of the task's key, or for an element of its attribute's key if the task has none.
func (r *Reading) Flow(v flymon.Vector) flymon.Estimate { return r.live(r.ofFlow(v)) }

// ofFlow returns the answer for a flow from the counts.
func (r *Reading) ofFlow(v flymon.Vector) flymon.Estimate {
	switch r.Sketch.Algorithm {
	case flymon.CounterBraids:
		if e, ok := r.braided(v); ok {
			return e
		}
		return r.count(v)
	case flymon.CMS, flymon.SuMaxSum, flymon.MRAC, flymon.Tower:
		return r.count(v)
	case flymon.SuMaxMax:
		return r.atLeast(r.greatest(v))
	case flymon.MaxInterArr:
		return r.longest(v)
	case flymon.BeauCoup:
		return r.atLeast(r.coupons(v))
	case flymon.Bloom, flymon.LinearCounting:
		return r.atLeast(r.member(v))
	}
	return flymon.Estimate{Bound: fmt.Sprintf("%s answers for all packets, not for a flow", r.Sketch.Algorithm)}
}

// count returns a flow's packets or bytes: the least of its counters. A full counter is only a lower bound.
func (r *Reading) count(v flymon.Vector) flymon.Estimate {
	var counters [flymon.MaxGroups]sketch.Counter
	rows := counters[:0]
	for i, row := range r.Sketch.Rows {
		rows = append(rows, r.counter(i, row, v))
	}
	n, known := sketch.CountMin(rows)
	if !known {
		e := r.bounded(float64(n))
		e.Upper, e.Saturated, e.Bound = math.Inf(1), true,
			e.Bound+"; the counters are full: as many or more, of all flows in them"
		return e
	}
	return r.bounded(float64(n))
}

// bounded returns a count with the bounds of count-min and of sampling.
func (r *Reading) bounded(least float64) flymon.Estimate {
	e := flymon.Estimate{Value: least * r.scale()}
	total, unit := float64(r.Packets), 1.0
	if r.Task.Attribute.Kind == flymon.Bytes {
		total, unit = float64(r.Bytes), maxFrame
	}
	excess, rows, width := r.excess(least, total)
	e.Upper, e.Lower, e.Confidence = e.Value, math.Max(0, e.Value-float64(excess*r.scale())), 1-libm.Pow(2, -float64(rows))
	e.Bound = fmt.Sprintf("count-min: never too low, too high by more than 2 of %.0f in %d with probability 2^-%d",
		total, width, rows)
	return r.sampled(e, unit)
}

// excess returns the maximum excess of a count, by count-min over a number of rows of a width. For large counts of
// Counter Braids the second layer is decisive, which combines more buckets of the first. A row of a tower does not help
// if its counters end below the count plus its excess, because it would be full even without noise.
func (r *Reading) excess(least, total float64) (excess float64, rows, width int) {
	first := r.Sketch.Rows[0]
	width = int(r.Layout.Units[first[0]].Size)
	if r.Sketch.Algorithm == flymon.CounterBraids && least >= float64(uint64(1)<<r.Sketch.Bits[0]-1) {
		width = int(r.Layout.Units[first[1]].Size)
	}
	rows = len(r.Sketch.Rows)
	excess, _ = sketch.CountMinExcess(total, width, rows)
	if r.Sketch.Algorithm == flymon.Tower {
		most := slices.Max(r.Sketch.Bits)
		rows = 0
		for _, b := range r.Sketch.Bits {
			if b == most || float64(uint64(1)<<b-1) > least+excess {
				rows++
			}
		}
	}
	return excess, rows, width
}

// counter returns the counter of a flow in a row.
func (r *Reading) counter(i int, row []int, v flymon.Vector) sketch.Counter {
	word := r.word(row[0], v)
	switch r.Sketch.Algorithm {
	case flymon.Tower:
		width := int(r.Sketch.Bits[i])
		n := uint64(word >> (r.Geometry.Width - width))
		return sketch.Counter{Value: n, Full: n == 1<<width-1}
	case flymon.CounterBraids:
		width := int(r.Sketch.Bits[0])
		n := uint64(word >> (r.Geometry.Width - width))
		if n < 1<<width-1 {
			return sketch.Counter{Value: n}
		}
		more := r.word(row[1], v)
		return sketch.Counter{Value: n + uint64(more), Full: more == r.Geometry.Mask()}
	}
	return sketch.Counter{Value: uint64(word), Full: word >= r.full(row[0])}
}

// greatest returns a flow's maximum: the least of its rows.
func (r *Reading) greatest(v flymon.Vector) flymon.Estimate {
	least := uint64(math.MaxUint64)
	for _, row := range r.Sketch.Rows {
		least = min(least, uint64(r.word(row[0], v)))
	}
	e := flymon.Estimate{Value: float64(least << r.Sketch.Scale), Saturated: least == uint64(r.Geometry.Mask())}
	// A row without another flow in the bucket is exact. SuMax is never too low.
	clean := libm.Pow(r.used(), float64(len(r.Sketch.Rows)))
	step := float64(uint64(1)<<r.Sketch.Scale) - 1
	e.Lower, e.Upper, e.Confidence = e.Value, e.Value+step, math.Max(0, 1-clean)
	e.Bound = fmt.Sprintf("exact to %.0f unless other flows are in all %d of its buckets", step+1, len(r.Sketch.Rows))
	switch {
	case e.Confidence < leastChance && e.Saturated:
		return unknown(e, "the buckets are full, and other flows are in nearly all of them")
	case e.Confidence < leastChance:
		e.Lower, e.Confidence, e.Bound = 0, 1, "never too little; other flows are in nearly all buckets"
	}
	if e.Saturated {
		e.Upper, e.Bound = math.Inf(1), e.Bound+"; the buckets are full: as much or more"
	}
	return e
}

// used returns the fraction of buckets in use, in a unit of the first row that every flow marks. For Counter Braids
// that is the first layer, for intervals the last arrival.
func (r *Reading) used() float64 { return r.inUse }

// countUsed counts the buckets in use. It runs only once, because a study queries a hundred thousand flows.
func (r *Reading) countUsed() float64 {
	unit := r.Sketch.Rows[0][0]
	if r.Sketch.Algorithm == flymon.MaxInterArr {
		unit = r.Sketch.Rows[0][lastArrival]
	}
	words := r.Registers[unit]
	n := 0
	for _, w := range words {
		if w != 0 {
			n++
		}
	}
	return float64(n) / float64(len(words))
}

// coupons returns the number of distinct values of a flow, from the coupons that all of its tables have collected.
func (r *Reading) coupons(v flymon.Vector) flymon.Estimate {
	all := uint32(1)<<r.Sketch.Coupons - 1
	for _, row := range r.Sketch.Rows {
		all &= r.word(row[0], v)
	}
	return r.collected(bits.OnesCount32(all))
}

func (r *Reading) collected(n int) flymon.Estimate {
	m, p := int(r.Sketch.Coupons), math.Ldexp(1, -int(r.Sketch.CouponShift))
	e := flymon.Estimate{Value: sketch.CouponsDrawn(n, m, p), Confidence: 0.95}
	e.Lower, e.Upper = sketch.CouponsBounds(n, m, p, 2)
	e.Lower, e.Upper = math.Min(e.Lower, e.Value), math.Max(e.Upper, e.Value)
	e.Bound = fmt.Sprintf("%d of %d coupons, each drawn with probability 2^-%d: two standard deviations of their number",
		n, m, r.Sketch.CouponShift)
	if n == m { // all coupons show that a flow reached the threshold
		e.Value = math.Max(e.Value, float64(r.Task.Threshold))
		e.Upper, e.Saturated, e.Bound = math.Inf(1), true, e.Bound+"; as many or more"
	}
	return e
}

// member returns 1 for an element that may be in the set, else 0.
func (r *Reading) member(v flymon.Vector) flymon.Estimate {
	e := flymon.Estimate{Value: 1, Upper: 1}
	for _, row := range r.Sketch.Rows {
		if unit := row[0]; r.word(unit, v)&r.bit(unit, v) == 0 {
			e.Value = 0
		}
	}
	if e.Value == 0 {
		return flymon.Estimate{Confidence: 1, Bound: "no member is missed"}
	}
	e.Confidence = 1 - sketch.BloomFalsePositive(r.loads)
	e.Lower, e.Saturated = 1, e.Confidence < 0.5
	e.Bound = "another element has all its bits set with the product of the rows' loads as probability"
	return e
}

func ones(words []uint32) float64 {
	n := 0
	for _, w := range words {
		n += bits.OnesCount32(w)
	}
	return float64(n)
}
