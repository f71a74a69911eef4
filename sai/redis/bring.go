package sairedis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"tamtam/sai"
)

// A transition brings the backend from one view to another, whose objects have been matched. First
// attributes are set that refer to what must go; then what is surplus is removed, what is missing
// created, and the rest set.
type transition struct {
	backend   sai.API
	log       *slog.Logger
	cur, next *graph
	order     []*node          // of next, as [graph.sorted] has it
	from      *idMap           // of the current view
	ids       *idMap           // of the new view, filled as it is created
	removed   map[sai.OID]bool // objects that nobody created and that must go
	surplus   []*node          // of cur
	stays     []*node          // of those, what could not be removed
	missing   []*node          // of next
	done      map[*node]map[sai.AttrID]bool
	postponed map[*node]map[sai.AttrID]bool // attributes to set after all has been created
	failed    map[*node]map[sai.AttrID]bool // sets that failed, by new node
	errs      []error
	// grown, if set, is told of every port that was created: others came with it.
	grown func(ctx context.Context, t *transition, port *node, rid sai.OID)
}

// transition prepares the transition between two matched views, leaving out objects that came with the
// switch and must go.
func (vs *views) transition(cur, next *graph, removed map[sai.OID]bool) *transition {
	ids := vs.objects.ids
	return &transition{
		backend: vs.backend, log: vs.log, cur: cur, next: next,
		from: ids, ids: ids.ownCopy(removed), removed: removed,
	}
}

// bring executes the transition. On return t.ids translates the new view; nodes of missing that are
// not in it could not be created.
func (t *transition) bring(ctx context.Context) {
	t.done = map[*node]map[sai.AttrID]bool{}
	t.failed = map[*node]map[sai.AttrID]bool{}
	t.postponed = map[*node]map[sai.AttrID]bool{}
	t.order = t.next.sorted()
	for _, n := range t.order {
		switch {
		case n.match != nil:
			if n.key.Entry == nil {
				rid, _ := t.from.rid(n.match.key.OID)
				t.ids.add(n.key.OID, rid)
			}
		case !n.own:
			t.missing = append(t.missing, n)
		}
	}
	for _, c := range t.cur.sorted() {
		if t.isSurplus(c) {
			t.surplus = append(t.surplus, c)
		}
	}
	slices.Reverse(t.surplus)
	t.setAll(ctx, true)
	t.removeAll(ctx, false)
	t.createAll(ctx, false)
	t.setAll(ctx, false)
	t.removeAll(ctx, true)
	t.createAll(ctx, true)
	t.setAll(ctx, false)
	t.setPostponed(ctx)
	t.keepStays()
}

// keepStays keeps the ids of what could not be removed: the next view finds it, and removes it then.
func (t *transition) keepStays() {
	for _, c := range t.stays {
		if c.key.Entry != nil {
			continue
		}
		rid, there := t.from.rid(c.key.OID)
		if _, known := t.ids.vid(rid); known || !there {
			continue
		}
		t.ids.add(c.key.OID, rid)
		if c.own {
			t.ids.own[c.key.OID] = true
		}
	}
}

// isSurplus reports whether an object of the current view must go.
func (t *transition) isSurplus(c *node) bool {
	if c.own {
		return t.removed[c.key.OID]
	}
	return c.match == nil && !isSwitch(c.key)
}

// real translates a value of the new view; false while it names an object that
// does not exist yet.
func (t *transition) real(v sai.Value) (sai.Value, bool) {
	ok := true
	r := sai.MapOIDs(v, func(o sai.OID) sai.OID {
		rid, known := t.ids.rid(o)
		ok = ok && known
		return rid
	})
	return r, ok
}

// realKey translates the key of a node of the new view.
func (t *transition) realKey(n *node) (sai.Key, bool) {
	k, err := t.ids.toRealKey(n.key)
	return k, err == nil
}

// setAll brings the attributes of matched objects to the new values. With detach, only those that
// name an object that must go.
func (t *transition) setAll(ctx context.Context, detach bool) {
	for _, n := range t.order {
		if n.match == nil {
			continue
		}
		k, ok := t.realKey(n)
		if !ok {
			continue
		}
		for _, id := range changed(n) {
			if t.done[n][id] || detach && !t.namesSurplus(n.match.attrs[id]) {
				continue
			}
			v, ok := t.wanted(n, id, detach)
			if ok {
				t.set(ctx, n, k, sai.Attr{ID: id, Value: v}, !detach || !t.placeholder(n, id))
			}
		}
	}
}

