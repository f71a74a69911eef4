package recordplan

import (
	"slices"
)

// greedy starts with a set that fits, and repeatedly adds the bit with the largest gain that fits. A bit that does not
// fit is never tried again, because the set only grows.
func (x *search) greedy(start []bit) found {
	f := found{set: slices.Clone(start), loads: x.loads(start)}
	cells, v := x.fit(f.loads)
	if v != fits {
		return found{}
	}
	f.cells = cells
	h := candidates{search: x, sc: x.newScorer(f.set), list: make([]candidate, len(x.candidates))}
	for i, b := range x.candidates {
		h.list[i] = candidate{bit: b, gain: x.m.alone(b)}
	}
	h.pairs = map[int]bool{}
	for len(f.set) < x.limit && !x.worn() {
		bits := h.next(f.set)
		if bits == nil {
			break
		}
		set := append(slices.Clone(f.set), bits...)
		loads := x.loads(set)
		if cells, v := x.fit(loads); v == fits {
			f.set, f.loads, f.cells = set, loads, cells
			for _, b := range bits {
				h.add(b)
			}
		}
	}
	f.entropy = h.sc.entropy()
	return f
}

// candidates are the bits that may be added to a set. As entropy is submodular, the gain of a bit only shrinks. It is
// computed again when the bit would be next.
type candidates struct {
	*search
	sc    *scorer
	list  []candidate
	pairs map[int]bool // tables whose two bits were tried together
}

type candidate struct {
	bit
	gain  float64 // upper bound of the gain
	fresh bool    // true if gain is exact, not only an upper bound
	dead  bool
}

// next returns the bits to try next: the best bit. If no single bit adds anything, these are both bits of the table
// whose hit adds most. The latter helps if a table's execution follows from other bits, since its hit requires it. The
// same bits are not tried twice.
func (h *candidates) next(set []bit) []bit {
	if c := h.best(set); c != nil {
		c.dead = true
		return []bit{c.bit}
	}
	best, most := -1, alike
	if !h.settings.Hits || h.limit-len(set) < 2 {
		return nil
	}
	for i, c := range h.list {
		hit := bit{c.table, true}
		if c.dead || c.hit || !h.needed(c.bit) || h.pairs[c.table] || !h.allowed(set, c.bit) || h.exhausted() {
			continue
		}
		// The execution bit adds nothing by itself, so the gain of both bits is that of the hit.
		h.sets++
		if g := h.sc.gain(hit); g > most {
			best, most = i, g
		}
	}
	if best < 0 {
		return nil
	}
	t := h.list[best].table
	h.pairs[t] = true
	return []bit{{t, false}, {t, true}}
}

// best returns the bit with the largest gain, or nil if none adds anything. Among equal bits it returns the one whose
// table has the most possible stages.
func (h *candidates) best(set []bit) *candidate {
	for {
		var top *candidate
		for i := range h.list {
			c := &h.list[i]
			if c.dead || c.gain <= alike || !h.allowed(set, c.bit) {
				continue
			}
			if top == nil || h.before(c, top) {
				top = c
			}
		}
		if top == nil || top.fresh || h.exhausted() {
			return top
		}
		top.gain, top.fresh = h.sc.gain(top.bit), true
		h.sets++
	}
}

// before reports whether a bit is tried before another. The bit with the larger gain is tried first. Among equal gains,
// an inexact gain precedes an exact one, and then a bit with more possible stages precedes others.
func (h *candidates) before(c, top *candidate) bool {
	return c.gain > top.gain+alike ||
		c.gain > top.gain-alike && (top.fresh && !c.fresh || top.fresh == c.fresh && h.slack(c) > h.slack(top))
}

func (h *candidates) slack(c *candidate) int {
	t := h.m.writer(c.table)
	return h.space.last[t] - h.space.first[t]
}

// add adds a bit to the set.
func (h *candidates) add(b bit) {
	h.sc.set(b, true)
	for i := range h.list {
		if h.m.tables[h.list[i].table].seg == h.m.tables[b.table].seg {
			h.list[i].fresh = false
		}
	}
}

// restarts runs greedy from the must-record tables, and then from these with each of the first bits in the order of
// entropy.
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

// byEntropy returns the candidates, those with the highest entropy first.
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
