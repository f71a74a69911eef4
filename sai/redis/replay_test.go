package sairedis

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/sai/redis/protocol"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// A restarted syncd brings a new backend to the state in ASIC_DB. All virtual ids stay, and work continues.
func TestReplay(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 6, Short: 3}, func(t *testing.T, seed uint64) {
		ctx := context.Background()
		rnd := rand.New(rand.NewPCG(seed, 2))
		g := newRig(t, swsstest.Start(t), newFake(), ServerOptions{TempView: true})
		b := build(g, randomConfig(rnd))
		g.breakOut()
		before, view := backendText(g.fake), g.view()
		vids := g.redis.DB(swss.ASICDB).Client().HKeys(ctx, protocol.KeyVIDToRID).Val()
		for range 2 {
			g.fake = newFake()
			g.restartServer(ServerOptions{TempView: true})
			g.ports() // the query is answered when the replay is over
			if got := backendText(g.fake); got != before {
				t.Fatalf("after the restart the backend is\n%s\nwant\n%s", got, before)
			}
			if got := g.view(); got != view {
				t.Fatalf("after the restart ASIC_STATE is\n%s\nwant\n%s", got, view)
			}
			now := g.redis.DB(swss.ASICDB).Client().HKeys(ctx, protocol.KeyVIDToRID).Val()
			slices.Sort(vids)
			slices.Sort(now)
			if !slices.Equal(vids, now) {
				t.Fatalf("virtual ids changed:\n%v\n%v", vids, now)
			}
		}
		for name, vid := range b.made {
			if name == "counter0" {
				g.must("set", g.client.Set(ctx, sai.Obj(sai.ObjectTypeACLCounter, vid),
					sai.Attr{ID: sai.ACLCounterAttrLabel, Value: sai.Text("new")}))
			}
		}
	})
}

// breakOut removes the last port with the objects that came with it, and creates two ports from its lanes.
func (g *rig) breakOut() {
	g.Helper()
	ctx := context.Background()
	ports := g.ports()
	last := ports[len(ports)-1]
	vlan := g.get(sai.Obj(sai.ObjectTypeSwitch, protocol.SwitchVID), sai.SwitchAttrDefaultVLANID).(sai.OID)
	for _, m := range g.get(sai.Obj(sai.ObjectTypeVLAN, vlan), sai.VLANAttrMemberList).(sai.OIDs) {
		bp := g.get(sai.Obj(sai.ObjectTypeVLANMember, m), sai.VLANMemberAttrBridgePortID).(sai.OID)
		port := g.get(sai.Obj(sai.ObjectTypeBridgePort, bp), sai.BridgePortAttrPortID)
		if port != last && port != ports[0] {
			continue
		}
		g.must("remove VLAN member", g.client.Remove(ctx, sai.Obj(sai.ObjectTypeVLANMember, m)))
		g.must("remove bridge port", g.client.Remove(ctx, sai.Obj(sai.ObjectTypeBridgePort, bp)))
	}
	lanes := g.get(sai.Obj(sai.ObjectTypePort, last), sai.PortAttrHWLaneList).(sai.Uints)
	// Entries of the configuration may name the port.
	if err := g.client.Remove(ctx, sai.Obj(sai.ObjectTypePort, last)); err != nil {
		return
	}
	for i := range 2 {
		g.create(sai.ObjectTypePort, attrs(sai.PortAttrHWLaneList, lanes[2*i:2*i+2], sai.PortAttrSpeed, sai.Uint(50000)))
	}
}

