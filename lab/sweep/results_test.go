package sweep

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// A result's file must contain the results that the sweep requires.
func TestParseOutcome(t *testing.T) {
	f := &File{Results: []Result{{Name: "lost"}, {Name: "delay"}}}
	for text, want := range map[string]string{
		`{"results": [{"name": "lost", "value": 3}]}`:                   "1 results: want 2",
		`{"results": [{"name": "lost"}, {"name": "late"}]}`:             `results[1]: name: "late": want "delay"`,
		`{"results": [{"name": "lost"}, {"name": "delay"}], "more": 1}`: `unknown field "more"`,
		`{`: "unexpected EOF",
		`{"seed": 2, "values": ["7"], "results": [{"name": "lost"}, {"name": "delay"}]}`: `it is of seed 2, values ["7"]: ` +
			`want seed 0`,
		`{"results": [{"name": "lost"}, {"name": "delay"}]}`: "want the form of a result's file",
	} {
		if out, err := f.parseOutcome([]byte(text), Job{}); out != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v: want %s", text, out, err, want)
		}
	}
}

// Any change of a result's file is detected: a changed or missing byte, or one appended.
func TestDamagedResult(t *testing.T) {
	f := &File{Results: []Result{{Name: "lost"}}}
	out := &Outcome{Job: Job{Values: []string{"0.1"}, Seed: 3}, Results: []Number{
		{Name: "lost", Value: 1207, Unit: "packets"}}, Failed: []string{"all"}}
	text, err := out.text()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := f.parseOutcome(text, out.Job); err != nil || !reflect.DeepEqual(got, out) {
		t.Fatalf("%+v, %v: want %+v", got, err, out)
	}
	for i := range text {
		for bit := range 8 {
			bad := slices.Clone(text)
			bad[i] ^= 1 << bit
			if got, err := f.parseOutcome(bad, out.Job); err == nil {
				t.Errorf("bit %d of byte %d is another: %+v", bit, i, got)
			}
		}
		if got, err := f.parseOutcome(text[:i], out.Job); err == nil {
			t.Errorf("cut to %d bytes: %+v", i, got)
		}
	}
	if got, err := f.parseOutcome(append(text, '1'), out.Job); err == nil {
		t.Errorf("with something behind it: %+v", got)
	}
}

// A run without a measurement does not count in mean, minimum and maximum. A row of only such runs has no numbers and
// no point.
func TestUnmeasured(t *testing.T) {
	f := &File{Vary: []Vary{{Path: "loss", Values: []string{"0.5", "1"}}}, Results: []Result{{Name: "delay"}},
		Plots: []Plot{{Result: "delay", Over: "loss"}}}
	of := func(loss string, value int64, unmeasured bool) Outcome {
		return Outcome{Job: Job{Values: []string{loss}},
			Results: []Number{{Name: "delay", Value: value, Unit: "ps", Unmeasured: unmeasured}}}
	}
	rows := f.Rows([]Outcome{of("0.5", 5000, false), of("0.5", 0, true), of("0.5", 7000, false), of("1", 0, true)})
	if r := rows[0]; len(rows) != 2 || r.Runs != 2 || r.Unmeasured != 1 || r.Mean != 6 || r.Least != 5 ||
		rows[1].Runs != 0 {
		t.Errorf("%+v", rows)
	}
	dir := t.TempDir()
	var table strings.Builder
	if err := errors.Join(f.WriteText(&table, rows), f.Write(dir, rows)); err != nil {
		t.Fatal(err)
	}
	const last = "1     delay   0     -     -          -      -       -     ns    passed, not measured in 1 runs\n"
	if !strings.HasSuffix(table.String(), last) {
		t.Errorf("%s\nwant %s", table.String(), last)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "sweep.csv")); err != nil ||
		!strings.HasSuffix(string(text), "\n1,delay,ns,0,,,,,,,,0,1\n") {
		t.Errorf("%s, %v", text, err)
	}
	if fig, err := f.figure(0, f.Plots[0], rows); err != nil || len(fig.Panels[0].Curves) != 1 ||
		len(fig.Panels[0].Curves[0].Points) != 1 {
		t.Errorf("%+v, %v: want one point", fig, err)
	}
}

// The deviation of a single run is unknown, not 0.
func TestDeviationOfOne(t *testing.T) {
	f := &File{Results: []Result{{Name: "lost"}}}
	of := func(value int64) Outcome {
		return Outcome{Results: []Number{{Name: "lost", Value: value, Unit: "packets"}}}
	}
	for _, c := range []struct {
		runs        []Outcome
		table, file string
	}{
		{[]Outcome{of(7)}, "lost    1     7     -          7      7       7     packets  passed\n",
			"\nlost,packets,1,7,,7,7,7,7,7,0,0\n"},
		{[]Outcome{of(7), of(7)}, "lost    2     7     0          7      7       7     packets  passed\n",
			"\nlost,packets,2,7,0,7,7,7,7,7,0,0\n"},
	} {
		dir, rows := t.TempDir(), f.Rows(c.runs)
		var table strings.Builder
		if err := errors.Join(f.WriteText(&table, rows), f.Write(dir, rows)); err != nil ||
			!strings.HasSuffix(table.String(), c.table) {
			t.Errorf("%v\n%s\nwant %s", err, table.String(), c.table)
		}
		if text, err := os.ReadFile(filepath.Join(dir, "sweep.csv")); err != nil || !strings.HasSuffix(string(text), c.file) {
			t.Errorf("%s, %v: want %s", text, err, c.file)
		}
	}
}

// A table replaces the last one only when it is complete. A failed write leaves the last one.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "sweep.csv")
	for _, text := range []string{"one", "two, which is longer", "3"} {
		if err := replace(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%q, %v: want %q", got, err, text)
		}
	}
	if err := replace(filepath.Join(path, "below"), []byte("four")); err == nil {
		t.Error("no error")
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "3" {
		t.Errorf("%q, %v: want what was there", got, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v, %v: want one file", left, err)
	}
}
