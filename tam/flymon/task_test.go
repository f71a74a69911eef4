package flymon_test

import (
	"slices"
	"testing"

	"tamtam/tam/flymon"
)

// Each attribute has the algorithms of the paper's table 1, and further ones.
func TestAlgorithmsOfAttributes(t *testing.T) {
	measured := map[flymon.Algorithm]bool{flymon.Auto: true}
	for _, tt := range []struct {
		task, key, attribute string
		threshold            uint64
		auto                 flymon.Algorithm
	}{
		{"DDoS victims", "dst-ip", "distinct(src-ip)", 512, flymon.BeauCoup},
		{"worms", "src-ip", "distinct(dst-ip)", 512, flymon.BeauCoup},
		{"port scans", "ip-pair", "distinct(dst-port)", 512, flymon.BeauCoup},
		{"cardinality", "none", "distinct(5-tuple)", 0, flymon.HyperLogLog},
		{"flow sizes, heavy hitters, heavy changers", "5-tuple", "frequency", 1024, flymon.CMS},
		{"bytes", "src-ip/24", "frequency(bytes)", 0, flymon.CMS},
		{"black list", "none", "existence(src-ip)", 0, flymon.Bloom},
		{"congestion", "5-tuple", "max(queue-length)", 0, flymon.SuMaxMax},
		{"head of line blocking", "5-tuple", "max(queue-delay)", 0, flymon.SuMaxMax},
		{"greatest interval", "5-tuple", "max(interval)", 0, flymon.MaxInterArr},
		{"similarity of two sets", "none", "similarity(src-ip)", 0, flymon.OddSketch},
	} {
		a, err := flymon.ParseAttribute(tt.attribute)
		if err != nil {
			t.Fatal(err)
		}
		task := flymon.Task{Key: key(t, tt.key), Attribute: a, Memory: 1024, Threshold: tt.threshold}
		all := flymon.AlgorithmsOf(a, task.Key.IsZero())
		if all[0] != tt.auto {
			t.Errorf("%s: auto is %s, want %s", tt.task, all[0], tt.auto)
		}
		for _, x := range flymon.Algorithms() {
			task.Algorithm = x
			err := task.Check()
			if want := x == flymon.Auto || slices.Contains(all, x); (err == nil) != want {
				t.Errorf("%s by %s: %v", tt.task, x, err)
			}
			measured[x] = measured[x] || err == nil
		}
	}
	for _, x := range flymon.Algorithms() {
		if !measured[x] {
			t.Errorf("%s measures nothing", x)
		}
	}
}
