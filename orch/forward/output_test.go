package forward

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

const waiting = "pending|waiting for orchagent|orchagent"

// start returns an output of one table, and functions that return the row k of T in APPL_DB, as orchagent receives
// it, and its status.
func start(t *testing.T, fields ...string) (out func() *Output, row func() swss.FieldValues, status func() string) {
	r := swsstest.Start(t)
	d := orch.NewDaemon("tammgrd", r, orch.Options{})
	listener := swss.NewListener(r)
	t.Cleanup(func() { d.Close(); listener.Close() })
	consumer := swss.NewConsumerState(listener, r.DB(swss.ApplDB), "T")
	last := swss.FieldValues(nil)
	out = func() *Output { return New(d, r, Table{Appl: "T", State: "S", Fields: fields}) }
	row = func() swss.FieldValues {
		t.Helper()
		if err := listener.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		rows, err := consumer.Pops(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, kfv := range rows {
			if last = nil; kfv.Op == swss.OpSet {
				last = kfv.FieldValues()
			}
		}
		return last
	}
	status = func() string {
		t.Helper()
		f, ok, err := swss.NewTable(r.DB(swss.StateDB), "S").Get(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return ""
		}
		return fmt.Sprintf("%s|%s|%s", f["status"], f["reason"], f["by"])
	}
	return out, row, status
}

func flush(t *testing.T, b *Output) {
	t.Helper()
	if err := b.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestOutput(t *testing.T) {
	k, s := Row{"T", "k"}, Row{"S", "k"}
	steps := []struct {
		name   string
		do     func(*Output)
		row    swss.FieldValues
		status string
	}{
		{"forward", func(b *Output) { b.Forward(k, swss.FieldValues{"a": "1", "b": "2"}, s) },
			swss.FieldValues{"a": "1", "b": "2"}, waiting},
		{"lose a field", func(b *Output) { b.Forward(k, swss.FieldValues{"a": "3"}, s) }, swss.FieldValues{"a": "3"},
			waiting},
		{"withdraw", func(b *Output) { b.Drop(k); b.Report(s, "failed", "no") }, nil, "failed|no|tammgrd"},
		{"forward again", func(b *Output) { b.Forward(k, swss.FieldValues{"a": "3"}, s) }, swss.FieldValues{"a": "3"},
			waiting},
		{"keep and tell", func(b *Output) { b.Keep(k, swss.FieldValues{"a": "4"}); b.Report(s, "active", "") },
			swss.FieldValues{"a": "4"}, "active||tammgrd"},
		{"gone", func(b *Output) { b.Drop(k); b.Unreport(s) }, nil, ""},
	}
	// Each step is done by the same output, and by one that starts from the state of the last.
	for _, fresh := range []bool{false, true} {
		out, row, status := start(t)
		b := out()
		for _, step := range steps {
			if fresh {
				b = out()
			}
			step.do(b)
			flush(t, b)
			if d := cmp.Diff(step.row, row()); d != "" {
				t.Errorf("%s (fresh %v): %s", step.name, fresh, d)
			}
			if got := status(); got != step.status {
				t.Errorf("%s (fresh %v): status %s, want %s", step.name, fresh, got, step.status)
			}
		}
	}
}

// Rows that an output finds and that are not requested are deleted. Other daemons' fields of a row stay.
func TestOutputLeftOver(t *testing.T) {
	out, row, status := start(t, "a", "b")
	b := out()
	b.Forward(Row{"T", "k"}, swss.FieldValues{"a": "1", "b": "2", "other": "3"}, Row{"S", "k"})
	flush(t, b)
	row()
	b = out()
	b.Forward(Row{"T", "k"}, swss.FieldValues{"a": "1"}, Row{"S", "k"})
	flush(t, b)
	if d := cmp.Diff(swss.FieldValues{"a": "1", "other": "3"}, row()); d != "" {
		t.Error(d)
	}
	flush(t, out())
	if got := row(); got != nil || status() != "" {
		t.Errorf("left: %v, %s", got, status())
	}
}

// If a flush fails after a row was deleted, and the row is set again before the next one, the row has its status. The
// deletion that is still queued does not take it away.
func TestDeletedAndSetAgainAfterAFailure(t *testing.T) {
	out, _, status := start(t)
	b, s := out(), Row{"S", "k"}
	b.Report(s, "failed", "no")
	flush(t, b)
	b.Unreport(s)
	away, cancel := context.WithCancel(t.Context())
	cancel()
	b.loaded = false // as while a flush is under way
	if err := b.flushState(away); err == nil {
		t.Fatal("Redis is away, and the status was written")
	}
	b.Report(s, "failed", "no")
	flush(t, b)
	if got := status(); got != "failed|no|tammgrd" {
		t.Errorf("status %q", got)
	}
}
