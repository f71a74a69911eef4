package randtest

import "math"

// Never is the probability below which a random test may treat an outcome as an error. A test chooses the bound of a
// random quantity so that chance exceeds it with a lower probability.
const Never = 1e-9

// Tail returns the probability that n or more of independent events happen, each with its own probability.
func Tail(chances []float64, n int) float64 {
	at := make([]float64, n+1) // probabilities by number of events; the last is for n or more
	at[0] = 1
	for _, p := range chances {
		at[n] += float64(at[max(n-1, 0)] * p * float64(min(n, 1)))
		for k := n - 1; k >= 0; k-- {
			at[k] *= 1 - p
			if k > 0 {
				at[k] += float64(at[k-1] * p)
			}
		}
	}
	return at[n]
}

// AtMost returns a number that a count of events with this mean exceeds with a probability below [Never]. It uses
// Chernoff's bound, P(X >= k) <= e^(k-mean) (mean/k)^k. The bound applies to independent events. It also applies to
// dependent ones if the probability of an event never exceeds its assumed value, whatever happened before.
func AtMost(mean float64) int {
	for k := math.Floor(mean) + 1; ; k++ {
		if k-mean+float64(k*math.Log(mean/k)) < math.Log(Never) {
			return int(k) - 1
		}
	}
}
