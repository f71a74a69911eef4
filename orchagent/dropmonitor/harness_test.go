package dropmonitor

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"tamtam/orch"
	"tamtam/orch/feature"
	"tamtam/orch/feature/featuretest"
	"tamtam/orch/orchtest"
	"tamtam/orchagent/orchagenttest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/dropreport"
)

// world contains the paths and the ids that tests can change at any time.
type world struct {
	orchagenttest.World
	paths map[netip.Addr]orch.Path
	wants []netip.Addr
}

func (w *world) Want(_ context.Context, to []netip.Addr) { w.wants = to }

func (w *world) Path(to netip.Addr) (orch.Path, error) {
	path, ok := w.paths[to]
	if !ok {
		return path, orch.Wait("route", to.String(), "no route to %s", to)
	}
	return path, nil
}

// A chip reports the counters that a test sets for a stream, and otherwise zeros.
type chip struct {
	featuretest.Extensions[struct{}]
	words map[string][dropreport.NumWords]uint64
}

func (c *chip) read(x *featuretest.Extension[struct{}]) (sai.Bytes, error) {
	streams, err := feature.Value[[]string](x.Entry, dropreport.AttrStreams)
	if err != nil {
		return nil, err
	}
	all := []uint64{}
	for _, s := range streams {
		w := c.words[s]
		all = append(all, w[:]...)
	}
	return featuretest.Entry(map[string]any{dropreport.AttrCounters: all})
}

// bench is an orchagent with ports, ACLs and the drop monitor on a fake ASIC.
type bench struct {
	*orchtest.Bench
	chip  *chip
	world *world
	orch  *Orch
}

// newBench makes a switch with two ports and the rules R1 and R2 of the flow group G. Paths to 10.9.0.1 and 10.9.0.2
// lead through the second port.
func newBench(t testing.TB, opts saitest.Options) *bench {
	t.Helper()
	opts.Ports, opts.Extensions = 2, append(opts.Extensions, dropreport.ObjectReports)
	b := &bench{Bench: orchtest.New(t, opts), chip: &chip{words: map[string][dropreport.NumWords]uint64{}}}
	b.Layer = func(api sai.API) sai.API {
		b.chip.Extensions = featuretest.Extensions[struct{}]{
			API: api, Objects: map[sai.OID]*featuretest.Extension[struct{}]{}, Read: b.chip.read,
		}
		return b.chip
	}
	b.world = &world{paths: map[netip.Addr]orch.Path{}}
	b.world.IDs = schema.TAMSwitchInUse{HasSwitchID: true, SwitchID: 12345}
	b.setPath("10.9.0.1", 2)
	b.setPath("10.9.0.2", 2)
	b.Set(schema.AppTAMFeature, featureName, "status", "ACTIVE")
	orchagenttest.WritePorts(b.Bench, 2)
	b.Set(schema.AppACLTable, "TAM_FLOW_GROUP_G", "TYPE", "TAM", "STAGE", "INGRESS", "PORTS", "")
	for i := 1; i <= 2; i++ {
		b.Set(schema.AppACLRule, fmt.Sprint("TAM_FLOW_GROUP_G:R", i), "PRIORITY", "100", "SRC_IP",
			fmt.Sprintf("10.%d.0.0/16", i))
	}
	b.run()
	b.Rec.Reset()
	return b
}

// setPath makes the path to a collector lead to a neighbour whose MAC address ends in the byte mac.
func (b *bench) setPath(to string, mac byte) {
	b.world.paths[netip.MustParseAddr(to)] = orch.Path{
		Port: "Ethernet4", Source: sai.MAC{2, 0, 0, 0, 0, 1}, MAC: sai.MAC{2, 0, 0, 0, 0, mac},
		AtPort: netip.MustParseAddr("10.0.0.1"),
	}
	b.world.Routed.Publish(b.Ctx, struct{}{})
}

func (b *bench) removePath(to string) {
	delete(b.world.paths, netip.MustParseAddr(to))
	b.world.Routed.Publish(b.Ctx, struct{}{})
}

// run starts an orchagent with a new ASIC on the rows in Redis, and applies the first view.
func (b *bench) run() {
	b.T.Helper()
	a := orchagenttest.Start(b.Bench)
	b.orch = orchagenttest.Make(a, New, Config{
		Config: a.Config, Rules: a.ACL, Ports: a.Ports, Routes: b.world, Identity: b.world,
		Whole: &feature.SwitchTAM{SAI: b.Rec, Switch: a.Config.Switch},
	})
	a.Apply(b.orch)
}

// collector writes a row of TAM_COLLECTOR_TABLE. Later fields override earlier ones.
func (b *bench) collector(name, at string, fields ...string) {
	b.Set(schema.AppTAMDestination, name, append([]string{"dst_ip", at, "dst_port", "4739"}, fields...)...)
}

func (b *bench) session(name, collectors string, fields ...string) {
	b.Set(schema.AppTAMSession, name, append([]string{"collector", collectors}, fields...)...)
}

// want checks how the status of a session begins, and that SONiC's field agrees.
func (b *bench) want(session, status string) {
	b.T.Helper()
	got, row := b.Status(schema.StateTAMDropMonitor+"|"+session), b.Row(swss.StateDB, schema.StateTAMDropMonitor, session)
	if !strings.HasPrefix(got, status) || (row["state"] == "active") != (row["status"] == "active") {
		b.T.Errorf("status of %s = %q, want %q; the row is %v", session, got, status, row)
	}
}

// objects returns the number of objects in the ASIC by type, except ports and the flow groups' tables.
func (b *bench) objects() string {
	n := map[string]int{}
	for _, k := range b.Fake.Created() {
		name := strings.TrimPrefix(k.Type.String(), "SAI_OBJECT_TYPE_")
		if strings.HasPrefix(name, "TAM") || strings.HasPrefix(name, "HOSTIF_") || name == "POLICER" || name == "ACL_ENTRY" {
			n[name]++
		}
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(n)) {
		list = append(list, fmt.Sprint(name, "=", n[name]))
	}
	return strings.Join(list, " ")
}

// whole checks the conditions that hold after every step.
func (b *bench) whole() {
	b.T.Helper()
	featuretest.Whole(b.Bench, b.orch.Feature)
}

// empty checks that nothing of any session is left in the ASIC and in the databases.
func (b *bench) empty() {
	b.T.Helper()
	featuretest.Empty(b.Bench, b.orch.Feature)
	if got := b.objects(); got != "" || b.orch.trap.users+len(b.orch.domain) > 0 || b.orch.trap.oid != sai.NullOID {
		b.T.Errorf("left in the ASIC: %s, %+v, %v", got, b.orch.trap, b.orch.domain)
	}
	for _, table := range []string{schema.StateTAMDropMonitor, schema.StateTAMDestination} {
		rows, err := swss.NewTable(b.Redis.DB(swss.StateDB), table).Dump(b.Ctx)
		if err != nil {
			b.T.Fatal(err)
		}
		if len(rows) > 0 {
			b.T.Errorf("%s has %v", table, rows)
		}
	}
}
