package recordplan

import (
	"errors"
	"fmt"
	"math/big"
	"slices"

	"tamtam/tam/libm"
	"tamtam/tam/record"
	"tamtam/tam/recordplan/p4graph"
)

// Limits of a model. More is refused.
const (
	MaxTables = 4096      // tables of a graph
	MaxArcs   = 4_000_000 // arcs between tables, after elimination of conditions
)

// A Model is a program as its records show it: a Markov chain over tables. Conditions are eliminated, so that each path
// is one sequence of tables. Cuts are the nodes that every packet passes. They divide the model into independent
// segments, so the entropy of a set is the sum over the segments.
type Model struct {
	graph    *record.Graph
	given    record.Probabilities
	reach    *record.Reach
	deps     []record.Dep
	tables   []table // in the order of the graph's nodes
	index    map[string]int
	segments []segment
	walks    *big.Int
	plain    *Model // same model without actions, whose tables are the first ones here; nil if this model has none
}

// A table holds what a planner needs about a table, except for its edges.
type table struct {
	id      string
	node    int // index in the graph
	cut     bool
	keyless bool
	hit     float64 // hit rate of the packets that run the table
	ran     float64 // share of all packets that run the table
	seg, at int     // segment of the table, or -1 if no packet reaches it; node in the segment
	layer   *layer  // the digit of an action's number that it represents, or nil for a table of the program
}

// A segment is the part of the graph between two cuts. Node 0 is the first cut, which is a table or a condition. An arc
// to len(nodes) leads to the second cut, or to the end of the graph.
type segment struct {
	nodes []node // in topological order
}

type node struct {
	table int // index of the table; -1 for a condition, which only node 0 can be
	ran   float64
	hit   float64
	// next holds the arcs after a miss and after a hit. They share memory if the edges do not depend on the hit.
	next   [2][]arc
	decide bool
}

type arc struct {
	to int
	p  float64
}

// NewModel returns the model of a graph. Missing probabilities are uniform. It refuses the input that [record.NewReach]
// and [Complete] refuse, and more than [MaxTables] or [MaxArcs].
func NewModel(g *record.Graph, p record.Probabilities) (*Model, error) {
	reach, err := record.NewReach(g)
	if err != nil {
		return nil, err
	}
	if p, err = p4graph.Complete(g, p); err != nil {
		return nil, err
	}
	m := &Model{graph: g, given: p, reach: reach, deps: g.Deps, index: map[string]int{}, walks: big.NewInt(1)}
	if m.deps == nil {
		m.deps = p4graph.Dependencies(g)
	}
	for i, n := range g.Nodes {
		if n.Kind == record.Table {
			m.index[n.ID] = len(m.tables)
			m.tables = append(m.tables, table{id: n.ID, node: i, keyless: n.Keyless, seg: -1})
		}
	}
	if len(m.tables) > MaxTables {
		return nil, fmt.Errorf("graph of %d tables, want at most %d", len(m.tables), MaxTables)
	}
	x, err := record.NewIndex(g)
	if err != nil {
		return nil, err
	}
	if err := m.part(x, newMergedEdges(g, x, p)); err != nil {
		return nil, err
	}
	return m, nil
}

// part fills the segments.
func (m *Model) part(x *record.Index, w *mergedEdges) error {
	order := x.Order
	cuts := m.reach.Cuts()
	place := make([]int, len(m.graph.Nodes))
	for i, n := range order {
		place[n] = i
	}
	arcs := 0
	for i, c := range cuts {
		end := len(order)
		if i+1 < len(cuts) {
			end = place[cuts[i+1]]
		}
		s, walks, n := m.eliminate(w, order[place[c]:end], place, MaxArcs-arcs)
		if n < 0 {
			return fmt.Errorf("graph with more than %d ways between tables, conditions eliminated; want fewer", MaxArcs)
		}
		arcs += n
		m.segments = append(m.segments, s)
		m.walks.Mul(m.walks, walks)
	}
	m.weigh()
	return nil
}

// eliminate returns the segment that consists of the given nodes. They are in topological order, and the first is the
// cut. It also counts the segment's paths, with different actions as different paths, and its arcs. The number of arcs
// is -1 if it exceeds the limit room.
func (m *Model) eliminate(w *mergedEdges, nodes []int, place []int, room int) (segment, *big.Int, int) {
	s, local := m.number(w, nodes)
	x := elimination{
		mergedEdges: w, nodes: nodes, place: place, local: local, silent: make([][]arc, len(nodes)), end: len(s.nodes),
		sum: make([]float64, len(s.nodes)+1), used: make([]bool, len(s.nodes)+1),
	}
	walks := make([]*big.Int, len(nodes))
	for i := len(nodes) - 1; i >= 0; i-- {
		n := nodes[i]
		walks[i] = x.walks(n, walks)
		next := x.next(n)
		if x.arcs > room {
			return s, nil, -1
		}
		if i > 0 && local[i] < 0 {
			x.silent[i] = next[0]
			continue
		}
		at := local[i]
		s.nodes[at].next, s.nodes[at].decide = next, w.decide[n]
		normalise(s.nodes[at].next, w.decide[n], w.hit[n])
	}
	return s, walks[0], x.arcs
}

