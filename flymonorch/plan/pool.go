package plan

import (
	"fmt"
	"slices"
	"strings"

	"tamtam/tam/flymon"
)

// A Pool is what of a chip's CMU groups is in use.
type Pool struct {
	geo   flymon.Geometry
	tasks []*Placed // by name
	// reserved are places for tasks that move there when others have left: nothing else is placed
	// there.
	reserved []*Placed
	seen     *view // of all these; nil: they have changed since
}

// Placed is a task with its place.
type Placed struct {
	Name     string
	Task     flymon.Task
	Layout   flymon.Layout
	Sketch   flymon.Sketch
	Buckets  uint32 // of one bank, all rows
	Expected string // what error to expect, in words
	// Translation is how addresses are translated, and what that takes, in words.
	Translation string
}

// New returns a pool with nothing in use.
func New(g flymon.Geometry) *Pool { return &Pool{geo: g} }

// Get returns a task's place; nil: there is no such task.
func (p *Pool) Get(name string) *Placed {
	if i, ok := p.index(name); ok {
		return p.tasks[i]
	}
	return nil
}

func (p *Pool) index(name string) (int, bool) {
	byName := func(t *Placed, name string) int { return strings.Compare(t.Name, name) }
	return slices.BinarySearchFunc(p.tasks, name, byName)
}

// put takes a task's place into the pool, for the one that it has if any.
func (p *Pool) put(t *Placed) {
	p.seen = nil
	if i, ok := p.index(t.Name); ok {
		p.tasks[i] = t
	} else {
		p.tasks = slices.Insert(p.tasks, i, t)
	}
}

// Add finds a place for a new task and takes it.
func (p *Pool) Add(name string, t flymon.Task) (*Placed, error) {
	if p.Get(name) != nil {
		return nil, fmt.Errorf("task %q has a place already", name)
	}
	placed, err := p.place(name, t)
	if err != nil {
		return nil, err
	}
	p.put(placed)
	return placed, nil
}

// Try says what Add would, or for a task that has a place Change, and takes nothing.
func (p *Pool) Try(name string, t flymon.Task) (*Placed, error) {
	if p.Get(name) == nil {
		return p.place(name, t)
	}
	return p.clone().Change(name, t)
}

// clone returns a pool to try things in.
func (p *Pool) clone() *Pool {
	return &Pool{geo: p.geo, tasks: slices.Clone(p.tasks), reserved: p.reserved}
}

// with and without a place reserved.
func (p *Pool) with(r *Placed) *Pool {
	c := p.clone()
	c.reserved = append(slices.Clone(p.reserved), r)
	return c
}

func (p *Pool) without(name string) *Pool {
	c := p.clone()
	c.reserved = slices.DeleteFunc(slices.Clone(p.reserved), func(r *Placed) bool { return r.Name == name })
	return c
}

// Change finds a place for another form of a task. Where only the filter or what is
// done with the answers differs, units stay. Else the old ones are frozen beside the
// new ones until Thaw, so that they can be read; with another number of banks they go
// at once, and so do those that an earlier Change has frozen. On error the task stays as
// it was.
func (p *Pool) Change(name string, t flymon.Task) (*Placed, error) {
	old := p.Get(name)
	if old == nil {
		return nil, fmt.Errorf("task %q has no place", name)
	}
	stay, others := p.stay(old, t)
	switch {
	case stay != nil && len(others) == 0:
		p.put(stay)
		return stay, nil
	case stay != nil && t.Pinned:
		return nil, pinnedHere(old, t, others)
	}
	h := held(old, t)
	p.put(h)
	placed, err := p.place(name, t)
	if err != nil {
		p.put(old)
		return nil, beside(err)
	}
	placed.Layout.Frozen = h.Layout.Frozen
	p.put(placed)
	return placed, nil
}

// Pin says whether a task is pinned from now on.
func (p *Pool) Pin(name string, pinned bool) {
	if old := p.Get(name); old != nil {
		placed := *old
		placed.Task.Pinned = pinned
		p.put(&placed)
	}
}

// stay returns the task with the units that it has, nil if these do not suit what is wanted now, and the tasks of the
// same CMUs whose filters meet the new one: beside them it cannot stay.
func (p *Pool) stay(old *Placed, t flymon.Task) (stay *Placed, others []string) {
	a, b := old.Task, t
	a.Filter, b.Filter = flymon.Filter{}, flymon.Filter{}
	a.Plan, b.Plan, a.Pinned, b.Pinned = false, false, false, false
	if a.Attribute.Kind != flymon.Distinct { // whose coupons depend on it
		a.Threshold, b.Threshold, a.ChangeThreshold, b.ChangeThreshold = 0, 0, 0, 0
	}
	if a != b {
		return nil, nil
	}
	placed := *old
	placed.Task, placed.Layout.Filter = t, t.Filter
	v := p.view(old.Name)
	for i := range placed.Layout.Units {
		u := &placed.Layout.Units[i]
		if other := v.meets(u.Group, u.CMU, &t.Filter, u.From, u.To); other != "" && !slices.Contains(others, other) {
			others = append(others, other)
		}
	}
	var err error
	if placed.Layout.Digest, err = digest(&t, &placed.Sketch, p.geo.Width); err != nil {
		return nil, nil
	}
	return &placed, others
}

