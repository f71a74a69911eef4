package record

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tamtam/internal/randtest"
)

// figure4 returns the graph of the paper's figure 4: tables A to E, conditions X and Y.
func figure4() *Graph {
	return graphOf("A", "A X", "X B", "X Y", "Y C", "Y D", "B D", "C D", "D E", "A E", "E EXIT")
}

// graphOf returns a graph of edges "from to", in which X, Y and Z are conditions and other nodes tables.
func graphOf(init string, edges ...string) *Graph {
	g := &Graph{Pipeline: "ingress", Init: init}
	seen := map[string]bool{Exit: true}
	for _, e := range edges {
		from, to, _ := strings.Cut(e, " ")
		g.Edges = append(g.Edges, Edge{From: from, To: to})
		for _, id := range []string{from, to} {
			if !seen[id] {
				seen[id] = true
				kind := Table
				if strings.Contains("XYZ", id) {
					kind = Condition
				}
				g.Nodes = append(g.Nodes, Node{ID: id, Kind: kind})
			}
		}
	}
	return g
}

func TestReachOfFigure4(t *testing.T) {
	r, err := NewReach(figure4())
	if err != nil {
		t.Fatal(err)
	}
	at := func(id string) int {
		i, ok := r.Index(id)
		if !ok {
			t.Fatalf("no node %s", id)
		}
		return i
	}
	for _, c := range []struct {
		a, b              string
		before, exclusive bool
	}{
		{"A", "E", true, false},
		{"E", "A", false, false},
		{"B", "C", false, true},
		{"C", "B", false, true},
		{"B", "D", true, false},
		{"Y", "B", false, true},
		{"D", "D", false, false},
	} {
		if got := r.Before(at(c.a), at(c.b)); got != c.before {
			t.Errorf("%s before %s: %v", c.a, c.b, got)
		}
		if got := r.Exclusive(at(c.a), at(c.b)); got != c.exclusive {
			t.Errorf("%s and %s exclusive: %v", c.a, c.b, got)
		}
	}
	if got, want := r.Cuts(), []int{at("A"), at("E")}; !reflect.DeepEqual(got, want) {
		t.Errorf("cuts %v, want %v", got, want)
	}
	if _, ok := r.Index(Exit); ok {
		t.Error("the end is a node")
	}
}

func TestReachWithoutNodes(t *testing.T) {
	r, err := NewReach(&Graph{Init: Exit})
	if err != nil || len(r.Cuts()) != 0 {
		t.Fatal(err, r)
	}
}

// An unreachable node is not an error: programs contain tables that they do not apply.
func TestReachOfUnreached(t *testing.T) {
	r, err := NewReach(graphOf("A", "A B", "B EXIT", "U B"))
	if err != nil {
		t.Fatal(err)
	}
	if !r.Exclusive(0, 2) || !r.Exclusive(2, 1) || r.Before(2, 1) || !reflect.DeepEqual(r.Cuts(), []int{0, 1}) {
		t.Fatal("U is run by some packet")
	}
}

