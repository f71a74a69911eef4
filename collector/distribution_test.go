package collector

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"tamtam/internal/randtest"
)

// Equal multisets have equal summaries, whatever their order and their division among merged distributions. Count,
// extremes and average are exact, and percentiles are as accurate as the summary states.
func TestSummaryIsOfTheMultiset(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 92_000_000, Count: 200, Short: 20}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		values := randomDurations(r)
		exact := distribution{exact: true}
		for _, v := range values {
			exact.add(v)
		}
		want := exact.summary()
		var once Summary
		for i := range 4 {
			r.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
			parts := make([]distribution, 1+r.IntN(4)*(i&1))
			for _, v := range values {
				parts[r.IntN(len(parts))].add(v)
			}
			var all distribution
			for i := range parts {
				all.merge(&parts[i])
			}
			got := all.summary()
			if i == 0 {
				once = got
			}
			if got != once {
				t.Fatalf("divided into %d: %+v, before %+v", len(parts), got, once)
			}
		}
		if once.Count != want.Count || once.Min != want.Min || once.Max != want.Max || once.Avg != want.Avg {
			t.Errorf("%+v, exactly %+v", once, want)
		}
		near(t, once, want)
		if distinct := len(exact.values); (once.Within > 0) != (distinct > exactValues) {
			t.Errorf("of %d different values percentiles are said to be within %g", distinct, once.Within)
		}
	})
}

// near checks the percentiles of a summary.
func near(t *testing.T, got, want Summary) {
	t.Helper()
	for i, p := range [][2]int64{{got.P50, want.P50}, {got.P90, want.P90}, {got.P99, want.P99}} {
		off := math.Abs(float64(p[0]) - float64(p[1]))
		if limit := math.Abs(float64(p[1]))*got.Within + 1; off > limit || got.Within == 0 && off != 0 {
			t.Errorf("percentile %d of 3 is %d, exactly %d: off by %g, at most %g is said", i+1, p[0], p[1], off, limit)
		}
		if p[0] < got.Min || p[0] > got.Max {
			t.Errorf("percentile %d of 3 is %d, beyond %d to %d", i+1, p[0], got.Min, got.Max)
		}
	}
}

// randomDurations returns few or many values, of one magnitude or of all, negative if clocks disagree.
func randomDurations(r *rand.Rand) []int64 {
	n := 1 + r.IntN([]int{3, 300, 3000}[r.IntN(3)])
	kind, center, bits := r.IntN(4), r.Int64N(1<<40), r.IntN(63)
	values := make([]int64, n)
	for i := range values {
		switch kind {
		case 0: // values in a small range around one latency
			values[i] = center + r.Int64N(300)
		case 1: // values of any magnitude
			values[i] = r.Int64() >> r.IntN(64)
		case 2: // values of any magnitude and sign
			values[i] = int64(r.Uint64()) >> r.IntN(64)
		case 3: // values of one magnitude and both signs
			values[i] = r.Int64N(2<<bits-1|1) - 1<<bits
		}
	}
	return append(values, [][]int64{nil, {math.MinInt64}, {math.MaxInt64, math.MinInt64, 0}}[r.IntN(3)]...)
}

// An exact distribution with a merged sketch reports that it is not exact. Merging an exact distribution into a sketch
// has the same result as adding its values to the sketch.
func TestMergeOfExactAndSketch(t *testing.T) {
	fill := func(d *distribution, from, to int64) {
		for v := from; v < to; v++ {
			d.add(v * v * 1_000_003)
		}
	}
	var whole, sketch, other distribution
	exact, toBeExact := distribution{exact: true}, distribution{exact: true}
	fill(&whole, -500, 1500)
	fill(&sketch, -500, 500)
	fill(&other, -500, 500)
	fill(&exact, 500, 1500)
	fill(&toBeExact, 500, 1500)
	sketch.merge(&exact)
	toBeExact.merge(&other)
	for _, d := range []*distribution{&sketch, &toBeExact} {
		if got, want := d.summary(), whole.summary(); got != want || got.Within != sketchWithin {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// A distribution has a maximum memory for any number of distinct values. With exact it keeps all of them.
func TestDistributionIsBounded(t *testing.T) {
	var d distribution
	e := distribution{exact: true}
	for i := range int64(100_000) {
		d.add(i*i - 1<<20)
		e.add(i*i - 1<<20)
	}
	if len(d.values) > 0 || len(e.values) < 90_000 {
		t.Errorf("kept %d and, exactly, %d values", len(d.values), len(e.values))
	}
	near(t, d.summary(), e.summary())
}

// BenchmarkDistribution adds a million distinct latencies. bytes is the resulting memory of one distribution.
func BenchmarkDistribution(b *testing.B) {
	values := make([]int64, 1<<20)
	r := rand.New(rand.NewPCG(1, 0))
	for i := range values {
		values[i] = 1000 + int64(i)*7
	}
	r.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
	for _, exact := range []bool{false, true} {
		b.Run(map[bool]string{false: "sketch", true: "exact"}[exact], func(b *testing.B) {
			for b.Loop() {
				before := heapInUse()
				d := distribution{exact: exact}
				for _, v := range values {
					d.add(v)
				}
				b.ReportMetric(float64(heapInUse()-before), "bytes")
				if got, want := d.summary().Count, int64(len(values)); got != want {
					b.Fatalf("%d values, want %d", got, want)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(values)), "ns/value")
		})
	}
}

func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A distribution merged into an empty one keeps its extremes, whatever their sign.
func TestMergeIntoNothing(t *testing.T) {
	for _, first := range []int64{1000, -5000} {
		var part, all distribution
		for i := range int64(2 * exactValues) {
			part.add(first + i)
		}
		all.merge(&part)
		if got, want := all.summary(), part.summary(); got != want {
			t.Errorf("%+v, merged into nothing %+v", want, got)
		}
	}
}
