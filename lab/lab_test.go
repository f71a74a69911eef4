package lab

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// outputs runs an experiment and returns all files that it writes.
func outputs(t *testing.T, name string, workers int) (*Result, map[string][]byte) {
	t.Helper()
	top, err := OpenShort(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r, err := Run(t.Context(), top, Options{Workers: workers, Out: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if files[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return r, files
}

// Every experiment that comes with tamtam passes its checks, those that take long in
// their short form, once. Report, series, plots
// and captures are the same bytes on 1 and 4 workers.
func TestExperiments(t *testing.T) {
	list, err := Experiments()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			first, others := 1, []int{4}
			if testing.Short() {
				first, others = 2, nil
			}
			if top, err := Open(e.Name, nil); err == nil && len(top.Short) > 0 {
				if testing.Short() {
					t.Skip("long even in its short form")
				}
				first, others = 2, nil // once will do
			}
			r, want := outputs(t, e.Name, first)
			if e.Description == "" || len(r.Checks) == 0 || want["report.json"] == nil {
				t.Errorf("description %q, %d checks, %d files", e.Description, len(r.Checks), len(want))
			}
			for _, c := range r.Checks {
				if c.Failed() {
					t.Errorf("%s: %s %s, want %s", c.Name, c.Measured, c.Unit, c.Paper)
				}
			}
			for _, workers := range others {
				_, got := outputs(t, e.Name, workers)
				if len(got) != len(want) {
					t.Errorf("%d workers wrote %d files, want %d", workers, len(got), len(want))
				}
				for name := range want {
					if !bytes.Equal(got[name], want[name]) {
						t.Errorf("%d workers wrote another %s", workers, name)
					}
				}
			}
		})
	}
}

// A check fails when what was measured is not what it wants: every check of every
// kind, by an experiment that is changed under it.
func TestChecksCanFail(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing new for the race detector")
	}
	tests := []struct {
		experiment string
		set        []string
		want       []string // checks that fail
	}{
		{"congestion-10g", []string{"traffic.load.rate=10Gbps"},
			[]string{"delivered", "dropped for want of buffer", "queue after 99.5 us", "full queue", "longest wait"}},
		{"two-switches", []string{"links.middle.delay=600ns"}, []string{"delay not in the stamps, least", "delay not in the stamps, most"}},
		{"two-switches", []string{"links.right.loss=10%"}, []string{"stamped frames received", "plain frames received", "session at s2 stamped"}},
		{"link-failure", []string{"links.upper.detect=300us"}, []string{"lost on the failed link"}},
		{"clock-drift", []string{"switches.s3.clock.drift_ppb=0"}, []string{"5 ppm slow for 2 s"}},
	}
	for _, tt := range tests {
		t.Run(tt.experiment+" "+strings.Join(tt.set, " "), func(t *testing.T) {
			t.Parallel()
			top, err := Open(tt.experiment, tt.set)
			if err != nil {
				t.Fatal(err)
			}
			r, err := Run(t.Context(), top, Options{})
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

// The Go API without YAML.
func TestGoAPI(t *testing.T) {
	config := func() Config {
		top, err := Open("two-switches", nil)
		if err != nil {
			t.Fatal(err)
		}
		return top.Switches[0].Config
	}
	top := &Topology{
		Switches: []Switch{{Name: "s1", Config: config()}},
		Hosts:    []Host{{Name: "a", IPs: prefixes("10.0.0.1/24", "2001:db8::1/64")}, {Name: "b", IPs: prefixes("2001:db8::2/64")}},
		Links:    []Link{{A: "a", B: "s1:Ethernet0"}, {A: "b", B: "s1:Ethernet4"}},
		Traffic:  []Traffic{{Name: "six", From: "a", To: "b", PPS: 1_000_000, Protocol: "tcp", Size: Sizes{List: []uint16{100}}, Start: 20 * Microsecond, Count: 50}},
	}
	l, err := New(t.Context(), top, Options{})
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
	if _, err := New(t.Context(), &Topology{}, Options{}); err == nil || !strings.Contains(err.Error(), "want 1 to 256 switches") {
		t.Errorf("an empty topology: %v", err)
	}
}
