package recordplan

import (
	"tamtam/tam/record"
	"tamtam/tam/recordplan/p4graph"
)

// A chain is a model's segments joined: a Markov chain over tables in a topological order. Paths
// through it and sequences of tables correspond one to one.
type chain struct {
	tables []chainTable // in topological order
	start  []chainEdge  // whose hits are meaningless
	index  map[string]int
}

// A chainTable may also be a condition that every packet passes: a condition between two segments does
// not change which paths there are.
type chainTable struct {
	id      string // "": a condition, or an aside
	aside   *asideTable
	keyless bool
	next    []chainEdge // by to
}

// A chainEdge leads to another table, or to the end, which is len(tables).
type chainEdge struct {
	to              int32
	canHit, canMiss bool    // whether the table may have hit, or missed, on this way
	hit, miss       float64 // how likely both are
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

// chainEdges joins the ways from a node after a hit and after a miss.
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

// A program is a graph as packets take it, conditions and all.
type program struct {
	*ways
	first int
	table []int // of each node: its place in the chain; -1: a condition
}

func newProgram(g *record.Graph, p record.Probabilities, c *chain) (*program, error) {
	x, err := record.NewIndex(g)
	if err != nil {
		return nil, err
	}
	if p, err = p4graph.Complete(g, p); err != nil {
		return nil, err
	}
	w := &program{ways: newWays(g, x, p), first: x.Init, table: make([]int, len(g.Nodes))}
	for i, n := range g.Nodes {
		w.table[i] = -1
		if at, ok := c.index[n.ID]; ok {
			w.table[i] = at
		}
	}
	return w, nil
}

// take chooses an edge from a node by a number from 0 to 1.
func (w *ways) take(at int, x float64) (to int, hit bool) {
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
	return to, hit // the rest, by rounding
}

// shares returns how likely an edge is after a miss, and after a hit.
func (w *ways) shares(at int, e way) [2]float64 {
	if w.decide[at] {
		return e.p
	}
	return [2]float64{e.p[0] * (1 - w.hit[at]), e.p[0] * w.hit[at]}
}
