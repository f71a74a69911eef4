package daemons

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// Objects that have failed raise one alarm per table and cause, with a count and the first names. The same holds for
// objects that wait for more than a minute. The alarm ends with its last object. Objects that are not in force are
// logged once.
func TestObjectAlarms(t *testing.T) {
	r := swsstest.Start(t)
	l := swss.NewListener(r)
	defer l.Close()
	state, config := r.DB(swss.StateDB).Client(), r.DB(swss.ConfigDB).Client()
	a := NewAlarms(r)
	a.objects = newBadObjects(l, r)
	var logged []string
	a.warn = func(text string) { logged = append(logged, text) }
	row := func(key, status, reason string, since time.Time) {
		t.Helper()
		if err := state.HSet(t.Context(), key, "status", status, "reason", reason, "since",
			since.Format(time.RFC3339Nano)).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := config.HSet(t.Context(), "PORT|Ethernet0", "speed", "1").Err(); err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	look := func(now time.Time) string {
		t.Helper()
		if err := l.Sync(t.Context()); err != nil { // all writes have been received
			t.Fatal(err)
		}
		if err := a.Look(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		rows, err := swss.NewTable(r.DB(swss.StateDB), schema.StateAlarm).Dump(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, id := range slices.Sorted(maps.Keys(rows)) {
			if kind := rows[id][schema.AlarmType]; strings.HasPrefix(kind, "OBJECTS_") {
				got = append(got, rows[id][schema.AlarmResource]+" "+rows[id][schema.AlarmSeverity]+" "+rows[id][schema.AlarmText])
			}
		}
		slices.Sort(got)
		return strings.Join(got, "\n")
	}
	check := func(now time.Time, want ...string) {
		t.Helper()
		if got := look(now); got != strings.Join(want, "\n") {
			t.Errorf("at %s:\n%s\nwant\n%s", now.Sub(start), got, strings.Join(want, "\n"))
		}
	}
	row("PORT_TABLE|Ethernet0", "active", "", start)
	check(start)
	for i := range 7 {
		row(fmt.Sprintf("PORT_TABLE|Ethernet%d", 4+4*i), "failed", fmt.Sprintf("lanes %q: there is no such lane",
			fmt.Sprint(9000+i)), start)
	}
	row("PORT_TABLE|Ethernet100", "failed", `alias "x": it is another port's`, start)
	row("INTERFACE_TABLE|Vlan7|10.0.0.1/24", "pending", "there is no VLAN Vlan7", start)
	failed := []string{
		`PORT MAJOR 1 failed: Ethernet100: alias "x": it is another port's`,
		`PORT MAJOR 7 failed: Ethernet4, Ethernet8, Ethernet12, Ethernet16, Ethernet20 and 2 more: lanes "9000": there is ` +
			`no such lane`,
	}
	pending := "VLAN_INTERFACE WARNING 1 pending for more than a minute: Vlan7|10.0.0.1/24: there is no VLAN Vlan7"
	check(start.Add(pendingLimit), failed...)
	check(start.Add(pendingLimit+time.Second), append(failed, pending)...)
	row("INTERFACE_TABLE|Vlan7|10.0.0.1/24", "active", "", start)
	row("PORT_TABLE|Ethernet100", "active", "", start)
	check(start.Add(2*pendingLimit), failed[1])
	if err := state.Del(t.Context(), "PORT_TABLE|Ethernet4", "PORT_TABLE|Ethernet8").Err(); err != nil {
		t.Fatal(err)
	}
	check(start.Add(2*pendingLimit+time.Second),
		`PORT MAJOR 5 failed: Ethernet12, Ethernet16, Ethernet20, Ethernet24, Ethernet28: lanes "9002": there is no such `+
			`lane`)
	if len(logged) != 1 || !strings.HasPrefix(logged[0], "9 rows are not in force: PORT|Ethernet100 (failed: alias ") ||
		!strings.HasSuffix(logged[0], " and 4 more; see show failed, show pending, show unapplied") {
		t.Errorf("logged %q", logged)
	}
}

// With any number of causes, a table has a bounded number of alarms.
func TestObjectAlarmsAreBounded(t *testing.T) {
	o := &badObjects{bad: map[string]badObject{}}
	for i := range 200 {
		letter := string(rune('a'+i%26)) + string(rune('a'+i/26))
		o.bad[letter] = badObject{table: "PORT", name: letter, class: schema.Failed, reason: "no " + letter}
	}
	want := map[string]swss.FieldValues{}
	o.raise(time.Time{}, want)
	sum := 0
	for _, row := range want {
		n := 0
		fmt.Sscan(row[schema.AlarmText], &n)
		sum += n
	}
	if len(want) != maxCauses || sum != len(o.bad) {
		t.Errorf("%d alarms of %d objects", len(want), sum)
	}
}
