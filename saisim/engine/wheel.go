package engine

import "math/bits"

// wheelSpan is the number of cycles that a wheel, or that of an agenda, reaches ahead. It must be a power of two.
const wheelSpan = 2048

// A wheel holds the copies that are due at MACs, in the order of cycle, port and insertion. Nearly all are due in the
// next cycles: they are in a list for each cycle. The others are in a heap. The lists need no allocation: a copy is in
// at most one wheel, and is itself the link.
type wheel struct {
	n      int    // number of copies in it; the caller of take must subtract those that take returned
	at     Cycle  // no copy is due before this cycle
	words  uint32 // one bit for each word of used that is not zero, so that a search for the next copy is short
	used   [wheelSpan / 64]uint64
	of     [wheelSpan]copies // list of a cycle, valid if its bit in used is set
	far    heap[farCopy]
	pushed uint64
}

// The words of used have one bit each in words.
var _ = [1]struct{}{}[wheelSpan/64-32]

// copies is the list of a cycle, linked by next.
type copies struct{ first, last *copyOf }

// A farCopy is a copy that is due beyond the span.
type farCopy struct {
	at   Cycle
	nth  uint64 // number in the order of insertion
	lane PortID
	cp   *copyOf
}

// before reports whether f comes before g.
//
//nolint:unused // a heap asks for it
func (f farCopy) before(g farCopy) bool {
	switch {
	case f.at != g.at:
		return f.at < g.at
	case f.lane != g.lane:
		return f.lane < g.lane
	}
	return f.nth < g.nth
}

// push adds a copy, due at cp.at at lane cp.lane. cp.at must not be before w.at.
func (w *wheel) push(cp *copyOf) {
	w.n++
	i := cp.at % wheelSpan
	if bit := uint64(1) << (i % 64); w.used[i/64]&bit == 0 && cp.at-w.at < wheelSpan { // the only copy of its cycle
		w.used[i/64] |= bit
		w.words |= 1 << (i / 64)
		w.of[i] = copies{cp, cp}
		return
	}
	w.sort(cp)
}

// sort adds a copy to the list of its cycle, or to the far copies.
func (w *wheel) sort(cp *copyOf) {
	if cp.at-w.at >= wheelSpan {
		w.pushed++
		w.far.push(farCopy{cp.at, w.pushed, cp.lane, cp})
		return
	}
	w.link(cp)
}

func (w *wheel) link(cp *copyOf) {
	i := cp.at % wheelSpan
	bit := uint64(1) << (i % 64)
	if w.used[i/64]&bit == 0 {
		w.used[i/64] |= bit
		w.words |= 1 << (i / 64)
		w.of[i] = copies{cp, cp}
		return
	}
	if last := w.of[i].last; last.lane <= cp.lane {
		last.next, w.of[i].last = cp, cp
		return
	}
	at := &w.of[i].first
	for (*at).lane <= cp.lane {
		at = &(*at).next
	}
	cp.next, *at = *at, cp
}

// turn sets the cycle before which no copy is due. Far copies may become near.
func (w *wheel) turn(to Cycle) {
	w.at = to
	if len(w.far) > 0 {
		w.approach()
	}
}

// approach moves far copies that are now near to the lists.
func (w *wheel) approach() {
	for len(w.far) > 0 && w.far[0].at-w.at < wheelSpan {
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
	if u == 0 { // the next word that has copies; this word comes last
		word = (word + 1 + bits.TrailingZeros32(bits.RotateLeft32(w.words, -word-1))) % len(w.used)
		u = w.used[word]
	}
	return w.of[word*64+bits.TrailingZeros64(u)].first
}

// removeDue removes copies that are due at or before a cycle, including the first, and returns them. They are linked by
// next, in the order of cycles and ports. nil means that none are due; w.at is then after the cycle.
func (w *wheel) removeDue(to Cycle) *copyOf {
	i := w.at % wheelSpan
	u := w.used[i/64] >> (i % 64)
	if n := to - w.at; n < 63 { // exclude copies after cycle to
		u &= 2<<n - 1
	}
	if u == 0 || w.at > to {
		return w.seek(to)
	}
	// All copies of the word, because far copies are later.
	if w.used[i/64] &^= u << (i % 64); w.used[i/64] == 0 {
		w.words &^= 1 << (i / 64)
	}
	n := Cycle(bits.TrailingZeros64(u))
	all := w.of[(i+n)%wheelSpan]
	for u &= u - 1; u != 0; u &= u - 1 {
		n = Cycle(bits.TrailingZeros64(u))
		more := &w.of[(i+n)%wheelSpan]
		all.last.next = more.first
		all.last = more.last
	}
	all.last.next = nil
	w.turn(w.at + n + 1)
	return all.first
}

// seek does take if no copy is due in the cycles of the first word.
func (w *wheel) seek(to Cycle) *copyOf {
	first := w.due()
	switch {
	case w.at > to:
		return nil
	case first == nil || first.at > to:
		w.turn(to + 1)
		return nil
	}
	w.turn(first.at)
	return w.removeDue(to)
}

// remove removes the copies at a lane, and passes them to f in their order. It scans all copies, so it is for control
// calls only.
func (w *wheel) remove(lane PortID, f func(*copyOf)) {
	all := make([]*copyOf, 0, w.n)
	to := w.at
	for cp := w.removeDue(never - 1); cp != nil; cp = w.removeDue(never - 1) {
		for ; cp != nil; cp = cp.next {
			all = append(all, cp)
			w.n--
		}
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
