package recordplan

import (
	"cmp"
	"math"
	"slices"
)

// branchAndBound finds the best set. It starts with greedy from all starts, and skips sets that cannot be better. The
// bounds are those of [relaxation].
func (x *search) branchAndBound() {
	if x.settings.Paper {
		x.algorithm2(nil)
		return
	}
	x.restarts()
	x.improve()
	x.prove()
}

// prove finds a better set than the best so far, or proves that none exists.
func (x *search) prove() {
	r := x.relax()
	if x.proven() {
		return
	}
	b := &branching{search: x, r: r, open: math.Inf(-1)}
	b.piece(0, partial{set: x.must, bits: x.limit, cells: r.cells, value: r.earned})
	x.best.bound = min(x.best.bound, max(x.best.entropy, b.open))
}

// relax sets an upper bound of the entropy of all plans.
func (x *search) relax() *relaxation {
	r := x.newRelaxation()
	x.best.bound = r.bound()
	if !x.proven() {
		r.setPrices(x.best.entropy)
		x.best.bound = min(x.best.bound, r.bound())
	}
	return r
}

func (x *search) proven() bool { return x.best.bound-x.best.entropy < alike }

// improve exchanges bits of the best set while the set improves: it removes a bit and restarts greedy without it.
func (x *search) improve() {
	for better := true; better; {
		better = false
		for i, b := range x.best.set {
			if slices.Contains(x.must, b) || x.spent() {
				continue
			}
			rest := slices.Delete(slices.Clone(x.best.set), i, i+1)
			if slices.ContainsFunc(rest, func(o bit) bool { return o.table == b.table }) && !b.hit {
				continue // the recorded hit requires this bit
			}
			was := x.best.entropy
			x.banned = b.table
			x.offer(x.greedy(rest))
			x.banned = -1
			if x.best.entropy > was {
				better = true
				break
			}
		}
	}
}

// spent reports whether the search must end. A fit costs more than an evaluated set, and a call of the solver much
// more.
func (x *search) spent() bool {
	return x.exhausted() || x.sets+10*x.fitted+300*x.space.solves > x.settings.Budget
}

// arcsForSet is the number of arcs that a typical program needs for the evaluation of one set.
const arcsForSet = 1000

// exhausted reports whether no further set may be evaluated. In a large program, or with many recorded tables, even a
// small number of sets is much work.
func (x *search) exhausted() bool { return x.ctx.Err() != nil || x.arcs > x.enough() }

func (x *search) enough() uint64 { return arcsForSet * max(x.settings.Budget, DefaultBudget) }

// worn reports whether even greedy must end. Greedy continues with the known gains after exhausted has returned true.
func (x *search) worn() bool { return x.ctx.Err() != nil || x.arcs > 2*x.enough() }

// fit checks a set against the constraints.
func (x *search) fit(loads []load) ([]cell, verdict) {
	x.fitted++
	x.arcs += uint64(len(loads) * len(loads) * len(loads) / 4)
	return x.space.fit(loads)
}

// A branching is a search through the pieces of a relaxation, in their order.
type branching struct {
	*search
	r    *relaxation
	open float64 // maximum entropy of the sets that were not examined
}

// A partial is a set in which the pieces so far are decided. It contains only the must-record tables of the other
// pieces.
type partial struct {
	set   []bit
	bits  int     // bits left for the following pieces
	cells int     // cells left for the following pieces
	value float64 // entropy of the decided pieces minus prices, plus the income of all cells
	loads []load
	at    []cell
	fit   bool // true if loads and at belong to set
}

// hopeless reports whether sets with this bound cannot improve on the best set. If the budget is spent, it also returns
// true, and open keeps the bound.
func (b *branching) hopeless(bound float64) bool {
	if bound < b.best.entropy+alike {
		return true
	}
	if b.spent() {
		b.open = max(b.open, bound)
		return true
	}
	return false
}

// piece decides piece i and all pieces after it.
func (b *branching) piece(i int, f partial) {
	if b.hopeless(f.value + b.r.rest[i][f.bits][f.cells]) {
		return
	}
	if i == len(b.r.pieces) {
		b.leaf(f)
		return
	}
	p := &b.r.pieces[i]
	if p.options == nil {
		b.large(i, f)
		return
	}
	type choice struct {
		o     *option
		bound float64
	}
	var list []choice
	for k := range p.options {
		o := &p.options[k]
		bits, cells := f.bits-len(o.set), f.cells-b.r.cellsOf(o.long)
		if bits < 0 || cells < 0 {
			continue
		}
		b.sets++
		list = append(list, choice{o, f.value + o.h - o.cost + b.r.rest[i+1][bits][cells]})
	}
	slices.SortStableFunc(list, func(a, c choice) int { return cmp.Compare(c.bound, a.bound) })
	for _, c := range list {
		if b.hopeless(c.bound) {
			return // the following choices are hopeless too
		}
		next := f
		next.bits -= len(c.o.set)
		next.cells -= b.r.cellsOf(c.o.long)
		next.value += c.o.h - c.o.cost
		if !b.join(&next, c.o.set, c.bound) {
			continue
		}
		b.piece(i+1, next)
	}
}

