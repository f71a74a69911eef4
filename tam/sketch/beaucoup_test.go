package sketch

import (
	"math"
	"math/rand/v2"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/tam/flymon"
)

func vector(flow, n int) flymon.Vector { return flymon.Vector{uint64(flow), uint64(n), 4: 4 << 16} }

// Collections have a mean near the threshold, and a smaller deviation than a collection that requires all coupons.
func TestCollect(t *testing.T) {
	for _, threshold := range []uint64{1, 2, 10, 100, 512, 1000, 1024, 40_000, 1_000_000} {
		c, err := Collect(threshold)
		if err != nil {
			t.Fatal(err)
		}
		mean, variance := c.Moments()
		if off := math.Abs(mean/float64(threshold) - 1); off > 0.021 {
			t.Errorf("%d: %+v has the mean %.1f", threshold, c, mean)
		}
		m, s, err := flymon.Coupons(threshold, MaxCoupons)
		if err != nil {
			t.Fatal(err)
		}
		if _, all := flymon.Collector(m, s); threshold >= 100 && variance > all {
			t.Errorf("%d: %+v deviates by %.1f, all of %d coupons by %.1f", threshold, c, math.Sqrt(variance), m, math.Sqrt(all))
		}
	}
	for _, bad := range []uint64{0, 1 << 40} {
		if c, err := Collect(bad); err == nil {
			t.Errorf("%d: %+v, want an error", bad, c)
		}
	}
	if _, err := NewBeauCoup(0, 10, 0, 0); err == nil {
		t.Error("a table of no entries")
	}
}

// Flows are reported at the number of distinct elements of the theory: mean and deviation are those of a coupon
// collector. A repeated element counts once.
func TestBeauCoup(t *testing.T) {
	const runs, threshold = 1600, 512
	randtest.Run(t, randtest.Cases{Seed: 5}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		sum, square := 0.0, 0.0
		var mean, variance float64
		b, err := NewBeauCoup(1, threshold, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for range runs {
			b.seed = r.Uint64()
			clear(b.entries)
			mean, variance = b.Moments()
			n := 1
			for !b.Add(vector(1, 0), vector(0, n), 0) {
				b.Add(vector(1, 0), vector(0, n), 0)
				n++
			}
			if !b.Reported(vector(1, 0)) {
				t.Fatal("not reported")
			}
			sum += float64(n)
			square += (float64(n) - mean) * (float64(n) - mean)
		}
		dev := math.Sqrt(variance)
		if got := sum / runs; math.Abs(got-mean) > errors*dev/math.Sqrt(runs) {
			t.Errorf("reported after %.1f on average, want %.1f", got, mean)
		}
		// The deviation of so many runs has a standard error of sqrt((k-1)/(4 runs)). That is 2.2 % with a kurtosis k
		// of 4, which is above that of a sum of many waits.
		if got := math.Sqrt(square / runs); got < 0.85*dev || got > 1.15*dev {
			t.Errorf("deviation %.1f, want %.1f", got, dev)
		}
	})
}

// occupied returns the probabilities of having 0, 1, ... m coupons after n elements, each of which draws each coupon
// with probability p, at most one.
func occupied(n, m int, p float64) []float64 {
	chance := make([]float64, m+1)
	chance[0] = 1
	for range n {
		for k := m; k > 0; k-- {
			chance[k] += chance[k-1]*float64(m-k+1)*p - chance[k]*float64(m-k)*p
		}
		chance[0] -= chance[0] * float64(m) * p
	}
	return chance
}

// expected returns mean and deviation of a function of the number of coupons.
func expected(chance []float64, f func(k int) float64) (mean, dev float64) {
	square := 0.0
	for k, p := range chance {
		mean += p * f(k)
		square += p * f(k) * f(k)
	}
	return mean, math.Sqrt(max(0, square-mean*mean))
}

// The estimated number of distinct elements is that of randomly drawn coupons, which has no bias (TestCouponsDrawn).
func TestBeauCoupEstimate(t *testing.T) {
	const runs = 800
	randtest.Run(t, randtest.Cases{Seed: 11}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		b, err := NewBeauCoup(4, 512, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{0, 30, 100, 200} {
			sum := 0.0
			for range runs {
				b.seed = r.Uint64()
				clear(b.entries)
				for i := range n {
					b.Add(vector(1, 0), vector(9, i), 0)
				}
				sum += b.Estimate(vector(1, 0))
			}
			p := math.Ldexp(1, -int(b.Shift))
			mean, dev := expected(occupied(n, int(b.Coupons), p), func(k int) float64 {
				return CouponsDrawn(k, int(b.Coupons), p)
			})
			if got := sum / runs; math.Abs(got-mean) > errors*dev/math.Sqrt(runs) ||
				math.Abs(mean-float64(n)) > 0.01*float64(n) {
				t.Errorf("%.1f on average, want %.1f +- %.1f of %d", got, mean, dev/math.Sqrt(runs), n)
			}
		}
	})
}

// An entry belongs to one flow until it has not been used for a window.
func TestBeauCoupCollisions(t *testing.T) {
	b, err := NewBeauCoup(1, 4, 100, 1)
	if err != nil {
		t.Fatal(err)
	}
	full := func(flow int, now uint64) bool {
		for i := range 200 {
			b.Add(vector(flow, 0), vector(0, i), now)
		}
		return b.Reported(vector(flow, 0))
	}
	if !full(1, 0) || full(2, 50) || b.Dropped == 0 || b.Collected(vector(2, 0)) != 0 {
		t.Error("two flows in one entry")
	}
	if !full(2, 200) || b.Reported(vector(1, 0)) {
		t.Error("an entry that was not used for longer than a window is not free")
	}
	if b.Bytes() != 12 {
		t.Errorf("%d bytes", b.Bytes())
	}
}
