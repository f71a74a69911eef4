package record

import (
	"fmt"
	"slices"
	"strings"
)

// An Index numbers the nodes of a graph: node i is Nodes[i], and len(Nodes) is [Exit].
type Index struct {
	Of   map[string]int // the number of each id, including Exit
	Init int
	// Next lists the distinct successors of each node, in the order of its edges.
	Next [][]int
	// Order lists the reachable nodes in topological order. Packets never run the other nodes.
	Order []int
}

// NewIndex numbers a graph. It refuses duplicate ids, edges from or to unknown nodes, nodes without successors, cycles,
// and more than [MaxNodes] or [MaxEdges]. The error names the first fault.
func NewIndex(g *Graph) (*Index, error) {
	if len(g.Nodes) > MaxNodes || len(g.Edges) > MaxEdges {
		return nil, fmt.Errorf("a graph of %d nodes and %d edges, want at most %d and %d",
			len(g.Nodes), len(g.Edges), MaxNodes, MaxEdges)
	}
	x := &Index{Of: make(map[string]int, len(g.Nodes)+1), Next: make([][]int, len(g.Nodes))}
	for i, n := range g.Nodes {
		if err := checkNode(n); err != nil {
			return nil, fmt.Errorf("node %d: %w", i, err)
		}
		if first, ok := x.Of[n.ID]; ok {
			return nil, fmt.Errorf("nodes %d and %d are both called %q, want ids that name one node", first, i, n.ID)
		}
		x.Of[n.ID] = i
	}
	x.Of[Exit] = len(g.Nodes)
	var ok bool
	if x.Init, ok = x.Of[g.Init]; !ok {
		return nil, fmt.Errorf("init %q is no node of the graph", g.Init)
	}
	if err := x.join(g); err != nil {
		return nil, err
	}
	return x, x.sort(g)
}

func checkNode(n Node) error {
	switch {
	case n.ID == "" || n.ID == Exit:
		return fmt.Errorf("id %q, want a name, and none that is %q", n.ID, Exit)
	case len(n.ID) > MaxID:
		return fmt.Errorf("id %.40q... of %d bytes, want at most %d", n.ID, len(n.ID), MaxID)
	case n.Kind != Table && n.Kind != Condition:
		return fmt.Errorf("%q is of kind %q, want %q or %q", n.ID, n.Kind, Table, Condition)
	}
	return nil
}

// join fills Next.
func (x *Index) join(g *Graph) error {
	// A node may have very many edges. seen detects repeated successors without a set per node.
	order := make([]int, len(g.Edges))
	from := make([]int, len(g.Edges))
	for i, e := range g.Edges {
		a, ok := x.Of[e.From]
		if !ok || a == len(g.Nodes) {
			return fmt.Errorf("edge %d leads from %q (%s), which is no node", i, e.From, e.Label)
		}
		if _, ok := x.Of[e.To]; !ok {
			return fmt.Errorf("edge %q of node %q leads to %q, which is no node", e.Label, e.From, e.To)
		}
		order[i], from[i] = i, a
	}
	slices.SortStableFunc(order, func(i, j int) int { return from[i] - from[j] })
	seen := make([]int, len(g.Nodes)+1) // last node with an edge to this one, plus 1
	for _, i := range order {
		a, b := from[i], x.Of[g.Edges[i].To]
		if seen[b] != a+1 {
			seen[b] = a + 1
			x.Next[a] = append(x.Next[a], b)
		}
	}
	for i, next := range x.Next {
		if len(next) == 0 {
			return fmt.Errorf("node %q has no edge, want one, to %s if the pipeline ends there", g.Nodes[i].ID, Exit)
		}
	}
	return nil
}

// sort fills Order and detects cycles, even among unreachable nodes.
func (x *Index) sort(g *Graph) error {
	before := make([]int, len(g.Nodes)+1) // number of edges into each node from nodes that are not handled yet
	for _, next := range x.Next {
		for _, b := range next {
			before[b]++
		}
	}
	ready := make([]int, 0, len(g.Nodes))
	for i := range g.Nodes {
		if before[i] == 0 {
			ready = append(ready, i)
		}
	}
	for i := 0; i < len(ready); i++ {
		for _, b := range x.Next[ready[i]] {
			if before[b]--; before[b] == 0 && b < len(g.Nodes) {
				ready = append(ready, b)
			}
		}
	}
	if len(ready) < len(g.Nodes) {
		return fmt.Errorf("the graph has a cycle: %s, want each packet to come to an end", x.cycle(g, before))
	}
	reached := make([]bool, len(g.Nodes)+1)
	reached[x.Init] = true
	for _, a := range ready {
		if reached[a] {
			x.Order = append(x.Order, a)
			for _, b := range x.Next[a] {
				reached[b] = true
			}
		}
	}
	return nil
}

// cycle returns a cycle among the nodes that still have edges into them.
func (x *Index) cycle(g *Graph, before []int) string {
	const shown = 8
	// Each of these nodes has a predecessor among them, so a backward walk never ends.
	back := map[int]int{}
	for a, next := range x.Next {
		for _, b := range next {
			if before[a] > 0 && before[b] > 0 {
				back[b] = a
			}
		}
	}
	at, met := slices.IndexFunc(before[:len(g.Nodes)], func(n int) bool { return n > 0 }), map[int]bool{}
	for !met[at] {
		met[at] = true
		at = back[at]
	}
	var ids []string
	for b := back[at]; b != at; b = back[b] {
		ids = append(ids, g.Nodes[b].ID)
	}
	slices.Reverse(ids)
	ids = append([]string{g.Nodes[at].ID}, ids...)
	if n := len(ids); n > shown {
		return fmt.Sprintf("%s -> ... (%d nodes) -> %s", strings.Join(ids[:shown], " -> "), n, ids[0])
	}
	return strings.Join(append(ids, ids[0]), " -> ")
}