// Thaw frees the frozen partitions of a task; false: there are none.
func (p *Pool) Thaw(name string) (*Placed, bool) {
	old := p.Get(name)
	if old == nil || len(old.Layout.Frozen) == 0 {
		return old, false
	}
	placed := *old
	placed.Layout.Frozen = nil
	p.put(&placed)
	return &placed, true
}

// Remove frees what a task has.
func (p *Pool) Remove(name string) {
	if i, ok := p.index(name); ok {
		p.seen, p.tasks = nil, slices.Delete(p.tasks, i, i+1)
	}
}

// Use is what of a group is in use.
type Use struct {
	Tasks         int
	Keys          []flymon.Key // of the hash units; one that is not in use is zero
	Used          []bool       // hash units in use: a task may want the key none
	Free, Largest []uint32     // buckets by CMU: in all, and the largest partition
}

// Group returns what is in use of a group; nothing if there is no such group.
func (p *Pool) Group(i int) Use {
	if p.geo.Validate() != nil || i < 0 || i >= p.geo.All() {
		return Use{}
	}
	v := p.view("")
	g := &v.groups[i]
	u := Use{Tasks: g.tasks}
	for _, h := range g.hash {
		u.Keys, u.Used = append(u.Keys, h.key), append(u.Used, h.used)
	}
	for c := range g.cmus {
		free, largest := g.cmus[c].free(p.geo.MinSize())
		u.Free, u.Largest = append(u.Free, free), append(u.Largest, largest)
	}
	return u
}

// A view is the pool seen by group and CMU.
type view struct {
	geo    flymon.Geometry
	groups []groupView
}

type groupView struct {
	tasks int
	hash  []hashView
	cmus  []cmuView
}

type hashView struct {
	key  flymon.Key
	used bool
	two  bool // another key is reserved than it makes now: no new task can have it
}

type cmuView struct {
	taken   []bool // by the smallest partitions
	entries int    // of maps
	users   []user
}

// A user is a task that counts in a CMU.
type user struct {
	name     string
	filter   *flymon.Filter
	from, to uint16
}

// view makes the view of all tasks. Those of the name except are not users of CMUs:
// its filter does not count, its buckets do.
func (p *Pool) view(except string) *view {
	_, left := p.index(except)
	if !left && p.seen != nil {
		return p.seen
	}
	v := &view{geo: p.geo, groups: make([]groupView, p.geo.All())}
	for i := range v.groups {
		g := &v.groups[i]
		g.hash, g.cmus = make([]hashView, p.geo.Units), make([]cmuView, p.geo.CMUs)
		for c := range g.cmus {
			g.cmus[c].taken = make([]bool, p.geo.Partitions)
		}
	}
	for _, t := range p.tasks {
		v.enter(t, t.Name != except)
	}
	for _, t := range p.reserved {
		v.enter(t, true)
	}
	if !left {
		p.seen = v
	}
	return v
}

func (v *view) enter(t *Placed, counts bool) {
	l := &t.Layout
	for _, m := range l.Masks {
		h := &v.groups[m.Group].hash[m.Unit]
		*h = hashView{m.Key, true, h.two || h.used && h.key != m.Key}
	}
	in := 0 // groups, as bits
	for i := range l.Units {
		u := &l.Units[i]
		g := &v.groups[u.Group]
		c := &g.cmus[u.CMU]
		c.take(u, l.Banks(), v.geo.MinSize())
		c.entries += len(u.Map)
		if counts {
			c.users = append(c.users, user{t.Name, &l.Filter, u.From, u.To})
		}
		if in>>u.Group&1 == 0 {
			in |= 1 << u.Group
			g.tasks++
		}
	}
	for i := range l.Frozen {
		u := &l.Frozen[i]
		v.groups[u.Group].cmus[u.CMU].take(u, l.Banks(), v.geo.MinSize())
	}
}

func (c *cmuView) take(u *flymon.Unit, banks uint32, least int) {
	first := int(u.Base) / least
	for i := range int(u.Size*banks) / least {
		c.taken[first+i] = true
	}
}

// meets names a task with which a filter meets in a CMU, for packets with a common
// coin; "" if there is none.
func (v *view) meets(group, at int, f *flymon.Filter, from, to uint16) string {
	for _, u := range v.groups[group].cmus[at].users {
		coins := to == 0 || u.to == 0 || from < u.to && u.from < to
		if coins && u.filter.Meets(f) {
			return u.name
		}
	}
	return ""
}

// blocks are the free buddies, each as large as it can be: where they begin and how
// many of the smallest partitions they have.
func (c *cmuView) blocks(yield func(at, size int) bool) {
	for at := 0; at < len(c.taken); {
		if c.taken[at] {
			at++
			continue
		}
		size := 1
		for at%(2*size) == 0 && at+2*size <= len(c.taken) && !slices.Contains(c.taken[at+size:at+2*size], true) {
			size *= 2
		}
		if !yield(at, size) {
			return
		}
		at += size
	}
}

// find returns where a block of so many of the smallest partitions goes, a power
// of two: into the smallest free buddy that holds it, of equals the first. It is -1 if
// there is none.
func (c *cmuView) find(n int) int {
	best, smallest := -1, 0
	for at, size := range c.blocks {
		if size >= n && (best < 0 || size < smallest) {
			best, smallest = at, size
		}
	}
	return best
}

// free returns the buckets that are free, and the largest partition of them.
func (c *cmuView) free(least int) (all, largest uint32) {
	for _, size := range c.blocks {
		n := uint32(size * least)
		all, largest = all+n, max(largest, n)
	}
	return all, largest
}
