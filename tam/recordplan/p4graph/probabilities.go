package p4graph

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"tamtam/tam/record"
)

// tolerance is the maximum deviation of a sum of probabilities from 1.
const tolerance = 1e-6

// Uniform returns probabilities in which each successor of a node is equally likely, and every second lookup hits. For
// an invalid graph it returns none.
func Uniform(g *record.Graph) record.Probabilities {
	p, err := Complete(g, record.Probabilities{})
	if err != nil { // the graph is invalid, because Check has not been called
		return record.Probabilities{}
	}
	return p
}

// Random returns probabilities drawn by seed: normalised weights for the edges of every node, and a hit rate for every
// table. The same graph and seed give the same result.
func Random(g *record.Graph, seed uint64) record.Probabilities {
	r := rand.New(rand.NewPCG(seed, 0))
	x, err := record.NewIndex(g)
	if err != nil {
		return record.Probabilities{}
	}
	p := record.Probabilities{Hits: map[string]float64{}}
	for _, s := range newSplits(g, x) {
		sum := 0.0
		for i := range s.edges {
			for o := range s.edges[i].by {
				if s.edges[i].can[o] {
					s.edges[i].by[o] = 1 - float64(r.Float64())
					sum += s.edges[i].by[o]
				}
			}
		}
		for i := range s.edges {
			s.edges[i].by[0] /= sum
			s.edges[i].by[1] /= sum
		}
		s.hits = 1 - float64(r.Float64())
		s.append(&p)
	}
	return p
}

