package sairedis

import (
	"context"
	"slices"
	"strings"
	"testing"

	"tamtam/sai"
	"tamtam/sai/redis/protocol"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// adopted returns a rig whose first view has two next hop groups that differ only in their members, and whose agent
// has begun another view. calls returns the calls that change the backend.
func adopted(t *testing.T) (g *rig, calls func() []string) {
	rec := saitest.NewRecorder(newFake())
	g = newRig(t, swsstest.Start(t), newFake(), ServerOptions{TempView: true})
	g.stop()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- NewServer(g.redis, rec, ServerOptions{TempView: true}).Serve(ctx) }()
	g.stop = func() { cancel(); <-done }
	g.restartAgent()
	g.must("INIT_VIEW", g.agent.InitView(t.Context()))
	lags(g, 1, 2)
	g.must("APPLY_VIEW", g.agent.ApplyView(t.Context()))
	rec.Reset()
	g.restartAgent()
	return g, func() []string {
		return slices.DeleteFunc(rec.Lines(), func(l string) bool { return strings.ContainsAny(l[:1], "gGqQ") })
	}
}

// lags creates two equal LAGs, each with one of the ports.
func lags(g *rig, ports ...int) (made []sai.OID) {
	g.createSwitch()
	all := g.ports()
	for _, p := range ports {
		lag := g.create(sai.ObjectTypeLAG, nil)
		g.create(sai.ObjectTypeLAGMember, attrs(sai.LAGMemberAttrLAGID, lag, sai.LAGMemberAttrPortID, all[p]))
		made = append(made, lag)
	}
	return made
}

// Equal objects are distinguished by the objects that refer to them, in whatever order they are created. Nothing is
// sent, and the objects keep their former ids in ASIC_DB.
func TestAdoptedObjectsAreThoseThatWere(t *testing.T) {
	g, calls := adopted(t)
	g.must("INIT_VIEW", g.agent.InitView(t.Context()))
	made := lags(g, 2, 1)
	if _, known := g.agent.Public(made[0]); known {
		t.Error("an id is public before the view is applied")
	}
	g.must("APPLY_VIEW", g.agent.ApplyView(t.Context()))
	if lines := calls(); len(lines) > 0 {
		t.Errorf("the ASIC is changed:\n%s", strings.Join(lines, "\n"))
	}
	for i, port := range []int{2, 1} {
		id, _ := g.agent.Public(made[i])
		want := sai.FormatKey(sai.Obj(sai.ObjectTypeLAG, id))
		if !slices.Contains(g.redis.DB(swss.ASICDB).Client().Keys(t.Context(), protocol.ASICState+":*").Val(),
			protocol.ASICState+":"+want) {
			t.Errorf("ASIC_STATE has no %s", want)
		}
		if g.member(g.ports()[port]) != id {
			t.Errorf("the LAG of port %d is another", port)
		}
	}
	g.must("remove", removeLAG(g, made[0]))
	if lines := calls(); len(lines) != 2 {
		t.Errorf("a removal of LAG and member is %q", lines)
	}
}

// member returns the LAG of a port according to ASIC_STATE.
func (g *rig) member(port sai.OID) sai.OID {
	now, err := g.client.readState(context.Background())
	g.must("read ASIC_STATE", err)
	for k, n := range now.graph.Nodes {
		if k.Type == sai.ObjectTypeLAGMember && n.Attrs[sai.LAGMemberAttrPortID] == port {
			return n.Attrs[sai.LAGMemberAttrLAGID].(sai.OID)
		}
	}
	return 0
}

// removeLAG removes a LAG and its member, by the ids that only orchs use.
func removeLAG(g *rig, lag sai.OID) error {
	ctx := context.Background()
	for o := range g.agent.names.ids.RIDs {
		t := sai.ObjectTypeLAGMember
		if is, _ := protocol.VIDType(o); is != t {
			continue
		}
		if got, err := g.agent.Get(ctx, sai.Obj(t, o), attrs(sai.LAGMemberAttrLAGID, sai.NullOID)); err != nil {
			return err
		} else if got[0].Value != sai.Value(lag) {
			continue
		}
		if err := g.agent.Remove(ctx, sai.Obj(t, o)); err != nil {
			return err
		}
	}
	return g.agent.Remove(ctx, sai.Obj(sai.ObjectTypeLAG, lag))
}

