package sketch

import (
	"math"

	"tamtam/tam/libm"
)

// CouponsDrawn estimates the number of distinct elements from the number of collected coupons, where an element draws
// each with probability p. It returns the number that a coupon collector needs on average. It has no bias as long as
// all coupons are hardly ever collected. With all collected the true number is about that or more.
func CouponsDrawn(collected, coupons int, p float64) float64 {
	n := 0.0
	for i := range min(collected, coupons) {
		n += 1 / (p * float64(coupons-i))
	}
	return n
}

// CouponsBounds returns bounds for the number of distinct elements: the numbers for which collected is within z
// standard deviations of its expectation. It uses Wilson's interval of the probability that a coupon is collected, 1 -
// (1-p)^n. The upper bound is infinite if all are collected.
func CouponsBounds(collected, coupons int, p, z float64) (lower, upper float64) {
	m := float64(coupons)
	part := float64(min(collected, coupons)) / m
	middle := (part + z*z/(2*m)) / (1 + z*z/m)
	off := float64(z / (1 + z*z/m) * math.Sqrt(part*(1-part)/m+z*z/(4*m*m)))
	elements := func(part float64) float64 {
		switch {
		case part <= 0:
			return 0
		case p >= 1:
			return 1
		}
		return libm.Log1p(-part) / libm.Log1p(-p)
	}
	lower = math.Max(0, elements(middle-off))
	if collected >= coupons {
		return lower, math.Inf(1)
	}
	return lower, elements(math.Min(middle+off, 1-1e-12))
}
