package sketch

import (
	"math"
	"math/rand/v2"
	"testing"

	"tamtam/internal/randtest"
)

// index is that of the Pareto distribution of flow sizes. reaching returns the probability of a size or a larger one.
const index = 1 / 1.2

func reaching(size float64) float64 { return math.Pow(size, -index) }

// limit returns MRAC's result for infinitely many counters with load flows each on average. It returns the number of
// flows and of one-packet flows, relative to the true numbers.
func limit(load float64, rounds int) (flows, ones float64) {
	rate, seen := make([]float64, maxDense+1), make([]float64, maxDense+1)
	seen[0] = math.Exp(-load)
	above := 1 - seen[0]
	for v := 1; v <= maxDense; v++ { // Panjer's recursion
		rate[v] = load * (reaching(float64(v)) - reaching(float64(v+1)))
		for s := 1; s <= v; s++ {
			seen[v] += float64(s) * rate[s] * seen[v-s] / float64(v)
		}
		above -= seen[v]
	}
	got := firstRates(seen, 1)
	for range rounds {
		got, _ = nextRates(got, seen, above, 1)
	}
	flows = above
	for _, r := range got {
		flows += r
	}
	return flows / load, got[1] / rate[1]
}

// With enough counters MRAC finds the distribution. Its remaining error comes from the number of counters and of
// rounds. Counters with two flows need more rounds.
func TestMRACInTheLimit(t *testing.T) {
	for _, tt := range []struct {
		load        float64
		rounds      int
		flows, ones float64 // maximum relative shortfalls
	}{{0.5, rounds, 1e-4, 1e-4}, {1, rounds, 1e-3, 1e-3}, {2, rounds, 0.02, 0.07}, {2, 300, 1e-3, 1e-3}} {
		flows, ones := limit(tt.load, tt.rounds)
		if flows > 1+1e-4 || ones > 1+1e-4 || flows < 1-tt.flows || ones < 1-tt.ones {
			t.Errorf("load %v, %d rounds: %.5f of the flows and %.5f of those of one packet", tt.load, tt.rounds, flows, ones)
		}
	}
}

// An array is an array of counters with the flows that they counted.
type array struct {
	words      []uint32
	flows      []int // number of flows in each counter
	single     []int // number of one-packet flows in each counter
	sizes      []int // sizes of all flows
	ones       float64
	sums       []int       // values of the counters in use
	zero, once float64     // number of counters with value 0, and with value 1
	of         map[int]int // number of flows of each size
}

func newArray(r *rand.Rand, m, flows int) *array {
	a := &array{words: make([]uint32, m), flows: make([]int, m), single: make([]int, m), of: map[int]int{}}
	for range flows {
		n, c := int(math.Min(5000, 1/math.Pow(r.Float64(), 1/index))), r.IntN(m)
		if n == 1 {
			a.ones++
			a.single[c]++
		}
		a.words[c] += uint32(n)
		a.flows[c]++
		a.of[n]++
		a.sizes = append(a.sizes, n)
	}
	for _, w := range a.words {
		switch w {
		case 0:
			a.zero++
			continue
		case 1:
			a.once++
		}
		a.sums = append(a.sums, int(w))
	}
	return a
}

// hidden returns the number of flows, and of one-packet flows, that share a counter above maxGuess. MRAC treats such a
// counter as one flow, unless another counter shows the size of its largest flow.
func (a *array) hidden() (flows, ones float64) {
	for c, w := range a.words {
		if w > maxGuess {
			flows += float64(a.flows[c] - 1)
			ones += float64(a.single[c])
		}
	}
	return flows, ones
}

