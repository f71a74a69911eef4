package orch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

var start = time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)

// A bench is a daemon under test with two tables, "A" and then "B". Its handler logs each task and returns the result
// of answer.
type bench struct {
	t      testing.TB
	r      *swss.Redis
	d      *orch.Daemon
	a, b   *swss.ProducerState
	log    []string
	answer func(orch.Task) error // result of a task; nil means that all tasks are done
	now    time.Time
}

func newBench(t testing.TB, name string) *bench { return newBenchOn(t, swsstest.Start(t), name) }

func newBenchOn(t testing.TB, r *swss.Redis, name string) *bench {
	x := &bench{t: t, r: r, now: start}
	x.d = orch.NewDaemon(name, r, orch.Options{})
	t.Cleanup(func() { x.d.Close() })
	appl := r.DB(swss.ApplDB)
	x.a, x.b = swss.NewProducerState(appl, "A"), swss.NewProducerState(appl, "B")
	h := orch.HandlerFunc(func(_ context.Context, tasks []orch.Task) []error {
		errs := make([]error, len(tasks))
		for i, task := range tasks {
			line := fmt.Sprint(task.Op, " ", task.Table, ":", task.Key)
			for _, p := range swss.Pairs(task.Fields) {
				line += " " + p.Field + "=" + p.Value
			}
			x.log = append(x.log, line)
			if x.answer != nil {
				errs[i] = x.answer(task)
			}
		}
		return errs
	})
	for _, table := range []string{"A", "B"} {
		x.d.Consume(func(l *swss.Listener) swss.Source { return swss.NewConsumerState(l, appl, table) },
			table, h, orch.Reporting{
				StateTable: "STATE_" + table, Formerly: func(key string) bool { return key == "without-effect" },
			})
	}
	return x
}

// step steps the daemon and returns the tasks of the handler.
func (x *bench) step() []string {
	x.t.Helper()
	if _, err := x.d.Step(x.t.Context(), x.now); err != nil {
		x.t.Fatal(err)
	}
	log := x.log
	x.log = nil
	return log
}

func (x *bench) set(p *swss.ProducerState, key string, fields ...string) {
	x.t.Helper()
	var pairs []swss.Pair
	for i := 0; i < len(fields); i += 2 {
		pairs = append(pairs, swss.Pair{Field: fields[i], Value: fields[i+1]})
	}
	if err := p.Set(x.t.Context(), key, pairs); err != nil {
		x.t.Fatal(err)
	}
}

func (x *bench) del(p *swss.ProducerState, key string) {
	x.t.Helper()
	if err := p.Del(x.t.Context(), key); err != nil {
		x.t.Fatal(err)
	}
}

// state returns a STATE_DB row as text, or "" if there is none.
func (x *bench) state(table, key string) string {
	x.t.Helper()
	fv, ok, err := swss.NewTable(x.r.DB(swss.StateDB), table).Get(x.t.Context(), key)
	if err != nil {
		x.t.Fatal(err)
	}
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s|%s|%s|%s", fv["status"], fv["reason"], fv["since"], fv["by"])
}

func (x *bench) resolve(kind, name string) {
	x.t.Helper()
	if err := x.d.Do(x.t.Context(), func() { x.d.Resolve(orch.Dep{Kind: kind, Name: name}) }); err != nil {
		x.t.Fatal(err)
	}
}

func (x *bench) want(got []string, want ...string) {
	x.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		x.t.Errorf("handled (-want +got):\n%s", diff)
	}
}

func TestDeleteOfWaitingRowReachesHandler(t *testing.T) {
	x := newBench(t, "orchagent")
	x.answer = func(task orch.Task) error {
		if task.Op == orch.Set {
			return orch.Wait("port", "Ethernet0", "")
		}
		return nil
	}
	x.set(x.a, "k", "f", "1")
	x.want(x.step(), "SET A:k f=1")
	if got, want := x.state("STATE_A", "k"),
		"pending|waiting for port Ethernet0|2025-01-02T03:04:05Z|orchagent"; got != want {
		t.Errorf("state %q, want %q", got, want)
	}
	x.del(x.a, "k")
	x.want(x.step(), "DEL A:k")
	if got := x.state("STATE_A", "k"); got != "" {
		t.Errorf("state of a deleted row: %q", got)
	}
	x.resolve("port", "Ethernet0")
	x.want(x.step())
	if d := x.d.Dump(); len(d.Pending)+len(d.Parked) > 0 {
		t.Errorf("left over: %+v", d)
	}
}

