package sketching

import (
	"fmt"
	"math"

	"tamtam/tam/libm"
)

// falseAlarm is the probability that any value of a whole run is outside of its bounds although all assumptions of the
// theory hold.
const falseAlarm = 1e-6

// An alarm is -ln of the probability with which a value may cross a bound. It is the same for every bound of a run.
type alarm float64

// alarmOf divides falseAlarm among a number of values, each with a bound on both sides.
func alarmOf(values int) alarm { return alarm(libm.Log(2 * float64(max(1, values)) / falseAlarm)) }

// words returns a text about how often a run crosses a bound by chance.
func (l alarm) words() string {
	return fmt.Sprintf("bounds are crossed by chance in at most one of %.0f runs: each with a probability of %.1g",
		1/falseAlarm, libm.Exp(-float64(l)))
}

// deviation returns a bound on the distance of a sum from its mean, by Bernstein's inequality. It needs the variance,
// and the maximum distance of each independent summand from its mean. Unlike a number of standard deviations this also
// holds for sums of a small number of rare events.
func (l alarm) deviation(variance, most float64) float64 {
	if variance <= 1e-6 {
		return 0
	}
	a := float64(l) * most / 3
	return a + math.Sqrt(float64(a*a)+float64(2*float64(l)*variance))
}

// above returns a number that a variable exceeds with a probability of at most e^-l. It is Chernoff's bound, from the
// logarithm of the variable's moment generating function. The bound holds for each rate. The function searches the rate
// with the smallest bound, which is the only minimum.
func (l alarm) above(logMoment func(rate float64) float64) float64 {
	at := func(exponent float64) float64 {
		rate := libm.Exp2(exponent)
		if x := (logMoment(rate) + float64(l)) / rate; !math.IsNaN(x) {
			return x
		}
		return math.Inf(1)
	}
	from, to := -60.0, 60.0
	for to-from > 0.02 {
		a, b := (2*from+to)/3, (from+2*to)/3
		if at(a) <= at(b) {
			to = b
		} else {
			from = a
		}
	}
	return at((from + to) / 2)
}

// below returns a number that the variable falls below with a probability of at most e^-l. It is the counterpart of
// above.
func (l alarm) below(logMoment func(rate float64) float64) float64 {
	return -l.above(func(rate float64) float64 { return logMoment(-rate) })
}

// weighted is a value of a variable with its probability.
type weighted struct{ value, chance float64 }

// logMoments returns ln E e^(rate X) for the sum of n variables that have these values.
func logMoments(n float64, values []weighted) func(rate float64) float64 {
	return func(rate float64) float64 {
		most := math.Inf(-1)
		for _, v := range values {
			if v.chance > 0 {
				most = max(most, rate*v.value)
			}
		}
		sum := 0.0
		for _, v := range values {
			sum += float64(v.chance * libm.Exp(float64(rate*v.value)-most))
		}
		return n * (most + libm.Log(sum))
	}
}

// hyperLogLog returns bounds of the estimate of n elements by HyperLogLog. It has m buckets that keep strings of width
// bits, and Ertl's estimator m^2 / (2 ln 2 Z). Z is a sum over the buckets: 2^-rank, and additional terms for empty and
// full ones.
//
// The numbers of elements in the buckets are negatively associated, and the term of a bucket decreases with its
// elements. So the moments of Z are at most those of independent buckets, each with a binomial number of elements.
func (l alarm) hyperLogLog(n, m float64, width int) (lower, upper float64) {
	atMost := func(rank int) float64 { // the probability that a bucket has at most this rank
		above := libm.Exp2(-float64(rank))
		switch {
		case rank == 0: // a string of zeros leaves no rank
			above = 1 - libm.Exp2(-float64(width))
		case rank > width:
			return 1
		}
		return libm.Exp(n * libm.Log1p(-above/m))
	}
	buckets := func(empty, full float64) []weighted {
		list := []weighted{{empty, atMost(0)}}
		for rank := 1; rank <= width; rank++ {
			list = append(list, weighted{libm.Exp2(-float64(rank)), atMost(rank) - atMost(rank-1)})
		}
		return append(list, weighted{full, 1 - atMost(width)})
	}
	estimate := func(z float64) float64 { return m * m / (2 * math.Ln2 * z) }
	upper = math.Inf(1)
	if z := l.below(logMoments(m, buckets(1, 0))); z > 0 {
		upper = estimate(z)
	}
	// The term for x empty buckets of m is sigma(x/m) m, which is convex. Each full bucket adds at most a third of
	// 2^-width.
	half := l + math.Ln2 // there are two ways to be too low
	empty := half.above(logMoments(m, []weighted{{0, 1 - atMost(0)}, {1, atMost(0)}})) / m
	if empty >= 1 {
		return 0, upper
	}
	sigma, x, y := empty, empty, 1.0
	for more := 1.0; more > 1e-12*sigma; y *= 2 {
		x *= x
		more = float64(x * y)
		sigma += more
	}
	return estimate(half.above(logMoments(m, buckets(sigma/empty, libm.Exp2(-float64(width))/3)))), upper
}

// linearCounting returns bounds of the estimate of n elements in m bits. Empty bits are negatively associated, so the
// moments of their number are at most those of independent bits.
func (l alarm) linearCounting(n, m float64) (lower, upper float64) {
	empty := libm.Exp(n * libm.Log1p(-1/m))
	moments := logMoments(m, []weighted{{0, 1 - empty}, {1, empty}})
	estimate := func(zero float64) float64 { return -m * libm.Log(min(m, zero)/m) }
	upper = math.Inf(1)
	if least := l.below(moments); least >= 1 {
		upper = estimate(least)
	}
	return estimate(l.above(moments)), upper
}
