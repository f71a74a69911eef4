package plan

import (
	"fmt"
	"slices"

	"tamtam/tam/flymon"
)

// place returns the best place of a task beside all others. It prefers the place that least obstructs longer chains,
// then the one with the fewest new hash masks. Then it prefers stacked groups, and finally the lowest group numbers.
func (p *Pool) place(name string, t flymon.Task) (*Placed, error) {
	r, err := p.compile(t)
	if err != nil {
		return nil, err
	}
	s := p.search(name, r, &t)
	if s.best == nil {
		if alone := New(p.geo).search(name, r, &t); alone.best == nil {
			return nil, alone.never()
		}
		return nil, s.lack()
	}
	placed := s.placed(name, t)
	if err := placed.Layout.Check(&p.geo); err != nil {
		return nil, err
	}
	return placed, nil
}

// search looks for a place in all groups.
func (p *Pool) search(name string, r *recipe, t *flymon.Task) *search {
	s := &search{view: p.view(name), recipe: r, task: t, strain: strain(&p.geo, len(r.steps))}
	s.run()
	return s
}

// searchIn looks for places with one step in each of these groups.
func (p *Pool) searchIn(name string, r *recipe, t *flymon.Task, groups []int) *search {
	s := &search{view: p.view(name), recipe: r, task: t, strain: strain(&p.geo, len(r.steps)), only: groups}
	s.run()
	return s
}

// run looks for places. For a task that counts a share of the packets it tries each coin.
func (s *search) run() {
	t, geo := s.task, &s.view.geo
	shares := 1 << t.Share
	each := func(from int) {
		for share := range shares {
			if shares > 1 {
				s.from, s.to = uint16(256/shares*share), uint16(256/shares*(share+1))
			}
			s.step(0, from, nil)
		}
	}
	each(0)
	if s.best == nil && len(s.recipe.steps) == 1 && geo.Spliced > 0 {
		s.spliced = true
		each(geo.Groups)
	}
}

// strain returns for each group the number of longer chains through it that a task of this many steps would obstruct.
// Chains of three steps outweigh chains of two. So the groups that chains do not need fill up first.
func strain(g *flymon.Geometry, steps int) []int {
	all := make([]int, g.All())
	const most = 1 << 16 // weight of a chain of three steps; exceeds the number of chains of two steps
	for a := range g.Groups {
		for b := a + flymon.Apart; b < g.Groups; b++ {
			if steps < 2 {
				all[a]++
				all[b]++
			}
			for c := b + flymon.Apart; c < g.Groups && steps < 3; c++ {
				all[a] += most
				all[b] += most
				all[c] += most
			}
		}
	}
	return all
}

// A search looks for the groups of a task.
type search struct {
	view     *view
	recipe   *recipe
	task     *flymon.Task
	from, to uint16 // current coin of the search
	spliced  bool
	strain   []int // strain of each group
	only     []int // groups that are allowed, one for each step; nil means any
	best     []choice
	cost     [2]int    // strain, and number of hash units that get a new mask
	coin     [2]uint16 // coin of the best choice
	why      map[string][]int
}

// A choice is the place of one step in one group.
type choice struct {
	group int
	refs  []partRefs // refs of the parts
	cmus  []int
	bases []uint32
	masks []flymon.MaskRule
	cost  int // number of hash units that get a new mask
}

type partRefs struct{ key, element flymon.Ref }

// step tries the group from and all later groups for step i, after the choices before it.
func (s *search) step(i, from int, before []choice) {
	if i == len(s.recipe.steps) {
		var cost [2]int
		for _, c := range before {
			cost[0] += s.strain[c.group]
			cost[1] += c.cost
		}
		order := slices.Compare(cost[:], s.cost[:])
		if s.best == nil || order < 0 || order == 0 && earlier(before, s.best) {
			s.best, s.cost, s.coin = slices.Clone(before), cost, [2]uint16{s.from, s.to}
		}
		return
	}
	end := s.view.geo.Groups
	if s.spliced {
		end = s.view.geo.All()
	}
	for g := from; g < end; g++ {
		if s.only != nil && s.only[i] != g {
			continue
		}
		for _, c := range s.in(g, i, before) {
			s.step(i+1, g+flymon.Apart, append(before[:len(before):len(before)], c))
		}
	}
}

// earlier reports whether choices are in earlier groups than others, because other coins may have space there.
func earlier(a, b []choice) bool {
	return slices.CompareFunc(a, b, func(x, y choice) int { return x.group - y.group }) < 0
}

// in returns the possible choices of a step in a group: one, or one for each hash unit if the polynomial matters.
func (s *search) in(g, i int, before []choice) []choice {
	parts := s.recipe.steps[i]
	group := &s.view.groups[g]
	if group.tasks >= flymon.MaxTasks {
		s.because(g, fmt.Sprintf("there are %d tasks, as many as a group can have", group.tasks))
		return nil
	}
	c, ok := s.memory(g, parts)
	if !ok {
		return nil
	}
	if !s.recipe.alike {
		if !s.keys(&c, parts, -1) {
			s.because(g, s.keysInUse(g, parts))
			return nil
		}
		return []choice{c}
	}
	var all []choice
	some := false
	for unit := range s.view.geo.Units {
		if i > 0 && flymon.Poly(g, unit) != flymon.Poly(before[0].group, before[0].refs[0].key.A) {
			continue
		}
		some = true
		x := c
		if s.keys(&x, parts, unit) {
			all = append(all, x)
		}
	}
	switch {
	case !some:
		s.because(g, "no hash unit has the polynomial of one in a group that the first layer could be in")
	case len(all) == 0:
		s.because(g, s.keysInUse(g, parts))
	}
	return all
}

