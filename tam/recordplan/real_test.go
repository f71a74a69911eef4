package recordplan

import (
	"testing"

	"tamtam/tam/record"
	"tamtam/tam/recordplan/check"
	"tamtam/tam/recordplan/p4graph"
)

// Plans of real programs in the minimum number of stages: greedy, and the optimum or its bound.
func TestPlansOfRealPrograms(t *testing.T) {
	p4(t, "")
	for _, c := range []struct {
		file    string
		phv     string
		hits    bool
		optimal bool
	}{
		{"netcache", "16", false, false},
		{"netcache", "8+8", false, true},
		{"netcache", "8+8", true, true},
		{"onos-fabric", "16", false, true},
		{"onos-fabric", "8+8", false, true},
		{"ontas-p4_14-ingress", "16", false, true},
		{"ontas-p4_14-ingress", "8+8", false, true},
		{"switch-p4_14-ingress", "16", false, true},
		{"switch-p4_14-ingress", "8+8", false, true},
		{"switch-p4_14-ingress", "16", true, true},
		{"switch-p4_14-ingress", "32", true, false},
		{"switch-p4_14-ingress", "16+16", true, false},
	} {
		t.Run(c.file+"/"+c.phv, func(t *testing.T) {
			g := readFile(t, p4(t, c.file), "ingress")
			for _, p := range []record.Probabilities{p4graph.Uniform(g), p4graph.Random(g, 1)} {
				m, err := NewModel(g, p)
				if err != nil {
					t.Fatal(err)
				}
				s := Settings{Hits: c.hits}
				if s.Containers, err = record.ParseContainers(c.phv); err != nil {
					t.Fatal(err)
				}
				greedy := planned(t, m, s, record.Greedy)
				best := planned(t, m, s, record.BranchAndBound)
				t.Logf("greedy %.4f, best %.4f, bound %.4f of %.4f, recovery %.3f, %d sets, %d solves",
					greedy.Entropy, best.Entropy, best.Bound, best.Full, best.Recovery, best.Sets, best.Solves)
				if c.optimal && !best.Optimal {
					t.Errorf("entropy %v, bound %v: not proven", best.Entropy, best.Bound)
				}
				if err := check.Plan(best); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
