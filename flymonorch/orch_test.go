package flymonorch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/orch/feature/featuretest"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/flymon"
)

// A task is one object. When its row is deleted, the object and all its rows are removed.
func TestTaskComesAndGoes(t *testing.T) {
	b := newBench(t)
	b.task("t1", "threshold", "3")
	b.query("q", "t1", "10.0.0.1")
	b.Step()
	b.wantTask("t1", "active")
	b.wantQuery("q", "active")
	b.WantStatus(schema.StateTAMFeature, featureName, "ACTIVE")
	if got := b.objects(); !slices.Equal(got, []string{flymon.ObjectTask + " t1"}) {
		t.Errorf("objects %v", got)
	}
	place := b.Row(swss.CountersDB, schema.CountersFlyMonPlace, "t1")
	if place["PLANNED"] != "false" || place["ALGORITHM"] != "cms" || place["BANKS"] != "2" || place["BYTES"] != "768" ||
		place["UNITS"] != "0.0:0+64,0.1:0+64,0.2:0+64" || place["KEYS"] != "0.0=src-ip" {
		t.Errorf("placement %v", place)
	}
	if g := b.Row(swss.CountersDB, schema.CountersFlyMonGroup, "0"); g["TASKS"] != "1" ||
		g["KEYS"] != "src-ip;free;free" || g["FREE_BUCKETS"] != "896,896,896" || g["LARGEST_FREE"] != "512,512,512" {
		t.Errorf("group 0: %v", g)
	}
	b.send("10.0.0.1", 5)
	b.send("10.0.0.2", 2)
	b.Pass(time.Second)
	b.wantResult("t1", "1700000000: 7 first")
	b.wantAnswer("q", "1700000000: 5")
	flows := b.Row(swss.CountersDB, schema.CountersFlyMonFlows, "t1")
	if len(flows) != 1 || !strings.Contains(flows["10.0.0.1"], `"estimate":5`) {
		t.Errorf("flows %v", flows)
	}
	if r := b.Row(swss.CountersDB, schema.CountersFlyMonResult, "t1"); r["FLOWS_FROM"] != "digests,queries" {
		t.Errorf("result %v", r)
	}
	b.send("10.0.0.3", 3)
	b.Pass(time.Second)
	b.wantResult("t1", "1700000001: 3")
	b.wantAnswer("q", "1700000001: 0")
	if flows := b.Row(swss.CountersDB, schema.CountersFlyMonFlows, "t1"); len(flows) != 1 || flows["10.0.0.3"] == "" {
		t.Errorf("flows %v", flows)
	}
	b.Pass(time.Second)
	b.wantResult("t1", "1700000002: 0")
	b.Del(schema.AppTAMFlyMonTask, "t1")
	b.Step()
	b.wantTask("t1", "")
	b.wantQuery("q", "pending: there is no task t1")
	if got := b.objects(); len(got) > 0 {
		t.Errorf("objects %v stay", got)
	}
	for _, table := range []string{schema.CountersFlyMonPlace, schema.CountersFlyMonResult, schema.CountersFlyMonFlows,
		schema.CountersFlyMonSizes} {
		if row := b.Row(swss.CountersDB, table, "t1"); len(row) > 0 {
			t.Errorf("%s:t1 is still there: %v", table, row)
		}
	}
	b.wantAnswer("q", "")
	if g := b.Row(swss.CountersDB, schema.CountersFlyMonGroup, "0"); g["TASKS"] != "0" ||
		g["FREE_BUCKETS"] != "1024,1024,1024" {
		t.Errorf("group 0: %v", g)
	}
	if len(b.Logged) > 0 {
		t.Errorf("logged %v", b.Logged)
	}
}

