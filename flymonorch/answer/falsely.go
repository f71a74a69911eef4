package answer

import (
	"fmt"
	"math"
	"math/bits"

	"tamtam/tam/flymon"
)

// Falsely returns how many of a number of listed flows of BeauCoup are expected to have fewer distinct elements than the
// threshold; false: the task lists none. Some of those have all coupons by chance, some by the coupons of others.
//
// How many flows there are of which number of elements is estimated from how many coupons the buckets of a row have, by
// expectation maximisation. What begins with few elements in most flows stays so where the coupons do not contradict.
func (r *Reading) Falsely(listed int) (flymon.Estimate, bool) {
	if r.Sketch.Algorithm != flymon.BeauCoup || r.Task.Key.IsZero() {
		return flymon.Estimate{}, false
	}
	if listed == 0 {
		return flymon.Estimate{Confidence: 1, Bound: "no flow is listed"}, true
	}
	byChance, few, others, shared := math.Inf(1), 0.0, 1.0, 1.0
	for _, row := range r.Sketch.Rows {
		f := r.collectors(r.Registers[row[0]])
		byChance, few = min(byChance, f.falsely), max(few, f.few)
		others *= f.full
		shared *= f.load
	}
	e := flymon.Estimate{Value: min(float64(listed), byChance+few*others)}
	e.Bound = fmt.Sprintf("expected of the listed flows, by the coupons of all: those with fewer than %d; no bound is known",
		r.Task.Threshold)
	if r.Task.Share > 0 {
		e.Bound += "; " + r.seen()
	}
	if few := r.Sketch.Coupons < fewCoupons && r.Task.Threshold > 1; few || shared > mostShared {
		e.Saturated = true
		e.Bound += "; coupons are too few, or of too many flows, to tell: it may be any of the list"
	}
	return r.live(e), true
}

// Listed returns the number of flows that are listed because their estimates reach the threshold.
func (r *Reading) Listed(n int) flymon.Estimate {
	e := flymon.Estimate{Value: float64(n), Bound: "flows whose estimate reaches the threshold; no bound is known"}
	if r.Task.Share > 0 {
		e.Bound += "; " + r.seen() + ": others may be missing"
	}
	return e
}

// collectors are the flows of a row of coupons.
type collectors struct {
	falsely float64 // expected number of those that have all coupons and fewer elements than the threshold
	few     float64 // flows with fewer, that have not all
	full    float64 // part of the buckets that have all coupons
	load    float64 // part of the buckets that have any
}

// mostShared is the part of flows with others in all of their buckets from which on the coupons of a bucket say little of
// any one flow.
const mostShared = 0.05

// fewCoupons are so few that they do not tell how many elements a flow has.
const fewCoupons = 3

// collectors estimates the flows of a row.
func (r *Reading) collectors(words []uint32) (f collectors) {
	m, shift := int(r.Sketch.Coupons), r.Sketch.CouponShift
	buckets := make([]float64, m+1) // by coupons
	for _, w := range words {
		buckets[bits.OnesCount32(w&(1<<m-1))]++
	}
	f.full, f.load = buckets[m]/float64(len(words)), 1-buckets[0]/float64(len(words))
	if buckets[0] == float64(len(words)) {
		return f
	}
	sizes := couponSizes(r.Task.Threshold)
	chances := make([][]float64, len(sizes))
	some := make([]float64, len(sizes)) // that a flow of a size has a coupon
	count := make([]float64, len(sizes))
	for i, n := range sizes {
		chances[i] = flymon.Collected(uint8(m), shift, n)
		some[i] = 1 - chances[i][0]
		count[i] = some[i] / float64(n) // by size, as many flows from n to 2n as from 2n to 4n
	}
	const rounds = 100
	for range rounds {
		next := make([]float64, len(sizes))
		for c := 1; c <= m; c++ {
			if buckets[c] == 0 {
				continue
			}
			all := 0.0
			for i := range sizes {
				all += count[i] * chances[i][c] / some[i]
			}
			for i := range sizes {
				next[i] += buckets[c] * count[i] * chances[i][c] / some[i] / all
			}
		}
		count = next
	}
	for i, n := range sizes {
		if n < r.Task.Threshold {
			f.few += count[i] * (1 - chances[i][m]) / some[i]
			f.falsely += count[i] * chances[i][m] / some[i]
		}
	}
	return f
}

// couponSizes returns numbers of elements that are told apart: all small ones, the last below the threshold, and so on
// in steps of an eighth to four times the threshold.
func couponSizes(threshold uint64) (sizes []uint64) {
	for n := uint64(1); n < threshold; n += 1 + n/8 {
		sizes = append(sizes, n)
	}
	if last := threshold - 1; last > 0 && sizes[len(sizes)-1] != last {
		sizes = append(sizes, last)
	}
	for n := max(threshold, 1); n <= 4*threshold; n += 1 + n/8 {
		sizes = append(sizes, n)
	}
	return sizes
}
