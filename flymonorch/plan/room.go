package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tamtam/tam/flymon"
)

// Limits of the search for tasks to move, so that planning ends quickly on full chips: its depth (a task may move to a
// place that another one must leave), and the number of examined sets of groups.
const (
	moveDepth = 3
	moveLooks = 150
)

// Room returns the place of a new task, or of a changed task with a place, like Try. If there is none, it also returns
// tasks to move first, in order. Each new place is free when the earlier moves are done and thawed. It allocates
// nothing.
//
// Tasks without epochs and those that are read live are not moved. Their counts would be lost or split, and no epoch
// ends soon for a fresh start. Pinned tasks are not moved either.
func (p *Pool) Room(name string, t flymon.Task) (placed *Placed, moves []*Placed, err error) {
	placed, err = p.Try(name, t)
	var lack *Lack
	if !errors.As(err, &lack) || lack.Pinned != nil {
		return placed, nil, err
	}
	m := &mover{looks: moveLooks}
	after, ok := p, false
	if p.roomy(name, t) {
		if after, ok = m.room(p, name, t, nil, moveDepth); !ok {
			if pinned := p.pinnedFor(name, t); len(pinned) > 0 {
				return nil, nil, lack.pinned(pinned)
			}
		}
	}
	if !ok {
		return nil, nil, &Lack{Task: lack.Task, What: lack.What + m.describeBlockers(p, name, t), Blockers: m.blockers}
	}
	if placed, err = after.Try(name, t); err != nil {
		return nil, nil, err
	}
	return placed, m.moves, nil
}

// Move gives a task the place that Room has found. Its old units are frozen until Thaw.
func (p *Pool) Move(to *Placed) error {
	old := p.Get(to.Name)
	if old == nil {
		return fmt.Errorf("task %q has no place", to.Name)
	}
	p.put(moved(old, to))
	return nil
}

// Moved returns the task in its state during the move, which Move sets.
func (p *Pool) Moved(to *Placed) *Placed { return moved(p.Get(to.Name), to) }

func moved(old, to *Placed) *Placed {
	both := *to
	both.Layout.Frozen = old.Layout.Units
	return &both
}

// held returns a task as it is while another place for it is searched: its units count nothing, and no other task can
// use them.
func held(old *Placed, t flymon.Task) *Placed {
	h := *old
	h.Layout.Units, h.Layout.Masks, h.Layout.Frozen = nil, nil, old.Layout.Units
	if (t.Epoch == 0 || t.Live) != (old.Layout.Epoch == 0) {
		h.Layout.Frozen = nil
	}
	return &h
}

// aside returns a pool in which another place for the task can be searched. If the task has a place, that place is
// held.
func (p *Pool) aside(name string, t flymon.Task) *Pool {
	old := p.Get(name)
	if old == nil {
		return p
	}
	c := p.clone()
	c.put(held(old, t))
	return c
}

// roomy reports whether there are enough free buckets for a task, regardless of their position.
func (p *Pool) roomy(name string, t flymon.Task) bool {
	r, err := p.compile(t)
	if err != nil {
		return false
	}
	need := uint32(0)
	for _, step := range r.steps {
		for i := range step {
			need += step[i].unit.Size * r.banks
		}
	}
	v, free := p.aside(name, t).view(""), uint32(0)
	for g := range v.groups {
		for c := range v.groups[g].cmus {
			n, _ := v.groups[g].cmus[c].free(p.geo.MinSize())
			free += n
		}
	}
	return free >= need
}

// pinnedFor returns the pinned tasks that would have to move for a task, by a search that may move them. It moves as
// few of them as it finds.
func (p *Pool) pinnedFor(name string, t flymon.Task) (pinned []string) {
	if !slices.ContainsFunc(p.tasks, func(o *Placed) bool { return o.Task.Pinned }) {
		return nil
	}
	m := &mover{looks: moveLooks, unpinned: true}
	if _, ok := m.room(p, name, t, nil, moveDepth); !ok {
		return nil
	}
	for _, to := range m.moves {
		if to.Task.Pinned && !slices.Contains(pinned, to.Name) {
			pinned = append(pinned, to.Name)
		}
	}
	return pinned
}

// movable reports whether a task can be moved for another. Pinned tasks count as movable here, only to find those in
// the way.
func movable(t *Placed) bool {
	return t.Layout.Epoch > 0 && len(t.Layout.Frozen) == 0 && len(t.Layout.Units) > 0
}

// A mover looks for tasks to move.
type mover struct {
	unpinned bool // it may plan moves of pinned tasks, which are never executed
	looks    int
	moves    []*Placed
	blockers []string // names of tasks without which the task fits
}

// An eviction is a place for a task, and the tasks that occupy it.
type eviction struct {
	placed *Placed
	tasks  []*Placed
}

// pinned returns the number of pinned tasks.
func (e *eviction) pinned() (n int) {
	for _, t := range e.tasks {
		if t.Task.Pinned {
			n++
		}
	}
	return n
}

func (e *eviction) buckets() (n uint32) {
	for _, t := range e.tasks {
		n += t.Buckets
	}
	return n
}

// room makes space for a task in a pool in which the places of staying tasks remain. It returns the resulting pool.
func (m *mover) room(p *Pool, name string, t flymon.Task, staying []string, depth int) (*Pool, bool) {
	if _, err := p.aside(name, t).place(name, t); err == nil {
		return p, true
	}
	if depth == 0 {
		return nil, false
	}
	can := func(o *Placed) bool {
		return movable(o) && (m.unpinned || !o.Task.Pinned) && o.Name != name && !slices.Contains(staying, o.Name)
	}
	for _, e := range m.evictions(p, name, t, can) {
		before := len(m.moves)
		if after, ok := m.evict(p, &e, append(slices.Clone(staying), name), depth); ok {
			return after, true
		}
		m.moves = m.moves[:before]
		if m.looks <= 0 {
			break
		}
	}
	return nil, false
}

