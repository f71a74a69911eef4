package recordplan

import (
	"cmp"
	"fmt"
	"slices"

	"tamtam/record"
)

// maxChainEdges bounds a chain: conditions between many tables and many others have
// as many edges as the product of both.
const maxChainEdges = 8_000_000

// A chain is a graph without its conditions, which no record can show: a Markov
// chain over tables in a topological order. One way through it is one sequence of
// tables, and the other way round.
type chain struct {
	tables []chainTable // in topological order
	start  []chainEdge  // whose hits mean nothing
	index  map[string]int
	nodes  []chainNode // the graph as it is, conditions included, in topological order
	first  int         // of nodes; len(nodes): the end
}

type chainTable struct {
	id      string
	keyless bool
	next    []chainEdge // by to
}

// A chainEdge leads to another table, or to the end, which is len(tables).
type chainEdge struct {
	to              int32
	canHit, canMiss bool    // whether the table may have hit, or missed, on this way
	hit, miss       float64 // how likely both are
}

// A chainNode is a node of the graph with the probabilities of what leaves it.
type chainNode struct {
	table int // -1: a condition
	ways  []chainWay
}

// A chainWay is one edge of the graph, or two where either hit or miss take it.
type chainWay struct {
	to        int32 // len(nodes): the end
	hit, miss float64
	canHit    bool
	canMiss   bool
}

// newChain reads a graph and its probabilities. Where none are given for a node, all
// its successors are equally likely, and so are hit and miss.
func newChain(g *record.Graph, p record.Probabilities) (*chain, error) {
	x, err := record.NewIndex(g)
	if err != nil {
		return nil, err
	}
	c := &chain{index: map[string]int{}, nodes: make([]chainNode, len(x.Order)), first: len(x.Order)}
	at := make(map[string]int, len(x.Order)) // places in the order
	for i, n := range x.Order {
		at[g.Nodes[n].ID] = i
		c.nodes[i].table = -1
		if g.Nodes[n].Kind == record.Table {
			c.nodes[i].table = len(c.tables)
			c.index[g.Nodes[n].ID] = len(c.tables)
			c.tables = append(c.tables, chainTable{id: g.Nodes[n].ID, keyless: g.Nodes[n].Keyless})
		}
	}
	at[record.Exit] = len(x.Order)
	c.first = at[g.Init]
	given := map[string][]record.EdgeProbability{}
	for _, e := range p.Edges {
		given[e.From] = append(given[e.From], e)
	}
	leaving := make([][]record.Edge, len(x.Order))
	for _, e := range g.Edges {
		if i, ok := at[e.From]; ok {
			leaving[i] = append(leaving[i], e)
		}
	}
	for i, n := range x.Order {
		node := &g.Nodes[n]
		hits, ok := p.Hits[node.ID]
		if !ok {
			hits = 0.5
		}
		if node.Keyless {
			hits = 0
		}
		if c.nodes[i].ways, err = chainWays(node, leaving[i], given[node.ID], hits, at); err != nil {
			return nil, err
		}
	}
	return c, c.eliminate()
}

// chainWays finds how likely each edge of a node is.
func chainWays(n *record.Node, edges []record.Edge, given []record.EdgeProbability, hits float64, at map[string]int) ([]chainWay, error) {
	byHit := n.Kind == record.Table && !n.Keyless
	for _, e := range edges {
		byHit = byHit && (e.Label == record.Hit || e.Label == record.Miss)
	}
	var ways []chainWay
	wayTo := map[int]int{}
	for _, e := range edges {
		to := at[e.To] // which is reached as this node is
		i, ok := wayTo[to]
		if !ok {
			i = len(ways)
			wayTo[to] = i
			ways = append(ways, chainWay{to: int32(to)})
		}
		ways[i].canHit = ways[i].canHit || n.Kind == record.Table && !n.Keyless && (!byHit || e.Label == record.Hit)
		ways[i].canMiss = ways[i].canMiss || !byHit || e.Label == record.Miss
	}
	find := func(e record.EdgeProbability) (int, bool) {
		to := record.Exit
		if e.To != nil {
			to = *e.To
		}
		if at, ok := at[to]; ok {
			i, ok := wayTo[at]
			return i, ok
		}
		return 0, false
	}
	return ways, chainShares(n, ways, given, hits, byHit, find)
}

