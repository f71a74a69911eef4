package collector

import (
	"cmp"
	"encoding/json"
	"math"
	"math/big"
	"math/bits"
	"slices"
)

// exactValues is how many different values a distribution keeps. In nanoseconds there are often few: the same
// latencies recur.
const exactValues = 256

// sketchWithin is the relative error of a percentile of more values than that, besides rounding to a nanosecond.
const sketchWithin = 0.01

// A distribution counts measured values: each while there are few different ones, then in a DDSketch (Masson, Rim and
// Lee, VLDB 2019), which takes at most 35 kB. What it says depends on the values and how often each was measured, never
// on their order, nor on how they were divided among distributions that were merged.
//
// Where a budget is spent, that is so of count, extremes and average only. A distribution for which there is no room
// becomes a sketch early; if there is none for that either, it forgets what percentiles need, gives back its room, and
// says that it does not know them.
type distribution struct {
	exact    bool // all values are kept, however many
	unranked bool // there was no room: percentiles are not known
	count    int64
	min, max int64
	sum      int128
	values   map[int64]int64 // how often each was measured; nil: the sketch has them, or there are none
	sketch   *sketch
	room     *budget // nil: there is no bound
	taken    int64   // of it
}

func (d *distribution) add(ns int64) { d.addTimes(ns, 1) }

// addTimes adds a value that was measured n times, n > 0.
func (d *distribution) addTimes(ns, n int64) {
	if d.count == 0 {
		d.min, d.max = ns, ns
	}
	d.min, d.max = min(d.min, ns), max(d.max, ns)
	d.count += n
	d.sum.add(product(ns, n))
	switch {
	case d.unranked:
	case d.sketch != nil:
		if d.sketch.add(ns, n) {
			d.settle()
		}
	default:
		if d.values == nil {
			d.values = map[int64]int64{}
		}
		before := len(d.values)
		if d.values[ns] += n; len(d.values) > before {
			d.settle()
		}
	}
}

// settle takes from the budget what the values need now, and has them need less where that is too much.
func (d *distribution) settle() {
	if d.sketch == nil && (len(d.values) > exactValues && !d.exact || !d.take(valuesBytes(len(d.values)))) {
		d.turn()
	}
	if d.sketch != nil && !d.take(d.sketch.bytes()) {
		d.forget()
	}
}

// take has the distribution hold so many bytes of the budget; false: there are not so many.
func (d *distribution) take(bytes int64) bool {
	if d.room == nil {
		return true
	}
	if bytes-d.taken > d.room.left {
		return false
	}
	d.room.left -= bytes - d.taken
	d.taken = bytes
	return true
}

// turn has the sketch take over.
func (d *distribution) turn() {
	d.sketch = newSketch()
	for ns, n := range d.values {
		d.sketch.add(ns, n)
	}
	d.values = nil
}

// forget gives up all that percentiles need.
func (d *distribution) forget() {
	d.values, d.sketch, d.unranked = nil, nil, true
	d.take(0)
}

// merge adds all that another distribution has counted. If either is a sketch so is the sum, even one that was to be
// exact; if either does not know its percentiles, nor does the sum.
func (d *distribution) merge(o *distribution) {
	if o.sketch == nil && !o.unranked {
		for ns, n := range o.values {
			d.addTimes(ns, n)
		}
		return
	}
	if d.count == 0 {
		d.min, d.max = o.min, o.max
	}
	d.min, d.max = min(d.min, o.min), max(d.max, o.max)
	d.count += o.count
	d.sum.add(o.sum)
	switch {
	case d.unranked:
	case o.unranked:
		d.forget()
	default:
		if d.sketch == nil {
			d.turn()
		}
		d.sketch.merge(o.sketch)
		d.settle()
	}
}