func TestParkedRow(t *testing.T) {
	ready := false
	x := newBench(t, "orchagent")
	x.answer = func(task orch.Task) error {
		if !ready {
			return fmt.Errorf("binding: %w", orch.Wait("port", "p", "port %s is missing", "p"))
		}
		return nil
	}
	x.set(x.a, "k", "f", "1")
	x.want(x.step(), "SET A:k f=1")
	x.want(x.step()) // the task is not retried by itself
	if diff := cmp.Diff(map[orch.Dep][]string{{Kind: "port", Name: "p"}: {"A k SET"}}, x.d.Dump().Parked); diff != "" {
		t.Errorf("parked: %s", diff)
	}
	x.set(x.a, "k", "g", "2") // new work wakes it
	x.want(x.step(), "SET A:k f=1 g=2")
	x.resolve("port", "other")
	x.want(x.step())
	ready = true
	x.resolve("port", "p")
	x.want(x.step(), "SET A:k f=1 g=2")
	if got := x.state("STATE_A", "k"); !strings.HasPrefix(got, "active||") {
		t.Errorf("state %q", got)
	}
}

func TestResolvedInSameBatch(t *testing.T) {
	x := newBench(t, "orchagent")
	have := false
	x.answer = func(task orch.Task) error {
		switch {
		case task.Key == "b": // b is handled after a
			have = true
			x.d.Resolve(orch.Dep{Kind: "thing", Name: "b"})
		case !have:
			return orch.Wait("thing", "b", "")
		}
		return nil
	}
	x.set(x.a, "a", "f", "1")
	x.set(x.a, "b", "f", "1")
	x.want(x.step(), "SET A:a f=1", "SET A:b f=1", "SET A:a f=1")
}

func TestDeleteThatWaitsHoldsBackTheSet(t *testing.T) {
	x := newBench(t, "orchagent")
	free := false
	x.answer = func(task orch.Task) error {
		if task.Op == orch.Del && !free {
			return orch.Wait("users of", "k", "")
		}
		return nil
	}
	x.set(x.a, "k", "f", "1")
	x.step()
	x.del(x.a, "k")
	x.want(x.step(), "DEL A:k")
	x.set(x.a, "k", "f", "2") // a new set wakes the delete, which waits again
	x.want(x.step(), "DEL A:k")
	free = true
	x.resolve("users of", "k")
	x.want(x.step(), "DEL A:k", "SET A:k f=2")
}

// TestOrder: tables are handled in the order of their registration, deletes first, sorted by key.
func TestOrder(t *testing.T) {
	x := newBench(t, "orchagent")
	x.set(x.b, "1", "f", "1")
	x.set(x.a, "2", "f", "1")
	x.set(x.a, "10", "f", "1")
	x.want(x.step(), "SET A:10 f=1", "SET A:2 f=1", "SET B:1 f=1")
	x.set(x.a, "0", "f", "1")
	x.del(x.a, "2")
	x.del(x.a, "10")
	x.want(x.step(), "DEL A:10", "DEL A:2", "SET A:0 f=1")
}

func TestMerge(t *testing.T) {
	x := newBench(t, "orchagent")
	x.set(x.a, "k", "f", "1")
	x.set(x.a, "k", "g", "2")
	x.want(x.step(), "SET A:k f=1 g=2")
	x.set(x.a, "k", "f", "3") // the set is merged, and the handler receives the whole row
	x.want(x.step(), "SET A:k f=3 g=2")
	x.del(x.a, "k")
	x.set(x.a, "k", "h", "4") // after a delete the set is the whole row
	x.want(x.step(), "SET A:k h=4")
	x.set(x.a, "k", "h", "5")
	x.del(x.a, "k")
	x.want(x.step(), "DEL A:k")
	x.set(x.a, "empty")
	x.want(x.step(), "SET A:empty")
}

func TestRestartDeliversExistingRows(t *testing.T) {
	x := newBench(t, "orchagent")
	x.set(x.a, "k1", "f", "1")
	x.set(x.a, "k2", "f", "2")
	x.step()
	x.d.Close()
	x.del(x.a, "k1") // the row is deleted while the daemon is away
	x.set(x.a, "k3", "f", "3")
	y := newBenchOn(t, x.r, "orchagent")
	y.want(y.step(), "DEL A:k1", "SET A:k2 f=2", "SET A:k3 f=3")
}

