package answer_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tamtam/flymonorch/answer"
	"tamtam/internal/randtest"
	"tamtam/tam/flymon"
	"tamtam/tam/sketch"
)

// sources returns the reading of a task after packets from these sources, in random order and often more than one per
// source.
func sources(t *testing.T, random *rand.Rand, width int, memory uint32, numbers []uint32) *answer.Reading {
	t.Helper()
	r := newRun(t, width, "none", "similarity(src-ip)", flymon.OddSketch, memory, 0)
	var packets []uint32
	for _, n := range numbers {
		for range 1 + random.IntN(4) {
			packets = append(packets, n)
		}
	}
	random.Shuffle(len(packets), func(i, j int) { packets[i], packets[j] = packets[j], packets[i] })
	for i, n := range packets {
		r.send(n, 1, uint64(i)+1)
	}
	return r.reading()
}

func numbers(from, to int) (list []uint32) {
	for i := from; i < to; i++ {
		list = append(list, uint32(i))
	}
	return list
}

// bitsOf returns the numbers of bits in an odd sketch's Bloom filter and in its parity array.
func bitsOf(r *answer.Reading) (filter, odd float64) {
	units, row := r.Layout.Units, r.Sketch.Rows[0]
	return float64(len(units[row[0]].Map) * len(r.Registers[row[0]])),
		float64(len(units[row[0]].Map) * len(r.Registers[row[1]]))
}

// The same sources in two epochs are similar, regardless of how many packets each sends. A difference arises only if
// two sources have the same bit of the filter and arrive in another order: half of n^2/2m pairs, for m bits.
func TestTheSameSetIsAlike(t *testing.T) {
	const n = 2999
	randtest.Run(t, randtest.Cases{Seed: 7}, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 5))
		a, b := sources(t, random, 32, 5*8192, numbers(0, n)), sources(t, random, 32, 5*8192, numbers(0, n))
		filter, _ := bitsOf(a)
		// The odd sketch is so empty that its own error is below a tenth, and so is the error of the sets' sizes.
		most := 1.1 * 2 * float64(randtest.AtMost(n*n/4/filter))
		got := answer.Similarity(a, b)
		if j, d := got[flymon.MetricJaccard], got[flymon.MetricDifference]; d.Value > most || j.Value < 1-1.1*most/n ||
			most > n/20 {
			t.Errorf("similarity %+v, difference %+v, want 1 and 0, or %.0f at most", j, d, most)
		}
	})
}

// Two sets' difference and Jaccard similarity are within their bounds at least as often as the confidence promises.
// Each case has one pair of sets, so misses are independent, and their number must have a chance of at least 10^-9. The
// bounds are also tight: their median width is at most twice the width that known values would give. An error of more
// than a tenth needs many standard errors, so wider bounds never occur for half of 120 pairs.
func TestSimilarity(t *testing.T) {
	fixed := randtest.Cases{Seed: 1, Count: 120, Short: 30}
	var chances, ratios []float64
	missed := map[string]int{}
	ran := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 4))
		one, other, from := 1+random.IntN(6000), 1+random.IntN(6000), random.IntN(1<<random.IntN(13))
		width, memory := []int{16, 32}[random.IntN(2)], uint32(5*2048)<<random.IntN(3)
		a := sources(t, random, width, memory, numbers(0, one))
		got := answer.Similarity(a, sources(t, random, width, memory, numbers(from, from+other)))
		common := max(0, min(one, from+other)-from)
		all := one + other - common
		for name, want := range map[string]float64{flymon.MetricJaccard: float64(common) / float64(all),
			flymon.MetricDifference: float64(all - common)} {
			if e := got[name]; want < e.Lower || e.Upper < want {
				missed[name]++
				t.Logf("%s is %+v, want %v", name, e, want)
			}
		}
		j := got[flymon.MetricJaccard]
		chances = append(chances, 1-j.Confidence)
		ratios = append(ratios, (j.Upper-j.Lower)/similarityWidth(a, float64(one), float64(other), float64(all)))
	})
	for name, n := range missed {
		if p := randtest.Tail(chances, n); p < randtest.Never {
			t.Errorf("%s is outside its bounds %d times of %d, which has a chance of %.2g", name, n, len(chances), p)
		}
	}
	slices.Sort(ratios)
	t.Logf("not within: %v of %d; the bounds are %.2f of theory's apart in the median, at most %.2f", missed, ran.Count,
		ratios[len(ratios)/2], ratios[len(ratios)-1])
	if median := ratios[len(ratios)/2]; ran.Whole(fixed) && median > 2 {
		t.Errorf("the bounds of the similarity are %.2f of theory's apart, in the median", median)
	}
}

// similarityWidth returns the theoretical distance between the bounds of the similarity J = 1 - d/u. It adds two
// standard errors on both sides of the difference, by the odd sketch, and of the sizes, by linear counting of the
// filters' bits. It also adds the elements that the filters mistook for others.
func similarityWidth(r *answer.Reading, one, other, union float64) float64 {
	filter, odd := bitsOf(r)
	d := 2*union - one - other
	sizes, lack := 0.0, 0.0
	for _, n := range []float64{one, other} {
		dev := sketch.LinearCountingError(n, filter) * n
		sizes += 2 * dev
		lack += n - filter*(1-math.Exp(-n/filter)) + 2*dev
	}
	return 2*(2*sketch.OddSketchError(d, odd)+lack)/union*(1-d/union/2) + d*sizes/union/union
}

// Sketches of different sizes cannot be compared, and an odd sketch has no answer for single elements.
func TestSketchesThatAreNotAlike(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 7}, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 6))
		a := sources(t, random, 32, 5*2048, numbers(0, 10))
		if got := answer.Similarity(a, sources(t, random, 32, 5*4096, numbers(0, 10))); got != nil {
			t.Errorf("sketches of different sizes: %v", got)
		}
		if e := a.Flow(flymon.Vector{}); e.Value != 0 || e.Confidence != 0 {
			t.Errorf("an odd sketch does not know elements: %+v", e)
		}
	})
}
