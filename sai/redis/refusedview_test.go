package sairedis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/sai/redis/protocol"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// A choosy backend refuses one value of an attribute, which only it can know to be wrong.
type choosy struct {
	*saitest.Fake
	refused sai.Attr // zero means that it refuses nothing
}

func (c *choosy) check(attrs ...sai.Attr) error {
	for _, a := range attrs {
		if a == c.refused {
			return &sai.CallError{Op: "create", Type: a.ID.ObjectType(), Attr: a.ID, Status: sai.StatusTableFull,
				Reason: "no room"}
		}
	}
	return nil
}

func (c *choosy) BulkCreate(ctx context.Context, t sai.ObjectType, objs [][]sai.Attr) ([]sai.OID, []error) {
	oids, errs := make([]sai.OID, len(objs)), make([]error, len(objs))
	for i, attrs := range objs {
		if errs[i] = c.check(attrs...); errs[i] == nil {
			oids[i], errs[i] = c.Create(ctx, t, attrs)
		}
	}
	return oids, errs
}

func (c *choosy) Set(ctx context.Context, k sai.Key, a sai.Attr) error {
	if err := c.check(a); err != nil {
		return err
	}
	return c.Fake.Set(ctx, k, a)
}

// If the ASIC refuses a step of a view, ASIC and ASIC_DB are as they were before the view: unchanged objects keep their
// real ids, and virtual ids of the former view are valid again. The next view that the ASIC accepts has its effect.
func TestRefusedViewChangesNothing(t *testing.T) {
	bad := []struct {
		name    string // the object of a config that the ASIC refuses in this version
		version int
		attr    sai.Attr
	}{
		{"tam1", 3, sai.Attr{ID: sai.TAMIntAttrLatencySensitivity, Value: sai.Uint(3)}},
		{"vlan2", 2, sai.Attr{ID: sai.VLANAttrVLANID, Value: sai.Uint(22)}},
		{"counter0", 2, sai.Attr{ID: sai.ACLCounterAttrLabel, Value: sai.Text("counter-0")}},
		{"mtu1", 2, sai.Attr{ID: sai.PortAttrMTU, Value: sai.Uint(2000)}},
		{"entry3", 5, sai.Attr{ID: sai.ACLEntryAttrPriority, Value: sai.Uint(1003)}},
	}
	randtest.Run(t, randtest.Cases{Count: 20, Short: 5}, func(t *testing.T, seed uint64) {
		ctx := context.Background()
		rnd := rand.New(rand.NewPCG(seed, 3))
		chip := &choosy{Fake: newFake()}
		g := &rig{T: t, redis: swsstest.Start(t), fake: chip.Fake, chip: chip}
		g.restartServer(ServerOptions{TempView: true})
		t.Cleanup(func() { g.stop() })
		g.restartClient()
		no := bad[rnd.IntN(len(bad))]
		first := randomConfig(rnd)
		first[no.name] = 0
		g.must("INIT_VIEW", g.client.InitView(ctx))
		was := build(g, first)
		g.must("APPLY_VIEW", g.client.ApplyView(ctx))
		if rnd.IntN(2) == 0 {
			g.breakOut()
		}
		before, asic := backendText(chip.Fake), g.view()
		old := map[string]sai.OID{}
		for name, vid := range was.made {
			old[name] = g.rid(vid)
		}

		cfg := mutate(rnd, first)
		cfg[no.name] = no.version
		cfg["table0"], cfg["table1"], cfg["table2"], cfg["counter3"] = 1, 1, 1, 1 // which it needs
		chip.refused = no.attr
		g.restartClient()
		g.must("INIT_VIEW", g.client.InitView(ctx))
		is := build(g, cfg)
		if status, _ := sai.StatusOf(g.client.ApplyView(ctx)); status != sai.StatusFailure {
			t.Fatalf("the view with %s is accepted: %v", no.name, status)
		}
		if got := backendText(chip.Fake); got != before {
			t.Fatalf("after the refused view the backend is\n%s\nwant\n%s", got, before)
		}
		if got := g.view(); got != asic {
			t.Fatalf("after the refused view ASIC_STATE is\n%s\nwant\n%s", got, asic)
		}
		for name, vid := range was.made {
			if now := g.rid(vid); is.lasting(was, name) && now != old[name] {
				t.Errorf("%s did not change, but its real id did", name)
			}
		}
		if n := len(g.redis.DB(swss.ASICDB).Client().Keys(ctx, protocol.TempASICState+"*").Val()); n != 0 {
			t.Errorf("%d rows left in %s", n, protocol.TempASICState)
		}

		chip.refused = sai.Attr{}
		g.restartClient()
		g.must("INIT_VIEW", g.client.InitView(ctx))
		build(g, first)
		g.must("APPLY_VIEW", g.client.ApplyView(ctx))
		if got := backendText(chip.Fake); got != before {
			t.Fatalf("after the same view again the backend is\n%s\nwant\n%s", got, before)
		}
	})
}

