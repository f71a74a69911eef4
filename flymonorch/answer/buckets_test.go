package answer_test

import (
	"math"

	"tamtam/flymonorch/answer"
	"tamtam/internal/randtest"
	"tamtam/tam/flymon"
)

// Which flows share buckets follows from the layout, so what registers have follows from the flows.
// What depends on chance is only how many share them.

// sums are what the flows of each bucket of a unit have together, by join.
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

// mosts are the greatest answers that flows may have: the least of what their buckets' flows have
// together. A counter that is full tells nothing, and of Counter Braids the second layer then has more.
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

// least is what fills the smallest counter of a task.
func (r *run) least() uint64 {
	least := uint64(math.MaxUint64)
	for _, b := range r.placed.Sketch.Bits {
		least = min(least, 1<<b-1)
	}
	return least
}

// reach is how many flows have as many or more.
func (r *run) reach(n uint64) (flows int) {
	for _, exact := range r.exact.Flows {
		if exact >= n {
			flows++
		}
	}
	return flows
}

// sharers is a number that those of n flows that have a bucket of their own in no row exceed with a
// chance below 10^-9 for each row, were buckets chosen evenly. Put into a row one after the other,
// each flow meets another with a chance of at most n/w, of the first row of i/w for the i-th, whatever
// those before did; and who shares a bucket has met somebody, or was met: at most two for each meeting. In a
// row behind, those that share buckets in all rows before are the last to be put.
func sharers(n, w, rows int) int {
	left, chance := n, float64(n)/2/float64(w)
	for range rows {
		left = min(left, 2*randtest.AtMost(float64(left)*chance))
		chance = float64(n) / float64(w)
	}
	return left
}

// size is how many buckets a unit of a row has.
func (r *run) size(of int) int { return int(r.placed.Layout.Units[r.placed.Sketch.Rows[0][of]].Size) }

// peeled are the flows that Counter Braids decode for certain: one that is alone in a counter of the
// first layer that is not full, and then one whose company in such a counter is known.
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

// counters are a unit's as the flows must have left them.
func (r *run) counters(reading *answer.Reading, unit int) []uint32 {
	words := make([]uint32, len(reading.Registers[unit]))
	for at, n := range r.sums(unit, add) {
		words[at] = uint32(n)
	}
	return words
}
