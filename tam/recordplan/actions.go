package recordplan

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"tamtam/tam/record"
	"tamtam/tam/recordplan/p4graph"
)

// Recording of the actions of hits. Where actions matter, a table is unfolded: after its hits, the paths of its actions
// separate, and artificial tables are inserted on them, the asides. An aside has no key. A packet that runs an aside
// sets bits of the record. So the rules for tables that run also hold for actions.

// A share is the share of a node's packets that go to another node.
type share struct {
	to string
	p  float64
}

// acted describes the edges from a table: those of misses, and those of hits by the action of the entry.
type acted struct {
	node int
	acts []string
	miss []share
	hit  [][]share
}

// An aside is a table that follows the hits of another table. Its shares are relative to the packets that reach the
// aside.
type aside struct {
	id string
	to []share
}

// An unfolding replaces the edges from a table.
type unfolding struct {
	node      int
	hit, miss []share
	asides    []aside
}

// shareOf returns the share of a node's packets that go to another node by edges of a label. "" means any label.
func shareOf(p record.Probabilities, from, to, label string) (sum float64) {
	for _, e := range p.Edges {
		if e.From == from && targetOf(e) == to && (label == "" || e.Label == label) {
			sum += e.P
		}
	}
	return sum
}

// actedAt returns the edges from a node whose entries have some actions. p must be complete.
func actedAt(g *record.Graph, node int, acts []string, p record.Probabilities) acted {
	a := acted{node: node, acts: acts, hit: make([][]share, len(acts))}
	id := g.Nodes[node].ID
	var edges []record.Edge
	decides := true
	parallel := map[string]int{}
	for _, e := range g.Edges {
		if e.From == id && !slices.Contains(edges, e) {
			edges = append(edges, e)
			parallel[e.To]++
			decides = decides && (e.Label == record.Hit || e.Label == record.Miss)
		}
	}
	of := func(to, label string) float64 { return shareOf(p, id, to, label) }
	if decides {
		for _, e := range edges {
			if s := of(e.To, e.Label); e.Label == record.Hit {
				a.each(e.To, s, nil)
			} else {
				a.miss = append(a.miss, share{e.To, s})
			}
		}
		return a
	}
	a.split(edges, parallel, p.Hits[id], of)
	return a
}

// split separates hits from misses if the labels of the edges do not. hits is the table's hit rate. of returns the
// share of the node's packets that go to a successor by a label. Edges labelled as misses are for misses only.
func (a *acted) split(edges []record.Edge, parallel map[string]int, hits float64, of func(to, label string) float64) {
	bare := 0.0 // share of packets on edges that only misses take
	for _, e := range edges {
		if e.Label == record.Miss {
			bare += of(e.To, "") / float64(parallel[e.To])
		}
	}
	ratio := 0.0
	if bare < 1 {
		ratio = min(hits, 1-bare) / (1 - bare)
	}
	for _, e := range edges {
		s := of(e.To, "") / float64(parallel[e.To])
		if e.Label == record.Miss {
			a.miss = append(a.miss, share{e.To, s})
			continue
		}
		a.miss = append(a.miss, share{e.To, s * (1 - ratio)})
		a.each(e.To, s*ratio, &e.Label)
	}
}

// each assigns the share of an edge to the action of its label, or equally to all actions if the label is no action.
func (a *acted) each(to string, s float64, label *string) {
	if label != nil && *label != "" {
		if i := slices.Index(a.acts, *label); i >= 0 {
			a.hit[i] = append(a.hit[i], share{to, s})
			return
		}
	}
	for i := range a.hit {
		a.hit[i] = append(a.hit[i], share{to, s / float64(len(a.acts))})
	}
}

func targetOf(e record.EdgeProbability) string {
	if e.To == nil {
		return record.Exit
	}
	return *e.To
}

// join adds up the shares of equal successors.
func join(lists ...[]share) (sum []share) {
	for _, list := range lists {
		for _, s := range list {
			if i := slices.IndexFunc(sum, func(o share) bool { return o.to == s.to }); i >= 0 {
				sum[i].p += s.p
			} else {
				sum = append(sum, s)
			}
		}
	}
	return sum
}

func total(list []share) (sum float64) {
	for _, s := range list {
		sum += s.p
	}
	return sum
}

// within scales shares to a sum of 1. If all are zero, they become equal.
func within(list []share) []share {
	sum := total(list)
	list = slices.Clone(list)
	for i := range list {
		if sum > 0 {
			list[i].p /= sum
		} else {
			list[i].p = 1 / float64(len(list))
		}
	}
	return list
}

// asideID returns the id of an aside of a node by its number.
func asideID(node, number int) string { return fmt.Sprintf("\x00%d.%d", node, number) }

