package sairedis

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
	"tamtam/sai/redis/asicview"
	"tamtam/sai/redis/earlier"
	"tamtam/sai/redis/objectids"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
)

// An earlierRun is the content of ASIC_DB about the ASIC of an earlier run.
type earlierRun struct {
	ids  *earlier.IDs
	view *asicview.Graph
}

// read reads the content of ASIC_DB. It changes nothing.
func (vs *views) read(ctx context.Context) (*earlierRun, error) {
	old, err := earlier.Read(ctx, vs.db)
	if err != nil {
		return nil, err
	}
	next, err := asicview.ReadView(ctx, vs.db, func(vid sai.OID) bool { _, ok := old.Own[vid]; return ok }, vs.badRow)
	return &earlierRun{old, next}, err
}

// clean deletes the rest of an earlier switch from an ASIC_DB without a switch.
func (vs *views) clean(ctx context.Context) error {
	gone := []string{
		protocol.KeyVIDToRID,
		protocol.KeyRIDToVID,
		protocol.KeyColdVIDs,
		protocol.KeyHidden,
		protocol.KeyLanes,
	}
	for _, view := range []string{protocol.ASICState, protocol.TempASICState} {
		keys, err := vs.db.Client().Keys(ctx, view+":*").Result()
		if err != nil {
			return err
		}
		gone = append(gone, keys...)
	}
	for chunk := range slices.Chunk(gone, 1000) {
		if err := vs.db.Client().Del(ctx, chunk...).Err(); err != nil {
			return err
		}
	}
	return nil
}

// replay brings a backend without a switch to the state that ASIC_DB holds from an earlier run (SONiC's hard reinit).
// Virtual ids stay.
func (vs *views) replay(ctx context.Context, run *earlierRun) error {
	old, next := run.ids, run.view
	asicview.RemoveLearned(next)
	next.Link()
	sw := next.ByOID[protocol.SwitchVID]
	if sw == nil {
		return vs.clean(ctx) // a new device
	}
	attrs, cur := switchAttrs(sw)
	rid, err := vs.backend.Create(ctx, sai.ObjectTypeSwitch, attrs)
	if err != nil {
		return fmt.Errorf("create switch: %w", err)
	}
	vs.objects.IDs.Add(protocol.SwitchVID, rid)
	res := &protocol.Result{}
	former := recognition{vs.db, vs.objects, old}
	removed, err := former.ofSwitch(ctx, res, cur, sai.Obj(sai.ObjectTypeSwitch, rid))
	if err != nil {
		return err
	}
	cur.Link()
	asicview.Match(cur, next)
	t := vs.transition(cur, next, removed)
	t.Grown = former.ofPort
	t.Bring(ctx)
	if err := vs.finish(ctx, res, t, nil); err != nil {
		return err
	}
	vs.objects.NoteDefaults(ctx, res, sai.Obj(sai.ObjectTypeSwitch, rid))
	vs.log.Info("syncd: replayed the state of an earlier run", "objects", len(next.Nodes), "failures", len(t.Errors))
	_, err = vs.db.Client().TxPipelined(ctx, func(p redis.Pipeliner) error {
		for _, w := range res.Writes {
			w(p)
		}
		res.WriteMaps(ctx, p)
		return nil
	})
	return err
}

// switchAttrs returns the attributes for the creation of the switch, and a view that holds only this switch. No
// attribute may name another object, because none exists yet.
func switchAttrs(sw *asicview.Node) ([]sai.Attr, *asicview.Graph) {
	cur := asicview.NewGraph()
	n := cur.Add(sw.Key, false)
	var attrs []sai.Attr
	for _, a := range sw.SortedAttrs() {
		if !asicview.NamesObjects(a.Value) {
			attrs = append(attrs, a)
			n.Attrs[a.ID] = a.Value
		}
	}
	return attrs, cur
}

// A recognition maps objects to those of an earlier run.
type recognition struct {
	db      *swss.DB
	objects *objectids.Translator
	old     *earlier.IDs
}

// ofSwitch gives the objects that came with the switch their former virtual ids, and adds them to the view cur. It
// returns the objects that were removed in the earlier run.
func (r recognition) ofSwitch(
	ctx context.Context, res *protocol.Result, cur *asicview.Graph, sw sai.Key,
) (map[sai.OID]bool, error) {
	if err := r.movePorts(ctx, sw); err != nil {
		return nil, err
	}
	var fresh []sai.Key
	for _, k := range r.objects.Walk(ctx, sw) {
		if vid, ok := r.old.Claim(k); ok {
			r.objects.IDs.Add(vid, k.OID)
			r.objects.IDs.Own[vid] = true
			cur.Add(sai.Obj(k.Type, vid), true)
			continue
		}
		fresh = append(fresh, k)
	}
	if err := r.objects.Adopt(ctx, res, fresh); err != nil {
		return nil, err
	}
	removed := map[sai.OID]bool{}
	for _, k := range fresh {
		vid, _ := r.objects.IDs.VID(k.OID)
		cur.Add(sai.Obj(k.Type, vid), true)
		switch k.Type {
		case sai.ObjectTypePort, sai.ObjectTypeBridgePort, sai.ObjectTypeVLANMember:
			removed[vid] = true
		}
	}
	// Objects that must be removed get no rows, nor do their children.
	going := map[sai.OID]bool{}
	for vid := range removed {
		rid, _ := r.objects.IDs.RID(vid)
		for _, child := range r.objects.IDs.Children[rid] {
			going[child] = true
		}
	}
	res.Writes, res.Mapped = nil, nil
	for _, k := range fresh {
		if vid, _ := r.objects.IDs.VID(k.OID); !removed[vid] && !going[k.OID] {
			r.objects.Own(ctx, res, k, vid)
		}
	}
	return removed, nil
}

// movePorts corrects the old map if the real id of the port with the same lanes has changed since the earlier run.
func (r recognition) movePorts(ctx context.Context, sw sai.Key) error {
	before, err := r.db.Client().HGetAll(ctx, protocol.KeyLanes).Result()
	if err != nil {
		return err
	}
	moved := map[sai.OID]sai.OID{} // virtual ids by new real id
	for _, l := range r.objects.ASIC.PortLanes(ctx, sw) {
		was, err := sai.ParseOID(before[strconv.FormatUint(l.Lane, 10)])
		if err != nil || was == l.Port {
			continue
		}
		if vid, ok := r.old.VIDs[was]; ok && r.old.Own[vid] == sai.ObjectTypePort {
			moved[l.Port] = vid
		}
	}
	for rid := range moved {
		if vid, ok := r.old.VIDs[rid]; ok && r.old.Own[vid] == sai.ObjectTypePort {
			delete(r.old.VIDs, rid)
		}
	}
	for rid, vid := range moved {
		r.old.VIDs[rid] = vid
	}
	return nil
}

// ofPort gives the objects that came with a recreated port their former virtual ids, so that their settings are
// restored too.
func (r recognition) ofPort(ctx context.Context, t *asicview.Transition, port *asicview.Node, rid sai.OID) {
	for _, k := range r.objects.Walk(ctx, sai.Obj(sai.ObjectTypePort, rid)) {
		if _, known := t.IDs.VID(k.OID); known {
			continue
		}
		vid, ok := r.old.Behind(t.Next, port.Key.OID, k.Type)
		if !ok {
			continue
		}
		t.IDs.Add(vid, k.OID)
		t.IDs.Own[vid] = true
		if n := t.Next.ByOID[vid]; n != nil {
			n.Match = t.Current.Add(n.Key, true)
			n.Match.Match = n
		}
	}
}
