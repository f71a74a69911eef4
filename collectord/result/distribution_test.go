package result

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tamtam/internal/randtest"
)

// Buckets lie end to end: each begins where the one before ends.
func TestBuckets(t *testing.T) {
	for b := range 248 {
		from := BucketFrom(uint8(b))
		if Bucket(from) != uint8(b) {
			t.Errorf("bucket %d begins with %d, which is in bucket %d", b, from, Bucket(from))
		}
		if b > 0 && Bucket(from-1) != uint8(b-1) {
			t.Errorf("%d is in bucket %d, want %d", from-1, Bucket(from-1), b-1)
		}
	}
	if Bucket(math.MaxInt64) != 247 || Bucket(math.MinInt64) != 0 {
		t.Errorf("the largest and least latencies are in buckets %d and %d", Bucket(math.MaxInt64), Bucket(math.MinInt64))
	}
}

// A quantile lies within its bounds, also of distributions that were added up.
func TestQuantiles(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 100}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		var sum Distribution
		var values []int64
		for range 1 + r.IntN(100) {
			v := r.Int64N(1<<r.IntN(40)+1) - int64(r.IntN(5))
			values = append(values, v)
			sum.Add(Distribution{Count: 1, Sum: v, Min: v, Max: v, First: Bucket(v), Buckets: []uint32{1}})
		}
		slices.Sort(values)
		for _, q := range []float64{0, 0.5, 0.9, 0.99, 1} {
			want := values[max(int(math.Ceil(q*float64(len(values)))), 1)-1]
			if low, high, ok := sum.Quantile(q); !ok || want < low || want > high {
				t.Errorf("quantile %v from %d to %d, %v: want %d", q, low, high, ok, want)
			}
		}
		if sum.Min != values[0] || sum.Max != values[len(values)-1] {
			t.Errorf("%d to %d, want %d to %d", sum.Min, sum.Max, values[0], values[len(values)-1])
		}
	})
}