// changed returns the attributes that have a value in either view.
func changed(n *node) []sai.AttrID {
	ids := map[sai.AttrID]bool{}
	for id := range n.attrs {
		ids[id] = true
	}
	for id := range n.match.attrs {
		ids[id] = true
	}
	list := make([]sai.AttrID, 0, len(ids))
	for id := range ids {
		if sai.Meta(id).Has(sai.CreateAndSet) || sai.Meta(id).Has(sai.SetOnly) {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list
}

// wanted returns the value (real) that an attribute must get; false if it has
// it, or cannot get it now.
func (t *transition) wanted(n *node, id sai.AttrID, detach bool) (sai.Value, bool) {
	old, had := n.match.attrs[id]
	v, given := n.attrs[id]
	if !given {
		if v = sai.Meta(id).Default; v == nil {
			return nil, false // no default to go back to
		}
	}
	real, ok := t.real(v)
	if !ok {
		if !detach {
			return nil, false
		}
		return empty(id)
	}
	if !had {
		if old = sai.Meta(id).Default; old == nil {
			return real, true
		}
		return real, !equalValues(id, old, v)
	}
	oldReal := sai.MapOIDs(old, func(o sai.OID) sai.OID { rid, _ := t.from.rid(o); return rid })
	return real, !equalValues(id, oldReal, real)
}

// placeholder reports whether the attribute's new value names an object that
// does not exist yet.
func (t *transition) placeholder(n *node, id sai.AttrID) bool {
	v, given := n.attrs[id]
	_, ok := t.real(v)
	return given && !ok
}

// empty returns the value that names no object; false if the attribute must
// name one.
func empty(id sai.AttrID) (sai.Value, bool) {
	m := sai.Meta(id)
	switch {
	case m.Form == sai.FormField:
		return sai.Field{}, true
	case m.Form == sai.FormAction:
		return sai.Action{}, true
	case m.Kind == sai.KindOIDList:
		return sai.OIDs{}, true
	}
	return sai.NullOID, m.AllowNull
}

func (t *transition) namesSurplus(v sai.Value) bool {
	found := false
	sai.References(v, func(o sai.OID) {
		c := t.cur.byOID[o]
		found = found || c != nil && t.isSurplus(c)
	})
	return found
}

// set sets one attribute; final says that this is its new value.
func (t *transition) set(ctx context.Context, n *node, k sai.Key, a sai.Attr, final bool) {
	err := t.backend.Set(ctx, k, a)
	if err != nil {
		t.fail(fmt.Errorf("set %s of %s: %w", a.ID, n.key, err))
		mark(t.failed, n, a.ID)
	} else {
		delete(t.failed[n], a.ID)
	}
	if final {
		mark(t.done, n, a.ID)
	}
}

func mark(m map[*node]map[sai.AttrID]bool, n *node, id sai.AttrID) {
	if m[n] == nil {
		m[n] = map[sai.AttrID]bool{}
	}
	m[n][id] = true
}

func (t *transition) fail(err error) {
	t.errs = append(t.errs, err)
	t.log.Error("syncd: the ASIC refuses", "error", err)
}

// removeAll removes what is surplus, users first. What is still in use is left for the last call.
func (t *transition) removeAll(ctx context.Context, last bool) {
	var left []*node
	for _, c := range t.surplus {
		k, err := t.from.toRealKey(c.key)
		if err != nil { // somebody else wrote its row: the ASIC never had it
			t.log.Warn("syncd: a row of no object is dropped", "error", err)
			continue
		}
		err = t.backend.Remove(ctx, k)
		switch {
		case err == nil, c.key.Entry != nil && errors.Is(err, sai.StatusItemNotFound):
		case errors.Is(err, sai.StatusObjectInUse) && !last:
			left = append(left, c)
		default:
			t.fail(fmt.Errorf("remove %s: %w", c.key, err))
			if !errors.Is(err, sai.StatusInvalidObjectID) && !errors.Is(err, sai.StatusItemNotFound) { // it is gone
				t.stays = append(t.stays, c)
			}
		}
	}
	t.surplus = left
}

// createAll creates what is missing, users last; objects of one type and depth in one call.
// Attributes that name what does not exist yet are set later. What fails the first time is tried
// again after everything surplus is gone, and then as long as any succeeds: objects that name each
// other have no order, and one may have waited for room.
func (t *transition) createAll(ctx context.Context, last bool) {
	for {
		before := len(t.missing)
		errs := t.createOnce(ctx)
		if last && len(t.missing) > 0 && len(t.missing) < before {
			continue
		}
		for i, n := range t.missing {
			if last {
				t.fail(fmt.Errorf("create %s: %w", n.key, errs[i]))
			}
		}
		return
	}
}

// createOnce leaves in missing what it could not create, and returns why.
func (t *transition) createOnce(ctx context.Context) (why []error) {
	var left []*node
	for from := 0; from < len(t.missing); {
		to := from + 1
		first := t.missing[from]
		for to < len(t.missing) && t.missing[to].depth == first.depth && keyType(t.missing[to].key) == keyType(first.key) {
			to++
		}
		errs := t.createLevel(ctx, t.missing[from:to])
		for i, err := range errs {
			if err != nil {
				left, why = append(left, t.missing[from+i]), append(why, err)
			}
		}
		from = to
	}
	t.missing = left
	return why
}

func (t *transition) createLevel(ctx context.Context, nodes []*node) []error {
	errs := make([]error, len(nodes))
	var objs [][]sai.Attr
	var index []int
	for i, n := range nodes {
		attrs, err := t.realAttrs(n)
		switch {
		case err != nil:
			errs[i] = err
		case n.key.Entry != nil:
			k, ok := t.realKey(n)
			if !ok {
				errs[i] = fmt.Errorf("%s names an object that does not exist: %w", n.key, sai.StatusInvalidObjectID)
				continue
			}
			errs[i] = t.createEntry(ctx, k, attrs)
		default:
			objs, index = append(objs, attrs), append(index, i)
		}
	}
	if len(objs) == 0 {
		return errs
	}
	rids, failures := t.backend.BulkCreate(ctx, keyType(nodes[0].key), objs)
	for j, i := range index {
		if errs[i] = failures[j]; errs[i] == nil {
			t.ids.add(nodes[i].key.OID, rids[j])
			if t.grown != nil && nodes[i].key.Type == sai.ObjectTypePort {
				t.grown(ctx, t, nodes[i], rids[j])
			}
		}
	}
	return errs
}

// createEntry creates an entry, also where the ASIC has one of that key whose row was lost.
func (t *transition) createEntry(ctx context.Context, k sai.Key, attrs []sai.Attr) error {
	err := t.backend.CreateEntry(ctx, k.Entry, attrs)
	if errors.Is(err, sai.StatusItemAlreadyExists) && t.backend.Remove(ctx, k) == nil {
		err = t.backend.CreateEntry(ctx, k.Entry, attrs)
	}
	return err
}

// realAttrs translates the attributes to create a node with.
func (t *transition) realAttrs(n *node) ([]sai.Attr, error) {
	var attrs []sai.Attr
	delete(t.postponed, n)
	for _, a := range n.sortedAttrs() {
		v, ok := t.real(a.Value)
		m := sai.Meta(a.ID)
		switch {
		case ok:
			attrs = append(attrs, sai.Attr{ID: a.ID, Value: v})
		case !m.Has(sai.MandatoryOnCreate) && m.Has(sai.CreateAndSet):
			mark(t.postponed, n, a.ID)
		default:
			return nil, fmt.Errorf("%s names an object that does not exist: %w", a.ID, sai.StatusInvalidParameter)
		}
	}
	return attrs, nil
}

// setPostponed sets, on created objects, the attributes that named objects
// created after them.
func (t *transition) setPostponed(ctx context.Context) {
	for _, n := range t.order {
		k, ok := t.realKey(n)
		if len(t.postponed[n]) == 0 || !ok {
			continue
		}
		for _, a := range n.sortedAttrs() {
			if !t.postponed[n][a.ID] {
				continue
			}
			v, ok := t.real(a.Value)
			if !ok {
				t.fail(fmt.Errorf("set %s of %s: it names an object that could not be created", a.ID, n.key))
				mark(t.failed, n, a.ID)
				continue
			}
			t.set(ctx, n, k, sai.Attr{ID: a.ID, Value: v}, true)
		}
	}
}
