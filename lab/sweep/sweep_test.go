package sweep

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"tamtam/lab"
)

const pair = `
experiment: pair
duration: 300us
switches:
- name: s1
  profile: small
  config:
    PORT:
      Ethernet0: {lanes: "0", speed: "10000", admin_status: up}
      Ethernet1: {lanes: "1", speed: "10000", admin_status: up}
    VLAN: {Vlan10: {vlanid: "10"}}
    VLAN_MEMBER: {Vlan10|Ethernet0: {tagging_mode: untagged}, Vlan10|Ethernet1: {tagging_mode: untagged}}
hosts:
- {name: a, ips: [10.0.0.1/24]}
- {name: b, ips: [10.0.0.2/24]}
links:
- {a: a, b: "s1:Ethernet0"}
- {name: far, a: "s1:Ethernet1", b: b, loss: 0.1}
traffic:
- {name: t, from: a, to: b, pps: 400000, start: 10us, stop: 260us}
checks:
- {name: sent, measured: flow.t.sent, want: 100}
`

const aSweep = `
experiment: ./pair.yaml
seeds: {first: 5, count: 3}
vary:
- {path: links.far.loss, values: [0, 0.1, 0.5]}
- {path: traffic.t.size, values: [64, 512]}
results:
- {name: lost, measured: flow.t.lost}
- {name: delay, measured: flow.t.delay.min}
plots:
- {result: lost, over: links.far.loss}
`

// files writes the sweep and its experiment to a directory.
func files(t *testing.T) (f *File, o Options, runs *atomic.Int32) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"pair.yaml": pair, "sweep.yaml": aSweep} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := Read(filepath.Join(dir, "sweep.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	runs = &atomic.Int32{}
	return f, Options{Out: filepath.Join(dir, "out"), Program: "p", Workers: 2,
		Open: func(name string, set []string, short bool) (*lab.Topology, error) {
			runs.Add(1)
			return lab.Load(name, set)
		}}, runs
}

// Each combination and seed is run once, and statistics cover the seeds. Existing results are reused, and an
// interrupted sweep continues. The outcome does not depend on any of that.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("TestKilled has workers for the race detector")
	}
	f, o, _ := files(t)
	all, err := f.Run(t.Context(), o)
	if err != nil || len(all) != 18 {
		t.Fatalf("%d outcomes: %v", len(all), err)
	}
	for i, j := range f.Jobs() {
		if !reflect.DeepEqual(all[i].Job, j) {
			t.Errorf("outcome %d is of %v, want %v", i, all[i].Job, j)
		}
	}
	rows := f.Rows(all)
	if len(rows) != 12 || rows[0].Runs != 3 || rows[0].Most != 0 || rows[8].Mean < 30 || rows[8].Mean > 70 ||
		rows[8].Deviation == 0 || rows[1].Unit != "ns" {
		t.Errorf("%+v", rows)
	}
	if err := f.Write(o.Out, rows); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"sweep.csv", "sweep-1.svg", "sweep-1.png"} {
		if info, err := os.Stat(filepath.Join(o.Out, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}

	// The sweep is interrupted after some runs, and a file is cut before it has its name.
	f, o, _ = files(t)
	ctx, cancel := context.WithCancel(t.Context())
	o.Progress = func(done, _ int) {
		if done == 4 {
			cancel()
		}
	}
	some, err := f.Run(ctx, o)
	if !errors.Is(err, context.Canceled) || len(some) < 4 || len(some) == 18 {
		t.Fatalf("%d outcomes: %v", len(some), err)
	}
	if err := os.WriteFile(filepath.Join(o.Out, "jobs", ".job-1"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	o.Progress = nil
	again, err := f.Run(t.Context(), o)
	if err != nil || !reflect.DeepEqual(again, all) {
		t.Errorf("%v: %+v, want %+v", err, again, all)
	}
	left, err := os.ReadDir(filepath.Join(o.Out, "jobs"))
	if err != nil || len(left) != 19 {
		t.Errorf("%d files of 18 jobs and one that was cut: %v", len(left), err)
	}
	before := make(map[string]int64)
	for _, e := range left {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		before[e.Name()] = info.ModTime().UnixNano()
	}
	if _, err := f.Run(t.Context(), o); err != nil {
		t.Error(err)
	}
	for name, at := range before {
		if info, err := os.Stat(filepath.Join(o.Out, "jobs", name)); err != nil || info.ModTime().UnixNano() != at {
			t.Errorf("%s was written again: %v", name, err)
		}
	}
	o.Program, f.Vary, f.Plots = "another", f.Vary[1:], nil
	if _, err := f.Run(t.Context(), o); err != nil {
		t.Error(err)
	}
	if now, _ := os.ReadDir(filepath.Join(o.Out, "jobs")); len(now) != 19+6 {
		t.Errorf("%d files after another program, want 6 more", len(now))
	}
}

// All results of a sweep are of the same files. If a file changes during the sweep, the later runs fail.
func TestChangedMeanwhile(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"changed while the sweep ran": func(path string) error {
			text, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path, append(text, "\n# more"...), 0o644))
		},
		"no such file": os.Remove,
	} {
		f, o, _ := files(t)
		o.Workers = 1
		o.Progress = func(done, _ int) {
			if done == 1 {
				if err := change(filepath.Join(f.dir, "pair.yaml")); err != nil {
					t.Error(err)
				}
			}
		}
		all, err := f.Run(t.Context(), o)
		if len(all) == 0 || len(all) > 2 || err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%d outcomes, %v: want those that ran before, and %s", len(all), err, name)
		}
	}
}

