package recordplan

import (
	"tamtam/tam/record"
	"tamtam/tam/recordplan/p4graph"
)

// A chain joins a model's segments: a Markov chain over tables in topological order. Its paths and the sequences of
// tables correspond one to one.
type chain struct {
	tables []chainTable // in topological order
	start  []chainEdge  // edges from the start to the first tables; their hit and miss have no meaning
	index  map[string]int
}

// A chainTable is a table, or a condition that every packet passes. A condition between two segments does not change
// the set of paths.
type chainTable struct {
	id      string // "" for a condition or an aside
	aside   *asideTable
	keyless bool
	next    []chainEdge // sorted by to
}

// A chainEdge leads to another table, or to the end, which is len(tables).
type chainEdge struct {
	to              int32
	canHit, canMiss bool    // whether the table can have hit or missed on this edge
	hit, miss       float64 // probabilities of the edge with a hit and with a miss
}

func newChain(m *Model) *chain {
	c := &chain{index: map[string]int{}}
	for i := range m.segments {
		s := &m.segments[i]
		base := len(c.tables)
		for j := range s.nodes {
			n := &s.nodes[j]
			t := chainTable{keyless: true}
			if n.table >= 0 {
				t.id, t.keyless = m.tables[n.table].id, m.tables[n.table].keyless
				c.index[t.id] = base + j
			}
			t.next = chainEdges(n, base, !t.keyless)
			c.tables = append(c.tables, t)
		}
	}
	c.start = []chainEdge{{canMiss: true, miss: 1}}
	return c
}

// chainEdges merges a node's edges after a hit and after a miss.
func chainEdges(n *node, base int, keyed bool) []chainEdge {
	var list []chainEdge
	if !n.decide {
		for _, a := range n.next[0] {
			list = append(list, chainEdge{
				to: int32(base + a.to), canHit: keyed, canMiss: true, hit: a.p * n.hit, miss: a.p * (1 - n.hit),
			})
		}
		return list
	}
	misses, hits := n.next[0], n.next[1]
	for len(misses)+len(hits) > 0 {
		e := chainEdge{}
		switch {
		case len(hits) == 0 || len(misses) > 0 && misses[0].to < hits[0].to:
			e.to = int32(base + misses[0].to)
		default:
			e.to = int32(base + hits[0].to)
		}
		if len(misses) > 0 && int32(base+misses[0].to) == e.to {
			e.canMiss, e.miss, misses = true, misses[0].p*(1-n.hit), misses[1:]
		}
		if len(hits) > 0 && int32(base+hits[0].to) == e.to {
			e.canHit, e.hit, hits = true, hits[0].p*n.hit, hits[1:]
		}
		list = append(list, e)
	}
	return list
}

// A program is a graph with its conditions, as packets traverse it.
type program struct {
	*mergedEdges
	first int
	table []int // index in the chain of each node of the graph, or -1 for a condition
}

func newProgram(g *record.Graph, p record.Probabilities, c *chain) (*program, error) {
	x, err := record.NewIndex(g)
	if err != nil {
		return nil, err
	}
	if p, err = p4graph.Complete(g, p); err != nil {
		return nil, err
	}
	w := &program{mergedEdges: newMergedEdges(g, x, p), first: x.Init, table: make([]int, len(g.Nodes))}
	for i, n := range g.Nodes {
		w.table[i] = -1
		if at, ok := c.index[n.ID]; ok {
			w.table[i] = at
		}
	}
	return w, nil
}

// choose chooses an edge from a node by a random number x in [0, 1).
func (w *mergedEdges) choose(at int, x float64) (to int, hit bool) {
	to = w.exit
	for _, e := range w.out[at] {
		for outcome, p := range w.shares(at, e) {
			if p <= 0 {
				continue
			}
			to, hit = e.to, outcome == 1
			if x < p {
				return to, hit
			}
			x -= p
		}
	}
	return to, hit // reached only by rounding
}

// shares returns the probabilities of an edge with a miss and with a hit.
func (w *mergedEdges) shares(at int, e mergedEdge) [2]float64 {
	if w.decide[at] {
		return e.p
	}
	return [2]float64{e.p[0] * (1 - w.hit[at]), e.p[0] * w.hit[at]}
}
