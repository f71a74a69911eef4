package mgmt

import (
	"context"
	"strconv"
	"strings"

	"tamtam/mgmt/tree"
	"tamtam/swss/schema"
)

// tallied returns the rows of the tallies: of each list below /tam whose entries have a status, how many there are, and
// how many are not in force. Rows and what they say are kept, so that counting them is cheap for whoever asks again.
func (s *Server) tallied(ctx context.Context, _ string) (map[string]map[string]string, error) {
	out := map[string]map[string]string{}
	for _, g := range s.model.Lists {
		status, behind := s.model.Find(g.Node.Path+"/state/status"), s.model.Find(g.Node.Path+"/state/not-in-force")
		of := g.Parent != nil && strings.HasPrefix(g.Node.Path, "/tam/") && len(g.Keys) == 1 && g.Node.Config
		if !of || status == nil {
			continue
		}
		sel := s.model.SelectLeaves(g.Node, func(n *tree.Node) bool { return n == status || n == behind })
		r, err := s.reader.Cached(ctx, s.hub, s.model, sel, nil)
		if err != nil {
			return nil, err
		}
		data, err := r.Collect(ctx, s.model, sel, nil)
		if err != nil {
			return nil, err
		}
		count := map[string]int{}
		for _, e := range data[g] {
			count[e.Standing(status, behind)]++
		}
		row := map[string]string{"entries": strconv.Itoa(len(data[g]))}
		for _, word := range []string{schema.StatusPending, schema.StatusFailed, schema.StatusUnknown} {
			row[word] = strconv.Itoa(count[word])
		}
		out[g.Node.Parent.Name] = row
	}
	return out, nil
}
