package daemons

import (
	"context"
	"testing"
	"time"

	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// If the ASIC's state becomes known before the configuration is applied, ports would stay unknown. They are reported
// once it is applied.
func TestUnknownBeforeTheViewIsApplied(t *testing.T) {
	r := swsstest.Start(t)
	port := swss.NewTable(r.DB(swss.StateDB), schema.StatePort)
	if err := port.Set(t.Context(), "Ethernet0", swss.FieldValues{schema.FieldOperStatus: schema.OperUp}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []swss.DBName{swss.StateDB, swss.ApplDB} {
		if err := r.DB(name).Client().HSet(t.Context(), swss.KeyMark, "orchagent", "me").Err(); err != nil {
			t.Fatal(err)
		}
	}
	d, calls := newASICState(r, &health{owner: "me", news: make(chan struct{}, 1)}, logOf(Common{})), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go d.run(ctx, func(context.Context) error { calls <- struct{}{}; return nil })
	d.say("syncd is gone")
	for status := ""; status != schema.OperUnknown; {
		row, _, err := port.Get(t.Context(), "Ethernet0")
		if err != nil {
			t.Fatal(err)
		}
		status = row[schema.FieldOperStatus]
	}
	d.say("")
	d.applied()
	select {
	case <-calls:
	case <-time.After(3 * time.Minute):
		t.Error("the port is never told")
	}
}

// If other clients soon make requests again, orchagent waits longer, up to a minute. Otherwise the earlier requests are
// forgotten.
func TestStrangersAreWaitedForLonger(t *testing.T) {
	var s strangers
	for _, tt := range []struct {
		them   bool
		lasted time.Duration
		quiet  time.Duration
	}{
		{true, time.Hour, 2 * time.Second}, {true, time.Second, 4 * time.Second}, {false, time.Second, 4 * time.Second},
		{true, maxQuiet, 8 * time.Second}, {true, 0, 16 * time.Second}, {true, 0, 32 * time.Second}, {true, 0, maxQuiet},
		{true, 0, maxQuiet}, {true, maxQuiet + 1, 2 * time.Second}, {false, time.Hour, 0},
	} {
		s.met(tt.them, tt.lasted)
		if s.quiet != tt.quiet || s.there != tt.them {
			t.Errorf("after %+v: waits %v for %s", tt, s.there, s.quiet)
		}
	}
}
