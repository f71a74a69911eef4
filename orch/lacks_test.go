package orch

import (
	"context"
	"testing"
	"time"

	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// Two handlers of one table received the same rows. Together they received more rows than the database has, but that
// does not mean that it was emptied.
func TestTwoHandlersOfOneTable(t *testing.T) {
	r := swsstest.Start(t)
	rows := swss.NewTable(r.DB(swss.ConfigDB), "T")
	if err := rows.Set(t.Context(), "row", nil); err != nil {
		t.Fatal(err)
	}
	d := NewDaemon("d", r, Options{})
	defer d.Close()
	for range 2 {
		d.Consume(func(l *swss.Listener) swss.Source { return swss.NewSubscriber(l, r.DB(swss.ConfigDB), "T") }, "T",
			Each(func(context.Context, Task) error { return nil }), Reporting{StateTable: "S"})
	}
	if _, err := d.Step(t.Context(), time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	lacks := func() (bool, error) {
		p, err := r.Pulse(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return d.lacksRows(t.Context(), p)
	}
	if lacks, err := lacks(); err != nil || lacks {
		t.Errorf("with the row there: %v, %v", lacks, err)
	}
	if err := r.DB(swss.ConfigDB).Client().FlushDB(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if lacks, err := lacks(); err != nil || !lacks {
		t.Errorf("without: %v, %v", lacks, err)
	}
}
