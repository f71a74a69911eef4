package orch_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

func TestRecorder(t *testing.T) {
	r := swsstest.Start(t)
	var rec strings.Builder
	d := orch.NewDaemon("orchagent", r, orch.Options{Recorder: &rec})
	defer d.Close()
	d.Consume(func(l *swss.Listener) swss.Source { return swss.NewSubscriber(l, r.DB(swss.ConfigDB), "PORT") }, "PORT",
		orch.Each(func(context.Context, orch.Task) error { return nil }), orch.Reporting{None: true})
	table := swss.NewTable(r.DB(swss.ConfigDB), "PORT")
	if err := table.Set(t.Context(), "Ethernet0", swss.FieldValues{"speed": "100000", "lanes": "1,2"}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Step(t.Context(), start); err != nil {
		t.Fatal(err)
	}
	if err := table.Del(t.Context(), "Ethernet0"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Step(t.Context(), start.Add(1500*time.Microsecond)); err != nil {
		t.Fatal(err)
	}
	want := "2025-01-02.03:04:05.000000|PORT:Ethernet0|SET|lanes:1,2|speed:100000\n" +
		"2025-01-02.03:04:05.001500|PORT:Ethernet0|DEL\n"
	if rec.String() != want {
		t.Errorf("recorded\n%swant\n%s", rec.String(), want)
	}
}

func TestReceive(t *testing.T) {
	r := swsstest.Start(t)
	d := orch.NewDaemon("orchagent", r, orch.Options{})
	defer d.Close()
	var got []string
	d.Receive(func(l *swss.Listener) swss.Source {
		return swss.NewNotificationConsumer(l, r.DB(swss.ASICDB), "NOTIFICATIONS")
	}, func(_ context.Context, m swss.KeyOpFieldsValues) error {
		got = append(got, m.Op+" "+m.Key)
		if m.Key == "bad" {
			return errors.New("no")
		}
		return nil
	})
	if _, err := d.Step(t.Context(), start); err != nil {
		t.Fatal(err)
	}
	p := swss.NewNotificationProducer(r.DB(swss.ASICDB), "NOTIFICATIONS")
	for _, data := range []string{"z", "bad", "a"} {
		if n, err := p.Send(t.Context(), "fdb_event", data, nil); err != nil || n != 1 {
			t.Fatalf("%d received it, %v", n, err)
		}
	}
	if _, err := d.Step(t.Context(), start); err == nil || !strings.Contains(err.Error(), "NOTIFICATIONS: no") {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff([]string{"fdb_event z", "fdb_event bad", "fdb_event a"}, got); diff != "" {
		t.Error(diff)
	}
}