// join adds bits to a set if the result can be recorded. Sets that could not be decided stay open.
func (b *branching) join(f *partial, bits []bit, bound float64) bool {
	set := slices.Clone(f.set)
	for _, o := range bits {
		if !slices.Contains(set, o) {
			set = append(set, o)
		}
	}
	if len(set) == len(f.set) {
		return true
	}
	f.set, f.loads = set, b.loads(set)
	var v verdict
	f.at, v = b.search.fit(f.loads)
	f.fit = v == fits
	if v == unknown {
		b.open = max(b.open, bound)
	}
	return v == fits
}

func (b *branching) leaf(f partial) {
	if !f.fit {
		f.loads = b.loads(f.set)
		var v verdict
		if f.at, v = b.search.fit(f.loads); v != fits {
			return
		}
	}
	b.offer(found{set: f.set, loads: f.loads, cells: f.at, entropy: b.m.Entropy(choices(f.set))})
}

// A bitwise search decides a large piece bit by bit.
type bitwise struct {
	*branching
	i     int
	p     *piece
	sc    *scorer
	value float64 // value of the earlier pieces
}

func (b *branching) large(i int, f partial) {
	p := &b.r.pieces[i]
	w := bitwise{branching: b, i: i, p: p, sc: b.newScorer(p.must), value: f.value}
	f.bits -= len(p.must)
	if f.bits < 0 {
		return
	}
	on := make([]bool, len(p.bits))
	gains := make([]float64, len(p.bits))
	for k, c := range p.bits {
		on[k] = !slices.Contains(p.must, c)
		gains[k] = math.Inf(1)
	}
	w.decide(f, slices.Clone(p.must), on, gains)
}

// decide branches on the bit with the largest gain: with it, and without it. The gains are those of a smaller set,
// which bound the current ones.
func (w *bitwise) decide(f partial, own []bit, on []bool, gains []float64) {
	if w.spent() {
		// The relaxation bounds the value of the piece.
		w.open = max(w.open, w.value+w.r.rest[w.i][f.bits+len(own)][f.cells])
		return
	}
	gains = slices.Clone(gains)
	top := w.strongest(own, on, gains)
	bound := w.boundOf(f, own, on, gains)
	if w.hopeless(bound) {
		return
	}
	if top < 0 || f.bits == 0 {
		w.done(f, own)
		return
	}
	c := w.p.bits[top]
	next := f
	next.bits--
	if w.join(&next, []bit{c}, bound) {
		on[top] = false
		w.sc.set(c, true)
		w.decide(next, append(slices.Clone(own), c), on, gains)
		w.sc.set(c, false)
	}
	off := w.without(c, on)
	w.decide(f, own, on, gains)
	for _, k := range off {
		on[k] = true
	}
}

// strongest updates the gains of the bits that are on. It returns the allowed bit with the largest gain, or -1 if there
// is none.
func (w *bitwise) strongest(own []bit, on []bool, gains []float64) int {
	top := -1
	for k, c := range w.p.bits {
		if !on[k] {
			continue
		}
		if gains[k] > 0 {
			gains[k] = w.sc.gain(c)
			w.sets++
		}
		if w.allowed(own, c) && (gains[k] > alike || w.needed(c)) && (top < 0 || gains[k] > gains[top]) {
			top = k
		}
	}
	return top
}

// without turns a bit off, together with the hit that requires it. It returns the bits that it turned off.
func (w *bitwise) without(c bit, on []bool) (off []int) {
	for k, o := range w.p.bits {
		if o == c || on[k] && !c.hit && o.table == c.table && !w.m.tables[c.table].cut {
			on[k] = false
			off = append(off, k)
		}
	}
	return off
}

// boundOf returns a bound for all sets that contain the bits chosen so far and no bit of the piece that is turned off.
func (w *bitwise) boundOf(f partial, own []bit, on []bool, gains []float64) float64 {
	long := w.cellsFor(w.tablesOf(own))
	o := outlook{own: own, on: on, gains: gains, has: w.sc.parts[w.p.seg], most: w.sc.all(w.p.seg, w.p.bits, on)}
	best := math.Inf(-1)
	for j, upper := range w.r.upperBounds(w.p, o, f.bits) {
		if q := w.r.cellsOf(max(long, min(j, 1))); q <= f.cells {
			best = max(best, upper+w.r.rest[w.i+1][f.bits-j][f.cells-q])
		}
	}
	return w.value + best
}

// done continues with the next piece.
func (w *bitwise) done(f partial, own []bit) {
	tables := w.tablesOf(own)
	f.cells -= w.r.cellsOf(w.cellsFor(tables))
	if f.cells < 0 {
		return
	}
	f.value += w.sc.parts[w.p.seg] - w.r.costOf(tables)
	w.branching.piece(w.i+1, f)
}
