package recordorch

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/orch/feature/featuretest"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/record"
)

// The objects of a session are created in this order: the plan, the mirror session, and the ACL entry.
func TestOrderOfObjects(t *testing.T) {
	b := newBench(t)
	b.session("s1", "F1")
	b.Step()
	var order []string
	plan := fmt.Sprintf("|OBJECT_NAME=%d:", len(record.ObjectPlan)) // other extension objects have longer names
	for _, l := range b.Calls() {
		for name, part := range map[string]string{"plan": plan, "mirror": "c|MIRROR_SESSION:", "entry": "c|ACL_ENTRY:"} {
			if strings.Contains(l, part) {
				order = append(order, name)
			}
		}
	}
	if want := []string{"plan", "mirror", "entry"}; !slices.Equal(order, want) {
		t.Errorf("made %v, want %v", order, want)
	}
}

// A switch without one of the extensions receives no calls.
func TestUnsupported(t *testing.T) {
	for _, name := range []string{record.ObjectPlan, record.ObjectGraph, record.ObjectCounters} {
		b := newBench(t, func(b *bench) { b.chip.Room[name] = 0 })
		b.session("s1", "F1")
		b.Step()
		want := "the switch cannot record tables: its SAI has no extension " + name
		b.want("s1", "failed: "+want)
		b.WantStatus(schema.StateTAMFeature, featureName, "UNSUPPORTED: "+want)
		if row := b.Row(swss.StateDB, schema.StateSwitchCap, "switch"); row["tam-tablerecord-capable"] != "false" ||
			row["tam-tablerecord-reason"] != want {
			t.Errorf("%v", row)
		}
		if _, timer := b.rr.nextTimer(), b.rr.asked(); timer || b.chip.Reads > 0 {
			t.Error("the chip is looked at")
		}
	}
}

// If actions are requested but none are recorded, the status contains the reason as long as this is so.
func TestNoActions(t *testing.T) {
	b := newBench(t)
	b.session("s1", "F1", "mode", "exec+action")
	b.session("s2", "F2", "mode", "exec+hit")
	b.Step()
	b.want("s1", "active: no action is recorded: the switch runs no program that has a table with two actions")
	if got := b.Status(schema.StateTAMTableRecord + "|s2"); got != "active" {
		t.Errorf("status %q", got)
	}
	b.chip.graph = graphOf(2)
	b.chip.graph.Nodes[1].Actions = []string{"x", "y"}
	b.Pass(time.Second)
	b.want("s1", "active: no action is recorded: hits and runs took all bits of phv 8")
	b.rr.plan = func(ctx context.Context, g *record.Graph, paths []record.PathCount, not record.Classes,
		s schema.RecordSettings) (*record.Plan, error) {
		p, err := planAll(ctx, g, paths, not, s)
		p.Recorded[1].Actions = []record.ActionBit{{Bit: 7, Of: []string{"x"}}}
		p.Seal()
		return p, err
	}
	b.chip.graph = graphOf(3)
	b.chip.graph.Nodes[1].Actions = []string{"x", "y"}
	b.Pass(time.Second)
	if got := b.Status(schema.StateTAMTableRecord + "|s1"); got != "active" {
		t.Errorf("status %q", got)
	}
}

// A plan that requires counted probabilities is made again when enough packets have been counted, but only once.
func TestCountedProbabilities(t *testing.T) {
	b := newBench(t)
	b.session("s1", "F1", "probabilities", "counted")
	b.session("s2", "F2")
	b.Step()
	b.wantObjects("plan tr:s1: a.ran b.ran c.ran d.ran", "plan tr:s2: a.ran b.ran c.ran d.ran", "mirror tr:s1",
		"mirror tr:s2", "entry", "entry")
	b.chip.paths = []record.PathCount{
		{Path: []record.Step{{Table: "a", Hit: true}, {Table: "b", Hit: true}, {Table: "d"}}, Packets: 9000},
		{Path: []record.Step{{Table: "a", Hit: true}, {Table: "b"}}, Packets: 1000},
	}
	b.chip.counted = 9999
	b.Pass(time.Second)
	plan := b.Row(swss.CountersDB, schema.CountersRecordPlan, "s1")
	uniform := b.Row(swss.CountersDB, schema.CountersRecordPlan, "s2")
	if plan["ENTROPY"] != uniform["ENTROPY"] {
		t.Errorf("entropy %s, want that of uniform probabilities, %s", plan["ENTROPY"], uniform["ENTROPY"])
	}
	b.chip.counted = 10000
	b.Pass(time.Second)
	plan = b.Row(swss.CountersDB, schema.CountersRecordPlan, "s1")
	if plan["ENTROPY"] == uniform["ENTROPY"] {
		t.Error("the plan is still by uniform probabilities")
	}
	if got := b.Row(swss.CountersDB, schema.CountersRecordPlan, "s2"); got["PLAN"] != uniform["PLAN"] {
		t.Error("the other plan is another one")
	}
	b.chip.paths = nil
	before := b.chip.Reads
	b.Pass(3 * time.Second)
	if n := b.chip.Reads - before; n != 6 { // register reads of the graph's version and of the counters
		t.Errorf("%d looks at the chip in three seconds, want 6", n)
	}
}

