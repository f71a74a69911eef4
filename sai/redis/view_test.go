package sairedis

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/sai/redis/asicview"
	"tamtam/sai/redis/protocol"
	"tamtam/sai/redis/sairedistest"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// A config holds the version of each object of a fixed set; 0 means that it is absent. An object whose referents are
// missing is missing too.
type config map[string]int

const portCount = 8

// kinds holds the kinds of objects of a config, users last: their number, and how one is created in a version. A
// missing referent makes the object nil.
var kinds = []struct {
	name     string
	t        sai.ObjectType
	count    int
	versions int
	make     func(b *builder, i, v int) []sai.Attr
}{
	{"table", sai.ObjectTypeACLTable, 3, 2, func(b *builder, i, v int) []sai.Attr {
		return attrs(sai.ACLTableAttrACLStage, sai.ACLStageIngress, sai.ACLTableAttrSize, sai.Uint(100+10*i+v),
			sai.ACLTableAttrFieldL4DstPort, sai.Bool(true), sai.ACLTableAttrFieldInPorts, sai.Bool(true),
			sai.ACLTableAttrFieldACLRangeType, sai.Enums{sai.ACLRangeTypeL4SrcPortRange})
	}},
	{"range", sai.ObjectTypeACLRange, 3, 2, func(b *builder, i, v int) []sai.Attr {
		return attrs(sai.ACLRangeAttrType, sai.ACLRangeTypeL4SrcPortRange, sai.ACLRangeAttrLimit,
			sai.Range{Min: uint64(i), Max: uint64(100 * v)})
	}},
	{"counter", sai.ObjectTypeACLCounter, 9, 2, func(b *builder, i, v int) []sai.Attr {
		return attrs(sai.ACLCounterAttrTableID, b.ref("table", i%3), sai.ACLCounterAttrEnablePacketCount, sai.Bool(v == 1),
			sai.ACLCounterAttrLabel, sai.Text(fmt.Sprintf("counter-%d", i)))
	}},
	{"tam", sai.ObjectTypeTAMInt, 3, 3, func(b *builder, i, v int) []sai.Attr {
		a := tamInt()
		a[1].Value = sai.Uint(100 + i)
		if v > 1 {
			a = append(a, sai.Attr{ID: sai.TAMIntAttrLatencySensitivity, Value: sai.Uint(v)})
		}
		return a
	}},
	{"entry", sai.ObjectTypeACLEntry, 12, 6, func(b *builder, i, v int) []sai.Attr {
		a := attrs(sai.ACLEntryAttrTableID, b.ref("table", i%3), sai.ACLEntryAttrPriority, sai.Uint(i+1),
			sai.ACLEntryAttrFieldL4DstPort, sai.Match(sai.Uint(5000+i), sai.Uint(0xffff)))
		if v&1 != 0 {
			a = append(a, sai.Attr{ID: sai.ACLEntryAttrActionCounter, Value: sai.Do(b.ref("counter", i%9))})
		}
		switch v {
		case 2:
			a = append(a, attrs(sai.ACLEntryAttrActionTAMIntObject, sai.Do(b.ref("tam", i%3)), sai.ACLEntryAttrActionIntInsert,
				sai.Do(sai.Bool(true)))...)
		case 3:
			a = append(a, attrs(sai.ACLEntryAttrFieldInPorts, sai.Match(sai.OIDs{b.ports[i%portCount], b.ports[(i+1)%portCount]},
				nil))...)
		case 4:
			a = append(a, attrs(sai.ACLEntryAttrFieldACLRangeType, sai.Match(sai.OIDs{b.ref("range", i%3)}, nil))...)
		case 5:
			a[1].Value = sai.Uint(1000 + i)
		}
		return a
	}},
	{"group", sai.ObjectTypeACLTableGroup, 4, 2, func(b *builder, i, v int) []sai.Attr {
		return attrs(sai.ACLTableGroupAttrACLStage, sai.ACLStageIngress,
			sai.ACLTableGroupAttrACLBindPointTypeList, sai.Enums{sai.ACLBindPointTypePort}, sai.ACLTableGroupAttrType,
			sai.Enum(v-1))
	}},
	{"member", sai.ObjectTypeACLTableGroupMember, 8, 2, func(b *builder, i, v int) []sai.Attr {
		return attrs(sai.ACLTableGroupMemberAttrACLTableGroupID, b.ref("group", i%4), sai.ACLTableGroupMemberAttrACLTableID,
			b.ref("table", i%3),
			sai.ACLTableGroupMemberAttrPriority, sai.Uint(10*i+v))
	}},
	{"vlan", sai.ObjectTypeVLAN, 3, 2, func(b *builder, i, v int) []sai.Attr {
		return attrs(sai.VLANAttrVLANID, sai.Uint(10*v+i))
	}},
	{"lag", sai.ObjectTypeLAG, 2, 2, func(b *builder, i, v int) []sai.Attr {
		return attrs(sai.LAGAttrPortVLANID, sai.Uint(100+i), sai.LAGAttrDropTagged, sai.Bool(v == 2))
	}},
	{"lagmember", sai.ObjectTypeLAGMember, 4, 1, func(b *builder, i, v int) []sai.Attr {
		return attrs(sai.LAGMemberAttrLAGID, b.ref("lag", i%2), sai.LAGMemberAttrPortID, b.ports[i])
	}},
}

