package reference

import (
	"reflect"
	"slices"

	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/tam/flymon"
)

// setSketches replaces the tasks with a configuration's tasks.
func (c *Chip) setSketches(rows []config.Sketch) {
	for name := range c.sketches {
		if !slices.ContainsFunc(rows, func(r config.Sketch) bool { return r.Task == name }) {
			delete(c.sketches, name)
		}
	}
	for _, r := range rows {
		l := r.Layout
		if old := c.sketches[l.Task]; old == nil || !reflect.DeepEqual(old.Layout, l) {
			c.sketches[l.Task] = c.newSketch(l, old)
		}
	}
}

// newSketch returns a task with the state that it keeps from the replaced task old. old is nil if no task is replaced.
func (c *Chip) newSketch(l flymon.Layout, old *sketch) *sketch {
	s := &sketch{Layout: l, since: c.entered}
	anew, zeroed := old == nil, old == nil
	for _, u := range l.Units {
		if old == nil || !old.counts(l, u) {
			c.zero(u, 0, u.Size*banks(l))
			anew, zeroed = true, true
		}
	}
	froze, stayed := false, false // froze: partitions are frozen now; stayed: they were frozen before
	for _, u := range l.Frozen {
		counted := old != nil && banks(old.Layout) == banks(l) && inPlace(old.Units, u)
		frozen := old != nil && banks(old.Layout) == banks(l) && inPlace(old.Frozen, u)
		froze, stayed = froze || counted, stayed || frozen
		if !counted && !frozen {
			c.zero(u, 0, u.Size*banks(l))
			zeroed = true
		}
	}
	switch {
	case froze:
		s.status.Frozen, s.status.FrozenAt = old.status.Banks, c.lastTime
		if anew {
			s.frozen = old.keys
		}
		c.Sketching("frozen")
	case stayed:
		s.status.Frozen, s.status.FrozenAt, s.frozen = old.status.Frozen, old.status.FrozenAt, old.frozen
	}
	if !anew {
		c.Sketching("replaced, it goes on")
		s.status.Banks, s.since = old.status.Banks, old.since
		if reflect.DeepEqual(l.Digest, old.Digest) {
			s.keys = old.keys
		} else {
			for b := range s.status.Banks {
				s.status.Banks[b].Digests, s.status.Banks[b].DigestsLost = 0, 0
			}
		}
	}
	if old != nil {
		s.status.Generation = old.status.Generation
	}
	if zeroed {
		c.zeroings++
		s.status.Generation = c.zeroings
	}
	return s
}

func banks(l flymon.Layout) uint32 {
	if l.Epoch > 0 {
		return 2
	}
	return 1
}

// counts reports whether a unit of another layout continues a unit of the task: it is identical, and has the same masks
// and the same epoch.
func (s *sketch) counts(l flymon.Layout, u flymon.Unit) bool {
	if s.Epoch != l.Epoch || !slices.ContainsFunc(s.Units, func(v flymon.Unit) bool { return reflect.DeepEqual(u, v) }) {
		return false
	}
	mask := func(of flymon.Layout, unit int) flymon.Key {
		for _, m := range of.Masks {
			if m.Group == u.Group && m.Unit == unit {
				return m.Key
			}
		}
		return flymon.Key{}
	}
	refs := []flymon.Ref{u.Key}
	for _, p := range []flymon.Param{u.P1, u.P2} {
		if p.From == flymon.Compressed {
			refs = append(refs, p.Key)
		}
	}
	for _, r := range refs {
		if mask(l, r.A) != mask(s.Layout, r.A) || r.B > 0 && mask(l, r.B-1) != mask(s.Layout, r.B-1) {
			return false
		}
	}
	return true
}

// inPlace reports whether a unit's partition is among the partitions of others.
func inPlace(units []flymon.Unit, u flymon.Unit) bool {
	return slices.ContainsFunc(units, func(v flymon.Unit) bool {
		return v.Group == u.Group && v.CMU == u.CMU && v.Base == u.Base && v.Size == u.Size
	})
}

// zero zeroes n words of a unit, from the given one on.
func (c *Chip) zero(u flymon.Unit, from, n uint32) {
	for i := range n {
		delete(c.words, bucket{u.Group, u.CMU, u.Base + from + i})
	}
}

// ClearSketch zeroes a bank of a task with its status and keys.
func (c *Chip) ClearSketch(task string, bank int) {
	s := c.sketches[task]
	for _, u := range slices.Concat(s.Units, s.Frozen) {
		c.zero(u, uint32(bank)*u.Size, u.Size)
	}
	s.status.Banks[bank] = SketchBank{Epoch: s.status.Banks[bank].Epoch}
	s.status.Frozen[bank] = SketchBank{Epoch: s.status.Frozen[bank].Epoch}
	s.keys[bank], s.frozen[bank] = nil, nil
}

// ClearSketchRange zeroes n buckets of a bank of a unit and nothing else.
func (c *Chip) ClearSketchRange(task string, unit, bank int, from, n uint32) {
	u := c.unit(task, unit)
	c.zero(u, uint32(bank)*u.Size+from, n)
}

func (c *Chip) unit(task string, unit int) flymon.Unit {
	s := c.sketches[task]
	return slices.Concat(s.Units, s.Frozen)[unit]
}

// SketchWords returns the buckets of a bank of a unit, as a [flymon.ObjectRegisters] read does. Numbers behind those of
// its units are for the frozen ones.
func (c *Chip) SketchWords(task string, unit, bank int) []uint32 {
	u := c.unit(task, unit)
	words := make([]uint32, u.Size)
	for i := range words {
		words[i] = c.words[bucket{u.Group, u.CMU, u.Base + uint32(bank)*u.Size + uint32(i)}]
	}
	return words
}

// Sketch returns what register reads return of a task: its status and the keys of its banks, frozen ones first. The
// task must exist.
func (c *Chip) Sketch(task string) (SketchStatus, [2][]flymon.Vector) {
	s := c.sketches[task]
	var keys [2][]flymon.Vector
	for b := range keys {
		keys[b] = slices.Concat(s.frozen[b], s.keys[b])
	}
	return s.status, keys
}

// nextArrival returns the next cycle at which a mirror copy reaches spliced groups.
func (c *Chip) nextArrival() saisim.Cycle {
	if len(c.circling) == 0 {
		return ^saisim.Cycle(0)
	}
	return c.circling[0].at
}
