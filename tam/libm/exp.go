package libm

import "math"

// ln2Hi and ln2Lo add up to ln 2. The product of ln2Hi and an exponent is exact.
const (
	ln2Hi = 6.93147180369123816490e-01
	ln2Lo = 1.90821492927058770002e-10
)

// mostExp is the largest number whose exponential is finite.
const mostExp = 7.09782712893383973096e+02

// Exp returns e^x, with an error below 2 ulp. It is +Inf above 709.78, and 0 below -745.13.
func Exp(x float64) float64 {
	// ln 2, with an upper half of other length than ln2Hi
	const upper, lower = 0.69314718055966295651160180568695068359375, 0.28235290563031577122588448175013436025525412068e-12
	switch {
	case math.IsNaN(x):
		return x
	case x > mostExp:
		return math.Inf(1)
	case x < -746:
		return 0
	}
	k := math.RoundToEven(math.Log2E * x)
	r := math.FMA(-k, lower, math.FMA(-k, upper, x)) / 16
	p := 2.4801587301587301587e-5 // Taylor's series of (e^r - 1) / r
	for _, c := range [...]float64{1.9841269841269841270e-4, 1.3888888888888888889e-3, 8.3333333333333333333e-3,
		4.1666666666666666667e-2, 1.6666666666666666667e-1, 0.5, 1} {
		p = math.FMA(p, r, c)
	}
	r = float64(r * p)
	for range 3 {
		r = float64(r * (r + 2)) // e^2r - 1
	}
	return math.Ldexp(math.FMA(r, r+2, 1), int(k))
}

// Exp2 returns 2^x, with an error below 2 ulp. It is exact for whole numbers.
func Exp2(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return x
	case x >= 1024:
		return math.Inf(1)
	case x < -1075:
		return 0
	}
	k := math.Trunc(x + math.Copysign(0.5, x))
	t := x - k
	hi, lo := float64(t*ln2Hi), float64(-t*ln2Lo)
	r := hi - lo
	t = float64(r * r)
	c := 4.13813679705723846039e-08
	for _, p := range [...]float64{-1.65339022054652515390e-06, 6.61375632143793436117e-05, -2.77777777770155933842e-03,
		1.66666666666666657415e-01} {
		c = p + float64(t*c)
	}
	c = r - float64(t*c)
	return math.Ldexp(1-((lo-float64(r*c)/(2-c))-hi), int(k))
}

// Expm1 returns e^x - 1, with an error below 1 ulp also if x is nearly 0.
func Expm1(x float64) float64 {
	switch {
	case math.IsNaN(x) || math.Abs(x) < 1.0/(1<<54):
		return x
	case x > mostExp:
		return math.Inf(1)
	case x <= -56*math.Ln2:
		return -1
	}
	// x is k ln 2 + r, and c the error of r.
	k, r, c := 0, x, 0.0
	if math.Abs(x) > math.Ln2/2 {
		if k = int(math.Copysign(1, x)); math.Abs(x) >= 1.5*math.Ln2 {
			k = int(float64(math.Log2E*x) + math.Copysign(0.5, x))
		}
		hi, lo := x-float64(float64(k)*ln2Hi), float64(float64(k)*ln2Lo)
		r = hi - lo
		c = (hi - r) - lo
	}
	half := float64(0.5 * r)
	square := float64(r * half)
	q := -2.01099218183624371326e-07
	for _, p := range [...]float64{4.00821782732936239552e-06, -7.93650757867487942473e-05, 1.58730158725481460165e-03,
		-3.33333333333331316428e-02, 1} {
		q = p + float64(square*q)
	}
	t := 3 - float64(q*half)
	e := float64(square * ((q - t) / (6 - float64(r*t))))
	if k == 0 {
		return r - (float64(r*e) - square)
	}
	e = (float64(r*(e-c)) - c) - square
	switch {
	case k == -1:
		return float64(0.5*(r-e)) - 0.5
	case k == 1 && r < -0.25:
		return -2 * (e - (r + 0.5))
	case k == 1:
		return 1 + float64(2*(r-e))
	case k <= -2 || k > 56:
		return math.Ldexp(1-(e-r), k) - 1
	case k < 20:
		return math.Ldexp((1-math.Ldexp(1, -k))-(e-r), k)
	}
	return math.Ldexp((r-(e+math.Ldexp(1, -k)))+1, k)
}

// Pow returns x^y, with an error below 4 + 2|y| + |log x| ulp. Special values are those of package math.
func Pow(x, y float64) float64 {
	whole, fraction := math.Modf(math.Abs(y))
	if fraction == 0 || fraction == 0.5 && whole == 0 || !(x > 0) || math.IsInf(x, 1) || math.IsNaN(y) {
		return math.Pow(x, y) // products only, a square root, or a special value
	}
	if fraction > 0.5 {
		fraction--
		whole++
	}
	// The result is product 2^exponent, and square 2^power is x^1, x^2, x^4, ...
	product, exponent := Exp(fraction*Log(x)), 0
	square, power := math.Frexp(x)
	for i := uint64(whole); i != 0; i >>= 1 {
		if power < -1<<12 || power > 1<<12 { // the result is 0 or infinite
			exponent += power
			break
		}
		if i&1 == 1 {
			product *= square
			exponent += power
		}
		square *= square
		power *= 2
		if square < 0.5 {
			square *= 2
			power--
		}
	}
	if y < 0 {
		return math.Ldexp(1/product, -exponent)
	}
	return math.Ldexp(product, exponent)
}
