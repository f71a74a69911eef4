package sketching

import (
	"fmt"
	"math"
)

// falseAlarm is the probability with which any value of a whole run is outside of its bounds though all is as theory
// assumes.
const falseAlarm = 1e-6

// An alarm is -ln of the probability with which a value may cross a bound. Every bound of a run has the same.
type alarm float64

// alarmOf shares falseAlarm among a number of values, each with a bound on both sides.
func alarmOf(values int) alarm { return alarm(math.Log(2 * float64(max(1, values)) / falseAlarm)) }

// words say how often a run crosses a bound by chance.
func (l alarm) words() string {
	return fmt.Sprintf("bounds are crossed by chance in at most one of %.0f runs: each with a probability of %.1g",
		1/falseAlarm, math.Exp(-float64(l)))
}

// deviation bounds how far a sum is from its mean by Bernstein's inequality, given its variance and how far each of
// the independent summands is from its mean at most. Unlike a number of standard deviations this holds for sums of
// few and rare events too.
func (l alarm) deviation(variance, most float64) float64 {
	if variance <= 1e-6 {
		return 0
	}
	a := float64(l) * most / 3
	return a + math.Sqrt(a*a+2*float64(l)*variance)
}

// above returns a number that a variable exceeds with a probability of at most e^-l: Chernoff's bound, by the
// logarithm of the variable's moment generating function. The bound holds for each rate; the least of all is
// searched for, which has no other minimum.
func (l alarm) above(logMoment func(rate float64) float64) float64 {
	at := func(exponent float64) float64 {
		rate := math.Exp2(exponent)
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

// below is the counterpart of above: a number that the variable is less than with a probability of at most e^-l.
func (l alarm) below(logMoment func(rate float64) float64) float64 {
	return -l.above(func(rate float64) float64 { return logMoment(-rate) })
}

// A weighted is a value of a variable with its probability.
type weighted struct{ value, chance float64 }

// logMoments returns ln E e^(rate X) of the sum of n variables that have these values.
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
			sum += v.chance * math.Exp(rate*v.value-most)
		}
		return n * (most + math.Log(sum))
	}
}

// hyperLogLog bounds the estimate of n elements by HyperLogLog with m buckets that keep strings of width bits, by
// Ertl's estimator m^2 / (2 ln 2 Z). Z is a sum over the buckets: 2^-rank, besides what empty and full ones add.
//
// How many elements buckets have is negatively associated, and what a bucket adds falls with its elements. So the
// moments of Z are at most those of independent buckets, each with a binomial number of elements.
func (l alarm) hyperLogLog(n, m float64, width int) (lower, upper float64) {
	atMost := func(rank int) float64 { // the chance that a bucket has no greater rank
		above := math.Exp2(-float64(rank))
		switch {
		case rank == 0: // a string of zeros leaves no rank
			above = 1 - math.Exp2(-float64(width))
		case rank > width:
			return 1
		}
		return math.Exp(n * math.Log1p(-above/m))
	}
	buckets := func(empty, full float64) []weighted {
		list := []weighted{{empty, atMost(0)}}
		for rank := 1; rank <= width; rank++ {
			list = append(list, weighted{math.Exp2(-float64(rank)), atMost(rank) - atMost(rank-1)})
		}
		return append(list, weighted{full, 1 - atMost(width)})
	}
	estimate := func(z float64) float64 { return m * m / (2 * math.Ln2 * z) }
	upper = math.Inf(1)
	if z := l.below(logMoments(m, buckets(1, 0))); z > 0 {
		upper = estimate(z)
	}
	// Of x empty buckets of m, sigma(x/m) m is added, which is convex; of full ones at most a third of 2^-width each.
	half := l + math.Ln2 // there are two ways to be too low
	empty := half.above(logMoments(m, []weighted{{0, 1 - atMost(0)}, {1, atMost(0)}})) / m
	if empty >= 1 {
		return 0, upper
	}
	sigma, x, y := empty, empty, 1.0
	for more := 1.0; more > 1e-12*sigma; y *= 2 {
		x *= x
		more = x * y
		sigma += more
	}
	return estimate(half.above(logMoments(m, buckets(sigma/empty, math.Exp2(-float64(width))/3)))), upper
}

// linearCounting bounds the estimate of n elements in m bits. Whether bits are empty is negatively associated, so the
// moments of their number are at most those of independent bits.
func (l alarm) linearCounting(n, m float64) (lower, upper float64) {
	empty := math.Exp(n * math.Log1p(-1/m))
	moments := logMoments(m, []weighted{{0, 1 - empty}, {1, empty}})
	estimate := func(zero float64) float64 { return -m * math.Log(min(m, zero)/m) }
	upper = math.Inf(1)
	if least := l.below(moments); least >= 1 {
		upper = estimate(least)
	}
	return estimate(l.above(moments)), upper
}
