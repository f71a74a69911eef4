package sketch

import (
	"math"
	"testing"

	"tamtam/flymon"
)

func vector(flow, n int) flymon.Vector { return flymon.Vector{uint64(flow), uint64(n), 4: 4 << 16} }

// Collections have a mean near the threshold, and a deviation below that of one which wants
// all coupons.
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

// Flows are reported at the number of distinct elements that theory says: mean and
// deviation are those of a coupon collector. An element that comes twice counts once.
func TestBeauCoup(t *testing.T) {
	const seed, runs, threshold = 5, 400, 512
	sum, square := 0.0, 0.0
	var mean, variance float64
	b, err := NewBeauCoup(1, threshold, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for run := range runs {
		b.seed = seed + uint64(run)
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
	if got := sum / runs; math.Abs(got-mean) > 4*dev/math.Sqrt(runs) {
		t.Errorf("seed %d: reported after %.1f on average, want %.1f", seed, got, mean)
	}
	if got := math.Sqrt(square / runs); got < 0.85*dev || got > 1.15*dev {
		t.Errorf("seed %d: deviation %.1f, want %.1f", seed, got, dev)
	}
}

// The number of distinct elements has no bias where not all coupons are there.
func TestBeauCoupEstimate(t *testing.T) {
	const seed, runs = 11, 300
	b, err := NewBeauCoup(4, 512, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 30, 100, 200} {
		sum := 0.0
		for run := range runs {
			b.seed = seed + uint64(run)
			clear(b.entries)
			for i := range n {
				b.Add(vector(1, 0), vector(9, i), 0)
			}
			sum += b.Estimate(vector(1, 0))
		}
		if got := sum / runs; math.Abs(got-float64(n)) > 0.06*float64(n) {
			t.Errorf("seed %d: %.1f on average, want %d", seed, got, n)
		}
	}
}

// An entry belongs to one flow, until it has not been used for a window.
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
