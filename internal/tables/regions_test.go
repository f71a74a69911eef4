package main

import (
	"os"
	"testing"
)

// The regions of the modules match the declarations of package schema.
func TestRegions(t *testing.T) {
	made, err := rewrite("../../yang")
	if err != nil {
		t.Fatal(err)
	}
	if len(made) < 5 {
		t.Errorf("%d modules have something that is made, want at least 5", len(made))
	}
	for file, want := range made {
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is not what package schema declares: run go generate ./yang", file)
		}
	}
}

// A region with an unknown name is an error.
func TestRegionOfNothing(t *testing.T) {
	for _, what := range []string{"", "nothing", "counters of TAM_NO_TABLE"} {
		if lines, err := regionOf(what, "../../yang"); err == nil {
			t.Errorf("%q is %q, want an error", what, lines)
		}
	}
}