// An object that a port merely names stays when the port is removed, also after a restart that recreated both.
func TestReplayedPortRemovesOnlyItsOwn(t *testing.T) {
	ctx := context.Background()
	g := newRig(t, swsstest.Start(t), newFake(), ServerOptions{TempView: true})
	g.must("INIT_VIEW", g.client.InitView(ctx))
	g.createSwitch()
	g.must("APPLY_VIEW", g.client.ApplyView(ctx))
	g.breakOut()
	ports := g.ports()
	mirrored := sai.Obj(sai.ObjectTypePort, ports[len(ports)-1])
	session := g.create(sai.ObjectTypeMirrorSession, attrs(
		sai.MirrorSessionAttrType, sai.MirrorSessionTypeLocal, sai.MirrorSessionAttrMonitorPort, ports[0]))
	bind := func(v sai.OIDs) {
		g.must("mirror", g.client.Set(ctx, mirrored, sai.Attr{ID: sai.PortAttrEgressMirrorSession, Value: v}))
	}
	bind(sai.OIDs{session})
	g.fake = newFake()
	g.restartServer(ServerOptions{TempView: true})
	bind(sai.OIDs{})
	g.must("remove the port", g.client.Remove(ctx, mirrored))
	g.must("remove the session", g.client.Remove(ctx, sai.Obj(sai.ObjectTypeMirrorSession, session)))
}

// The objects of the first view, with an empty ASIC_DB, are created directly.
func TestFirstViewIsDirect(t *testing.T) {
	ctx := context.Background()
	g := newRig(t, swsstest.Start(t), newFake(), ServerOptions{TempView: true})
	g.must("INIT_VIEW", g.client.InitView(ctx))
	g.createSwitch()
	table := g.create(sai.ObjectTypeACLTable, attrs(sai.ACLTableAttrACLStage, sai.ACLStageIngress))
	if n := g.get(sai.Obj(sai.ObjectTypeACLTable, table), sai.ACLTableAttrAvailableACLEntry); n != sai.Uint(1000) {
		t.Errorf("available entries %v", n)
	}
	g.must("APPLY_VIEW", g.client.ApplyView(ctx))
	if n := len(g.fake.Created()); n != 1 {
		t.Errorf("%d objects created, want 1", n)
	}
}

// In a later view nothing reaches the ASIC before APPLY_VIEW. Objects that exist only in the view cannot be read.
func TestLaterView(t *testing.T) {
	ctx := context.Background()
	g := newRig(t, swsstest.Start(t), newFake(), ServerOptions{TempView: true})
	g.must("INIT_VIEW", g.client.InitView(ctx))
	g.createSwitch()
	g.must("APPLY_VIEW", g.client.ApplyView(ctx))
	err := g.client.ApplyView(ctx)
	if s, _ := sai.StatusOf(err); s != sai.StatusFailure {
		t.Errorf("APPLY_VIEW without INIT_VIEW: %v", err)
	}
	g.restartClient()
	g.must("INIT_VIEW", g.client.InitView(ctx))
	g.createSwitch()
	table := g.create(sai.ObjectTypeACLTable, attrs(sai.ACLTableAttrACLStage, sai.ACLStageIngress))
	if n := len(g.fake.Created()); n != 0 {
		t.Errorf("%d objects before APPLY_VIEW", n)
	}
	_, err = g.client.Get(ctx, sai.Obj(sai.ObjectTypeACLTable, table), []sai.Attr{sai.Want(sai.ACLTableAttrACLStage, 1)})
	if s, _ := sai.StatusOf(err); s != sai.StatusInvalidObjectID {
		t.Errorf("get of a new object: %v, want INVALID_OBJECT_ID", err)
	}
	g.must("APPLY_VIEW", g.client.ApplyView(ctx))
	if n := len(g.fake.Created()); n != 1 {
		t.Errorf("%d objects after APPLY_VIEW, want 1", n)
	}
}

