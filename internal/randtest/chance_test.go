package randtest

import (
	"math"
	"testing"
)

// Tail is right for coins, and for events with different probabilities.
func TestTail(t *testing.T) {
	half := []float64{0.5, 0.5, 0.5, 0.5}
	for _, tt := range []struct {
		chances []float64
		n       int
		want    float64
	}{
		{nil, 0, 1}, {nil, 1, 0}, {half, 0, 1}, {half, 1, 15. / 16}, {half, 2, 11. / 16}, {half, 4, 1. / 16}, {half, 5, 0},
		{[]float64{0.1, 0.2}, 1, 0.28}, {[]float64{0.1, 0.2}, 2, 0.02}, {[]float64{0, 1}, 1, 1},
	} {
		if got := Tail(tt.chances, tt.n); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("%d of %v: %v, want %v", tt.n, tt.chances, got, tt.want)
		}
	}
}

// Chernoff's bound is slightly above the binomial's tail. More events than the bound have a probability below Never.
// More events than half-way from the mean to the bound have a probability above Never.
func TestAtMost(t *testing.T) {
	for _, mean := range []float64{0.01, 1, 10, 100} {
		chances := make([]float64, 1000)
		for i := range chances {
			chances[i] = mean / 1000
		}
		k := AtMost(mean)
		if p := Tail(chances, k+1); p > Never {
			t.Errorf("mean %v: more than %d with a chance of %.2g", mean, k, p)
		}
		if p := Tail(chances, int(mean+(float64(k)-mean)/2)); p < Never {
			t.Errorf("mean %v: %d is too many", mean, k)
		}
	}
	if AtMost(0) != 0 {
		t.Errorf("of what never happens: %d", AtMost(0))
	}
}
