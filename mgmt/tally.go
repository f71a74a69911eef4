package mgmt

import (
	"context"
	"strconv"
	"strings"

	"tamtam/mgmt/tree"
	"tamtam/swss/schema"
)

// A tally holds how many entries a list has, and how many of them are not in force, at one change count of its tables.
type tally struct {
	change uint64
	row    map[string]string
}

// tallied returns the rows of the tallies, one per list below /tam whose entries have a status. Lists are counted again
// when rows have changed.
func (s *Server) tallied(ctx context.Context, _ string) (map[string]map[string]string, error) {
	s.tallying.Lock()
	defer s.tallying.Unlock()
	out := map[string]map[string]string{}
	for _, g := range s.model.Lists {
		status, behind := s.model.Find(g.Node.Path+"/state/status"), s.model.Find(g.Node.Path+"/state/not-in-force")
		of := g.Parent != nil && strings.HasPrefix(g.Node.Path, "/tam/") && len(g.Keys) == 1 && g.Node.Config
		if !of || status == nil {
			continue
		}
		row, err := s.tally(ctx, g, status, behind)
		if err != nil {
			return nil, err
		}
		out[g.Node.Parent.Name] = row
	}
	return out, nil
}

// tally counts the entries of a list by their leaves status and not-in-force. It returns the last count if no row has
// changed since.
func (s *Server) tally(ctx context.Context, g *tree.List, status, behind *tree.Node) (map[string]string, error) {
	sel := s.model.SelectLeaves(g.Node, func(n *tree.Node) bool { return n == status || n == behind })
	r, err := s.reader.Cached(ctx, s.hub, s.model, sel, nil)
	if err != nil {
		return nil, err
	}
	change := s.hub.Changed(s.model.TablesOf(sel))
	if t := s.tallies[g]; t.row != nil && t.change == change {
		return t.row, nil
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
	s.tallies[g] = tally{change, row}
	return row, nil
}