// number creates the nodes of a segment, and returns the index of each graph node in it. The index is -1 for a
// condition, except for the first node.
func (m *Model) number(w *mergedEdges, nodes []int) (s segment, local []int) {
	local = make([]int, len(nodes))
	for i, n := range nodes {
		t, isTable := m.index[m.graph.Nodes[n].ID]
		switch {
		case isTable:
			local[i] = len(s.nodes)
			m.tables[t].seg, m.tables[t].at = len(m.segments), len(s.nodes)
			m.tables[t].cut = i == 0
			m.tables[t].hit = w.hit[n]
			s.nodes = append(s.nodes, node{table: t, hit: w.hit[n]})
		case i == 0:
			s.nodes = append(s.nodes, node{table: -1})
		default:
			local[i] = -1
		}
	}
	return s, local
}

// An elimination processes the nodes of a segment from the last to the first.
type elimination struct {
	*mergedEdges
	nodes  []int
	place  []int   // positions of the graph's nodes in topological order
	local  []int   // index of each node in the segment, or -1 for a condition
	silent [][]arc // arcs that replace each condition
	end    int     // end of the segment
	arcs   int     // number of arcs so far
	sum    []float64
	used   []bool
}

// index returns the index in nodes of an edge's target, or len(nodes) if it is outside.
func (x *elimination) index(e mergedEdge) int {
	if e.to == x.exit {
		return len(x.nodes)
	}
	return min(x.place[e.to]-x.place[x.nodes[0]], len(x.nodes))
}

// walks returns the number of paths from a node to the end of the segment, given the numbers of the nodes after it.
func (x *elimination) walks(n int, behind []*big.Int) *big.Int {
	sum := new(big.Int)
	for _, e := range x.out[n] {
		c := big.NewInt(int64(e.labels))
		if i := x.index(e); i < len(x.nodes) {
			c.Mul(c, behind[i])
		}
		sum.Add(sum, c)
	}
	return sum
}

// next returns the arcs from a node after a miss and after a hit.
func (x *elimination) next(n int) (next [2][]arc) {
	if x.decide[n] {
		next[0] = x.collect(n, func(e mergedEdge) float64 { return e.given(false) })
		next[1] = x.collect(n, func(e mergedEdge) float64 { return e.given(true) })
		return next
	}
	next[0] = x.collect(n, func(e mergedEdge) float64 { return e.p[0] + e.p[1] })
	next[1] = next[0]
	return next
}

// collect adds up the targets of the edges of one outcome. A negative share means that an edge does not belong to the
// outcome.
func (x *elimination) collect(n int, share func(mergedEdge) float64) []arc {
	var touched []int
	add := func(to int, p float64) {
		if !x.used[to] {
			x.used[to] = true
			touched = append(touched, to)
		}
		x.sum[to] += float64(p) // inlined, it is a product
	}
	for _, e := range x.out[n] {
		p := share(e)
		if p < 0 {
			continue
		}
		switch i := x.index(e); {
		case i == len(x.nodes):
			add(x.end, p)
		case x.local[i] >= 0:
			add(x.local[i], p)
		default:
			for _, a := range x.silent[i] {
				add(a.to, p*a.p)
			}
		}
	}
	slices.Sort(touched)
	list := make([]arc, len(touched))
	for i, to := range touched {
		list[i] = arc{to, x.sum[to]}
		x.sum[to], x.used[to] = 0, false
	}
	x.arcs += len(list)
	return list
}

// normalise scales shares of all packets at a node to shares of the packets with the outcome.
func normalise(next [2][]arc, decide bool, hit float64) {
	if !decide {
		return
	}
	for outcome, p := range []float64{1 - hit, hit} {
		for i := range next[outcome] {
			if p > 0 {
				next[outcome][i].p = min(next[outcome][i].p/p, 1)
			} else {
				next[outcome][i].p = 0
			}
		}
	}
}

// weigh computes the probability of each table to run.
func (m *Model) weigh() {
	var w walker
	for i := range m.segments {
		s := &m.segments[i]
		w.clear(len(s.nodes) + 1)
		clear(w.mass)
		w.mass[0] = 1
		for j := range s.nodes {
			n := &s.nodes[j]
			n.ran = w.mass[j]
			w.leave(n, either, n.ran)
			if n.table >= 0 {
				m.tables[n.table].ran = n.ran
			}
		}
	}
}

// mergedEdges holds the edges of a graph. Edges between the same two nodes are merged.
type mergedEdges struct {
	of     map[string]int
	exit   int
	out    [][]mergedEdge
	decide []bool    // for each node, true if it is a table that branches by its hit
	hit    []float64 // hit rate of the packets that run each table
}

