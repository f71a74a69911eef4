package device_test

import (
	"fmt"
	"strings"
	"testing"

	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/device/devicetest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A tamCase is a session of a TAM feature, with the rows that it needs. Creating these rows can fail at each step. All
// other rows are configured before.
type tamCase struct {
	feature, table, state string // name of the feature, and the tables of its sessions
	session               swss.FieldValues
}

var tamCases = []tamCase{
	{schema.FeatureTailStamping, schema.CfgTAMTailStamp, schema.StateTAMTailStamp, swss.FieldValues{"flowgroup": "all"}},
	{schema.FeatureAltMark, schema.CfgTAMAltMark, schema.StateTAMAltMark, swss.FieldValues{
		"flowgroup": "all", "role": "initiator", "method": "muxed", "interval": "0", "mark": "dscp0",
	}},
	{schema.FeatureTableRecord, schema.CfgTAMTableRecord, schema.StateTAMTableRecord,
		swss.FieldValues{"flowgroup": "all", "collector": "c"}},
	{schema.FeatureFlyMon, schema.CfgTAMFlyMonTask, schema.StateTAMFlyMonTask,
		swss.FieldValues{"key": "src-ip", "attribute": "frequency", "memory": "192"}},
}

// rows returns the session s and the rows that it needs.
func (c tamCase) rows() device.ConfigDB {
	all := devicetest.TwoPorts()
	return device.ConfigDB{
		schema.CfgTAMFeature:   {c.feature: {"status": "ACTIVE"}},
		schema.CfgTAMFlowGroup: all[schema.CfgTAMFlowGroup], schema.CfgACLRule: all[schema.CfgACLRule],
		c.table: {"s": c.session},
	}
}

// recorded returns a switch of two ports without TAM rows, whose daemons have no work left. A recorder is between syncd
// and the chip.
func recorded(t *testing.T) (*device.Sim, *saitest.Recorder) {
	var rec *saitest.Recorder
	config := devicetest.RecordedPorts() // includes a route to a collector
	for _, table := range []string{schema.CfgTAMFeature, schema.CfgTAMFlowGroup, schema.CfgACLRule, schema.CfgTAMTailStamp,
		schema.CfgTAMTableRecord} {
		delete(config, table)
	}
	s := devicetest.NewSim(t, device.SimConfig{Config: config, Common: daemons.Common{Backend: func(chip sai.API) sai.API {
		rec = saitest.NewRecorder(chip)
		return rec
	}}})
	devicetest.RunUntilIdle(t, s)
	return s, rec
}

// load writes the rows and lets the daemons work.
func (c tamCase) load(t *testing.T, s *device.Sim) {
	t.Helper()
	devicetest.NoError(t, c.rows().Load(t.Context(), s.Redis))
	devicetest.RunUntilIdle(t, s)
}

// unload deletes the rows, and lets the daemons work.
func (c tamCase) unload(t *testing.T, s *device.Sim) {
	t.Helper()
	for table, rows := range c.rows() {
		for key := range rows {
			devicetest.NoError(t, s.Redis.DB(swss.ConfigDB).Client().Del(t.Context(), table+"|"+key).Err())
		}
	}
	devicetest.RunUntilIdle(t, s)
}

// If any SAI call of a session fails, everything before it is undone and the session reports the reason. Once the cause
// is removed, the session can be created.
func TestEverySAIFailureRollsBack(t *testing.T) {
	t.Parallel()
	for _, c := range tamCases {
		t.Run(c.feature, c.failing)
	}
}

func (c tamCase) failing(t *testing.T) {
	s, rec := recorded(t)
	base := len(rec.Live())
	rec.FailAt(0, 0)
	c.load(t, s)
	steps := rec.Changes()
	good := devicetest.View(t, s)
	if steps < 3 {
		t.Fatalf("a session takes %d SAI calls only", steps)
	}
	// If a removed session leaves nothing behind, all steps can use the same switch.
	c.unload(t, s)
	left := len(rec.Live())
	rec.FailAt(0, 0)
	c.load(t, s)
	traceless := left == base && rec.Changes() == steps && devicetest.View(t, s) == good
	for n := 1; n <= steps; n++ {
		for _, status := range []sai.Status{sai.StatusFailure, sai.StatusInsufficientResources} {
			t.Run(fmt.Sprintf("step %d of %d, %s", n, steps, status), func(t *testing.T) {
				s, rec := s, rec
				if traceless {
					c.unload(t, s)
				} else {
					s, rec = recorded(t)
				}
				if live := rec.Live(); len(live) != base {
					t.Fatalf("%d objects without the session, want %d:\n%v", len(live), base, live)
				}
				rec.FailAt(n, status)
				c.load(t, s)
				if made := rec.Changes(); made < n {
					t.Errorf("the session has made %d SAI calls, want %d or more", made, n)
				}
				// A failed read is repeated.
				devicetest.NoError(t, s.Orchagent.PollCounters(t.Context()))
				devicetest.RunUntilIdle(t, s)
				state := devicetest.Row(t, s.Redis, swss.StateDB, c.state, "s")
				if state["status"] == schema.StatusActive {
					// The step was repeated with success.
					if got := devicetest.View(t, s); got != good {
						t.Fatalf("the session is active in another ASIC:\n%s", got)
					}
					return
				}
				if live := rec.Live(); len(live) != base {
					t.Errorf("%d objects, %d before:\n%v", len(live), base, live)
				}
				if !strings.Contains(state["reason"], status.String()) {
					t.Errorf("status %q, reason %q: want a reason that names %s", state["status"], state["reason"], status)
				}
				// The session is written again.
				db := s.Redis.DB(swss.ConfigDB).Client()
				db.Del(t.Context(), c.table+"|s")
				devicetest.RunUntilIdle(t, s)
				c.load(t, s)
				if got := devicetest.View(t, s); got != good {
					t.Errorf("written anew, the session gives another ASIC:\n%s", got)
				}
			})
		}
	}
}
