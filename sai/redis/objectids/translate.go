package objectids

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
)

// A Translator maps the virtual to the real id of every object of the ASIC. It gives virtual ids to objects that
// came with the switch or a port. Everything except Current needs the server's lock.
type Translator struct {
	db   *swss.DB // the database with the counter of virtual ids
	ASIC Discovery
	IDs  *Map
	mu   sync.Mutex // guards the pointer IDs for readers without the server's lock
}

// NewTranslator returns a translator without objects.
func NewTranslator(db *swss.DB, backend sai.API) *Translator {
	return &Translator{db: db, ASIC: Discovery{backend}, IDs: NewMap()}
}

// Replace replaces the current ids.
func (t *Translator) Replace(ids *Map) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.IDs = ids
}

// Current returns the ids. It does not need the server's lock.
func (t *Translator) Current() *Map {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.IDs
}

// Rewrite writes the current maps of ids.
func (t *Translator) Rewrite(ctx context.Context, p redis.Pipeliner) {
	res := &protocol.Result{}
	for vid, rid := range t.IDs.RIDs {
		res.Mapped = append(res.Mapped, vid.String(), rid.String())
	}
	res.WriteMaps(ctx, p)
	for vid := range t.IDs.Own {
		if kind, ok := protocol.VIDType(vid); ok {
			p.HSet(ctx, protocol.KeyColdVIDs, vid.String(), kind.String())
		}
	}
}

// Count makes sure that the counter of virtual ids exceeds all ids in use, even if the database has lost it.
func (t *Translator) Count(ctx context.Context) error {
	last := int64(0)
	for vid := range t.IDs.RIDs {
		if vid != protocol.SwitchVID {
			last = max(last, int64(vid&(1<<39-1)))
		}
	}
	n, err := t.db.Add(ctx, protocol.KeyVIDCounter, 0)
	if err == nil && n < last {
		_, err = t.db.Add(ctx, protocol.KeyVIDCounter, last-n)
	}
	return err
}

// ToVirtual translates a value of the backend. New objects get a virtual id.
func (t *Translator) ToVirtual(ctx context.Context, res *protocol.Result, a sai.Attr) (sai.Value, error) {
	var fresh []sai.Key
	sai.References(a.Value, func(rid sai.OID) {
		if _, ok := t.IDs.VID(rid); !ok {
			if kind, ok := t.ASIC.typeOf(ctx, a.ID, rid); ok {
				fresh = append(fresh, sai.Obj(kind, rid))
			}
		}
	})
	if err := t.Adopt(ctx, res, fresh); err != nil {
		return nil, err
	}
	var unknown sai.OID
	v := sai.MapOIDs(a.Value, func(rid sai.OID) sai.OID {
		vid, ok := t.IDs.VID(rid)
		if !ok {
			unknown = rid
		}
		return vid
	})
	if unknown != 0 {
		return nil, fmt.Errorf("%s: the backend gave the object %s, which it does not know itself: %w",
			a.ID, unknown, sai.StatusFailure)
	}
	return v, nil
}

// Discover finds the objects that came with root (a real key). It gives them virtual ids in the order of their real
// ids, and writes them to ASIC_DB.
func (t *Translator) Discover(ctx context.Context, res *protocol.Result, root sai.Key) error {
	fresh := slices.DeleteFunc(t.Walk(ctx, root), func(k sai.Key) bool { _, ok := t.IDs.VID(k.OID); return ok })
	if err := t.Adopt(ctx, res, fresh); err != nil {
		return err
	}
	if root.Type == sai.ObjectTypeSwitch {
		t.NoteDefaults(ctx, res, root)
	}
	return nil
}

// Adopt gives virtual ids to objects (real keys) that came with the switch or a port.
func (t *Translator) Adopt(ctx context.Context, res *protocol.Result, fresh []sai.Key) error {
	if len(fresh) == 0 {
		return nil
	}
	last, err := t.db.Add(ctx, protocol.KeyVIDCounter, int64(len(fresh)))
	if err != nil {
		return err
	}
	for i, k := range fresh {
		vid, err := protocol.NewVID(k.Type, last-int64(len(fresh))+1+int64(i))
		if err != nil {
			return err
		}
		t.Own(ctx, res, k, vid)
	}
	return nil
}

