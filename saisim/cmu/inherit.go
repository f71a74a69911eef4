package cmu

import (
	"slices"

	"tamtam/tam/flymon"
)

// inherit gives a task the state of the replaced task that is still valid, and zeroes the rest.
func (g *Groups) inherit(t, old *task) {
	anew, zeroed := old == nil, old == nil
	counted, kept := false, false // partitions frozen by this change, and partitions frozen before
	for i := range t.layout.Units {
		if !old.has(&t.layout, i) {
			clear(g.partition(&t.layout.Units[i], t.layout.Banks()))
			anew, zeroed = true, true
		}
	}
	for i := range t.layout.Frozen {
		c, f := old.had(&t.layout.Frozen[i], t.layout.Banks())
		counted, kept = counted || c, kept || f
		if !c && !f {
			clear(g.partition(&t.layout.Frozen[i], t.layout.Banks()))
			zeroed = true
		}
	}
	if zeroed {
		g.generation++
		t.generation = g.generation
	} else {
		t.generation = old.generation
	}
	switch {
	case counted && anew:
		t.frozen = frozen{old.banks, g.at, old.digests, old.truth}
	case counted: // digests and exact values are continued, not frozen
		t.frozen = frozen{banks: old.banks, at: g.at}
	case kept:
		t.frozen = old.frozen
	}
	t.since = g.number
	if !anew {
		t.inheritCounts(old)
	}
	g.makeRoom(t)
}

// makeRoom allocates space for digests and exact values, if the task has not inherited it.
func (g *Groups) makeRoom(t *task) {
	for b := range t.layout.Banks() {
		if t.layout.Digest != nil && t.digests[b] == nil {
			t.digests[b], t.seen[b] = make([]flymon.Vector, 0, g.geometry.Digests), newKeySet(g.geometry.Digests)
			t.banks[b].Digests, t.banks[b].DigestsLost = 0, 0
		}
	}
	if g.maxFlows > 0 && t.truth == nil {
		t.truth = newTruths(&t.layout, g.maxFlows)
	}
}

// inheritCounts copies the banks of a task whose units all still exist.
func (t *task) inheritCounts(old *task) {
	t.banks, t.since = old.banks, old.since
	d, o := t.layout.Digest, old.layout.Digest
	switch {
	case d != nil && o != nil && *d == *o:
		t.digests, t.seen = old.digests, old.seen
	case d == nil:
		for b := range t.banks {
			t.banks[b].Digests, t.banks[b].DigestsLost = 0, 0
		}
	}
	if t.layout.Flow == old.layout.Flow && t.layout.Measures == old.layout.Measures {
		t.truth = old.truth
	}
}

// has reports whether the task already counts in unit i of a layout: an identical unit, under the same keys, in banks
// of the same epochs.
func (t *task) has(l *flymon.Layout, i int) bool {
	if t == nil || t.layout.Epoch != l.Epoch {
		return false
	}
	u := &l.Units[i]
	for j := range t.layout.Units {
		if same(&t.layout.Units[j], u) {
			return t.sameMasks(l, u.Group, u.Key) &&
				(u.P1.From != flymon.Compressed || t.sameMasks(l, u.Group, u.P1.Key)) &&
				(u.P2.From != flymon.Compressed || t.sameMasks(l, u.Group, u.P2.Key))
		}
	}
	return false
}

func (t *task) sameMasks(l *flymon.Layout, group int, r flymon.Ref) bool {
	mask := func(l *flymon.Layout, unit int) (k flymon.Key) {
		for _, m := range l.Masks {
			if m.Group == group && m.Unit == unit {
				k = m.Key
			}
		}
		return k
	}
	return mask(l, r.A) == mask(&t.layout, r.A) && (r.B == 0 || mask(l, r.B-1) == mask(&t.layout, r.B-1))
}

// had reports whether the task has the partition, as a counting or as a frozen one.
func (t *task) had(u *flymon.Unit, banks uint32) (counted, frozen bool) {
	if t == nil || t.layout.Banks() != banks {
		return false, false
	}
	is := func(x flymon.Unit) bool { return samePlace(&x, u) }
	return slices.ContainsFunc(t.layout.Units, is), slices.ContainsFunc(t.layout.Frozen, is)
}

// same reports whether two units are identical.
func same(a, b *flymon.Unit) bool {
	param := func(p, q *flymon.Param) bool {
		return p.From == q.From && p.Value == q.Value && p.Key == q.Key && p.Bits == q.Bits && p.Scale == q.Scale &&
			slices.Equal(p.Of, q.Of)
	}
	return samePlace(a, b) && a.Key == b.Key && a.Shifted == b.Shifted && a.Op == b.Op &&
		a.From == b.From && a.To == b.To && param(&a.P1, &b.P1) && param(&a.P2, &b.P2) && slices.Equal(a.Map, b.Map)
}

func samePlace(a, b *flymon.Unit) bool {
	return a.Group == b.Group && a.CMU == b.CMU && a.Base == b.Base && a.Size == b.Size
}

// copyLayout returns a deep copy of a layout.
func copyLayout(l flymon.Layout) flymon.Layout {
	l.Masks = slices.Clone(l.Masks)
	l.Units, l.Frozen = copyUnits(l.Units), copyUnits(l.Frozen)
	if l.Digest != nil {
		d := *l.Digest
		l.Digest = &d
	}
	return l
}

func copyUnits(units []flymon.Unit) []flymon.Unit {
	units = slices.Clone(units)
	for i := range units {
		u := &units[i]
		u.Map, u.P1.Of, u.P2.Of = slices.Clone(u.Map), slices.Clone(u.P1.Of), slices.Clone(u.P2.Of)
	}
	return units
}
