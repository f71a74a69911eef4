package orch

import (
	"context"
	"fmt"
	"testing"
	"time"

	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// If many rows are deleted one by one, the database does not count as emptied, although fewer rows are left than the
// daemon has handled. An emptied database is detected even on a server that does not count commands.
func TestManyDeletesEmptyNoDatabase(t *testing.T) {
	r := swsstest.Start(t)
	db := r.DB(swss.ConfigDB)
	table := swss.NewTable(db, "T")
	rows := map[string]swss.FieldValues{}
	var keys []string
	for i := range 301 {
		keys = append(keys, fmt.Sprint("row", i))
		rows[keys[i]] = nil
	}
	if err := table.SetMany(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	d := NewDaemon("d", r, Options{})
	defer d.Close()
	source := func(l *swss.Listener) swss.Source { return swss.NewSubscriber(l, db, "T") }
	handle := func(context.Context, Task) error { return nil }
	d.Consume(source, "T", Each(handle), Reporting{None: true})
	emptied := 0
	d.OnFlush(func() { emptied++ })
	if _, err := d.Step(t.Context(), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	look := func(what string, want int) {
		t.Helper()
		if err := d.watchFlush(t.Context(), time.Time{}); err != nil || emptied != want {
			t.Errorf("%s: %v, emptied %d, want %d", what, err, emptied, want)
		}
	}
	look("all rows are there", 0)
	if err := table.DelMany(t.Context(), keys[:300]); err != nil {
		t.Fatal(err)
	}
	look("after the deletes", 0)
	if _, err := d.Step(t.Context(), time.Unix(2, 0)); err != nil {
		t.Fatal(err)
	}
	if err := db.Client().FlushDB(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	look("after FLUSHDB", 1)
}
