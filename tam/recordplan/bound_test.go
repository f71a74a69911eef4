package recordplan

import (
	"context"
	"math"
	"slices"
	"testing"

	"tamtam/tam/record"
)

// Tables that determine each other are in one class: tables that always run together, and a table that runs exactly
// when these do not.
func TestClassesOfBits(t *testing.T) {
	m := chainOf(t, "A", []string{"A", "B", "C", "D", "E", "F", "G"}, nil, map[string]float64{
		"A>B": 0.5, "A>F": 0.5, "B>C": 1, "C>D": 0.3, "C>G": 0.7, "D>E": 1, "E>G": 1, "F>G": 1, "G>": 1,
	})
	x, err := m.newSearch(context.Background(), Settings{Containers: record.Containers{8}, Stages: 7})
	if err != nil {
		t.Fatal(err)
	}
	r := x.newRelaxation()
	if len(r.pieces) != 1 {
		t.Fatalf("%d pieces, want one: only A is a cut that something follows", len(r.pieces))
	}
	classes := map[int]string{}
	for i, b := range r.pieces[0].bits {
		classes[r.pieces[0].class[i]] += m.tables[b.table].id
	}
	var got []string
	for _, c := range classes {
		s := []byte(c)
		slices.Sort(s)
		got = append(got, string(s))
	}
	slices.Sort(got)
	if !slices.Equal(got, []string{"BCF", "DE"}) {
		t.Errorf("classes %v, want BCF and DE", got)
	}
}

// Tables that exclude each other share a cell, and its price counts once. The first of two stages can hold either the
// six tables that distinguish seven paths, or table w.
func TestPricesOfTablesThatExcludeEachOther(t *testing.T) {
	g := exclusive(7)
	two := optional(t, "wd", "w<d") // d, which always runs, is for the second stage
	for i, e := range g.Edges {
		if e.To == record.Exit {
			g.Edges[i].To = two.Init
			g.Deps = append(g.Deps, record.Dep{From: e.From, To: "d", Kinds: []string{record.DepMatch}})
		}
	}
	g.Nodes, g.Edges, g.Deps = append(g.Nodes, two.Nodes...), append(g.Edges, two.Edges...), append(g.Deps, two.Deps...)
	d := "d"
	m, err := NewModel(g, record.Probabilities{Edges: []record.EdgeProbability{{From: "if d", To: &d, P: 1},
		{From: "if d"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, listed := range []int{0, maxListed} {
		x, err := m.newSearch(context.Background(), Settings{Containers: record.Containers{8}, Stages: 2})
		if err != nil {
			t.Fatal(err)
		}
		x.listed = listed
		x.restarts() // greedy itself starts with w
		near(t, "entropy", x.best.entropy, math.Log2(7))
		x.relax()
		if b := x.best.bound; b < math.Log2(7)-alike || b > math.Log2(7)+0.01 {
			t.Errorf("bound %v, want hardly more than %v", b, math.Log2(7))
		}
	}
}

// The bound of a plan accounts for stages: sixteen tables that one packet can run carry at most four bits in four
// stages.
func TestBoundCountsStages(t *testing.T) {
	m := modelOf(t, optional(t, "abcdefghijklmnop"))
	for stages := 1; stages <= 16; stages += 5 {
		p := planned(t, m, Settings{Containers: record.Containers{16}, Stages: stages}, record.Greedy)
		near(t, "entropy", p.Entropy, float64(stages))
		near(t, "bound", p.Bound, float64(stages))
	}
}

// Prices account for the windows of tables: of eight tables in the first stage, one can be recorded.
func TestBoundCountsWindows(t *testing.T) {
	g := optional(t, "abcdefghz", "a<z", "b<z", "c<z", "d<z", "e<z", "f<z", "g<z", "h<z")
	p := planned(t, modelOf(t, g), Settings{Containers: record.Containers{8}, Stages: 2}, record.Greedy)
	near(t, "entropy", p.Entropy, 2)
	near(t, "bound", p.Bound, 2)
}
