package lab

import (
	"bytes"
	"testing"
)

// run runs an experiment and returns report.json.
func run(t *testing.T, name string, opts Options, set ...string) (*Result, []byte) {
	t.Helper()
	top, err := Open(name, set)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), top, opts)
	if err != nil {
		t.Fatal(err)
	}
	text, err := r.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return r, text
}

// Every experiment that comes with tamtam passes its checks, and gives the same
// bytes on 1, 2 and 4 workers, and again.
func TestExperiments(t *testing.T) {
	list, err := Experiments()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			r, want := run(t, e.Name, Options{Workers: 1})
			if len(r.Checks) == 0 {
				t.Error("no checks")
			}
			for _, c := range r.Checks {
				if !c.Pass {
					t.Errorf("%s: %s %s, want %s", c.Name, c.Measured, c.Unit, c.Paper)
				}
			}
			for _, workers := range []int{2, 4, 1} {
				if _, got := run(t, e.Name, Options{Workers: workers}); !bytes.Equal(got, want) {
					t.Errorf("%d workers gave another report:\n%s\nwant\n%s", workers, got, want)
				}
			}
		})
	}
}
