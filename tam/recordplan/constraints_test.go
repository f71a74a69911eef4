package recordplan

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/tam/record"
	"tamtam/tam/recordplan/check"
)

// optional returns a program of consecutive tables, each of which half of the packets run, with dependencies: "a<b" is
// strict, "a=b" is not.
func optional(t *testing.T, tables string, deps ...string) *record.Graph {
	t.Helper()
	g := &record.Graph{Program: "optional", Pipeline: "ingress", Deps: []record.Dep{}}
	for i, c := range tables {
		id, next := string(c), record.Exit
		if i+1 < len(tables) {
			next = "if " + string(tables[i+1])
		}
		g.Nodes = append(g.Nodes, record.Node{ID: "if " + id, Kind: record.Condition},
			record.Node{ID: id, Kind: record.Table})
		g.Edges = append(g.Edges, record.Edge{From: "if " + id, To: id, Label: "true"},
			record.Edge{From: "if " + id, To: next, Label: "false"}, record.Edge{From: id, To: next, Label: "always"})
	}
	g.Init = g.Nodes[0].ID
	for _, d := range deps {
		kind := record.DepMatch
		if d[1] == '=' {
			kind = record.DepAnti
		}
		g.Deps = append(g.Deps, record.Dep{From: d[:1], To: d[2:], Kinds: []string{kind}})
	}
	return g
}

// exclusive returns a program in which each packet runs one table.
func exclusive(tables int) *record.Graph {
	g := &record.Graph{Program: "exclusive", Pipeline: "ingress", Init: "which", Deps: []record.Dep{}}
	g.Nodes = append(g.Nodes, record.Node{ID: "which", Kind: record.Condition})
	for i := range tables {
		id := fmt.Sprintf("t%d", i)
		g.Nodes = append(g.Nodes, record.Node{ID: id, Kind: record.Table})
		g.Edges = append(g.Edges, record.Edge{From: "which", To: id, Label: id},
			record.Edge{From: id, To: record.Exit, Label: "always"})
	}
	return g
}

