package asicview

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"tamtam/sai"
	"tamtam/sai/redis/objectids"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
)

// A Transition brings the backend from one view to another. The objects of both have been matched. First it sets
// attributes that refer to surplus objects. Then it removes surplus objects, creates missing ones, and sets the rest.
type Transition struct {
	Backend       sai.API
	Log           *slog.Logger
	Current, Next *Graph
	Order         []*Node          // the nodes of Next, as [Graph.Sorted] returns them
	From          *objectids.Map   // the ids of the current view
	IDs           *objectids.Map   // the ids of the new view, filled as it is created
	Removed       map[sai.OID]bool // objects that came with the switch or a port, and must be removed
	surplus       []*Node          // nodes of Current that have no match in Next
	Stays         []*Node          // objects of surplus that could not be removed
	missing       []*Node          // nodes of Next that have no match in Current
	done          map[*Node]map[sai.AttrID]bool
	postponed     map[*Node]map[sai.AttrID]bool // attributes to set after all objects have been created
	failed        map[*Node]map[sai.AttrID]bool // attributes that could not be set, by node of the new view
	Errors        []error
	// Grown, if set, is called for every created port, because other objects came with it.
	Grown func(ctx context.Context, t *Transition, port *Node, rid sai.OID)
}

// Bring executes the transition. On return t.IDs translates the new view. If a node of missing is not in t.IDs, it
// could not be created.
func (t *Transition) Bring(ctx context.Context) {
	t.done = map[*Node]map[sai.AttrID]bool{}
	t.failed = map[*Node]map[sai.AttrID]bool{}
	t.postponed = map[*Node]map[sai.AttrID]bool{}
	t.Order = t.Next.Sorted()
	for _, n := range t.Order {
		switch {
		case n.Match != nil:
			if n.Key.Entry == nil {
				rid, _ := t.From.RID(n.Match.Key.OID)
				t.IDs.Add(n.Key.OID, rid)
			}
		case !n.Own:
			t.missing = append(t.missing, n)
		}
	}
	for _, c := range t.Current.Sorted() {
		if t.IsSurplus(c) {
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

// keepStays keeps the ids of objects that could not be removed, so that the next view finds and removes them.
func (t *Transition) keepStays() {
	for _, c := range t.Stays {
		if c.Key.Entry != nil {
			continue
		}
		rid, there := t.From.RID(c.Key.OID)
		if _, known := t.IDs.VID(rid); known || !there {
			continue
		}
		t.IDs.Add(c.Key.OID, rid)
		if c.Own {
			t.IDs.Own[c.Key.OID] = true
		}
	}
}

// IsSurplus reports whether an object of the current view must be removed.
func (t *Transition) IsSurplus(c *Node) bool {
	if c.Own {
		return t.Removed[c.Key.OID]
	}
	return c.Match == nil && !IsSwitch(c.Key)
}

// real translates a value of the new view. It returns false while the value names an object that does not exist yet.
func (t *Transition) real(v sai.Value) (sai.Value, bool) {
	ok := true
	r := sai.MapOIDs(v, func(o sai.OID) sai.OID {
		rid, known := t.IDs.RID(o)
		ok = ok && known
		return rid
	})
	return r, ok
}

// realKey translates the key of a node of the new view.
func (t *Transition) realKey(n *Node) (sai.Key, bool) {
	k, err := t.IDs.RealKey(n.Key)
	return k, err == nil
}

// setAll sets the attributes of matched objects to the new values. With detach it sets only those that name a surplus
// object.
func (t *Transition) setAll(ctx context.Context, detach bool) {
	for _, n := range t.Order {
		if n.Match == nil {
			continue
		}
		k, ok := t.realKey(n)
		if !ok {
			continue
		}
		for _, id := range changed(n) {
			if t.done[n][id] || detach && !t.namesSurplus(n.Match.Attrs[id]) {
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
func changed(n *Node) []sai.AttrID {
	ids := map[sai.AttrID]bool{}
	for id := range n.Attrs {
		ids[id] = true
	}
	for id := range n.Match.Attrs {
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

// wanted returns the real value to set for an attribute. It returns false if the attribute already has the value, or
// cannot get it now.
func (t *Transition) wanted(n *Node, id sai.AttrID, detach bool) (sai.Value, bool) {
	old, had := n.Match.Attrs[id]
	v, given := n.Attrs[id]
	if !given {
		if v = sai.Meta(id).Default; v == nil {
			return nil, false // the attribute has no default that could be restored
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
		return real, !EqualValues(id, old, v)
	}
	oldReal := sai.MapOIDs(old, func(o sai.OID) sai.OID { rid, _ := t.From.RID(o); return rid })
	return real, !EqualValues(id, oldReal, real)
}

// placeholder reports whether the attribute's new value names an object that does not exist yet.
func (t *Transition) placeholder(n *Node, id sai.AttrID) bool {
	v, given := n.Attrs[id]
	_, ok := t.real(v)
	return given && !ok
}

// empty returns the value that names no object. It returns false if the attribute must name one.
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

func (t *Transition) namesSurplus(v sai.Value) bool {
	found := false
	sai.References(v, func(o sai.OID) {
		c := t.Current.ByOID[o]
		found = found || c != nil && t.IsSurplus(c)
	})
	return found
}

// set sets one attribute. final means that the value is that of the new view, not a temporary one.
func (t *Transition) set(ctx context.Context, n *Node, k sai.Key, a sai.Attr, final bool) {
	err := t.Backend.Set(ctx, k, a)
	if err != nil {
		t.fail(fmt.Errorf("set %s of %s: %w", a.ID, n.Key, err))
		mark(t.failed, n, a.ID)
	} else {
		delete(t.failed[n], a.ID)
	}
	if final {
		mark(t.done, n, a.ID)
	}
}

func mark(m map[*Node]map[sai.AttrID]bool, n *Node, id sai.AttrID) {
	if m[n] == nil {
		m[n] = map[sai.AttrID]bool{}
	}
	m[n][id] = true
}

func (t *Transition) fail(err error) {
	t.Errors = append(t.Errors, err)
	t.Log.Error("syncd: the ASIC refuses", "error", err)
}

// removeAll removes surplus objects, users first. Objects that are still in use are left for the last call.
func (t *Transition) removeAll(ctx context.Context, last bool) {
	var left []*Node
	for _, c := range t.surplus {
		k, err := t.From.RealKey(c.Key)
		if err != nil { // another client wrote the row, and the ASIC never had the object
			t.Log.Warn("syncd: a row of no object is dropped", "error", err)
			continue
		}
		err = t.Backend.Remove(ctx, k)
		switch {
		case err == nil, c.Key.Entry != nil && errors.Is(err, sai.StatusItemNotFound):
		case errors.Is(err, sai.StatusObjectInUse) && !last:
			left = append(left, c)
		default:
			t.fail(fmt.Errorf("remove %s: %w", c.Key, err))
			if !errors.Is(err, sai.StatusInvalidObjectID) && !errors.Is(err, sai.StatusItemNotFound) { // not gone yet
				t.Stays = append(t.Stays, c)
			}
		}
	}
	t.surplus = left
}

// createAll creates missing objects, users last. It creates objects of one type and depth in one call. Attributes that
// name missing objects are set later. Failed creations are retried after all surplus objects are gone, and then as long
// as any succeeds. Retries are needed because objects that name each other have no order, and because an object may
// have waited for capacity.
func (t *Transition) createAll(ctx context.Context, last bool) {
	for {
		before := len(t.missing)
		errs := t.createOnce(ctx)
		if last && len(t.missing) > 0 && len(t.missing) < before {
			continue
		}
		for i, n := range t.missing {
			if last {
				t.fail(fmt.Errorf("create %s: %w", n.Key, errs[i]))
			}
		}
		return
	}
}

// createOnce tries each missing object once. It leaves failed ones in missing and returns their errors.
func (t *Transition) createOnce(ctx context.Context) (why []error) {
	var left []*Node
	for from := 0; from < len(t.missing); {
		to := from + 1
		first := t.missing[from]
		for to < len(t.missing) && t.missing[to].depth == first.depth &&
			protocol.KeyType(t.missing[to].Key) == protocol.KeyType(first.Key) {
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

func (t *Transition) createLevel(ctx context.Context, nodes []*Node) []error {
	errs := make([]error, len(nodes))
	var objs [][]sai.Attr
	var index []int
	for i, n := range nodes {
		attrs, err := t.realAttrs(n)
		switch {
		case err != nil:
			errs[i] = err
		case n.Key.Entry != nil:
			k, ok := t.realKey(n)
			if !ok {
				errs[i] = fmt.Errorf("%s names an object that does not exist: %w", n.Key, sai.StatusInvalidObjectID)
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
	rids, failures := t.Backend.BulkCreate(ctx, protocol.KeyType(nodes[0].Key), objs)
	for j, i := range index {
		if errs[i] = failures[j]; errs[i] == nil {
			t.IDs.Add(nodes[i].Key.OID, rids[j])
			if t.Grown != nil && nodes[i].Key.Type == sai.ObjectTypePort {
				t.Grown(ctx, t, nodes[i], rids[j])
			}
		}
	}
	return errs
}

// createEntry creates an entry. If the ASIC already has an entry with that key, whose row was lost, createEntry
// replaces it.
func (t *Transition) createEntry(ctx context.Context, k sai.Key, attrs []sai.Attr) error {
	err := t.Backend.CreateEntry(ctx, k.Entry, attrs)
	if errors.Is(err, sai.StatusItemAlreadyExists) && t.Backend.Remove(ctx, k) == nil {
		err = t.Backend.CreateEntry(ctx, k.Entry, attrs)
	}
	return err
}

// realAttrs returns the translated attributes for the creation of a node. It postpones attributes that name an object
// that does not exist yet, or need one, and fails if such an attribute must be set on creation.
func (t *Transition) realAttrs(n *Node) ([]sai.Attr, error) {
	var attrs []sai.Attr
	delete(t.postponed, n)
	for _, a := range n.SortedAttrs() {
		v, ok := t.real(a.Value)
		m := sai.Meta(a.ID)
		switch {
		case ok && a.ID != sai.TAMTelTypeAttrState: // a stream needs its subscriptions, which are created after it
			attrs = append(attrs, sai.Attr{ID: a.ID, Value: v})
		case !m.Has(sai.MandatoryOnCreate) && m.Has(sai.CreateAndSet):
			mark(t.postponed, n, a.ID)
		default:
			return nil, fmt.Errorf("%s names an object that does not exist: %w", a.ID, sai.StatusInvalidParameter)
		}
	}
	return attrs, nil
}

// setPostponed sets the attributes of created objects that name or need objects created after them.
func (t *Transition) setPostponed(ctx context.Context) {
	for _, n := range t.Order {
		k, ok := t.realKey(n)
		if len(t.postponed[n]) == 0 || !ok {
			continue
		}
		for _, a := range n.SortedAttrs() {
			if !t.postponed[n][a.ID] {
				continue
			}
			v, ok := t.real(a.Value)
			if !ok {
				t.fail(fmt.Errorf("set %s of %s: it names an object that could not be created", a.ID, n.Key))
				mark(t.failed, n, a.ID)
				continue
			}
			t.set(ctx, n, k, sai.Attr{ID: a.ID, Value: v}, true)
		}
	}
}

// ForgetChildren drops the objects that disappeared with a removed port.
func (t *Transition) ForgetChildren(port *Node) {
	rid, ok := t.From.RID(port.Key.OID)
	if !ok {
		return
	}
	for _, child := range t.IDs.Children[rid] {
		if vid, ok := t.IDs.VID(child); ok {
			t.IDs.Remove(vid, child)
		}
	}
	delete(t.IDs.Children, rid)
}

// Row returns the current attributes of an object as text.
func (t *Transition) Row(n *Node) ([]swss.Pair, error) { return protocol.FormatAttrs(t.attrs(n)) }

// Reached returns the view that the ASIC has after Bring, whatever failed, in terms of t.IDs. Objects whose attributes
// are unknown are marked as such.
func (t *Transition) Reached() *Graph {
	g := NewGraph()
	for _, n := range t.Order {
		if _, there := t.IDs.RealKey(n.Key); there != nil {
			continue
		}
		at := g.Add(n.Key, n.Own)
		for _, a := range t.attrs(n) {
			at.Attrs[a.ID] = a.Value
		}
	}
	for _, c := range t.Stays {
		attrs, ok := []sai.Attr(nil), true
		k := sai.MapKey(c.Key, func(o sai.OID) sai.OID {
			moved, there := MoveValue(o, t.From, t.IDs)
			ok = ok && there
			vid, _ := moved.(sai.OID)
			return vid
		})
		if !ok {
			continue
		}
		at := g.Add(k, c.Own)
		for _, a := range c.SortedAttrs() {
			moved, there := MoveValue(a.Value, t.From, t.IDs)
			ok = ok && there
			attrs = append(attrs, sai.Attr{ID: a.ID, Value: moved})
		}
		if at.Unknown = c.Unknown || !ok; !at.Unknown {
			for _, a := range attrs {
				at.Attrs[a.ID] = a.Value
			}
		}
	}
	g.Link()
	return g
}

// attrs returns the current attributes of an object.
func (t *Transition) attrs(n *Node) []sai.Attr {
	var attrs []sai.Attr
	for _, a := range n.SortedAttrs() {
		if t.failed[n][a.ID] {
			if n.Match == nil {
				continue
			}
			old, had := n.Match.Attrs[a.ID]
			moved, ok := MoveValue(old, t.From, t.IDs)
			if !had || !ok {
				continue
			}
			a.Value = moved
		} else if _, ok := t.real(a.Value); !ok {
			continue // the value names an object that could not be created
		}
		attrs = append(attrs, a)
	}
	if n.Match != nil {
		for _, a := range n.Match.SortedAttrs() {
			if _, given := n.Attrs[a.ID]; given {
				continue
			}
			moved, ok := MoveValue(a.Value, t.From, t.IDs)
			switch {
			case t.failed[n][a.ID] && ok: // the set failed, so the old value stays
				attrs = append(attrs, sai.Attr{ID: a.ID, Value: moved})
			case sai.Meta(a.ID).Default == nil && !NamesObjects(a.Value): // the attribute cannot be reset
				attrs = append(attrs, a)
			}
		}
	}
	return attrs
}

// MoveValue replaces virtual ids with the current virtual ids of the same objects. ok is false if an object is gone.
func MoveValue(v sai.Value, from, to *objectids.Map) (moved sai.Value, ok bool) {
	ok = true
	moved = sai.MapOIDs(v, func(vid sai.OID) sai.OID {
		rid, had := from.RID(vid)
		now, has := to.VID(rid)
		ok = ok && had && has
		return now
	})
	return moved, ok
}
