package sketching

import (
	"math"
	"slices"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/lab/chance"
)

// The predicted noise in a bucket, and the frequency with which flows meet in two and in three rows, agree with random
// draws of buckets.
func TestNoise(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	const draws, bits = 12_000, 12
	sizes := shares(6000, 3000, 1000)
	shifts := []uint8{0, 4, 8} // rows overlap by 8 bits
	p := newPopulation(sizes, 64)
	one, all, independent := p.beyond(1<<bits), p.least(1<<bits, 3, shifts), p.least(1<<bits, 3, nil)
	randtest.Run(t, randtest.Cases{Seed: 3}, func(t *testing.T, seed uint64) {
		r := chance.New(seed, "noise")
		var rows, least [64]float64
		for range draws {
			mine := uint32(r.Next())
			var noise [3]uint32
			for _, n := range sizes {
				differ := mine ^ uint32(r.Next())
				for row, shift := range shifts {
					if differ>>shift&(1<<bits-1) == 0 {
						noise[row] += n
					}
				}
			}
			lowest := min(noise[0], noise[1], noise[2])
			for y := range rows {
				if int(noise[0]) >= y {
					rows[y]++
				}
				if int(lowest) >= y {
					least[y]++
				}
			}
		}
		for _, y := range []int{1, 2, 3, 10, 30} {
			for _, x := range []struct {
				name      string
				got, want float64
			}{{"one row", rows[y] / draws, one[y]}, {"the least of three rows", least[y] / draws, all[y]}} {
				// Bernstein's inequality: draws deviate further once in 10^10 cases. Theory includes rows that meet
				// only to first order.
				const l = 23.7 // ln(2 * 10^10)
				off := (l/3+math.Sqrt(l*l/9+2*l*draws*x.want*(1-x.want)))/draws + 0.05*x.want
				if math.Abs(x.got-x.want) > off {
					t.Errorf("%s has %d or more with chance %.5f, want %.5f +- %.5f", x.name, y, x.got, x.want, off)
				}
			}
		}
	})
	if all[1] < 1.01*independent[1] {
		t.Errorf("rows that overlap have noise with chance %.5f, independent ones with %.5f", all[1], independent[1])
	}
}

// The noise of very full buckets is that of a normal distribution.
func TestNoiseOfFullBuckets(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	sizes := make([]uint32, 64_000)
	for i := range sizes {
		sizes[i] = 1
	}
	p := newPopulation(sizes, 2000)
	beyond := p.beyond(64) // 1000 +- 31.6
	for y, want := range map[int]float64{900: 0.9992, 1000: 0.5, 1032: 0.16, 1100: 0.0008} {
		if math.Abs(beyond[y]-want) > 0.02 {
			t.Errorf("%d or more: %.4f, want %.4f", y, beyond[y], want)
		}
	}
}

func TestCollected(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	// The mean number of draws until all are collected is the sum over n of the probability that some are missing.
	for _, tt := range []struct {
		m     int
		shift float64
	}{{1, 3}, {16, 8}, {32, 7}} {
		q := math.Exp2(-tt.shift)
		sum, want := 0.0, 0.0
		for n := range 8000 {
			sum += 1 - collected(tt.m, q, n)
		}
		for i := 1; i <= tt.m; i++ {
			want += 1 / (float64(i) * q)
		}
		if math.Abs(sum-want) > 0.001*want {
			t.Errorf("%d coupons of 2^-%v: %.2f draws, want %.2f", tt.m, tt.shift, sum, want)
		}
	}
}

func TestF1(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	sizes := []uint32{100, 90, 10, 10, 5}
	always := func(p float64) detector {
		return func(size uint32) (low, mid, high float64) {
			if size >= 50 {
				return 1, 1, 1
			}
			return p, p, p
		}
	}
	for p, want := range map[float64]float64{0: 1, 1: 2. * 2 / (2 + 3 + 2)} {
		if got := alarmOf(1).f1(sizes, 50, 1, 0, always(p)); math.Abs(got.Expected-want) > 1e-9 || got.Lower > want ||
			got.Upper < want {
			t.Errorf("false reports with chance %v: %+v, want %v", p, got, want)
		}
	}
	for _, tt := range []struct {
		right, wrong, actual int
		want                 float64
	}{{0, 0, 0, 1}, {0, 0, 5, 0}, {0, 5, 0, 0}, {2, 3, 2, 2. * 2 / (2 + 3 + 2)}, {2, 0, 4, 2. * 2 / (2 + 4)}} {
		if got := scoreReports(tt.right, tt.wrong, tt.actual)["f1"]; math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%d right, %d wrong, %d to be found: F1 is %v, want %v", tt.right, tt.wrong, tt.actual, got, tt.want)
		}
	}
}

