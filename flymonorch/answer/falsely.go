package answer

import (
	"fmt"
	"math/bits"

	"tamtam/tam/flymon"
)

// Falsely returns the expected number of listed flows of BeauCoup that have fewer distinct elements than the threshold.
// It returns false if the task lists no flows. Some of these flows have all coupons by chance, and some because of the
// coupons of other flows.
//
// The number of flows of each size (number of elements) is estimated by expectation maximisation, from the number of
// coupons in the buckets of a row. The initial distribution has few elements in most flows, and remains so unless the
// coupons contradict it.
func (r *Reading) Falsely(listed int) (flymon.Estimate, bool) {
	if r.Sketch.Algorithm != flymon.BeauCoup || r.Task.Key.IsZero() || r.Task.Threshold == 0 {
		return flymon.Estimate{}, false
	}
	if listed == 0 {
		return flymon.Estimate{Confidence: 1, Bound: "no flow is listed"}, true
	}
	f := r.collectors()
	e := flymon.Estimate{Value: min(float64(listed), f.falsely+float64(f.below*f.full))}
	e.Bound = fmt.Sprintf(
		"expected of the listed flows, by the coupons of all: those with fewer than %d; no bound is known", r.Task.Threshold)
	if r.Task.Share > 0 {
		e.Bound += "; " + r.seen()
	}
	if few := r.Sketch.Coupons < minCoupons && r.Task.Threshold > 1; few || f.shared > mostShared {
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

// collectors contains estimates about the flows of a task that collect coupons.
type collectors struct {
	falsely float64 // expected number of flows with all coupons and fewer elements than the threshold
	below   float64 // expected number of flows with fewer elements than the threshold and without all coupons
	full    float64 // fraction of flows whose buckets are all completed by other flows
	shared  float64 // fraction of flows that share all of their buckets with other flows
}

// mostShared is the maximum of shared. Above it, the coupons of a bucket are little evidence about a single flow.
const mostShared = 0.05

// minCoupons is a limit: fewer coupons are not sufficient to determine the number of elements of a flow.
const minCoupons = 3

// collectors estimates the flows from the coupons in buckets. The result is an average of all rows.
func (r *Reading) collectors() collectors {
	m, shift := int(r.Sketch.Coupons), r.Sketch.CouponShift
	buckets := make([]float64, m+1) // number of buckets for each number of coupons
	f := collectors{full: 1, shared: 1}
	for _, row := range r.Sketch.Rows {
		full, used, words := 0.0, 0.0, r.Registers[row[0]]
		for _, w := range words {
			c := bits.OnesCount32(w & (1<<m - 1))
			buckets[c] += 1 / float64(len(r.Sketch.Rows))
			if c > 0 {
				used++
			}
			if c == m {
				full++
			}
		}
		f.full *= full / float64(len(words))
		f.shared *= used / float64(len(words))
	}
	sizes := couponSizes(r.Task.Threshold)
	chances := make([][]float64, len(sizes))
	some := make([]float64, len(sizes)) // probability that a flow has a coupon, for each size
	count := make([]float64, len(sizes))
	for i, n := range sizes {
		chances[i] = flymon.Collected(uint8(m), shift, n)
		some[i] = 1 - chances[i][0]
		count[i] = some[i] / float64(n) // assumes as many flows with n to 2n elements as with 2n to 4n
	}
	const rounds = 30 // more rounds do not change the result
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
			if all == 0 { // no size results in this many coupons
				continue
			}
			for i := range sizes {
				next[i] += buckets[c] * count[i] * chances[i][c] / some[i] / all
			}
		}
		count = next
	}
	for i, n := range sizes {
		if n < r.Task.Threshold {
			f.below += count[i] * (1 - chances[i][m]) / some[i]
			f.falsely += count[i] * chances[i][m] / some[i]
		}
	}
	return f
}

// couponSizes returns the numbers of elements that are distinguished: all small ones, the last one below the threshold,
// and further ones in steps of an eighth up to four times the threshold.
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