// If packets take the same path, counted probabilities leave little to record.
func TestPlanByCountedPaths(t *testing.T) {
	g := graphOf(1, "e")
	uniform, err := makePlan(t.Context(), g, nil, 0, settings())
	if err != nil {
		t.Fatal(err)
	}
	counted, err := makePlan(t.Context(), g, []record.PathCount{
		{Path: []record.Step{{Table: "a", Hit: true}, {Table: "b", Hit: true}, {Table: "d"}}, Packets: 9000},
		{Path: []record.Step{{Table: "a", Hit: true}, {Table: "b"}}, Packets: 1000},
	}, 0, settings())
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(uniform.Entropy-2.5) > 1e-9 || math.Abs(counted.Entropy-0.53) > 0.05 { // entropy of shares 0.9 and 0.1
		t.Errorf("entropies %v and %v, want 2.5 and little more than that of 9 to 1", uniform.Entropy, counted.Entropy)
	}
	if !slices.ContainsFunc(counted.Recorded, func(r record.Recorded) bool { return r.Table == "e" }) {
		t.Errorf("what no packet has run is not recorded: %+v", counted.Recorded)
	}
}

// Whichever call fails while a session is created or changed, or its path or plan changes, sessions are complete in the
// ASIC or not there at all. After the next poll everything is correct.
func TestEveryCallFails(t *testing.T) {
	for _, status := range []sai.Status{sai.StatusFailure, sai.StatusInsufficientResources} {
		for _, c := range []struct {
			name string
			do   func(b *bench)
		}{
			{"make", func(b *bench) { b.session("s2", "F2") }},
			{"share", func(b *bench) { b.session("s2", "F2", "phv", "16"); b.session("s3", "F3") }},
			{"way", func(b *bench) {
				b.world.path = &Path{Port: "Ethernet0", Source: mac(3), MAC: mac(4), Address: b.world.path.Address}
				b.world.Routed.Publish(b.Ctx, struct{}{})
			}},
			{"graph", func(b *bench) { b.chip.graph = graphOf(2, "e"); b.Pass(time.Second) }},
			{"another row", func(b *bench) { b.session("s1", "F1", "phv", "16", "encapsulation", "erspan") }},
			{"remove", func(b *bench) { b.Del(schema.AppTAMTableRecord, "s1") }},
		} {
			t.Run(c.name+" "+status.String(), func(t *testing.T) {
				made := func(fail int) (*bench, int) {
					b := newBench(t)
					b.session("s1", "F1")
					b.Step()
					b.Rec.FailAt(fail, status)
					c.do(b)
					b.Step()
					n := b.Rec.Changes()
					return b, n
				}
				good, calls := made(0)
				for n := 1; n <= calls; n++ {
					b, _ := made(n)
					b.wantWhole()
					b.Pass(2 * time.Second)
					b.rr.LookAgain(b.Ctx)
					b.Step()
					b.wantWhole()
					if got := b.rr.Snapshot(); len(got.Stuck)+len(got.Open)+len(got.Again) > 0 {
						t.Errorf("call %d of %d fails, and is still tried again: %+v", n, calls, got)
					}
					if got, want := b.objects(), good.objects(); !slices.Equal(got, want) {
						t.Errorf("call %d of %d fails: the ASIC has\n%s\nwant\n%s\n%s", n, calls, strings.Join(got, "\n"),
							strings.Join(want, "\n"), strings.Join(b.Logged, "\n"))
					}
				}
			})
		}
	}
}

// If the chip refuses a new switch id, the plan is made again with it: no session records with the former one.
func TestRefusedSwitchID(t *testing.T) {
	b := newBench(t)
	b.session("s1", "F1")
	b.session("s2", "F2")
	b.Step()
	b.world.setID(2021)
	b.Rec.FailAt(1, sai.StatusFailure)
	b.world.Renamed.Publish(b.Ctx, struct{}{})
	b.Step()
	b.Pass(2 * time.Second)
	b.wantWhole()
	b.want("s1", "active")
	b.want("s2", "active")
	for _, x := range b.chip.Objects {
		if x.Name == record.ObjectPlan && x.State.Switch != 2021 {
			t.Errorf("the plan of %d sessions has the switch id %d, want 2021", len(x.State.Sessions), x.State.Switch)
		}
	}
}

// wantWhole checks that exactly the sessions reported as active, and those that could not be removed, are completely in
// the ASIC.
func (b *bench) wantWhole() {
	b.T.Helper()
	featuretest.Whole(b.Bench, b.rr.Feature)
	rows, err := swss.NewTable(b.Redis.DB(swss.StateDB), schema.StateTAMTableRecord).Dump(b.Ctx)
	if err != nil {
		b.T.Fatal(err)
	}
	objects := b.objects()
	if slices.Contains(objects, "window") && len(b.rr.Snapshot().Open) == 0 {
		b.T.Error("a register read is left in the ASIC")
	}
	for name, row := range rows {
		if s := b.rr.Sessions[name]; s != nil && s.InASIC != nil && s.Leaving {
			if row["status"] == schema.StatusActive {
				b.T.Errorf("session %s is leaving, and active", name)
			}
			continue
		}
		mirror := slices.Contains(objects, "mirror "+labelOf(name))
		inPlan := slices.ContainsFunc(objects, func(o string) bool {
			labels, _, _ := strings.Cut(strings.TrimPrefix(o, "plan "), ":\x20")
			return strings.HasPrefix(o, "plan ") && slices.Contains(strings.Split(labels, ","), labelOf(name))
		})
		if active := row["status"] == schema.StatusActive; active != mirror || active != inPlan {
			b.T.Errorf("session %s is %s (%s); mirror session %v, in a plan %v", name, row["status"], row["reason"], mirror,
				inPlan)
		}
	}
}
