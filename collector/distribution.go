package collector

import (
	"maps"
	"math/big"
	"slices"
)

// distribution counts every measured value. In nanoseconds there are few different ones: the same
// latencies recur.
type distribution map[int64]int64

func (d distribution) add(ns int64) { d[ns]++ }

// Summary describes a set of durations. All are exact but Avg, which is rounded to the nearest
// nanosecond. A percentile is the nearest rank: the least measured value that at least
// so many of a hundred do not exceed. All zero when Count is zero.
type Summary struct {
	Count int64 `json:"count"`
	Min   int64 `json:"min_ns"`
	Avg   int64 `json:"avg_ns"`
	P50   int64 `json:"p50_ns"`
	P90   int64 `json:"p90_ns"`
	P99   int64 `json:"p99_ns"`
	Max   int64 `json:"max_ns"`
}

func (d distribution) summary() Summary {
	if len(d) == 0 {
		return Summary{}
	}
	values := slices.Sorted(maps.Keys(d))
	s := Summary{Min: values[0], Max: values[len(values)-1]}
	var sum big.Int // clocks may be decades apart: a few such differences overflow 64 bits
	for _, v := range values {
		s.Count += d[v]
		sum.Add(&sum, new(big.Int).Mul(big.NewInt(v), big.NewInt(d[v])))
	}
	s.Avg = roundedQuotient(&sum, s.Count)
	rank := func(percent int64) int64 {
		need := (s.Count*percent + 99) / 100
		for _, v := range values {
			if need -= d[v]; need <= 0 {
				return v
			}
		}
		return s.Max
	}
	s.P50, s.P90, s.P99 = rank(50), rank(90), rank(99)
	return s
}

// roundedQuotient is sum/n to the nearest integer, halves up.
func roundedQuotient(sum *big.Int, n int64) int64 {
	twice := new(big.Int).Lsh(sum, 1)
	twice.Add(twice, big.NewInt(n))
	return twice.Div(twice, big.NewInt(2*n)).Int64() // Div rounds down for a positive divisor
}