// evict moves the tasks of an eviction to other places, each as soon as there is one.
func (m *mover) evict(p *Pool, e *eviction, staying []string, depth int) (*Pool, bool) {
	p = p.with(e.placed)
	for _, t := range e.tasks {
		staying = append(staying, t.Name)
	}
	for left := e.tasks; len(left) > 0; {
		var stuck []*Placed
		for _, t := range left {
			after, ok := m.room(p, t.Name, t.Task, staying, depth-1)
			if !ok {
				stuck = append(stuck, t)
				continue
			}
			to, err := after.aside(t.Name, t.Task).place(t.Name, t.Task)
			if err != nil {
				return nil, false
			}
			m.moves = append(m.moves, to)
			p = after.clone()
			p.put(to) // the task's old place is free again
		}
		if len(stuck) == len(left) || m.looks <= 0 && len(stuck) > 0 {
			return nil, false
		}
		left = stuck
	}
	return p.without(e.placed.Name), true
}

// evictions returns all places of a task that require others to leave, the one with the fewest others first. No subset
// of an eviction's tasks would suffice for its groups.
func (m *mover) evictions(p *Pool, name string, t flymon.Task, can func(*Placed) bool) []eviction {
	r, err := p.compile(t)
	if err != nil {
		return nil
	}
	var all []eviction
	for _, groups := range p.tuples(len(r.steps)) {
		if m.looks--; m.looks < 0 {
			break
		}
		there := p.tasksIn(groups, can)
		trial := p.aside(name, t).clone()
		for _, o := range there {
			trial.Remove(o.Name)
		}
		s := trial.searchIn(name, r, &t, groups)
		if s.best == nil {
			continue
		}
		e := eviction{}
		for _, o := range there { // o may stay if the new task fits beside it
			trial.put(o)
			if with := trial.searchIn(name, r, &t, groups); with.best != nil {
				s = with
				continue
			}
			trial.Remove(o.Name)
			e.tasks = append(e.tasks, o)
		}
		e.placed = s.placed(name, t)
		all = append(all, e)
	}
	slices.SortStableFunc(all, func(a, b eviction) int {
		return cmp.Or(cmp.Compare(a.pinned(), b.pinned()), cmp.Compare(len(a.tasks), len(b.tasks)),
			cmp.Compare(a.buckets(), b.buckets()))
	})
	return all
}

// tasksIn returns the tasks that are in the groups and can leave them, those with the most buckets first.
func (p *Pool) tasksIn(groups []int, can func(*Placed) bool) []*Placed {
	var there []*Placed
	for _, o := range p.tasks {
		in := slices.ContainsFunc(slices.Concat(o.Layout.Units, o.Layout.Frozen),
			func(u flymon.Unit) bool { return slices.Contains(groups, u.Group) })
		if in && can(o) {
			there = append(there, o)
		}
	}
	slices.SortStableFunc(there, func(a, b *Placed) int { return cmp.Compare(b.Buckets, a.Buckets) })
	return there
}

// tuples returns the combinations of groups for the steps of a task.
func (p *Pool) tuples(steps int) (all [][]int) {
	if steps == 1 {
		for g := range p.geo.All() {
			all = append(all, []int{g})
		}
		return all
	}
	var extend func(before []int, from int)
	extend = func(before []int, from int) {
		if len(before) == steps {
			all = append(all, slices.Clone(before))
			return
		}
		for g := from; g < p.geo.Groups; g++ {
			extend(append(before, g), g+flymon.Apart)
		}
	}
	extend(nil, 0)
	return all
}

// describeBlockers describes the tasks in the way: the fewest without which the task would fit.
func (m *mover) describeBlockers(p *Pool, name string, t flymon.Task) string {
	m.looks = moveLooks
	all := m.evictions(p, name, t, func(o *Placed) bool { return o.Name != name })
	if len(all) == 0 || len(all[0].tasks) == 0 {
		return ""
	}
	var stay, pinned []string
	for _, o := range all[0].tasks {
		m.blockers = append(m.blockers, o.Name)
		switch {
		case o.Task.Pinned:
			pinned = append(pinned, o.Name)
		case !movable(o):
			stay = append(stay, o.Name)
		}
	}
	words := fmt.Sprintf("; in the way in %s: %s", all[0].placed.Groups(), taskWords(m.blockers))
	if len(pinned) > 0 {
		words += fmt.Sprintf("; %s cannot be moved: pinned", taskWords(pinned))
	}
	if len(stay) > 0 {
		words += fmt.Sprintf("; %s cannot be moved: counted without banked epochs", taskWords(stay))
	}
	if len(pinned)+len(stay) > 0 {
		return words
	}
	return words + ", with no other room to move to"
}

// maxNames is the maximum number of tasks that a sentence names.
const maxNames = 8

func taskWords(names []string) string {
	slices.Sort(names)
	some := strings.Join(names[:min(len(names), maxNames)], ", ")
	switch n := len(names); {
	case n == 1:
		return "task " + some
	case n > maxNames:
		return fmt.Sprintf("%d tasks, among them %s", n, some)
	}
	return "tasks " + some
}

// Groups describes the groups of a task's units.
func (p *Placed) Groups() string {
	var list []int
	for i := range p.Layout.Units {
		if g := p.Layout.Units[i].Group; !slices.Contains(list, g) {
			list = append(list, g)
		}
	}
	slices.Sort(list)
	return groupWords(list)
}
