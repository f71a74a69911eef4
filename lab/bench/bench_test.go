package bench

import (
	"maps"
	"testing"
)

// Every load of the benchmark forwards, or drops, what it says; nothing is measured
// of packets that went elsewhere.
func TestASIC(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	results, err := ASIC(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Unit == "per packet" && r.Value != 0 {
			t.Errorf("%s: %v", r.Name, r.Value)
		}
		if r.Unit == "Mpps" && r.Value <= 0 {
			t.Errorf("%s: %v", r.Name, r.Value)
		}
	}
}

// Marking forwards all packets too, and allocates nothing.
func TestAltMark(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	results, err := AltMark(t.Context(), 50, 5, 1)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{"50 flows: ACL entries": 100, "50 flows: profiles": 1, "all marked, allocations": 0}
	for _, r := range results {
		if w, ok := want[r.Name]; ok && r.Value != w || r.Value <= 0 && r.Name != "all marked, allocations" {
			t.Errorf("%s: %v, want %v", r.Name, r.Value, w)
		}
		delete(want, r.Name)
	}
	if len(want) > 0 {
		t.Errorf("no results of %v", want)
	}
}

// What a drop monitor does not see is forwarded, the rest is dropped; neither allocates.
func TestDrops(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	results, err := Drops(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 24 {
		t.Errorf("%d results", len(results))
	}
	for _, r := range results {
		if r.Unit == "per packet" && r.Value != 0 || r.Unit != "per packet" && r.Value <= 0 {
			t.Errorf("%s: %v", r.Name, r.Value)
		}
	}
}

// What is sampled is forwarded too, of drops each is told; neither allocates.
func TestSFlow(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	results, err := SFlow(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 20 {
		t.Errorf("%d results", len(results))
	}
	for _, r := range results {
		if r.Unit == "per packet" && r.Value != 0 || r.Unit != "per packet" && r.Value <= 0 {
			t.Errorf("%s: %v", r.Name, r.Value)
		}
	}
}

// What is recorded is forwarded too, and allocates nothing.
func TestRecordChip(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	results, err := recordChip(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 10 {
		t.Errorf("%d results", len(results))
	}
	for _, r := range results {
		if r.Unit == "per packet" && r.Value != 0 || r.Unit != "per packet" && r.Value <= 0 {
			t.Errorf("%s: %v", r.Name, r.Value)
		}
	}
}

// All figures of a configuration are there, on each Redis, and none is 0.
func TestConfig(t *testing.T) {
	results, err := Config(t.Context(), 20, 5)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) == 0 || len(results)%3 != 0 {
		t.Errorf("%d results", len(results))
	}
	for _, r := range results {
		if r.Value <= 0 {
			t.Errorf("%s: %v", r.Name, r.Value)
		}
	}
}

// Each of planning, decoding and recording has its figures.
func TestTableRecord(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	results, err := TableRecord(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	units := map[string]int{}
	for _, r := range results {
		units[r.Unit]++
	}
	if want := (map[string]int{"": 5, "Mpps": 4, "bits": 6, "ms": 5, "per packet": 3, "per second": 2,
		"times": 6}); !maps.Equal(units, want) {
		t.Errorf("figures by unit %v, want %v", units, want)
	}
}

// Sessions become active, and cost something.
func TestSessions(t *testing.T) {
	results, err := Sessions(t.Context(), 50)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 3 {
		t.Errorf("%d results", len(results))
	}
	for _, r := range results {
		if r.Value <= 0 {
			t.Errorf("%s: %v", r.Name, r.Value)
		}
	}
}

func TestRoutes(t *testing.T) {
	results, err := Routes(t.Context(), 60)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 5 {
		t.Fatalf("%d results, want 5: %v", len(results), results)
	}
	for _, r := range results {
		if r.Value <= 0 && r.Unit != "ms" { // the clock of processor time may be coarse
			t.Errorf("%s: %g %s", r.Name, r.Value, r.Unit)
		}
	}
}
