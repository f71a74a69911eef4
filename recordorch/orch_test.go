package recordorch

import (
	"context"
	"fmt"
	"math"
	"net/netip"
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

// A session consists of a plan's label, a mirror session with that label, and an ACL entry that mirrors to it. They are
// created in this order and removed in the opposite order.
func TestSessionComesAndGoes(t *testing.T) {
	b := newBench(t)
	b.session("s1", "F1")
	b.Step()
	b.want("s1", "active")
	b.WantStatus(schema.StateTAMFeature, featureName, "ACTIVE")
	b.wantObjects("plan tr:s1: a.ran b.ran c.ran d.ran", "mirror tr:s1", "entry")
	var order []string
	for _, l := range b.calls() {
		for _, w := range []string{"c|GENERIC_PROGRAMMABLE", "c|MIRROR_SESSION", "c|ACL_ENTRY"} {
			if strings.HasPrefix(l, w+":") {
				order = append(order, w[2:])
			}
		}
		if strings.HasPrefix(l, "c|MIRROR_SESSION:") &&
			l != `c|MIRROR_SESSION:mirror_session#0|MONITOR_PORT=port#2|TRUNCATE_SIZE=128|LABEL=tr\x3As1|TYPE=SFLOW|`+
				`UDP_SRC_PORT=49152|UDP_DST_PORT=4739` {
			t.Error(l)
		}
		if strings.HasPrefix(l, "c|ACL_ENTRY:") && !strings.HasSuffix(l,
			"|FIELD_SRC_IP=10.1.0.0&mask:255.255.0.0|ACTION_MIRROR_INGRESS=1:mirror_session#0") {
			t.Error(l)
		}
	}
	if want := []string{"GENERIC_PROGRAMMABLE", "MIRROR_SESSION", "ACL_ENTRY"}; !slices.Equal(order, want) {
		t.Errorf("made %v, want %v", order, want)
	}
	p := b.planOf("s1")
	tunnel := p.Sessions[0].Tunnel
	if p.Switch != 2020 || p.PHV != "8" || p.Graph != 1 || p.Sessions[0].Sample != 1 || tunnel == nil ||
		fmt.Sprint(*tunnel) != "{10.0.0.1 10.9.0.1 02:00:00:00:00:01 02:00:00:00:00:02 32}" {
		t.Errorf("the plan is %+v, %+v", p, tunnel)
	}
	row := b.Row(swss.CountersDB, schema.CountersRecordPlan, "s1")
	if row["ID"] != fmt.Sprint(p.ID) || row["TABLES"] == "" || !strings.Contains(row["PLAN"], `"graph"`) {
		t.Errorf("%s is %v", schema.CountersRecordPlan, row)
	}
	b.Del(schema.AppTAMTableRecord, "s1")
	b.Step()
	b.wantObjects()
	b.want("s1", "")
	for _, table := range []string{schema.CountersRecordPlan, schema.CountersRecord} {
		if row := b.Row(swss.CountersDB, table, "s1"); len(row) > 0 {
			t.Errorf("%s:s1 stays: %v", table, row)
		}
	}
}

// planOf returns the plan of the chip that contains a session's label.
func (b *bench) planOf(session string) record.ChipPlan {
	b.T.Helper()
	for _, x := range b.chip.Objects {
		if slices.ContainsFunc(x.State.Sessions, func(s record.ChipSession) bool { return s.Label == labelOf(session) }) {
			return x.State
		}
	}
	b.T.Fatalf("no plan has session %s", session)
	return record.ChipPlan{}
}

// The mirror session of an ERSPAN session contains the whole tunnel.
func TestERSPAN(t *testing.T) {
	b := newBench(t)
	b.session("a-session-with-a-long-name", "F1", "encapsulation", "erspan", "truncate", "0", "source-ip", "10.0.0.77",
		"sampling-rate", "100")
	b.Step()
	b.want("a-session-with-a-long-name", "active")
	want := `c|MIRROR_SESSION:mirror_session#0|MONITOR_PORT=port#2|TRUNCATE_SIZE=0|LABEL=tr\x3A4ae2d28440ca|` +
		`TYPE=ENHANCED_REMOTE|ERSPAN_ENCAPSULATION_TYPE=II|IPHDR_VERSION=4|TOS=32|TTL=255|` +
		`SRC_IP_ADDRESS=10.0.0.77|DST_IP_ADDRESS=10.9.0.1|SRC_MAC_ADDRESS=02:00:00:00:00:01|` +
		`DST_MAC_ADDRESS=02:00:00:00:00:02|GRE_PROTOCOL_TYPE=35006`
	if calls := b.calls(); !slices.Contains(calls, want) {
		t.Errorf("calls\n%s\nwant\n%s", strings.Join(calls, "\n"), want)
	}
	if s := b.planOf("a-session-with-a-long-name").Sessions[0]; s.Tunnel != nil || s.Sample != 100 {
		t.Errorf("session %+v", s)
	}
}

// Sessions with the same settings share a plan. Others have their own bits.
func TestSharedPlans(t *testing.T) {
	b := newBench(t)
	b.session("s1", "F1")
	b.session("s2", "F2", "sampling-rate", "10", "encapsulation", "erspan", "collector", "10.9.0.2:9")
	b.session("s3", "F3", "mode", "exec+hit")
	b.Step()
	b.wantObjects("plan tr:s1,tr:s2: a.ran b.ran c.ran d.ran",
		"plan tr:s3: a.hit a.ran b.hit b.ran c.hit c.ran d.hit d.ran",
		"mirror tr:s1", "mirror tr:s2", "mirror tr:s3", "entry", "entry", "entry")
	b.Del(schema.AppTAMTableRecord, "s1")
	b.Step()
	b.wantObjects("plan tr:s2: a.ran b.ran c.ran d.ran", "plan tr:s3: a.hit a.ran b.hit b.ran c.hit c.ran d.hit d.ran",
		"mirror tr:s2", "mirror tr:s3", "entry", "entry")
	b.session("s2", "F2", "mode", "exec+hit") // moves to the other plan
	b.Step()
	b.wantObjects("plan tr:s2,tr:s3: a.hit a.ran b.hit b.ran c.hit c.ran d.hit d.ran", "mirror tr:s2", "mirror tr:s3",
		"entry", "entry")
}

// The status contains what a session lacks. The session is active once nothing is lacking.
func TestReasons(t *testing.T) {
	const refused = "failed: "
	for _, c := range []struct {
		name   string
		before func(b *bench)
		do     func(b *bench)
		want   string
		then   func(b *bench) // adds the missing object, so that the session becomes active
	}{
		{
			name: "no feature", do: func(b *bench) { b.Set(schema.AppTAMFeature, featureName, "status", "INACTIVE") },
			want: "pending: feature TABLERECORD is not active",
			then: func(b *bench) { b.Set(schema.AppTAMFeature, featureName, "status", "ACTIVE") },
		},
		{
			name: "no way", do: func(b *bench) { b.world.way = nil; b.world.Routed.Publish(b.Ctx, struct{}{}) },
			want: "pending: no route to 10.9.0.1",
			then: func(b *bench) {
				b.world.way = &Way{Port: "Ethernet0", Address: netip.MustParseAddr("10.0.0.1")}
				b.world.Routed.Publish(b.Ctx, struct{}{})
			},
		},
		{
			name: "no port", do: func(b *bench) { b.world.way.Port = "Ethernet8"; b.world.Routed.Publish(b.Ctx, struct{}{}) },
			want: "pending: no port Ethernet8",
			then: func(b *bench) { b.world.way.Port = "Ethernet4"; b.world.Routed.Publish(b.Ctx, struct{}{}) },
		},
		{
			name: "no switch id", do: func(b *bench) { b.world.setID(0); b.world.Renamed.Publish(b.Ctx, struct{}{}) },
			want: "pending: the switch has no switch-id",
			then: func(b *bench) { b.world.setID(7); b.world.Renamed.Publish(b.Ctx, struct{}{}) },
		},
		{
			name: "no rule", do: func(b *bench) { b.Del(schema.AppACLRule, "TAM:F1") }, want: "pending: no ACL rule TAM|F1",
			then: func(b *bench) { b.rule("F1", "SRC_IP", "10.1.1.1") },
		},
		{
			name: "another session of the flow group", do: func(b *bench) { b.session("r", "F1") },
			want: "pending: flow group F1 has the session r already: a flow group has one session of table recording",
			then: func(b *bench) { b.Del(schema.AppTAMTableRecord, "r") },
		},
		{
			name: "a row that is wrong", do: func(b *bench) { b.session("s1", "F1", "phv", "7") },
			want: refused + `phv "7": want widths`,
			then: func(b *bench) { b.session("s1", "F1") },
		},
		{
			name: "a table that there is not", do: func(b *bench) { b.session("s1", "F1", "must-record", "b,z") },
			want: refused + `no plan: must-record`,
			then: func(b *bench) { b.chip.graph = graphOf(2, "z"); b.Pass(time.Second) },
		},
		{
			name: "more bits than a packet has", do: func(b *bench) { b.session("s1", "F1", "phv", "32+32+8") },
			want: refused + `phv "72 bits": want at most the 64 bits that a packet has here`,
			then: func(b *bench) { b.session("s1", "F1", "phv", "32+32") },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.session("s1", "F1")
			b.Step()
			b.want("s1", "active")
			c.do(b)
			b.Step()
			b.want("s1", c.want)
			if got := b.objects(); c.name != "another session of the flow group" && len(got) > 0 {
				t.Errorf("the ASIC still has %v", got)
			}
			c.then(b)
			b.Step()
			b.want("s1", "active")
		})
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
		if row := b.Row(swss.ApplDB, schema.AppSwitch, "switch"); row["tam-tablerecord-capable"] != "false" ||
			row["tam-tablerecord-reason"] != want {
			t.Errorf("%v", row)
		}
		if _, timer := b.rr.nextTimer(), b.rr.asked(); timer || b.chip.Reads > 0 {
			t.Error("the chip is looked at")
		}
	}
}

