package recordorch

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"tamtam/orch"
	"tamtam/orch/orchtest"
	"tamtam/orchagent/orchagenttest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss/schema"
	"tamtam/tam/record"
)

// world contains the paths and the switch id that tests can change at any time.
type world struct {
	orchagenttest.World
	path  *Path // path to any address; nil if there is none
	wants []netip.Addr
}

func (w *world) Want(_ context.Context, to []netip.Addr) { w.wants = to }

func (w *world) Path(to netip.Addr) (Path, error) {
	if w.path == nil {
		return Path{}, orch.Wait("route", to.String(), "no route to %s", to)
	}
	return *w.path, nil
}

// setID sets the switch id. 0 means that there is none.
func (w *world) setID(id uint32) { w.IDs = schema.TAMSwitchInUse{SwitchID: id, HasSwitchID: id != 0} }

func (w *world) address() netip.Addr { return netip.MustParseAddr("10.0.0.1") }

// settings returns the settings of a session whose row contains no settings.
func settings() schema.RecordSettings {
	return schema.RecordSettings{PHV: record.Containers{16}, Mode: record.ModeExecution, Algorithm: record.Greedy}
}

func mac(last byte) sai.MAC { return sai.MAC{2, 0, 0, 0, 0, last} }

// bench is an orchagent with ports, ACLs and table recording on a fake ASIC.
type bench struct {
	*orchtest.Bench
	chip  *chip
	rr    *Orch
	world *world
}

// newBench makes a switch with the feature active, two ports, a path to collectors, and the flow groups F1, F2 and F3.
func newBench(t testing.TB, changes ...func(*bench)) *bench {
	t.Helper()
	extensions := []string{record.ObjectPlan, record.ObjectGraph, record.ObjectCounters}
	b := &bench{Bench: orchtest.New(t, saitest.Options{Ports: 2, Extensions: extensions})}
	b.chip = newChip()
	b.Layer = func(api sai.API) sai.API {
		b.chip.API, b.chip.Objects = api, map[sai.OID]*extension{}
		return b.chip
	}
	b.world = &world{path: &Path{
		Port: "Ethernet4", Source: mac(1), MAC: mac(2), Address: netip.MustParseAddr("10.0.0.1"),
	}}
	b.world.setID(2020)
	for _, f := range changes {
		f(b)
	}
	b.Set(schema.AppTAMFeature, featureName, "status", "ACTIVE")
	orchagenttest.WritePorts(b.Bench, 2)
	orchagenttest.WriteTAMTable(b.Bench)
	for i := 1; i <= 3; i++ {
		b.rule(fmt.Sprint("F", i), "SRC_IP", fmt.Sprintf("10.%d.0.0/16", i))
	}
	b.run()
	b.Rec.Reset()
	return b
}

// run starts an orchagent with a new ASIC on the rows in Redis, and applies the first view.
func (b *bench) run() {
	b.T.Helper()
	a := orchagenttest.Start(b.Bench)
	b.rr = orchagenttest.Make(a, New, Config{
		Config: a.Config, Rules: a.ACL, Ports: a.Ports, Routes: b.world, Identity: b.world,
	})
	b.rr.plan = planAll
	b.Step()
	if got := b.objects(); len(got) > 0 {
		b.T.Errorf("objects before there is a view: %v", got)
	}
	a.Apply(b.rr)
}

// planAll returns a plan that records all tables for which there are bits, and hits if they are requested. The plan's
// entropy is the number of paths that planAll receives.
func planAll(_ context.Context, g *record.Graph, paths []record.PathCount, _ record.Classes,
	s schema.RecordSettings) (*record.Plan, error) {
	plan := &record.Plan{Pipeline: g.Pipeline, PHV: s.PHV.String(), Mode: s.Mode, Graph: g, Entropy: float64(len(paths))}
	bit := 0
	for _, n := range g.Nodes {
		r := record.Recorded{Table: n.ID, Stage: n.Stage, Bits: 1, Ran: new(int)}
		if s.Mode == record.ModeHit {
			r.Hit, r.Bits = new(int), 2
			*r.Hit = bit + 1
		}
		if bit+r.Bits > int(s.PHV[0]) {
			break
		}
		*r.Ran = bit
		bit += r.Bits
		plan.Recorded = append(plan.Recorded, r)
	}
	for _, id := range s.MustRecord {
		if !slices.ContainsFunc(g.Nodes, func(n record.Node) bool { return n.ID == id }) {
			return nil, fmt.Errorf("must-record: %q is no table", id)
		}
	}
	plan.Seal()
	return plan, nil
}

func (b *bench) rule(name string, fields ...string) {
	b.Set(schema.AppACLRule, "TAM:"+name, append([]string{"PRIORITY", "100"}, fields...)...)
}

// session writes a session of a flow group with one container of 8 bits. Later fields override earlier ones.
func (b *bench) session(name, group string, fields ...string) {
	b.Set(schema.AppTAMTableRecord, name, append([]string{
		"acl-table-name", "TAM", "acl-rule-name", group, "collector", "10.9.0.1:4739", "phv", "8",
	}, fields...)...)
}

func (b *bench) want(session, status string) {
	b.T.Helper()
	b.WantStatus(schema.StateTAMTableRecord, session, status)
}

// objects returns the objects of recording in the ASIC: plans with their sessions and tables, mirror sessions with
// their labels, ACL entries that mirror, and register reads.
func (b *bench) objects() (list []string) {
	for _, k := range b.Fake.Created() {
		switch x := b.chip.Objects[k.OID]; {
		case x != nil && x.Name == record.ObjectPlan:
			list = append(list, planText(x.State))
		case x != nil:
			list = append(list, "window")
		case k.Type == sai.ObjectTypeMirrorSession:
			list = append(list, "mirror "+string(b.Attr(k, sai.MirrorSessionAttrLabel).(sai.Text)))
		case k.Type == sai.ObjectTypeACLEntry:
			list = append(list, "entry")
		}
	}
	slices.Sort(list)
	return list
}

// planText returns a plan without the positions of its bits, for example "plan s1,s2: a.ran b.hit".
func planText(p record.ChipPlan) string {
	var labels, marks []string
	for _, s := range p.Sessions {
		labels = append(labels, s.Label)
	}
	for _, m := range p.Marks {
		marks = append(marks, m.Table+"."+m.When)
	}
	slices.Sort(marks)
	return fmt.Sprintf("plan %s: %s", strings.Join(labels, ","), strings.Join(marks, " "))
}

func (b *bench) wantObjects(want ...string) {
	b.T.Helper()
	slices.Sort(want)
	if got := b.objects(); !slices.Equal(got, want) {
		b.T.Errorf("the ASIC has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
