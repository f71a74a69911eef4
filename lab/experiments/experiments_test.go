package experiments

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"tamtam/lab"
)

// outputs runs an experiment and returns all files that it writes.
func outputs(t *testing.T, name string, workers int) (*lab.Result, map[string][]byte) {
	t.Helper()
	top, err := OpenShort(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r, err := lab.Run(t.Context(), top, lab.Options{Workers: workers, Out: dir})
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

// Every experiment that comes with tamtam passes its checks. Long ones run once, in their short form if they have one.
// Report, series, plots and captures are the same bytes on 1 and 4 workers.
func TestExperiments(t *testing.T) {
	list, err := List()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			first, others := 1, []int{4}
			if testing.Short() {
				first, others = 2, nil // the race detector needs more than one worker
			}
			if top, err := Open(e.Name, nil); err == nil && len(top.Short) > 0 {
				if testing.Short() {
					t.Skip("long even in its short form")
				}
				others = nil // one run suffices for a long experiment
			}
			switch e.Name {
			case "ampm-fig8", "ampm-link", "altmark-encap": // alternate marking, as in ampm-ecmp and leaf-spine-tam
				others = nil
			}
			r, want := outputs(t, e.Name, first)
			if e.Description == "" || len(r.Checks) == 0 || want["report.json"] == nil {
				t.Errorf("description %q, %d checks, %d files", e.Description, len(r.Checks), len(want))
			}
			for _, f := range r.Figures() {
				if covered, err := f.Covered(); err != nil || len(covered) > 0 {
					t.Errorf("%s: the legend covers %v, %v", f.File, covered, err)
				}
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
