package plan

import (
	"fmt"
	"slices"
	"strings"

	"tamtam/tam/flymon"
)

// A Pool is the usage of a chip's CMU groups.
type Pool struct {
	geo   flymon.Geometry
	tasks []*Placed // tasks sorted by name
	// reserved holds places for tasks that move there after others have left. Nothing else is placed there.
	reserved []*Placed
	seen     *view // view of the tasks and reserved places; nil after a change
}

// Placed is a task with its place.
type Placed struct {
	Name     string
	Task     flymon.Task
	Layout   flymon.Layout
	Sketch   flymon.Sketch
	Buckets  uint32 // number of buckets of one bank, in all rows
	Expected string // expected error as text
	// Translation describes the address translation and its cost.
	Translation string
}

// New returns an empty pool.
func New(g flymon.Geometry) *Pool { return &Pool{geo: g} }

// Get returns a task's place, or nil if the task is not in the pool.
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

// put adds a task's place to the pool, or replaces its current one.
func (p *Pool) put(t *Placed) {
	p.seen = nil
	if i, ok := p.index(t.Name); ok {
		p.tasks[i] = t
	} else {
		p.tasks = slices.Insert(p.tasks, i, t)
	}
}

// Add finds a place for a new task and allocates it.
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

// Try returns the result of Add, or of Change for a task with a place, without allocating.
func (p *Pool) Try(name string, t flymon.Task) (*Placed, error) {
	if p.Get(name) == nil {
		return p.place(name, t)
	}
	return p.clone().Change(name, t)
}

// clone returns a copy of the pool for trials.
func (p *Pool) clone() *Pool {
	return &Pool{geo: p.geo, tasks: slices.Clone(p.tasks), reserved: p.reserved}
}

// with returns the pool with a reserved place, and without returns it without one.
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

// Change finds a place for a changed task. If only the filter or the use of the answers differs, its units stay.
// Otherwise the old units are frozen beside the new ones until Thaw, so that they can be read. With another number of
// banks they are freed immediately, and so are units frozen by an earlier Change. On an error the task is unchanged.
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

// Pin sets whether a task is pinned.
func (p *Pool) Pin(name string, pinned bool) {
	if old := p.Get(name); old != nil {
		placed := *old
		placed.Task.Pinned = pinned
		p.put(&placed)
	}
}

// stay returns the task with its current units, or nil if these do not suit the new task. It also returns the tasks in
// the same CMUs whose filters meet the new one, which prevent it from staying.
func (p *Pool) stay(old *Placed, t flymon.Task) (stay *Placed, others []string) {
	a, b := old.Task, t
	a.Filter, b.Filter = flymon.Filter{}, flymon.Filter{}
	a.Plan, b.Plan, a.Pinned, b.Pinned = false, false, false, false
	if a.Attribute.Kind != flymon.Distinct { // the coupons of Distinct depend on the threshold
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

// Thaw frees the frozen partitions of a task. It returns false if there are none.
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

// Remove frees the place of a task.
func (p *Pool) Remove(name string) {
	if i, ok := p.index(name); ok {
		p.seen, p.tasks = nil, slices.Delete(p.tasks, i, i+1)
	}
}

// Use is the usage of a group.
type Use struct {
	Tasks         int
	Keys          []flymon.Key // key of each hash unit; zero for an unused unit
	Used          []bool       // true for each hash unit in use, because a key in use may be none
	Free, Largest []uint32     // number of free buckets of each CMU, and size of its largest free partition
}

// Group returns the usage of a group, or an empty one if the group does not exist.
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

// A view is the pool by group and CMU.
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
	two  bool // true if a key other than the current one is reserved, so no new task can use the unit
}

type cmuView struct {
	inUse   []bool // for each smallest partition, true if it is in use
	entries int    // number of map entries in use
	users   []user
}

// A user is a task that counts in a CMU.
type user struct {
	name     string
	filter   *flymon.Filter
	from, to uint16
}

// view returns the view of all tasks. The task except is not a user of CMUs: its buckets count, but its filter does
// not.
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
			g.cmus[c].inUse = make([]bool, p.geo.Partitions)
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
	in := 0 // bit set of groups
	for i := range l.Units {
		u := &l.Units[i]
		g := &v.groups[u.Group]
		c := &g.cmus[u.CMU]
		c.occupy(u, l.Banks(), v.geo.MinSize())
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
		v.groups[u.Group].cmus[u.CMU].occupy(u, l.Banks(), v.geo.MinSize())
	}
}

func (c *cmuView) occupy(u *flymon.Unit, banks uint32, least int) {
	first := int(u.Base) / least
	for i := range int(u.Size*banks) / least {
		c.inUse[first+i] = true
	}
}

// meets returns a task whose filter meets f in a CMU, for packets with a common coin, or "" if there is none.
func (v *view) meets(group, at int, f *flymon.Filter, from, to uint16) string {
	for _, u := range v.groups[group].cmus[at].users {
		coins := to == 0 || u.to == 0 || from < u.to && u.from < to
		if coins && u.filter.Meets(f) {
			return u.name
		}
	}
	return ""
}

// blocks yields the maximal free buddies: their begin and their size in smallest partitions.
func (c *cmuView) blocks(yield func(at, size int) bool) {
	for at := 0; at < len(c.inUse); {
		if c.inUse[at] {
			at++
			continue
		}
		size := 1
		for at%(2*size) == 0 && at+2*size <= len(c.inUse) && !slices.Contains(c.inUse[at+size:at+2*size], true) {
			size *= 2
		}
		if !yield(at, size) {
			return
		}
		at += size
	}
}

// find returns the place of a block of n smallest partitions, a power of two: in the smallest free buddy that is large
// enough, and the first of several such buddies. It returns -1 if there is none.
func (c *cmuView) find(n int) int {
	best, smallest := -1, 0
	for at, size := range c.blocks {
		if size >= n && (best < 0 || size < smallest) {
			best, smallest = at, size
		}
	}
	return best
}

// free returns the number of free buckets, and the largest free partition.
func (c *cmuView) free(least int) (all, largest uint32) {
	for _, size := range c.blocks {
		n := uint32(size * least)
		all, largest = all+n, max(largest, n)
	}
	return all, largest
}
