package engine

import "math/bits"

// wheelSpan is how many cycles ahead a wheel, or that of an agenda, reaches, a power of two.
const wheelSpan = 2048

// A wheel holds the copies that are due at MACs, in the order of (cycle, port), and in that of their coming where both
// are the same. Those of the next cycles, nearly all, are in a list for each cycle; the others wait in a heap. Nothing
// is allocated for the former: a copy is in one wheel at most, and is itself the link.
type wheel struct {
	n           int   // copies in it
	at          Cycle // none is due before
	used        [wheelSpan / 64]uint64
	first, last [wheelSpan]*copyOf // of a cycle, if its bit in used is set
	far         heap[farCopy]
	pushed      uint64
}

// A farCopy is a copy that is due beyond the span.
type farCopy struct {
	at   Cycle
	nth  uint64 // of all that were pushed
	lane PortID
	cp   *copyOf
}

// before is the order in which copies come.
func (f farCopy) before(g farCopy) bool {
	switch {
	case f.at != g.at:
		return f.at < g.at
	case f.lane != g.lane:
		return f.lane < g.lane
	}
	return f.nth < g.nth
}

// push adds a copy, which is due at cp.at, not before w.at, at lane cp.lane.
func (w *wheel) push(cp *copyOf) {
	w.n++
	w.pushed++
	if cp.at-w.at >= wheelSpan {
		w.far.push(farCopy{cp.at, w.pushed, cp.lane, cp})
		return
	}
	w.link(cp)
}

func (w *wheel) link(cp *copyOf) {
	i := cp.at % wheelSpan
	bit := uint64(1) << (i % 64)
	cp.next = nil
	if w.used[i/64]&bit == 0 {
		w.used[i/64] |= bit
		w.first[i], w.last[i] = cp, cp
		return
	}
	if last := w.last[i]; last.lane <= cp.lane {
		last.next, w.last[i] = cp, cp
		return
	}
	at := &w.first[i]
	for (*at).lane <= cp.lane {
		at = &(*at).next
	}
	cp.next, *at = *at, cp
}

// turn says that no copy is due before a cycle any more: what was far may be near now.
func (w *wheel) turn(to Cycle) {
	w.at = to
	for len(w.far) > 0 && w.far[0].at-to < wheelSpan {
		w.link(w.far[0].cp)
		w.far.pop()
	}
}

// due returns the copy that is due first, nil if there is none.
func (w *wheel) due() *copyOf {
	if w.n == len(w.far) {
		if w.n == 0 {
			return nil
		}
		return w.far[0].cp
	}
	i := w.at % wheelSpan
	word, u := int(i/64), w.used[i/64]>>(i%64)<<(i%64)
	for u == 0 {
		word = (word + 1) % len(w.used)
		u = w.used[word]
	}
	return w.first[word*64+bits.TrailingZeros64(u)]
}

// pop takes out the first copy that is due at or before a cycle, nil if there is none: then none is due
// before the next cycle.
func (w *wheel) pop(to Cycle) *copyOf {
	if w.at > to {
		return nil
	}
	if w.n == len(w.far) {
		if w.n == 0 || w.far[0].at > to {
			w.turn(to + 1)
			return nil
		}
		w.turn(w.far[0].at)
	}
	i := w.at % wheelSpan
	word, u := int(i/64), w.used[i/64]>>(i%64)<<(i%64)
	for u == 0 {
		word = (word + 1) % len(w.used)
		u = w.used[word]
	}
	i = Cycle(word*64 + bits.TrailingZeros64(u))
	cp := w.first[i]
	if cp.at > to {
		w.turn(to + 1)
		return nil
	}
	if cp.at != w.at {
		w.turn(cp.at)
	}
	if w.first[i] = cp.next; cp.next == nil {
		w.used[word] &^= 1 << (i % 64) // not u: turn may have set bits
		w.last[i] = nil
	}
	w.n--
	return cp
}

// remove takes out the copies at a lane, in their order, and passes them to f. It is for control calls only: it
// looks at every copy.
func (w *wheel) remove(lane PortID, f func(*copyOf)) {
	all := make([]*copyOf, 0, w.n)
	to := w.at
	for w.n > 0 {
		all = append(all, w.pop(never-1))
	}
	*w = wheel{at: to}
	for _, cp := range all {
		if cp.lane != lane {
			w.push(cp)
		}
	}
	for _, cp := range all {
		if cp.lane == lane {
			f(cp)
		}
	}
}