// chainShares gives ways their probabilities: those that were given, and to the ways
// that have none what is left, evenly.
func chainShares(n *record.Node, ways []chainWay, given []record.EdgeProbability, hits float64, byHit bool, find func(record.EdgeProbability) (int, bool)) error {
	split := func(w *chainWay, p float64) {
		switch {
		case !w.canHit:
			w.miss += p
		case !w.canMiss:
			w.hit += p
		default:
			w.hit += p * hits
			w.miss += p * (1 - hits)
		}
	}
	known, sum := make([]bool, len(ways)), 0.0
	for _, e := range given {
		i, ok := find(e)
		if !ok || !(e.P >= 0 && e.P <= 1+1e-6) {
			to := record.Exit
			if e.To != nil {
				to = *e.To
			}
			return fmt.Errorf("probabilities: %v from %q to %q, want 0 to 1 and an edge of the graph", e.P, n.ID, to)
		}
		known[i] = true
		sum += e.P
		switch {
		case byHit && e.Label == record.Hit:
			ways[i].hit += e.P
		case byHit && e.Label == record.Miss:
			ways[i].miss += e.P
		default:
			split(&ways[i], e.P)
		}
	}
	if sum > 1+1e-6 {
		return fmt.Errorf("probabilities: what leaves %q sums up to %v, want 1", n.ID, sum)
	}
	rest := 0
	for _, k := range known {
		if !k {
			rest++
		}
	}
	for i, k := range known {
		if !k {
			split(&ways[i], max(0, 1-sum)/float64(rest))
		}
	}
	return nil
}

// eliminate joins the tables over the conditions between them, from the end back.
func (c *chain) eliminate() error {
	end := int32(len(c.tables))
	after := make([][]chainEdge, len(c.nodes)) // of conditions: the tables behind them
	row := make([]chainEdge, end+1)
	var touched []int32
	edges := 0
	add := func(to int32, w *chainWay, share float64) {
		e := &row[to]
		if !e.canHit && !e.canMiss {
			touched = append(touched, to)
		}
		e.to, e.canHit, e.canMiss = to, e.canHit || w.canHit, e.canMiss || w.canMiss
		e.hit, e.miss = e.hit+w.hit*share, e.miss+w.miss*share
	}
	through := func(w *chainWay) {
		switch {
		case int(w.to) == len(c.nodes):
			add(end, w, 1)
		case c.nodes[w.to].table >= 0:
			add(int32(c.nodes[w.to].table), w, 1)
		default:
			for _, e := range after[w.to] {
				add(e.to, w, e.hit+e.miss)
			}
		}
	}
	take := func() ([]chainEdge, error) {
		if edges += len(touched); edges > maxChainEdges {
			return nil, fmt.Errorf("graph: more than %d ways from table to table over its conditions", maxChainEdges)
		}
		list := make([]chainEdge, 0, len(touched))
		for _, to := range touched {
			list = append(list, row[to])
			row[to] = chainEdge{}
		}
		touched = touched[:0]
		slices.SortFunc(list, func(a, b chainEdge) int { return cmp.Compare(a.to, b.to) })
		return list, nil
	}
	for i := len(c.nodes) - 1; i >= 0; i-- {
		for k := range c.nodes[i].ways {
			through(&c.nodes[i].ways[k])
		}
		list, err := take()
		if err != nil {
			return err
		}
		if t := c.nodes[i].table; t >= 0 {
			c.tables[t].next = list
		} else {
			after[i] = list
		}
	}
	through(&chainWay{to: int32(c.first), miss: 1, canMiss: true})
	var err error
	c.start, err = take()
	return err
}