// Two parameters that name the same field are refused, since their rows would have values that no run had.
func TestVaryTwice(t *testing.T) {
	f, o, _ := files(t)
	f.Seeds.Count = 1
	f.Vary = []Vary{{Path: "links.1.loss", Values: []string{"0.1", "0.2"}},
		{Path: "links.far.loss", Values: []string{"0"}}}
	all, err := f.Run(t.Context(), o)
	if want := `vary: "links.far.loss" sets what "links.1.loss" sets: want one of both`; len(all) > 0 || err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("%d outcomes, %v: want %s", len(all), err, want)
	}
}

// Results depend on the files that an experiment or a setting names. If such a file changes, the results are different
// ones.
func TestChangedFile(t *testing.T) {
	f, o, _ := files(t)
	config := filepath.Join(f.dir, "s1.json")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	results := func(set ...string) string {
		t.Helper()
		f.named.forget()
		name, err := f.nameOf(o, set, Job{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	const by = "switches.s1.config=s1.json"
	write("{}")
	first := results(by)
	if results(by) != first {
		t.Error("the same file makes other results")
	}
	if write(`{"PORT": {}}`); results(by) == first {
		t.Error("another configuration has the same results")
	}
	without := results()
	topology := filepath.Join(f.dir, "pair.yaml")
	if err := os.WriteFile(topology, []byte(pair+"# of s1.json\nfiles: {of: s1.json}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	named := results()
	if write("{ }"); results() == named || named == without {
		t.Error("another file that the experiment names has the same results")
	}
	// A name refers to an experiment that comes with the program, even if a directory has that name.
	t.Chdir(f.dir)
	if err := os.Mkdir("ampm-link", 0o755); err != nil {
		t.Fatal(err)
	}
	f.Experiment = "ampm-link"
	results()
}

// No other sweep works in the directory meanwhile. The error of a failed job names what it ran. A damaged result is
// reported.
func TestRunRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("TestKilled has workers for the race detector")
	}
	f, o, _ := files(t)
	f.Seeds.Count = 1
	o.Progress = func(done, _ int) {
		if _, err := f.Run(t.Context(), o); done == 1 && (err == nil ||
			!strings.Contains(err.Error(), "another sweep works in this directory")) {
			t.Errorf("a second sweep: %v", err)
		}
	}
	if _, err := f.Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	o.Progress = nil
	names, err := filepath.Glob(filepath.Join(o.Out, "jobs", "*.json"))
	if err != nil || len(names) != 6 {
		t.Fatal(names, err)
	}
	if err := os.WriteFile(names[3], []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if all, err := f.Run(t.Context(), o); len(all) != 5 || err == nil || !strings.Contains(err.Error(), names[3]) ||
		!strings.Contains(err.Error(), "remove it to run the job again") {
		t.Errorf("%d, %v", len(all), err)
	}
	f.Vary[0].Values[2] = "-1"
	if all, err := f.Run(t.Context(), o); len(all) != 3 || err == nil ||
		!strings.Contains(err.Error(), "seed 5, [links.far.loss=-1 traffic.t.size=64]") {
		t.Errorf("%d, %v", len(all), err)
	}
	f.Results[0].Measured = "flow.t.gone"
	if _, err := f.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(),
		`result lost: "flow.t.gone": no such metric`) {
		t.Errorf("%v", err)
	}
}

// Plots without points, and of a single point, are drawn.
func TestPlotOfLittle(t *testing.T) {
	if testing.Short() {
		t.Skip("TestKilled has workers for the race detector")
	}
	f, o, _ := files(t)
	if err := os.Mkdir(o.Out, 0o755); err != nil {
		t.Fatal(err)
	}
	one := []Outcome{{Job: Job{Values: []string{"0.1", "64"}}, Results: []Number{{Name: "lost", Value: 7, Unit: ""}}}}
	for _, all := range [][]Outcome{nil, one} {
		if err := f.Write(o.Out, f.Rows(all)); err != nil {
			t.Error(err)
		}
	}
}

// Parse returns an error that names the invalid part of a file.
func TestParse(t *testing.T) {
	if _, err := Parse([]byte(aSweep)); err != nil {
		t.Error(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{aSweep, "", "the file is empty"},
		{"experiment: ./pair.yaml", "", `experiment: "": want the name`},
		{"count: 3", "count: 0", "seeds: first 5, count 0: want 1 or more of both"},
		{"first: 5", "first: 0", "seeds: first 0"},
		{"count: 3", "count: 9000000", "runs and more: want at most 1000000"},
		{"[0, 0.1, 0.5]", "[]", "vary[0]: values: none"},
		{"[0, 0.1, 0.5]", "[0, 0]", `vary[0]: values: "0" is there twice`},
		{"traffic.t.size", "seed", `vary[1]: path: "seed": want seeds of the sweep`},
		{"traffic.t.size", "links.far.loss", `vary[1]: path: "links.far.loss": it is varied already`},
		{"count: 3", "count: 3.5", "line 3: count: 3.5: want a whole number"},
		{"name: delay", "name: lost", `results[1]: name: "lost": want a name of its own`},
		{"measured: flow.t.lost", "measured: ''", `results[0]: measured: ""`},
		{"plots:\n- {result: lost", "plots:\n- {result: cost", `plots[0]: result: "cost": want one of delay, lost`},
		{"over: links.far.loss", "over: x", `plots[0]: over: "x": want one of links.far.loss, traffic.t.size`},
		{"values: [0, 0.1, 0.5]", "values: [0, 10us, nan]", `plots[0]: over: links.far.loss has "10us": want numbers`},
		{"values: [0, 0.1, 0.5]", "values: [0, .inf, NaN]", `plots[0]: over: links.far.loss has "NaN": want numbers`},
		{"over: links.far.loss", "over: links.far.loss, scale: log",
			`plots[0]: over: links.far.loss has "0": want numbers above 0`},
		{"first: 5", "first: 18446744073709551614", "seeds: first 18446744073709551614: want 3 seeds below 2^64"},
		{"\nplots:", "\n---\nplots:", "there is a second document"},
		{"over: links.far.loss", "over: links.far.loss, scale: cubic", `scale: "cubic": want linear or log`},
		{"seeds:", "sedes:", "field sedes not found"},
	} {
		if _, err := Parse([]byte(strings.Replace(aSweep, c.old, c.new, 1))); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q: %v, want %s", c.new, c.old, err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(aSweep))
	f.Add([]byte("vary: [&a {path: x}, *a]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse(text)
		if err == nil && len(s.Jobs()) > maxJobs {
			t.Errorf("%d jobs", len(s.Jobs()))
		}
	})
}

// ExampleFile_Rows shows that quartiles are computed as in spreadsheets.
func ExampleFile_Rows() {
	f, _ := Parse([]byte("experiment: x\nresults: [{name: lost, measured: flows.lost}]"))
	var all []Outcome
	for _, v := range []int64{4, 1, 3, 2, 10} {
		all = append(all, Outcome{Results: []Number{{Name: "lost", Value: v, Unit: "packets"}}})
	}
	r := f.Rows(all)[0]
	fmt.Println(r.Runs, r.Mean, r.Least, r.Quarter, r.Median, r.Three, r.Most)
	// Output: 5 4 1 2 3 4 10
}

// An experiment that is not a regular file, such as an endless device, is refused before it is read.
func TestExperimentIsAFile(t *testing.T) {
	f, o, runs := files(t)
	long := filepath.Join(t.TempDir(), "long.yaml")
	if err := os.WriteFile(long, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(long, 1<<40); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/dev/zero", t.TempDir(), long} {
		f.Experiment = path
		if _, err := f.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "want a file of at most 4194305") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if runs.Load() != 0 {
		t.Errorf("%d runs", runs.Load())
	}
}