func modelOf(t *testing.T, g *record.Graph) *Model {
	t.Helper()
	m, err := NewModel(g, record.Probabilities{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Each constraint in table I of the paper limits the number of tables that can be recorded.
func TestTableI(t *testing.T) {
	placed := func(unit string, stages ...int) *record.Graph {
		g := optional(t, "abcd"[:len(stages)])
		g.Placed, g.Stages = true, 3
		for i, s := range stages {
			g.Nodes[2*i+1].Stage, g.Nodes[2*i+1].Unit = s, unit
		}
		return g
	}
	for _, c := range []struct {
		name   string
		g      *record.Graph
		phv    record.Containers
		stages int
		want   int
	}{
		{"C1: as many stages as tables that write one container", optional(t, "abcd"), record.Containers{8}, 4, 4},
		{"C1: a stage less", optional(t, "abcd"), record.Containers{8}, 3, 3},
		{"C2: two containers take two tables in a stage", optional(t, "abcd"), record.Containers{8, 8}, 2, 4},
		{"C3: a container has eight bits", exclusive(20), record.Containers{8}, 1, 8},
		{"C3: or more", exclusive(20), record.Containers{8, 8}, 1, 16},
		{"C4: tables that depend on each other are in stages that differ", optional(t, "abcd", "a<b", "b<c", "c<d"),
			record.Containers{8}, 4, 4},
		{"C4: and leave none to others", optional(t, "abcd", "a<b", "c<d"), record.Containers{8}, 2, 2},
		{"C4: not behind is no more than that", optional(t, "abcd", "a=b", "b=c", "c=d"), record.Containers{8}, 4, 4},
		{"C5: one of two tables in a stage", optional(t, "ab"), record.Containers{8}, 1, 1},
		{"C5: any of tables that exclude each other", exclusive(5), record.Containers{8}, 1, 4},
		{"a chip's tables stay where they are", placed("", 0, 0, 1, 1), record.Containers{8}, 0, 2},
		{"C5: a unit is one writer", placed("one", 0, 0, 1, 1), record.Containers{8}, 0, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, a := range []string{record.Greedy, record.BranchAndBound} {
				p := planned(t, modelOf(t, c.g), Settings{Containers: c.phv, Stages: c.stages, Budget: 20_000}, a)
				if got := len(p.Recorded); got != c.want {
					t.Errorf("%s records %d tables, want %d", a, got, c.want)
				}
			}
		})
	}
}

func TestStagesFor(t *testing.T) {
	m := modelOf(t, optional(t, "abcd", "a<b"))
	for phv, want := range map[string]int{"8": 4, "8+8": 2, "8+8+8+8": 2} {
		c, _ := record.ParseContainers(phv)
		p := planned(t, m, Settings{Containers: c, Stages: 4}, record.Greedy)
		if len(p.Recorded) != 4 {
			t.Fatalf("%d tables", len(p.Recorded))
		}
		got := m.StagesFor(p)
		if phv == "8+8+8+8" && got >= 2 && got <= 4 {
			continue // the result depends on how the containers are used
		}
		if got != want {
			t.Errorf("%s: %d stages, want %d", phv, got, want)
		}
	}
}

// The quick checks and the solver agree with an enumeration of all placements.
func TestFitIsEnumeration(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 300}, programs(shape{tables: 3, conditions: 2, parts: 2, deps: 0.5},
		func(t *testing.T, r *rand.Rand, m *Model) {
			widths := []record.Containers{{8}, {8, 8}}[r.IntN(2)]
			p, err := m.newSpace(widths, 0)
			if err != nil {
				t.Fatal(err)
			}
			if p, err = m.newSpace(widths, p.stages+r.IntN(2)); err != nil {
				t.Fatal(err)
			}
			for i := range p.widths {
				p.widths[i] = 1 + r.IntN(3) // in bits, narrower than any real container
			}
			var loads []load
			for i := range m.tables {
				if r.IntN(3) > 0 {
					loads = append(loads, load{i, 1 + r.IntN(2), free})
				}
			}
			want := fitsNot
			if enumerate(m, p, loads) {
				want = fits
			}
			if cells, v := p.fit(loads); v != want || v == fits && !p.holds(loads, cells) {
				t.Errorf("fit: %v at %v, want %v", v, cells, want)
			}
			if _, v := p.solve(loads); v != want {
				t.Errorf("solver: %v, want %v", v, want)
			}
			if want == fits && p.crowded(loads) {
				t.Error("crowded, and it fits")
			}
		}))
}

// enumerate tries all stages of all tables, directly by the dependencies.
func enumerate(m *Model, p *space, loads []load) bool {
	stage := make([]int, len(m.tables))
	var place func(i int) bool
	place = func(i int) bool {
		if i == len(stage) {
			return containers(p, loads, stage, make([]int, 0, len(loads)))
		}
		for stage[i] = range p.stages {
			if !slices.ContainsFunc(m.deps, func(d record.Dep) bool {
				a, b := m.index[d.From], m.index[d.To]
				return max(a, b) == i && (stage[a] > stage[b] || stage[a] == stage[b] && d.Strict())
			}) && place(i+1) {
				return true
			}
		}
		return false
	}
	return place(0)
}

func containers(p *space, loads []load, stage, in []int) bool {
	i := len(in)
	if i == len(loads) {
		return true
	}
	for c, w := range p.widths {
		ok := true
		for j, o := range in {
			if o == c {
				w -= loads[j].bits
				ok = ok && (stage[loads[i].table] != stage[loads[j].table] || !p.competes(loads[i].table, loads[j].table))
			}
		}
		if ok && w >= loads[i].bits && containers(p, loads, stage, append(in, c)) {
			return true
		}
	}
	return false
}

