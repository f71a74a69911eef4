package plan

import (
	"fmt"
	"slices"

	"tamtam/tam/flymon"
)

// A Place is the stored place of a task: the parts of a layout that do not follow from the task.
type Place struct {
	Units []Seat            `json:"units"` // in the order of the layout's units
	Masks []flymon.MaskRule `json:"masks"`
	From  uint16            `json:"from,omitempty"` // coin of the task
	To    uint16            `json:"to,omitempty"`
}

// A Seat is the place of one unit: its buckets and the hash units of its keys. It does not contain the keys' shifts.
type Seat struct {
	Group int    `json:"group"`
	CMU   int    `json:"cmu"`
	Base  uint32 `json:"base"`
	// number of buckets in all banks; zero if it was not stored, which means the number that the task needs now
	Buckets uint32     `json:"buckets,omitempty"`
	Key     flymon.Ref `json:"key"`
	Element flymon.Ref `json:"element,omitzero"` // key of P1 from a compressed key
}

// Place returns the place of the task.
func (p *Placed) Place() Place {
	at := Place{Masks: p.Layout.Masks}
	for i := range p.Layout.Units {
		u := &p.Layout.Units[i]
		seat := Seat{Group: u.Group, CMU: u.CMU, Base: u.Base, Buckets: u.Size * p.Layout.Banks(),
			Key: flymon.Ref{A: u.Key.A, B: u.Key.B}}
		if u.P1.From == flymon.Compressed {
			seat.Element = flymon.Ref{A: u.P1.Key.A, B: u.P1.Key.B}
		}
		at.Units, at.From, at.To = append(at.Units, seat), u.From, u.To
	}
	return at
}

// TryAt returns a new task at a place, without allocating it. An error names the reason why the place is unsuitable, or
// the task that uses it.
func (p *Pool) TryAt(name string, t flymon.Task, at Place) (*Placed, error) {
	if p.Get(name) != nil {
		return nil, fmt.Errorf("task %q has a place already", name)
	}
	r, err := p.compile(t)
	if err != nil {
		return nil, err
	}
	s := &search{view: p.view(""), recipe: r, task: &t}
	if err := s.again(&at); err != nil {
		return nil, err
	}
	placed := s.placed(name, t)
	return placed, placed.Layout.Check(&p.geo)
}

// AddAt does the same as TryAt, and allocates the place.
func (p *Pool) AddAt(name string, t flymon.Task, at Place) (*Placed, error) {
	placed, err := p.TryAt(name, t, at)
	if err != nil {
		return nil, err
	}
	p.put(placed)
	return placed, nil
}

// again makes a place the result of the search. It returns an error if the search could not have found the place.
func (s *search) again(at *Place) error {
	if err := s.toss(at); err != nil {
		return err
	}
	left := at.Units
	for i, parts := range s.recipe.steps {
		if len(left) < len(parts) {
			return fmt.Errorf("%d units, want more", len(at.Units))
		}
		c, err := s.sit(i, left[:len(parts)], at.Masks)
		if err != nil {
			return err
		}
		if i > 0 && c.group < s.best[i-1].group+flymon.Apart {
			return fmt.Errorf("a step in group %d, want one at least %d behind group %d",
				c.group, flymon.Apart, s.best[i-1].group)
		}
		s.best, left = append(s.best, c), left[len(parts):]
	}
	if len(left) > 0 {
		return fmt.Errorf("%d units, want %d", len(at.Units), len(at.Units)-len(left))
	}
	return nil
}

// toss uses the coin of a place.
func (s *search) toss(at *Place) error {
	if s.task.Share > 0 {
		span := uint16(256 >> s.task.Share)
		if at.From%span != 0 || at.From >= 256 || at.To != at.From+span {
			return fmt.Errorf("coins %d to %d, want %d of them", at.From, at.To, span)
		}
	} else if at.From != 0 || at.To != 0 {
		return fmt.Errorf("coins %d to %d, want none: the task sees all packets", at.From, at.To)
	}
	s.from, s.to, s.coin = at.From, at.To, [2]uint16{at.From, at.To}
	return nil
}

// sit returns the choice for step i at these seats.
func (s *search) sit(i int, seats []Seat, masks []flymon.MaskRule) (choice, error) {
	parts, c, end := s.recipe.steps[i], choice{group: seats[0].Group}, s.view.geo.Groups
	if len(s.recipe.steps) == 1 {
		end = s.view.geo.All()
	}
	if c.group < 0 || c.group >= end {
		return c, fmt.Errorf("group %d, want 0 to %d", c.group, end-1)
	}
	if n := s.view.groups[c.group].tasks; n >= flymon.MaxTasks {
		return c, fmt.Errorf("there are %d tasks in group %d, as many as a group can have", n, c.group)
	}
	h := hashing{choice: &c, units: slices.Clone(s.view.groups[c.group].hash)}
	for j := range seats {
		if err := s.seat(&c, seats[j], &parts[j]); err != nil {
			return c, fmt.Errorf("group %d, CMU %d: %w", seats[j].Group, seats[j].CMU, err)
		}
		refs, err := h.again(seats[j], &parts[j], masks)
		if err != nil {
			return c, fmt.Errorf("group %d: %w", c.group, err)
		}
		if err := s.alike(&c, i, refs.key); err != nil {
			return c, err
		}
		c.refs = append(c.refs, refs)
	}
	return c, nil
}

