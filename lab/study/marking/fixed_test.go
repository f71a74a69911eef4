package marking

import (
	"testing"

	"tamtam/lab"
)

// On a chip that cannot match time, every point counts by the whole DSCP: the flow's own, with the mark or without. The
// packets of the flow are the same along the whole path, marked or not. The truth does not depend on how they are
// counted.
func TestTruthOfMarkedDSCP(t *testing.T) {
	top := markedPair(t, "step", -7, `
traffic:
- {name: marked, from: h1, to: h2, dst_port: 5000, dscp: 8, pps: 25600, start: 0s, count: 3000}
- {name: unmarked, from: h1, to: h2, dst_port: 5000, dscp: 16, pps: 5000, start: 0s, count: 500}
`)
	for i := range top.Switches {
		top.Switches[i].Profile = "fixed"
		top.Switches[i].Config.Tables["ACL_RULE"]["TAM|f"]["DSCP"] = "8"
	}
	top.Links[1].Loss = 1_000_000_000 / 20
	truth, r := runTruth(t, top, 150*lab.Millisecond)
	var sent, received uint64
	for _, p := range truth.periods {
		n, _, came := p.account(truth.path.segments[0], anySource)
		sent, received = sent+n, received+came
	}
	if f := r.Flows["marked"]; sent != f.Sent || received != f.Received || f.Lost == 0 {
		t.Errorf("oracle: %d sent, %d received, want %d and %d", sent, received, f.Sent, f.Received)
	}
	s := reportOf(r)["p"].Segments[0]
	if s.Numbers["complete"] < 10 || s.Numbers["loss_error.max"] != 0 {
		t.Errorf("%d of %d periods are complete, the greatest error of a loss is %d, want 10 or more and 0",
			s.Numbers["complete"], s.Numbers["periods"], s.Numbers["loss_error.max"])
	}
}
