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
			row := b.Row(swss.StateDB, schema.StateSwitchCap, "switch")
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
