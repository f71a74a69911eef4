package device

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/schema"
	"tamtam/swss"
	"tamtam/swss/drift"
	"tamtam/swss/swsstest"
)

// An alarm is raised when a daemon is gone, is not ready, or has seen drift, and goes when that is over; its time is when
// it was raised.
func TestAlarms(t *testing.T) {
	r := swsstest.Start(t)
	state := r.DB(swss.StateDB)
	a := newAlarms(r)
	now := time.Unix(1_000_000, 0)
	tell := func(name, reason string) {
		h := newHealth(name)
		h.tell(reason)
		h.renew(t.Context(), r)
	}
	compared := func(s drift.State) {
		if err := swss.NewTable(state, drift.Table).Set(t.Context(), "syncd", s.Row()); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range daemons {
		tell(name, "")
	}
	// A mgmtd that is gone may have left one.
	if err := swss.NewTable(state, schema.StateAlarm).Set(t.Context(), "old", swss.FieldValues{"text": "old"}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		passes time.Duration
		do     func()
		want   string // "id severity text@seconds", by id
	}{
		{"all is well", 0, func() {}, ""},
		{"one waits", time.Second, func() { tell("syncd", "Redis is full") }, "syncd-not-ready MAJOR Redis is full@1"},
		{"for something else", time.Second, func() { tell("syncd", "Redis is away") }, "syncd-not-ready MAJOR Redis is away@1"},
		{"for nothing", time.Second, func() { tell("syncd", "") }, ""},
		{"drift, healed before anybody looked", time.Second, func() { compared(drift.State{Passes: 1, Drift: 2, Healed: 2}) },
			"syncd-drift WARNING drift was seen 2 times and healed 2 times since the process began@4"},
		{"a while later", alarmsStay - time.Second, func() {}, "syncd-drift WARNING drift was seen 2 times and healed 2 times since the process began@4"},
		{"it is over", time.Second, func() {}, ""},
		{"drift that is there", time.Minute, func() { compared(drift.State{Passes: 2, Drift: 3, Healed: 2, Reason: "a row is gone"}) },
			"syncd-drift WARNING drift was seen 3 times and healed 2 times since the process began; now: a row is gone@74"},
		{"and stays", time.Hour, func() {}, "syncd-drift WARNING drift was seen 3 times and healed 2 times since the process began; now: a row is gone@74"},
		{"another process begins to count", alarmsStay, func() { compared(drift.State{Passes: 1}) }, ""},
		{"one is gone", 0, func() {
			if err := state.Client().Del(t.Context(), "TAMTAM_HEALTH|orchagent").Err(); err != nil {
				t.Fatal(err)
			}
		}, ""},
		{"for long", silentAfter + time.Second, func() {}, "orchagent-silent CRITICAL nothing was heard of orchagent since 1970-01-12T14:48:04Z@3695"},
		{"it is there again", time.Second, func() { tell("orchagent", "") }, ""},
	} {
		now = now.Add(tt.passes)
		for _, name := range daemons { // whose row would end by the wall clock
			if err := state.Client().Persist(t.Context(), "TAMTAM_HEALTH|"+name).Err(); err != nil {
				t.Fatal(err)
			}
		}
		tt.do()
		if err := a.look(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		rows, err := swss.NewTable(state, schema.StateAlarm).Dump(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, id := range slices.Sorted(maps.Keys(rows)) {
			row := rows[id]
			at, _ := strings.CutSuffix(row[schema.AlarmCreated], "000000000")
			got = append(got, id+" "+row[schema.AlarmSeverity]+" "+row[schema.AlarmText]+"@"+strings.TrimLeft(strings.TrimPrefix(at, "100"), "0"))
		}
		if text := strings.Join(got, "\n"); text != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, text, tt.want)
		}
	}
}
