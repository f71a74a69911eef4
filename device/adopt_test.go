package device

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/internal/racetest"
	"tamtam/internal/randtest"
	"tamtam/sai/saitest"
	"tamtam/swss"
)

// changing returns the calls that have changed the ASIC, of those that a recorder has seen. Extension objects that are
// made and removed again are windows, through which orchs look.
func changing(lines []string) (calls []string) {
	gone := map[string]bool{}
	for _, l := range lines {
		if id, ok := strings.CutPrefix(l, "r|"); ok {
			gone[id] = true
		}
	}
	for i, l := range lines {
		op, rest, _ := strings.Cut(l, "|")
		id, _, _ := strings.Cut(rest, "|")
		window := strings.Contains(id, "GENERIC_PROGRAMMABLE") && gone[id] &&
			slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "c|"+id+"|") })
		refused := i+1 < len(lines) && strings.HasPrefix(lines[i+1], "E|")
		if strings.Contains("crsCRS", op) && !refused && !window {
			calls = append(calls, l)
		}
	}
	return calls
}

// An orchagent that starts again on an ASIC that is as it is to be changes nothing: not a call, whatever the way to the
// configuration was. Where a row is in force in part, what is left of it is made anew, and places may change.
func TestRestartOfOrchagentChangesNothing(t *testing.T) {
	racetest.Stepped(t)
	t.Parallel()
	kept := 0
	run := randtest.Run(t, randtest.Cases{Seed: 1, Count: 6}, func(t *testing.T, seed uint64) {
		rnd := randomConfig{rand.New(rand.NewPCG(seed, 5))}
		var inChip *saitest.Recorder
		s := testSim(t, SimConfig{Config: ConfigDB{"DEVICE_METADATA": testMetadata}, Common: recording(&inChip)})
		db := s.Redis.DB(swss.ConfigDB).Client()
		for key, row := range rnd.ground() {
			db.HSet(t.Context(), key, row)
		}
		for range 120 {
			key, row := rnd.row()
			db.Del(t.Context(), key)
			if rnd.IntN(4) > 0 {
				db.HSet(t.Context(), key, row)
			}
			if rnd.IntN(3) == 0 {
				settle(t, s)
			}
		}
		settle(t, s)
		before, asic := everything(t, s.Redis), view(t, s)
		inChip.Reset()
		if err := s.RestartOrchagent(t.Context()); err != nil {
			t.Fatal(err)
		}
		settle(t, s)
		calls := changing(inChip.Lines())
		if len(calls) > 0 && !refusedInPart(before) {
			t.Errorf("the restart changes the ASIC:\n%s", strings.Join(calls[:min(len(calls), 40)], "\n"))
		}
		if len(calls) == 0 {
			kept++
		}
		if diff := cmp.Diff(strings.Split(asic, "\n"), strings.Split(view(t, s), "\n")); diff != "" {
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

// withoutFailedStep leaves out which step towards a row the switch has refused, which depends on where one began. What
// stands before it, which object, and behind it, why, stay.
func withoutFailedStep(rows map[string]map[string]string) map[string]map[string]string {
	for _, row := range rows {
		words := strings.Split(row["reason"], ": ")
		if row["by"] == "orchagent" && row["status"] == "failed" && len(words) > 2 {
			row["reason"] = words[0] + ": ...: " + words[len(words)-1]
		}
	}
	return rows
}

// refusedInPart reports whether the switch has refused a row: other parts of it may be in force.
func refusedInPart(rows map[string]map[string]string) bool {
	for _, row := range rows {
		if row["by"] == "orchagent" && row["status"] == "failed" {
			return true
		}
	}
	return false
}
