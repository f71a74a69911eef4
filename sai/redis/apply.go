package sairedis

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
	"tamtam/sai/redis/asicview"
	"tamtam/sai/redis/earlier"
	"tamtam/sai/redis/objectids"
	"tamtam/sai/redis/protocol"
)

// applyView brings the ASIC to the view that was made since INIT_VIEW. If a step fails, the ASIC is brought back to the
// view that it had, and the answer is a failure. A view without a switch must be a mistake and is refused: the ASIC
// would keep a switch without an id, and could not get another.
func (vs *views) applyView(ctx context.Context) (*protocol.Result, error) {
	making := vs.making
	if making.graph.ByOID[protocol.SwitchVID] == nil {
		return nil, fmt.Errorf("%s of a view without a switch: %w", protocol.ApplyView, sai.StatusFailure)
	}
	cur, learned, err := vs.current(ctx)
	if err != nil {
		return nil, err
	}
	next := making.graph
	next.Link()
	making.keepRead(cur)
	asicview.Match(cur, next)
	t := vs.transition(cur, next, making.removed)
	t.Bring(ctx)
	vs.making = nil
	res := &protocol.Result{}
	if vs.refused = len(t.Errors) > 0; vs.refused {
		res.Status = sai.StatusFailure
		err = vs.takeBack(ctx, res, t)
	} else {
		err = vs.finish(ctx, res, t, learned)
	}
	return res, err
}

// current returns the view that the ASIC has according to ASIC_STATE, and its learned FDB entries, which are not part
// of the view.
func (vs *views) current(ctx context.Context) (cur *asicview.Graph, learned []*asicview.Node, err error) {
	own := func(vid sai.OID) bool { return vs.objects.IDs.Own[vid] }
	if cur, err = asicview.ReadView(ctx, vs.db, own, vs.badRow); err != nil {
		return nil, nil, err
	}
	for _, vid := range vs.objects.IDs.OwnVIDs() {
		if t, ok := protocol.VIDType(vid); ok {
			cur.Add(sai.Obj(t, vid), true)
		}
	}
	vs.addWithoutRows(cur)
	learned = asicview.RemoveLearned(cur)
	cur.Link()
	return cur, learned, nil
}

// takeBack brings the ASIC from where a refused transition left it to the view that it had before, which ASIC_STATE
// still holds. Objects that must be created again have other real ids, and count from zero. What came with the switch
// and was removed cannot be created again.
func (vs *views) takeBack(ctx context.Context, res *protocol.Result, refused *asicview.Transition) error {
	vs.log.Error("syncd: the view is refused, and the ASIC goes back to the one that it had",
		"steps", len(refused.Errors), "first", refused.Errors[0])
	old, err := earlier.Read(ctx, vs.db)
	if err != nil {
		return err
	}
	next, learned, err := vs.current(ctx)
	if err != nil {
		return err
	}
	before, reached := vs.objects.IDs, refused.Reached()
	for k, n := range next.Nodes {
		if n.Unknown { // it has no row, so it was removed on purpose
			delete(next.Nodes, k)
			delete(next.ByOID, k.OID)
		}
	}
	next.Link()
	vs.forgetGone(refused)
	vs.objects.Replace(refused.IDs)
	asicview.Match(reached, next)
	t := vs.transition(reached, next, nil)
	t.Grown = recognition{vs.db, vs.objects, old}.ofPort
	t.Bring(ctx)
	if len(t.Errors) > 0 {
		vs.log.Error("syncd: the ASIC could not be brought back completely", "steps", len(t.Errors), "first", t.Errors[0])
	}
	if err := vs.finish(ctx, res, t, nil); err != nil {
		return err
	}
	for _, write := range vs.movedRows(ctx, before, learned) {
		res.Write(write)
	}
	return nil
}

// forgetGone drops the ids of objects that disappeared with ports that a transition removed.
func (vs *views) forgetGone(t *asicview.Transition) {
	for _, c := range t.Current.Sorted() {
		if t.IsSurplus(c) && !slices.Contains(t.Stays, c) && c.Key.Entry == nil && c.Key.Type == sai.ObjectTypePort {
			t.ForgetChildren(c)
		}
	}
}