// The status contains the capability that a switch lacks, and no call is made for it.
func TestUnsupported(t *testing.T) {
	for _, name := range []string{flymon.ObjectGroups, flymon.ObjectTask, flymon.ObjectStatus, flymon.ObjectRegisters,
		flymon.ObjectClear} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(b *bench) { b.chip.Room[name] = 0 })
			b.task("t1")
			b.Step()
			b.wantTask("t1", "failed: ")
			b.WantStatus(schema.StateTAMFeature, featureName, "UNSUPPORTED: ")
			row := b.Row(swss.ApplDB, schema.AppSwitch, "switch")
			if row[schema.CapabilityField(featureName)] != "false" || !strings.Contains(
				row[schema.CapabilityReasonField(featureName)], "its SAI has no extension "+name) &&
				!strings.Contains(row[schema.CapabilityReasonField(featureName)], "the switch's SAI has no extension "+name) {
				t.Errorf("SWITCH_TABLE %v", row)
			}
			if calls := b.Rec.Lines(); len(calls) > 0 {
				t.Errorf("calls %v", calls)
			}
		})
	}
}

// A task is withdrawn and restored as the rows that it depends on are deleted and written.
func TestWithdrawnAndBack(t *testing.T) {
	for _, tt := range []struct {
		name     string
		del, set func(b *bench)
		status   string
	}{
		{"feature", func(b *bench) { b.Del(schema.AppTAMFeature, featureName) },
			func(b *bench) { b.Set(schema.AppTAMFeature, featureName, "status", "ACTIVE") },
			"pending: feature FLYMON is not active"},
		{"feature inactive", func(b *bench) { b.Set(schema.AppTAMFeature, featureName, "status", "INACTIVE") },
			func(b *bench) { b.Set(schema.AppTAMFeature, featureName, "status", "ACTIVE") },
			"pending: feature FLYMON is not active"},
		{"row", func(b *bench) { b.task("t1", "key", "nonsense") }, func(b *bench) { b.task("t1") }, "failed: key"},
		{"task", func(b *bench) { b.Del(schema.AppTAMFlyMonTask, "t1") }, func(b *bench) { b.task("t1") }, ""},
		{"plan", func(b *bench) { b.task("t1", "plan", "true") }, func(b *bench) { b.task("t1") },
			"active: planned, not deployed"},
		{"flow group", func(b *bench) { b.task("t1", "flowgroup", "web") }, func(b *bench) { b.task("t1") },
			"failed: flowgroup"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.task("t1")
			b.Step()
			b.wantTask("t1", "active")
			tt.del(b)
			b.Step()
			b.wantTask("t1", tt.status)
			if got := b.objects(); len(got) > 0 {
				t.Errorf("objects %v", got)
			}
			tt.set(b)
			b.Step()
			b.wantTask("t1", "active")
			if got := b.objects(); len(got) != 1 {
				t.Errorf("objects %v", got)
			}
		})
	}
}

// The status of tasks without capacity contains the missing resource, and so does that of the feature. When another
// task is removed, they are created in order.
func TestNoRoom(t *testing.T) {
	b := newBench(t)
	for i := range 12 {
		b.task(fmt.Sprint("t", i), "memory", "768", "filter", fmt.Sprintf("dst-port=%d", i+1))
	}
	b.Step()
	for i := range 4 {
		b.wantTask(fmt.Sprint("t", i), "active")
	}
	b.wantTask("t4", "pending: cms needs 3 CMUs of one group; groups 0-1: ")
	b.WantStatus(schema.StateTAMFeature, featureName,
		"INSUFFICIENT_RESOURCES: 8 of 12 tasks do not fit into the switch, the first is t4: cms needs ")
	b.Del(schema.AppTAMFlyMonTask, "t2")
	b.Step()
	b.wantTask("t4", "active")
	b.wantTask("t5", "pending: ")
	b.WantStatus(schema.StateTAMFeature, featureName, "INSUFFICIENT_RESOURCES: 7 of 11 tasks")
	for i := range 12 {
		if i < 5 || i > 7 {
			b.Del(schema.AppTAMFlyMonTask, fmt.Sprint("t", i))
		}
	}
	b.Step()
	for i := 5; i < 8; i++ {
		b.wantTask(fmt.Sprint("t", i), "active")
	}
	b.WantStatus(schema.StateTAMFeature, featureName, "ACTIVE")
}

