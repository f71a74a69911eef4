package sketch

import (
	"math"
	"math/rand/v2"
	"testing"

	"tamtam/internal/randtest"
)

// moments returns the mean of a function's runs, and the root mean square deviation from want.
func moments(runs int, want float64, f func() float64) (mean, rms float64) {
	for range runs {
		v := f()
		mean += v / float64(runs)
		rms += (v - want) * (v - want) / float64(runs)
	}
	return mean, math.Sqrt(rms)
}

// errors is the accepted number of standard errors of a mean of hundreds of draws. Fewer than one case in 10^9 exceeds
// it, for any seed. The tails of such means are slightly heavier than normal.
const errors = 6.5

// theory fails a test if the mean of many estimates differs from want by more than chance explains, plus a relative
// bias, or if their deviation differs.
func theory(t *testing.T, what string, runs int, want, dev, bias float64, f func() float64) {
	t.Helper()
	mean, rms := moments(runs, want, f)
	if off := math.Abs(mean - want); off > errors*dev/math.Sqrt(float64(runs))+bias*want+1e-9 {
		t.Errorf("%s: %.2f on average, want %.2f +- %.2f", what, mean, want, dev/math.Sqrt(float64(runs)))
	}
	if math.Abs(rms-dev) > 0.25*dev+0.05 {
		t.Errorf("%s: deviates by %.2f, want %.2f", what, rms, dev)
	}
}

// thrown throws n balls into m bins, and returns the number of balls in each.
func thrown(r *rand.Rand, n, m int) []uint32 {
	bins := make([]uint32, m)
	for range n {
		bins[r.IntN(m)]++
	}
	return bins
}

func count(bins []uint32, is func(uint32) bool) (n float64) {
	for _, b := range bins {
		if is(b) {
			n++
		}
	}
	return n
}

func TestLinearCounting(t *testing.T) {
	const m = 1000
	randtest.Run(t, randtest.Cases{Seed: 17}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		for _, n := range []int{1, 20, 300, 1000, 3000} {
			dev := LinearCountingError(float64(n), m) * float64(n)
			theory(t, "linear counting", 800, float64(n), dev, 0.003, func() float64 {
				return LinearCounting(count(thrown(r, n, m), func(c uint32) bool { return c == 0 }), m)
			})
		}
	})
	for _, tt := range []struct{ zero, n, want float64 }{
		{10, 10, 0}, {5, 10, 6.931471805599453}, {1, 1024, 7097.827}, {0, 10, math.Inf(1)}, {11, 10, 0},
	} {
		if got := LinearCounting(tt.zero, tt.n); got != tt.want && math.Abs(got-tt.want) > 1e-3 {
			t.Errorf("%v of %v empty: %v, want %v", tt.zero, tt.n, got, tt.want)
		}
	}
	if LinearCountingError(0, 10) != 0 {
		t.Error("error of no elements")
	}
}

func TestOddSketch(t *testing.T) {
	const m = 2048
	randtest.Run(t, randtest.Cases{Seed: 18}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		for _, n := range []int{1, 30, 300, 1000} {
			theory(t, "odd sketch", 800, float64(n), OddSketchError(float64(n), m), 0.005, func() float64 {
				return OddSketchSize(count(thrown(r, n, m), func(c uint32) bool { return c%2 == 1 }), m)
			})
		}
	})
	if got := OddSketchSize(0, m); got != 0 {
		t.Errorf("empty: %v", got)
	}
	if got := OddSketchSize(m/2, m); !math.IsInf(got, 1) {
		t.Errorf("half are odd: %v", got)
	}
}

// Coupons have no bias, and their bounds hold as often as two standard deviations do.
func TestCouponsDrawn(t *testing.T) {
	const m, p = 32, 1.0 / 128
	for _, n := range []int{0, 10, 60, 150, 250} {
		chance := occupied(n, m, p)
		mean, _ := expected(chance, func(k int) float64 { return CouponsDrawn(k, m, p) })
		held, _ := expected(chance, func(k int) float64 {
			if lower, upper := CouponsBounds(k, m, p, 2); lower <= float64(n) && float64(n) <= upper {
				return 1
			}
			return 0
		})
		t.Logf("%d: %.3f on average, bounds hold with chance %.4f", n, mean, held)
		if math.Abs(mean-float64(n)) > 0.01*float64(n) {
			t.Errorf("%d: %.2f on average", n, mean)
		}
		if held < 0.94 {
			t.Errorf("%d: bounds hold with chance %.3f", n, held)
		}
	}
	lower, upper := CouponsBounds(32, 32, p, 2)
	if all := CouponsDrawn(32, 32, p); !math.IsInf(upper, 1) || lower <= 0 || lower > all ||
		math.Abs(all-128*4.0584952) > 1e-3 {
		t.Errorf("all: %v, %v to %v", all, lower, upper)
	}
	if lower, upper := CouponsBounds(0, 1, 1, 2); lower != 0 || upper < 0 {
		t.Errorf("one coupon that each element draws: %v to %v", lower, upper)
	}
}

