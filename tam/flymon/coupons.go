package flymon

import (
	"fmt"
	"math"

	"tamtam/tam/libm"
)

// MaxCouponShift is the greatest shift of a coupon, drawn once in 2^24 elements.
const MaxCouponShift = 24

// Coupons returns BeauCoup's configuration for a threshold: the number of coupons, at most most, and the probability
// 2^-shift of drawing each. An element draws at most one coupon, so coupons <= 2^shift. All are collected after a
// random number of distinct elements (the coupon collector's problem).
//
// Among the configurations whose mean is within 16 % of the threshold, Coupons chooses the one with the most coupons,
// because its deviation is smallest. Among equals it chooses the nearest mean. If none is within 16 %, it chooses the
// nearest of all. It returns an error if threshold or most is 0, or if the threshold exceeds what most coupons can
// count.
func Coupons(threshold uint64, most uint8) (coupons, shift uint8, err error) {
	if threshold == 0 || most == 0 {
		return 0, 0, fmt.Errorf("threshold is %d with at most %d coupons, want at least 1 of each", threshold, most)
	}
	const near = 0.16
	best := math.Inf(1)
	for m := uint8(1); m <= most; m++ {
		nearest := math.Inf(1) // least deviation with m coupons
		for s := uint8(0); s <= MaxCouponShift; s++ {
			if uint64(m) > 1<<s {
				continue
			}
			mean, _ := Collector(m, s)
			off := math.Abs(mean/float64(threshold) - 1)
			if off <= near && off < nearest || off > near && off < best {
				coupons, shift, nearest, best = m, s, off, max(off, near)
			}
		}
	}
	if top, _ := Collector(most, MaxCouponShift); float64(threshold) > top {
		return 0, 0, fmt.Errorf("threshold is %d, want at most %.0f: %d coupons of a chance of 2^-%d each",
			threshold, top, most, MaxCouponShift)
	}
	return coupons, shift, nil
}

// Collector returns the mean and the variance of the number of distinct elements that collect all coupons. The i-th
// last coupon is drawn with probability i 2^-shift. coupons may be at most 2^shift, and shift at most 63.
func Collector(coupons, shift uint8) (mean, variance float64) {
	for i := uint8(1); i <= coupons; i++ {
		p := float64(i) / float64(uint64(1)<<shift)
		mean += 1 / p
		variance += (1 - p) / (p * p)
	}
	return mean, variance
}

// Collected returns the probability distribution of the number of coupons, from 0 to all, that distinct elements
// collect. elements is their number. An element draws each coupon with probability 2^-shift. For many elements the
// coupons are treated as independent, which they nearly are.
func Collected(coupons, shift uint8, elements uint64) []float64 {
	m, p := int(coupons), math.Ldexp(1, -int(shift))
	chances := make([]float64, m+1)
	if elements > manyElements {
		q := -libm.Expm1(float64(elements) * libm.Log1p(-p))
		lnM := libm.LogFactorial(m)
		for c := range chances {
			lnChoose := lnM - libm.LogFactorial(c) - libm.LogFactorial(m-c)
			chances[c] = libm.Exp(lnChoose) * libm.Pow(q, float64(c)) * libm.Pow(1-q, float64(m-c))
		}
		return chances
	}
	chances[0] = 1
	for range elements {
		for c := m; c >= 0; c-- {
			chances[c] = float64(chances[c] * (1 - float64(float64(m-c)*p)))
			if c > 0 {
				chances[c] += float64(chances[c-1] * float64(m-c+1) * p)
			}
		}
	}
	return chances
}

// manyElements is the number of elements above which coupons are treated as independent.
const manyElements = 512

// mostNoise is the maximum acceptable probability that a flow with a quarter of the threshold is listed.
const mostNoise = 0.05

// noise returns the probability that a flow with a quarter of the threshold, but at least one element, collects all
// coupons.
func noise(threshold uint64, most uint8) float64 {
	coupons, shift, err := Coupons(threshold, most)
	if err != nil || threshold == 1 {
		return 0
	}
	return Collected(coupons, shift, max(1, threshold/4))[coupons]
}

// CheckCoupons returns an error if the coupons for the threshold are too few: most listed flows would then be far below
// the threshold. A flow is listed when it has all coupons.
func CheckCoupons(threshold uint64, most uint8) error {
	p := noise(threshold, most)
	if p <= mostNoise {
		return nil
	}
	lower, higher := threshold-1, threshold+1
	for noise(lower, most) > mostNoise {
		lower--
	}
	for noise(higher, most) > mostNoise {
		higher++
	}
	return fmt.Errorf("threshold is %d, want %d or %d: its coupons would list a flow of %d distinct values with a "+
		"probability of %.0f %%", threshold, lower, higher, max(1, threshold/4), 100*p)
}
