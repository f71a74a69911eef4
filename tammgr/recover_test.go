package tammgr

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// A row that is written again while its removal is still pending is forwarded again, even by a manager that did not see
// the removal.
func TestPendingRemoval(t *testing.T) {
	for _, again := range [][]string{{rule1}, {rule1, "restart"}} {
		b := newBench(t, swsstest.Start(t))
		b.Do(rule1)
		want := b.Appl(applTables...)
		b.Do("-ACL_RULE|TAM|F1")
		b.Do(again...)
		if d := cmp.Diff(want, b.Appl(applTables...)); d != "" {
			t.Errorf("%v: %s", again, d)
		}
	}
}

// A restart of tammgrd does not change the status that orchagent reported for a row. If the status is lost, tammgrd
// requests it from orchagent again.
func TestStatusOverRestart(t *testing.T) {
	b := newBench(t, swsstest.Start(t))
	b.Do(rule1)
	b.Appl(applTables...)
	state := swss.NewTable(b.Redis().DB(swss.StateDB), schema.StateACLRule)
	if err := state.Set(t.Context(), "TAM|F1", swss.FieldValues{"status": "Active", "reason": "",
		"by": "orchagent"}); err != nil {
		t.Fatal(err)
	}
	b.Do("restart")
	if got, want := b.Status("ACL_RULE_TABLE|TAM|F1"), "Active (orchagent)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if n := b.Pending(schema.AppACLRule); n != 0 {
		t.Errorf("%d rows forwarded again", n)
	}
	if err := state.Del(t.Context(), "TAM|F1"); err != nil {
		t.Fatal(err)
	}
	b.Do("restart")
	if n := b.Pending(schema.AppACLRule); n != 1 {
		t.Errorf("%d rows forwarded for a lost status, want 1", n)
	}
	if got, want := b.Status("ACL_RULE_TABLE|TAM|F1"), "Pending creation: waiting for orchagent (orchagent)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// When Redis restarts with its old content or with less, the managers restore the missing rows.
func TestRedisRestart(t *testing.T) {
	for _, kept := range []bool{true, false} {
		server := swsstest.StartServer(t)
		b := newBench(t, server.Open())
		b.Do(metadata, capable, active, group1, rule1, session1)
		b.Appl(applTables...)
		server.Stop() // saves
		server.Start()
		b.WaitUp()
		want := slices.Concat(b.Appl(applTables...), b.States(stateTables...))
		b.Do("-TAM_TAILSTAMPING_TABLE|s1", "ACL_RULE|TAM|F1 DSCP=3")
		if kept {
			b.Do(session1, rule1)
			server.Stop()
		} else {
			server.Kill()
		}
		server.Start()
		b.WaitUp()
		b.Step()
		if d := cmp.Diff(want, slices.Concat(b.Appl(applTables...), b.States(stateTables...))); d != "" {
			t.Errorf("kept %v: %s", kept, d)
		}
	}
}

// While Redis is unavailable, a step returns that error.
func TestRedisAway(t *testing.T) {
	server := swsstest.StartServer(t)
	b := newBench(t, server.Open())
	b.Do(rule1)
	server.Stop()
	if err := b.TryStep(); !errors.Is(err, swss.ErrUnavailable) {
		t.Errorf("got %v, want %v", err, swss.ErrUnavailable)
	}
}
