package ports

import (
	"context"
	"slices"
	"testing"

	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A virtualSwitch answers like that of SONiC. Every port has SerDes settings, and is in use as long as they exist. The
// oper status of a created port is not reported. A read of an attribute that it lacks fails for all attributes. It
// stops at a request that SONiC's does not survive.
type virtualSwitch struct {
	sai.API
	serdes  map[sai.OID]sai.OID // by port
	created map[sai.OID]bool
	asked   map[sai.OID]map[sai.AttrID]bool // reads of the objects created with a port
	stuck   bool                            // whether SerDes settings cannot be removed
}

func (a *virtualSwitch) Create(ctx context.Context, t sai.ObjectType, attrs []sai.Attr) (sai.OID, error) {
	oid, err := a.API.Create(ctx, t, attrs)
	if err == nil && t == sai.ObjectTypePort {
		a.created[oid] = true
		a.giveSerdes(oid)
	}
	return oid, err
}

func (a *virtualSwitch) giveSerdes(port sai.OID) {
	a.serdes[port] = port&0xffffffff | sai.OID(sai.ObjectTypePortSerdes)<<32
}

func (a *virtualSwitch) Get(ctx context.Context, k sai.Key, want []sai.Attr) ([]sai.Attr, error) {
	if len(want) > 1 && slices.ContainsFunc(want, func(at sai.Attr) bool { return slices.Contains(parts, at.ID) }) {
		return nil, sai.StatusNotImplemented
	}
	if slices.Contains(parts, want[0].ID) {
		if a.asked[k.OID] == nil {
			a.asked[k.OID] = map[sai.AttrID]bool{}
		}
		a.asked[k.OID][want[0].ID] = true
	}
	switch {
	case want[0].ID == sai.BridgeAttrPortList:
		panic("the virtual switch stops if a LAG is on the bridge")
	case want[0].ID == sai.PortAttrPortSerdesID:
		return []sai.Attr{{ID: want[0].ID, Value: a.serdes[k.OID]}}, nil
	case want[0].ID == sai.PortAttrOperStatus && a.created[k.OID]:
		return nil, sai.StatusNotImplemented
	}
	return a.API.Get(ctx, k, want)
}

func (a *virtualSwitch) BulkRemove(ctx context.Context, keys []sai.Key) []error {
	errs := make([]error, len(keys))
	for i, k := range keys {
		if k.Type != sai.ObjectTypePort { // ports are removed after the view
			panic("syncd forgets bulk removals while a view is made")
		}
		errs[i] = a.Remove(ctx, k)
	}
	return errs
}

func (a *virtualSwitch) Remove(ctx context.Context, k sai.Key) error {
	switch k.Type {
	case sai.ObjectTypePortSerdes:
		if a.stuck {
			return sai.StatusFailure
		}
		for port, s := range a.serdes {
			if s == k.OID {
				delete(a.serdes, port)
				return nil
			}
		}
		return sai.StatusItemNotFound
	case sai.ObjectTypePort:
		if a.serdes[k.OID] != sai.NullOID {
			return sai.StatusObjectInUse
		}
	}
	return a.API.Remove(ctx, k)
}

// newVirtualSwitch returns a bench on a virtual switch with one configured port, Ethernet0 on the first four lanes.
func newVirtualSwitch(t *testing.T) (*bench, *virtualSwitch) {
	t.Helper()
	asic := &virtualSwitch{
		serdes: map[sai.OID]sai.OID{}, created: map[sai.OID]bool{}, asked: map[sai.OID]map[sai.AttrID]bool{},
	}
	b := newBenchOn(t, func(fake sai.API) sai.API {
		asic.API = fake
		return asic
	})
	for _, port := range b.orch.asic.chip.unused {
		asic.giveSerdes(port)
		if len(asic.asked[port]) != len(parts) {
			t.Errorf("of %s %v was asked: syncd takes away the rest", port, asic.asked[port])
		}
	}
	b.port("Ethernet0", "1,2,3,4")
	b.Set(schema.AppPort, schema.PortConfigDone, "count", "1")
	b.Step()
	if err := b.orch.ViewApplied(b.Ctx); err != nil {
		t.Fatal(err)
	}
	return b, asic
}

// Ports without a row, and ports whose row is deleted, leave the ASIC with their SerDes settings.
func TestSerdesGoesBeforeItsPort(t *testing.T) {
	b, asic := newVirtualSwitch(t)
	if len(b.orch.asic.chip.unused) != 0 || len(asic.serdes) != 1 {
		t.Errorf("still in the ASIC: unused ports %v, SerDes settings of %v", b.orch.asic.chip.unused, asic.serdes)
	}
	b.Del(schema.AppPort, "Ethernet0")
	b.Step()
	if len(b.orch.asic.ports) != 0 || len(asic.serdes) != 0 {
		t.Errorf("still in the ASIC: ports %v, SerDes settings of %v", b.orch.asic.ports, asic.serdes)
	}
}

// A port that the ASIC created without SerDes settings costs one call, which reads it at the start. All are removed by
// one more.
func TestCallsPerUnusedPort(t *testing.T) {
	var gets, removes int
	b := newBenchOn(t, func(fake sai.API) sai.API {
		return counting{fake, func(op string, t sai.ObjectType) {
			switch {
			case t != sai.ObjectTypePort:
			case op == "get":
				gets++
			case op == "remove":
				removes++
			}
		}}
	})
	ports := len(b.orch.asic.chip.unused)
	if gets != ports+1 { // one reads the speeds, which ports with as many lanes have in common
		t.Errorf("%d reads of %d ports", gets, ports)
	}
	b.port("Ethernet0", "1,2,3,4")
	b.Set(schema.AppPort, schema.PortConfigDone, "count", "1")
	b.Step()
	gets = 0
	if err := b.orch.ViewApplied(b.Ctx); err != nil {
		t.Fatal(err)
	}
	if gets != 0 || removes != 1 {
		t.Errorf("%d reads and %d removals of %d ports without a row", gets, removes, ports-1)
	}
}

// counting counts reads and removals.
type counting struct {
	sai.API
	count func(op string, t sai.ObjectType)
}

func (c counting) BulkRemove(ctx context.Context, keys []sai.Key) []error {
	c.count("remove", keys[0].Type)
	return c.API.BulkRemove(ctx, keys)
}

func (c counting) Get(ctx context.Context, k sai.Key, want []sai.Attr) ([]sai.Attr, error) {
	c.count("get", k.Type)
	return c.API.Get(ctx, k, want)
}

func (c counting) Remove(ctx context.Context, k sai.Key) error {
	c.count("remove", k.Type)
	return c.API.Remove(ctx, k)
}

// A port whose oper status the ASIC does not report works, and is not up.
func TestOperStatusNotReported(t *testing.T) {
	b, _ := newVirtualSwitch(t)
	b.port("Ethernet0", "1,2")
	b.port("Ethernet2", "3,4")
	b.Step()
	for _, name := range []string{"Ethernet0", "Ethernet2"} {
		b.WantStatus(schema.StatePort, name, "active")
		if got := b.Row(swss.ApplDB, schema.AppPort, name)["oper_status"]; got != "down" {
			t.Errorf("%s is %q, want down", name, got)
		}
	}
}

// A port that could be neither completed nor removed is claimed when its row is tried again.
func TestPortThatStayedIsAdopted(t *testing.T) {
	b, asic := newVirtualSwitch(t)
	asic.stuck = true
	b.Rec.FailAt(3, sai.StatusFailure) // the third call sets the MTU, after the port and its host interface exist
	b.port("Ethernet4", "5,6,7,8")
	b.Step()
	b.WantStatus(schema.StatePort, "Ethernet4", "failed: port Ethernet4: set the MTU")
	asic.stuck = false
	b.Set(schema.AppPort, "Ethernet4", "lanes", "5,6,7,8", "speed", "100000", "mtu", "1500", "admin_status", "up")
	b.Step()
	b.WantStatus(schema.StatePort, "Ethernet4", "active")
	if len(asic.serdes) != 2 {
		t.Errorf("SerDes settings of %v, want of two ports", asic.serdes)
	}
}
