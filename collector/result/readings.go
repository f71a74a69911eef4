package result

import (
	"math"
	"math/bits"
	"sort"
)

// PortReadings are the counters of a port over time, in order.
type PortReadings struct {
	Switch, Port string
	Mbps         int64 // 0 if unknown
	Readings     []Reading
}

// A Reading is the counters of a port as read at one time.
type Reading struct {
	Time    int64 // in ns since 1970
	Age     int64 // the values were those of the port at most this many ns before Time
	Run     int   // equal for readings between which the counters were not reset
	In, Out Traffics
	Queued  int64 // number of bytes in the port's queues; -1 if unknown
}

// Traffics is what a port counted in one direction.
type Traffics struct {
	Known          bool
	Packets, Bytes uint64
}

// From returns the first reading at a time or later.
func (p *PortReadings) From(at int64) int {
	return sort.Search(len(p.Readings), func(i int) bool { return p.Readings[i].Time >= at })
}

// Between returns bounds of the increase of a counter from a time to another. It returns false if the counter was reset
// meanwhile, or if it was not read before and behind the interval, not farther away than the interval is long.
//
// The value of a reading is that of some time between Time-Age and Time.
func (p *PortReadings) Between(from, to int64, value func(*Reading) (uint64, bool)) (bounds [2]uint64, ok bool) {
	// before returns the last reading whose value is at most that of a time, and behind the first one whose value is at
	// least that.
	before := func(at int64) int { return p.From(at+1) - 1 }
	behind := func(at int64) int {
		i := p.From(at)
		for i < len(p.Readings) && p.Readings[i].Time-p.Readings[i].Age < at {
			i++
		}
		return i
	}
	first, last := before(from), behind(to)
	if first < 0 || last >= len(p.Readings) || from-p.Readings[first].Time > to-from ||
		p.Readings[last].Time-to > to-from {
		return bounds, false
	}
	for i := first; i <= last; i++ {
		n, known := value(&p.Readings[i])
		if !known || p.Readings[i].Run != p.Readings[first].Run {
			return bounds, false
		}
		if i > first {
			if was, _ := value(&p.Readings[i-1]); n < was {
				return bounds, false
			}
		}
	}
	get := func(i int) uint64 { n, _ := value(&p.Readings[i]); return n }
	bounds[1] = get(last) - get(first)
	if high, low := get(behind(from)), get(before(to)); low > high {
		bounds[0] = low - high
	}
	return bounds, true
}

// PerSecond returns a count in a time in ns as a rate, rounded down or up.
func PerSecond(n, length uint64, up bool) int64 {
	high, low := bits.Mul64(n, 1e9)
	if high >= length {
		return math.MaxInt64
	}
	rate, rest := bits.Div64(high, low, length)
	if up && rest > 0 {
		rate++
	}
	return int64(min(rate, math.MaxInt64))
}
