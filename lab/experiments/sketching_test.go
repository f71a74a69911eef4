package experiments

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tamtam/collector/capture"
	"tamtam/lab"
	"tamtam/lab/study/sketching"
)

func sketches(r *lab.Result) *sketching.Report { return r.Reports["flymon"].(*sketching.Report) }

// A capture replaces generated traffic: its flows and packets are the truth.
func TestFlyMonCapture(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "flows.pcap")
	w, err := capture.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	at := lab.Epoch()
	for i := range 3000 {
		frame := make([]byte, 60)
		frame[12], frame[13], frame[14], frame[23] = 8, 0, 0x45, 17
		flow := i % 300
		if i >= 2000 {
			flow = 7 // 1000 of its own and 7 by turns
		}
		frame[29], frame[33], frame[35] = byte(flow), byte(flow>>8), byte(flow)
		at = at.Add(time.Microsecond)
		if err := w.Write(at, frame, len(frame)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	top, err := Open("flymon-fig14a", []string{"flymon.traffic.pcap=" + path, "flymon.memory=[96KiB]",
		"flymon.curves.univmon.memory=[96KiB]", "flymon.threshold=500", "checks=[]"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := lab.Run(t.Context(), top, lab.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(sketches(r).Seeds) != 1 {
		t.Errorf("%d seeds, want 1", len(sketches(r).Seeds))
	}
	for _, name := range []string{"cms", "sumax", "beaucoup", "univmon"} {
		if m, ok := r.Metric("flymon." + name + ".96KiB.f1.min"); !ok || m.Value != 1e6 {
			t.Errorf("%s: F1 is %d millionths, want 1: one flow has 1007 packets, the others 7", name, m.Value)
		}
	}
}

// Impossible settings are refused, with place, field and value.
func TestFlyMonRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	for set, want := range map[string]string{
		"flymon.study=nothing": `flymon.study: "nothing": want one of heavy-hitters`,
		"flymon.traffic.packets=5": `flymon.traffic.packets: "5": want one for each of ` +
			`120000 flows`,
		"flymon.traffic.time=0s": "flymon.traffic.time",
		"flymon.curves.cms.algorithm=none": `flymon.curves[cms].algorithm: "none": want ` +
			`original-beaucoup, univmon or one of`,
		"flymon.memory=[]":                                        "flymon.curves[cms].memory",
		"flymon.memory=[12]":                                      `"12": want a whole number with its unit`,
		"flymon.geometry.depth=1000":                              `flymon.geometry.depth: "1000": want a power of two`,
		"flymon.threshold=1":                                      `flymon.threshold: "1"`,
		"flymon.key=none":                                         `flymon.key: "none"`,
		"flymon.traffic.pcap=/nowhere/at-all.pcap":                "at-all.pcap",
		"flymon.memory=[64MiB]":                                   "memory is",
		"flymon.curves.cms.algorithm=hll":                         "hll does not measure frequency",
		"switches=[{name: s1}]":                                   "no switches, hosts or traffic beside a study",
		"checks=[{name: x, measured: flymon.cms.f1.max, max: 1}]": `"flymon.cms.f1.max": no such metric`,
	} {
		short := []string{"flymon.traffic={packets: 60, flows: 30, time: 1s}", "flymon.curves=[{name: cms, algorithm: cms}]",
			"flymon.memory=[12KiB]"}
		if strings.HasPrefix(set, "flymon.traffic.packets") || strings.HasPrefix(set, "flymon.curves") {
			short = nil
		}
		top, err := Open("flymon-fig14a", append(short, set))
		if err == nil {
			_, err = lab.Run(t.Context(), top, lab.Options{Workers: 1})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", set, err, want)
		}
	}
	top, err := Open("flymon-fig11", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lab.New(t.Context(), top, lab.Options{Workers: 1}); err == nil ||
		!strings.Contains(err.Error(), "no switches to build") {
		t.Errorf("New builds a study: %v", err)
	}
}

// A study has the same results on one core as on several, and different results with another seed. A check that is not
// met fails.
func TestFlyMonWorkers(t *testing.T) {
	open := func(name string, set ...string) *lab.Topology {
		t.Helper()
		top, err := OpenShort(name, set)
		if err != nil {
			t.Fatal(err)
		}
		return top
	}
	var text []string
	for _, o := range []lab.Options{{Workers: 1}, {Workers: 3}, {Workers: 3, Seed: 9}} {
		r, err := lab.Run(t.Context(), open("flymon-fig14g"), o)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, string(sketches(r).CSV()["flymon.csv"]))
	}
	if text[0] != text[1] || text[0] == text[2] {
		t.Errorf("1 worker:\n%s\n3 workers:\n%s\nseed 9:\n%s", text[0], text[1], text[2])
	}
	r, err := lab.Run(t.Context(), open("flymon-fig14f", "flymon.curves.d3.memory=[144KiB]",
		"checks=[{name: are, measured: flymon.d3.144KiB.are.max, max: 0.001}]"), lab.Options{Workers: 1})
	if err != nil || r.Passed() {
		t.Errorf("a check that cannot be met passes: %v", err)
	}
}