// A plan reports where a task would be placed beside the existing ones, and follows their changes.
func TestPlan(t *testing.T) {
	b := newBench(t)
	b.task("p", "plan", "true", "memory", "768")
	b.query("q", "p", "10.0.0.1")
	b.Step()
	b.wantTask("p", "active: planned, not deployed")
	b.wantQuery("q", "pending: task p is planned, not deployed")
	units := func() string { return b.Row(swss.CountersDB, schema.CountersFlyMonPlace, "p")["UNITS"] }
	if got := units(); got != "0.0:0+256,0.1:0+256,0.2:0+256" {
		t.Errorf("units %s", got)
	}
	if calls := b.Rec.Lines(); len(calls) > 0 {
		t.Errorf("calls %v", calls)
	}
	b.task("p", "plan", "true", "memory", "768", "filter", "protocol=50")
	b.task("a", "memory", "768", "filter", "protocol=6")
	b.Step()
	if got := units(); got == "0.0:0+256,0.1:0+256,0.2:0+256" || got == "" {
		t.Errorf("units %s, where task a is", got)
	}
	for i := range 3 {
		b.task(fmt.Sprint("b", i), "memory", "768", "filter", fmt.Sprintf("protocol=%d", i))
	}
	b.Step()
	b.wantTask("p", "pending: cms needs 3 CMUs of one group; ")
	b.WantStatus(schema.StateTAMFeature, featureName, "ACTIVE")
	if got := units(); got != "" {
		t.Errorf("units %s, and there is no room", got)
	}
	b.Del(schema.AppTAMFlyMonTask, "b1")
	b.Step()
	b.wantTask("p", "active: planned, not deployed")
	b.Del(schema.AppTAMFlyMonTask, "p")
	b.Step()
	if got := units(); got != "" {
		t.Errorf("units %s of a plan that is gone", got)
	}
}

// The status of an invalid query contains the error and what would be valid.
func TestQueries(t *testing.T) {
	b := newBench(t)
	b.task("t1", "key", "src-ip,dst-port", "filter", "protocol=17")
	b.task("set", "key", "none", "attribute", "existence(dst-ip)", "filter", "protocol=6")
	b.task("card", "key", "none", "attribute", "distinct(dst-ip)", "filter", "protocol=7", "memory", "64")
	b.query("good", "t1", "10.0.0.1,80")
	b.query("member", "set", "10.9.9.9")
	b.query("short", "t1", "10.0.0.1")
	b.query("port", "t1", "10.0.0.1,http")
	b.query("none", "t9", "10.0.0.1")
	b.query("all", "card", "10.0.0.1")
	b.Set(schema.AppTAMFlyMonQuery, "bad", "task", "t1")
	b.Step()
	b.wantQuery("good", "active")
	b.wantQuery("member", "active")
	b.wantQuery("short", `failed: flow "10.0.0.1", want a value for each of src-ip,dst-port`)
	b.wantQuery("port", `failed: flow "10.0.0.1,http": dst-port "http", want a number of 16 bits`)
	b.wantQuery("none", "pending: there is no task t9")
	b.wantQuery("all",
		`failed: flow "10.0.0.1": the task measures distinct(dst-ip) of all packets together, want a task with a key`)
	b.wantQuery("bad", "failed: flow")
	b.send("10.0.0.1", 4)
	b.Pass(time.Second)
	b.wantAnswer("good", "1700000000: 4")
	b.wantAnswer("short", "")
	b.task("t1", "key", "src-ip", "filter", "protocol=17")
	b.Step()
	b.wantQuery("good", "failed: ")
	b.wantAnswer("good", "")
	b.wantQuery("short", "active")
	b.Del(schema.AppTAMFlyMonQuery, "short")
	b.Step()
	b.wantQuery("short", "")
}

