package recordplan

import (
	"fmt"
	"slices"
)

// brute tries every set that fits. It is for tests and figures. It returns an error if the budget does not suffice.
func (x *search) brute() error {
	x.bruteFrom(0, x.must)
	if x.spent() {
		return fmt.Errorf("brute force weighs more than %d sets, want fewer bits, or a larger budget", x.settings.Budget)
	}
	x.best.bound = x.best.entropy
	return nil
}

func (x *search) bruteFrom(i int, set []bit) {
	if x.spent() {
		return
	}
	if i == len(x.candidates) || len(set) == x.limit {
		return
	}
	if c := x.candidates[i]; x.allowed(set, c) {
		with := append(slices.Clone(set), c)
		loads := x.loads(with)
		if cells, v := x.fit(loads); v == fits {
			x.sets++
			x.offer(found{set: with, loads: loads, cells: cells, entropy: x.m.Entropy(choices(with))})
			x.bruteFrom(i+1, with)
		}
	}
	x.bruteFrom(i+1, set)
}
