package flymonorch

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// full returns a bench with tasks a0, a1 ... that count all packets. They use all nine groups except the given ones.
func full(t *testing.T, free ...int) *bench {
	t.Helper()
	b := newBench(t, func(b *bench) { b.geo.Groups = 9 })
	in := map[string]string{}
	for i := range 9 {
		name := fmt.Sprint("a", i)
		b.task(name)
		b.Step()
		b.wantTask(name, "active")
		units := b.Row(swss.CountersDB, schema.CountersFlyMonPlace, name)["UNITS"]
		in[units[:1]] = name
	}
	for _, g := range free {
		b.Del(schema.AppTAMFlyMonTask, in[fmt.Sprint(g)])
		delete(in, fmt.Sprint(g))
	}
	b.Step()
	if b.names = in; len(in) != 9-len(free) {
		t.Fatalf("tasks are in %v", in)
	}
	return b
}

func (b *bench) chain(name string) {
	b.T.Helper()
	b.task(name, "attribute", "max(interval)", "key", "ip-pair", "memory", "576")
	b.Step()
}

// Other tasks move if a new task fits only in their place. Their counts are not lost: the epoch is reported in two
// parts, which are flagged.
func TestMovedForAnother(t *testing.T) {
	b := full(t, 0, 3, 8)
	moved := b.names["4"]
	b.Pass(time.Second)
	b.send("10.0.0.1", 5)
	b.query("q", moved, "10.0.0.1")
	b.Step()
	b.chain("chain")
	b.wantTask("chain", "active")
	b.wantTask(moved, "active: moved to group 3 to make room for task chain")
	b.WantStatus(schema.StateTAMFeature, featureName, "ACTIVE")
	b.wantResult(moved, "1700000001: 5 partial")
	b.wantAnswer("q", "1700000001: 5")
	if got := b.Row(swss.CountersDB, schema.CountersFlyMonPlace, moved)["UNITS"]; got != "3.0:0+64,3.1:0+64,3.2:0+64" {
		t.Errorf("units %s", got)
	}
	b.send("10.0.0.1", 2)
	b.Pass(time.Second)
	b.wantResult(moved, "1700000001: 2 partial")
	b.send("10.0.0.1", 7)
	b.Pass(time.Second)
	b.wantResult(moved, "1700000002: 7")
	for g, name := range b.names { // the other tasks are unaffected
		if name != moved {
			b.wantResult(name, "1700000002: 7")
			b.wantTask(name, "active")
			if r := b.Row(swss.StateDB, schema.StateTAMFlyMonTask, name); r["reason"] != "" {
				t.Errorf("%s in group %s: %v", name, g, r)
			}
		}
	}
	b.task(moved, "threshold", "3")
	b.Step()
	if r := b.Row(swss.StateDB, schema.StateTAMFlyMonTask, moved); r["status"] != "active" || r["reason"] != "" {
		t.Errorf("a new row: %v", r)
	}
	if len(b.Logged) > 0 {
		t.Errorf("logged %v", b.Logged)
	}
}

// A plan names the task that it would move, and moves none.
func TestPlanWouldMove(t *testing.T) {
	b := full(t, 0, 3, 8)
	b.Rec.Reset()
	b.task("chain", "attribute", "max(interval)", "key", "ip-pair", "memory", "576", "plan", "true")
	b.Step()
	b.wantTask("chain", "active: planned, not deployed; to make room it would move task "+b.names["4"])
	if calls := b.Rec.Lines(); len(calls) > 0 {
		t.Errorf("calls %v", calls)
	}
}

// If no task can move, the refusal names the tasks in the way.
func TestNoTaskMoves(t *testing.T) {
	b := full(t, 0, 8)
	b.chain("chain")
	b.wantTask("chain", "; in the way in groups 0, 4, 8: task "+b.names["4"]+", with no other room to move to")
	b.wantTask(b.names["4"], "active")
	if r := b.Row(swss.StateDB, schema.StateTAMFlyMonTask, b.names["4"]); r["reason"] != "" {
		t.Errorf("%v", r)
	}
	b.Del(schema.AppTAMFlyMonTask, b.names["4"])
	b.Step()
	b.wantTask("chain", "active")
}

// A task that fits only in place of a pinned one is refused, with the name of the pinned task. Setting or removing a
// pin does not affect counts.
func TestPinnedIsNotMoved(t *testing.T) {
	b := full(t, 0, 3, 8)
	pinned := b.names["4"]
	b.Pass(time.Second)
	b.send("10.0.0.1", 5)
	b.Rec.Reset()
	b.task(pinned, "pinned", "true")
	b.Step()
	if calls := b.Rec.Lines(); len(calls) > 0 {
		t.Errorf("calls %v", calls)
	}
	units := b.Row(swss.CountersDB, schema.CountersFlyMonPlace, pinned)["UNITS"]
	b.chain("chain")
	b.wantTask("chain",
		"; to make room task "+pinned+" would have to move, but is pinned; tried again when a task is removed")
	b.WantStatus(schema.StateTAMFeature, featureName,
		"INSUFFICIENT_RESOURCES: 1 of 7 tasks do not fit into the switch, the first is chain: ")
	b.task("dry", "attribute", "max(interval)", "key", "ip-pair", "memory", "576", "plan", "true")
	b.Step()
	b.wantTask("dry", "task "+pinned+" would have to move, but is pinned")
	b.Del(schema.AppTAMFlyMonTask, "dry")
	b.send("10.0.0.1", 2)
	b.Pass(time.Second)
	b.wantResult(pinned, "1700000001: 7")
	if got := b.Row(swss.CountersDB, schema.CountersFlyMonPlace, pinned)["UNITS"]; got != units {
		t.Errorf("units %s, want %s", got, units)
	}
	b.task(pinned)
	b.Step()
	b.wantTask("chain", "active")
	b.wantTask(pinned, "active: moved to group 3 to make room for task chain")
}

// Whichever call fails while other tasks move, the new task waits or fails with a reason, and no task is lost.
func TestMoveFails(t *testing.T) {
	for call := 1; ; call++ {
		b := full(t, 0, 3, 8)
		b.send("10.0.0.1", 4)
		b.Rec.FailAt(call, sai.StatusFailure)
		b.chain("chain")
		b.Rec.FailAt(0, 0)
		row := b.Row(swss.StateDB, schema.StateTAMFlyMonTask, "chain")
		if row["status"] == "active" && call > 6 {
			return
		}
		if row["status"] != "active" && !strings.Contains(row["reason"], sai.StatusFailure.String()) {
			t.Errorf("call %d: %v", call, row)
		}
		for _, name := range b.names {
			b.wantTask(name, "active")
		}
		b.chain("chain")
		b.wantTask("chain", "active")
		b.Pass(time.Second)
		b.send("10.0.0.1", 3)
		b.Pass(time.Second)
		for _, name := range b.names {
			b.wantResult(name, "1700000001: 3")
			if b.fm.Sessions[name].InASIC.frozen {
				t.Errorf("call %d: %s keeps its old place", call, name)
			}
		}
	}
}