// memory finds a CMU with space for each part. It returns false if a part has none.
func (s *search) memory(g int, parts []part) (choice, bool) {
	c := choice{group: g}
	least := uint32(s.view.geo.MinSize())
	var refused []refusal
	for at := range s.view.geo.CMUs {
		if len(c.cmus) == len(parts) {
			break
		}
		u := &parts[len(c.cmus)].unit
		cmu := &s.view.groups[g].cmus[at]
		if other := s.view.meets(g, at, &s.task.Filter, s.from, s.to); other != "" {
			refused = append(refused, refusal{task: other})
			continue
		}
		base := cmu.find(int(u.Size * s.recipe.banks / least))
		if base < 0 {
			_, largest := cmu.free(int(least))
			need := int(u.Size * s.recipe.banks)
			refused = append(refused, refusal{what: "buckets in one piece", have: int(largest), need: need})
			continue
		}
		if have := s.view.geo.MapEntries - cmu.entries; len(u.Map) > have {
			refused = append(refused, refusal{what: "TCAM entries for parameters", have: have, need: len(u.Map)})
			continue
		}
		c.cmus, c.bases = append(c.cmus, at), append(c.bases, uint32(base)*least)
	}
	if len(c.cmus) == len(parts) {
		return c, true
	}
	s.because(g, why(len(c.cmus), len(parts), refused))
	return c, false
}

// keys gives each part its compressed keys. only is the hash unit that must make the first key alone, or negative for
// any.
func (s *search) keys(c *choice, parts []part, only int) bool {
	c.refs, c.masks, c.cost = nil, nil, 0
	h := hashing{choice: c, units: slices.Clone(s.view.groups[c.group].hash)}
	for i := range parts {
		var refs partRefs
		var ok bool
		if refs.key, ok = h.find(parts[i].key, only); !ok {
			return false
		}
		if !parts[i].element.IsZero() {
			if refs.element, ok = h.find(parts[i].element, -1); !ok {
				return false
			}
		}
		c.refs = append(c.refs, refs)
	}
	return true
}

// hashing holds the hash units of a choice's group, with the masks that the choice gives them.
type hashing struct {
	choice *choice
	units  []hashView
}

// find returns the hash unit that makes a key, or two units whose keys together make up the key. If there are none, it
// gives the key to a free unit. It returns false if no unit is free. If only is not negative, only that unit counts.
func (h *hashing) find(k flymon.Key, only int) (flymon.Ref, bool) {
	for i := range h.units {
		if u := &h.units[i]; u.used && !u.two && u.key == k && (only < 0 || only == i) {
			h.use(i)
			return flymon.Ref{A: i}, true
		}
	}
	if a, b, ok := exclusive(h.units, k); ok && only < 0 {
		h.use(a)
		h.use(b)
		return flymon.Ref{A: a, B: b + 1}, true
	}
	for i := range h.units {
		if !h.units[i].used && (only < 0 || only == i) {
			h.units[i] = hashView{key: k, used: true}
			h.choice.cost++
			h.use(i)
			return flymon.Ref{A: i}, true
		}
	}
	return flymon.Ref{}, false
}

// use records the mask of a unit.
func (h *hashing) use(unit int) {
	m := flymon.MaskRule{Group: h.choice.group, Unit: unit, Key: h.units[unit].key}
	if !slices.Contains(h.choice.masks, m) {
		h.choice.masks = append(h.choice.masks, m)
	}
}

// exclusive returns two hash units whose keys together make up a key and share no field except the IP version.
func exclusive(hash []hashView, k flymon.Key) (a, b int, ok bool) {
	for a = range hash {
		for b = a + 1; b < len(hash); b++ {
			x, y := hash[a].key, hash[b].key
			whole := hash[a].used && hash[b].used && !hash[a].two && !hash[b].two
			if whole && x.Or(y) == k && !x.IsZero() && !y.IsZero() && apart(x, y) {
				return a, b, true
			}
		}
	}
	return 0, 0, false
}

func apart(x, y flymon.Key) bool {
	common := x.Or(y).Xor(x.Xor(y))
	common[4] &^= 0xff << 16
	return common.IsZero()
}

// placed returns the layout of the best choice.
func (s *search) placed(name string, t flymon.Task) *Placed {
	l := flymon.Layout{Task: name, Filter: t.Filter, Flow: t.Key, Measures: t.Attribute.String(), Digest: s.recipe.digest}
	if s.recipe.banks == 2 {
		l.Epoch = uint64(t.Epoch)
	}
	placed := &Placed{Name: name, Task: t, Sketch: s.recipe.sketch}
	for i, c := range s.best {
		l.Masks = append(l.Masks, c.masks...)
		for j, part := range s.recipe.steps[i] {
			u := part.unit
			u.Group, u.CMU, u.Base, u.From, u.To = c.group, c.cmus[j], c.bases[j], s.coin[0], s.coin[1]
			u.Key.A, u.Key.B = c.refs[j].key.A, c.refs[j].key.B
			if u.P1.From == flymon.Compressed {
				u.P1.Key.A, u.P1.Key.B = c.refs[j].element.A, c.refs[j].element.B
			}
			placed.Buckets += u.Size
			l.Units = append(l.Units, u)
		}
	}
	placed.Layout = l
	if placed.Sketch.Element.From == flymon.Compressed {
		placed.Sketch.Element = l.Units[0].P1
	}
	placed.Expected, placed.Translation = expected(placed), translation(placed, s.view.geo)
	return placed
}
