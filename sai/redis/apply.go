package sairedis

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
	"tamtam/sai/redis/asicview"
	"tamtam/sai/redis/objectids"
	"tamtam/sai/redis/protocol"
)

// applyView brings the ASIC to the view that was made since INIT_VIEW. If a step fails, the others are still
// executed, ASIC_STATE gets the resulting state of the ASIC, and the answer is a failure. A view without a switch
// must be a mistake and is refused: the ASIC would keep a switch without an id, and could not get another.
func (vs *views) applyView(ctx context.Context) (*protocol.Result, error) {
	if vs.making.graph.ByOID[protocol.SwitchVID] == nil {
		return nil, fmt.Errorf("%s of a view without a switch: %w", protocol.ApplyView, sai.StatusFailure)
	}
	own := func(vid sai.OID) bool { return vs.objects.IDs.Own[vid] }
	cur, err := asicview.ReadView(ctx, vs.db, own, vs.badRow)
	if err != nil {
		return nil, err
	}
	for _, vid := range vs.objects.IDs.OwnVIDs() {
		if t, ok := protocol.VIDType(vid); ok {
			cur.Add(sai.Obj(t, vid), true)
		}
	}
	vs.addWithoutRows(cur)
	learned := asicview.RemoveLearned(cur)
	cur.Link()
	next := vs.making.graph
	next.Link()
	asicview.Match(cur, next)
	t := vs.transition(cur, next, vs.making.removed)
	t.Bring(ctx)
	vs.making = nil
	res := &protocol.Result{}
	if vs.refused = len(t.Errors) > 0; vs.refused {
		res.Status = sai.StatusFailure
	}
	err = vs.finish(ctx, res, t, learned)
	return res, err
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
	for _, c := range t.Current.Sorted() {
		if t.IsSurplus(c) && !slices.Contains(t.Stays, c) && c.Key.Entry == nil && c.Key.Type == sai.ObjectTypePort {
			t.ForgetChildren(c)
		}
	}
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
