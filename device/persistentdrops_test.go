package device_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/internal/racetest"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tamtamtest"
)

// A port that drops packets every minute raises an alert, and a port that drops as many at once does not. Restarts of
// daemons between the minutes change nothing. A restart of the chip with its counts is no drop.
func TestPersistentDrops(t *testing.T) {
	racetest.Stepped(t)
	for _, restarts := range []bool{false, true} {
		sw := tamtamtest.Start(t, `{
			"INTERFACE": {"Ethernet0": {}, "Ethernet0|10.1.0.1/24": {}, "Ethernet1": {}, "Ethernet1|10.2.0.1/24": {}},
			"DEBUG_DROP_MONITOR": {"CONFIG": {"status": "enabled"}},
			"DEBUG_COUNTER": {"LOST": {"type": "PORT_INGRESS_DROPS", "drop_monitor_status": "enabled",
				"drop_count_threshold": "1", "incident_count_threshold": "2", "window": "300"}},
			"DEBUG_COUNTER_DROP_REASON": {"LOST|L3_ANY": {}, "LOST|L2_ANY": {}}}`)
		sim := sw.Sim()
		lost := make([]byte, 64) // not for the router
		lost[5], lost[11] = 1, 2
		counters := sim.Redis.DB(swss.CountersDB)
		alerts := func() (texts []string) {
			row, _, err := swss.NewTable(counters, schema.CountersDropAlerts).Get(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			return slices.Sorted(maps.Values(row))
		}
		standing := func() string {
			rows, err := swss.NewTable(sim.Redis.DB(swss.StateDB), schema.StatePersistentDrops).Dump(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return strings.Join(slices.Sorted(maps.Keys(rows)), " ")
		}
		minute := func() {
			if sw.Advance(time.Minute); !restarts {
				return
			}
			for _, err := range []error{sim.RestartOrchagent(t.Context()), sim.RestartManagers(t.Context())} {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		for range 6 {
			sw.Send("Ethernet1", lost)
		}
		for i := range 3 {
			sw.Send("Ethernet0", lost, lost)
			if minute(); i < 2 && (len(alerts()) > 0 || standing() != "") {
				t.Errorf("restarts %v, minute %d: alerts %q, standing %q", restarts, i, alerts(), standing())
			}
		}
		minute()
		want := []string{"Persistent packet drops detected on Ethernet0"}
		if got := alerts(); !slices.Equal(got, want) || standing() != "LOST|Ethernet0" {
			t.Errorf("restarts %v: alerts %q, standing %q", restarts, got, standing())
		}
		if out := sw.CLI("show dropcounters persistent-drops LOST"); !strings.Contains(out, want[0]) {
			t.Errorf("the shell shows %s", out)
		}
		if err := sim.RestartSyncd(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 7 {
			minute()
		}
		if got := alerts(); !slices.Equal(got, want) || standing() != "" {
			t.Errorf("restarts %v: after the drops: alerts %q, standing %q", restarts, got, standing())
		}
	}
}
