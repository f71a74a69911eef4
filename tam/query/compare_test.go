package query

import "testing"

// Differences of bounds contain the differences of all numbers within them.
func TestMinus(t *testing.T) {
	for _, tt := range []struct{ a, b, want Range }{
		{Exactly(5), Exactly(7), Exactly(-2)}, {Range{Low: 1, High: 4}, Range{Low: 2, High: 3},
			Range{Low: -2, High: 2}},
		{Range{Low: 5, High: 1<<63 - 1}, Exactly(2), Range{Low: 3, High: 1<<63 - 1}},
	} {
		if got := minus(tt.a, tt.b); got != tt.want {
			t.Errorf("%v - %v = %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}