// A builder creates a config through a client.
type builder struct {
	*rig
	cfg     config
	ports   sai.OIDs
	made    map[string]sai.OID
	text    map[string]string // content of each object, with names instead of ids
	missing bool              // true if a referent of the object being made is missing
	refs    []string
}

func (b *builder) ref(kind string, i int) sai.OID {
	name := fmt.Sprintf("%s%d", kind, i)
	o, ok := b.made[name]
	b.missing = b.missing || !ok
	b.refs = append(b.refs, name)
	return o
}

// build creates the switch and the objects of cfg.
func build(g *rig, cfg config) *builder {
	g.createSwitch()
	b := &builder{rig: g, cfg: cfg, ports: g.ports(), made: map[string]sai.OID{}, text: map[string]string{}}
	for _, k := range kinds {
		for i := range k.count {
			name := fmt.Sprintf("%s%d", k.name, i)
			if cfg[name] == 0 {
				continue
			}
			b.missing, b.refs = false, nil
			a := k.make(b, i, cfg[name])
			if b.missing {
				continue
			}
			b.made[name] = g.create(k.t, a)
			b.text[name] = fmt.Sprint(cfg[name])
			for _, r := range b.refs {
				b.text[name] += "," + r + ":" + b.text[r]
			}
		}
	}
	for i := range 4 {
		if group, ok := b.made[fmt.Sprintf("group%d", i)]; ok && cfg[fmt.Sprintf("bind%d", i)] > 0 {
			g.must("bind", g.api().Set(context.Background(), sai.Obj(sai.ObjectTypePort, b.ports[i]),
				sai.Attr{ID: sai.PortAttrIngressACL, Value: group}))
		}
		if mtu := cfg[fmt.Sprintf("mtu%d", i)]; mtu > 0 {
			g.must("mtu", g.api().Set(context.Background(), sai.Obj(sai.ObjectTypePort, b.ports[i]),
				sai.Attr{ID: sai.PortAttrMTU, Value: sai.Uint(1000 * mtu)}))
		}
	}
	return b
}

// lasting reports whether an object is the same as in an earlier config. All groups are equal: those bound to the
// same port are the same.
func (b *builder) lasting(was *builder, name string) bool {
	var i int
	if _, err := fmt.Sscanf(name, "group%d", &i); err == nil && !b.bound(was, i) {
		return false
	}
	if _, err := fmt.Sscanf(name, "member%d", &i); err == nil && !b.bound(was, i%4) {
		return false
	}
	return b.text[name] == was.text[name]
}

func (b *builder) bound(was *builder, group int) bool {
	bind := fmt.Sprintf("bind%d", group)
	return b.cfg[bind] > 0 && was.cfg[bind] > 0
}

func randomConfig(rnd *rand.Rand) config {
	cfg := config{}
	for _, k := range kinds {
		for i := range k.count {
			if rnd.IntN(4) > 0 {
				cfg[fmt.Sprintf("%s%d", k.name, i)] = 1 + rnd.IntN(k.versions)
			}
		}
	}
	for i := range 4 {
		cfg[fmt.Sprintf("bind%d", i)] = rnd.IntN(2)
		cfg[fmt.Sprintf("mtu%d", i)] = rnd.IntN(3)
	}
	return cfg
}

// mutate returns a config with some random changes.
func mutate(rnd *rand.Rand, cfg config) config {
	out, other := maps.Clone(cfg), randomConfig(rnd)
	for _, name := range slices.Sorted(maps.Keys(other)) {
		if rnd.IntN(4) == 0 {
			out[name] = other[name]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg)) {
		if rnd.IntN(10) == 0 {
			out[name] = 0
		}
	}
	return out
}

