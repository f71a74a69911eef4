package sairedis

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
	"tamtam/swss"
)

// applyView brings the ASIC to the view that was made since INIT_VIEW. If a step fails, the others
// are still done, ASIC_STATE says what the ASIC then has, and the answer is a failure. A view without a switch, which
// nobody can mean, is not applied: the ASIC would have one that nobody knows, and could not get another.
func (vs *views) applyView(ctx context.Context) (*result, error) {
	if vs.making.graph.byOID[SwitchVID] == nil {
		return nil, fmt.Errorf("%s of a view without a switch: %w", applyView, sai.StatusFailure)
	}
	own := func(vid sai.OID) bool { return vs.objects.ids.own[vid] }
	cur, err := readView(ctx, vs.db, own, vs.badRow)
	if err != nil {
		return nil, err
	}
	for _, vid := range vs.objects.ids.ownVIDs() {
		if t, ok := VIDType(vid); ok {
			cur.add(sai.Obj(t, vid), true)
		}
	}
	vs.addWithoutRows(cur)
	learned := takeLearned(cur)
	cur.link()
	next := vs.making.graph
	next.link()
	matchViews(cur, next)
	t := vs.transition(cur, next, vs.making.removed)
	t.bring(ctx)
	vs.making = nil
	res := &result{}
	if vs.refused = len(t.errs) > 0; vs.refused {
		res.status = sai.StatusFailure
	}
	err = vs.finish(ctx, res, t, learned)
	return res, err
}

// addWithoutRows adds to the current view the objects of the ASIC whose rows are gone: what they are is not known, so
// that they must go.
func (vs *views) addWithoutRows(cur *graph) {
	for vid := range vs.objects.ids.rids {
		if t, ok := VIDType(vid); ok && cur.byOID[vid] == nil {
			cur.add(sai.Obj(t, vid), false).unknown = true
		}
	}
}

// badRow logs a row that was left out.
func (vs *views) badRow(err error) { vs.log.Error("syncd: row dropped", "error", err) }

// takeLearned removes the FDB entries that the ASIC learned from a view: they are not
// configuration.
func takeLearned(g *graph) []*node {
	var list []*node
	for k, n := range g.nodes {
		if _, ok := k.Entry.(sai.FDBEntry); ok && n.attrs[sai.FDBEntryAttrType] == sai.FDBEntryTypeDynamic {
			list = append(list, n)
			delete(g.nodes, k)
		}
	}
	slices.SortFunc(list, func(a, b *node) int { return compareNodes(a, b) })
	return list
}

// ownCopy returns a map of the objects that nobody created, without some.
func (m *idMap) ownCopy(without map[sai.OID]bool) *idMap {
	c := newIDMap()
	c.children = m.children
	for vid := range m.own {
		if rid, ok := m.rid(vid); ok && !without[vid] {
			c.add(vid, rid)
			c.own[vid] = true
		}
	}
	return c
}

// finish makes the new view the current one, in memory and in ASIC_DB.
func (vs *views) finish(ctx context.Context, res *result, t *transition, learned []*node) error {
	for _, c := range t.cur.sorted() {
		if t.isSurplus(c) && !slices.Contains(t.stays, c) && c.key.Entry == nil && c.key.Type == sai.ObjectTypePort {
			t.forgetChildren(c)
		}
	}
	old := vs.objects.ids
	vs.objects.replace(t.ids)
	for _, n := range t.order {
		if n.match == nil && !n.own && n.key.Entry == nil && n.key.Type == sai.ObjectTypePort {
			if rid, ok := vs.objects.ids.rid(n.key.OID); ok {
				if err := vs.objects.discover(ctx, res, sai.Obj(n.key.Type, rid)); err != nil {
					return err
				}
			}
		}
	}
	return vs.rewrite(ctx, res, t, old, learned)
}

// forgetChildren drops what disappeared with a removed port.
func (t *transition) forgetChildren(port *node) {
	rid, ok := t.from.rid(port.key.OID)
	if !ok {
		return
	}
	for _, child := range t.ids.children[rid] {
		if vid, ok := t.ids.vid(child); ok {
			t.ids.remove(vid, child)
		}
	}
	delete(t.ids.children, rid)
}

