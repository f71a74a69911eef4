package dial

import (
	"fmt"
	"maps"
	"slices"

	"tamtam/collector"
	"tamtam/collector/topology"
)

// Graphs are the monitored graphs of all flow groups: packets go from the switches whose session is an initiator to
// those whose session is a terminator, by the ways of the fewest links. Switches without a session are passed over;
// those with one that are on no such way are watched. Notes say of which flow groups there is no graph, and why.
func Graphs(t *topology.Topology, sessions []Session) (f File, notes []string) {
	of := map[string][]Session{}
	for _, s := range sessions {
		of[s.FlowGroup] = append(of[s.FlowGroup], s)
	}
	var cables []collector.AltMarkLink
	for _, c := range t.Cables() {
		cables = append(cables, collector.AltMarkLink{From: c[0], To: c[1]})
	}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		g, err := graphOf(name, of[name], cables)
		if err == nil {
			err = File{Graphs: []Graph{g}}.check()
		}
		if err != nil {
			notes = append(notes, fmt.Sprintf("flow group %s: no graph: %v", name, err))
			continue
		}
		f.Graphs = append(f.Graphs, g)
	}
	return f, notes
}

func graphOf(name string, sessions []Session, cables []collector.AltMarkLink) (Graph, error) {
	g := Graph{Name: name}
	points, from, to := map[string]bool{}, []string(nil), []string(nil)
	for _, s := range sessions {
		if points[s.Switch] {
			return g, fmt.Errorf("switch %s has two sessions for it: want one", s.Switch)
		}
		switch points[s.Switch] = true; s.Role {
		case "initiator":
			from = append(from, s.Switch)
		case "terminator":
			to = append(to, s.Switch)
		}
	}
	if len(from) == 0 || len(to) == 0 {
		return g, fmt.Errorf("initiators %q and terminators %q: want one of each at least", from, to)
	}
	on := map[string][]string{} // links of the shortest ways to each terminator
	for _, end := range to {
		for _, l := range collector.ShortestWays(cables, from, []string{end}) {
			if !slices.Contains(on[l.From], l.To) {
				on[l.From] = append(on[l.From], l.To)
			}
		}
	}
	linked := map[string]bool{}
	for _, a := range slices.Sorted(maps.Keys(points)) {
		for _, b := range onward(on, points, a) {
			g.Links = append(g.Links, [2]string{a, b})
			linked[a], linked[b] = true, true
		}
	}
	if len(g.Links) == 0 {
		return g, fmt.Errorf("there is no way from %q to %q by the topology", from, to)
	}
	for _, s := range sessions {
		if linked[s.Switch] {
			g.Points = append(g.Points, s.Point)
		} else {
			g.Watched = append(g.Watched, s.Point)
		}
	}
	return g, nil
}

// onward are the points that packets come to from one, without another in between.
func onward(on map[string][]string, points map[string]bool, from string) (all []string) {
	seen := map[string]bool{}
	for todo := slices.Clone(on[from]); len(todo) > 0; todo = todo[1:] {
		name := todo[0]
		if seen[name] {
			continue
		}
		if seen[name] = true; points[name] {
			all = append(all, name)
		} else {
			todo = append(todo, on[name]...)
		}
	}
	slices.Sort(all)
	return all
}