// newRecordedRig returns a rig with a recorder between syncd and its backend, which can make calls fail.
func newRecordedRig(t *testing.T) (*rig, *saitest.Recorder) {
	g := newRig(t, swsstest.Start(t), newFake(), ServerOptions{TempView: true})
	rec := saitest.NewRecorder(g.fake)
	g.stop()
	ctx, cancel := context.WithCancel(context.Background())
	s, done := NewServer(g.redis, rec, ServerOptions{TempView: true}), make(chan struct{})
	go func() { defer close(done); _ = s.Serve(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return g, rec
}

// Objects that a view could not remove stay known, and the next view removes them.
func TestRemovalsOfAViewFail(t *testing.T) {
	if testing.Short() {
		t.Skip("one call after the other: nothing for the race detector")
	}
	randtest.Run(t, randtest.Cases{Seed: 3, Count: 3}, func(t *testing.T, seed uint64) {
		ctx := context.Background()
		g, rec := newRecordedRig(t)
		cfg := randomConfig(rand.New(rand.NewPCG(seed, 8)))
		view := func(make func()) error {
			g.restartClient()
			g.must("INIT_VIEW", g.client.InitView(ctx))
			make()
			return g.client.ApplyView(ctx)
		}
		empty := func() { g.createSwitch() }
		g.must("the first view", view(empty))
		for n := 1; ; n++ {
			g.must("a view with objects", view(func() { build(g, cfg) }))
			rec.FailAt(n, sai.StatusInsufficientResources)
			_ = view(empty) // the first failure may not be a removal, and is retried
			calls := rec.Changes()
			rec.FailAt(0, 0)
			for _, k := range g.fake.Created() {
				if k.Entry == nil && !g.redis.DB(swss.ASICDB).Client().HExists(ctx, protocol.KeyRIDToVID, k.OID.String()).Val() {
					t.Errorf("call %d failed; then nobody knows %s of the backend", n, k)
				}
			}
			g.must("the next view", view(empty))
			if left := g.fake.Created(); len(left) > 0 {
				t.Fatalf("call %d failed; the next view leaves in the backend: %v", n, left)
			}
			if calls < n {
				break // every step has failed once
			}
		}
	})
}

// A failed step of APPLY_VIEW makes it fail. ASIC_DB then describes the actual state, and the next view repairs it.
func TestApplyViewFails(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 7}, func(t *testing.T, seed uint64) {
		ctx := context.Background()
		g, rec := newRecordedRig(t)
		cfg := randomConfig(rand.New(rand.NewPCG(seed, 7)))
		g.must("INIT_VIEW", g.client.InitView(ctx))
		g.createSwitch()
		g.must("APPLY_VIEW", g.client.ApplyView(ctx))
		step := 1
		if testing.Short() {
			step = 7 // with the race detector every seventh call is enough
		}
		for n := 1; ; n += step {
			g.restartClient()
			g.must("INIT_VIEW", g.client.InitView(ctx))
			build(g, cfg)
			rec.FailAt(n, sai.StatusInsufficientResources)
			err := g.client.ApplyView(ctx)
			calls := rec.Changes()
			rec.FailAt(0, 0)
			if calls < n {
				break // every step has failed once
			}
			_ = err // a failed create is retried once, and then succeeds
			fresh := newRig(t, swsstest.Start(t), newFake(), ServerOptions{})
			build(fresh, cfg)
			g.restartClient()
			g.must("INIT_VIEW", g.client.InitView(ctx))
			build(g, cfg)
			g.must("APPLY_VIEW after a failed one", g.client.ApplyView(ctx))
			if got, want := backendText(g.fake), backendText(fresh.fake); got != want {
				t.Fatalf("call %d failed; then the backend is\n%s\nwant\n%s", n, got, want)
			}
			if got, want := g.view(), fresh.view(); got != want {
				t.Fatalf("call %d failed; then ASIC_STATE is\n%s\nwant\n%s", n, got, want)
			}
			// Return to an empty view for the next round.
			g.restartClient()
			g.must("INIT_VIEW", g.client.InitView(ctx))
			g.createSwitch()
			g.must("APPLY_VIEW", g.client.ApplyView(ctx))
			if left := g.fake.Created(); len(left) > 0 {
				t.Fatalf("left in the backend: %v", left)
			}
		}
	})
}
