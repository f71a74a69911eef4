package portsorch

import (
	"context"
	"testing"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/schema"
	"tamtam/swss"
)

// A serdesASIC answers as SONiC's virtual switch does: every port of its own
// has SerDes settings, and is in use as long as they are there.
type serdesASIC struct {
	sai.API
	serdes map[sai.OID]sai.OID // by port
}

func (a *serdesASIC) Get(ctx context.Context, k sai.Key, want []sai.Attr) ([]sai.Attr, error) {
	if want[0].ID != sai.PortAttrPortSerdesID {
		return a.API.Get(ctx, k, want)
	}
	return []sai.Attr{{ID: want[0].ID, Value: a.serdes[k.OID]}}, nil
}

func (a *serdesASIC) Remove(ctx context.Context, k sai.Key) error {
	switch k.Type {
	case sai.ObjectTypePortSerdes:
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

// Ports that no row names, and ports whose row goes, leave the ASIC with their
// SerDes settings.
func TestSerdesGoesBeforeItsPort(t *testing.T) {
	r, err := swss.OpenEmbedded()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	asic := &serdesASIC{API: saitest.New(saitest.Options{Ports: 4}), serdes: map[sai.OID]sai.OID{}}
	b := &bench{t: t, ctx: t.Context(), redis: r, rec: saitest.NewRecorder(asic), poller: &poller{polled: map[sai.OID]bool{}}}
	b.daemon = orch.NewDaemon(orch.Orchagent, r, orch.Options{})
	t.Cleanup(func() { b.daemon.Close() })
	if b.orch, err = New(b.ctx, Config{SAI: b.rec, Daemon: b.daemon, Redis: r, Poller: b.poller, MAC: sai.MAC{2, 0, 0, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	for _, port := range b.orch.chip.unused {
		asic.serdes[port] = port&0xffffffff | sai.OID(sai.ObjectTypePortSerdes)<<32
	}
	b.port("Ethernet0", "1,2,3,4")
	b.set(schema.AppPort, schema.PortConfigDone, "count", "1")
	b.step()
	if err := b.orch.ViewApplied(b.ctx); err != nil {
		t.Fatal(err)
	}
	if len(b.orch.chip.unused) != 0 || len(asic.serdes) != 1 {
		t.Errorf("still in the ASIC: unused ports %v, SerDes settings of %v", b.orch.chip.unused, asic.serdes)
	}
	b.del(schema.AppPort, "Ethernet0")
	b.step()
	if len(b.orch.ports) != 0 || len(asic.serdes) != 0 {
		t.Errorf("still in the ASIC: ports %v, SerDes settings of %v", b.orch.ports, asic.serdes)
	}
}
