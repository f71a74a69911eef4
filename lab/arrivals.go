package lab

import (
	"math/bits"

	"tamtam/saisim/tailstamp"
)

// subBits is the resolution of the histogram within a power of two. A percentile exceeds the true value by at most
// 1/128. Minimum, mean and maximum are exact.
const subBits = 7

// arrivals count the frames of one flow group that one host received.
type arrivals struct {
	any           bool // true if any destination address is accepted
	frames, bytes uint64
	reordered     uint64 // number of frames that were sent before a frame that arrived earlier
	min, max      Time   // delays, start-of-frame delimiter to start-of-frame delimiter
	sumHi, sumLo  uint64
	lastSent      Time
	stamps        stamps
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

// merge adds the counts of another host.
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
	a.stamps.merge(&b.stamps)
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

// bucketEnd returns the largest value in a bucket.
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

// percentile returns the smallest bucket end that at least perMille of 1000 frames do not exceed, within the exact
// minimum and maximum.
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

// stamps hold the tail-stamp records of a flow group. Rest is the one-way delay of a frame minus the time in switches
// according to its records. It is the time on links, from two different measurements.
type stamps struct {
	frames, records  uint64
	unknown          uint64 // frames with a record without a latency; they have no rest
	restMin, restMax Time
}

func (s *stamps) add(data []byte, delay Time) {
	records, _ := tailstamp.Decode(data)
	if len(records) == 0 {
		return
	}
	known := true
	for _, r := range records {
		d, ok := r.Latency()
		known = known && ok
		delay -= Time(d) * Nanosecond
	}
	one := stamps{1, uint64(len(records)), 1, 0, 0}
	if known {
		one.unknown, one.restMin, one.restMax = 0, delay, delay
	}
	s.merge(&one)
}

func (s *stamps) merge(o *stamps) {
	switch {
	case o.frames == o.unknown: // no frame of o has a known rest
	case s.frames == s.unknown:
		s.restMin, s.restMax = o.restMin, o.restMax
	default:
		s.restMin, s.restMax = min(s.restMin, o.restMin), max(s.restMax, o.restMax)
	}
	s.frames, s.records, s.unknown = s.frames+o.frames, s.records+o.records, s.unknown+o.unknown
}
