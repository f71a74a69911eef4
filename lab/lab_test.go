package lab

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tamtam/internal/racetest"
)

// open reads an experiment without a study.
func open(name string, set []string) (*Topology, error) {
	return Load("experiments/"+name+".yaml", set)
}

// A run writes a report, a CSV and two pictures of each series, and the configured captures.
func TestWrite(t *testing.T) {
	racetest.Stepped(t)
	top, err := open("clock-drift", []string{"duration=100ms", "checks=[]"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), top, Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	want := []string{"report.json"}
	for name := range r.Series {
		want = append(want, name+".csv", name+".png", name+".svg")
	}
	for _, name := range want {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || len(text) == 0 {
			t.Errorf("%s: %d bytes, %v", name, len(text), err)
		}
	}
	var table bytes.Buffer
	if err := r.WriteFlows(&table); err != nil || !strings.Contains(table.String(), "Flow group") {
		t.Errorf("%s, %v", &table, err)
	}
}

// A check fails if the measured value differs from the expected one. Each kind of check is tested by changing an
// experiment.
func TestChecksCanFail(t *testing.T) {
	racetest.Stepped(t)
	tests := []struct {
		experiment string
		set        []string
		want       []string // checks that must fail
	}{
		{"congestion-10g", []string{"traffic.load.rate=10Gbps"},
			[]string{"delivered", "dropped for want of buffer", "queue after 99.5 us", "full queue", "longest wait"}},
		{"two-switches", []string{"links.middle.delay=600ns"}, []string{"delay not in the stamps, least",
			"delay not in the stamps, most"}},
		{"two-switches", []string{"links.right.loss=10%"}, []string{"stamped frames received", "plain frames received",
			"session at s2 stamped"}},
		{"two-switches", []string{"hosts.h2.stamps=false"}, []string{"two records in each stamped frame",
			"no record in other frames"}},
		{"link-failure", []string{"links.upper.detect=300us"}, []string{"lost on the failed link"}},
		{"clock-drift", []string{"switches.s3.clock.drift_ppb=0"}, []string{"5 ppm slow for 2 s"}},
	}
	for _, tt := range tests {
		t.Run(tt.experiment+" "+strings.Join(tt.set, " "), func(t *testing.T) {
			t.Parallel()
			top, err := open(tt.experiment, tt.set)
			if err != nil {
				t.Fatal(err)
			}
			r, err := Run(t.Context(), top, Options{Workers: 1})
			if err != nil {
				t.Fatal(err)
			}
			var failed []string
			for _, c := range r.Checks {
				if c.Failed() {
					failed = append(failed, c.Name)
				}
			}
			for _, name := range tt.want {
				if !slices.Contains(failed, name) {
					t.Errorf("%q passes; failed have %q", name, failed)
				}
			}
			if r.Passed() {
				t.Error("the run passes")
			}
		})
	}
}

// The Go API works without YAML.
func TestGoAPI(t *testing.T) {
	racetest.Stepped(t)
	config := func() Config {
		top, err := open("two-switches", nil)
		if err != nil {
			t.Fatal(err)
		}
		return top.Switches[0].Config
	}
	top := &Topology{
		Switches: []Switch{{Name: "s1", Config: config()}},
		Hosts: []Host{{Name: "a", IPs: prefixes("10.0.0.1/24", "2001:db8::1/64")},
			{Name: "b", IPs: prefixes("2001:db8::2/64")}},
		Links: []Link{{A: "a", B: "s1:Ethernet0"}, {A: "b", B: "s1:Ethernet4"}},
		Traffic: []Traffic{{Name: "six", From: "a", To: "b", PPS: 1_000_000, Headers: Headers{Protocol: "tcp"},
			Size: Sizes{List: []uint16{100}}, Start: 20 * Microsecond, Count: 50}},
	}
	l, err := New(t.Context(), top, Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for range 4 { // time can pass in pieces
		if err := l.Run(t.Context(), 25*Microsecond); err != nil {
			t.Fatal(err)
		}
	}
	r, err := l.Result(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if f := r.Flows["six"]; f.Sent != 50 || f.Received != 50 || f.Lost != 0 {
		t.Errorf("flow group: %+v", f)
	}
	if len(r.Problems()) > 0 || r.Duration != 100*Microsecond {
		t.Errorf("after %v: %v", r.Duration, r.Problems())
	}
	if _, err := New(t.Context(), &Topology{}, Options{}); err == nil ||
		!strings.Contains(err.Error(), "want 1 to 2048 switches") {
		t.Errorf("an empty topology: %v", err)
	}
}