// addWithoutRows adds to the current view the objects of the ASIC whose rows are gone. Their attributes are unknown,
// so they must be removed.
func (vs *views) addWithoutRows(cur *asicview.Graph) {
	for vid := range vs.objects.IDs.RIDs {
		if t, ok := protocol.VIDType(vid); ok && cur.ByOID[vid] == nil {
			cur.Add(sai.Obj(t, vid), false).Unknown = true
		}
	}
}

// badRow logs a row that was ignored.
func (vs *views) badRow(err error) { vs.log.Error("syncd: row dropped", "error", err) }

// finish makes the new view the current one, in memory and in ASIC_DB.
func (vs *views) finish(
	ctx context.Context,
	res *protocol.Result,
	t *asicview.Transition,
	learned []*asicview.Node,
) error {
	vs.forgetGone(t)
	old := vs.objects.IDs
	vs.objects.Replace(t.IDs)
	for _, n := range t.Order {
		if n.Match == nil && !n.Own && n.Key.Entry == nil && n.Key.Type == sai.ObjectTypePort {
			if rid, ok := vs.objects.IDs.RID(n.Key.OID); ok {
				if err := vs.objects.Discover(ctx, res, sai.Obj(n.Key.Type, rid)); err != nil {
					return err
				}
			}
		}
	}
	return vs.rewrite(ctx, res, t, old, learned)
}

// rewrite replaces rows and maps of ASIC_DB with those of the new view, in the transaction of the answer.
func (vs *views) rewrite(
	ctx context.Context,
	res *protocol.Result,
	t *asicview.Transition,
	old *objectids.Map,
	learned []*asicview.Node,
) error {
	var gone []string
	for _, pattern := range []string{protocol.ASICState + ":*", protocol.TempASICState + ":*"} {
		keys, err := vs.db.Client().Keys(ctx, pattern).Result()
		if err != nil {
			return err
		}
		gone = append(gone, keys...)
	}
	var rows []func(redis.Pipeliner)
	for _, n := range t.Order {
		if n.Key.Entry == nil && !vs.objects.IDs.Known(n.Key.OID) {
			continue
		}
		if _, err := vs.objects.IDs.RealKey(n.Key); err != nil {
			continue
		}
		pairs, err := t.Row(n)
		if err != nil {
			return err
		}
		rows = append(rows, protocol.PutRow(ctx, protocol.ASICState, n.Key, pairs))
	}
	rows = append(rows, vs.movedRows(ctx, old, slices.Concat(t.Stays, learned))...)
	later := res.Writes // rows of discovered objects
	res.Writes = append([]func(redis.Pipeliner){func(p redis.Pipeliner) {
		for chunk := range slices.Chunk(gone, 1000) {
			p.Del(ctx, chunk...)
		}
		p.Del(ctx, protocol.KeyVIDToRID, protocol.KeyRIDToVID)
	}}, append(rows, later...)...)
	res.Mapped = nil
	for vid, rid := range vs.objects.IDs.RIDs {
		res.Mapped = append(res.Mapped, vid.String(), rid.String())
	}
	vs.polled.Keep(vs.objects.IDs.Known)
	return nil
}

// movedRows returns writes of the rows of objects that are not in the new view but still exist: learned FDB entries,
// and objects that could not be removed. Ids in the rows become the new virtual ids. Rows that name a removed object
// are dropped.
func (vs *views) movedRows(ctx context.Context, old *objectids.Map, list []*asicview.Node) []func(redis.Pipeliner) {
	var rows []func(redis.Pipeliner)
	for _, n := range list {
		ok := !n.Unknown // an unknown object has no row and gets none
		k := sai.MapKey(n.Key, func(vid sai.OID) sai.OID {
			rid, had := old.RID(vid)
			now, has := vs.objects.IDs.VID(rid)
			ok = ok && had && has
			return now
		})
		attrs := n.SortedAttrs()
		for i := range attrs {
			moved, there := asicview.MoveValue(attrs[i].Value, old, vs.objects.IDs)
			attrs[i].Value, ok = moved, ok && there
		}
		if pairs, err := protocol.FormatAttrs(attrs); err == nil && ok {
			rows = append(rows, protocol.PutRow(ctx, protocol.ASICState, k, pairs))
		}
	}
	return rows
}
