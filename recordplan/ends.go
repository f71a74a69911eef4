package recordplan

import (
	"slices"

	"tamtam/record"
)

// endedOtherwise is the table behind all edges that do not end a packet as a record says that
// it did. No path of the record runs it.
const endedOtherwise = "\x00ended otherwise"

// endings is a graph, with complete probabilities, in which the edges to the end that cannot
// end a packet in one way lead to the table endedOtherwise instead. Nil: nothing is known
// of that.
func endings(g *record.Graph, p record.Probabilities, end string) (*record.Graph, record.Probabilities) {
	if end == "" || g.Ends == nil {
		return nil, p
	}
	type edge struct{ from, label string }
	said, fits := map[edge]bool{}, map[edge]bool{}
	for _, e := range g.Ends {
		k := edge{e.From, e.Label}
		said[k] = true
		fits[k] = fits[k] || slices.Contains(e.How, end)
	}
	cut := *g
	cut.Ends, cut.Deps = nil, []record.Dep{}
	cut.Nodes = append(slices.Clone(g.Nodes), record.Node{ID: endedOtherwise, Kind: record.Table, Keyless: true, Stage: max(g.Stages-1, 0)})
	cut.Edges = append(slices.Clone(g.Edges), record.Edge{From: endedOtherwise, To: record.Exit})
	type ways struct{ kept, cut []string } // labels of a node's edges to the end
	of := map[string]ways{}
	for i := range g.Edges {
		e := &cut.Edges[i]
		if e.To != record.Exit {
			continue
		}
		w := of[e.From]
		if k := (edge{e.From, e.Label}); said[k] && !fits[k] {
			e.To = endedOtherwise
			w.cut = append(w.cut, e.Label)
		} else {
			w.kept = append(w.kept, e.Label)
		}
		of[e.From] = w
	}
	var shares []record.EdgeProbability
	other := endedOtherwise
	for _, s := range p.Edges {
		w := of[s.From]
		switch {
		case s.To != nil || len(w.cut) == 0:
			shares = append(shares, s)
		case len(w.kept) == 0 || s.Label != "" && slices.Contains(w.cut, s.Label):
			shares = append(shares, record.EdgeProbability{From: s.From, To: &other, P: s.P, Label: s.Label})
		case s.Label != "" && slices.Contains(w.kept, s.Label):
			shares = append(shares, s)
		default: // of several edges together: each has its part
			part := s.P * float64(len(w.cut)) / float64(len(w.cut)+len(w.kept))
			shares = append(shares, record.EdgeProbability{From: s.From, P: s.P - part, Label: s.Label},
				record.EdgeProbability{From: s.From, To: &other, P: part, Label: s.Label})
		}
	}
	return &cut, record.Probabilities{Edges: shares, Hits: p.Hits}
}
