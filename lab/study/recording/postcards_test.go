package recording

import (
	"math"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/lab/chance"
)

// With enough memory the filter sends a postcard only when a class is new. A class is new if it comes for the first
// time, or was absent during all remembered windows.
func TestPostcardsDue(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 910000001}, func(t *testing.T, seed uint64) {
		const classes, window, windows = 50, 20, 3
		r := chance.New(seed, "due")
		m := newMailbox(classes, newPECFilter(1<<20, 4, windows, window, seed))
		seen := map[int]int{} // class to the last window in which it was seen
		want := 0
		for i := range 2000 {
			class := int(r.Next()>>1) % classes
			if at, ok := seen[class]; !ok || i/window-at >= windows {
				want++
			}
			seen[class] = i / window
			m.count(class)
		}
		if m.postcards != want || m.due != want || m.missed != 0 {
			t.Errorf("%d postcards of %d due, %d missed, want %d", m.postcards, m.due, m.missed, want)
		}
		if got, silent, packets := m.silent(); got != classes || silent != 0 || packets != 0 {
			t.Errorf("%d classes, %d silent with %d packets", got, silent, packets)
		}
	})
}

// Once n classes are in a filter of one window, another class counts as known as often as the theory of Bloom filters
// predicts: (1 - (1-1/m)^n)^k.
func TestPostcardsMissed(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 910000002}, func(t *testing.T, seed uint64) {
		const n, more, arrays = 2000, 20000, 3
		f := newPECFilter(3<<10, arrays, 2, 1<<30, seed)
		for i := range n {
			f.see(uint64(i))
		}
		want := math.Pow(1-math.Pow(1-1/float64(f.width), n), arrays)
		known := 0
		for i := range more {
			g := *f
			g.cells = f.cells
			known += asked(&g, uint64(n+i))
		}
		got, dev := float64(known)/more, math.Sqrt(want*(1-want)/more)
		// The fill level of the filter varies too, by less than 2 percent of the rate.
		if math.Abs(got-want) > 5*dev+0.1*want {
			t.Errorf("%.4f of new classes are taken as known, want %.4f", got, want)
		}
	})
}

// asked queries see but leaves the filter as it was. It returns 1 if the class is known.
func asked(f *pecFilter, class uint64) int {
	before := append([]uint64(nil), f.cells...)
	defer copy(f.cells, before)
	if f.see(class) {
		return 1
	}
	return 0
}