// A client that finds in a view the value that it would set does not set it, as SONiC's orchagent does with the admin
// state of ports. What it has read stays; other settings of the former view end.
func TestViewKeepsWhatWasRead(t *testing.T) {
	for _, bulk := range []bool{false, true} {
		t.Run(fmt.Sprintf("bulk=%t", bulk), func(t *testing.T) {
			ctx := context.Background()
			g := newRig(t, swsstest.Start(t), newFake(), ServerOptions{TempView: true})
			g.must("INIT_VIEW", g.client.InitView(ctx))
			g.createSwitch()
			port := sai.Obj(sai.ObjectTypePort, g.ports()[2])
			group := g.create(sai.ObjectTypeACLTableGroup, attrs(sai.ACLTableGroupAttrACLStage, sai.ACLStageIngress))
			for _, a := range attrs(sai.PortAttrAdminState, sai.Bool(true), sai.PortAttrMTU, sai.Uint(9000),
				sai.PortAttrIngressACL, group) {
				g.must("set", g.client.Set(ctx, port, a))
			}
			g.must("APPLY_VIEW", g.client.ApplyView(ctx))

			g.restartClient()
			g.must("INIT_VIEW", g.client.InitView(ctx))
			g.createSwitch()
			g.ports()
			if bulk {
				g.bulkGet(port.OID, "SAI_PORT_ATTR_ADMIN_STATE=true|SAI_PORT_ATTR_INGRESS_ACL=oid:0x0")
			} else {
				g.get(port, sai.PortAttrAdminState)
				g.get(port, sai.PortAttrIngressACL)
			}
			g.must("APPLY_VIEW", g.client.ApplyView(ctx))
			if got := g.get(port, sai.PortAttrAdminState); got != sai.Bool(true) {
				t.Errorf("admin state, which was read: %v", got)
			}
			if got := g.get(port, sai.PortAttrMTU); got != sai.Uint(1514) {
				t.Errorf("MTU, which was not read: %v, want the default", got)
			}
			if got := g.get(port, sai.PortAttrIngressACL); got != sai.NullOID {
				t.Errorf("ACL group, which the view does not have: %v", got)
			}
			row := g.row(swss.ASICDB, "ASIC_STATE:"+sai.FormatKey(port))
			if !strings.Contains(row, "ADMIN_STATE=true") || strings.Contains(row, "MTU") {
				t.Errorf("the port's row is %q", row)
			}
		})
	}
}

// bulkGet sends a bulk get of one port, which our client never does.
func (g *rig) bulkGet(port sai.OID, attrs string) {
	g.Helper()
	ctx := context.Background()
	g.must("turn", g.client.acquire(ctx))
	defer g.client.release()
	m := protocol.Message{Op: protocol.OpBulkGet, Key: "SAI_OBJECT_TYPE_PORT:1",
		Fields: []swss.Pair{{Field: port.String(), Value: attrs}}}
	status, _, err := g.client.do(ctx, m, protocol.OpResponse)
	g.must("bulk get", err)
	if status != sai.StatusSuccess {
		g.Fatalf("bulk get: %s", status)
	}
}

// A checked backend can check an object before the objects that it names exist. It has room for one VLAN more than it
// came with.
type checked struct{ choosy }

func (c *checked) CheckCreate(k sai.Key, attrs []sai.Attr, others int) error {
	if k.Type == sai.ObjectTypeVLAN && others > 1 {
		return &sai.CallError{Op: "create", Type: k.Type, Status: sai.StatusInsufficientResources}
	}
	return c.check(attrs...)
}

func (c *checked) CheckSet(_ sai.Key, a sai.Attr) error { return c.check(a) }

// What the ASIC would refuse whatever the view becomes is refused when it is created, not by APPLY_VIEW: orchagent then
// knows which row has failed, and the rest of the view is applied.
func TestViewRefusesAtOnce(t *testing.T) {
	ctx := context.Background()
	chip := &checked{choosy{Fake: newFake(),
		refused: sai.Attr{ID: sai.TAMIntAttrLatencySensitivity, Value: sai.Uint(3)}}}
	g := &rig{T: t, redis: swsstest.Start(t), fake: chip.Fake, chip: chip}
	g.restartServer(ServerOptions{TempView: true})
	t.Cleanup(func() { g.stop() })
	g.restartClient()
	g.must("INIT_VIEW", g.client.InitView(ctx))
	g.createSwitch()
	g.must("APPLY_VIEW", g.client.ApplyView(ctx))
	g.restartClient()
	g.must("INIT_VIEW", g.client.InitView(ctx))
	g.createSwitch()
	refused := func(what string, err error, want sai.Status) {
		t.Helper()
		if got, _ := sai.StatusOf(err); got != want {
			t.Errorf("%s: %v, want %s", what, err, want)
		}
	}
	tam := append(tamInt(), sai.Attr{ID: sai.TAMIntAttrLatencySensitivity, Value: sai.Uint(3)})
	_, err := g.client.Create(ctx, sai.ObjectTypeTAMInt, tam)
	refused("a value that the ASIC refuses", err, sai.StatusTableFull)
	vlan := g.create(sai.ObjectTypeVLAN, attrs(sai.VLANAttrVLANID, sai.Uint(10)))
	_, err = g.client.Create(ctx, sai.ObjectTypeVLAN, attrs(sai.VLANAttrVLANID, sai.Uint(11)))
	refused("one object too many", err, sai.StatusInsufficientResources)
	g.must("remove", g.client.Remove(ctx, sai.Obj(sai.ObjectTypeVLAN, vlan)))
	g.create(sai.ObjectTypeVLAN, attrs(sai.VLANAttrVLANID, sai.Uint(12)))
	g.must("APPLY_VIEW", g.client.ApplyView(ctx))
	if got := backendText(chip.Fake); !strings.Contains(got, "VLAN_ID=12") {
		t.Errorf("the rest of the view is not in force:\n%s", got)
	}
}
