package sketching

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/tam/sketch"
)

// A random HyperLogLog with ideal hashes is outside of its bounds no more often than they claim, even with a small
// number of buckets. The bounds are not wider than a much rarer event would need.
func TestHyperLogLogBounds(t *testing.T) {
	var chances []float64
	missed, many, tight := 0, 0, 0
	fixed := randtest.Cases{Seed: 1, Count: 60, Short: 10}
	ran := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 21))
		m, width := 4<<random.IntN(8), 8+random.IntN(9)
		n := 1 + random.IntN(1<<random.IntN(12+1))
		if random.IntN(4) == 0 { // many buckets
			m, width = 256<<random.IntN(2), 12+random.IntN(5)
			n = 4*m + 1 + random.IntN(4*m)
		}
		const draws = 200
		l := alarm(math.Log(2 * 20)) // a false alarm for one value in 20
		lower, upper := l.hyperLogLog(float64(n), float64(m), width)
		if lower > float64(n) || upper < float64(n) {
			t.Fatalf("%d elements in %d buckets of %d bits: %v to %v", n, m, width, lower, upper)
		}
		// With many buckets the estimate is about normal, and e^-l is the tail at sqrt(2l) deviations.
		if normal := math.Sqrt(2*float64(l)) * 1.04 / math.Sqrt(float64(m)); m >= 256 && n > 4*m && n < m<<(width-3) {
			if many++; max(upper/float64(n)-1, 1-lower/float64(n)) < 1.5*normal {
				tight++
			}
		}
		for range draws {
			words := make([]uint32, m)
			for range n {
				i := random.IntN(m)
				words[i] = max(words[i], random.Uint32N(1<<width))
			}
			v := sketch.HyperLogLog(sketch.Ranks(words, width), width+1)
			if chances = append(chances, 1./20); v < lower || v > upper {
				missed++
			}
		}
	})
	t.Logf("%d of %d are outside", missed, len(chances))
	if p := randtest.Tail(chances, missed); p < randtest.Never {
		t.Errorf("%d of %d are outside, which has a chance of %.2g", missed, len(chances), p)
	}
	if ran.Whole(fixed) && (tight < many || many < 1) {
		t.Errorf("bounds of %d of %d sketches of many buckets are as tight as they should be", tight, many)
	}
}

// One of 480 values of HyperLogLog, of which 40 had 16 buckets, had a relative error of 1.978. The logarithm of an
// estimate with so small a number of buckets is not normal. A bound that assumed so was 1.829.
func TestFewBucketsHaveAHeavyTail(t *testing.T) {
	_, upper := alarmOf(480).hyperLogLog(120_000, 16, 16)
	if re := upper/120_000 - 1; re < 1.978 || re > 20 {
		t.Errorf("the relative error of 16 buckets is at most %.3f, want at least 1.978", re)
	}
	_, upper = alarmOf(480).hyperLogLog(120_000, 4096, 16)
	if re := upper/120_000 - 1; re < 4*1.04/64 || re > 0.2 {
		t.Errorf("the relative error of 4096 buckets is at most %.3f, want about 0.1", re)
	}
}

// The number of bits that random elements leave empty is within the bounds as often as they claim.
func TestLinearCountingBounds(t *testing.T) {
	var chances []float64
	missed := 0
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 40, Short: 10}, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 22))
		m := 8 << random.IntN(8)
		n := 1 + random.IntN(2*m)
		lower, upper := alarm(math.Log(2*20)).linearCounting(float64(n), float64(m))
		for range 100 {
			set := make([]bool, m)
			zero := float64(m)
			for range n {
				if i := random.IntN(m); !set[i] {
					set[i] = true
					zero--
				}
			}
			v := sketch.LinearCounting(zero, float64(m))
			if chances = append(chances, 1./20); v < lower || v > upper {
				missed++
			}
		}
	})
	if p := randtest.Tail(chances, missed); p < randtest.Never {
		t.Errorf("%d of %d are outside, which has a chance of %.2g", missed, len(chances), p)
	}
}

// Bernstein's and Chernoff's bounds of sums of rare events hold where a number of standard deviations does not.
func TestDeviationOfRareEvents(t *testing.T) {
	const n, p = 1000, 0.0005
	l := alarm(math.Log(1e4))
	// tail returns the probability of k or more of n events of probability p.
	tail := func(k int) float64 { return randtest.Tail(slices.Repeat([]float64{p}, n), k) }
	k := int(math.Floor(n*p + l.deviation(n*p*(1-p), 1)))
	c := int(math.Floor(l.above(logMoments(n, []weighted{{0, 1 - p}, {1, p}}))))
	sigmas := int(math.Floor(n*p + 3.7*math.Sqrt(n*p))) // a normal variable is above in one of 10,000 cases
	if tail(k+1) > 1e-4 || tail(c+1) > 1e-4 || tail(sigmas+1) < 1e-4 || c > k || tail(c/2) < 1e-4 {
		t.Errorf("more than %d have a chance of %.2g, more than %d of %.2g; more than %d of %.2g", k, tail(k+1), c, tail(c+1),
			sigmas, tail(sigmas+1))
	}
	if b := l.below(logMoments(n, []weighted{{0, 0.5}, {1, 0.5}})); b > 450 || b < 420 {
		t.Errorf("of 1000 coins fewer than %v are heads, want about 432", b)
	}
}
