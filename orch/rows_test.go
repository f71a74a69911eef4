package orch_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// collect waits for n tasks, in any order.
func collect(t *testing.T, tasks <-chan string, n int) []string {
	t.Helper()
	var got []string
	for range n {
		select {
		case task := <-tasks:
			got = append(got, task)
		case <-time.After(20 * time.Second):
			t.Fatalf("only %v", got)
		}
	}
	slices.Sort(got)
	return got
}

// Redis publishes no event for the rows that FLUSHDB deletes. The daemon detects this, even if rows are written again
// before it looks.
func TestEmptiedDatabase(t *testing.T) {
	for name, start := range map[string]func(*testing.T) *swss.Redis{
		"embedded": func(t *testing.T) *swss.Redis { return swsstest.Start(t) },
		"real":     func(t *testing.T) *swss.Redis { return swsstest.StartServer(t).Open() },
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t)
			ctx, db := t.Context(), r.DB(swss.ConfigDB)
			table := swss.NewTable(db, "T")
			rows := map[string]swss.FieldValues{"a": {"f": "1"}, "b": nil, "c": nil}
			if err := table.SetMany(ctx, rows); err != nil {
				t.Fatal(err)
			}
			flushed := make(chan struct{}, 10)
			d, tasks := live(t, r, orch.Options{})
			if err := d.Do(ctx, func() { d.OnFlush(func() { flushed <- struct{}{} }) }); err != nil {
				t.Fatal(err)
			}
			expect(t, tasks, "SET a", "SET b", "SET c")
			pipe := db.Client().TxPipeline()
			pipe.FlushDB(ctx)
			pipe.HSet(ctx, "T|b", "NULL", "NULL")
			if _, err := pipe.Exec(ctx); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff([]string{"DEL a", "DEL c", "SET b"}, collect(t, tasks, 3)); d != "" {
				t.Error(d)
			}
			<-flushed
			if err := db.Client().FlushAll(ctx).Err(); err != nil {
				t.Fatal(err)
			}
			expect(t, tasks, "DEL b")
			if err := table.Set(ctx, "a", nil); err != nil {
				t.Fatal(err)
			}
			expect(t, tasks, "SET a")
		})
	}
}

// A real Redis counts the commands that empty databases, so an emptied database is detected even if it now has more
// rows than before.
func TestEmptiedAndFilled(t *testing.T) {
	r := swsstest.StartServer(t).Open()
	ctx, db := t.Context(), r.DB(swss.ConfigDB)
	if err := swss.NewTable(db, "T").Set(ctx, "old", nil); err != nil {
		t.Fatal(err)
	}
	_, tasks := live(t, r, orch.Options{})
	expect(t, tasks, "SET old")
	pipe := db.Client().TxPipeline()
	pipe.FlushDB(ctx)
	pipe.HSet(ctx, "T|new1", "NULL", "NULL")
	pipe.HSet(ctx, "T|new2", "NULL", "NULL")
	if _, err := pipe.Exec(ctx); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"DEL old", "SET new1", "SET new2"}, collect(t, tasks, 3)); d != "" {
		t.Error(d)
	}
}
