package recordplan

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/tam/record"
	"tamtam/tam/recordplan/check"
)

// programs returns a test that calls f with the random program of a seed.
func programs(s shape, f func(t *testing.T, r *rand.Rand, m *Model)) func(t *testing.T, seed uint64) {
	return func(t *testing.T, seed uint64) {
		t.Helper()
		if testing.Short() {
			t.Skip("one goroutine: nothing for the race detector")
		}
		r := rand.New(rand.NewPCG(seed, 6))
		g, p := randomProgram(r, s)
		m, err := NewModel(g, p)
		if err != nil {
			t.Fatal(err)
		}
		f(t, r, m)
	}
}

func randomChoices(r *rand.Rand, m *Model) []Choice {
	var set []Choice
	for i := range m.tables {
		switch c := (Choice{Table: i, Ran: r.IntN(2) == 0, Hit: r.IntN(2) == 0}); {
		case m.tables[i].cut:
			set = append(set, Choice{Table: i, Hit: c.Hit})
		case c.Ran:
			set = append(set, c)
		}
	}
	return set
}

// The entropy without enumeration equals that of Algorithm 1. If no table branches by its hit, it also equals that of
// equation 2.
func TestEntropyIsThatOfAlgorithm1(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 400}, programs(shape{tables: 8, conditions: 6, parts: 3},
		func(t *testing.T, r *rand.Rand, m *Model) {
			set := randomChoices(r, m)
			want, err := m.entropyDFS(set)
			if err != nil {
				t.Fatal(err)
			}
			near(t, "entropy", m.Entropy(set), want)
			decides := false
			for _, s := range m.segments {
				for _, n := range s.nodes {
					decides = decides || n.decide
				}
			}
			if eq2 := m.Equation2(set); !decides {
				near(t, "equation 2", eq2, want)
			} else if eq2 < want-1e-9 {
				t.Errorf("equation 2 %v, below the entropy %v", eq2, want)
			}
		}))
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("%s %.12g, want %.12g", what, got, want)
	}
}

// The plans of every algorithm satisfy the constraints, and their figures are correct by the independent checker.
// Branch and bound finds the optimum of brute force, and no algorithm exceeds it.
func TestBranchAndBoundIsBruteForce(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 100}, programs(shape{tables: 4, conditions: 3, parts: 3, deps: 0.4},
		branchAndBoundIsBruteForce))
	randtest.Run(t, randtest.Cases{Count: 100}, programs(shape{tables: 8, conditions: 5, parts: 1, deps: 0.2},
		branchAndBoundIsBruteForce))
	randtest.Run(t, randtest.Cases{Count: 60}, programs(shape{tables: 4, conditions: 3, parts: 3, placed: true},
		branchAndBoundIsBruteForce))
}

func branchAndBoundIsBruteForce(t *testing.T, r *rand.Rand, m *Model) {
	t.Helper()
	s := Settings{Containers: record.Containers{8, 8}, Hits: r.IntN(2) == 0, Bits: 1 + r.IntN(6), Budget: 5_000_000}
	if r.IntN(2) == 0 {
		s.Containers = record.Containers{8}
	}
	if sp, err := m.newSpace(s.Containers, 0); err != nil {
		t.Fatal(err)
	} else if !m.graph.Placed {
		s.Stages = sp.stages + r.IntN(2)
	}
	if r.IntN(3) == 0 {
		s.Must = randomMust(r, m, s)
	}
	plans := map[string]*record.Plan{}
	for _, a := range []string{record.BruteForce, record.BranchAndBound, record.Greedy, record.GreedyRestarts} {
		plans[a] = planned(t, m, s, a)
	}
	s.Paper = true
	paper := planned(t, m, s, record.BranchAndBound)
	brute := plans[record.BruteForce].Entropy
	near(t, "branch and bound", plans[record.BranchAndBound].Entropy, brute)
	if !plans[record.BranchAndBound].Optimal {
		t.Errorf("branch and bound has not proven %v, bound %v", brute, plans[record.BranchAndBound].Bound)
	}
	for _, listed := range []int{0, maxListed} {
		p := plannedFromNothing(t, m, s, listed)
		near(t, "branch and bound from nothing", p.Entropy, brute)
		if !p.Optimal {
			t.Errorf("branch and bound has not proven %v, bound %v", brute, p.Bound)
		}
	}
	if !s.Hits {
		near(t, "algorithm 2", paper.Entropy, brute)
	}
	for a, p := range plans {
		if p.Entropy > brute+1e-9 || p.Bound < brute-1e-9 {
			t.Errorf("%s: entropy %v, bound %v; the best is %v", a, p.Entropy, p.Bound, brute)
		}
	}
	if plans[record.GreedyRestarts].Entropy < plans[record.Greedy].Entropy-1e-9 {
		t.Errorf("greedy with restarts %v, greedy %v", plans[record.GreedyRestarts].Entropy, plans[record.Greedy].Entropy)
	}
}

// plannedFromNothing returns a plan by branch and bound without a start from greedy, so that it must find everything
// that its bounds allow. Segments with more than listed bits count as large.
func plannedFromNothing(t *testing.T, m *Model, s Settings, listed int) *record.Plan {
	t.Helper()
	s.Algorithm, s.Paper = record.BranchAndBound, false
	x, err := m.newSearch(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	x.listed = listed
	x.prove()
	p, err := x.plan()
	if err != nil {
		t.Fatal(err)
	}
	if err := check.Plan(p); err != nil {
		t.Errorf("from nothing: %v", err)
	}
	return p
}

// randomMust returns a table that can be a must-record table.
func randomMust(r *rand.Rand, m *Model, s Settings) []string {
	t := m.tables[r.IntN(len(m.tables))]
	if t.cut && (!s.Hits || t.keyless) {
		return nil
	}
	return []string{t.id}
}

func planned(t *testing.T, m *Model, s Settings, algorithm string) *record.Plan {
	t.Helper()
	s.Algorithm = algorithm
	p, err := m.Plan(context.Background(), s)
	if err != nil {
		t.Fatalf("%s: %v", algorithm, err)
	}
	if err := check.Plan(p); err != nil {
		t.Errorf("%s: %v", algorithm, err)
	}
	return p
}