// Each SAI call fails once, for each step of a task. The state before the call stays or is restored, and when the row
// is written again, the result is as if nothing had failed.
func TestEveryCallFails(t *testing.T) {
	steps := []struct {
		name string
		do   func(b *bench)
	}{
		{"deploy", func(b *bench) { b.task("t1") }},
		{"resize", func(b *bench) { b.task("t1"); b.Step(); b.send("10.0.0.1", 4); b.task("t1", "memory", "384") }},
		{"filter", func(b *bench) { b.task("t1"); b.Step(); b.task("t1", "filter", "protocol=17") }},
		{"one bank", func(b *bench) { b.task("t1"); b.Step(); b.task("t1", "epoch", "0") }},
		{"remove", func(b *bench) { b.task("t1"); b.Step(); b.Del(schema.AppTAMFlyMonTask, "t1") }},
		{"read", func(b *bench) { b.task("t1"); b.Step(); b.send("10.0.0.1", 4); b.Pass(time.Second) }},
	}
	for _, tt := range steps {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.Rec.FailAt(0, 0)
			tt.do(b)
			b.Step()
			n := b.Rec.Changes()
			want, pool := b.objects(), b.Row(swss.CountersDB, schema.CountersFlyMonGroup, "0")
			if n < 3 {
				t.Fatalf("%d calls only", n)
			}
			for i := range n {
				status := [2]sai.Status{sai.StatusFailure, sai.StatusInsufficientResources}[i%2]
				b := newBench(t)
				b.Rec.FailAt(i+1, status)
				tt.do(b)
				b.Step()
				// Another task is added and removed, so that failed operations are tried again.
				b.task("other", "filter", "protocol=6")
				b.Step()
				b.Del(schema.AppTAMFlyMonTask, "other")
				b.Step()
				b.Pass(3 * time.Second)
				row := b.Row(swss.StateDB, schema.StateTAMFlyMonTask, "t1")
				if row["status"] == schema.StatusFailed {
					if !strings.Contains(row["reason"], status.String()) {
						t.Errorf("call %d: %s", i+1, row["reason"])
					}
					tt.do(b)
					b.Step()
				}
				featuretest.Whole(b.Bench, b.fm.Feature)
				if got := b.fm.Snapshot(); len(got.Stuck)+len(got.Open)+len(got.Again) > 0 {
					t.Errorf("call %d, %s, and it is still tried again: %+v", i+1, status, got)
				}
				if got := b.objects(); !slices.Equal(got, want) {
					t.Errorf("call %d, %s: objects %v, want %v", i+1, status, got, want)
				}
				if got := b.Row(swss.CountersDB, schema.CountersFlyMonGroup, "0"); got["FREE_BUCKETS"] != pool["FREE_BUCKETS"] ||
					got["TASKS"] != pool["TASKS"] {
					t.Errorf("call %d, %s: group %v, want %v", i+1, status, got, pool)
				}
			}
		})
	}
}

// A task whose new size does not fit keeps counting with the old one, and its status reports this. The task gets its
// new size when another task is removed.
func TestResizeWithoutRoom(t *testing.T) {
	b := newBench(t, func(b *bench) { b.geo.Groups = 1 })
	b.task("t1", "memory", "768", "filter", "protocol=17")
	b.task("t2", "memory", "192", "filter", "protocol=6")
	b.Step()
	b.send("10.0.0.1", 2)
	b.task("t1", "memory", "1536", "filter", "protocol=17")
	b.Step()
	b.wantTask("t1", "pending: cms needs 3 CMUs of one group; ")
	b.wantTask("t1", "tried again when a task is removed; it counts on as it was")
	b.WantStatus(schema.StateTAMFeature, featureName,
		"INSUFFICIENT_RESOURCES: 1 of 2 tasks do not fit into the switch, the first is t1: ")
	b.send("10.0.0.1", 3)
	b.Pass(time.Second)
	b.wantResult("t1", "1700000000: 5 first")
	b.Del(schema.AppTAMFlyMonTask, "t2")
	b.Step()
	b.wantTask("t1", "pending: ") // 512 buckets in two banks are the capacity of a CMU
	b.task("t1", "memory", "384", "filter", "protocol=17")
	b.Step()
	b.wantTask("t1", "active")
	b.send("10.0.0.1", 1)
	b.Pass(time.Second)
	b.wantResult("t1", "1700000001: 1 partial")
	b.WantStatus(schema.StateTAMFeature, featureName, "ACTIVE")
}
