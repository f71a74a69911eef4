package mgmt

import (
	"context"
	"strconv"
	"strings"

	"tamtam/mgmt/tree"
	"tamtam/swss/schema"
)

// A tally holds what was counted in a list, at one change count of its tables.
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

// tally counts the entries of a list by their leaves status and not-in-force.
func (s *Server) tally(ctx context.Context, g *tree.List, status, behind *tree.Node) (map[string]string, error) {
	return s.counted(ctx, g, func(n *tree.Node) bool { return n == status || n == behind },
		func(es []*tree.Entry) map[string]string {
			count := map[string]int{}
			for _, e := range es {
				count[e.Standing(status, behind)]++
			}
			row := map[string]string{"entries": strconv.Itoa(len(es))}
			for _, word := range []string{schema.StatusPending, schema.StatusFailed, schema.StatusUnknown} {
				row[word] = strconv.Itoa(count[word])
			}
			return row
		})
}

// counted returns what count returns for the entries of a list, read with some leaves. It returns the last result if no
// row has changed since.
func (s *Server) counted(
	ctx context.Context, g *tree.List, leaves func(*tree.Node) bool, count func([]*tree.Entry) map[string]string,
) (map[string]string, error) {
	sel := s.model.SelectLeaves(g.Node, leaves)
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
	row := count(data[g])
	s.tallies[g] = tally{change, row}
	return row, nil
}

// aftSummaries returns the rows of [aft.SourceSummary]: how many routes there are of each origin. Routes are
// counted again when rows have changed.
func (s *Server) aftSummaries(ctx context.Context, _ string) (map[string]map[string]string, error) {
	s.tallying.Lock()
	defer s.tallying.Unlock()
	out := map[string]map[string]string{}
	for _, family := range []string{"ipv4", "ipv6"} {
		list := "/network-instances/network-instance/afts/" + family + "-unicast/" + family + "-entry"
		origin := s.model.Find(list + "/state/origin-protocol")
		t, err := s.counted(ctx, origin.List, func(n *tree.Node) bool { return n == origin },
			func(es []*tree.Entry) map[string]string {
				n := map[string]int{}
				for _, e := range es {
					if name := tree.First(e.Value(origin)); name != "" { // otherwise it has no name in OpenConfig
						n[e.Keys[0]+"|"+family+"-unicast|"+name]++
					}
				}
				row := map[string]string{}
				for name, routes := range n {
					row[name] = strconv.Itoa(routes)
				}
				return row
			})
		if err != nil {
			return nil, err
		}
		for name, routes := range t {
			out[name] = map[string]string{"aft-entries": routes}
		}
	}
	return out, nil
}

// policed returns the row of [models.SourcePoliced]: sums over all trap groups with a policer, of the colours that it
// drops.
func (s *Server) policed(ctx context.Context, _ string) (map[string]map[string]string, error) {
	const state = "/copp/groups/group/state/"
	all := s.model.Find(state + "meter-type").List
	sel := s.model.SelectLeaves(all.Node, func(n *tree.Node) bool { return strings.HasPrefix(n.Path, state) })
	data, err := s.reader.Collect(ctx, s.model, sel, nil)
	if err != nil {
		return nil, err
	}
	row := map[string]string{}
	for _, unit := range []string{"packets", "octets"} {
		sum, parts, known := uint64(0), 0, true
		for _, e := range data[all] {
			value := func(leaf string) string { return tree.First(e.Value(s.model.Find(state + leaf))) }
			for _, colour := range []string{"green", "yellow", "red"} {
				if value("meter-type") == "" || !strings.EqualFold(value(colour+"-action"), "drop") {
					continue
				}
				n, err := strconv.ParseUint(value(colour+"-"+unit), 10, 64)
				sum, parts, known = sum+n, parts+1, known && err == nil
			}
		}
		if known && parts > 0 {
			row[unit] = strconv.FormatUint(sum, 10)
		}
	}
	return map[string]map[string]string{"switch": row}, nil
}
