package mgmt

import (
	"strings"
	"testing"
	"time"

	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/yang/tamyang"
)

// While the state of the ASIC is unknown, every status and every port's state reports that, in values that the models
// have.
func TestUnknownStateOfTheASIC(t *testing.T) {
	b := newBed(t, nil)
	b.rows(brokenOut())
	state := b.redis.DB(swss.StateDB)
	for _, table := range schema.StatusTables() { // as if orchagent reported on all that the bed configures
		keys, err := swss.NewTable(b.redis.DB(swss.ConfigDB), table.Config).Keys(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			row := swss.FieldValues{table.Status: table.Good, "reason": "", "by": orch.Orchagent}
			if err := swss.NewTable(state, table.State).Set(t.Context(), key, row); err != nil {
				t.Fatal(err)
			}
		}
	}
	now := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	if _, err := (orch.ASICMarker{Redis: b.redis}).MarkUnknown(t.Context(), "syncd is gone", now); err != nil {
		t.Fatal(err)
	}
	got, err := b.get("/")
	if err != nil {
		t.Fatal(err)
	}
	dev := &tamyang.Device{}
	if err := tamyang.Unmarshal([]byte(got), dev); err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	for _, alive := range []string{`"status":"active"`, `"status":"Active"`, `"op-status":"ACTIVE"`,
		`"oper-status":"UP"`} {
		if strings.Contains(strings.ReplaceAll(got, " ", ""), alive) {
			t.Errorf("%s while the state of the ASIC is unknown:\n%s", alive, got)
		}
	}
	for _, unknown := range []string{`"unknown"`, `"Unknown"`, `"UNKNOWN"`, "syncd is gone"} {
		if !strings.Contains(got, unknown) {
			t.Errorf("nothing is %s:\n%s", unknown, got)
		}
	}
}
