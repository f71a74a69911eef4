package answer_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tamtam/flymon"
	"tamtam/flymonorch/answer"
	"tamtam/internal/randtest"
)

// sources is the reading of a task after packets of sources of these numbers, in any order and
// often more than one of each.
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

// The same sources in two epochs are alike, however many packets each sends.
func TestTheSameSetIsAlike(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: seed}, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 5))
		a, b := sources(t, random, 32, 5*8192, numbers(0, 2999)), sources(t, random, 32, 5*8192, numbers(0, 2999))
		got := answer.Similarity(a, b)
		if j, d := got[flymon.MetricJaccard], got[flymon.MetricDifference]; j.Value < 0.99 || j.Lower < 0.97 || j.Upper < 1 || d.Lower > 0 {
			t.Errorf("similarity %+v, difference %+v, want 1 and 0", j, d)
		}
	})
}

// Two sets' difference and Jaccard similarity are within their bounds at least as often as these
// say, and the bounds say something: each case has one pair of sets.
func TestSimilarity(t *testing.T) {
	fixed := randtest.Cases{Seed: 1, Count: 120, Short: 30}
	var claimed, variance float64
	var widths []float64
	held := map[string]float64{}
	ran := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 4))
		one, other, from := 1+random.IntN(6000), 1+random.IntN(6000), random.IntN(1<<random.IntN(13))
		width, memory := []int{16, 32}[random.IntN(2)], uint32(5*2048)<<random.IntN(3)
		a := sources(t, random, width, memory, numbers(0, one))
		got := answer.Similarity(a, sources(t, random, width, memory, numbers(from, from+other)))
		common := max(0, min(one, from+other)-from)
		all := one + other - common
		for name, want := range map[string]float64{flymon.MetricJaccard: float64(common) / float64(all), flymon.MetricDifference: float64(all - common)} {
			if e := got[name]; e.Lower <= want && want <= e.Upper {
				held[name]++
			} else {
				t.Logf("%s is %+v, want %v", name, e, want)
			}
		}
		j := got[flymon.MetricJaccard]
		claimed, variance = claimed+j.Confidence, variance+j.Confidence*(1-j.Confidence)
		widths = append(widths, j.Upper-j.Lower)
	})
	if !ran.Whole(fixed) {
		return
	}
	for _, name := range []string{flymon.MetricJaccard, flymon.MetricDifference} {
		if least := claimed - 4.8*math.Sqrt(variance); held[name] < least {
			t.Errorf("%s is within its bounds %.0f times, want %.0f", name, held[name], least)
		}
	}
	slices.Sort(widths)
	if median := widths[len(widths)/2]; median > 0.1 {
		t.Errorf("the bounds of the similarity are %.3f apart, in the median", median)
	}
	t.Logf("within: %v of %d; %.3f apart in the median", held, ran.Count, widths[len(widths)/2])
}

// Sketches of different sizes cannot be compared, and do not know elements.
func TestSketchesThatAreNotAlike(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: seed}, func(t *testing.T, seed uint64) {
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
