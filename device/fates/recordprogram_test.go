package fates

import (
	"testing"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/saisim"
	"tamtam/saisim/pipe"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A new program gives another graph: the session's plan is created again. When the chip restarts without the program,
// syncd restores a plan for a graph that no longer exists. That plan is created again too.
func TestRecordingOfAProgram(t *testing.T) {
	s := devicetest.NewSim(t, device.SimConfig{Config: devicetest.RecordedPorts("mode", "exec+hit", "phv", "32")})
	devicetest.RunUntilIdle(t, s)
	id := func() string {
		t.Helper()
		devicetest.NoError(t, s.Poll(t.Context()))
		state, _, err := swss.NewTable(s.Redis.DB(swss.StateDB), schema.StateTAMTableRecord).Get(t.Context(), "s")
		if err != nil || state["status"] != schema.StatusActive {
			t.Fatalf("%v, %v", state, err)
		}
		row := devicetest.Row(t, s.Redis, swss.CountersDB, schema.CountersRecordPlan, "s")
		return row["ID"]
	}
	first := id()
	program := &pipe.Program{Name: "p", Ingress: pipe.Pipe{Tables: []pipe.Table{
		{Name: "t", Match: "exact", Key: []pipe.Input{{Field: "l4.dst"}}, Size: 4}}}}
	devicetest.NoError(t, s.Chip.Control(s.Chip.Now(), saisim.Batch{Batch: pipe.Batch{Program: program}}))
	second := id()
	devicetest.NoError(t, s.RestartSyncd(t.Context()))
	if third := id(); first == second || first != third {
		t.Errorf("plans %s, with the program %s, without it again %s", first, second, third)
	}
}