// The record word has a limited number of bits. A session that does not fit waits.
func TestRoom(t *testing.T) {
	b := newBench(t)
	b.session("s1", "F1", "phv", "32")
	b.session("s2", "F2", "phv", "16")
	b.session("s3", "F3", "phv", "8+16")
	b.Step()
	b.want("s3", "pending: 24 bits of record: of the 64 that a packet has 16 are free: the switch has no room for it")
	b.WantStatus(schema.StateTAMFeature, featureName,
		"INSUFFICIENT_RESOURCES: 1 of 3 sessions do not fit into the switch, the first is s3: 24 bits")
	b.Del(schema.AppTAMTableRecord, "s1")
	b.Step()
	b.want("s3", "active")
	if p := b.planOf("s3"); p.Offset != 0 {
		t.Errorf("bits %d and on", p.Offset)
	}
	b.WantStatus(schema.StateTAMFeature, featureName, "ACTIVE")
}

// A change of the path is applied without recreating the session.
func TestWayChanges(t *testing.T) {
	for _, encapsulation := range []string{"udp", "erspan"} {
		t.Run(encapsulation, func(t *testing.T) {
			b := newBench(t)
			b.session("s1", "F1", "encapsulation", encapsulation)
			b.Step()
			b.calls()
			b.world.way = &Way{Port: "Ethernet0", Source: mac(3), MAC: mac(4), Address: b.world.way.Address}
			b.world.Routed.Publish(b.Ctx, struct{}{})
			b.want("s1", "active")
			got := b.calls()
			want := []string{"s|MIRROR_SESSION:mirror_session#0|MONITOR_PORT=port#1"}
			if encapsulation == "erspan" {
				want = append(want, "s|MIRROR_SESSION:mirror_session#0|SRC_MAC_ADDRESS=02:00:00:00:00:03",
					"s|MIRROR_SESSION:mirror_session#0|DST_MAC_ADDRESS=02:00:00:00:00:04")
			} else {
				if x := b.planOf("s1").Sessions[0].Tunnel; x.SrcMAC != "02:00:00:00:00:03" || x.DstMAC != "02:00:00:00:00:04" {
					t.Errorf("the tunnel is %+v", x)
				}
				got = got[1:] // the first call sets the plan
			}
			if !slices.Equal(got, want) {
				t.Errorf("calls %v, want %v", got, want)
			}
		})
	}
}

