package p4graph

import (
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
	"text/tabwriter"

	"tamtam/tam/record"
)

// Figures describe the size of a graph.
type Figures struct {
	Program    string `json:"program,omitempty"`
	Pipeline   string `json:"pipeline"`
	Tables     int    `json:"tables"`
	Keyless    int    `json:"keyless"` // number of tables without a key
	Conditions int    `json:"conditions"`
	Edges      int    `json:"edges"`
	// Successors is the number of edges, counting edges between the same two nodes once.
	Successors int `json:"successors"`
	// LongestPath counts nodes, LongestRun tables.
	LongestPath int `json:"longest_path"`
	LongestRun  int `json:"longest_run"`
	// NodePaths is the number of paths of nodes, and Paths the number of sequences of tables. A record can distinguish
	// the latter at best. Walks counts paths with different actions as different.
	NodePaths *big.Int `json:"node_paths"`
	Paths     *big.Int `json:"paths"`
	Walks     *big.Int `json:"walks"`
	// Cuts is the number of nodes that every packet passes.
	Cuts      int `json:"cuts"`
	CutTables int `json:"cut_tables"`
	// Strict dependencies require different stages, the others do not. Needed is the number of strict dependencies that
	// other strict ones do not imply.
	Strict    int `json:"dependencies_strict"`
	NonStrict int `json:"dependencies_other"`
	Needed    int `json:"dependencies_needed"`
	// MinStages is the number of stages that the dependencies require, and Chain lists the tables of a chain that
	// requires so many.
	MinStages int      `json:"min_stages"`
	Chain     []string `json:"chain"`
	// Unreached lists the nodes that no packet reaches.
	Unreached []string `json:"unreached,omitempty"`
}

// WriteText writes the figures, one in each line.
func (f *Figures) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 2, 8, 2, ' ', 0)
	fmt.Fprintln(t, strings.TrimSpace(f.Program+" "+f.Pipeline))
	for _, line := range []struct {
		name  string
		value string
	}{
		{"tables", fmt.Sprintf("%d, %d of them without key", f.Tables, f.Keyless)},
		{"conditions", fmt.Sprint(f.Conditions)},
		{"edges", fmt.Sprintf("%d, to %d successors", f.Edges, f.Successors)},
		{"longest path", fmt.Sprintf("%d nodes, %d tables", f.LongestPath, f.LongestRun)},
		{"paths", fmt.Sprintf("%s of tables, %s of nodes, %s walks of actions", f.Paths, f.NodePaths, f.Walks)},
		{"on every path", fmt.Sprintf("%d nodes, %d of them tables", f.Cuts, f.CutTables)},
		{"dependencies", fmt.Sprintf("%d strict (%d do not follow from others), %d others", f.Strict, f.Needed, f.NonStrict)},
		{"stages needed", fmt.Sprint(f.MinStages)},
		{"by", strings.Join(f.Chain, " -> ")},
		{"never run", strings.Join(f.Unreached, ", ")},
	} {
		if line.value != "" {
			fmt.Fprintf(t, "%s\t%s\n", line.name, line.value)
		}
	}
	return t.Flush()
}

// Measure computes the figures of a graph.
func Measure(g *record.Graph) (*Figures, error) {
	x, err := record.NewIndex(g)
	if err != nil {
		return nil, err
	}
	reach, err := record.NewReach(g)
	if err != nil {
		return nil, err
	}
	f := &Figures{Program: g.Program, Pipeline: g.Pipeline, Edges: len(g.Edges)}
	reached := make([]bool, len(g.Nodes))
	for _, a := range x.Order {
		reached[a] = true
	}
	for i, n := range g.Nodes {
		f.Successors += len(x.Next[i])
		switch {
		case n.Kind == record.Condition:
			f.Conditions++
		case n.Keyless:
			f.Keyless++
			fallthrough
		default:
			f.Tables++
		}
		if !reached[i] {
			f.Unreached = append(f.Unreached, n.ID)
		}
	}
	for _, a := range reach.Cuts() {
		f.Cuts++
		if g.Nodes[a].Kind == record.Table {
			f.CutTables++
		}
	}
	f.countPaths(g, x)
	f.countTablePaths(g, x)
	f.dependencies(g, x)
	f.MinStages, f.Chain = MinStages(g)
	return f, nil
}

// countPaths counts paths of nodes, and walks, from the end.
func (f *Figures) countPaths(g *record.Graph, x *record.Index) {
	edges := make([][]int, len(g.Nodes))
	for _, e := range g.Edges {
		a := x.Of[e.From]
		edges[a] = append(edges[a], x.Of[e.To])
	}
	exit := len(g.Nodes)
	paths, walks := make([]*big.Int, exit+1), make([]*big.Int, exit+1)
	long, run := make([]int, exit+1), make([]int, exit+1)
	paths[exit], walks[exit] = big.NewInt(1), big.NewInt(1)
	for _, a := range slices.Backward(x.Order) {
		paths[a], walks[a] = new(big.Int), new(big.Int)
		for _, b := range x.Next[a] {
			paths[a].Add(paths[a], paths[b])
			long[a], run[a] = max(long[a], long[b]), max(run[a], run[b])
		}
		for _, b := range edges[a] {
			walks[a].Add(walks[a], walks[b])
		}
		long[a]++
		if g.Nodes[a].Kind == record.Table {
			run[a]++
		}
	}
	f.NodePaths, f.Walks, f.LongestPath, f.LongestRun = paths[x.Init], walks[x.Init], long[x.Init], run[x.Init]
}

// countTablePaths counts the sequences of tables. Different conditions between the same tables do not make different
// sequences.
func (f *Figures) countTablePaths(g *record.Graph, x *record.Index) {
	exit := len(g.Nodes)
	// first holds the tables, or the end, that can come first from a node.
	first := make([]bitset, exit+1)
	single := func(a int) bitset {
		s := newBitset(exit)
		s.set(a)
		return s
	}
	paths := make([]*big.Int, exit+1)
	first[exit], paths[exit] = single(exit), big.NewInt(1)
	count := func(firsts bitset) *big.Int {
		n := new(big.Int)
		firsts.each(func(b int) { n.Add(n, paths[b]) })
		return n
	}
	for _, a := range slices.Backward(x.Order) {
		after := newBitset(exit)
		for _, b := range x.Next[a] {
			after.or(first[b])
		}
		if first[a] = after; g.Nodes[a].Kind == record.Table {
			first[a], paths[a] = single(a), count(after)
		}
	}
	f.Paths = count(first[x.Init])
}

// dependencies counts the dependencies, and the needed strict dependencies.
func (f *Figures) dependencies(g *record.Graph, x *record.Index) {
	n := len(g.Nodes)
	strict := make([]bitset, n)
	for i := range strict {
		strict[i] = newBitset(n)
	}
	for _, d := range Dependencies(g) {
		if !d.Strict() {
			f.NonStrict++
			continue
		}
		f.Strict++
		strict[x.Of[d.From]].set(x.Of[d.To])
	}
	after := make([]bitset, n) // tables reachable by chains of strict dependencies
	for _, a := range slices.Backward(x.Order) {
		through := newBitset(n)
		strict[a].each(func(b int) { through.or(after[b]) })
		needed := strict[a].clone()
		needed.not(through)
		needed.each(func(int) { f.Needed++ })
		after[a] = through
		after[a].or(strict[a])
	}
}
