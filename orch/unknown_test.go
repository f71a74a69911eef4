package orch_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

var (
	then  = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	later = then.Add(time.Minute)
)

func setRow(t testing.TB, db *swss.DB, table, key string, row swss.FieldValues) {
	t.Helper()
	if err := swss.NewTable(db, table).Set(t.Context(), key, row); err != nil {
		t.Fatal(err)
	}
}

func getRow(t testing.TB, db *swss.DB, table, key string) swss.FieldValues {
	t.Helper()
	row, _, err := swss.NewTable(db, table).Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// While the state of the ASIC is unknown, each row that orchagent had reported as in force has its table's word for
// unknown. Afterwards the former status is restored. Rows that are not in force, and rows of other daemons, stay
// unchanged.
func TestUnknown(t *testing.T) {
	r := swsstest.Start(t)
	state, doubter := r.DB(swss.StateDB), orch.ASICMarker{Redis: r}
	const since, now, again = "2025-01-02T03:04:05Z", "2026-01-15T12:00:00Z", "2026-01-15T12:01:00Z"
	for _, table := range schema.StatusTables() {
		row := func(status, reason, since, by string) swss.FieldValues {
			row := swss.FieldValues{table.Status: status, "reason": reason, "since": since, "by": by, "other": "field"}
			if word := schema.SONiCStatus(table.State, status); word != "" {
				row["status"] = word
				if reason != "" {
					row["status_detail"] = reason
				}
			}
			return row
		}
		put := func(key, status, reason, by string) {
			setRow(t, state, table.State, key, row(status, reason, since, by))
		}
		is := func(when, key, status, reason, since, by string) {
			t.Helper()
			got := getRow(t, state, table.State, key)
			delete(got, "was")
			if diff := cmp.Diff(row(status, reason, since, by), got); diff != "" {
				t.Errorf("%s: %s|%s (-want +got):\n%s", when, table.State, key, diff)
			}
		}
		put("plain", table.Good, "", orch.Orchagent)
		put("noted", table.Good, "a note", orch.Orchagent)
		put("waits", table.Waiting, "no port", orch.Orchagent)
		put("manager's", table.Good, "", orch.Manager)
		for range 2 { // the second time there is nothing left to do
			if _, err := doubter.MarkUnknown(t.Context(), "syncd\nis gone", then); err != nil {
				t.Fatal(err)
			}
		}
		is("doubted", "plain", table.Unknown, "syncd; is gone", now, orch.Orchagent)
		is("doubted", "noted", table.Unknown, "syncd; is gone", now, orch.Orchagent)
		is("doubted", "waits", table.Waiting, "no port", since, orch.Orchagent)
		is("doubted", "manager's", table.Good, "", since, orch.Manager)
		if err := doubter.Restore(t.Context(), later); err != nil {
			t.Fatal(err)
		}
		is("believed", "plain", table.Good, "", again, orch.Orchagent)
		is("believed", "noted", table.Good, "a note", again, orch.Orchagent)
		is("believed", "waits", table.Waiting, "no port", since, orch.Orchagent)
		is("believed", "manager's", table.Good, "", since, orch.Manager)
		if err := state.Client().FlushDB(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// A drop monitor session with only SONiC's status field, as an earlier version wrote it, becomes unknown too.
func TestUnknownOfSONiCsWord(t *testing.T) {
	r := swsstest.Start(t)
	setRow(t, r.DB(swss.StateDB), schema.StateTAMDropMonitor, "s",
		swss.FieldValues{"status": "active", "by": orch.Orchagent})
	setRow(t, r.DB(swss.StateDB), schema.StateTAMDropMonitor, "other",
		swss.FieldValues{"status": "inactive", "by": orch.Orchagent})
	if n, err := (orch.ASICMarker{Redis: r}).MarkUnknown(t.Context(), "syncd is gone", then); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	got := getRow(t, r.DB(swss.StateDB), schema.StateTAMDropMonitor, "s")
	if got["state"] != "unknown" || got["status"] != "unknown" || got["status_detail"] != "syncd is gone" {
		t.Error(got)
	}
}

// While the state of the ASIC is unknown, a port or LAG is neither up nor down.
func TestUnknownOfPorts(t *testing.T) {
	r := swsstest.Start(t)
	doubter := orch.ASICMarker{Redis: r}
	for _, db := range []swss.DBName{swss.ApplDB, swss.StateDB} {
		setRow(t, r.DB(db), "PORT_TABLE", "Ethernet0", swss.FieldValues{"oper_status": "up", "mtu": "9100"})
		setRow(t, r.DB(db), "LAG_TABLE", "PortChannel1", swss.FieldValues{"oper_status": "down"})
		setRow(t, r.DB(db), "PORT_TABLE", "PortInitDone", swss.FieldValues{"lanes": "0"})
	}
	if _, err := doubter.MarkUnknown(t.Context(), "syncd is gone", then); err != nil {
		t.Fatal(err)
	}
	for _, db := range []swss.DBName{swss.ApplDB, swss.StateDB} {
		for row, want := range map[[2]string]swss.FieldValues{
			{"PORT_TABLE", "Ethernet0"}:    {"oper_status": "unknown", "mtu": "9100"},
			{"LAG_TABLE", "PortChannel1"}:  {"oper_status": "unknown"},
			{"PORT_TABLE", "PortInitDone"}: {"lanes": "0"},
		} {
			if diff := cmp.Diff(want, getRow(t, r.DB(db), row[0], row[1])); diff != "" {
				t.Errorf("%s %v (-want +got):\n%s", db, row, diff)
			}
		}
	}
}

// Rows of another process of orchagent stay unchanged.
func TestUnknownOfOthers(t *testing.T) {
	r := swsstest.Start(t)
	if _, err := r.Claim(t.Context(), orch.Orchagent, "a", swss.StateDB, swss.ApplDB); err != nil {
		t.Fatal(err)
	}
	said := func() string { return getRow(t, r.DB(swss.StateDB), schema.StateTAMTailStamp, "s")["status"] }
	for owner, want := range map[string]string{"": "active", "b": "active", "a": "unknown"} {
		setRow(t, r.DB(swss.StateDB), schema.StateTAMTailStamp, "s", swss.FieldValues{"status": "active", "by": "orchagent"})
		setRow(t, r.DB(swss.ApplDB), "PORT_TABLE", "Ethernet0", swss.FieldValues{"oper_status": "active"})
		if _, err := (orch.ASICMarker{Redis: r, Owner: owner}).MarkUnknown(t.Context(), "syncd is gone", then); err != nil {
			t.Fatal(err)
		}
		port := getRow(t, r.DB(swss.ApplDB), "PORT_TABLE", "Ethernet0")["oper_status"]
		if got := said(); got != want || port != want {
			t.Errorf("process %q doubts what process a says: the session is %s, the port %s, want %s", owner, got, port, want)
		}
	}
}

// While the state of the ASIC is unknown, a daemon keeps outcomes back. Afterwards it writes them.
func TestUnknownOutcomes(t *testing.T) {
	r, uncertain := swsstest.Start(t), true
	d := orch.NewDaemon(orch.Orchagent, r, orch.Options{ASICUnknown: func() bool { return uncertain }})
	defer d.Close()
	d.ReportsTo(schema.StateTAMTailStamp)
	step := func() {
		t.Helper()
		if _, err := d.Step(t.Context(), then); err != nil {
			t.Fatal(err)
		}
	}
	step()
	if err := d.Do(t.Context(), func() {
		d.Report(context.Background(), schema.StateTAMTailStamp, "s", schema.StatusActive, "")
	}); err != nil {
		t.Fatal(err)
	}
	step()
	if row := getRow(t, r.DB(swss.StateDB), schema.StateTAMTailStamp, "s"); len(row) != 0 {
		t.Errorf("in doubt: %v", row)
	}
	uncertain = false
	step()
	if row := getRow(t, r.DB(swss.StateDB), schema.StateTAMTailStamp, "s"); row["status"] != schema.StatusActive {
		t.Errorf("afterwards: %v", row)
	}
}

// BenchmarkUnknown calls MarkUnknown and Restore for 10,000 sessions, on a real Redis with 10,000 rows of other kinds.
func BenchmarkUnknown(b *testing.B) {
	r := swsstest.StartServer(b).Open()
	sessions, others := map[string]swss.FieldValues{}, map[string]swss.FieldValues{}
	for i := range 10_000 {
		sessions[fmt.Sprint(i)] = swss.FieldValues{"status": schema.StatusActive, "by": orch.Orchagent}
		others[fmt.Sprint(i)] = swss.FieldValues{"state": "ok"}
	}
	for table, rows := range map[string]map[string]swss.FieldValues{
		schema.StateTAMTailStamp: sessions, "OTHER_TABLE": others,
	} {
		if err := swss.NewTable(r.DB(swss.StateDB), table).SetMany(b.Context(), rows); err != nil {
			b.Fatal(err)
		}
	}
	doubter := orch.ASICMarker{Redis: r}
	for b.Loop() {
		if n, err := doubter.MarkUnknown(b.Context(), "syncd is gone", then); err != nil || n != len(sessions) {
			b.Fatalf("%d rows, %v", n, err)
		}
		if err := doubter.Restore(b.Context(), later); err != nil {
			b.Fatal(err)
		}
	}
}
