package sketch

import (
	"math/rand/v2"
	"testing"

	"tamtam/internal/randtest"
)

// braid counts flows in rows of two layers, as CMUs do, and also returns the counters of each flow.
func braid(r *rand.Rand, sizes []int, rows, first, second int, full uint32) (braids []Braid, at [][]uint32) {
	at = make([][]uint32, len(sizes))
	for range rows {
		one, two := make([]uint32, first), make([]uint32, second)
		for f, n := range sizes {
			c := r.IntN(first)
			at[f] = append(at[f], uint32(c))
			for range n {
				if one[c] < full {
					one[c]++
				} else {
					two[c%second]++
				}
			}
		}
		braids = append(braids, NewBraid(one, two, full, 1<<32-1))
	}
	return braids, at
}

// Sizes are exact if the counters are sufficient, and always within their bounds.
func TestDecode(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 4}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		for _, tt := range []struct{ flows, first, exact int }{
			{0, 64, 0}, {1, 64, 1}, {500, 1024, 490}, {1000, 1024, 0}, {3000, 1024, 0},
		} {
			sizes := zipf(tt.flows, 3000)
			braids, at := braid(r, sizes, 3, tt.first, tt.first/4, 255)
			low, high := Decode(braids, at, 50)
			exact := 0
			for f, n := range sizes {
				if low[f] > uint64(n) || high[f] < uint64(n) {
					t.Fatalf("%d flows: flow %d is %d to %d, want %d", tt.flows, f, low[f], high[f], n)
				}
				if low[f] == high[f] {
					exact++
				}
			}
			if exact < tt.exact {
				t.Errorf("%d flows: %d are exact, want %d", tt.flows, exact, tt.exact)
			}
		}
	})
}

// The excess of a full counter is known exactly if no other full counter shares its second counter.
func TestNewBraid(t *testing.T) {
	b := NewBraid([]uint32{15, 3, 0, 15, 15, 0, 0, 2}, []uint32{10, 0, 0, 7}, 15, 1<<32-1)
	low, high := [8]uint64{15, 3, 0, 22, 15, 0, 0, 2}, [8]uint64{25, 3, 0, 22, 25, 0, 0, 2}
	if [8]uint64(b.Low) != low || [8]uint64(b.High) != high {
		t.Errorf("%v to %v, want %v to %v", b.Low, b.High, low, high)
	}
}

// A full counter of the second layer gives a lower bound.
func TestBraidWithoutEnd(t *testing.T) {
	b := NewBraid([]uint32{15, 15, 2}, []uint32{99, 7, 0}, 15, 99)
	if b.Low[0] != 114 || b.High[0] < Endless || b.Low[1] != 22 || b.High[1] != 22 || b.High[2] != 2 {
		t.Errorf("%v to %v", b.Low, b.High)
	}
}

// A flow whose counters are all full has no upper bound, even if other flows share them.
func TestDecodeOfFullCounters(t *testing.T) {
	row := func(second uint32) Braid { return NewBraid([]uint32{15, 3}, []uint32{second}, 15, 99) }
	low, high := Decode([]Braid{row(99), row(99)}, [][]uint32{{0, 0}, {0, 0}, {1, 1}}, 50)
	if high[0] < Endless || high[1] < Endless || high[2] != 3 {
		t.Errorf("%v to %v", low, high)
	}
	rest := NewBraid([]uint32{15, 5}, []uint32{150}, 15, 999)
	low, high = Decode([]Braid{row(99), rest}, [][]uint32{{0, 0}, {0, 1}, {1, 1}}, 50)
	if low[0] != 165 || high[0] != 165 || high[1] != 2 || low[2] != 3 {
		t.Errorf("%v to %v", low, high)
	}
}

// Flows that were not counted and counters without flows cause no errors.
func TestDecodeOfAnything(t *testing.T) {
	low, high := Decode([]Braid{NewBraid([]uint32{0, 5, 1 << 31}, []uint32{1 << 31}, 7, 1<<32-1)},
		[][]uint32{{0}, {0}, {1}, {2}}, 50)
	if high[0] != 0 || high[1] != 0 || low[2] > 5 || high[3] != 1<<32 {
		t.Errorf("%v to %v", low, high)
	}
}

// Two flows that share a counter in one row are distinguished by the other row in one round. Three flows that share
// pairs of counters need all rows.
func TestDecodeByHand(t *testing.T) {
	row := func(words ...uint32) Braid { return NewBraid(words, []uint32{0}, 1000, 1<<32-1) }
	low, high := Decode([]Braid{row(15, 0), row(10, 5)}, [][]uint32{{0, 0}, {0, 1}}, 1)
	if low[0] != 10 || high[0] != 10 || low[1] != 5 || high[1] != 5 {
		t.Errorf("%v to %v, want 10 and 5", low, high)
	}
	low, high = Decode([]Braid{row(30, 3), row(13, 20), row(10, 23)}, [][]uint32{{0, 0, 0}, {0, 1, 1}, {1, 0, 1}}, 10)
	for f, want := range []uint64{10, 20, 3} {
		if low[f] != want || high[f] != want {
			t.Errorf("flow %d: %d to %d, want %d", f, low[f], high[f], want)
		}
	}
}
