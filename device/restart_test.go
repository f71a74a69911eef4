package device

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/swss"
)

// everything is what the databases hold, row by row, but for counters and for when something became what it is.
func everything(t *testing.T, r *swss.Redis) map[string]map[string]string {
	t.Helper()
	all := map[string]map[string]string{}
	for _, name := range []swss.DBName{swss.ConfigDB, swss.ApplDB, swss.StateDB} {
		db := r.DB(name).Client()
		for _, key := range db.Keys(t.Context(), "*").Val() {
			row := db.HGetAll(t.Context(), key).Val()
			maps.DeleteFunc(row, func(field, _ string) bool {
				return slices.Contains([]string{"since", "last_clear", "last_change"}, field)
			})
			all[string(name)+" "+key] = row
		}
	}
	return all
}

// A restart of a daemon leaves every row of every database as it was: none is missing, none is new.
func TestRestartsLeaveEveryRow(t *testing.T) {
	for name, restart := range map[string]func(*Sim, context.Context) error{
		"tammgrd": (*Sim).RestartManagers, "orchagent": (*Sim).RestartOrchagent, "syncd": (*Sim).RestartSyncd,
	} {
		t.Run(name, func(t *testing.T) {
			s := testSim(t, SimConfig{Config: twoPorts()})
			settle(t, s)
			before := everything(t, s.Redis)
			if err := restart(s, t.Context()); err != nil {
				t.Fatal(err)
			}
			settle(t, s)
			if diff := cmp.Diff(before, everything(t, s.Redis)); diff != "" {
				t.Errorf("the restart changes rows (-before +after):\n%s", diff)
			}
		})
	}
}