// Complete returns complete probabilities: one for every edge of every node, and a hit rate for every table with a key.
// If nothing is given for a node, all its edges are equally likely. Otherwise edges without a probability share the
// rest. Nothing is normalised: sums other than 1 and unknown nodes or edges are errors.
//
// The result has one edge for each successor of a node, in the order of the graph's nodes and edges. Tables that branch
// by their hit have one for hit and one for miss.
func Complete(g *record.Graph, p record.Probabilities) (record.Probabilities, error) {
	x, err := record.NewIndex(g)
	if err != nil {
		return p, err
	}
	splits := newSplits(g, x)
	for i, e := range p.Edges {
		from, ok := x.Of[e.From]
		if !ok || from == len(g.Nodes) {
			return p, fmt.Errorf("probabilities: edge %d is from %q, which is no node", i, e.From)
		}
		if err := splits[from].give(e); err != nil {
			return p, fmt.Errorf("probabilities: edge %d from %q: %w", i, e.From, err)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(p.Hits)) {
		h := p.Hits[id]
		i, ok := x.Of[id]
		if !ok || i == len(g.Nodes) || g.Nodes[i].Kind != record.Table {
			return p, fmt.Errorf("probabilities: hits of %q, which is no table", id)
		}
		if !(h >= 0 && h <= 1) {
			return p, fmt.Errorf("probabilities: hits of %q: %v, want 0 to 1", id, h)
		}
		// A table without a key never hits, so its given hit rate is ignored.
		splits[i].hits, splits[i].hitsGiven = h, !g.Nodes[i].Keyless
	}
	full := record.Probabilities{Hits: map[string]float64{}}
	for _, s := range splits {
		if err := s.fill(); err != nil {
			return p, fmt.Errorf("probabilities of node %q: %w", s.node.ID, err)
		}
		s.append(&full)
	}
	return full, nil
}

// A split is the distribution of packets at one node.
type split struct {
	node *record.Node
	// decides means that the successor depends on the hit of the node's lookup. Then each splitEdge has a share for hits
	// and one for misses.
	decides   bool
	edges     []splitEdge
	hits      float64
	hitsGiven bool
}

// A splitEdge leads to one successor.
type splitEdge struct {
	to     string
	labels map[string]bool
	// can reports whether the way is taken after a miss and after a hit, and by holds the shares. If the successor does
	// not depend on the hit, the first element covers all packets. given marks the known shares.
	can, given [2]bool
	by         [2]float64
	parts      map[string]bool // labels that were given separately
}

// newSplits returns a split for every node, with nothing given.
func newSplits(g *record.Graph, x *record.Index) []*split {
	splits := make([]*split, len(g.Nodes))
	for i := range g.Nodes {
		n := &g.Nodes[i]
		splits[i] = &split{node: n, decides: n.Kind == record.Table, hits: 0.5}
	}
	at := map[[2]int]int{}
	for _, e := range g.Edges {
		from, to := x.Of[e.From], x.Of[e.To]
		s := splits[from]
		i, ok := at[[2]int{from, to}]
		if !ok {
			i = len(s.edges)
			at[[2]int{from, to}] = i
			s.edges = append(s.edges, splitEdge{to: e.To, labels: map[string]bool{}, parts: map[string]bool{}})
		}
		s.edges[i].labels[e.Label] = true
		s.decides = s.decides && (e.Label == record.Hit || e.Label == record.Miss)
	}
	for _, s := range splits {
		for i := range s.edges {
			w := &s.edges[i]
			w.can = [2]bool{true, false}
			if s.decides {
				w.can = [2]bool{w.labels[record.Miss], w.labels[record.Hit]}
			}
		}
	}
	return splits
}

// give applies the given probability of one edge.
func (s *split) give(e record.EdgeProbability) error {
	w, err := s.edgeOf(e)
	if err != nil {
		return err
	}
	w.parts[e.Label] = true
	outcome := 0
	switch {
	case s.decides && e.Label == "" && w.can[0] && w.can[1]:
		return fmt.Errorf("to %q: hits and misses both lead there, want label %q or %q", w.to, record.Hit, record.Miss)
	case s.decides && (e.Label == record.Hit || e.Label == "" && w.can[1]):
		outcome = 1
	}
	w.by[outcome] += e.P
	w.given[outcome] = true
	return nil
}

// edgeOf returns the splitEdge of an edge with a given probability. It returns an error if the probability is not
// possible there.
func (s *split) edgeOf(e record.EdgeProbability) (*splitEdge, error) {
	to := record.Exit
	if e.To != nil {
		to = *e.To
	}
	i := 0
	for i < len(s.edges) && s.edges[i].to != to {
		i++
	}
	switch {
	case i == len(s.edges):
		return nil, fmt.Errorf("to %q: the graph has no such edge", to)
	case e.Label != "" && !s.edges[i].labels[e.Label]:
		return nil, fmt.Errorf("to %q: the graph has no edge %q there", to, e.Label)
	case !(e.P >= 0 && e.P <= 1+tolerance):
		return nil, fmt.Errorf("to %q: %v, want 0 to 1", to, e.P)
	}
	w := &s.edges[i]
	if w.parts[e.Label] || w.parts[""] || e.Label == "" && len(w.parts) > 0 {
		return nil, fmt.Errorf("to %q is given twice", to)
	}
	return w, nil
}

// fill distributes the rest over the ways without a probability.
func (s *split) fill() error {
	if s.decides && s.hitsGiven {
		return s.fillByHits()
	}
	sum, open := 0.0, 0
	for i := range s.edges {
		w := &s.edges[i]
		sum += w.by[0] + w.by[1]
		if w.open() > 0 {
			open++
		}
	}
	left := 1 - sum
	if left < -tolerance || open == 0 && left > tolerance {
		return fmt.Errorf("its edges sum up to %v, want 1", sum)
	}
	for i := range s.edges {
		w := &s.edges[i]
		n := w.open()
		for o := range w.by {
			if w.isOpen(o) {
				w.by[o] = max(left, 0) / float64(open) / float64(n)
			}
		}
	}
	return nil
}

// isOpen reports whether a share is possible and was not given.
func (w *splitEdge) isOpen(outcome int) bool { return w.can[outcome] && !w.given[outcome] }

func (w *splitEdge) open() (n int) {
	for o := range w.can {
		if w.isOpen(o) {
			n++
		}
	}
	return n
}

// fillByHits fills the ways if the hit rate is given: the shares after a hit add up to it, and the shares after a miss
// to the rest.
func (s *split) fillByHits() error {
	for o, left := range [2]float64{1 - s.hits, s.hits} {
		open := 0
		for i := range s.edges {
			left -= s.edges[i].by[o]
			if s.edges[i].isOpen(o) {
				open++
			}
		}
		if left < -tolerance || open == 0 && left > tolerance {
			return fmt.Errorf("%v of it hits, which its edges do not sum up to", s.hits)
		}
		for i := range s.edges {
			if w := &s.edges[i]; w.isOpen(o) {
				w.by[o] = max(left, 0) / float64(open)
			}
		}
	}
	return nil
}

// append appends the split to p.
func (s *split) append(p *record.Probabilities) {
	edge := func(w *splitEdge, label string, share float64) {
		e := record.EdgeProbability{From: s.node.ID, P: math.Min(share, 1), Label: label}
		if w.to != record.Exit {
			e.To = &w.to
		}
		p.Edges = append(p.Edges, e)
	}
	hits := 0.0
	for i := range s.edges {
		w := &s.edges[i]
		if !s.decides {
			edge(w, "", w.by[0])
			continue
		}
		hits += w.by[1]
		for o, label := range []string{record.Miss, record.Hit} {
			if w.can[o] {
				edge(w, label, w.by[o])
			}
		}
	}
	switch {
	case s.node.Kind != record.Table || s.node.Keyless:
	case s.decides:
		p.Hits[s.node.ID] = math.Min(hits, 1)
	default:
		p.Hits[s.node.ID] = s.hits
	}
}