// If ASIC_DB may not describe the ASIC correctly, nothing is adopted, and syncd compares the views.
func TestAdoptsOnlyWhatIsSafe(t *testing.T) {
	for name, spoil := range map[string]func(g *rig){
		"STATE_DB was emptied": func(g *rig) { g.redis.DB(swss.StateDB).Client().FlushDB(context.Background()) },
		"a view was begun": func(g *rig) {
			g.redis.DB(swss.ASICDB).Client().HSet(context.Background(),
				"TEMP_ASIC_STATE:SAI_OBJECT_TYPE_LAG:oid:0x2000000000099", "NULL", "NULL")
		},
		"a view that others have begun": func(g *rig) { // and the client that would have noticed was killed
			forged := swss.Entry{Key: protocol.InitView, Body: "[]", Op: "S" + protocol.OpNotify}
			g.must("forge", g.client.requests.Push(context.Background(), forged))
		},
		"a row was lost": func(g *rig) { // the row is written again with fewer fields
			row := protocol.ASICState + ":SAI_OBJECT_TYPE_SWITCH:" + protocol.SwitchVID.String()
			db := g.redis.DB(swss.ASICDB).Client()
			g.must("garbage", db.Set(context.Background(), row, "garbage", 0).Err())
			set := protocol.Message{Key: sai.FormatKey(sai.Obj(sai.ObjectTypeSwitch, protocol.SwitchVID)), Op: protocol.OpSet,
				Fields: []swss.Pair{{Field: "SAI_SWITCH_ATTR_FDB_AGING_TIME", Value: "30"}}}
			g.must("set", g.client.requests.Push(context.Background(), set.Entry()))
		},
		"a row that nobody can read": func(g *rig) {
			g.redis.DB(swss.ASICDB).Client().HSet(context.Background(), "ASIC_STATE:SAI_OBJECT_TYPE_WINGS:oid:0x1", "NULL",
				"NULL")
		},
		"a view that was made in vain": func(g *rig) {
			g.must("INIT_VIEW", NewAgent(g.redis, g.client).record.unmark(context.Background()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			g, _ := adopted(t)
			spoil(g)
			g.must("INIT_VIEW", g.agent.InitView(t.Context()))
			if g.agent.Adopting() {
				t.Error("the ASIC is adopted")
			}
			lags(g, 1, 2)
			g.must("APPLY_VIEW", g.agent.ApplyView(t.Context()))
			g.restartAgent()
			g.must("INIT_VIEW", g.agent.InitView(t.Context()))
			if !g.agent.Adopting() && name != "a row that nobody can read" {
				t.Error("the next time it is not adopted either")
			}
		})
	}
}

// The next client adopts the result of the last request of a killed client, even if its answer was not read.
func TestAdoptsWhatWasAskedForLast(t *testing.T) {
	g, calls := adopted(t)
	last := protocol.Message{Key: "SAI_OBJECT_TYPE_VLAN:oid:0x26000000000777", Op: protocol.OpCreate,
		Fields: []swss.Pair{{Field: "SAI_VLAN_ATTR_VLAN_ID", Value: "7"}}}
	g.must("ask", g.client.requests.Push(t.Context(), last.Entry()))
	g.must("ask", g.client.requests.Push(t.Context(), switchQuestion().Entry()))
	g.must("INIT_VIEW", g.agent.InitView(t.Context()))
	if !g.agent.Adopting() {
		t.Fatal("the ASIC is not adopted")
	}
	lags(g, 1, 2)
	g.must("APPLY_VIEW", g.agent.ApplyView(t.Context()))
	lines := calls()
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "c|SAI_OBJECT_TYPE_VLAN") ||
		!strings.HasPrefix(lines[1], "r|SAI_OBJECT_TYPE_VLAN") {
		t.Errorf("the ASIC got %q, want the VLAN made and removed", lines)
	}
}

// When an attribute is read, SONiC's syncd writes it to ASIC_STATE as if it had been set. If the next run reads the
// attribute again, it stays unchanged. With our syncd, an attribute that is no longer set returns to its default.
func TestWhatWasReadIsNotReset(t *testing.T) {
	for _, keeps := range []bool{false, true} {
		g, _ := adopted(t)
		g.must("INIT_VIEW", g.agent.InitView(t.Context()))
		lags(g, 1, 2)
		port := sai.Obj(sai.ObjectTypePort, g.ports()[0])
		g.must("set", g.agent.Set(t.Context(), port, sai.Attr{ID: sai.PortAttrMTU, Value: sai.Uint(9000)}))
		g.must("APPLY_VIEW", g.agent.ApplyView(t.Context()))
		g.restartAgent()
		g.must("INIT_VIEW", g.agent.InitView(t.Context()))
		g.agent.target.keepsGets = keeps
		lags(g, 1, 2)
		if mtu := g.get(port, sai.PortAttrMTU); mtu != sai.Value(sai.Uint(9000)) {
			t.Fatalf("MTU %v", mtu)
		}
		g.must("APPLY_VIEW", g.agent.ApplyView(t.Context()))
		want := sai.Value(sai.Uint(1514))
		if keeps {
			want = sai.Uint(9000)
		}
		if mtu := g.get(port, sai.PortAttrMTU); mtu != want {
			t.Errorf("keeps gets %v: MTU %v, want %v", keeps, mtu, want)
		}
	}
}
