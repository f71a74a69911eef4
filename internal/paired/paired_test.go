package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tamtam/lab/bench/chipload"
)

// A figure is the least of the turns; the median is of the quotients of turns, for one that was disturbed.
func TestPairOf(t *testing.T) {
	p := pairOf([][2]float64{{300, 100}, {310, 200}, {330, 110}})
	if p.least != [2]float64{300, 100} || p.times() != 3 || p.median != 3 {
		t.Errorf("%+v, %v times", p, p.times())
	}
	if p := pairOf([][2]float64{{2, 1}, {4, 1}}); p.median != 3 {
		t.Errorf("median of two quotients %v, want their mean", p.median)
	}
}

// What is served is the processor time of so many packets of a load, and an error if there is no such load.
func TestServe(t *testing.T) {
	var out strings.Builder
	if err := serve(t.Context(), "VLAN forwarding", strings.NewReader("1000\n2000\n"), &out); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^\d+\n\d+\n$`).MatchString(out.String()) {
		t.Errorf("%q, want two times", out.String())
	}
	for name, in := range map[string]string{"VLAN forwarding": "many\n", "no such load": ""} {
		if err := serve(t.Context(), name, strings.NewReader(in), &out); err == nil {
			t.Errorf("%s, %q: no error", name, in)
		}
	}
}

// Every load and part has a name of its own, by which the other program finds it.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	want := func(name string, l chipload.Load) {
		t.Helper()
		if got, err := loadOf(name); err != nil || got != l || seen[name] {
			t.Errorf("%s: %+v, %v, want %+v, once", name, got, err, l)
		}
		seen[name] = true
	}
	for _, n := range chipload.Chip {
		want(n.Name, n.Load)
	}
	for _, p := range chipload.Parts {
		want(p.Name, p.Load)
		if !p.First {
			want(p.Name+than, p.Than)
		}
	}
}

// An older tree gets what the loads need and it lacks, and the loads speak its language; a newer one is left.
func TestAdapt(t *testing.T) {
	for _, tt := range []struct {
		name, chip, want string
		folders          []string // that the tree has
	}{
		{"older", "func (c *Chip) SetOutput(f func(Out)) {", `"tamtam/flymon" f(func(o saisim.Out) {`, nil},
		{"by value", "func (c *Chip) SetOutput(f func(Out)) {", `"tamtam/tam/flymon" f(func(o saisim.Out) {`,
			[]string{"saisim/profile", "saisim/describe", "tam/flymon"}},
		{"newer", "func (c *Chip) SetOutput(f func(*Out)) {", `"tamtam/tam/flymon" f(func(o *saisim.Out) {`,
			[]string{"saisim/profile", "saisim/describe", "tam/flymon"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := t.TempDir()
			for _, dir := range append(tt.folders, "saisim", taken[0]) {
				if err := os.MkdirAll(filepath.Join(tree, dir), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			load := filepath.Join(tree, taken[0], "load.go")
			for file, text := range map[string]string{
				load: `"tamtam/tam/flymon" f(func(o *saisim.Out) {`, filepath.Join(tree, "saisim", "chip.go"): tt.chip,
			} {
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := adapt(tree); err != nil {
				t.Fatal(err)
			}
			if got, _ := os.ReadFile(load); string(got) != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
			for _, name := range []string{"saisim/profile/profile.go", "flymon/object.go"} {
				if _, err := os.Stat(filepath.Join(tree, name)); (err == nil) != (tt.folders == nil) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

// The report has a line of each with its aim, and the parts behind them.
func TestReport(t *testing.T) {
	var out strings.Builder
	r := report{before: "before", now: "now", gains: true,
		loads: []loadLine{{chipload.Named{Name: "all", Gain: 3.2}, pair{[2]float64{300, 100}, 2.9}}},
		parts: []partLine{{"parser", [2]float64{12, 4}}, {"learning", [2]float64{-3, 4}}}}
	if err := r.write(&out); err != nil {
		t.Fatal(err)
	}
	want := `a packet  before    now       times, least  times, median
all       300.0 ns  100.0 ns  3.00          2.90  aim 3.2

part of a packet  before   now
parser            12.0 ns  4.0 ns
learning          noise    4.0 ns
`
	if out.String() != want {
		t.Errorf("%s\nwant\n%s", out.String(), want)
	}
}
