package device_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/internal/racetest"
	"tamtam/internal/randtest"
	"tamtam/sai/saitest"
	"tamtam/swss"
)

// An orchagent that restarts on an ASIC in its target state makes no call that changes the ASIC, whatever the order of
// the configuration was. If a row is only partly in force, its other parts are created again, and positions may change.
func TestRestartOfOrchagentChangesNothing(t *testing.T) {
	racetest.Stepped(t)
	t.Parallel()
	kept := 0
	run := randtest.Run(t, randtest.Cases{Seed: 1, Count: 4}, func(t *testing.T, seed uint64) {
		rnd := devicetest.RandomConfig{Rand: rand.New(rand.NewPCG(seed, 5))}
		var inChip *saitest.Recorder
		s := devicetest.NewSim(t, device.SimConfig{Config: device.ConfigDB{"DEVICE_METADATA": devicetest.Metadata},
			Common: devicetest.RecordTo(&inChip)})
		db := s.Redis.DB(swss.ConfigDB).Client()
		for key, row := range rnd.Ground() {
			db.HSet(t.Context(), key, row)
		}
		for range 120 {
			key, row := rnd.Row()
			db.Del(t.Context(), key)
			if rnd.IntN(4) > 0 {
				db.HSet(t.Context(), key, row)
			}
			if rnd.IntN(3) == 0 {
				devicetest.RunUntilIdle(t, s)
			}
		}
		devicetest.RunUntilIdle(t, s)
		before, asic := everything(t, s.Redis), devicetest.View(t, s)
		inChip.Reset()
		devicetest.NoError(t, s.RestartOrchagent(t.Context()))
		devicetest.RunUntilIdle(t, s)
		calls := devicetest.Changes(inChip.Lines())
		if len(calls) > 0 && !refusedInPart(before) {
			t.Errorf("the restart changes the ASIC:\n%s", strings.Join(calls[:min(len(calls), 40)], "\n"))
		}
		if len(calls) == 0 {
			kept++
		}
		if diff := cmp.Diff(strings.Split(asic, "\n"), strings.Split(devicetest.View(t, s), "\n")); diff != "" {
			t.Errorf("the restart changes the view:\n%s", diff)
		}
		if diff := cmp.Diff(withoutFailedStep(before), withoutFailedStep(everything(t, s.Redis))); diff != "" {
			t.Errorf("the restart changes rows:\n%s", diff)
		}
	})
	if kept < run.Count/2 {
		t.Errorf("only %d of %d restarts needed no call", kept, run.Count)
	}
}

// withoutFailedStep removes from reasons the step that the switch rejected, which depends on the starting point. It
// keeps the object before it and the cause after it.
func withoutFailedStep(rows map[string]map[string]string) map[string]map[string]string {
	for _, row := range rows {
		words := strings.Split(row["reason"], ": ")
		if row["by"] == "orchagent" && row["status"] == "failed" && len(words) > 2 {
			row["reason"] = words[0] + ": ...: " + words[len(words)-1]
		}
	}
	return rows
}

// refusedInPart reports whether the switch has rejected a row. Other parts of such a row may be in force.
func refusedInPart(rows map[string]map[string]string) bool {
	for _, row := range rows {
		if row["by"] == "orchagent" && row["status"] == "failed" {
			return true
		}
	}
	return false
}
