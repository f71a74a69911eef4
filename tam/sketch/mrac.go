package sketch

import (
	"maps"
	"math"
	"slices"

	"tamtam/tam/libm"
)

// A Distribution holds the number of flows of each size.
type Distribution map[uint64]float64

// Flows returns the number of flows.
func (d Distribution) Flows() float64 {
	n := 0.0
	for _, size := range slices.Sorted(maps.Keys(d)) {
		n += d[size]
	}
	return n
}

// AtLeast returns the number of flows of this size or larger.
func (d Distribution) AtLeast(size uint64) float64 {
	n := 0.0
	for _, s := range slices.Sorted(maps.Keys(d)) {
		if s >= size {
			n += d[s]
		}
	}
	return n
}

// Entropy returns the entropy of the sizes in bits: -sum of (size/total) log2(size/total) over all flows.
func (d Distribution) Entropy() float64 {
	total, sum := 0.0, 0.0
	for _, size := range slices.Sorted(maps.Keys(d)) {
		s := float64(size)
		total += float64(s * d[size])
		if size > 0 {
			sum += float64(d[size] * s * libm.Log2(s))
		}
	}
	if total == 0 {
		return 0
	}
	return libm.Log2(total) - sum/total
}

// Limits of MRAC. Sizes above maxDense are distinguished only where a counter shows them.
const (
	maxDense = 1024
	maxGuess = 64 // sizes up to maxGuess are considered even if no counter has them
	rounds   = 30
)

// MRAC estimates the distribution of flow sizes from an array of counters, each of which counts all flows that hash to
// it (Kumar et al., 2004). It is expectation maximisation with the sizes of a counter's flows as hidden variables.
//
// The number of flows of a size in a counter is Poisson distributed, so the counter's value is compound Poisson. Let
// rate(s) be the rate of size s, and P(v) the probability of the value v, from Panjer's recursion. A counter of value v
// has rate(s) P(v-s) / P(v) flows of size s on average. This covers all combinations of flows that add up to v. A
// counter above maxDense is treated as one large flow and the average contribution of others.
func MRAC(counters []uint32) Distribution {
	m := float64(len(counters))
	seen := make([]float64, maxDense+1) // number of counters of each value
	large := map[uint64]float64{}
	most, above := 0, 0.0
	for _, c := range counters {
		if c > maxDense {
			large[uint64(c)]++
			above++
			most = maxDense
		} else {
			seen[c]++
			most = max(most, int(c))
		}
	}
	if most == 0 {
		return Distribution{}
	}
	seen = seen[:most+1]
	rate := firstRates(seen, m)
	for range rounds {
		next, ok := nextRates(rate, seen, above, m)
		if !ok {
			break
		}
		rate = next
	}
	d := Distribution{}
	noise := 0.0
	for s := 1; s < len(rate); s++ {
		noise += float64(float64(s) * rate[s])
		if n := rate[s] * m; n > 1e-9 {
			d[uint64(s)] = n
		}
	}
	for c, n := range large {
		d[max(maxDense+1, c-min(c, uint64(math.Round(noise))))] += n
	}
	return d
}

// firstRates returns the initial rates: the number of flows by linear counting, with the sizes that counters have.
func firstRates(seen []float64, m float64) []float64 {
	used := m - seen[0]
	n := LinearCounting(math.Max(seen[0], 0.5), m)
	rate := make([]float64, len(seen))
	for s := 1; s < len(seen); s++ {
		rate[s] = seen[s] * n / used / m
		if s <= maxGuess && rate[s] == 0 {
			rate[s] = 1e-3 / m
		}
	}
	return rate
}

// nextRates runs one round of expectation maximisation. It returns false if a counter has more flows than can be
// distinguished.
func nextRates(rate, seen []float64, above, m float64) ([]float64, bool) {
	var sizes []int
	for s := 1; s < len(rate); s++ {
		if rate[s] > 1e-15 {
			sizes = append(sizes, s)
		}
	}
	p := make([]float64, len(seen)) // probability of each value relative to that of 0
	p[0] = 1
	for v := 1; v < len(p); v++ {
		for _, s := range sizes {
			if s > v {
				break
			}
			p[v] += float64(float64(s) * rate[s] * p[v-s])
		}
		p[v] /= float64(v)
	}
	next := make([]float64, len(rate))
	for v := 1; v < len(seen); v++ {
		switch {
		case seen[v] == 0:
		case math.IsInf(p[v], 0) || math.IsNaN(p[v]):
			return nil, false
		case p[v] < 1e-250:
			next[v] += seen[v]
		default:
			w := seen[v] / p[v]
			for _, s := range sizes {
				if s > v {
					break
				}
				next[s] += float64(w * rate[s] * p[v-s])
			}
		}
	}
	for s := range next {
		next[s] = (next[s] + float64(above*rate[s])) / m
	}
	return next, true
}