func TestOutcomes(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want string // status and reason
		held bool   // true if the task is not finished
	}{
		{"done", nil, "active|", false},
		{"waits", orch.Wait("port", "p", "why %d", 1), "pending|why 1", true},
		{"invalid", &orch.InvalidError{Object: "rule r", Field: "PRIORITY", Value: "x", Want: "1..16000"},
			`failed|rule r: PRIORITY "x": want 1..16000`, false},
		{"several invalid fields", errors.Join(&orch.InvalidError{Field: "a"}, &orch.InvalidError{Field: "b"}),
			`failed|a ""; b ""`, false},
		{"invalid counts before waiting", errors.Join(orch.Wait("x", "y", ""), &orch.InvalidError{Field: "a"}),
			`failed|waiting for x y; a ""`, false},
		{"another package's invalid field", fmt.Errorf("row: %w", otherInvalid{}), "failed|row: bad", false},
		{"table full", &sai.CallError{Op: "create", Type: sai.ObjectTypeACLEntry, Status: sai.StatusTableFull},
			"pending|create SAI_OBJECT_TYPE_ACL_ENTRY: SAI_STATUS_TABLE_FULL", true},
		{"no such object to remove", &sai.CallError{Op: "remove", Type: sai.ObjectTypeACLEntry,
			Status: sai.StatusItemNotFound}, "active|", false},
		{"refused", &sai.CallError{Op: "create", Type: sai.ObjectTypeACLEntry, Status: sai.StatusInvalidParameter},
			"failed|create SAI_OBJECT_TYPE_ACL_ENTRY: SAI_STATUS_INVALID_PARAMETER", false},
		{"anything else", errors.New("boom"), "failed|boom", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := newBench(t, "orchagent")
			x.answer = func(orch.Task) error { return tt.err }
			x.set(x.a, "k", "f", "1")
			x.step()
			want := tt.want + "|2025-01-02T03:04:05Z|orchagent"
			if got := x.state("STATE_A", "k"); got != want {
				t.Errorf("state %q\nwant  %q", got, want)
			}
			if d := x.d.Dump(); (len(d.Parked) > 0) != tt.held || len(d.Pending) > 0 {
				t.Errorf("left over: %+v", d)
			}
		})
	}
}

type otherInvalid struct{}

func (otherInvalid) Error() string { return "bad" }
func (otherInvalid) InvalidField() {}

// TestRoomOnTheSwitch: a task without capacity is retried when something was removed.
func TestRoomOnTheSwitch(t *testing.T) {
	x := newBench(t, "orchagent")
	room := 1
	x.answer = func(task orch.Task) error {
		if task.Op == orch.Del {
			room++
			return nil
		}
		if room == 0 {
			return &sai.CallError{Op: "create", Type: sai.ObjectTypeACLEntry, Status: sai.StatusInsufficientResources}
		}
		room--
		return nil
	}
	x.set(x.a, "a", "f", "1")
	x.set(x.a, "b", "f", "1")
	x.set(x.a, "c", "f", "1")
	x.want(x.step(), "SET A:a f=1", "SET A:b f=1", "SET A:c f=1")
	x.want(x.step())
	x.del(x.a, "a")
	x.want(x.step(), "DEL A:a", "SET A:b f=1", "SET A:c f=1")
	if got := x.state("STATE_A", "b"); !strings.HasPrefix(got, "active|") {
		t.Errorf("b is %q", got)
	}
	if got := x.state("STATE_A", "c"); !strings.HasPrefix(got, "pending|") {
		t.Errorf("c is %q", got)
	}
}

func TestHandlersThatWakeEachOtherAreFound(t *testing.T) {
	x := newBench(t, "orchagent")
	x.answer = func(task orch.Task) error {
		x.d.Resolve(orch.Dep{Kind: "x"})
		return orch.Wait("x", "", "")
	}
	x.set(x.a, "k", "f", "1")
	_, err := x.d.Step(t.Context(), start)
	if err == nil || !strings.Contains(err.Error(), "A does not settle: k") {
		t.Errorf("error %v", err)
	}
}

func TestStepSaysWhetherItWorked(t *testing.T) {
	x := newBench(t, "orchagent")
	for _, want := range []bool{false, true, false} {
		if want {
			x.set(x.a, "k", "f", "1")
		}
		got, err := x.d.Step(t.Context(), start)
		if err != nil || got != want {
			t.Errorf("worked %v, %v; want %v", got, err, want)
		}
	}
}

// TestChainWithinOneStep: a row that a handler writes to a table of the daemon is handled in the same step.
func TestChainWithinOneStep(t *testing.T) {
	x := newBench(t, "tammgrd")
	x.answer = func(task orch.Task) error {
		if task.Table == "B" {
			return x.a.Set(t.Context(), "from-"+task.Key, []swss.Pair{{Field: "f", Value: "1"}})
		}
		return nil
	}
	x.set(x.b, "k", "f", "1")
	x.want(x.step(), "SET B:k f=1", "SET A:from-k f=1")
}