// Summary describes a set of durations. All are exact but Avg, which is rounded to the nearest
// nanosecond, and percentiles where Within says so. A percentile is the nearest rank: the least measured
// value that at least so many of a hundred do not exceed. All zero when Count is zero.
type Summary struct {
	Count int64 `json:"count"`
	Min   int64 `json:"min_ns"`
	Avg   int64 `json:"avg_ns"`
	P50   int64 `json:"p50_ns"`
	P90   int64 `json:"p90_ns"`
	P99   int64 `json:"p99_ns"`
	Max   int64 `json:"max_ns"`
	// Within is the relative error of the percentiles at most, besides a nanosecond for rounding; 0: they are exact.
	Within float64 `json:"percentiles_within,omitempty"`
	// Unranked: memory was spent before the percentiles were known; they are zero here, and mean nothing.
	Unranked bool `json:"percentiles_unknown,omitempty"`
}

// MarshalJSON has null in the place of what is not known.
func (s Summary) MarshalJSON() ([]byte, error) {
	type known Summary
	if !s.Unranked {
		return json.Marshal(known(s))
	}
	return json.Marshal(struct {
		known
		P50 *int64 `json:"p50_ns"`
		P90 *int64 `json:"p90_ns"`
		P99 *int64 `json:"p99_ns"`
	}{known: known(s)})
}

func (d *distribution) summary() Summary {
	if d.count == 0 {
		return Summary{}
	}
	s := Summary{Count: d.count, Min: d.min, Max: d.max, Avg: roundedQuotient(d.sum.big(), d.count)}
	if d.unranked {
		s.Unranked = true
		return s
	}
	if d.sketch != nil {
		s.Within = sketchWithin
	}
	counted := d.counted()
	rank := func(percent int64) int64 {
		hi, lo := bits.Mul64(uint64(d.count), uint64(percent))
		lo, carry := bits.Add64(lo, 99, 0)
		q, _ := bits.Div64(hi+carry, lo, 100)
		need := int64(q)
		for _, v := range counted {
			if need -= v.times; need <= 0 {
				return v.ns
			}
		}
		return d.max
	}
	s.P50, s.P90, s.P99 = rank(50), rank(90), rank(99)
	return s
}

// A countedValue is a value, or one that stands for those of a bin of the sketch.
type countedValue struct{ ns, times int64 }

// counted are the values in their order.
func (d *distribution) counted() []countedValue {
	var list []countedValue
	for ns, n := range d.values {
		list = append(list, countedValue{ns, n})
	}
	if d.sketch != nil {
		d.sketch.values.ForEach(func(value, times float64) bool {
			list = append(list, countedValue{d.rounded(value), int64(times)})
			return false
		})
	}
	slices.SortFunc(list, func(a, b countedValue) int { return cmp.Compare(a.ns, b.ns) })
	return list
}

// rounded is a value of the sketch as a number that may have been measured.
func (d *distribution) rounded(value float64) int64 {
	switch {
	case value <= float64(d.min):
		return d.min
	case value >= float64(d.max):
		return d.max
	}
	return int64(math.Round(value))
}

// An int128 is a number of 128 bits: hi * 2^64 + lo. Clocks may be decades apart: the sum of a few such differences
// does not fit into 64 bits.
type int128 struct {
	hi int64
	lo uint64
}

// product is a * n, n >= 0.
func product(a, n int64) int128 {
	hi, lo := bits.Mul64(uint64(a), uint64(n))
	if a < 0 {
		hi -= uint64(n)
	}
	return int128{int64(hi), lo}
}

func (s *int128) add(o int128) {
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, o.lo, 0)
	s.hi += o.hi + int64(carry)
}

func (s int128) big() *big.Int {
	x := new(big.Int).Lsh(big.NewInt(s.hi), 64)
	return x.Add(x, new(big.Int).SetUint64(s.lo))
}

// roundedQuotient is sum/n to the nearest integer, halves up.
func roundedQuotient(sum *big.Int, n int64) int64 {
	twice := new(big.Int).Lsh(sum, 1)
	twice.Add(twice, big.NewInt(n))
	return twice.Div(twice, big.NewInt(2*n)).Int64() // Div rounds down for a positive divisor
}
