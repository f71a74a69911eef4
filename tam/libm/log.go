package libm

import "math"

// Log returns the natural logarithm, with an error below 1 ulp. It is NaN for negative numbers, and -Inf for 0.
func Log(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 1) {
		return math.Log(x) // exact
	}
	fraction, exponent := math.Frexp(x)
	if fraction < math.Sqrt2/2 {
		fraction *= 2
		exponent--
	}
	f, k := fraction-1, float64(exponent)
	s := f / (2 + f)
	s2 := float64(s * s)
	s4 := float64(s2 * s2)
	odd := float64(s2 * (l1 + float64(s4*(l3+float64(s4*(l5+float64(s4*l7)))))))
	even := float64(s4 * (l2 + float64(s4*(l4+float64(s4*l6)))))
	half := float64(0.5 * f * f)
	return float64(k*ln2Hi) - ((half - (float64(s*(half+(odd+even))) + float64(k*ln2Lo))) - f)
}

// The coefficients of Remez' approximation of log((1+s)/(1-s)).
const (
	l1 = 6.666666666666735130e-01
	l2 = 3.999999999940941908e-01
	l3 = 2.857142874366239149e-01
	l4 = 2.222219843214978396e-01
	l5 = 1.818357216161805012e-01
	l6 = 1.531383769920937332e-01
	l7 = 1.479819860511658591e-01
)

// Log2 returns the logarithm to base 2. It is exact for powers of two; the error is below 1 ulp of the larger of 1 and
// the result.
func Log2(x float64) float64 {
	fraction, exponent := math.Frexp(x)
	if fraction == 0.5 {
		return float64(exponent - 1)
	}
	return float64(Log(fraction)*(1/math.Ln2)) + float64(exponent)
}

// Log10 returns the logarithm to base 10, with an error below 2 ulp.
func Log10(x float64) float64 { return Log(x) * (1 / math.Ln10) }

// Log1p returns log(1+x), with an error below 1 ulp also if x is nearly 0.
func Log1p(x float64) float64 {
	const small, tiny = 1.0 / (1 << 29), 1.0 / (1 << 54)
	switch {
	case !(x > -1) || math.IsInf(x, 1):
		return math.Log1p(x) // exact
	case math.Abs(x) < tiny:
		return x
	case math.Abs(x) < small:
		return x - float64(x*x*0.5)
	}
	f, c, k := x, 0.0, 0.0 // 1+x is 2^k (1+f), and c its relative error
	if x <= math.Sqrt2/2-1 || x >= math.Sqrt2-1 {
		f, c, k = reduced(x)
	}
	half := float64(0.5 * f * f)
	s := f / (2 + f)
	z := float64(s * s)
	r := l7
	for _, l := range [...]float64{l6, l5, l4, l3, l2, l1} {
		r = l + float64(z*r)
	}
	r = float64(r * z)
	if k == 0 {
		return f - (half - float64(s*(half+r)))
	}
	return float64(k*ln2Hi) - ((half - (float64(s*(half+r)) + (float64(k*ln2Lo) + c))) - f)
}

// reduced returns f, c and k with 1+x = 2^k (1+f), and c the relative error of the rounded 1+x.
func reduced(x float64) (f, c, k float64) {
	u := x
	if x < 1<<53 {
		u = 1 + x
		if c = x - (u - 1); u >= 2 {
			c = 1 - (u - x)
		}
		c /= u
	}
	fraction, exponent := math.Frexp(u)
	if 2*fraction < math.Sqrt2 {
		return 2*fraction - 1, c, float64(exponent - 1)
	}
	return fraction - 1, c, float64(exponent)
}

// LogFactorial returns the logarithm of n!, with an error below 2 ulp. n is not negative.
func LogFactorial(n int) float64 {
	if n < 7 {
		product := 1
		for i := 2; i <= n; i++ {
			product *= i
		}
		return Log(float64(product))
	}
	// Stirling's series of log gamma(n+1)
	x := float64(n) + 1
	z := 1 / x
	y := float64(z * z)
	w := -1.63092934096575273989e-03
	for _, c := range [...]float64{8.36339918996282139126e-04, -5.95187557450339963135e-04, 7.93650558643019558500e-04,
		-2.77777777728775536470e-03, 8.33333333333329678849e-02} {
		w = c + float64(y*w)
	}
	w = 4.18938533204672725052e-01 + float64(z*w)
	return float64((x-0.5)*(Log(x)-1)) + w
}