func TestBadGraphs(t *testing.T) {
	twice := graphOf("A", "A EXIT")
	twice.Nodes = append(twice.Nodes, twice.Nodes[0])
	kind := graphOf("A", "A EXIT")
	kind.Nodes[0].Kind = "conditional"
	exit := &Graph{Init: Exit, Nodes: []Node{{ID: Exit, Kind: Table}}}
	for _, c := range []struct {
		g    *Graph
		want string
	}{
		{graphOf("A", "A B", "B C", "C A"), `cycle: A -> B -> C -> A`},
		{graphOf("A", "A EXIT", "U V", "V U"), `cycle: U -> V -> U`},
		{graphOf("A", "A A"), `cycle: A -> A`},
		{graphOf("A", "A B"), `node "B" has no edge`},
		{graphOf("Q", "A EXIT"), `init "Q" is no node`},
		{&Graph{Init: "A", Nodes: []Node{{ID: "A", Kind: Table}}, Edges: []Edge{{"A", "B", "on"}}},
			`edge "on" of node "A" leads to "B"`},
		{&Graph{Init: "A", Nodes: []Node{{ID: "A", Kind: Table}}, Edges: []Edge{{"B", "A", "on"}}}, `edge 0 leads from "B"`},
		{twice, `nodes 0 and 1 are both called "A"`},
		{kind, `kind "conditional", want "table" or "cond"`},
		{exit, `id "EXIT"`},
		{long(MaxReach + 1), "want at most"},
		{graphOf(strings.Repeat("A", 1<<20), strings.Repeat("A", 1<<20)+" EXIT"),
			`AAA"... of 1048576 bytes, want at most 1024`},
	} {
		if _, err := NewReach(c.g); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// long returns a chain of n tables.
func long(n int) *Graph {
	g := &Graph{Init: "t0"}
	for i := range n {
		g.Nodes = append(g.Nodes, Node{ID: fmt.Sprint("t", i), Kind: Table})
		g.Edges = append(g.Edges, Edge{From: fmt.Sprint("t", i), To: fmt.Sprint("t", i+1)})
	}
	g.Edges[n-1].To = Exit
	return g
}

// The error for a long cycle shows its first nodes, and the search does not recurse.
func TestLongCycle(t *testing.T) {
	g := long(100_000)
	g.Edges[len(g.Edges)-1].To = "t0"
	_, err := NewIndex(g)
	if err == nil || !strings.Contains(err.Error(), "... (100000 nodes)") || len(err.Error()) > 200 {
		t.Fatal(err)
	}
}

// Reach agrees with walking every path.
func TestReachIsAllPaths(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 7, Count: 200}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		g := randomGraph(r, 1+r.IntN(8))
		reach, err := NewReach(g)
		if err != nil {
			t.Fatal(err)
		}
		n := len(g.Nodes)
		before, together, all := map[[2]int]bool{}, map[[2]int]bool{}, make([]int, n)
		paths := everyPath(reach.x, reach.x.Init, nil)
		for _, p := range paths {
			for i, a := range p {
				all[a]++
				for _, b := range p[i+1:] {
					before[[2]int{a, b}], together[[2]int{a, b}], together[[2]int{b, a}] = true, true, true
				}
			}
		}
		cuts := reach.Cuts()
		for a := range n {
			if slices.Contains(cuts, a) != (all[a] == len(paths)) {
				t.Fatalf("cuts %v of %+v", cuts, g)
			}
			for b := range n {
				if reach.Before(a, b) != before[[2]int{a, b}] || reach.Exclusive(a, b) != (a != b && !together[[2]int{a, b}]) {
					t.Fatalf("%d and %d of %+v", a, b, g)
				}
			}
		}
	})
}

// randomGraph returns a random graph with its nodes in random order.
func randomGraph(r *rand.Rand, n int) *Graph {
	name := r.Perm(n)
	id := func(i int) string {
		if i >= n {
			return Exit
		}
		return fmt.Sprint("n", name[i])
	}
	g := &Graph{Init: id(0), Nodes: make([]Node, n)}
	for i := range n {
		g.Nodes[name[i]] = Node{ID: id(i), Kind: []string{Table, Condition}[r.IntN(2)]}
		for range 1 + r.IntN(3) {
			g.Edges = append(g.Edges, Edge{From: id(i), To: id(i + 1 + r.IntN(n-i))})
		}
	}
	r.Shuffle(len(g.Edges), func(i, j int) { g.Edges[i], g.Edges[j] = g.Edges[j], g.Edges[i] })
	return g
}

func everyPath(x *Index, at int, sofar []int) [][]int {
	if at == len(x.Next) {
		return [][]int{slices.Clone(sofar)}
	}
	var all [][]int
	for _, b := range x.Next[at] {
		all = append(all, everyPath(x, b, append(sofar, at))...)
	}
	return all
}
