package ping

import "testing"

// A share of lost packets is 0 or 100 % only if it is exactly that.
func TestLossText(t *testing.T) {
	for _, tt := range []struct {
		lost, of int
		want     string
	}{{0, 5, "0%"}, {5, 5, "100%"}, {1, 4, "25%"}, {2, 3, "66.7%"}, {1, 10000, "0.1%"}, {9999, 10000, "99.9%"}} {
		if got := lossText(tt.lost, tt.of); got != tt.want {
			t.Errorf("%d of %d: %s, want %s", tt.lost, tt.of, got, tt.want)
		}
	}
}
