package device

import (
	"testing"

	"tamtam/saisim"
	"tamtam/saisim/pipe"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A program that comes is another graph: the session's plan is recreated. When the chip is
// restarted without it, the plan that syncd brings back is for a graph that is gone, and is
// recreated too.
func TestRecordingOfAProgram(t *testing.T) {
	s := testSim(t, SimConfig{Config: recordedPorts("mode", "exec+hit", "phv", "32")})
	settle(t, s)
	id := func() string {
		t.Helper()
		if err := s.Poll(t.Context()); err != nil {
			t.Fatal(err)
		}
		state, _, err := swss.NewTable(s.Redis.DB(swss.StateDB), schema.StateTAMTableRecord).Get(t.Context(), "s")
		if err != nil || state["status"] != schema.StatusActive {
			t.Fatalf("%v, %v", state, err)
		}
		row, _, err := swss.NewTable(s.Redis.DB(swss.CountersDB), schema.CountersRecordPlan).Get(t.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		return row["ID"]
	}
	first := id()
	program := &pipe.Program{Name: "p", Ingress: pipe.Pipe{Tables: []pipe.Table{
		{Name: "t", Match: "exact", Key: []pipe.Input{{Field: "l4.dst"}}, Size: 4}}}}
	if err := s.Chip.Control(s.Chip.Now(), saisim.Batch{Batch: pipe.Batch{Program: program}}); err != nil {
		t.Fatal(err)
	}
	second := id()
	if err := s.RestartSyncd(t.Context()); err != nil {
		t.Fatal(err)
	}
	if third := id(); first == second || first != third {
		t.Errorf("plans %s, with the program %s, without it again %s", first, second, third)
	}
}
