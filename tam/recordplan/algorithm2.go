package recordplan

import "slices"

// algorithm2 runs Algorithm 2 of the paper as printed, plus the check for the end of the array that the paper omits.
func (x *search) algorithm2(trace func(set []bit, entropy, bound float64, pruned bool)) {
	a := paperSearch{search: x, sc: x.newScorer(x.must), trace: trace}
	for _, b := range x.byEntropy() {
		if h := x.m.alone(b); h > alike && !slices.Contains(x.must, b) {
			a.tables, a.alone = append(a.tables, b), append(a.alone, h)
		}
	}
	a.best.entropy = -1
	a.visit(0, x.must)
	if !a.cut {
		x.best.bound = x.best.entropy
	}
}

type paperSearch struct {
	*search
	tables []bit
	alone  []float64
	sc     *scorer
	cut    bool // true if the budget ended the search
	trace  func(set []bit, entropy, bound float64, pruned bool)
}

func (a *paperSearch) visit(index int, set []bit) {
	if a.cut = a.cut || a.spent(); a.cut {
		return
	}
	loads := a.loads(set)
	cells, v := a.fit(loads)
	if v != fits {
		a.cut = a.cut || v == unknown
		return
	}
	a.sets++
	h := a.sc.entropy()
	a.offer(found{set: set, loads: loads, cells: cells, entropy: h})
	full := len(set) >= a.limit || index == len(a.tables)
	bound := h
	if !full {
		for _, e := range a.alone[index:min(index+a.limit-len(set), len(a.alone))] {
			bound += e
		}
	}
	pruned := bound < a.best.entropy
	if a.trace != nil {
		a.trace(set, h, bound, pruned)
	}
	if full || pruned {
		return
	}
	if b := a.tables[index]; a.allowed(set, b) {
		a.sc.set(b, true)
		a.visit(index+1, append(slices.Clone(set), b))
		a.sc.set(b, false)
	}
	a.visit(index+1, set)
}