// A new graph requires a new plan. The chip receives it after the next poll.
func TestGraphChanges(t *testing.T) {
	b := newBench(t)
	b.session("s1", "F1")
	b.session("s2", "F2", "must-record", "c")
	b.Step()
	id := b.planOf("s1").ID
	b.chip.graph = graphOf(2, "e", "f")
	b.Pass(time.Second)
	b.want("s1", "active")
	b.wantObjects("plan tr:s1: a.ran b.ran c.ran d.ran e.ran f.ran", "plan tr:s2: a.ran b.ran c.ran d.ran e.ran f.ran",
		"mirror tr:s1", "mirror tr:s2", "entry", "entry")
	if p := b.planOf("s1"); p.ID == id || p.Graph != 2 || b.Row(swss.CountersDB, schema.CountersRecordPlan,
		"s1")["ID"] != fmt.Sprint(p.ID) {
		t.Errorf("the plan is %+v, the book says %v", p, b.Row(swss.CountersDB, schema.CountersRecordPlan, "s1")["ID"])
	}
	b.session("s2", "F2", "must-record", "f")
	b.Step()
	b.want("s2", "active")
	b.chip.graph = graphOf(1)
	b.Pass(time.Second)
	b.want("s1", "active")
	b.want("s2", "failed: no plan: must-record")
	b.wantObjects("plan tr:s1: a.ran b.ran c.ran d.ran", "mirror tr:s1", "entry")
	b.chip.graph = graphOf(2, "e", "f")
	b.Pass(time.Second)
	b.want("s2", "active")
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

// Counters are read each second.
func TestCounters(t *testing.T) {
	b := newBench(t)
	b.session("s1", "F1")
	b.Step()
	want := func(text string) {
		t.Helper()
		c, err := schema.ParseCounters(schema.CountersRecord, "s1", b.Row(swss.CountersDB, schema.CountersRecord, "s1"))
		if got := fmt.Sprint(c.Counts, err); got != text+" <nil>" {
			t.Errorf("counters %s, want %s", got, text)
		}
	}
	want("map[LOST:0 MATCHED:0 NOT_SAMPLED:0 RECORDED:0]")
	b.chip.counters["tr:s1"] = [4]uint64{10, 2, 9, 1}
	b.Pass(time.Second)
	want("map[LOST:1 MATCHED:10 NOT_SAMPLED:2 RECORDED:9]")
	b.chip.counters["tr:s1"] = [4]uint64{11, 2, 10, 1}
	if err := b.rr.PollCounters(b.Ctx); err != nil {
		t.Fatal(err)
	}
	want("map[LOST:1 MATCHED:11 NOT_SAMPLED:2 RECORDED:10]")
	b.wantObjects("plan tr:s1: a.ran b.ran c.ran d.ran", "mirror tr:s1", "entry") // there is no register read
}

// Deactivation removes everything from the ASIC, and the chip is no longer read.
func TestDeactivation(t *testing.T) {
	b := newBench(t)
	b.session("s1", "F1")
	b.session("s2", "F2", "phv", "32")
	b.Step()
	b.Set(schema.AppTAMFeature, featureName, "status", "INACTIVE")
	b.Step()
	b.wantObjects()
	b.want("s1", "pending: feature TABLERECORD is not active")
	reads := b.chip.Reads
	b.Pass(5 * time.Second)
	if b.chip.Reads != reads {
		t.Error("the chip is looked at")
	}
}

// A chip that returns nothing or invalid data is read again.
func TestUnlearned(t *testing.T) {
	b := newBench(t, func(b *bench) { b.chip.says = []byte(`{"attributes":[{"counted":{"value":[1,0,0]}}]}`) })
	b.session("s1", "F1")
	b.Step()
	b.want("s1",
		"pending: what the switch's pipeline is like is not known: the window has no graph; asked again in a second")
	b.chip.says = nil
	b.Pass(time.Second)
	b.want("s1", "active")
	b.chip.says = []byte("[")
	b.Pass(2 * time.Second)
	b.want("s1", "active")
	if len(b.Logged) == 0 {
		t.Error("nothing is said in the log")
	}
}

// An orchagent that restarts creates the same objects again.
func TestRestart(t *testing.T) {
	b := newBench(t)
	b.session("s1", "F1")
	b.session("s2", "F2", "mode", "exec+hit")
	b.Step()
	before := b.objects()
	b.run()
	b.want("s1", "active")
	b.wantObjects(before...)
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
				b.world.way = &Way{Port: "Ethernet0", Source: mac(3), MAC: mac(4), Address: b.world.way.Address}
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

// Ports that are about to be removed are released immediately.
func TestPortGoes(t *testing.T) {
	b := newBench(t)
	b.session("s1", "F1")
	b.Step()
	b.Del(schema.AppPort, "Ethernet4")
	b.Step()
	b.want("s1", "pending: no port Ethernet4")
	b.wantObjects()
	if k := sai.Obj(sai.ObjectTypePort, 2); slices.ContainsFunc(b.Logged,
		func(l string) bool { return strings.Contains(l, "OBJECT_IN_USE") }) {
		t.Errorf("%v: %v", k, b.Logged)
	}
}

// The routes are given the addresses of the sessions' collectors, so that neighbours on the path can be resolved.
func TestWaysAreWanted(t *testing.T) {
	b := newBench(t)
	b.session("s1", "F1")
	b.session("s2", "F2")
	b.Step()
	if got := fmt.Sprint(b.world.wants); got != "[10.9.0.1]" {
		t.Errorf("wanted: %s", got)
	}
	b.Set(schema.AppTAMFeature, featureName, "status", "INACTIVE")
	b.Step()
	if len(b.world.wants) != 0 {
		t.Errorf("wanted while the feature is not active: %v", b.world.wants)
	}
}
