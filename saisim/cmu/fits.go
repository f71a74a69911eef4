package cmu

import (
	"errors"
	"fmt"

	"tamtam/tam/flymon"
)

// fits returns an error if a layout that is valid by itself conflicts with other tasks. old is the task that it
// replaces, or nil.
func (g *Groups) fits(l *flymon.Layout, old *task) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	stacked := g.geometry.Groups
	for i := range l.Units {
		if (l.Units[i].Group < stacked) != (l.Units[0].Group < stacked) {
			bad("units in group %d and in group %d, want all below group %d, or all in the spliced ones from there on",
				l.Units[0].Group, l.Units[i].Group, stacked)
			break
		}
	}
	for _, m := range l.Masks {
		h := &g.hashes[m.Group*g.geometry.Units+m.Unit]
		if t := other(h.users, old); t != nil && h.mask != m.Key {
			bad("group %d, hash unit %d: mask is %s, but task %q has %s there, want the same or another unit", m.Group, m.Unit,
				m.Key, t.layout.Task, h.mask)
		}
	}
	for group := range g.groups {
		n := g.groups[group] - old.in(group)
		if uses(l, group) && n >= flymon.MaxTasks {
			bad("group %d has %d tasks, want at most %d with this one", group, n, flymon.MaxTasks)
		}
	}
	for i := range l.Units {
		if err := g.beside(l, i, old); err != nil {
			bad("units[%d]: %w", i, err)
		}
	}
	for i := range l.Frozen {
		u := &l.Frozen[i]
		if p := g.overlap(u, l.Banks(), old); p != nil {
			bad("frozen[%d]: %w", i, p.conflict(u))
		}
	}
	if err := apart(l); err != nil {
		bad("%w", err)
	}
	return errors.Join(errs...)
}

// beside returns an error if a unit does not fit into its CMU.
func (g *Groups) beside(l *flymon.Layout, i int, old *task) error {
	u := &l.Units[i]
	if p := g.overlap(u, l.Banks(), old); p != nil {
		return p.conflict(u)
	}
	for _, p := range g.cmu(u).places {
		if p.task == old || p.frozen || !coinsMeet(u, p.unit) {
			continue
		}
		if f := &p.task.layout.Filter; l.Filter.Meets(f) {
			return fmt.Errorf("group %d, cmu %d: filter %s meets %s of task %q, and a CMU does one thing with a packet: "+
				"want another CMU, or coins that do not meet",
				u.Group, u.CMU, l.Filter, f, p.task.layout.Task)
		}
	}
	return nil
}

// coinsMeet reports whether there is a coin for which both units run.
func coinsMeet(a, b *flymon.Unit) bool {
	return a.To == 0 || b.To == 0 || a.From < b.To && b.From < a.To
}

// other returns the first task other than old, or nil.
func other(tasks []*task, old *task) *task {
	for _, t := range tasks {
		if t != old {
			return t
		}
	}
	return nil
}

// in returns 1 if the task has units in a group, else 0.
func (t *task) in(group int) int {
	if t != nil && uses(&t.layout, group) {
		return 1
	}
	return 0
}

func uses(l *flymon.Layout, group int) bool {
	for i := range l.Units {
		if l.Units[i].Group == group {
			return true
		}
	}
	return false
}

func (g *Groups) cmu(u *flymon.Unit) *cmu { return &g.cmus[u.Group*g.geometry.CMUs+u.CMU] }

// overlap returns a place of another task in the unit's partition, or nil.
func (g *Groups) overlap(u *flymon.Unit, banks uint32, old *task) *place {
	places := g.cmu(u).places
	for i := range places {
		if p := &places[i]; p.task != old && p.base < u.Base+u.Size*banks && u.Base < p.end {
			return p
		}
	}
	return nil
}

func (p *place) conflict(u *flymon.Unit) error {
	frozen := ""
	if p.frozen {
		frozen = ", frozen"
	}
	return fmt.Errorf("group %d, cmu %d: base is %d, but task %q has buckets %d to %d there%s", u.Group, u.CMU, u.Base,
		p.task.layout.Task, p.base, p.end-1, frozen)
}

// apart returns an error if partitions of the layout itself overlap. Each unit has its own CMU, so one of the two
// partitions is frozen.
func apart(l *flymon.Layout) error {
	banks := l.Banks()
	for i := range l.Frozen {
		f := &l.Frozen[i]
		overlaps := func(u *flymon.Unit) bool {
			return u.Group == f.Group && u.CMU == f.CMU && u.Base < f.Base+f.Size*banks && f.Base < u.Base+u.Size*banks
		}
		for j := range l.Units {
			if overlaps(&l.Units[j]) {
				return fmt.Errorf("frozen[%d]: group %d, cmu %d: base is %d, which units[%d] has", i, f.Group, f.CMU, f.Base, j)
			}
		}
		for j := range i {
			if overlaps(&l.Frozen[j]) {
				return fmt.Errorf("frozen[%d]: group %d, cmu %d: base is %d, which frozen[%d] has", i, f.Group, f.CMU, f.Base, j)
			}
		}
	}
	return nil
}
