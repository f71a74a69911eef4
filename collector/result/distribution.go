package result

import (
	"math"
	"math/bits"
)

// A Distribution is a distribution of latencies in nanoseconds. A Count of 0 means that nothing is known, not that
// latencies were 0.
type Distribution struct {
	Count         int64
	Sum, Min, Max int64
	// Buckets holds counts by magnitude: Buckets[i] is the count of bucket First+i, as in Bucket.
	First   uint8
	Buckets []uint32
}

// Bucket returns the bucket of a latency. There are four buckets in each octave. Negative latencies are in bucket 0.
func Bucket(ns int64) uint8 {
	if ns < 4 {
		return uint8(max(ns, 0))
	}
	octave := bits.Len64(uint64(ns)) - 1
	return uint8((octave-1)*4) + uint8(ns>>(octave-2)&3)
}

// BucketFrom returns the least nonnegative latency of a bucket.
func BucketFrom(bucket uint8) int64 {
	if bucket < 4 {
		return int64(bucket)
	}
	return int64(4+bucket&3) << (bucket/4 - 1)
}

// Add adds the counts of another distribution. It returns false, and adds nothing, if the sum or a bucket would
// overflow, or if there is no such bucket.
func (d *Distribution) Add(o Distribution) bool {
	if o.Count == 0 {
		return true
	}
	sum := d.Sum + o.Sum
	fits := (sum > d.Sum) == (o.Sum > 0)
	var all [256]uint32
	last := 0
	first := 255
	for _, from := range []Distribution{*d, o} {
		if int(from.First)+len(from.Buckets) > len(all) { // of a damaged file
			return false
		}
		for i, n := range from.Buckets {
			b := int(from.First) + i
			fits = fits && n <= math.MaxUint32-all[b]
			all[b] += n
			first, last = min(first, b), max(last, b)
		}
	}
	if !fits {
		return false
	}
	if d.Count == 0 {
		d.Min, d.Max = o.Min, o.Max
	}
	d.Min, d.Max = min(d.Min, o.Min), max(d.Max, o.Max)
	d.Count, d.Sum = d.Count+o.Count, sum
	if first <= last {
		d.First, d.Buckets = uint8(first), append([]uint32(nil), all[first:last+1]...)
	}
	return true
}

// Mean returns the mean, rounded towards zero. It returns false if nothing is known.
func (d *Distribution) Mean() (int64, bool) {
	if d.Count == 0 {
		return 0, false
	}
	return d.Sum / d.Count, true
}

// Quantile returns bounds of the q-quantile (the value of rank ceil(q*Count)). It returns false if nothing is known.
func (d *Distribution) Quantile(q float64) (low, high int64, ok bool) {
	rank := int64(q * float64(d.Count))
	if float64(rank) < q*float64(d.Count) || rank == 0 {
		rank++
	}
	return d.At(rank)
}

// At returns bounds of the value of a rank, from 1 to Count in ascending order. It returns false if nothing is known.
func (d *Distribution) At(rank int64) (low, high int64, ok bool) {
	for i, n := range d.Buckets {
		if rank -= int64(n); rank > 0 {
			continue
		}
		b := d.First + uint8(i)
		low, high = d.Min, d.Max
		if b > 0 {
			low = max(low, BucketFrom(b))
		}
		if b < 247 {
			high = min(high, BucketFrom(b+1)-1)
		}
		return low, high, true
	}
	return 0, 0, false
}
