package result

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"tamtam/internal/randtest"
)

// Each bucket begins where the previous one ends.
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

// A sum or a bucket that would overflow is not added, and Add reports that. Nothing wraps around.
func TestAddTooMuch(t *testing.T) {
	const most, day = math.MaxInt64, int64(24 * 3600 * 1e9)
	for name, tt := range map[string]struct{ a, b Distribution }{
		"sum":       {Distribution{Count: 1, Sum: most - day, Min: day}, Distribution{Count: 1, Sum: day + 1, Min: day}},
		"least sum": {Distribution{Count: 1, Sum: -most, Min: -day}, Distribution{Count: 1, Sum: -2, Min: -2}},
		"bucket": {Distribution{Count: most / 2, Sum: 9, First: 3, Buckets: []uint32{7, math.MaxUint32}},
			Distribution{Count: 1, Sum: 4, First: 4, Buckets: []uint32{1}}},
	} {
		was := tt.a
		if tt.a.Add(tt.b) || !reflect.DeepEqual(tt.a, was) {
			t.Errorf("%s: %+v, want %+v as before", name, tt.a, was)
		}
	}
	d := Distribution{Count: 1, Sum: most - day, Min: day, Max: day}
	if !d.Add(Distribution{Count: 1, Sum: day, Min: day, Max: day}) || d.Sum != most || d.Count != 2 {
		t.Errorf("%+v: want a sum that just fits", d)
	}
	if !d.Add(Distribution{Count: 1}) || d.Sum != most || d.Min != 0 {
		t.Errorf("%+v: want a latency of 0 more", d)
	}
}

// A quantile is within its bounds, also for distributions that were added up.
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

// A distribution with more buckets than there are, as a damaged file may have, is not added.
func TestAddTooManyBuckets(t *testing.T) {
	d := Distribution{Count: 1, Sum: 5, Min: 5, Max: 5, First: 5, Buckets: []uint32{1}}
	was := d
	if d.Add(Distribution{Count: 9, First: 250, Buckets: make([]uint32, 9)}) || d.Count != was.Count {
		t.Errorf("%+v: want %+v", d, was)
	}
}