// The solver is stopped if it would not end. Twelve tables that do not exclude each other cannot fit in eleven stages,
// which resolution cannot prove in useful time.
func TestSolverIsStopped(t *testing.T) {
	if !bounded {
		t.Skip("it is not stopped under the race detector")
	}
	m := modelOf(t, optional(t, "abcdefghijkl"))
	p, err := m.newSpace(record.Containers{32}, 11)
	if err != nil {
		t.Fatal(err)
	}
	var loads []load
	for i := range m.tables {
		loads = append(loads, load{i, 1, free})
	}
	if _, v := p.solve(loads); v != unknown {
		t.Errorf("solver: %v, want that it is stopped", v)
	}
	if _, v := p.fit(loads); v != fitsNot {
		t.Errorf("fit: %v, want that the stages are seen to be too few", v)
	}
}

// Settings that cannot be planned are refused with the reason.
func TestPlanRefuses(t *testing.T) {
	cut := optional(t, "ab")
	cut.Init = "first"
	cut.Nodes = append(cut.Nodes, record.Node{ID: "first", Kind: record.Table, Keyless: true})
	cut.Edges = append(cut.Edges, record.Edge{From: "first", To: "if a", Label: "always"})
	circle := optional(t, "ab", "a<b", "b<a")
	stray := optional(t, "ab", "a<x")
	one := record.Containers{8}
	for _, c := range []struct {
		g    *record.Graph
		s    Settings
		want string
	}{
		{optional(t, "ab"), Settings{}, "containers of 0 bits, want widths of 8, 16 or 32"},
		{optional(t, "ab"), Settings{Containers: record.Containers{7}}, "container of 7 bits"},
		{optional(t, "ab"), Settings{Containers: one, Bits: 9}, "9 bits of containers that have 8"},
		{optional(t, "ab"), Settings{Containers: one, Stages: -1}, "-1 stages"},
		{optional(t, "ab"), Settings{Containers: one, Stages: 1e9}, "1000000000 stages, want 1 to 4096"},
		{optional(t, "ab", "a<b"), Settings{Containers: one, Stages: 1}, "1 stages, want at least 2"},
		{optional(t, "ab"), Settings{Containers: one, Algorithm: "best"}, `algorithm "best", want bnb, greedy`},
		{optional(t, "ab"), Settings{Containers: one, Must: []string{"x"}},
			`must-record "x" is no table of the program: want one of its 2, such as "a"`},
		{optional(t, "ab"), Settings{Containers: one, Must: []string{"a", "a"}}, `names "a" twice`},
		{optional(t, "ab"), Settings{Containers: one, Bits: 1, Must: []string{"a", "b"}}, "asks for 2 bits, want at most 1"},
		{cut, Settings{Containers: one, Must: []string{"first"}}, `must-record "first": every packet runs it`},
		{cut, Settings{Containers: one, Must: []string{"first"}, Hits: true}, "no key to hit"},
		{optional(t, "abcd", "a<b"), Settings{Containers: one, Stages: 2, Must: []string{"d", "a", "b"}},
			`must-record: "d" (stages 0 to 1), "a" (stages 0 to 0), "b" (stages 1 to 1) cannot all be recorded`},
		{optional(t, "abcd", "a<b", "c<d"), Settings{Containers: one, Stages: 2, Must: []string{"d", "a", "b"}},
			`must-record: "d" (stages 1 to 1), "b" (stages 1 to 1) cannot all be recorded`},
		{circle, Settings{Containers: one}, "make a circle"},
		{stray, Settings{Containers: one}, `dependency of "x" on "a", want two tables`},
	} {
		_, err := modelOf(t, c.g).Plan(context.Background(), c.s)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.s, err, c.want)
		}
	}
}

// A search ends when its context or its budget ends.
func TestSearchEnds(t *testing.T) {
	m := modelOf(t, optional(t, "abcdefghijklmnop"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := m.Plan(ctx, Settings{Containers: record.Containers{8}}); err == nil {
		t.Error("cancelled, and has a plan")
	}
	s := Settings{Containers: record.Containers{8}, Algorithm: record.BruteForce, Stages: 16, Budget: 1000}
	if _, err := m.Plan(context.Background(), s); err == nil || !strings.Contains(err.Error(), "more than 1000 sets") {
		t.Errorf("brute force: %v", err)
	}
	s.Algorithm = record.BranchAndBound
	p, err := m.Plan(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := check.Plan(p); err != nil {
		t.Error(err)
	}
}
