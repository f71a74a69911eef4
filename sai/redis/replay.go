package sairedis

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
	"tamtam/sai/redis/asicview"
	"tamtam/sai/redis/objectids"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
)

// An earlierRun is the content of ASIC_DB about the ASIC of an earlier run.
type earlierRun struct {
	ids  *oldIDs
	view *asicview.Graph
}

// read reads the content of ASIC_DB. It changes nothing.
func (vs *views) read(ctx context.Context) (*earlierRun, error) {
	old, err := readOldIDs(ctx, vs.db)
	if err != nil {
		return nil, err
	}
	next, err := asicview.ReadView(ctx, vs.db, func(vid sai.OID) bool { _, ok := old.own[vid]; return ok }, vs.badRow)
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
	earlier := recognition{vs.db, vs.objects, old}
	removed, err := earlier.ofSwitch(ctx, res, cur, sai.Obj(sai.ObjectTypeSwitch, rid))
	if err != nil {
		return err
	}
	cur.Link()
	asicview.Match(cur, next)
	t := vs.transition(cur, next, removed)
	t.Grown = earlier.ofPort
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

// oldIDs holds the ids of an earlier run in ASIC_DB.
type oldIDs struct {
	vids map[sai.OID]sai.OID // virtual ids by real id
	own  map[sai.OID]sai.ObjectType
	came map[sai.ObjectType]map[sai.OID][]sai.OID // what [oldIDs.children] returned
}

func readOldIDs(ctx context.Context, db *swss.DB) (*oldIDs, error) {
	o := &oldIDs{vids: map[sai.OID]sai.OID{}, own: map[sai.OID]sai.ObjectType{},
		came: map[sai.ObjectType]map[sai.OID][]sai.OID{}}
	vids, err := db.Client().HGetAll(ctx, protocol.KeyVIDToRID).Result()
	if err != nil {
		return nil, err
	}
	cold, err := db.Client().HGetAll(ctx, protocol.KeyColdVIDs).Result()
	if err != nil {
		return nil, err
	}
	for _, key := range []string{protocol.KeyRIDToVID, protocol.KeyHidden, protocol.KeyLanes} {
		if err := db.Client().HLen(ctx, key).Err(); err != nil {
			return nil, err // a map of the wrong type is written again later
		}
	}
	for v, r := range vids {
		vid, err := sai.ParseOID(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", protocol.KeyVIDToRID, err)
		}
		rid, err := sai.ParseOID(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", protocol.KeyVIDToRID, err)
		}
		o.vids[rid] = vid
	}
	for v := range cold {
		vid, err := sai.ParseOID(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", protocol.KeyColdVIDs, err)
		}
		if t, ok := protocol.VIDType(vid); ok {
			o.own[vid] = t
		}
	}
	return o, nil
}

// claim returns the virtual id that a discovered object had in the earlier run. Each id is used only once.
func (o *oldIDs) claim(k sai.Key) (sai.OID, bool) {
	vid, ok := o.vids[k.OID]
	if !ok || o.own[vid] != k.Type {
		return 0, false
	}
	delete(o.vids, k.OID)
	return vid, true
}

// A recognition maps objects to those of an earlier run.
type recognition struct {
	db      *swss.DB
	objects *objectids.Translator
	old     *oldIDs
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
		if vid, ok := r.old.claim(k); ok {
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
		if vid, ok := r.old.vids[was]; ok && r.old.own[vid] == sai.ObjectTypePort {
			moved[l.Port] = vid
		}
	}
	for rid := range moved {
		if vid, ok := r.old.vids[rid]; ok && r.old.own[vid] == sai.ObjectTypePort {
			delete(r.old.vids, rid)
		}
	}
	for rid, vid := range moved {
		r.old.vids[rid] = vid
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
		vid, ok := r.old.behind(t.Next, port.Key.OID, k.Type)
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

// children returns the former virtual ids of the objects of a type that came with ports of the client, by port. An ASIC
// numbers the objects of a type in the order in which it makes their ports. So if each port had equally many, the order
// of real ids tells them apart, also if the client made all ports in one bulk request, before any of their objects had
// a virtual id. children returns nil if the ports had different numbers.
func (o *oldIDs) children(t sai.ObjectType) map[sai.OID][]sai.OID {
	if list, known := o.came[t]; known {
		return list
	}
	var ports, objects []sai.OID // real ids
	for rid, vid := range o.vids {
		if o.own[vid] == t {
			objects = append(objects, rid)
		} else if kind, _ := protocol.VIDType(vid); kind == sai.ObjectTypePort {
			ports = append(ports, rid)
		}
	}
	o.came[t] = nil
	if len(ports) == 0 || len(objects)%len(ports) != 0 {
		return nil
	}
	slices.Sort(ports)
	slices.Sort(objects)
	each := len(objects) / len(ports)
	came := map[sai.OID][]sai.OID{}
	for i, port := range ports {
		for _, rid := range objects[i*each : (i+1)*each] {
			came[o.vids[port]] = append(came[o.vids[port]], o.vids[rid])
		}
	}
	o.came[t] = came
	return came
}

// behind returns the former virtual id of an object of a type that came with a port: that of [oldIDs.children] if it is
// known. Otherwise it follows from the virtual ids, which syncd chooses in the order of the real ones, directly after
// the id of a port that is made alone. Each id is returned only once.
func (o *oldIDs) behind(view *asicview.Graph, port sai.OID, t sai.ObjectType) (sai.OID, bool) {
	if came := o.children(t); came != nil {
		list := came[port]
		if len(list) == 0 {
			return 0, false
		}
		came[port] = list[1:]
		return list[0], true
	}
	end := sai.OID(1<<39 - 1) // upper bound for objects that came with this port: the id of the next port
	for other, n := range view.ByOID {
		if i := indexOf(other); n.Key.Type == sai.ObjectTypePort && i > indexOf(port) {
			end = min(end, i)
		}
	}
	var first, of sai.OID
	for rid, vid := range o.vids {
		i := indexOf(vid)
		if o.own[vid] == t && i > indexOf(port) && i < end && (first == 0 || i < indexOf(first)) {
			first, of = vid, rid
		}
	}
	delete(o.vids, of)
	return first, first != 0
}

// indexOf returns the part of a virtual id that distinguishes the objects of a type.
func indexOf(vid sai.OID) sai.OID { return vid & (1<<39 - 1) }
