package forward

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

const waiting = "pending|waiting for orchagent|orchagent"

// start returns a book of one table and a look at what is there: the row k of
// T in APPL_DB, as orchagent receives it, and its status.
func start(t *testing.T, fields ...string) (book func() *Book, row func() swss.FieldValues, status func() string) {
	r := swsstest.Start(t)
	d := orch.NewDaemon("tammgrd", r, orch.Options{})
	listener := swss.NewListener(r)
	t.Cleanup(func() { d.Close(); listener.Close() })
	consumer := swss.NewConsumerState(listener, r.DB(swss.ApplDB), "T")
	last := swss.FieldValues(nil)
	book = func() *Book { return New(d, r, Table{Appl: "T", State: "S", Fields: fields}) }
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
	return book, row, status
}

func flush(t *testing.T, b *Book) {
	t.Helper()
	if err := b.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestBook(t *testing.T) {
	k, s := Row{"T", "k"}, Row{"S", "k"}
	steps := []struct {
		name   string
		do     func(*Book)
		row    swss.FieldValues
		status string
	}{
		{"forward", func(b *Book) { b.Forward(k, swss.FieldValues{"a": "1", "b": "2"}, s) }, swss.FieldValues{"a": "1", "b": "2"}, waiting},
		{"lose a field", func(b *Book) { b.Forward(k, swss.FieldValues{"a": "3"}, s) }, swss.FieldValues{"a": "3"}, waiting},
		{"withdraw", func(b *Book) { b.Drop(k); b.Tell(s, "failed", "no") }, nil, "failed|no|tammgrd"},
		{"forward again", func(b *Book) { b.Forward(k, swss.FieldValues{"a": "3"}, s) }, swss.FieldValues{"a": "3"}, waiting},
		{"keep and tell", func(b *Book) { b.Keep(k, swss.FieldValues{"a": "4"}); b.Tell(s, "active", "") }, swss.FieldValues{"a": "4"}, "active||tammgrd"},
		{"gone", func(b *Book) { b.Drop(k); b.Forget(s) }, nil, ""},
	}
	// Each step by the same book, and by one that starts on what the last left.
	for _, fresh := range []bool{false, true} {
		book, row, status := start(t)
		b := book()
		for _, step := range steps {
			if fresh {
				b = book()
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

// What a book finds and nobody wants goes; what others own in a row stays.
func TestBookLeftOver(t *testing.T) {
	book, row, status := start(t, "a", "b")
	b := book()
	b.Forward(Row{"T", "k"}, swss.FieldValues{"a": "1", "b": "2", "other": "3"}, Row{"S", "k"})
	flush(t, b)
	row()
	b = book()
	b.Forward(Row{"T", "k"}, swss.FieldValues{"a": "1"}, Row{"S", "k"})
	flush(t, b)
	if d := cmp.Diff(swss.FieldValues{"a": "1", "other": "3"}, row()); d != "" {
		t.Error(d)
	}
	flush(t, book())
	if got := row(); got != nil || status() != "" {
		t.Errorf("left: %v, %s", got, status())
	}
}