// backendText describes all objects of a Fake without their ids.
func backendText(f *saitest.Fake) string {
	g := asicview.NewGraph()
	names := map[sai.OID]string{}
	created := f.Created()
	for _, k := range f.Keys() {
		n := g.Add(k, !slices.Contains(created, k))
		for _, a := range f.Attrs(k) {
			n.Attrs[a.ID] = a.Value
		}
		if n.Own {
			names[k.OID] = k.OID.String()
		}
	}
	g.Link()
	g.Paint(func(n *asicview.Node) string { return names[n.Key.OID] })
	return sairedistest.CanonicalGraph(g, names)
}

func newFake() *saitest.Fake { return saitest.New(saitest.Options{Ports: portCount}) }

func (g *rig) view() string {
	g.Helper()
	text, err := sairedistest.CanonicalView(context.Background(), g.redis)
	g.must("CanonicalView", err)
	return text
}

func (g *rig) rid(vid sai.OID) sai.OID {
	if g.agent != nil {
		vid = g.agent.names.public(vid)
	}
	rid, err := sai.ParseOID(g.redis.DB(swss.ASICDB).Client().HGet(context.Background(), protocol.KeyVIDToRID,
		vid.String()).Val())
	g.must("VIDTORID "+vid.String(), err)
	return rid
}

// After INIT_VIEW, a new configuration and APPLY_VIEW, the backend and ASIC_DB are as if the new configuration had
// been made on a fresh device. Unchanged objects keep their real ids, and nothing is left over.
func TestApplyView(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 15, Short: 2}, func(t *testing.T, seed uint64) {
		newViews(t, seed, func(g *rig) (init, apply func(context.Context) error) {
			g.restartClient()
			return g.client.InitView, g.client.ApplyView
		})
	})
}

// The same holds if the client's side compares the views: existing objects are adopted.
func TestAdoptView(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 15, Short: 2}, func(t *testing.T, seed uint64) {
		newViews(t, seed, func(g *rig) (init, apply func(context.Context) error) {
			g.restartAgent()
			return g.agent.InitView, g.agent.ApplyView
		})
	})
}

// newViews makes one view after another, using the functions that restart returns to begin and to end each.
func newViews(t *testing.T, seed uint64, restart func(*rig) (init, apply func(context.Context) error)) {
	ctx := context.Background()
	rnd := rand.New(rand.NewPCG(seed, 1))
	first := randomConfig(rnd)
	g := newRig(t, swsstest.Start(t), newFake(), ServerOptions{TempView: true})
	init, apply := restart(g)
	g.must("INIT_VIEW", init(ctx))
	was := build(g, first)
	g.must("APPLY_VIEW", apply(ctx))

	for step := range 3 {
		old := map[string]sai.OID{}
		for name, vid := range was.made {
			old[name] = g.rid(vid)
		}
		cfg := mutate(rnd, was.cfg)
		init, apply := restart(g)
		g.must("INIT_VIEW", init(ctx))
		is := build(g, cfg)
		g.must("APPLY_VIEW", apply(ctx))

		fresh := newRig(t, swsstest.Start(t), newFake(), ServerOptions{})
		build(fresh, cfg)
		if got, want := backendText(g.fake), backendText(fresh.fake); got != want {
			t.Fatalf("step %d: the backend is\n%s\nwant\n%s", step, got, want)
		}
		if got, want := g.view(), fresh.view(); got != want {
			t.Fatalf("step %d: ASIC_STATE is\n%s\nwant\n%s", step, got, want)
		}
		for name, vid := range is.made {
			if is.lasting(was, name) && g.rid(vid) != old[name] {
				t.Errorf("step %d: %s did not change, but its real id did", step, name)
			}
		}
		if n := len(g.redis.DB(swss.ASICDB).Client().Keys(ctx, protocol.TempASICState+"*").Val()); n != 0 {
			t.Errorf("%d rows left in %s", n, protocol.TempASICState)
		}
		was = is
	}
	// All objects still work under the new virtual ids.
	for _, k := range slices.Backward(kinds) {
		for i := range k.count {
			if vid, ok := was.made[fmt.Sprintf("%s%d", k.name, i)]; ok {
				if k.name == "group" {
					for p := range was.ports {
						g.must("unbind", g.api().Set(ctx, sai.Obj(sai.ObjectTypePort, was.ports[p]),
							sai.Attr{ID: sai.PortAttrIngressACL, Value: sai.NullOID}))
					}
				}
				g.must("remove", g.api().Remove(ctx, sai.Obj(k.t, vid)))
			}
		}
	}
	if left := g.fake.Created(); len(left) > 0 {
		t.Errorf("left in the backend: %v", left)
	}
}
