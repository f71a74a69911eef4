package recordplan

import (
	"slices"
)

// greedy adds, bit by bit, what adds most and fits, beginning with a set that fits. A bit
// that does not fit never will, as the set only grows. Of bits that add alike, the one
// goes first whose table has most stages to be in.
func (x *search) greedy(start []bit) found {
	f := found{set: slices.Clone(start), loads: x.loads(start)}
	slots, v := x.fit(f.loads)
	if v != fits {
		return found{}
	}
	f.slots = slots
	sc := x.newScorer(f.set)
	gains := make([]float64, len(x.candidates)) // those not known are 0
	dead := make([]bool, len(x.candidates))
	stale := make([]bool, len(x.m.segments))
	for i := range stale {
		stale[i] = true
	}
	for len(f.set) < x.limit && !x.exhausted() {
		for i, b := range x.candidates {
			if seg := x.m.tables[b.table].seg; stale[seg] && !dead[i] && !x.exhausted() {
				gains[i] = sc.gain(b)
				x.sets++
			}
		}
		clear(stale)
		i := x.pick(&f, gains, dead)
		if i < 0 {
			break
		}
		b := x.candidates[i]
		dead[i] = true
		sc.set(b, true)
		stale[x.m.tables[b.table].seg] = true
	}
	f.entropy = sc.entropy()
	return f
}

// pick adds the best candidate that fits to f, and returns it; -1 if none adds anything.
func (x *search) pick(f *found, gains []float64, dead []bool) int {
	var order []int
	for i, b := range x.candidates {
		if !dead[i] && gains[i] > alike && x.allowed(f.set, b) {
			order = append(order, i)
		}
	}
	slack := func(i int) int {
		t := x.candidates[i].table
		return x.space.last[t] - x.space.first[t]
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case gains[a] > gains[b]+alike:
			return -1
		case gains[b] > gains[a]+alike:
			return 1
		}
		return slack(b) - slack(a)
	})
	for _, i := range order {
		set := append(slices.Clone(f.set), x.candidates[i])
		loads := x.loads(set)
		if slots, v := x.fit(loads); v == fits {
			f.set, f.loads, f.slots = set, loads, slots
			return i
		}
		dead[i] = true
	}
	return -1
}

// restarts runs greedy with each of the first tables in the order of their entropy as
// its first.
func (x *search) restarts() {
	x.offer(x.greedy(x.must))
	order := x.byEntropy()
	starts := x.settings.Starts
	if starts <= 0 {
		starts = len(order)
	}
	for _, b := range order[:min(starts, len(order))] {
		if x.spent() {
			return
		}
		if len(x.must) < x.limit && x.allowed(x.must, b) {
			x.offer(x.greedy(append(slices.Clone(x.must), b)))
		}
	}
}

// byEntropy are the candidates, those first that say most alone.
func (x *search) byEntropy() []bit {
	order := slices.Clone(x.candidates)
	slices.SortStableFunc(order, func(a, b bit) int {
		switch {
		case x.m.alone(a) > x.m.alone(b)+alike:
			return -1
		case x.m.alone(b) > x.m.alone(a)+alike:
			return 1
		}
		return 0
	})
	return order
}
