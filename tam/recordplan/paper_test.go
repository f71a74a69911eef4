package recordplan

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"tamtam/tam/record"
)

// The worked examples of the paper, with its figures, which are rounded or truncated.

func chainOf(t *testing.T, init string, tables, conditions []string, edges map[string]float64) *Model {
	t.Helper()
	g := &record.Graph{Program: "example", Pipeline: "ingress", Init: init, Deps: []record.Dep{}}
	for _, id := range tables {
		g.Nodes = append(g.Nodes, record.Node{ID: id, Kind: record.Table})
	}
	for _, id := range conditions {
		g.Nodes = append(g.Nodes, record.Node{ID: id, Kind: record.Condition})
	}
	var p record.Probabilities
	for _, edge := range slices.Sorted(mapKeys(edges)) {
		from, to, _ := strings.Cut(edge, ">")
		e := record.EdgeProbability{From: from, To: &to, P: edges[edge]}
		edge := record.Edge{From: from, To: to, Label: "to " + to}
		if to == "" {
			e.To, edge.To = nil, record.Exit
		}
		g.Edges = append(g.Edges, edge)
		p.Edges = append(p.Edges, e)
	}
	m, err := NewModel(g, p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func mapKeys(m map[string]float64) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// figure2 returns a program that runs A, then B with probability p or else C, then D.
func figure2(t *testing.T, p float64) *Model {
	return chainOf(t, "A", []string{"A", "B", "C", "D"}, nil, map[string]float64{"A>B": p, "A>C": 1 - p, "B>D": 1,
		"C>D": 1, "D>": 1})
}

// figure4 returns the paths A-X-B-D-E, A-X-Y-C-D-E, A-X-Y-D-E and A-E. The paper gives the probabilities of B, 0.2, and
// C, 0.5, and the entropy of D.
func figure4(t *testing.T) *Model {
	return chainOf(t, "A", []string{"A", "B", "C", "D", "E"}, []string{"X", "Y"}, map[string]float64{
		"A>X": 0.9, "A>E": 0.1, "X>B": 2. / 9, "X>Y": 7. / 9, "Y>C": 5. / 7, "Y>D": 2. / 7,
		"B>D": 1, "C>D": 1, "D>E": 1, "E>": 1,
	})
}

func ran(m *Model, tables string) []Choice {
	var set []Choice
	for _, id := range tables {
		i, _ := m.Table(string(id))
		set = append(set, Choice{Table: i, Ran: true})
	}
	return set
}

func entropyNear(t *testing.T, m *Model, tables string, want, within float64) {
	t.Helper()
	dfs, err := m.entropyDFS(ran(m, tables))
	if err != nil {
		t.Fatal(err)
	}
	for what, got := range map[string]float64{"entropy": m.Entropy(ran(m, tables)), "Algorithm 1": dfs,
		"equation 2": m.Equation2(ran(m, tables))} {
		if math.Abs(got-want) > within {
			t.Errorf("%s of {%s} is %v, want %v", what, tables, got, want)
		}
	}
}

// Figure 2: A and D carry no information, B and C carry the same information.
func TestFigure2(t *testing.T) {
	const p = 0.3
	one := surprise(p) + surprise(1-p)
	m := figure2(t, p)
	for tables, want := range map[string]float64{"A": 0, "B": one, "C": one, "D": 0, "BC": one, "ABCD": one} {
		entropyNear(t, m, tables, want, 1e-12)
	}
	if r := m.Recovery(ran(m, "B")); r != 1 {
		t.Errorf("recovery by B alone %v, want 1", r)
	}
}

// Figures 4 and 6: the entropies of sets.
func TestFigure4(t *testing.T) {
	m := figure4(t)
	for tables, want := range map[string]float64{"A": 0, "E": 0, "B": 0.72, "C": 1, "D": 0.47, "BC": 1.485, "BD": 1.16} {
		entropyNear(t, m, tables, want, 0.005)
	}
	if n := m.Paths().Int64(); n != 4 {
		t.Errorf("%d paths, want 4", n)
	}
	near(t, "recovery by B and C", m.Recovery(ran(m, "BC")), 0.7)
	near(t, "recovery by B, C and D", m.Recovery(ran(m, "BCD")), 1)
}

// searchIn returns a search in one stage, in which the sets of the example are invalid.
func searchIn(t *testing.T, m *Model, algorithm string, invalid ...string) *search {
	t.Helper()
	x, err := m.newSearch(context.Background(), Settings{Containers: record.Containers{8}, Bits: 2, Stages: 1,
		Algorithm: algorithm})
	if err != nil {
		t.Fatal(err)
	}
	x.space.competes = func(a, b int) bool {
		ids := m.tables[a].id + m.tables[b].id
		return slices.ContainsFunc(invalid, func(s string) bool {
			return strings.Contains(s, ids[:1]) && strings.Contains(s, ids[1:])
		})
	}
	return x
}

func named(m *Model, set []bit) string {
	s := ""
	for _, b := range set {
		s += m.tables[b.table].id
	}
	return s
}

// Figure 6: Algorithm 2 adds C, then B. Without B, and without C, the bounds are below its best set.
func TestFigure6(t *testing.T) {
	m := figure4(t)
	x := searchIn(t, m, record.BranchAndBound)
	type step struct {
		set            string
		entropy, bound float64
		pruned         bool
	}
	want := []step{
		{"", 0, 1 + 0.72, false},
		{"C", 1, 1 + 0.72, false},   // node 1
		{"CB", 1.485, 1.485, false}, // node 2
		{"C", 1, 1 + 0.47, true},    // node 3
		{"", 0, 0.72 + 0.47, true},  // node 4
	}
	x.algorithm2(func(set []bit, entropy, bound float64, pruned bool) {
		got := step{named(m, set), entropy, bound, pruned}
		if len(want) == 0 {
			t.Fatalf("goes on to %v", got)
		}
		w := want[0]
		want = want[1:]
		if got.set != w.set || got.pruned != w.pruned || math.Abs(entropy-w.entropy) > 0.005 ||
			math.Abs(bound-w.bound) > 0.005 {
			t.Errorf("step %v, want %v", got, w)
		}
	})
	if len(want) > 0 {
		t.Errorf("ends before %v", want)
	}
	if got := named(m, x.best.set); got != "CB" {
		t.Errorf("finds {%s}, want {CB}", got)
	}
}

// Figure 7 and the counter-example after it: with {C, D} and {C, B} invalid, greedy ends with {C}, whose entropy is 1,
// although {B, D} has 1.16. Greedy's restarts find {B, D}, and so does branch and bound.
func TestFigure7(t *testing.T) {
	m := figure4(t)
	for _, c := range []struct {
		algorithm string
		invalid   []string
		set       string
		entropy   float64
	}{
		{record.Greedy, []string{"CD", "BD"}, "CB", 1.485},
		{record.Greedy, []string{"CD", "CB"}, "C", 1},
		{record.GreedyRestarts, []string{"CD", "CB"}, "BD", 1.16},
		{record.BranchAndBound, []string{"CD", "CB"}, "BD", 1.16},
		{record.BruteForce, []string{"CD", "CB"}, "BD", 1.16},
	} {
		x := searchIn(t, m, c.algorithm, c.invalid...)
		if err := x.run(); err != nil {
			t.Fatal(err)
		}
		if got := named(m, x.best.set); got != c.set || math.Abs(x.best.entropy-c.entropy) > 0.005 {
			t.Errorf("%s, with %v invalid: {%s}, %v; want {%s}, %v", c.algorithm, c.invalid, got, x.best.entropy, c.set,
				c.entropy)
		}
	}
}

// Section V: a table that every packet runs has one bit, its hit; any other table has two bits.
func TestHitsOfFigure4(t *testing.T) {
	m := figure4(t)
	p := planned(t, m, Settings{Containers: record.Containers{8}, Hits: true, Stages: 5}, record.BranchAndBound)
	bits := map[string]int{}
	for _, r := range p.Recorded {
		bits[r.Table] = r.Bits
	}
	for id, want := range map[string]int{"A": 1, "B": 2, "C": 2, "D": 2, "E": 1} {
		if bits[id] != want {
			t.Errorf("table %s has %d bits, want %d", id, bits[id], want)
		}
	}
	// Half of the packets that run a table hit it, so the hit has an entropy of one bit per packet that runs the table.
	near(t, "entropy", p.Entropy, m.Entropy(ran(m, "BCD"))+1+0.2+0.5+0.9+1)
	near(t, "equation 2", p.Equation2, p.Entropy)
}

// If fewer bits already show which tables ran, greedy continues with hits. It adds both bits of a table together,
// because the first by itself adds nothing.
func TestGreedyChoosesBothBits(t *testing.T) {
	m := figure2(t, 0.5)
	p := planned(t, m, Settings{Containers: record.Containers{8}, Hits: true, Stages: 3}, record.Greedy)
	bits := map[string]int{}
	for _, r := range p.Recorded {
		bits[r.Table] = r.Bits
	}
	for id, want := range map[string]int{"A": 1, "B": 2, "C": 2, "D": 1} {
		if bits[id] != want {
			t.Errorf("table %s has %d bits, want %d", id, bits[id], want)
		}
	}
	near(t, "entropy", p.Entropy, p.Full)
}
