package device_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/swss"
)

// everything returns the rows of the databases, without counters and times.
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
	for name, restart := range map[string]func(*device.Sim, context.Context) error{
		"tammgrd": (*device.Sim).RestartManagers, "orchagent": (*device.Sim).RestartOrchagent,
		"syncd": (*device.Sim).RestartSyncd,
	} {
		t.Run(name, func(t *testing.T) {
			s := devicetest.NewSim(t, device.SimConfig{Config: devicetest.TwoPorts()})
			devicetest.RunUntilIdle(t, s)
			before := everything(t, s.Redis)
			devicetest.NoError(t, restart(s, t.Context()))
			devicetest.RunUntilIdle(t, s)
			if diff := cmp.Diff(before, everything(t, s.Redis)); diff != "" {
				t.Errorf("the restart changes rows (-before +after):\n%s", diff)
			}
		})
	}
}
