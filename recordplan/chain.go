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
	order, err := chainOrder(g)
	if err != nil {
		return nil, err
	}
	c := &chain{index: map[string]int{}, nodes: make([]chainNode, len(order)), first: len(order)}
	at := make(map[string]int, len(order)) // places in the order
	for i, n := range order {
		at[g.Nodes[n].ID] = i
		c.nodes[i].table = -1
		if g.Nodes[n].Kind == record.Table {
			c.nodes[i].table = len(c.tables)
			c.index[g.Nodes[n].ID] = len(c.tables)
			c.tables = append(c.tables, chainTable{id: g.Nodes[n].ID, keyless: g.Nodes[n].Keyless})
		}
	}
	if g.Init != record.Exit {
		c.first = at[g.Init]
	}
	given := map[string][]record.EdgeProbability{}
	for _, e := range p.Edges {
		given[e.From] = append(given[e.From], e)
	}
	leaving := make([][]record.Edge, len(order))
	for _, e := range g.Edges {
		if i, ok := at[e.From]; ok {
			leaving[i] = append(leaving[i], e)
		}
	}
	for i, n := range order {
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

// chainOrder returns the nodes that can be reached, in topological order, as places in
// g.Nodes.
func chainOrder(g *record.Graph) (order []int, err error) {
	if len(g.Nodes) > record.MaxNodes || len(g.Edges) > record.MaxEdges {
		return nil, fmt.Errorf("graph with %d nodes and %d edges, want at most %d and %d", len(g.Nodes), len(g.Edges), record.MaxNodes, record.MaxEdges)
	}
	index := make(map[string]int, len(g.Nodes))
	for i, n := range g.Nodes {
		if _, twice := index[n.ID]; twice || n.ID == record.Exit {
			return nil, fmt.Errorf("graph: node %q is there twice, or has the name of the end", n.ID)
		}
		index[n.ID] = i
	}
	next := make([][]int, len(g.Nodes))
	for _, e := range g.Edges {
		from, ok := index[e.From]
		if !ok {
			return nil, fmt.Errorf("graph: edge from %q, which is no node", e.From)
		}
		if e.To == record.Exit {
			continue
		}
		to, ok := index[e.To]
		if !ok {
			return nil, fmt.Errorf("graph: edge from %q to %q, which is no node", e.From, e.To)
		}
		next[from] = append(next[from], to)
	}
	if g.Init == record.Exit {
		return nil, nil
	}
	init, ok := index[g.Init]
	if !ok {
		return nil, fmt.Errorf("graph: begins at %q, which is no node", g.Init)
	}
	const open, done = 1, 2
	state := make([]uint8, len(g.Nodes))
	type visit struct{ node, next int }
	stack := []visit{{init, 0}}
	state[init] = open
	for len(stack) > 0 {
		v := &stack[len(stack)-1]
		if v.next == len(next[v.node]) {
			state[v.node] = done
			order = append(order, v.node)
			stack = stack[:len(stack)-1]
			continue
		}
		to := next[v.node][v.next]
		v.next++
		switch state[to] {
		case open:
			return nil, fmt.Errorf("graph: node %q leads back to itself", g.Nodes[to].ID)
		case 0:
			state[to] = open
			stack = append(stack, visit{to, 0})
		}
	}
	slices.Reverse(order)
	return order, nil
}

// chainWays finds how likely each edge of a node is.
func chainWays(n *record.Node, edges []record.Edge, given []record.EdgeProbability, hits float64, at map[string]int) ([]chainWay, error) {
	place := func(id string) int32 {
		if i, ok := at[id]; ok {
			return int32(i)
		}
		return int32(len(at))
	}
	byHit := n.Kind == record.Table && len(edges) > 0
	for _, e := range edges {
		byHit = byHit && (e.Label == record.Hit || e.Label == record.Miss)
	}
	var ways []chainWay
	wayTo := map[int32]int{}
	for _, e := range edges {
		i, ok := wayTo[place(e.To)]
		if !ok {
			i = len(ways)
			wayTo[place(e.To)] = i
			ways = append(ways, chainWay{to: place(e.To)})
		}
		ways[i].canHit = ways[i].canHit || n.Kind == record.Table && !n.Keyless && (!byHit || e.Label == record.Hit)
		ways[i].canMiss = ways[i].canMiss || !byHit || e.Label == record.Miss
	}
	if len(edges) == 0 { // the pipeline ends here
		wayTo[int32(len(at))] = 0
		ways = []chainWay{{to: int32(len(at)), canHit: n.Kind == record.Table && !n.Keyless, canMiss: true}}
	}
	find := func(e record.EdgeProbability) (int, bool) {
		if len(edges) == 0 || e.To == nil {
			i, ok := wayTo[int32(len(at))]
			return i, ok
		}
		i, ok := wayTo[place(*e.To)]
		return i, ok && (*e.To == record.Exit || int(place(*e.To)) < len(at))
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
