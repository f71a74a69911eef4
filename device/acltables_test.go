package device_test

import (
	"slices"
	"strings"
	"testing"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A chip with four ingress ACL tables is too small for three rows and two features. The last feature waits, and its
// reason names the existing tables. It gets a table once a table is free. Table recording has its own table at another
// stage.
func TestWhoHasTheACLTables(t *testing.T) {
	rows := []struct {
		key    string
		fields swss.FieldValues
	}{
		{"ACL_TABLE|T1", swss.FieldValues{"type": "L3", "stage": "ingress", "ports@": "Ethernet0"}},
		{"ACL_TABLE|T2", swss.FieldValues{"type": "L3", "stage": "ingress", "ports@": "Ethernet0"}},
		{"ACL_TABLE|T3", swss.FieldValues{"type": "L3", "stage": "ingress", "ports@": "Ethernet0"}},
		{"TAM_TAILSTAMPING_TABLE|S1", swss.FieldValues{"flowgroup": "F1"}},
		{"TAM_ALTMARK_TABLE|A1", swss.FieldValues{
			"flowgroup": "F1", "role": "initiator", "method": "step", "interval": "0", "mark": "dscp0",
		}},
		{"TAM_TABLERECORD_TABLE|R1", swss.FieldValues{"flowgroup": "F1", "collector": "C9", "phv": "8"}},
	}
	for _, order := range [][]int{{0, 1, 2, 3, 4, 5}, {5, 4, 3, 2, 1, 0}, {4, 2, 0, 5, 3, 1}} {
		s := devicetest.NewSim(t, device.SimConfig{Config: device.ConfigDB{"DEVICE_METADATA": devicetest.Metadata}})
		db := s.Redis.DB(swss.ConfigDB).Client()
		for key, row := range (devicetest.RandomConfig{}).Ground() {
			db.HSet(t.Context(), key, row)
		}
		for _, f := range []string{schema.FeatureTailStamping, schema.FeatureAltMark} {
			db.HSet(t.Context(), "TAM_FEATURES_TABLE|"+f, "status", "ACTIVE")
		}
		status := func(table, key string) string {
			t.Helper()
			row := devicetest.Row(t, s.Redis, swss.StateDB, table, key)
			return row["status"] + ": " + row["reason"]
		}
		for _, i := range order {
			db.HSet(t.Context(), rows[i].key, rows[i].fields)
			devicetest.RunUntilIdle(t, s)
		}
		rowOf := func(key string) string {
			table, name, _ := strings.Cut(key, "|")
			state := map[string]string{
				"ACL_TABLE": schema.StateACLTable, "TAM_TAILSTAMPING_TABLE": schema.StateTAMTailStamp,
				"TAM_ALTMARK_TABLE": schema.StateTAMAltMark, "TAM_TABLERECORD_TABLE": schema.StateTAMTableRecord,
			}[table]
			return strings.ToLower(status(state, name))
		}
		last, seats := -1, []string{"T1", "T2", "T3", "TAM for TAILSTAMPING", "TAM for ALTMARK", ""}
		for _, i := range order {
			if i != 5 {
				last = i // the last ingress table
			}
		}
		seats = slices.Delete(seats[:5], last, last+1)
		for i, row := range rows {
			got, want := rowOf(row.key), "active: "
			if i == last {
				want = "pending"
			}
			if !strings.HasPrefix(got, want) {
				t.Errorf("order %v: %s is %s", order, row.key, got)
			}
		}
		why := "; the room at ingress is taken by " + strings.ToLower(strings.Join(seats, ", ")) + "; tried again"
		if got := rowOf(rows[last].key); !strings.Contains(got, why) {
			t.Errorf("order %v: %s is %s", order, rows[last].key, got)
		}
		db.Del(t.Context(), rows[(last+1)%5].key)
		devicetest.RunUntilIdle(t, s)
		if got := rowOf(rows[last].key); !strings.HasPrefix(got, "active: ") {
			t.Errorf("order %v: with room %s is %s", order, rows[last].key, got)
		}
	}
}
