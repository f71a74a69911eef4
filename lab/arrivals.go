package lab

import "math/bits"

// subBits is how finely the histogram divides a power of two: a percentile is
// right to 1/128 of its value, upwards. Minimum, mean and maximum are exact.
const subBits = 7

// arrivals are the frames of one flow group that one host got.
type arrivals struct {
	any           bool // whatever the destination address
	frames, bytes uint64
	reordered     uint64 // sent before one that was here before
	min, max      Time   // delays, start-of-frame delimiter to start-of-frame delimiter
	sumHi, sumLo  uint64
	lastSent      Time
	buckets       [(idTimeBits - subBits + 1) << subBits]uint64
}

func (a *arrivals) add(f *flight, delay Time) {
	if a.frames == 0 || delay < a.min {
		a.min = delay
	}
	a.max = max(a.max, delay)
	a.frames++
	a.bytes += uint64(f.len + fcsLen)
	var carry uint64
	a.sumLo, carry = bits.Add64(a.sumLo, uint64(delay), 0)
	a.sumHi += carry
	if sent := f.at - delay; sent < a.lastSent {
		a.reordered++
	} else {
		a.lastSent = sent
	}
	a.buckets[bucket(uint64(delay))]++
}

// merge adds what another host got.
func (a *arrivals) merge(b *arrivals) {
	if b.frames == 0 {
		return
	}
	if a.frames == 0 || b.min < a.min {
		a.min = b.min
	}
	a.max = max(a.max, b.max)
	a.frames += b.frames
	a.bytes += b.bytes
	a.reordered += b.reordered
	var carry uint64
	a.sumLo, carry = bits.Add64(a.sumLo, b.sumLo, 0)
	a.sumHi += b.sumHi + carry
	for i, n := range b.buckets {
		a.buckets[i] += n
	}
}

func bucket(v uint64) int {
	if v < 1<<subBits {
		return int(v)
	}
	exp := bits.Len64(v) - subBits - 1
	return exp<<subBits + int(v>>exp)
}

// bucketEnd is the largest value in a bucket.
func bucketEnd(i int) uint64 {
	if i < 2<<subBits {
		return uint64(i)
	}
	exp := i>>subBits - 1
	return (uint64(i-exp<<subBits)+1)<<exp - 1
}

func (a *arrivals) mean() Time {
	if a.frames == 0 {
		return 0
	}
	q, _ := bits.Div64(a.sumHi, a.sumLo, a.frames)
	return Time(q)
}

// percentile returns the delay that at least perMille of 1000 frames do not exceed.
func (a *arrivals) percentile(perMille uint64) Time {
	want := mulDivUp(a.frames, perMille, 1000)
	var sum uint64
	for i, n := range a.buckets {
		if sum += n; sum >= want && n > 0 {
			return min(a.max, max(a.min, Time(bucketEnd(i))))
		}
	}
	return a.max
}
