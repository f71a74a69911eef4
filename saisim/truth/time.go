package truth

import "math/bits"

// A Time is an instant of simulated time, the same for all nodes: seconds and picoseconds since its start.
type Time struct{ Sec, Ps uint64 }

const second = 1_000_000_000_000 // ps

// At returns the time early/den cycles before a cycle of a clock of hz, rounded to picoseconds. early is below den. If
// early is 0, den may have any value.
func At(cycle, early, den, hz uint64) Time {
	t := Time{Sec: cycle / hz, Ps: mulDiv(cycle%hz, second, hz)}
	if early == 0 {
		return t
	}
	part := mulDiv(early, second, den) / hz
	if part > t.Ps {
		t.Sec, t.Ps = t.Sec-1, t.Ps+second
	}
	t.Ps -= part
	return t
}

// Add returns t + u.
func (t Time) Add(u Time) Time {
	t.Sec, t.Ps = t.Sec+u.Sec, t.Ps+u.Ps
	if t.Ps >= second {
		t.Sec, t.Ps = t.Sec+1, t.Ps-second
	}
	return t
}

// Since returns t - u in picoseconds. It returns 0 if t is before u, and at most 106 days.
func (t Time) Since(u Time) uint64 {
	const most = 1<<63 - 1
	if t.Sec < u.Sec || t.Sec == u.Sec && t.Ps < u.Ps {
		return 0
	}
	if t.Sec-u.Sec >= most/second {
		return most
	}
	return (t.Sec-u.Sec)*second + t.Ps - u.Ps
}

// mulDiv returns a * b / c. a must be below c.
func mulDiv(a, b, c uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	q, _ := bits.Div64(hi, lo, c)
	return q
}

// delays summarises delays in picoseconds, exactly except for the buckets.
type delays struct {
	n, min, max  uint64
	sumHi, sumLo uint64
	// The width of a bucket is at most a sixteenth of the values in it.
	buckets []uint64
}

const (
	subBuckets = 16
	numBuckets = (64 - 3) * subBuckets
)

func bucket(ps uint64) int {
	if ps < subBuckets {
		return int(ps)
	}
	e := bits.Len64(ps) - 5
	return e*subBuckets + int(ps>>e)
}

// bucketEnd returns the largest delay of a bucket.
func bucketEnd(i int) uint64 {
	if i < 2*subBuckets {
		return uint64(i)
	}
	e := i/subBuckets - 1
	return uint64(i-e*subBuckets+1)<<e - 1
}

func (d *delays) add(ps uint64) {
	if d.n == 0 || ps < d.min {
		d.min = ps
	}
	d.max = max(d.max, ps)
	d.n++
	var carry uint64
	d.sumLo, carry = bits.Add64(d.sumLo, ps, 0)
	d.sumHi += carry
	if d.buckets != nil {
		d.buckets[bucket(ps)]++
	}
}

// quantile returns the bucket end that at least n of m delays do not exceed.
func (d *delays) quantile(n, m uint64) uint64 {
	seen, need := uint64(0), (d.n*n+m-1)/m
	for i, count := range d.buckets {
		if seen += count; seen >= need {
			return min(bucketEnd(i), d.max)
		}
	}
	return d.max
}

func (d *delays) mean() uint64 {
	if d.n == 0 {
		return 0
	}
	q, _ := bits.Div64(d.sumHi%d.n, d.sumLo, d.n)
	return q
}
