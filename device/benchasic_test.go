package device

import "testing"

// Every load of the benchmark forwards, or drops, what it says; nothing is measured
// of packets that went elsewhere.
func TestBenchASIC(t *testing.T) {
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
