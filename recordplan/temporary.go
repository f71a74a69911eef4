package recordplan

import "tamtam/record"

// complete fills what is missing uniformly.
func complete(g *record.Graph, p record.Probabilities) (record.Probabilities, error) {
	given := map[string]bool{}
	for _, e := range p.Edges {
		given[e.From] = true
	}
	next := map[string][]string{}
	seen := map[[2]string]bool{}
	for _, e := range g.Edges {
		if k := [2]string{e.From, e.To}; !seen[k] {
			seen[k] = true
			next[e.From] = append(next[e.From], e.To)
		}
	}
	for _, n := range g.Nodes {
		if given[n.ID] {
			continue
		}
		for _, to := range next[n.ID] {
			e := record.EdgeProbability{From: n.ID, To: &to, P: 1 / float64(len(next[n.ID]))}
			if to == record.Exit {
				e.To = nil
			}
			p.Edges = append(p.Edges, e)
		}
	}
	return p, nil
}
