package sairedis

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
	"tamtam/swss"
)

// A translator knows every object of the ASIC by its virtual and its real id, and gives a virtual id
// to those that nobody created. Everything except current is done while the server's lock is held.
type translator struct {
	db   *swss.DB // the counter of virtual ids
	asic discovery
	ids  *idMap
	mu   sync.Mutex // guards ids, the pointer, where the server's lock is not held
}

func newTranslator(db *swss.DB, backend sai.API) *translator {
	return &translator{db: db, asic: discovery{backend}, ids: newIDMap()}
}

// replace replaces the current ids.
func (t *translator) replace(ids *idMap) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ids = ids
}

// current returns the ids; the server's lock need not be held.
func (t *translator) current() *idMap {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ids
}

// rewrite writes the maps of ids as they are.
func (t *translator) rewrite(ctx context.Context, p redis.Pipeliner) {
	res := &result{}
	for vid, rid := range t.ids.rids {
		res.mapped = append(res.mapped, vid.String(), rid.String())
	}
	res.writeMaps(ctx, p)
	for vid := range t.ids.own {
		if kind, ok := VIDType(vid); ok {
			p.HSet(ctx, coldVIDs, vid.String(), kind.String())
		}
	}
}

// count makes sure that the counter of virtual ids is beyond all that are in use, also in a database that has lost it.
func (t *translator) count(ctx context.Context) error {
	last := int64(0)
	for vid := range t.ids.rids {
		if vid != SwitchVID {
			last = max(last, int64(vid&(1<<39-1)))
		}
	}
	n, err := t.db.Add(ctx, vidCounter, 0)
	if err == nil && n < last {
		_, err = t.db.Add(ctx, vidCounter, last-n)
	}
	return err
}

// toVirtual translates the backend's values. Objects that are new to the server get a virtual id.
func (t *translator) toVirtual(ctx context.Context, res *result, a sai.Attr) (sai.Value, error) {
	var fresh []sai.Key
	sai.References(a.Value, func(rid sai.OID) {
		if _, ok := t.ids.vid(rid); !ok {
			if kind, ok := t.asic.typeOf(ctx, a.ID, rid); ok {
				fresh = append(fresh, sai.Obj(kind, rid))
			}
		}
	})
	if err := t.adopt(ctx, res, fresh); err != nil {
		return nil, err
	}
	var unknown sai.OID
	v := sai.MapOIDs(a.Value, func(rid sai.OID) sai.OID {
		vid, ok := t.ids.vid(rid)
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

// discover finds the objects that came with root (a real key), gives them virtual ids in the order
// of their real ids, and writes them to ASIC_DB.
func (t *translator) discover(ctx context.Context, res *result, root sai.Key) error {
	fresh := slices.DeleteFunc(t.walk(ctx, root), func(k sai.Key) bool { _, ok := t.ids.vid(k.OID); return ok })
	if err := t.adopt(ctx, res, fresh); err != nil {
		return err
	}
	if root.Type == sai.ObjectTypeSwitch {
		t.noteDefaults(ctx, res, root)
	}
	return nil
}

// adopt gives virtual ids to objects (real keys) that nobody created.
func (t *translator) adopt(ctx context.Context, res *result, fresh []sai.Key) error {
	if len(fresh) == 0 {
		return nil
	}
	last, err := t.db.Add(ctx, vidCounter, int64(len(fresh)))
	if err != nil {
		return err
	}
	for i, k := range fresh {
		vid, err := newVID(k.Type, last-int64(len(fresh))+1+int64(i))
		if err != nil {
			return err
		}
		t.own(ctx, res, k, vid)
	}
	return nil
}

// own records a real object that nobody created under its virtual id.
func (t *translator) own(ctx context.Context, res *result, k sai.Key, vid sai.OID) {
	t.created(ctx, res, sai.Obj(k.Type, vid), k.OID, nil)
	t.ids.own[vid] = true
	res.write(func(p redis.Pipeliner) { p.HSet(ctx, coldVIDs, vid.String(), k.Type.String()) })
}

// created records a new object.
func (t *translator) created(ctx context.Context, res *result, k sai.Key, rid sai.OID, pairs []swss.Pair) {
	t.ids.add(k.OID, rid)
	res.write(putRow(ctx, asicState, k, pairs))
	res.mapped = append(res.mapped, k.OID.String(), rid.String())
}

// walk returns all objects that can be reached from root through attributes, without root, sorted
// by real id. What comes with a port (queues) is recorded as its children, which disappear with it;
// not what it merely names, such as a mirror session.
func (t *translator) walk(ctx context.Context, root sai.Key) []sai.Key {
	seen := map[sai.OID]bool{root.OID: true}
	var found []sai.Key
	for queue := []sai.Key{root}; len(queue) > 0; queue = queue[1:] {
		for _, m := range sai.ObjectMeta(queue[0].Type).Attrs {
			if m.Form != sai.FormPlain || m.Kind != sai.KindOID && m.Kind != sai.KindOIDList {
				continue
			}
			for _, rid := range t.asic.oids(ctx, queue[0], m.ID) {
				if rid == sai.NullOID || seen[rid] {
					continue
				}
				seen[rid] = true
				kind, ok := t.asic.typeOf(ctx, m.ID, rid)
				if !ok || sai.ObjectMeta(kind) == nil {
					continue
				}
				at := queue[0]
				if at.Type == sai.ObjectTypePort && withPort(kind) && !slices.Contains(t.ids.children[at.OID], rid) {
					t.ids.children[at.OID] = append(t.ids.children[at.OID], rid)
				}
				found = append(found, sai.Obj(kind, rid))
				queue = append(queue, sai.Obj(kind, rid))
			}
		}
	}
	slices.SortFunc(found, func(a, b sai.Key) int { return compareOIDs(a.OID, b.OID) })
	return found
}

func compareOIDs(a, b sai.OID) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// noteDefaults writes the keys HIDDEN (the switch's default objects) and LANES
// (which port has a lane), with real ids.
func (t *translator) noteDefaults(ctx context.Context, res *result, sw sai.Key) {
	for _, id := range []sai.AttrID{
		sai.SwitchAttrCPUPort, sai.SwitchAttrDefaultVLANID, sai.SwitchAttrDefaultVirtualRouterID,
		sai.SwitchAttrDefault1qBridgeID, sai.SwitchAttrDefaultTrapGroup, sai.SwitchAttrDefaultStpInstID,
	} {
		if l := t.asic.oids(ctx, sw, id); len(l) == 1 && l[0] != sai.NullOID {
			res.write(func(p redis.Pipeliner) { p.HSet(ctx, hidden, id.String(), l[0].String()) })
		}
	}
	lane := t.asic.portLanes(ctx, sw)
	if len(lane) > 0 {
		args := make([]any, 0, 2*len(lane))
		for _, l := range lane {
			args = append(args, strconv.FormatUint(l.lane, 10), l.port.String())
		}
		res.write(func(p redis.Pipeliner) { p.HSet(ctx, lanes, args...) })
	}
}
