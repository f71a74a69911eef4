package sketch

import "math"

// CouponsDrawn estimates how many distinct elements there were when collected of coupons are there,
// each drawn by an element with probability p: the number after which a coupon collector has that
// many on average. It has no bias as long as all are hardly ever collected; with all collected
// there were about that many or more.
func CouponsDrawn(collected, coupons int, p float64) float64 {
	n := 0.0
	for i := range min(collected, coupons) {
		n += 1 / (p * float64(coupons-i))
	}
	return n
}

// CouponsBounds are about which numbers of distinct elements collected of coupons are
// within z standard deviations of what is expected: Wilson's interval of the chance that a
// coupon is there, 1 - (1-p)^n. The upper one is infinite with all collected.
func CouponsBounds(collected, coupons int, p, z float64) (lower, upper float64) {
	m := float64(coupons)
	part := float64(min(collected, coupons)) / m
	middle := (part + z*z/(2*m)) / (1 + z*z/m)
	off := z / (1 + z*z/m) * math.Sqrt(part*(1-part)/m+z*z/(4*m*m))
	elements := func(part float64) float64 {
		switch {
		case part <= 0:
			return 0
		case p >= 1:
			return 1
		}
		return math.Log1p(-part) / math.Log1p(-p)
	}
	lower = math.Max(0, elements(middle-off))
	if collected >= coupons {
		return lower, math.Inf(1)
	}
	return lower, elements(math.Min(middle+off, 1-1e-12))
}
