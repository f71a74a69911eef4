package dial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"tamtam/collector/marks"
	"tamtam/collector/topology"
)

// Monitored reads the sessions of the switches of a topology, and returns their [Graphs]. If the error is nil and there
// are no graphs, no flow group has one.
func Monitored(ctx context.Context, t *topology.Topology, o Options) (f File, notes []string, err error) {
	if t.LeftOut > 0 {
		return f, nil, errors.New("the topology lacks links whose ends report different neighbours, and packets may take " +
			"them: want a corrected file with or without them, from tamtam collect topology")
	}
	var all []Session
	for _, n := range t.Nodes {
		if n.Kind == topology.Switch && n.Target == "" {
			return f, nil, fmt.Errorf("switch %s: the topology has no address for it: want its target, HOST:PORT", n.Name)
		}
	}
	for _, n := range t.Nodes {
		if n.Kind != topology.Switch {
			continue
		}
		sessions, err := ReadSessions(ctx, n.Name, n.Target, o)
		if err != nil { // without its sessions a graph would lack a point that packets may pass
			return f, nil, fmt.Errorf("switch %s at %s: its sessions are unknown: %w", n.Name, n.Target, err)
		}
		all = append(all, sessions...)
	}
	f, notes = Graphs(t, all)
	return f, notes, nil
}

// ErrNoGraphs is returned by functions that need graphs if there are no graphs.
var ErrNoGraphs = errors.New("the alternate-marking sessions of the switches in the topology make no graph")

// Changed reads the sessions of a topology periodically, and returns when their graphs differ from these. since is the
// last time at which they were equal. Switches that cannot be read are passed to report, and read again the next time.
// changed is false if ctx has ended.
func (f File) Changed(
	ctx context.Context, t *topology.Topology, o Options, every time.Duration, report func(error),
) (since time.Time, changed bool) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for since, said := time.Now(), ""; ; {
		select {
		case <-ctx.Done():
			return since, false
		case <-tick.C:
		}
		at := time.Now()
		switch now, _, err := Monitored(ctx, t, o); {
		case ctx.Err() != nil:
			return since, false
		case err != nil:
			if err.Error() != said {
				report(err)
			}
			said = err.Error()
		case !reflect.DeepEqual(now, f):
			return since, true
		default:
			since, said = at, ""
		}
	}
}

// AskGraphs is the interval at which long-running programs check whether the graphs have changed.
const AskGraphs = 10 * time.Second

// String returns the graph's name and links in one line.
func (g Graph) String() string {
	links := make([]string, len(g.Links))
	for i, l := range g.Links {
		links[i] = l[0] + ">" + l[1]
	}
	text := "graph " + g.Name + ": " + strings.Join(links, " ")
	for i, p := range g.Watched {
		text += map[bool]string{true: "; watched: ", false: " "}[i == 0] + p.Switch
	}
	return text
}

// Graphs returns the monitored graphs of all flow groups. Packets go from the switches with an initiator to those with
// a terminator, by the paths with the fewest links. Switches without a session are left out; those with one that are on
// no such path are watched. notes names the flow groups without a graph, and the reason. Reasons are sessions that
// match different packets, roles that contradict the paths, or nodes of unknown kind on a path.
func Graphs(t *topology.Topology, sessions []Session) (f File, notes []string) {
	of := map[string][]Session{}
	for _, s := range sessions {
		of[s.FlowGroup] = append(of[s.FlowGroup], s)
	}
	w := wires{unknown: map[string]bool{}}
	for _, c := range t.Cables() {
		w.cables = append(w.cables, marks.Link{From: c[0], To: c[1]})
	}
	for _, n := range t.Nodes {
		w.unknown[n.Name] = n.Kind == topology.Unknown
	}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		g, err := w.graphOf(name, of[name])
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

// wires holds the links that packets may take.
type wires struct {
	cables  []marks.Link
	unknown map[string]bool // nodes that may be switches or not
}

func (w wires) graphOf(name string, sessions []Session) (Graph, error) {
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
	if err := alike(sessions); err != nil {
		return g, err
	}
	on, err := w.shortestPaths(from, to)
	if err != nil {
		return g, err
	}
	for _, a := range slices.Sorted(maps.Keys(points)) {
		for _, b := range onward(on, points, a) {
			g.Links = append(g.Links, [2]string{a, b})
		}
	}
	if len(g.Links) == 0 {
		return g, fmt.Errorf("the topology has no path from %q to %q", from, to)
	}
	return g, g.place(sessions)
}

// shortestPaths returns the links of the shortest paths to each terminator, keyed by their beginnings.
func (w wires) shortestPaths(from, to []string) (map[string][]string, error) {
	on := map[string][]string{}
	for _, end := range to {
		for _, l := range marks.ShortestPaths(w.cables, from, []string{end}) {
			if w.unknown[l.From] {
				return nil, fmt.Errorf("packets may pass %s, and the topology does not define it: want a switch or a host",
					l.From)
			}
			if !slices.Contains(on[l.From], l.To) {
				on[l.From] = append(on[l.From], l.To)
			}
		}
	}
	return on, nil
}

// place puts sessions on the graph's links, or beside them. Packets get marks where they enter and lose them where they
// leave, so that the other switches on their paths must be transits.
func (g *Graph) place(sessions []Session) error {
	for _, s := range sessions {
		comes := slices.IndexFunc(g.Links, func(l [2]string) bool { return l[1] == s.Switch })
		goes := slices.IndexFunc(g.Links, func(l [2]string) bool { return l[0] == s.Switch })
		switch {
		case comes < 0 && goes < 0 && s.Role != "transit":
			return fmt.Errorf("%s %s is on no path in the topology: want links to it, or no session there", s.Role, s.Switch)
		case comes < 0 && goes < 0:
			g.Watched = append(g.Watched, s.Point)
			continue
		case s.Role == "initiator" && comes >= 0:
			return fmt.Errorf("initiator %s is on a path from %s: packets would be marked twice", s.Switch, g.Links[comes][0])
		case s.Role == "terminator" && goes >= 0:
			return fmt.Errorf("terminator %s is on a path to %s: the end of the path is not certain", s.Switch, g.Links[goes][1])
		}
		g.Points = append(g.Points, s.Point)
	}
	return nil
}

// onward returns the points that packets from one point reach without another point in between.
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
