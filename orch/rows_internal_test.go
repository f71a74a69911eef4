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
		if err := d.check(t.Context()); err != nil || emptied != want {
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

// A row that is gone when an emptied database is looked at is delivered as gone, also if it was received just before.
func TestRowReceivedBeforeItIsGone(t *testing.T) {
	r := swsstest.Start(t)
	db := r.DB(swss.ConfigDB)
	l := swss.NewListener(r)
	defer l.Close()
	s := newRows(swss.NewSubscriber(l, db, "T"))
	if err := s.table.Set(t.Context(), "row", nil); err != nil {
		t.Fatal(err)
	}
	received, err := s.Pops(t.Context())
	if err != nil || len(received) != 1 {
		t.Fatal(received, err)
	}
	if err := s.table.Set(t.Context(), "row", swss.FieldValues{"a": "1"}); err != nil {
		t.Fatal(err)
	}
	if err := l.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.look = true
	s.table = swss.NewTable(r.DB(swss.StateDB), "T") // CONFIG_DB is emptied after the row was read
	items, err := s.Pops(t.Context())
	if err != nil || len(items) != 2 || items[0].Op != swss.OpSet || items[1].Op != swss.OpDel {
		t.Errorf("%v, %v", items, err)
	}
}
