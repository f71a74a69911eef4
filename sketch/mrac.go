package sketch

import (
	"maps"
	"math"
	"slices"
)

// A Distribution is how many flows of each size there are.
type Distribution map[uint64]float64

// Flows is the number of flows.
func (d Distribution) Flows() float64 {
	n := 0.0
	for _, size := range slices.Sorted(maps.Keys(d)) {
		n += d[size]
	}
	return n
}

// Entropy is that of the sizes in bits: -sum of (size/total) log2(size/total) over all
// flows.
func (d Distribution) Entropy() float64 {
	total, sum := 0.0, 0.0
	for _, size := range slices.Sorted(maps.Keys(d)) {
		s := float64(size)
		total += s * d[size]
		if size > 0 {
			sum += d[size] * s * math.Log2(s)
		}
	}
	if total == 0 {
		return 0
	}
	return math.Log2(total) - sum/total
}

// Bounds of the patterns of flows that MRAC takes a counter's value apart into: the more
// flows in it, the smaller must it be. A large value is one flow, and maybe a small one.
const (
	maxThree = 60   // three flows
	maxTwo   = 1200 // two flows of any sizes
	maxSmall = 64   // two flows, one of them at most so large
	rounds   = 15
)

// MRAC estimates the distribution of flow sizes from an array of counters, each of
// which counts all flows that are hashed to it (Kumar et al., 2004): expectation
// maximisation with the sizes of the flows of a counter as what is not known.
func MRAC(counters []uint32) Distribution {
	m := float64(len(counters))
	seen := map[uint64]float64{}
	for _, c := range counters {
		if c > 0 {
			seen[uint64(c)]++
		}
	}
	if len(seen) == 0 {
		return Distribution{}
	}
	values := slices.Sorted(maps.Keys(seen))
	used := 0.0
	for _, v := range values {
		used += seen[v]
	}
	n := LinearCounting(math.Max(m-used, 0.5), m)
	phi := Distribution{} // flows of each size; at first one flow for each counter
	for _, v := range values {
		phi[v] = seen[v] * n / used
	}
	// Small sizes that no counter shows may be there all the same.
	for v := uint64(1); v <= min(maxSmall, values[len(values)-1]); v++ {
		if phi[v] == 0 {
			phi[v] = 1e-3
		}
	}
	for range rounds {
		phi = phi.next(values, seen, m)
	}
	return phi
}

// next is one round of expectation maximisation.
func (d Distribution) next(values []uint64, seen map[uint64]float64, m float64) Distribution {
	top := values[len(values)-1]
	rate := make([]float64, min(top, maxTwo)+1) // flows of a size in a counter
	for size := range rate {
		rate[size] = d[uint64(size)] / m
	}
	of := func(size uint64) float64 {
		if size < uint64(len(rate)) {
			return rate[size]
		}
		return d[size] / m
	}
	next := Distribution{}
	for _, v := range values {
		patterns(v, of, func(total float64, give func(share func(size uint64, part float64))) {
			give(func(size uint64, part float64) {
				if w := seen[v] * part / total; w > 1e-12 {
					next[size] += w
				}
			})
		})
	}
	return next
}

// patterns tells the weights of all ways to make v of one, two or three flows: first
// their sum, then each size with the weight of its pattern, once for each flow.
func patterns(v uint64, rate func(uint64) float64, use func(total float64, give func(func(uint64, float64)))) {
	walk := func(do func(p float64, sizes ...uint64)) {
		do(rate(v), v)
		last := v / 2
		if v > maxTwo {
			last = maxSmall
		}
		for a := uint64(1); a <= last && a < v; a++ {
			ra := rate(a)
			if ra == 0 || 2*a > v {
				continue
			}
			b := v - a
			if a == b {
				do(ra*ra/2, a, a)
			} else {
				do(ra*rate(b), a, b)
			}
			if v > maxThree {
				continue
			}
			for b := a; a+2*b <= v; b++ {
				c := v - a - b
				p := ra * rate(b) * rate(c)
				switch {
				case a == b && b == c:
					p /= 6
				case a == b || b == c:
					p /= 2
				}
				do(p, a, b, c)
			}
		}
	}
	total := 0.0
	walk(func(p float64, _ ...uint64) { total += p })
	if total <= 0 {
		use(1, func(share func(uint64, float64)) { share(v, 1) })
		return
	}
	use(total, func(share func(uint64, float64)) {
		walk(func(p float64, sizes ...uint64) {
			if p > 0 {
				for _, s := range sizes {
					share(s, p)
				}
			}
		})
	})
}