// digits unfolds a table so that the binary digits of an action's number are asides, the lowest first. Aside v is for
// the actions whose number ends with the digits of v, whose highest digit is 1. Aside v leads to the asides with one
// more digit 1, and to the successors of action v. So for each value of the lower digits, one aside represents each
// digit.
func (a *acted) digits() unfolding {
	u := unfolding{node: a.node, miss: join(a.miss)}
	n := len(a.acts)
	weight := make([]float64, n)
	for v := n - 1; v >= 0; v-- {
		weight[v] = total(a.hit[v])
		for d := bits.Len(uint(v)); v+1<<d < n; d++ {
			weight[v] += weight[v+1<<d]
		}
	}
	leads := func(v int) []share {
		list := join(a.hit[v])
		for d := bits.Len(uint(v)); v+1<<d < n; d++ {
			list = append(list, share{asideID(a.node, v+1<<d), weight[v+1<<d]})
		}
		return list
	}
	u.hit = leads(0)
	for v := 1; v < n; v++ {
		u.asides = append(u.asides, aside{asideID(a.node, v), within(leads(v))})
	}
	return u
}

// coded unfolds a table with an aside for each code except 0. classes assigns codes to actions.
func (a *acted) coded(classes []codeClass) unfolding {
	u := unfolding{node: a.node, miss: join(a.miss)}
	for i, c := range classes {
		var lists [][]share
		for _, act := range c.actions {
			lists = append(lists, a.hit[slices.Index(a.acts, act)])
		}
		all := join(lists...)
		if c.code == 0 {
			u.hit = append(u.hit, all...)
			continue
		}
		id := asideID(a.node, i)
		u.hit = append(u.hit, share{id, total(all)})
		u.asides = append(u.asides, aside{id, within(all)})
	}
	return u
}

// unfold applies unfoldings to a graph and to its complete probabilities. Existing nodes keep their numbers.
func unfold(g *record.Graph, p record.Probabilities, list []unfolding) (*record.Graph, record.Probabilities) {
	out := *g
	out.Deps, out.Ends, out.Only, out.Tests, out.Edges = []record.Dep{}, nil, nil, nil, nil
	out.Nodes = slices.Clone(g.Nodes)
	q := record.Probabilities{Hits: maps.Clone(p.Hits)}
	rewired := map[string]bool{}
	for _, u := range list {
		rewired[g.Nodes[u.node].ID] = true
	}
	for _, e := range g.Edges {
		if !rewired[e.From] {
			out.Edges = append(out.Edges, e)
		}
	}
	for _, e := range p.Edges {
		if !rewired[e.From] {
			q.Edges = append(q.Edges, e)
		}
	}
	add := func(from, label string, to []share) {
		for _, s := range to {
			e := record.EdgeProbability{From: from, P: s.p, Label: label}
			if s.to != record.Exit {
				e.To = &s.to
			}
			out.Edges = append(out.Edges, record.Edge{From: from, To: s.to, Label: label})
			q.Edges = append(q.Edges, e)
		}
	}
	for _, u := range list {
		n := &g.Nodes[u.node]
		delete(q.Hits, n.ID)
		add(n.ID, record.Hit, u.hit)
		add(n.ID, record.Miss, u.miss)
		for _, x := range u.asides {
			out.Nodes = append(out.Nodes, record.Node{
				ID: x.id, Kind: record.Table, Keyless: true, Stage: n.Stage, Unit: n.Unit,
			})
			add(x.id, "", x.to)
		}
	}
	return &out, q
}

// A layer is a binary digit of the number of a table's action, which one bit of a record contains.
type layer struct {
	table int      // the table of the actions
	prior int      // the table for the digit below, or -1 if there is none
	also  []int    // other asides of the same digit
	of    []string // actions whose number has a 1 in this digit
}

// withActions returns the model of the same program with actions distinguished.
func (m *Model) withActions() (*Model, error) {
	var list []unfolding
	var all []acted
	of := m.graph.Acts()
	for i := range m.graph.Nodes {
		if acts := of[m.graph.Nodes[i].ID]; acts != nil {
			a := actedAt(m.graph, i, acts, m.given)
			all = append(all, a)
			list = append(list, a.digits())
		}
	}
	g, p := unfold(m.graph, m.given, list)
	x, err := NewModel(g, p)
	if err != nil {
		return nil, fmt.Errorf("with the actions of tables: %w", err)
	}
	x.plain = m
	for _, a := range all {
		prior := -1
		for digit := 0; 1<<digit < len(a.acts); digit++ {
			l := &layer{table: x.index[m.graph.Nodes[a.node].ID], prior: prior}
			first := x.index[asideID(a.node, 1<<digit)]
			for v, act := range a.acts {
				if v>>digit&1 != 0 {
					l.of = append(l.of, act)
				}
				if v > 1<<digit && bits.Len(uint(v)) == digit+1 {
					l.also = append(l.also, x.index[asideID(a.node, v)])
				}
			}
			x.tables[first].layer, prior = l, first
		}
	}
	return x, nil
}