type mergedEdge struct {
	to     int
	labels int
	// outcomes contains the outcomes after which the edge is taken: 0 is a miss, 1 a hit. p holds the shares of all
	// packets at the node. If the edges do not depend on the hit, p[0] is the whole share.
	outcomes [2]bool
	p        [2]float64
}

// given returns the share of all packets that take the edge after an outcome. It is negative if packets with this
// outcome cannot take the edge.
func (e mergedEdge) given(hit bool) float64 {
	i := 0
	if hit {
		i = 1
	}
	if !e.outcomes[i] {
		return -1
	}
	return e.p[i]
}

// newMergedEdges reads complete probabilities of a graph that NewReach has accepted.
func newMergedEdges(g *record.Graph, x *record.Index, p record.Probabilities) *mergedEdges {
	w := &mergedEdges{of: x.Of, exit: len(g.Nodes)}
	w.out = make([][]mergedEdge, len(g.Nodes))
	w.hit = make([]float64, len(g.Nodes))
	w.decide = hitDecides(g, x.Of)
	at := map[[2]int]int{}
	for _, e := range g.Edges {
		from, to := w.of[e.From], w.of[e.To]
		i, ok := at[[2]int{from, to}]
		if !ok {
			i = len(w.out[from])
			at[[2]int{from, to}] = i
			w.out[from] = append(w.out[from], mergedEdge{to: to})
		}
		v := &w.out[from][i]
		v.labels++
		if w.decide[from] {
			v.outcomes[outcome(e.Label)] = true
		}
	}
	loose := w.share(at, p)
	for i, n := range g.Nodes {
		if n.Kind == record.Table {
			w.split(i, n, loose, p.Hits)
		}
	}
	return w
}

// hitDecides reports for each node whether all of its edges are labelled hit or miss.
func hitDecides(g *record.Graph, of map[string]int) []bool {
	hits := make([]bool, len(g.Nodes))
	for i, n := range g.Nodes {
		hits[i] = n.Kind == record.Table
	}
	for _, e := range g.Edges {
		if e.Label != record.Hit && e.Label != record.Miss {
			hits[of[e.From]] = false
		}
	}
	return hits
}

func outcome(label string) int {
	if label == record.Hit {
		return 1
	}
	return 0
}

// share assigns a probability to each edge. For edges that are taken after both hits and misses, it returns the
// probabilities without a label.
func (w *mergedEdges) share(at map[[2]int]int, p record.Probabilities) map[[2]int]float64 {
	loose := map[[2]int]float64{}
	for _, e := range p.Edges {
		from, ok := w.of[e.From]
		to := w.exit
		if e.To != nil {
			to = w.of[*e.To]
		}
		i, known := at[[2]int{from, to}]
		if !ok || !known {
			continue
		}
		v := &w.out[from][i]
		switch {
		case !w.decide[from]:
			v.p[0] += e.P
		case e.Label != "":
			v.p[outcome(e.Label)] += e.P
		case v.outcomes[0] && v.outcomes[1]:
			loose[[2]int{from, to}] += e.P
		case v.outcomes[1]:
			v.p[1] += e.P
		default:
			v.p[0] += e.P
		}
	}
	return loose
}

// split computes the hit rate of a table, and divides the table's unlabelled probabilities accordingly.
func (w *mergedEdges) split(i int, n record.Node, loose map[[2]int]float64, hits map[string]float64) {
	h, given := hits[n.ID]
	if !given {
		h = 0.5
	}
	if !w.decide[i] {
		if n.Keyless {
			h = 0
		}
		w.hit[i] = h
		return
	}
	fixed, open := 0.0, 0.0
	for _, v := range w.out[i] {
		fixed += v.p[1]
		open += loose[[2]int{i, v.to}]
	}
	part := 0.5
	if given && open > 0 {
		part = min(max((h-fixed)/open, 0), 1)
	}
	for j := range w.out[i] {
		v := &w.out[i][j]
		l := loose[[2]int{i, v.to}]
		v.p[1] += float64(l * part)
		v.p[0] += float64(l * (1 - part))
	}
	w.hit[i] = min(fixed+float64(open*part), 1)
}

// Table returns the index of a table. It returns false if the model does not have it.
func (m *Model) Table(id string) (int, bool) {
	i, ok := m.index[id]
	return i, ok
}

// surprise returns -p log2 p.
func surprise(p float64) float64 {
	if p <= 0 {
		return 0
	}
	return -p * libm.Log2(p)
}

var errNoTables = errors.New("a graph without tables: there is nothing to record")

// OneBitPerTable returns the number of tables that not every packet runs. A record of all executions needs one bit for
// each of these tables.
func (m *Model) OneBitPerTable() int {
	n := 0
	for _, t := range m.tables {
		if !t.cut {
			n++
		}
	}
	return n
}