// Count-min is never too low, and exceeds its bound no more often than the theory allows.
func TestCountMin(t *testing.T) {
	const width, flows, runs = 64, 200, 300
	randtest.Run(t, randtest.Cases{Seed: 20}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		for rows := 1; rows <= 4; rows++ {
			over := 0
			for range runs {
				total, mine := 0.0, uint64(7)
				counters := make([]Counter, rows)
				for i := range counters {
					counters[i].Value = mine
				}
				for range flows {
					n := uint64(1/math.Pow(r.Float64(), 0.8)) + 1
					total += float64(n)
					for i := range counters {
						if r.IntN(width) == 0 {
							counters[i].Value += n
						}
					}
				}
				got, known := CountMin(counters)
				if got < mine || !known {
					t.Fatalf("%d, want at least %d", got, mine)
				}
				if excess, _ := CountMinExcess(total+7, width, rows); float64(got-mine) > excess {
					over++
				}
			}
			if _, confidence := CountMinExcess(1, width, rows); float64(over) > (1-confidence)*runs {
				t.Errorf("%d rows: %d of %d are too high, want at most %.0f", rows, over, runs, (1-confidence)*runs)
			}
		}
	})
}

func TestFullCounters(t *testing.T) {
	for _, tt := range []struct {
		rows  []Counter
		n     uint64
		known bool
	}{
		{nil, 0, false}, {[]Counter{{0, false}}, 0, true}, {[]Counter{{255, true}, {300, false}, {400, false}}, 300, true},
		{[]Counter{{255, true}, {65_535, true}}, 65_535, false},
	} {
		if n, known := CountMin(tt.rows); n != tt.n || known != tt.known {
			t.Errorf("%v: %d, %v, want %d, %v", tt.rows, n, known, tt.n, tt.known)
		}
	}
}

func TestBloom(t *testing.T) {
	const m, n, rows = 1000, 700, 3
	randtest.Run(t, randtest.Cases{Seed: 21}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		mean, _ := moments(200, 0, func() float64 {
			loads := make([]float64, rows)
			for i := range loads {
				loads[i] = 1 - count(thrown(r, n, m), func(c uint32) bool { return c == 0 })/m
			}
			return BloomFalsePositive(loads)
		})
		// One run deviates by 3.0 % (a row's load by 1.75 %), and the mean of 200 by 0.21 %.
		if want := math.Pow(1-math.Exp(-float64(n)/m), rows); math.Abs(mean/want-1) > errors*0.0022 {
			t.Errorf("%.5f on average, want %.5f", mean, want)
		}
	})
	if BloomFalsePositive([]float64{1, 1}) != 1 || BloomFalsePositive([]float64{0.5, 0}) != 0 {
		t.Error("empty or full")
	}
}

func TestHyperLogLogEdges(t *testing.T) {
	ranks := Ranks([]uint32{0, 0x8000, 0xffff, 0x7fff, 0xc000, 1}, 16)
	if want := [6]uint8{0, 2, 17, 1, 3, 1}; [6]uint8(ranks) != want {
		t.Errorf("%v, want %v", ranks, want)
	}
	if got := HyperLogLog(make([]uint8, 64), 17); got != 0 {
		t.Errorf("empty: %v", got)
	}
	full := make([]uint8, 64)
	for i := range full {
		full[i] = 17
	}
	if got := HyperLogLog(full, 17); !math.IsInf(got, 1) {
		t.Errorf("saturated: %v", got)
	}
	if got := HyperLogLog(append(make([]uint8, 63), 1), 17); math.Abs(got-1) > 0.02 {
		t.Errorf("one element: %v", got)
	}
}
