package sketch

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The distribution of Pareto's flows: number, entropy and how many have one packet, for
// fewer and for more flows than counters.
func TestMRAC(t *testing.T) {
	const seed, m = 3, 4096
	for _, tt := range []struct{ load, flows, entropy, ones float64 }{
		{0, 0, 0, 0}, {0.5, 0.03, 0.005, 0.05}, {1, 0.06, 0.005, 0.12}, {2, 0.1, 0.01, 0.2},
	} {
		r := rand.New(rand.NewPCG(seed, 0))
		words, sizes, ones := make([]uint32, m), []int{}, 0.0
		for range int(tt.load * m) {
			n := int(math.Min(5000, 1/math.Pow(r.Float64(), 1.2)))
			if n == 1 {
				ones++
			}
			sizes = append(sizes, n)
			words[r.IntN(m)] += uint32(n)
		}
		d, want := MRAC(words), 0.0
		if len(sizes) > 0 {
			want = entropy(sizes)
		}
		if n := float64(len(sizes)); math.Abs(d.Flows()-n) > tt.flows*n {
			t.Errorf("load %v: %.1f flows, want %v", tt.load, d.Flows(), n)
		}
		if math.Abs(d.Entropy()-want) > tt.entropy*want {
			t.Errorf("load %v: %.3f bits, want %.3f", tt.load, d.Entropy(), want)
		}
		if math.Abs(d[1]-ones) > tt.ones*ones {
			t.Errorf("load %v: %.1f flows of one packet, want %v", tt.load, d[1], ones)
		}
	}
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
	r := rand.New(rand.NewPCG(9, 0))
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
}
