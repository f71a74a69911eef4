package sketch

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tamtam/internal/randtest"
)

// The distribution of Pareto's flows: number, entropy and how many have one packet, for
// fewer and for more flows than counters. All are too low: an estimate that knows only counters
// takes a few flows in one for one flow. Bounds are the mean of 500 seeds and its errors.
func TestMRAC(t *testing.T) {
	const m = 4096
	type off struct{ mean, dev float64 } // in parts of the value
	loads := []struct {
		load                 float64
		flows, entropy, ones off
	}{
		{0, off{}, off{}, off{}},
		{0.5, off{-0.0144, 0.0119}, off{-0.0022, 0.0013}, off{-0.018, 0.033}},
		{1, off{-0.0246, 0.0126}, off{-0.0025, 0.0012}, off{-0.037, 0.038}},
		{2, off{-0.0517, 0.0145}, off{-0.0019, 0.0010}, off{-0.134, 0.045}},
	}
	randtest.Run(t, randtest.Cases{Seed: 3}, func(t *testing.T, seed uint64) {
		for _, tt := range loads {
			r := rand.New(rand.NewPCG(seed, 0))
			words, sizes, ones := make([]uint32, m), []int{}, 0.0
			large, met := map[int]int{}, []int{} // flows as counters show them: large ones that meet are one
			for range int(tt.load * m) {
				n := int(math.Min(5000, 1/math.Pow(r.Float64(), 1.2)))
				if n == 1 {
					ones++
				}
				sizes = append(sizes, n)
				c := r.IntN(m)
				words[c] += uint32(n)
				if n >= 64 {
					large[c] += n
				} else {
					met = append(met, n)
				}
			}
			d, want := MRAC(words), 0.0
			if len(sizes) > 0 {
				want = entropy(slices.AppendSeq(met, maps.Values(large)))
			}
			near := func(what string, got, want float64, is off) {
				if math.Abs(got-want*(1+is.mean)) > errors*is.dev*want {
					t.Errorf("load %v: %.3f %s, want %.3f (off by %.4f +- %.4f)", tt.load, got, what, want, is.mean, is.dev)
				}
			}
			near("flows", d.Flows(), float64(len(sizes)), tt.flows)
			near("bits", d.Entropy(), want, tt.entropy)
			near("flows of one packet", d[1], ones, tt.ones)
		}
	})
}

// Entropies that are known: of equal flows log2 of their number, of one flow 0.
func TestEntropy(t *testing.T) {
	for _, tt := range []struct {
		d    Distribution
		want float64
	}{{Distribution{}, 0}, {Distribution{7: 1}, 0}, {Distribution{3: 64}, 6}, {Distribution{1: 2, 2: 1}, 1.5}} {
		if got := tt.d.Entropy(); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("%v: %v, want %v", tt.d, got, tt.want)
		}
	}
}

// Whatever counters there are, sizes and numbers are finite.
func TestMRACOfAnything(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 9}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		anything := make([]uint32, 1<<11)
		for i := range anything {
			anything[i] = r.Uint32() >> r.IntN(32)
		}
		full, large := make([]uint32, 64), []uint32{5000, 5000, 1 << 31, 0}
		for i := range full {
			full[i] = 1000
		}
		for name, words := range map[string][]uint32{"none": nil, "one": {1}, "anything": anything, "full": full, "large": large} {
			d := MRAC(words)
			n := d.Flows()
			if math.IsNaN(n) || math.IsInf(n, 0) || math.IsNaN(d.Entropy()) || (n == 0) != (name == "none") {
				t.Errorf("%s: %v flows, entropy %v", name, n, d.Entropy())
			}
		}
	})
}
