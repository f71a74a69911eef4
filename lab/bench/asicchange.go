package bench

import (
	"fmt"
	"math"
	"time"

	"tamtam/lab/bench/chipload"
)

// changes says what one change through SAI costs in a chip with few entries, routes and addresses, and in
// one with many; after each a packet comes, so that lists which are made anew for it count.
func (b *asicBench) changes() {
	const few, many = 10, 100_000
	var of [2]*chipload.Filled
	for i, n := range []int{few, many} {
		if b.err == nil {
			of[i], b.err = chipload.NewFilled(b.ctx, n)
		}
	}
	for _, what := range chipload.Changes {
		if b.err != nil {
			return
		}
		var took [2]float64
		if took, b.err = pairedChanges(of, what, b.d); b.err != nil {
			return
		}
		b.add(fmt.Sprintf("one %s changed, among %d", what, few), took[0], "us")
		b.add(fmt.Sprintf("one %s changed, among %d", what, many), took[1], "us")
		b.add(fmt.Sprintf("one %s changed, among %d, of among %d", what, many, few), took[1]/took[0], "times")
	}
}

// pairedChanges returns what a change takes in each of two chips, in microseconds: the chips take turns for
// d, and of the turns of each the fastest counts.
func pairedChanges(of [2]*chipload.Filled, what string, d time.Duration) (us [2]float64, err error) {
	const turn = 200
	us = [2]float64{math.Inf(1), math.Inf(1)}
	for begin, first := time.Now(), true; first || time.Since(begin) < d; first = false {
		for i, c := range of {
			start := time.Now()
			for n := range turn {
				if err := c.Change(what, n); err != nil {
					return us, err
				}
			}
			us[i] = min(us[i], float64(time.Since(start).Nanoseconds())/1e3/turn)
		}
	}
	return us, nil
}
