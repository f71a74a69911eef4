package chance

import (
	"fmt"
	"math"
	"testing"
)

// The integer logarithm and power agree with those in floating point.
func TestLogarithm(t *testing.T) {
	for _, x := range []uint64{1, 2, 3, 7, 1000, 1<<32 - 1, 1 << 40, 1<<64 - 1} {
		if got, want := float64(log2(x))/(1<<32), math.Log2(float64(x)); math.Abs(got-want) > 1e-9 {
			t.Errorf("log2(%d) is %v, want %v", x, got, want)
		}
	}
	for _, x := range []float64{0, 0.25, 0.5, 1, 3.3, 17.123, 30} {
		if got, want := float64(exp2neg(uint64(x*(1<<32))))/(1<<62), math.Exp2(-x); math.Abs(got-want) > 1e-9 {
			t.Errorf("2^-%v is %v, want %v", x, got, want)
		}
	}
}

// Distributions have the mean and spread that their names promise. The seed is fixed, so the test cannot fail by
// chance.
func TestDistributions(t *testing.T) {
	const n = 200_000
	moments := func(draw func() uint64) (mean, deviation float64) {
		var sum, squares float64
		for range n {
			x := float64(draw())
			sum += x
			squares += x * x
		}
		mean = sum / n
		return mean, math.Sqrt(squares/n - mean*mean)
	}
	r := New(1, "test")
	tests := []struct {
		name            string
		draw            func() uint64
		mean, deviation float64
	}{
		{"exponential", func() uint64 { return r.Exponential(1_000_000) }, 1e6, 1e6},
		{"uniform", func() uint64 { return r.Below(1_000_001) }, 5e5, 1e6 / math.Sqrt(12)},
		{"bell", func() uint64 { return r.Normal(1_200_000) }, 6e5, 1e5},
	}
	for _, tt := range tests {
		mean, deviation := moments(tt.draw)
		if math.Abs(mean/tt.mean-1) > 0.01 || math.Abs(deviation/tt.deviation-1) > 0.01 {
			t.Errorf("%s has mean %.0f and deviation %.0f, want %.0f and %.0f", tt.name, mean, deviation, tt.mean, tt.deviation)
		}
	}
}

// In a Zipf mix the k-th flow has a share proportional to 1/k^s.
func TestZipf(t *testing.T) {
	const flows = 1000
	for _, s := range []uint64{0, 800, 1000, 1200, 2500} {
		shares := Zipf(flows, s)
		var sum float64
		for k := 1; k <= flows; k++ {
			sum += math.Pow(float64(k), -float64(s)/1000)
		}
		last := uint64(0)
		for k, end := range shares {
			want := math.Pow(float64(k+1), -float64(s)/1000) / sum
			if got := float64(end-last) / (1 << 63); math.Abs(got-want) > 1e-6 {
				t.Fatalf("s=%d: flow %d has %v of all frames, want %v", s, k, got, want)
			}
			last = end
		}
		if last != 1<<63 {
			t.Errorf("s=%d: the shares add up to %d of 2^63", s, last)
		}
	}
	r := New(1, "test")
	counts := make([]int, flows)
	shares := Zipf(flows, 1000)
	for range 100_000 {
		counts[r.Pick(shares)]++
	}
	if counts[0] < 13_000 || counts[0] > 13_720 { // 1/7.485 of them
		t.Errorf("the first of 1000 flows got %d of 100000 frames, want about 13360", counts[0])
	}
}

// ExampleNew shows that each use has its own numbers, the same in every run with that seed.
func ExampleNew() {
	loss, sizes := New(1, "link/loss"), New(1, "traffic/sizes")
	fmt.Println(loss.Below(100), loss.Below(100), sizes.Below(100), sizes.Exponential(1000))
	// Output: 27 20 5 335
}
