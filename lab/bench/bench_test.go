package bench

import (
	"context"
	"maps"
	"strings"
	"testing"
)

// Every benchmark returns its figures, with the expected number per unit, and measures real work. Every load forwards
// or drops what it should, nothing is allocated for a packet, and no time is 0.
func TestBenchmarks(t *testing.T) {
	for _, tt := range []struct {
		name    string
		run     func(context.Context, Options) ([]Result, error)
		daemons bool // true if daemons run; the race detector finds nothing in a benchmark of the chip alone
		units   map[string]int
		values  map[string]float64
	}{
		{"asic", ASIC, false, map[string]int{"Mpps": 23, "ns": 6, "times": 5, "per packet": 1, "us": 8}, nil},
		{"drops", Drops, false, map[string]int{"Mpps": 12, "times": 6, "per packet": 6}, nil},
		{"sflow", SFlow, false, map[string]int{"Mpps": 10, "times": 5, "per packet": 5}, nil},
		{"tablerecord", TableRecord, false, map[string]int{"": 5, "Mpps": 4, "bits": 6, "ms": 5, "per packet": 3,
			"per second": 2, "times": 6}, nil},
		{"altmark", AltMark, false, map[string]int{"s": 2, "ms": 2, "": 2, "Mpps": 2, "per packet": 1, "times": 1},
			map[string]float64{"20 flows: ACL entries": 40, "20 flows: profiles": 1}},
		{"hft", HFT, true, map[string]int{"Mpps": 4, "times": 4, "per packet": 2, "per second": 1, "ms": 2}, nil},
		{"config", Config, true, map[string]int{"s": 1, "ms": 2}, nil},
		{"sessions", Sessions, true, map[string]int{"s": 1, "kB": 1, "MB": 1}, nil},
		{"routes", Routes, true, map[string]int{"s": 1, "kB": 1, "ms": 3}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if testing.Short() && !tt.daemons {
				t.Skip("nothing for the race detector")
			}
			results, err := tt.run(t.Context(), Options{Groups: 20, Changes: 5, Most: 60, Duration: 1})
			if err != nil {
				t.Fatal(err)
			}
			units := map[string]int{}
			for _, r := range results {
				if !strings.HasPrefix(r.Name, "redis-server: ") {
					units[r.Unit]++
				}
				want, known := tt.values[r.Name]
				switch {
				case known && r.Value != want:
					t.Errorf("%s: %v, want %v", r.Name, r.Value, want)
				case r.Unit == "per packet" && r.Value != 0, r.Unit == "Mpps" && r.Value <= 0,
					// The clock of processor time may be coarse, and records irregular.
					tt.daemons && tt.name != "routes" && tt.name != "hft" && r.Value <= 0:
					t.Errorf("%s: %v %s", r.Name, r.Value, r.Unit)
				}
				delete(tt.values, r.Name)
			}
			if !maps.Equal(units, tt.units) || len(tt.values) > 0 {
				t.Errorf("figures by unit %v, want %v; without %v", units, tt.units, tt.values)
			}
		})
	}
}
