package sketch

import (
	"math"
	"math/bits"
)

// Ranks returns the rank of each bucket of a HyperLogLog. Each bucket contains the greatest of its elements' strings of
// width bits, 1 to 32. The rank is the number of leading ones plus one, or 0 for a bucket without elements (FlyMon,
// section 4). A string of only zeros, one in 2^width, also leaves its bucket 0.
func Ranks(strings []uint32, width int) []uint8 {
	ranks := make([]uint8, len(strings))
	for i, s := range strings {
		if s != 0 {
			ones := bits.LeadingZeros32(^(s << (32 - width)))
			ranks[i] = uint8(min(ones, width) + 1)
		}
	}
	return ranks
}

// HyperLogLog estimates the number of distinct elements from the ranks of all buckets, which are at most most. It uses
// Ertl's estimator (2017, algorithm 6), which needs no correction for small or large numbers. It returns infinity if
// all ranks are most.
func HyperLogLog(ranks []uint8, most int) float64 {
	m := float64(len(ranks))
	counts := make([]float64, most+1)
	for _, r := range ranks {
		counts[min(int(r), most)]++
	}
	z := m * ertlTau(1-counts[most]/m)
	for k := most - 1; k >= 1; k-- {
		z = 0.5 * (z + counts[k])
	}
	z += float64(m * ertlSigma(counts[0]/m))
	return m * m / (2 * math.Ln2 * z)
}

// HyperLogLogError returns the relative standard error with m buckets (Flajolet et al., 2007).
func HyperLogLogError(m int) float64 { return 1.04 / math.Sqrt(float64(m)) }

func ertlSigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1)
	}
	y, z := 1.0, x
	for {
		x *= x
		before := z
		z += float64(x * y)
		y += y
		if z == before {
			return z
		}
	}
}

func ertlTau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	y, z := 1.0, 1-x
	for {
		x = math.Sqrt(x)
		before := z
		y *= 0.5
		z -= float64((1 - x) * (1 - x) * y)
		if z == before {
			return z / 3
		}
	}
}
