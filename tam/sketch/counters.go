package sketch

import "math"

// A Counter is what a row has counted for a flow and those that share its counter. Full: it stopped
// there, and they had at least as many.
type Counter struct {
	Value uint64
	Full  bool
}

// CountMin is the estimate of a flow by its counters, one of each row: the least of those
// that are not full. It is never too low, if each packet counts in each row (Cormode
// and Muthukrishnan, 2005), or in each row whose counter is not above the least of the rows
// before (SuMax: Zhao et al., 2021), whatever the counters' widths are (TowerSketch: Yang et
// al., 2021). If all are full, known is false, and there were at least n.
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

// CountMinExcess bounds how much too high [CountMin] is when all flows together
// count total in rows of width counters: more than excess with a probability below
// 2^-rows, by Markov's inequality with a factor of 2 for each row.
func CountMinExcess(total float64, width, rows int) (excess, confidence float64) {
	return 2 * total / float64(width), 1 - math.Pow(2, -float64(rows))
}

// LinearCounting estimates how many distinct elements have been put into buckets of
// which zero are empty still: -n ln(zero/n) (Whang et al., 1990). It is infinite if none
// is empty.
func LinearCounting(zero, n float64) float64 {
	if zero >= n {
		return 0
	}
	return -n * math.Log(zero/n)
}

// LinearCountingError is the standard error, relative, of an estimate of count elements
// in n buckets (Whang et al., theorem 4.2).
func LinearCountingError(count, n float64) float64 {
	if count <= 0 {
		return 0
	}
	t := count / n
	return math.Sqrt(n*math.Max(0, math.Exp(t)-t-1)) / count
}

// BloomFalsePositive is the probability that an element that is not in the set has all
// its bits set, when loads has the part of the bits that are set in each row, 0 to 1.
func BloomFalsePositive(loads []float64) float64 {
	p := 1.0
	for _, l := range loads {
		p *= l
	}
	return p
}

// OddSketchSize estimates how many elements an odd number of times were put into n bits
// of which odd are set: n/2 * -ln(1 - 2 odd/n) (Mitzenmacher, Pagh and Pham, 2014). It is
// infinite if half of them are set or more.
func OddSketchSize(odd, n float64) float64 {
	switch {
	case 2*odd >= n:
		return math.Inf(1)
	case odd <= 0:
		return 0
	}
	return -n / 2 * math.Log(1-2*odd/n)
}

// OddSketchError is the standard error of [OddSketchSize] for a set of size elements. The
// number of odd bins has the variance n/4 (1 - e^(-4 size/n)), were the number of elements
// Poisson; that it is fixed takes size e^(-4 size/n) off. A bin changes by e^(-2 size/n) with
// the size.
func OddSketchError(size, n float64) float64 {
	return math.Sqrt(math.Max(0, n*(math.Exp(4*size/n)-1)/4-size))
}
