package cmu

import (
	"fmt"
	"slices"

	"tamtam/tam/flymon"
)

// Apply creates a task, or replaces the task of that name, completely and in one step. On an error nothing changes. The
// error contains everything that is wrong with the layout, or names the group, CMU and task with which it conflicts.
func (g *Groups) Apply(l flymon.Layout) error {
	if err := g.Check(&l); err != nil {
		return err
	}
	g.flush()
	old := g.tasks[l.Task]
	t := &task{layout: copyLayout(l)}
	if old != nil {
		g.leave(old)
	}
	g.enter(t)
	g.compile(t)
	g.inherit(t, old)
	return nil
}

// Check returns the error that [Groups.Apply] would return.
func (g *Groups) Check(l *flymon.Layout) error {
	err := l.Check(&g.geometry)
	if err == nil {
		err = g.fits(l, g.tasks[l.Task])
	}
	if err != nil {
		return fmt.Errorf("task %q: %w", l.Task, err)
	}
	return nil
}

// Remove removes a task. It returns false if there is no such task.
func (g *Groups) Remove(name string) bool {
	g.flush()
	t, ok := g.tasks[name]
	if ok {
		g.leave(t)
	}
	return ok
}

// enter allocates the resources of the task.
func (g *Groups) enter(t *task) {
	l := &t.layout
	g.tasks[l.Task] = t
	g.classifierOf(t).add(t)
	g.active = slices.Grow(g.active[:0], len(g.tasks)) // so that the packet path does not allocate
	for _, m := range l.Masks {
		h := &g.hashes[m.Group*g.geometry.Units+m.Unit]
		h.mask = m.Key
		h.users = append(h.users, t)
		h.sum = g.acquire(flymon.PolyNumber(m.Group, m.Unit), m.Key)
	}
	place := func(u *flymon.Unit, frozen bool) {
		c := g.cmu(u)
		if c.words == nil {
			c.words = make([]uint32, g.geometry.Depth)
		}
		c.places = append(c.places, place{t, u.Base, u.Base + u.Size*l.Banks(), u, frozen})
	}
	for i := range l.Units {
		place(&l.Units[i], false)
	}
	for i := range l.Frozen {
		place(&l.Frozen[i], true)
	}
	for group := range g.groups {
		g.groups[group] += t.in(group)
	}
}

// leave frees the resources of the task. Its words keep their values until they are allocated to another task.
func (g *Groups) leave(t *task) {
	is := func(x *task) bool { return x == t }
	delete(g.tasks, t.layout.Task)
	g.classifierOf(t).remove(t)
	for _, m := range t.layout.Masks {
		h := &g.hashes[m.Group*g.geometry.Units+m.Unit]
		h.users = slices.DeleteFunc(h.users, is)
		g.release(h.sum)
	}
	for i := range g.cmus {
		c := &g.cmus[i]
		c.places = slices.DeleteFunc(c.places, func(p place) bool { return p.task == t })
	}
	for group := range g.groups {
		g.groups[group] -= t.in(group)
	}
}

// acquire returns the number of a compressed key. It finds the slot of the mask, or sets one up. There is always a free
// slot, since no more masks are in use than there are hash units.
func (g *Groups) acquire(poly int, mask flymon.Key) uint16 {
	at := 0
	for i := range g.slots {
		s := &g.slots[i]
		if s.compressor != nil && s.mask == mask {
			at = i
			break
		}
		if s.used == 0 && (g.slots[at].used != 0 || s.compressor == nil && g.slots[at].compressor != nil) {
			at = i
		}
	}
	s := &g.slots[at]
	if s.compressor == nil || s.mask != mask {
		*s = slot{mask: mask, compressor: flymon.NewCompressor(mask)}
	}
	s.users[poly]++
	s.used |= 1 << poly
	return uint16(at*len(s.users) + poly)
}

// release releases a compressed key, once.
func (g *Groups) release(sum uint16) {
	s := &g.slots[int(sum)/len(flymon.Sums{})]
	poly := int(sum) % len(s.users)
	if s.users[poly]--; s.users[poly] == 0 {
		s.used &^= 1 << poly
	}
}

// partition returns the words of all banks of a unit.
func (g *Groups) partition(u *flymon.Unit, banks uint32) []uint32 {
	return g.cmu(u).words[u.Base : u.Base+u.Size*banks]
}

// classifierOf returns the classifier of a task's filter.
func (g *Groups) classifierOf(t *task) *classifier {
	if t.layout.Units[0].Group < g.geometry.Groups {
		return &g.stacked
	}
	return &g.spliced
}
