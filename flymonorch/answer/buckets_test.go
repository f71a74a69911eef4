package answer_test

import (
	"math"

	"tamtam/flymonorch/answer"
	"tamtam/internal/randtest"
	"tamtam/tam/flymon"
)

// The layout determines which flows share buckets, so the flows determine the registers' values. Only the number of
// flows that share a bucket depends on chance.

// sums returns the summed values of the flows in each bucket of a unit.
func (r *run) sums(unit int, join func(a, b uint64) uint64) map[uint32]uint64 {
	g, all := r.groups.Geometry(), map[uint32]uint64{}
	for v, n := range r.exact.Flows {
		at := r.placed.Layout.Bucket(&g, unit, v)
		all[at] = join(all[at], n)
	}
	return all
}

func add(a, b uint64) uint64     { return a + b }
func greater(a, b uint64) uint64 { return max(a, b) }

// mosts returns the largest valid answer of each flow: the smallest joined value of its buckets. A full counter of a
// Tower is ignored. If a counter of Counter Braids is full, the second layer's value is used.
func (r *run) mosts() map[flymon.Vector]float64 {
	g, s, most := r.groups.Geometry(), &r.placed.Sketch, map[flymon.Vector]float64{}
	join := add
	if s.Algorithm == flymon.SuMaxMax {
		join = greater
	}
	for v := range r.exact.Flows {
		most[v] = math.Inf(1)
	}
	for i, row := range s.Rows {
		first, second := r.sums(row[0], join), map[uint32]uint64{}
		full := uint64(math.MaxUint64)
		switch s.Algorithm {
		case flymon.Tower:
			full = 1<<s.Bits[i] - 1
		case flymon.CounterBraids:
			full, second = 1<<s.Bits[0]-1, r.sums(row[1], join)
		}
		for v := range most {
			n := first[r.placed.Layout.Bucket(&g, row[0], v)]
			if n >= full && s.Algorithm == flymon.Tower {
				continue
			}
			if n >= full {
				n = second[r.placed.Layout.Bucket(&g, row[1], v)]
			}
			most[v] = min(most[v], float64(n))
		}
	}
	return most
}

// least returns the value at which the smallest counter of a task is full.
func (r *run) least() uint64 {
	least := uint64(math.MaxUint64)
	for _, b := range r.placed.Sketch.Bits {
		least = min(least, 1<<b-1)
	}
	return least
}

// reach returns the number of flows whose exact value is at least n.
func (r *run) reach(n uint64) (flows int) {
	for _, exact := range r.exact.Flows {
		if exact >= n {
			flows++
		}
	}
	return flows
}

// sharers returns an upper bound for how many of n flows share a bucket in every row. If buckets are chosen evenly, the
// bound fails with a chance below 10^-9 for each row. Suppose that flows enter a row one after the other. The i-th then
// collides with a chance of at most i/w in the first row, and n/w in others, independently of earlier collisions. Each
// collision makes at most two flows share a bucket. In further rows, flows that shared in all rows before enter last.
func sharers(n, w, rows int) int {
	left, chance := n, float64(n)/2/float64(w)
	for range rows {
		left = min(left, 2*randtest.AtMost(float64(left)*chance))
		chance = float64(n) / float64(w)
	}
	return left
}

// size returns the number of buckets in the unit with this index in the first row.
func (r *run) size(of int) int { return int(r.placed.Layout.Units[r.placed.Sketch.Rows[0][of]].Size) }

// peeled returns the flows that Counter Braids certainly decode: those that are alone in a first-layer counter that is
// not full, and then those that share such a counter only with decoded flows.
func (r *run) peeled() map[flymon.Vector]bool {
	g, s, known := r.groups.Geometry(), &r.placed.Sketch, map[flymon.Vector]bool{}
	for before := -1; len(known) > before; {
		before = len(known)
		for _, row := range s.Rows {
			sums, unknown := r.sums(row[0], add), map[uint32]int{}
			for v := range r.exact.Flows {
				if !known[v] {
					unknown[r.placed.Layout.Bucket(&g, row[0], v)]++
				}
			}
			for v := range r.exact.Flows {
				if at := r.placed.Layout.Bucket(&g, row[0], v); unknown[at] == 1 && sums[at] < 1<<s.Bits[0]-1 {
					known[v] = true
				}
			}
		}
	}
	return known
}

// counters returns the values that a unit's counters must have after all flows.
func (r *run) counters(reading *answer.Reading, unit int) []uint32 {
	words := make([]uint32, len(reading.Registers[unit]))
	for at, n := range r.sums(unit, add) {
		words[at] = uint32(n)
	}
	return words
}
