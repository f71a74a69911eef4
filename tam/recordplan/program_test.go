package recordplan

import (
	"fmt"
	"math/rand/v2"

	"tamtam/tam/record"
)

// shape limits random programs.
type shape struct {
	tables, conditions int
	parts              int // number of consecutive parts of a program, with cuts between them
	deps               float64
	placed             bool // true if tables are placed as on a chip, some of them in units
}

// randomProgram returns a random graph with its probabilities and dependencies.
func randomProgram(r *rand.Rand, s shape) (*record.Graph, record.Probabilities) {
	b := &programBuilder{r: r, g: &record.Graph{Program: "random", Pipeline: "ingress"}}
	start := make([]string, s.parts+1)
	nodes := make([][]string, s.parts)
	for i := range s.parts {
		tables := 1 + r.IntN(s.tables)
		for j := range tables + r.IntN(s.conditions+1) {
			nodes[i] = append(nodes[i], b.node(j < tables))
		}
		r.Shuffle(len(nodes[i]), func(a, c int) { nodes[i][a], nodes[i][c] = nodes[i][c], nodes[i][a] })
		start[i] = nodes[i][0]
	}
	start[s.parts] = record.Exit
	for i, part := range nodes {
		for j, id := range part {
			after := append(append([]string{}, part[j+1:]...), start[i+1])
			b.edges(id, after)
		}
	}
	b.g.Init = start[0]
	b.prune()
	if s.placed {
		b.place()
	} else {
		b.depend(s.deps)
	}
	return b.g, b.p
}

type programBuilder struct {
	r *rand.Rand
	g *record.Graph
	p record.Probabilities
}

func (b *programBuilder) node(table bool) string {
	n := record.Node{ID: fmt.Sprintf("n%d", len(b.g.Nodes)), Kind: record.Condition}
	if table {
		n.Kind = record.Table
		n.Keyless = b.r.IntN(3) == 0
	}
	b.g.Nodes = append(b.g.Nodes, n)
	return n.ID
}

// edges adds edges from a node to the next one, and to some later nodes, mostly near ones.
func (b *programBuilder) edges(id string, after []string) {
	n := b.g.Nodes[len(b.g.Nodes)-1]
	for _, o := range b.g.Nodes {
		if o.ID == id {
			n = o
		}
	}
	labels := []string{"a", "b", "c"}[:1+b.r.IntN(3)]
	switch {
	case n.Kind == record.Condition:
		labels = []string{"true", "false"}
	case !n.Keyless && b.r.IntN(2) == 0:
		labels = []string{record.Hit, record.Miss}
	}
	to := make([]string, len(labels))
	weights := make([]float64, len(labels))
	sum := 0.0
	for i := range labels {
		far := min(b.r.IntN(3)*b.r.IntN(2), len(after)-1)
		if i == 0 {
			far = 0
		}
		to[i] = after[far]
		weights[i] = 0.05 + b.r.Float64()
		if b.r.IntN(20) == 0 {
			weights[i] = 0
		}
		sum += weights[i]
	}
	for i, l := range labels {
		b.g.Edges = append(b.g.Edges, record.Edge{From: id, To: to[i], Label: l})
		e := record.EdgeProbability{From: id, To: &to[i], P: 1 / float64(len(labels)), Label: l}
		if sum > 0 {
			e.P = weights[i] / sum
		}
		if to[i] == record.Exit {
			e.To = nil
		}
		b.p.Edges = append(b.p.Edges, e)
	}
	if n.Kind == record.Table && labels[0] != record.Hit {
		if b.p.Hits == nil {
			b.p.Hits = map[string]float64{}
		}
		b.p.Hits[id] = b.r.Float64()
	}
}

// prune removes unreachable nodes.
func (b *programBuilder) prune() {
	x, err := record.NewIndex(b.g)
	if err != nil {
		panic(err)
	}
	reached := map[string]bool{}
	for _, i := range x.Order {
		reached[b.g.Nodes[i].ID] = true
	}
	g := *b.g
	g.Nodes, g.Edges = nil, nil
	for _, n := range b.g.Nodes {
		if reached[n.ID] {
			g.Nodes = append(g.Nodes, n)
		}
	}
	for _, e := range b.g.Edges {
		if reached[e.From] {
			g.Edges = append(g.Edges, e)
		}
	}
	var edges []record.EdgeProbability
	for _, e := range b.p.Edges {
		if reached[e.From] {
			edges = append(edges, e)
		}
	}
	for id := range b.p.Hits {
		if !reached[id] {
			delete(b.p.Hits, id)
		}
	}
	b.g, b.p.Edges = &g, edges
}

// place puts tables into three stages, and some of them into units. Each unit is in one stage.
func (b *programBuilder) place() {
	b.g.Placed, b.g.Stages = true, 3
	for i := range b.g.Nodes {
		n := &b.g.Nodes[i]
		n.Stage = b.r.IntN(b.g.Stages)
		if n.Kind == record.Table && b.r.IntN(2) == 0 {
			n.Unit = fmt.Sprintf("unit %d", n.Stage)
		}
	}
}

// depend adds dependencies among tables that one packet can run.
func (b *programBuilder) depend(share float64) {
	reach, err := record.NewReach(b.g)
	if err != nil {
		panic(err)
	}
	b.g.Deps = []record.Dep{}
	for i, from := range b.g.Nodes {
		for j, to := range b.g.Nodes {
			if from.Kind != record.Table || to.Kind != record.Table || !reach.Before(i, j) || b.r.Float64() > share {
				continue
			}
			kind := record.DepMatch
			if b.r.IntN(3) == 0 {
				kind = record.DepAnti
			}
			b.g.Deps = append(b.g.Deps, record.Dep{From: from.ID, To: to.ID, Kinds: []string{kind}})
		}
	}
}