// rewrite replaces rows and maps of ASIC_DB by those of the new view, in the
// transaction of the answer.
func (vs *views) rewrite(ctx context.Context, res *result, t *transition, old *idMap, learned []*node) error {
	var gone []string
	for _, pattern := range []string{asicState + ":*", tempAsicState + ":*"} {
		keys, err := vs.db.Client().Keys(ctx, pattern).Result()
		if err != nil {
			return err
		}
		gone = append(gone, keys...)
	}
	var rows []func(redis.Pipeliner)
	for _, n := range t.order {
		if n.key.Entry == nil && !vs.objects.ids.known(n.key.OID) {
			continue
		}
		if _, err := vs.objects.ids.toRealKey(n.key); err != nil {
			continue
		}
		pairs, err := t.row(n)
		if err != nil {
			return err
		}
		rows = append(rows, putRow(ctx, asicState, n.key, pairs))
	}
	rows = append(rows, vs.movedRows(ctx, old, slices.Concat(t.stays, learned))...)
	later := res.writes // rows of discovered objects
	res.writes = append([]func(redis.Pipeliner){func(p redis.Pipeliner) {
		for chunk := range slices.Chunk(gone, 1000) {
			p.Del(ctx, chunk...)
		}
		p.Del(ctx, vidToRID, ridToVID)
	}}, append(rows, later...)...)
	res.mapped = nil
	for vid, rid := range vs.objects.ids.rids {
		res.mapped = append(res.mapped, vid.String(), rid.String())
	}
	vs.polled.keep(vs.objects.ids.known)
	return nil
}

// row returns the attributes that an object has now.
func (t *transition) row(n *node) ([]swss.Pair, error) {
	var attrs []sai.Attr
	for _, a := range n.sortedAttrs() {
		if t.failed[n][a.ID] {
			if n.match == nil {
				continue
			}
			old, had := n.match.attrs[a.ID]
			moved, ok := moveValue(old, t.from, t.ids)
			if !had || !ok {
				continue
			}
			a.Value = moved
		} else if _, ok := t.real(a.Value); !ok {
			continue // it names what could not be created
		}
		attrs = append(attrs, a)
	}
	if n.match != nil {
		for _, a := range n.match.sortedAttrs() {
			if _, given := n.attrs[a.ID]; given {
				continue
			}
			moved, ok := moveValue(a.Value, t.from, t.ids)
			switch {
			case t.failed[n][a.ID] && ok: // it could not be undone
				attrs = append(attrs, sai.Attr{ID: a.ID, Value: moved})
			case sai.Meta(a.ID).Default == nil && !namesObjects(a.Value): // it cannot be undone
				attrs = append(attrs, a)
			}
		}
	}
	return formatAttrs(attrs)
}

// moveValue replaces virtual ids by those that the same objects have now; false if one is gone.
func moveValue(v sai.Value, from, to *idMap) (moved sai.Value, ok bool) {
	ok = true
	moved = sai.MapOIDs(v, func(vid sai.OID) sai.OID {
		rid, had := from.rid(vid)
		now, has := to.vid(rid)
		ok = ok && had && has
		return now
	})
	return moved, ok
}

func namesObjects(v sai.Value) bool {
	found := false
	sai.References(v, func(sai.OID) { found = true })
	return found
}

// movedRows returns the rows of what is neither of the new view nor gone, learned FDB entries and what could not be
// removed, under the new virtual ids; those that named something that is gone went with it.
func (vs *views) movedRows(ctx context.Context, old *idMap, list []*node) []func(redis.Pipeliner) {
	var rows []func(redis.Pipeliner)
	for _, n := range list {
		ok := !n.unknown // it has no row, and gets none
		k := sai.MapKey(n.key, func(vid sai.OID) sai.OID {
			rid, had := old.rid(vid)
			now, has := vs.objects.ids.vid(rid)
			ok = ok && had && has
			return now
		})
		attrs := n.sortedAttrs()
		for i := range attrs {
			moved, there := moveValue(attrs[i].Value, old, vs.objects.ids)
			attrs[i].Value, ok = moved, ok && there
		}
		if pairs, err := formatAttrs(attrs); err == nil && ok {
			rows = append(rows, putRow(ctx, asicState, k, pairs))
		}
	}
	return rows
}
