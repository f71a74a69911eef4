package flymon_test

import (
	"math"
	"testing"

	"tamtam/tam/flymon"
)

// A flow collects all coupons for a threshold when it is near that threshold.
func TestCoupons(t *testing.T) {
	for _, tt := range []struct {
		threshold      uint64
		most           uint8
		coupons, shift uint8
	}{
		{1, 16, 1, 0}, {2, 32, 1, 1}, {512, 16, 16, 7}, {512, 32, 32, 7}, {1024, 16, 16, 8}, {1024, 32, 32, 8},
		{100_000, 32, 18, 15},
	} {
		m, s, err := flymon.Coupons(tt.threshold, tt.most)
		if err != nil || m != tt.coupons || s != tt.shift {
			t.Errorf("%d of at most %d: %d coupons of 2^-%d, %v, want %d of 2^-%d", tt.threshold, tt.most, m, s, err, tt.coupons,
				tt.shift)
		}
	}
	for threshold := uint64(16); threshold < 1<<26; threshold += 1 + threshold/7 {
		m, s, err := flymon.Coupons(threshold, 32)
		if err != nil || m > 32 || uint64(m) > 1<<s {
			t.Fatalf("%d: %d coupons of 2^-%d, %v", threshold, m, s, err)
		}
		mean, variance := flymon.Collector(m, s)
		if off := math.Abs(mean/float64(threshold) - 1); off > 0.161 || math.Sqrt(variance) > 0.7*float64(threshold) {
			t.Errorf("%d: %.1f +- %.1f", threshold, mean, math.Sqrt(variance))
		}
	}
	for _, bad := range []uint64{0, 1 << 30} {
		if m, _, err := flymon.Coupons(bad, 32); err == nil {
			t.Errorf("%d: %d coupons", bad, m)
		}
	}
}

// Collected returns the frequencies that drawing coupons produces. Collector returns the mean number of elements that
// collect all coupons.
func TestCollected(t *testing.T) {
	for _, tt := range []struct{ coupons, shift uint8 }{{1, 0}, {1, 3}, {2, 1}, {5, 4}, {16, 8}, {32, 7}} {
		mean, missing := 0.0, 0.0
		for n := range uint64(20_000) {
			sum := 0.0
			chances := flymon.Collected(tt.coupons, tt.shift, n)
			for _, p := range chances {
				sum += p
			}
			if math.Abs(sum-1) > 1e-6 || len(chances) != int(tt.coupons)+1 ||
				n < uint64(tt.coupons) && chances[tt.coupons] > 1e-15 {
				t.Fatalf("%d coupons of 2^-%d, %d elements: %v", tt.coupons, tt.shift, n, chances)
			}
			if missing = 1 - chances[tt.coupons]; missing < 1e-9 {
				break
			}
			mean += missing
		}
		if want, _ := flymon.Collector(tt.coupons, tt.shift); math.Abs(mean-want) > 0.005*want {
			t.Errorf("%d coupons of 2^-%d: %.2f elements on average, want %.2f", tt.coupons, tt.shift, mean, want)
		}
	}
}
