package sketch

import (
	"math"
	"math/rand/v2"
	"testing"

	"tamtam/internal/randtest"
)

// HyperLogLog has no bias and the standard error of the theory, for small and large numbers of elements, with strings
// of 16 and of 21 bits.
func TestHyperLogLog(t *testing.T) {
	const runs = 300
	randtest.Run(t, randtest.Cases{Seed: 3}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		for _, width := range []int{16, 21} {
			for _, n := range []int{0, 1, 50, 700, 3000, 12_000} {
				const m = 512
				sum, square := 0.0, 0.0
				for range runs {
					words := make([]uint32, m)
					for range n {
						i := r.IntN(m)
						words[i] = max(words[i], r.Uint32()>>(32-width))
					}
					v := HyperLogLog(Ranks(words, width), width+1)
					sum += v
					square += (v - float64(n)) * (v - float64(n))
				}
				mean, rms := sum/runs, math.Sqrt(square/runs)
				if off := math.Abs(mean - float64(n)); off > errors*HyperLogLogError(m)*float64(n)/math.Sqrt(runs)+1e-9 ||
					rms > 1.3*HyperLogLogError(m)*float64(n)+1e-9 {
					t.Errorf("width %d, %d elements: %.1f on average, rms %.1f", width, n, mean, rms)
				}
			}
		}
	})
}
