package describe_test

import (
	"fmt"
	"testing"

	"tamtam/saisim/describe"
	"tamtam/saisim/profile"
)

// This shows the next nodes of packets that leave the port of a chip without a program, by the outcome of the MTU
// check.
func ExampleProgram() {
	p := profile.Small()
	g := describe.Program(&p, nil)
	fmt.Println("from", g.Init)
	for _, e := range g.Edges {
		if e.From == describe.MTU.String() {
			fmt.Println(e.From, e.Label, "->", e.To)
		}
	}
	// Output:
	// from chip.port
	// chip.mtu hit -> chip.egress_acl.applies
	// chip.mtu miss -> EXIT
}

// Each fixed function has its own name and two marks.
func TestMarks(t *testing.T) {
	names, seen := map[string]bool{}, describe.Marks(0)
	for f := range describe.NumFixed {
		both := f.Ran() | f.Hit()
		if f.Ran() == f.Hit() || seen&both != 0 || both == 0 {
			t.Errorf("%s: marks %b and %b, of which others have %b", f, f.Ran(), f.Hit(), seen&both)
		}
		if names[f.String()] || f.String() == "" {
			t.Errorf("function %d is %q, as another is", f, f)
		}
		names[f.String()], seen = true, seen|both
	}
}
