package sketch

import (
	"math"

	"tamtam/tam/libm"
)

// A Counter is the count of a row for a flow and the flows that share its counter. Full means that the counter stopped
// at Value, so the true count may be higher.
type Counter struct {
	Value uint64
	Full  bool
}

// CountMin estimates the size of a flow from its counters, one per row: it returns the least that is not full. The
// estimate is never too low in these cases: each packet counts in each row (Cormode and Muthukrishnan, 2005), or in
// each row whose counter is not above the least of the earlier rows (SuMax: Zhao et al., 2021). The counters may have
// any widths (TowerSketch: Yang et al., 2021). If all are full, known is false, and the size is at least n.
func CountMin(rows []Counter) (n uint64, known bool) {
	least, most := uint64(math.MaxUint64), uint64(0)
	for _, c := range rows {
		if c.Full {
			most = max(most, c.Value)
		} else {
			least, known = min(least, c.Value), true
		}
	}
	if known {
		return least, true
	}
	return most, false
}

// CountMinExcess bounds the excess of [CountMin] when all flows together count total in rows of width counters. The
// excess is exceeded with a probability below 2^-rows, by Markov's inequality with a factor of 2 for each row.
func CountMinExcess(total float64, width, rows int) (excess, confidence float64) {
	return 2 * total / float64(width), 1 - libm.Pow(2, -float64(rows))
}

// LinearCounting estimates the number of distinct elements in n buckets of which zero are still empty: -n ln(zero/n)
// (Whang et al., 1990). It returns infinity if none is empty.
func LinearCounting(zero, n float64) float64 {
	if zero >= n {
		return 0
	}
	return -n * libm.Log(zero/n)
}

// LinearCountingError returns the relative standard error of an estimate of count elements in n buckets (Whang et al.,
// theorem 4.2).
func LinearCountingError(count, n float64) float64 {
	if count <= 0 {
		return 0
	}
	t := count / n
	return math.Sqrt(n*math.Max(0, libm.Exp(t)-t-1)) / count
}

// BloomFalsePositive returns the probability that all bits of an element outside the set are set. loads holds the
// fraction of set bits in each row, 0 to 1.
func BloomFalsePositive(loads []float64) float64 {
	p := 1.0
	for _, l := range loads {
		p *= l
	}
	return p
}

// OddSketchSize estimates the number of elements that were put an odd number of times into n bits, of which odd are
// set: n/2 * -ln(1 - 2 odd/n) (Mitzenmacher, Pagh and Pham, 2014). It returns infinity if half of the bits or more are
// set.
func OddSketchSize(odd, n float64) float64 {
	switch {
	case 2*odd >= n:
		return math.Inf(1)
	case odd <= 0:
		return 0
	}
	return -n / 2 * libm.Log(1-2*odd/n)
}

// OddSketchError returns the standard error of [OddSketchSize] for a set of size elements. If the number of elements
// were Poisson, the number of odd bins would have the variance n/4 (1 - e^(-4 size/n)). Because it is fixed, the
// variance is less by size e^(-4 size/n). The derivative of the number of odd bins by the size is e^(-2 size/n).
func OddSketchError(size, n float64) float64 {
	return math.Sqrt(math.Max(0, float64(n*(libm.Exp(4*size/n)-1)/4)-size))
}
