package randtest

import "math"

// Never is the chance below which a random test may take what it sees for an error: the bound on
// a random quantity is set where chance crosses it less often than that.
const Never = 1e-9

// Tail is the chance that n or more of independent events happen, each with its own chance.
func Tail(chances []float64, n int) float64 {
	at := make([]float64, n+1) // of so many; the last: or more
	at[0] = 1
	for _, p := range chances {
		at[n] += at[max(n-1, 0)] * p * float64(min(n, 1))
		for k := n - 1; k >= 0; k-- {
			at[k] *= 1 - p
			if k > 0 {
				at[k] += at[k-1] * p
			}
		}
	}
	return at[n]
}

// AtMost is a number that the count of events exceeds with a chance below [Never], if as many are
// expected as mean says: by Chernoff's bound, P(X >= k) <= e^(k-mean) (mean/k)^k. It holds for
// independent events, and where each has at most its chance whatever became of those before.
func AtMost(mean float64) int {
	for k := math.Floor(mean) + 1; ; k++ {
		if k-mean+k*math.Log(mean/k) < math.Log(Never) {
			return int(k) - 1
		}
	}
}
