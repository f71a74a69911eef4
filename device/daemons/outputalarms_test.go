package daemons

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// An output that delivers nothing for a minute has an alarm, and so has one whose messages are refused or whose row is
// not valid. The alarm's text changes only with the cause and with the magnitude of the count. It is cleared when the
// output delivers, and when the output has gone.
func TestOutputAlarms(t *testing.T) {
	r := swsstest.Start(t)
	a := NewAlarms(r)
	table := swss.NewTable(r.DB(swss.StateDB), schema.StateOutput)
	now := time.Unix(1_000_000, 0)
	for _, step := range []struct {
		after time.Duration
		row   string // STATUS SENT WAITING REFUSED FULL REASON; empty if the output has gone
		want  string // COUNT TEXT
	}{
		{0, "connecting 0 0 0 0 ", ""},
		{time.Hour, "connecting 0 0 0 0 ", ""}, // there is nothing to send
		{0, "failed 0 1 0 0 dial 10.0.0.1:514: refused", ""},
		{59 * time.Second, "failed 0 1 0 0 dial 10.0.0.1:514: refused", ""},
		{time.Second, "failed 0 1 0 0 dial 10.0.0.1:514: refused",
			"1 nothing was delivered since 1970-01-12T14:46:40Z: dial 10.0.0.1:514: refused"},
		{time.Second, "failed 0 9 0 0 dial 10.0.0.1:515: refused", // another number is not another cause
			"1 nothing was delivered since 1970-01-12T14:46:40Z: dial 10.0.0.1:514: refused"},
		{time.Second, "failed 0 9 0 24 no route", "10 nothing was delivered since 1970-01-12T14:46:40Z, " +
			"10 messages or more: no route"},
		{time.Second, "active 1 8 0 24 ", ""},
		{time.Hour, "active 7 0 0 24 ", ""},
		{time.Second, "active 7 0 3 24 the last message was refused: 400", "1 messages are refused: the last message was " +
			"refused: 400"},
		{time.Second, "active 8 0 3 24 ", "1 messages are refused: the last message was refused: 400"},
		{alarmsStay, "active 9 0 3 24 ", ""},
		{time.Second, "active 9 2 3 24 ", ""}, // a receiver that accepts nothing, and does not close the connection
		{time.Minute, "active 9 2 3 24 ", "1 nothing was delivered since 1970-01-12T15:47:55Z: " +
			"the receiver accepts none of those that wait"},
		{time.Second, "", ""},
		{time.Second, "invalid 0 0 0 0 port is 0", " its row is not valid: port is 0"},
	} {
		now = now.Add(step.after)
		if err := table.Del(t.Context(), "syslog-x"); err != nil {
			t.Fatal(err)
		}
		if f := strings.SplitN(step.row, " ", 6); len(f) == 6 {
			row := swss.FieldValues{schema.OutputStatus: f[0], schema.OutputSent: f[1], schema.OutputWaiting: f[2],
				schema.OutputDropped + "refused": f[3], schema.OutputDropped + "full": f[4], schema.OutputReason: f[5]}
			if err := table.Set(t.Context(), "syslog-x", row); err != nil {
				t.Fatal(err)
			}
		}
		want := map[string]swss.FieldValues{}
		rows, err := table.Dump(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		a.outputs(now, rows, want)
		got := ""
		for id, row := range want {
			if id != "syslog-x-output-failed" || row[schema.AlarmSeverity] != schema.SeverityMajor {
				t.Errorf("alarm %s: %v", id, row)
			}
			got = fmt.Sprint(row[schema.AlarmCount], " ", row[schema.AlarmText])
		}
		if got != step.want {
			t.Errorf("%s after %v: %q, want %q", step.row, step.after, got, step.want)
		}
	}
}