// Own records a real object that came with the switch or a port under its virtual id.
func (t *Translator) Own(ctx context.Context, res *protocol.Result, k sai.Key, vid sai.OID) {
	t.Created(ctx, res, sai.Obj(k.Type, vid), k.OID, nil)
	t.IDs.Own[vid] = true
	res.Write(func(p redis.Pipeliner) { p.HSet(ctx, protocol.KeyColdVIDs, vid.String(), k.Type.String()) })
}

// Created records a new object.
func (t *Translator) Created(ctx context.Context, res *protocol.Result, k sai.Key, rid sai.OID, pairs []swss.Pair) {
	t.IDs.Add(k.OID, rid)
	res.Write(protocol.PutRow(ctx, protocol.ASICState, k, pairs))
	res.Mapped = append(res.Mapped, k.OID.String(), rid.String())
}

// Walk returns all objects that can be reached from root through attributes, without root, sorted by real id. Objects
// that come with a port, such as queues, are recorded as its children, because they disappear with it. Objects that
// it merely names, such as a mirror session, are not.
func (t *Translator) Walk(ctx context.Context, root sai.Key) []sai.Key {
	seen := map[sai.OID]bool{root.OID: true}
	var found []sai.Key
	for queue := []sai.Key{root}; len(queue) > 0; queue = queue[1:] {
		for _, m := range sai.ObjectMeta(queue[0].Type).Attrs {
			if m.Form != sai.FormPlain || m.Kind != sai.KindOID && m.Kind != sai.KindOIDList {
				continue
			}
			for _, rid := range t.ASIC.oids(ctx, queue[0], m.ID) {
				if rid == sai.NullOID || seen[rid] {
					continue
				}
				seen[rid] = true
				kind, ok := t.ASIC.typeOf(ctx, m.ID, rid)
				if !ok || sai.ObjectMeta(kind) == nil {
					continue
				}
				at := queue[0]
				if at.Type == sai.ObjectTypePort && WithPort(kind) && !slices.Contains(t.IDs.Children[at.OID], rid) {
					t.IDs.Children[at.OID] = append(t.IDs.Children[at.OID], rid)
				}
				found = append(found, sai.Obj(kind, rid))
				queue = append(queue, sai.Obj(kind, rid))
			}
		}
	}
	slices.SortFunc(found, func(a, b sai.Key) int { return CompareOIDs(a.OID, b.OID) })
	return found
}

// CompareOIDs compares object ids by their number.
func CompareOIDs(a, b sai.OID) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// NoteDefaults writes the keys HIDDEN (the switch's default objects) and LANES (the port of each lane), with real
// ids.
func (t *Translator) NoteDefaults(ctx context.Context, res *protocol.Result, sw sai.Key) {
	for _, id := range []sai.AttrID{
		sai.SwitchAttrCPUPort, sai.SwitchAttrDefaultVLANID, sai.SwitchAttrDefaultVirtualRouterID,
		sai.SwitchAttrDefault1qBridgeID, sai.SwitchAttrDefaultTrapGroup, sai.SwitchAttrDefaultStpInstID,
	} {
		if l := t.ASIC.oids(ctx, sw, id); len(l) == 1 && l[0] != sai.NullOID {
			res.Write(func(p redis.Pipeliner) { p.HSet(ctx, protocol.KeyHidden, id.String(), l[0].String()) })
		}
	}
	lane := t.ASIC.PortLanes(ctx, sw)
	if len(lane) > 0 {
		args := make([]any, 0, 2*len(lane))
		for _, l := range lane {
			args = append(args, strconv.FormatUint(l.Lane, 10), l.Port.String())
		}
		res.Write(func(p redis.Pipeliner) { p.HSet(ctx, protocol.KeyLanes, args...) })
	}
}

// WithPort reports whether objects of that type come and go with their port.
func WithPort(t sai.ObjectType) bool {
	switch t.String() {
	case "SAI_OBJECT_TYPE_QUEUE", "SAI_OBJECT_TYPE_SCHEDULER_GROUP", "SAI_OBJECT_TYPE_INGRESS_PRIORITY_GROUP",
		"SAI_OBJECT_TYPE_PORT_SERDES":
		return true
	}
	return false
}
