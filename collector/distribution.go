package collector

import (
	"cmp"
	"encoding/json"
	"math"
	"math/big"
	"math/bits"
	"slices"
)

// exactValues is the maximum number of distinct values that a distribution keeps. In nanoseconds this is often enough,
// because the same latencies recur.
const exactValues = 256

// sketchWithin is the relative error of a percentile of more distinct values, in addition to rounding to a nanosecond.
const sketchWithin = 0.01

// A distribution counts measured values. It keeps them exactly while there are few distinct ones, then in a DDSketch
// (Masson, Rim and Lee, VLDB 2019) of at most 35 kB. Its results depend only on the values and their frequency. They do
// not depend on the order, or on the way in which merged distributions were divided.
//
// If the memory budget is spent, this holds only for count, extremes and average. A distribution that does not fit
// becomes a sketch early. If the sketch does not fit either, it drops the data for percentiles, returns its memory, and
// reports the percentiles as unknown.
type distribution struct {
	exact    bool // true to keep all values, whatever their number
	unranked bool // true if percentiles are unknown for lack of memory
	count    int64
	min, max int64
	sum      int128
	values   map[int64]int64 // frequency of each value; nil if there are no values or the sketch holds them
	sketch   *sketch
	room     *budget // nil if memory is unlimited
	reserved int64   // number of bytes reserved from room
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
			d.fit()
		}
	default:
		if d.values == nil {
			d.values = map[int64]int64{}
		}
		before := len(d.values)
		if d.values[ns] += n; len(d.values) > before {
			d.fit()
		}
	}
}

// fit reserves the memory that the values need, and reduces this need if it exceeds the budget.
func (d *distribution) fit() {
	if d.sketch == nil && (len(d.values) > exactValues && !d.exact || !d.reserve(valuesBytes(len(d.values)))) {
		d.turn()
	}
	if d.sketch != nil && !d.reserve(d.sketch.bytes()) {
		d.forget()
	}
}

// reserve changes the reservation to the given number of bytes. It returns false if the budget is too small.
func (d *distribution) reserve(bytes int64) bool {
	if d.room == nil {
		return true
	}
	if bytes-d.reserved > d.room.left {
		return false
	}
	d.room.left -= bytes - d.reserved
	d.reserved = bytes
	return true
}

// turn moves the values to a sketch.
func (d *distribution) turn() {
	d.sketch = newSketch()
	for ns, n := range d.values {
		d.sketch.add(ns, n)
	}
	d.values = nil
}

// forget drops the data for percentiles.
func (d *distribution) forget() {
	d.values, d.sketch, d.unranked = nil, nil, true
	d.reserve(0)
}

// merge adds all values of another distribution. If either uses a sketch, the sum uses a sketch, even if d is exact. If
// the percentiles of either are unknown, they are unknown for the sum.
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
		d.fit()
	}
}

// Summary describes a set of durations. All fields are exact except Avg, which is rounded to the nearest nanosecond,
// and percentiles with Within. A percentile is the nearest rank: the least measured value that at least this percentage
// does not exceed. All fields are zero if Count is zero.
type Summary struct {
	Count int64 `json:"count"`
	Min   int64 `json:"min_ns"`
	Avg   int64 `json:"avg_ns"`
	P50   int64 `json:"p50_ns"`
	P90   int64 `json:"p90_ns"`
	P99   int64 `json:"p99_ns"`
	Max   int64 `json:"max_ns"`
	// Within is the maximum relative error of the percentiles, in addition to a nanosecond for rounding. Zero means
	// that they are exact.
	Within float64 `json:"percentiles_within,omitempty"`
	// Unranked means that memory was insufficient for percentiles, which are zero and have no meaning.
	Unranked bool `json:"percentiles_unknown,omitempty"`
}

// MarshalJSON encodes unknown percentiles as null.
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

// A countedValue is a value, or the representative of a bin of the sketch.
type countedValue struct{ ns, times int64 }

// counted returns the values in ascending order.
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

// rounded returns a value of the sketch as an integer within the measured range.
func (d *distribution) rounded(value float64) int64 {
	switch {
	case value <= float64(d.min):
		return d.min
	case value >= float64(d.max):
		return d.max
	}
	return int64(math.Round(value))
}

// An int128 is a signed 128-bit number: hi * 2^64 + lo. Clocks may be decades apart, so even a small number of such
// differences may overflow 64 bits.
type int128 struct {
	hi int64
	lo uint64
}

// product returns a * n, n >= 0.
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

// roundedQuotient returns sum/n, rounded to the nearest integer with halves up.
func roundedQuotient(sum *big.Int, n int64) int64 {
	twice := new(big.Int).Lsh(sum, 1)
	twice.Add(twice, big.NewInt(n))
	return twice.Div(twice, big.NewInt(2*n)).Int64() // Div rounds down for a positive divisor
}