// Sampled sizes have the expected mean, and probabilities add up to 1.
func TestBinomial(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	for _, tt := range []struct {
		n int
		q float64
	}{{0, 0.5}, {1, 0.25}, {100, 0.5}, {5000, 0.125}, {70_000, 0.5}, {9, 1}} {
		var sum, mean float64
		binomial(tt.n, tt.q, func(k int, chance float64) {
			sum += chance
			mean += float64(k) * chance
		})
		if want := float64(tt.n) * tt.q; math.Abs(sum-1) > 1e-6 || math.Abs(mean-want) > 1e-5*want {
			t.Errorf("%d with chance %v: sum %v, mean %v, want 1 and %v", tt.n, tt.q, sum, mean, want)
		}
	}
}

func TestFalsePositives(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	// 40 KB in three rows and 20000 members: the paper's number beats this.
	m := 40_000.0 * 8 / 3
	if p := alarmOf(1).falsePositives(20_000, []float64{m, m, m}, 75_000); p.Expected < 0.0046 || p.Expected > 0.0051 {
		t.Errorf("%+v, want 0.5 %%", p)
	}
}

// Flows that share buckets are reported together. Bounds of F1 allow for that. Otherwise many runs of a Count-Min
// Sketch with ideal hashes would be outside.
func TestReportsGoTogether(t *testing.T) {
	const flows, buckets, rows, threshold = 40000, 512, 3, 74
	sizes := make([]uint32, flows)
	for i := range sizes {
		sizes[i] = 1
	}
	sizes = append(sizes, 100, 110, 120)
	report := counting(newPopulation(sizes, threshold+1).least(buckets, rows, nil), threshold, 1)
	together := alarmOf(1).f1(sizes, threshold, rows, float64(len(sizes))/buckets, report)
	alone := alarmOf(1).f1(sizes, threshold, rows, 0, report)
	random := chance.New(1, "together")
	var outside, outsideAlone int
	for range 200 {
		var counters [rows][buckets]uint32
		at := make([][rows]int, len(sizes))
		for i, n := range sizes {
			for r := range rows {
				at[i][r] = int(random.Below(buckets))
				counters[r][at[i][r]] += n
			}
		}
		right, wrong := 0, 0
		for i, n := range sizes {
			least := min(counters[0][at[i][0]], counters[1][at[i][1]], counters[2][at[i][2]])
			switch {
			case least >= threshold && n >= threshold:
				right++
			case least >= threshold:
				wrong++
			}
		}
		f := scoreReports(right, wrong, 3)["f1"]
		outside += int(boolean(f < together.Lower || f > together.Upper))
		outsideAlone += int(boolean(f < alone.Lower || f > alone.Upper))
	}
	t.Logf("of 200 runs %d are outside of %+v, %d of %+v", outside, together, outsideAlone, alone)
	if outside > 0 || outsideAlone < 20 {
		t.Errorf("%d of 200 runs are outside of the bounds, %d of those without what goes together", outside, outsideAlone)
	}
}

// Sums are computed in a fixed order, so that they are the same to the last bit in every run.
func TestTheoryIsTheSameInEveryRun(t *testing.T) {
	sizes := make([]uint32, 500)
	for i := range sizes {
		sizes[i] = uint32(i + 1)
	}
	report := func(size uint32) (low, mid, high float64) {
		p := 1 / math.Sqrt(float64(size)+0.1)
		return p / 3, p / 2, p
	}
	score, left := alarmOf(1).f1(sizes, 100, 3, 0.7, report), sampled(sizes, 0.37, 400).count
	for range 50 {
		if got := alarmOf(1).f1(sizes, 100, 3, 0.7, report); got != score {
			t.Fatalf("F1 %v, and then %v", score, got)
		}
		if got := sampled(sizes, 0.37, 400).count; !slices.Equal(got, left) {
			t.Fatal("what is left of a population by sampling differs")
		}
	}
}