// entropyDev returns the standard deviation of the entropy that the counters lack against the flows. Flows a and b
// share a counter with probability 1/m. That makes it (a log(1+b/a) + b log(1+a/b)) / N less.
func (a *array) entropyDev() float64 {
	total, square := 0.0, 0.0
	for s, n := range a.of {
		total += float64(s * n)
		for with, k := range a.of {
			pairs := float64(n*k) / 2
			if s == with {
				pairs = float64(n*(n-1)) / 2
			}
			x, y := float64(s), float64(with)
			less := x*math.Log2(1+y/x) + y*math.Log2(1+x/y)
			square += pairs * less * less
		}
	}
	return math.Sqrt(square/float64(len(a.words))) / total
}

// MRAC finds the distribution of Pareto's flows, for fewer and for more flows than counters. It invents no flows, but
// misses hidden ones. An error of 6.5 standard errors or more is chance once in 10^10:
//
//   - The number of flows follows from the number of zero counters, at least as well as by linear counting:
//     sqrt(m (e^t-t-1)) (Whang et al., theorem 4.2).
//   - The number of one-packet flows follows from the counters that are 1 and those that are 0, as m k1/k0.
//     The square of the relative error is 1/k1 + 1/k0, minus 1/n1, because their number is not random.
//   - The entropy is at least that of the counters, because sizes are split and never joined. It is at most that of
//     the flows, plus the error of what the counters lack.
func TestMRAC(t *testing.T) {
	const m = 4096
	type part struct{ flows, ones float64 }
	limits := map[float64]part{0: {1, 1}}
	for _, load := range []float64{0.5, 1, 2} {
		flows, ones := limit(load, rounds)
		limits[load] = part{flows, ones}
	}
	randtest.Run(t, randtest.Cases{Seed: 3}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		for _, load := range []float64{0, 0.5, 1, 2} {
			n := load * m
			a := newArray(r, m, int(n))
			d, most, lack := MRAC(a.words), limits[load], part{}
			if n == 0 {
				if len(d) > 0 || d.Entropy() != 0 {
					t.Errorf("of nothing: %v", d)
				}
				continue
			}
			within := func(what string, got, low, high float64) {
				if t.Logf("load %v: %.2f %s (%.2f to %.2f)", load, got, what, low, high); got < low || got > high {
					t.Errorf("load %v: %.3f %s, want %.3f to %.3f", load, got, what, low, high)
				}
			}
			lack.flows, lack.ones = a.hidden()
			off := errors * LinearCountingError(n, m) * n
			within("flows", d.Flows(), most.flows*n-lack.flows-off, n+off)
			off = errors * math.Sqrt(1/a.once+1/a.zero-1/a.ones) * a.ones
			within("flows of one packet", d[1], most.ones*a.ones-lack.ones-off, a.ones+off)
			within("bits", d.Entropy(), entropy(a.sums), entropy(a.sizes)+errors*a.entropyDev())
		}
	})
}

// Known entropies: that of equal flows is log2 of their number, that of one flow is 0.
func TestEntropy(t *testing.T) {
	for _, tt := range []struct {
		d    Distribution
		want float64
	}{{Distribution{}, 0}, {Distribution{7: 1}, 0}, {Distribution{3: 64}, 6}, {Distribution{1: 2, 2: 1}, 1.5}} {
		if got := tt.d.Entropy(); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("%v: %v, want %v", tt.d, got, tt.want)
		}
	}
}

// Sizes and numbers are finite for any counters.
func TestMRACOfAnything(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 9}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		anything := make([]uint32, 1<<11)
		for i := range anything {
			anything[i] = r.Uint32() >> r.IntN(32)
		}
		full, large := make([]uint32, 64), []uint32{5000, 5000, 1 << 31, 0}
		for i := range full {
			full[i] = 1000
		}
		for name, words := range map[string][]uint32{"none": nil, "one": {1}, "anything": anything, "full": full,
			"large": large} {
			d := MRAC(words)
			n := d.Flows()
			if math.IsNaN(n) || math.IsInf(n, 0) || math.IsNaN(d.Entropy()) || (n == 0) != (name == "none") {
				t.Errorf("%s: %v flows, entropy %v", name, n, d.Entropy())
			}
		}
	})
}