// writer returns the program's table that writes a bit of a table of the model.
func (m *Model) writer(t int) int {
	if l := m.tables[t].layer; l != nil {
		return l.table
	}
	return t
}

// own returns the model of the program itself, without actions.
func (m *Model) own() *Model {
	if m.plain != nil {
		return m.plain
	}
	return m
}

// aside reports whether a table of the model is an aside, which the program does not contain.
func (m *Model) aside(t int) bool { return t >= len(m.own().tables) }

// nodesOf calls f with the segment index of each node whose execution is shown by a bit of table t.
func (m *Model) nodesOf(t int, f func(at int)) {
	f(m.tables[t].at)
	if l := m.tables[t].layer; l != nil {
		for _, o := range l.also {
			f(m.tables[o].at)
		}
	}
}

// recovery returns the path recovery rate of a plan.
func recovery(p *record.Plan, given record.Probabilities) (float64, error) {
	g, classes, err := codedGraph(p, p.Graph, given)
	if err != nil {
		return 0, err
	}
	m, err := NewModel(g.graph, g.p)
	if err != nil {
		return 0, err
	}
	set := m.Choices(p)
	for node, list := range classes {
		for i := range list {
			if t, ok := m.index[asideID(node, i)]; ok {
				set = append(set, Choice{Table: t, Ran: true})
			}
		}
	}
	return m.Recovery(set), nil
}

// A codeClass holds the actions for which a table sets the same action bits. Bit i of code represents the table's
// action bit i.
type codeClass struct {
	code    uint64
	actions []string
}

// A weighed graph is a graph with its probabilities.
type weighed struct {
	graph *record.Graph
	p     record.Probabilities
}

// maxActionBits is the maximum number of action bits of a table.
const maxActionBits = 64

// codedGraph unfolds the tables whose actions a plan records, by the codes of the actions. It returns the classes by
// node.
func codedGraph(p *record.Plan, g *record.Graph, given record.Probabilities) (weighed, map[int][]codeClass, error) {
	all := map[int][]codeClass{}
	var list []unfolding
	full, err := p4graph.Complete(g, given)
	if err != nil {
		return weighed{}, nil, err
	}
	of := g.Acts()
	for _, r := range p.Recorded {
		node := slices.IndexFunc(g.Nodes, func(n record.Node) bool { return n.ID == r.Table })
		if len(r.Actions) == 0 || node < 0 {
			continue
		}
		acts := of[r.Table]
		if err := actionBits(&r, acts); err != nil {
			return weighed{}, nil, err
		}
		if _, twice := all[node]; twice {
			return weighed{}, nil, fmt.Errorf("table %q is recorded twice", r.Table)
		}
		for _, act := range acts {
			code := uint64(0)
			for i, b := range r.Actions {
				if slices.Contains(b.Of, act) {
					code |= 1 << i
				}
			}
			i := slices.IndexFunc(all[node], func(c codeClass) bool { return c.code == code })
			if i < 0 {
				i = len(all[node])
				all[node] = append(all[node], codeClass{code: code})
			}
			all[node][i].actions = append(all[node][i].actions, act)
		}
		a := actedAt(g, node, acts, full)
		list = append(list, a.coded(all[node]))
	}
	if len(list) == 0 {
		return weighed{g, given}, all, nil
	}
	out, q := unfold(g, full, list)
	return weighed{out, q}, all, nil
}

// actionBits checks a plan's action bits of a table.
func actionBits(r *record.Recorded, acts []string) error {
	if acts == nil {
		return fmt.Errorf("table %q records actions, and its entries have no two", r.Table)
	}
	if len(r.Actions) > maxActionBits {
		return fmt.Errorf("table %q has %d bits for actions, want at most %d", r.Table, len(r.Actions), maxActionBits)
	}
	for _, b := range r.Actions {
		if len(b.Of) == 0 {
			return fmt.Errorf("table %q: bit %d is of no action", r.Table, b.Bit)
		}
		for _, act := range b.Of {
			if !slices.Contains(acts, act) {
				return fmt.Errorf("table %q: bit %d is of action %q, which it does not have: want one of %q",
					r.Table, b.Bit, act, acts)
			}
		}
	}
	return nil
}