// alike checks the hash polynomial of a part, for an algorithm whose steps must all use the same polynomial.
func (s *search) alike(c *choice, i int, key flymon.Ref) error {
	if !s.recipe.alike {
		return nil
	}
	first := flymon.Poly(c.group, key.A)
	if i > 0 {
		first = flymon.Poly(s.best[0].group, s.best[0].refs[0].key.A)
	} else if len(c.refs) > 0 {
		first = flymon.Poly(c.group, c.refs[0].key.A)
	}
	if key.B != 0 || flymon.Poly(c.group, key.A) != first {
		return fmt.Errorf("hash unit %d of group %d, want one with the polynomial of the first", key.A, c.group)
	}
	return nil
}

// seat gives a part its buckets.
func (s *search) seat(c *choice, at Seat, p *part) error {
	geo := &s.view.geo
	if at.Group != c.group || at.CMU < 0 || at.CMU >= geo.CMUs || len(c.cmus) > 0 && at.CMU <= c.cmus[len(c.cmus)-1] {
		return fmt.Errorf("want one of %d CMUs of group %d behind the one before", geo.CMUs, c.group)
	}
	if other := s.view.meets(c.group, at.CMU, &s.task.Filter, s.from, s.to); other != "" {
		return fmt.Errorf("task %s counts the same packets", other)
	}
	cmu := &s.view.groups[c.group].cmus[at.CMU]
	n := p.unit.Size * s.recipe.banks
	if at.Buckets != 0 && at.Buckets != n { // the buckets beside them may belong to a task that is not deployed yet
		return fmt.Errorf("%d buckets, want %d: the task was resized", at.Buckets, n)
	}
	if at.Base%n != 0 || uint64(at.Base)+uint64(n) > uint64(geo.Depth) {
		return fmt.Errorf("base is %d, want a multiple of %d below %d", at.Base, n, geo.Depth)
	}
	least := uint32(geo.MinSize())
	if slices.Contains(cmu.inUse[at.Base/least:(at.Base+n)/least], true) {
		return fmt.Errorf("buckets %d to %d are another task's", at.Base, at.Base+n-1)
	}
	if have := geo.MapEntries - cmu.entries; len(p.unit.Map) > have {
		return fmt.Errorf("%d TCAM entries for parameters are free, want %d", have, len(p.unit.Map))
	}
	c.cmus, c.bases = append(c.cmus, at.CMU), append(c.bases, at.Base)
	return nil
}

// again gives a part its previous compressed keys.
func (h *hashing) again(at Seat, p *part, masks []flymon.MaskRule) (refs partRefs, err error) {
	if refs.key, err = h.make(p.key, at.Key, masks); err == nil && !p.element.IsZero() {
		refs.element, err = h.make(p.element, at.Element, masks)
	}
	return refs, err
}

// make lets the hash units of a ref make a key.
func (h *hashing) make(k flymon.Key, r flymon.Ref, masks []flymon.MaskRule) (flymon.Ref, error) {
	r.Shift = 0
	if r.A < 0 || r.A >= len(h.units) || r.B < 0 || r.B > len(h.units) || r.B > 0 && r.B-1 <= r.A {
		return r, fmt.Errorf("hash units %d and %d, want two of %d, or one and 0", r.A, r.B-1, len(h.units))
	}
	x, err := h.mask(r.A, masks)
	if err != nil {
		return r, err
	}
	made := x
	if r.B > 0 {
		y, err := h.mask(r.B-1, masks)
		if err != nil {
			return r, err
		}
		if made = x.Or(y); x.IsZero() || y.IsZero() || !apart(x, y) {
			return r, fmt.Errorf("hash units %d and %d make keys %s and %s, want such as have nothing in common",
				r.A, r.B-1, x, y)
		}
	}
	if made != k {
		return r, fmt.Errorf("the hash units make the key %s, want %s", made, k)
	}
	return r, nil
}

// mask gives a hash unit its previous mask, and returns it.
func (h *hashing) mask(unit int, masks []flymon.MaskRule) (flymon.Key, error) {
	i := slices.IndexFunc(masks, func(m flymon.MaskRule) bool { return m.Group == h.choice.group && m.Unit == unit })
	if i < 0 {
		return flymon.Key{}, fmt.Errorf("no mask of hash unit %d", unit)
	}
	k, u := masks[i].Key, &h.units[unit]
	if u.used && (u.two || u.key != k) {
		return k, fmt.Errorf("hash unit %d makes the key %s for another task, want %s", unit, u.key, k)
	}
	*u = hashView{key: k, used: true}
	h.use(unit)
	return k, nil
}
