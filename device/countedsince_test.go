package device_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/internal/racetest"
	"tamtam/tamtamtest"
)

// Counters of ports and debug counters are reported with their start time. A restart of orchagent or of the managers
// does not change it. A restart of syncd with its chip moves it to the chip's start, and clearing moves it to the time
// of clearing. A counter that is created again counts from then.
func TestCountedSince(t *testing.T) {
	racetest.Stepped(t)
	sw := tamtamtest.Start(t, `{"PORT": {"Ethernet0": {"lanes": "0", "speed": "10000", "admin_status": "up"},
		"Ethernet1": {"lanes": "1", "speed": "10000", "admin_status": "up"}},
		"DEBUG_COUNTER": {"LOST": {"type": "PORT_INGRESS_DROPS"}, "ALL": {"type": "SWITCH_INGRESS_DROPS"}},
		"DEBUG_COUNTER_DROP_REASON": {"LOST|L2_ANY": {}, "ALL|L2_ANY": {}}}`)
	sim := sw.Sim()
	text := func(at time.Time) string { return at.UTC().Format(time.RFC3339) }
	begun := text(sim.Now())
	frame := make([]byte, 64)
	frame[5], frame[11] = 1, 2
	// The shell's server uses the wall clock.
	walled, first, last := regexp.MustCompile(`20[0-9-]+T[0-9:.]+Z`), time.Now(), time.Time{}
	cleared := func(text string) string {
		if at, err := time.Parse(time.RFC3339Nano, text); err != nil || at.Before(first.Truncate(time.Second)) ||
			at.After(last) {
			return text
		}
		return "CLEARED"
	}
	reported := func(what, command, count string, want ...string) {
		t.Helper()
		sw.Advance(2 * time.Second)
		sw.Poll()
		var got []string
		out := sw.CLI(command)
		for line := range strings.Lines(out) {
			if strings.Contains(strings.ToLower(line), "since") {
				got = append(got, strings.TrimSpace(walled.ReplaceAllStringFunc(line, cleared)))
			}
		}
		if !slices.Equal(got, want) || !strings.Contains(strings.Join(strings.Fields(out), " "), count) {
			t.Errorf("%s: %s\nwant %q, %q", what, out, want, count)
		}
	}
	both := func(what, count, ports, counters, all string) {
		t.Helper()
		reported(what, "show interfaces counters", "", "Counted since "+ports)
		lines := []string{"Counted since " + ports}
		switch {
		case counters != all:
			lines = []string{"Counted since " + ports + ": RX_ERR to TX_DROPS, LOST", "Counted since " + all + ": ALL"}
		case ports != counters:
			lines = []string{"Counted since " + ports + ": RX_ERR to TX_DROPS", "Counted since " + counters + ": LOST, ALL"}
		}
		reported(what, "show dropcounters counts", count, lines...)
	}
	restarted := func(err error) {
		t.Helper()
		if err == nil {
			err = sim.RunUntilIdle(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	sw.Send("Ethernet0", frame, frame)
	both("at first", "switch 2", begun, begun, begun)
	restarted(sim.RestartOrchagent(t.Context()))
	restarted(sim.RestartManagers(t.Context()))
	both("orchagent and managers", "switch 2", begun, begun, begun)
	restarted(sim.RestartSyncd(t.Context()))
	begun = text(sim.Now())
	sw.Send("Ethernet0", frame)
	both("syncd", "switch 1", begun, begun, begun)
	sw.Delete("DEBUG_COUNTER|ALL")
	sw.Set("DEBUG_COUNTER|ALL", "type", "SWITCH_INGRESS_DROPS")
	made := text(sim.Now())
	sw.Send("Ethernet0", frame)
	both("made anew", "switch 1", begun, begun, made)
	sw.CLI("clear dropcounters")
	last = time.Now()
	sw.Send("Ethernet0", frame, frame)
	both("drop counters cleared", "switch 2", begun, "CLEARED", "CLEARED")
	first = time.Now()
	sw.CLI("clear counters")
	last = time.Now()
	both("all cleared", "switch 0", "CLEARED", "CLEARED", "CLEARED")
	restarted(sim.RestartSyncd(t.Context()))
	begun = text(sim.Now())
	both("syncd, after clearing", "switch 0", begun, begun, begun)
}
