package recordplan

import (
	"slices"

	"tamtam/tam/record"
)

// endedOtherwise is the target of all exit edges that do not end a packet as its record shows. No path of the record
// runs it.
const endedOtherwise = "\x00ended otherwise"

// endings returns a graph with complete probabilities. Exit edges that packets with this end cannot take lead to
// endedOtherwise instead. It returns nil if nothing is known about ends.
func endings(g *record.Graph, p record.Probabilities, end string) (*record.Graph, record.Probabilities) {
	if end == "" || g.Ends == nil {
		return nil, p
	}
	cut := *g
	cut.Ends, cut.Deps = nil, []record.Dep{}
	cut.Nodes = append(slices.Clone(g.Nodes),
		record.Node{ID: endedOtherwise, Kind: record.Table, Keyless: true, Stage: max(g.Stages-1, 0)})
	cut.Edges = append(slices.Clone(g.Edges), record.Edge{From: endedOtherwise, To: record.Exit})
	otherwise := endsOtherwise(g, end)
	of := map[string]nodeExits{}
	for i := range g.Edges {
		e := &cut.Edges[i]
		if e.To != record.Exit {
			continue
		}
		w := of[e.From]
		if otherwise[exit{e.From, e.Label}] {
			e.To = endedOtherwise
			w.cut = append(w.cut, e.Label)
		} else {
			w.kept = append(w.kept, e.Label)
		}
		of[e.From] = w
	}
	var shares []record.EdgeProbability
	for _, s := range p.Edges {
		shares = append(shares, of[s.From].part(s)...)
	}
	return &cut, record.Probabilities{Edges: shares, Hits: p.Hits}
}

// An exit is an edge to the end.
type exit struct{ from, label string }

// endsOtherwise returns the exits with known ends that do not include the given end.
func endsOtherwise(g *record.Graph, end string) map[exit]bool {
	otherwise := map[exit]bool{}
	for _, e := range g.Ends {
		k := exit{e.From, e.Label}
		before, listed := otherwise[k]
		otherwise[k] = (before || !listed) && !slices.Contains(e.How, end)
	}
	return otherwise
}

// nodeExits holds the labels of a node's exit edges: those that it keeps, and those that now lead to endedOtherwise.
type nodeExits struct{ kept, cut []string }

// part splits a node's share between the exit edges that it keeps and those that now lead to endedOtherwise.
func (w nodeExits) part(s record.EdgeProbability) []record.EdgeProbability {
	other := endedOtherwise
	otherwise := record.EdgeProbability{From: s.From, To: &other, P: s.P, Label: s.Label}
	switch {
	case s.To != nil || len(w.cut) == 0:
		return []record.EdgeProbability{s}
	case len(w.kept) == 0 || s.Label != "" && slices.Contains(w.cut, s.Label):
		return []record.EdgeProbability{otherwise}
	case s.Label != "" && slices.Contains(w.kept, s.Label):
		return []record.EdgeProbability{s}
	}
	// A share of several edges is divided equally.
	otherwise.P = s.P * float64(len(w.cut)) / float64(len(w.cut)+len(w.kept))
	return []record.EdgeProbability{{From: s.From, P: s.P - otherwise.P, Label: s.Label}, otherwise}
}
