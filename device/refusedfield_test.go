package device_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tamtam/device/devicetest"
	"tamtam/internal/racetest"
	"tamtam/internal/randtest"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tamtamtest"
)

// If the chip rejects a port or pool, the reason contains the field, its value and the limit.
func TestRefusedFieldIsNamed(t *testing.T) {
	racetest.Stepped(t)
	sw := tamtamtest.StartOn(t, profile.Default(), `{"PORT": {"Ethernet0": {"lanes": "2304,2305,2306,2307",
	 "speed": "100000"},
		"Ethernet4": {"lanes": "4,5,6,7", "speed": "123"}},
		"BUFFER_POOL": {"p": {"type": "egress", "mode": "dynamic", "size": "99999999999"}}}`)
	want := map[string][]string{
		"PORT|Ethernet0": {"lanes 2304,2305,2306,2307: the switch has no lane 2304, it began with ports on lanes 1-128",
			"SAI_PORT_ATTR_HW_LANE_LIST"},
		"PORT|Ethernet4": {"speed 123 of a port of 4 lanes: it runs at one of 100, 1000, ", "SAI_PORT_ATTR_SPEED"},
		"BUFFER_POOL|p":  {"size 99999999999: the packet memory has ", " bytes for all pools", "SAI_BUFFER_POOL_ATTR_SIZE"},
	}
	wantReasons(t, sw, want)
	for range 2 { // after a restart, other ports exist than at the start
		devicetest.NoError(t, sw.Sim().RestartOrchagent(t.Context()))
		devicetest.NoError(t, sw.Sim().RunUntilIdle(t.Context()))
		wantReasons(t, sw, want)
	}
}

// wantReasons checks that exactly these rows have failed, and that their reasons contain these words.
func wantReasons(t *testing.T, sw *tamtamtest.Switch, want map[string][]string) {
	t.Helper()
	problems := sw.Problems()
	for _, p := range problems {
		words := want[p.Object]
		for _, w := range words {
			if !strings.Contains(p.Reason, w) {
				t.Errorf("%s: %s: want %q in it", p.Object, p.Reason, w)
			}
		}
		if words == nil {
			t.Errorf("%s: %s: %s", p.Object, p.Status, p.Reason)
		}
	}
	if len(problems) != len(want) {
		t.Errorf("%d rows are not in force, want %d", len(problems), len(want))
	}
}

// Whatever value of lanes, speed or size the chip rejects, the reason contains the field, the value and the limit.
func TestRefusedFieldIsNamedRandom(t *testing.T) {
	racetest.Stepped(t)
	sw := tamtamtest.StartOn(t, profile.Default(), `{"PORT": {"Ethernet0": {"lanes": "0,1,2,3", "speed": "100000"}}}`)
	config := sw.Sim().Redis.DB(swss.ConfigDB)
	ports, pools := swss.NewTable(config, schema.CfgPort), swss.NewTable(config, schema.CfgBufferPool)
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 12}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		lane := 600 + 4*r.IntN(1000)
		lanes := fmt.Sprintf("%d,%d", lane, lane+1)
		speed, size := fmt.Sprint(101+r.IntN(800)), fmt.Sprint(1<<30+r.Uint64N(1<<35))
		for _, err := range []error{
			ports.Set(t.Context(), "Ethernet100", swss.FieldValues{"lanes": lanes, "speed": "100000"}),
			ports.Set(t.Context(), "Ethernet104", swss.FieldValues{"lanes": "100,101,102,103", "speed": speed}),
			pools.Set(t.Context(), "p", swss.FieldValues{"type": "egress", "mode": "static", "size": size}),
			sw.Sim().RunUntilIdle(t.Context()),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		wantReasons(t, sw, map[string][]string{
			"PORT|Ethernet100": {"lanes " + lanes + ": the switch has no lane "},
			"PORT|Ethernet104": {"speed " + speed + " of a port of 4 lanes: it runs at one of "},
			"BUFFER_POOL|p":    {"size " + size + ": the packet memory has "},
		})
	})
}
