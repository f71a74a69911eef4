package device

import "testing"

// Every load of the benchmark forwards, or drops, what it says; nothing is measured
// of packets that went elsewhere.
func TestBenchASIC(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	results, err := BenchASIC(t.Context(), 1)
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
func TestBenchAltMark(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	results, err := BenchAltMark(t.Context(), 50, 5, 1)
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

// What is recorded is forwarded too, and allocates nothing.
func TestBenchRecordChip(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	results, err := BenchRecordChip(t.Context(), 1)
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
