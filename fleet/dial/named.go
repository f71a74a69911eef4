package dial

import (
	"errors"
	"fmt"
	"slices"

	"tamtam/collector/topology"
)

// Named returns the file with the topology's names: a point whose target belongs to a switch gets that switch's name,
// also in the links, from and to of its graph. A point with neither a name nor a target in the topology keeps its name.
// A nil topology changes nothing.
//
// The error names every point that contradicts the topology: its switch is a host there, or its name belongs to one
// switch and its target to another.
func (f File) Named(t *topology.Topology) (File, error) {
	if t == nil {
		return f, nil
	}
	n := namer{kinds: map[string]topology.Kind{}, targets: map[string]string{}}
	for _, x := range t.Nodes {
		n.kinds[x.Name] = x.Kind
		if x.Target == "" || x.Kind != topology.Switch {
			continue
		}
		if _, twice := n.targets[x.Target]; twice {
			n.targets[x.Target] = "" // ambiguous
			continue
		}
		n.targets[x.Target] = x.Name
	}
	out := File{Paths: slices.Clone(f.Paths), Graphs: slices.Clone(f.Graphs)}
	var errs []error
	for i := range out.Paths {
		p := &out.Paths[i]
		var err error
		if p.Points, _, err = n.points(p.Points); err != nil {
			errs = append(errs, fmt.Errorf("path %s: %w", p.Name, err))
		}
	}
	for i := range out.Graphs {
		if err := n.graph(&out.Graphs[i]); err != nil {
			errs = append(errs, fmt.Errorf("graph %s: %w", out.Graphs[i].Name, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return File{}, err
	}
	if len(out.Paths)+len(out.Graphs) == 0 {
		return out, nil
	}
	return out, out.check()
}

type namer struct {
	kinds   map[string]topology.Kind
	targets map[string]string // names of switches by target; "" if several have it
}

func (n namer) graph(g *Graph) (err error) {
	var called, watched map[string]string
	var watchedErr error
	g.Points, called, err = n.points(g.Points)
	g.Watched, watched, watchedErr = n.points(g.Watched)
	rename := func(s string) string {
		for _, names := range []map[string]string{called, watched} {
			if name, ok := names[s]; ok {
				return name
			}
		}
		return s
	}
	g.Links, g.From, g.To = slices.Clone(g.Links), slices.Clone(g.From), slices.Clone(g.To)
	for i, l := range g.Links {
		g.Links[i] = [2]string{rename(l[0]), rename(l[1])}
	}
	for _, names := range [][]string{g.From, g.To} {
		for i, s := range names {
			names[i] = rename(s)
		}
	}
	return errors.Join(err, watchedErr)
}

// points returns the points with the topology's names, and these names by the old ones.
func (n namer) points(of []Point) (points []Point, called map[string]string, err error) {
	points, called = slices.Clone(of), map[string]string{}
	var errs []error
	for i := range points {
		p := &points[i]
		kind, known := n.kinds[p.Switch]
		name := n.targets[p.Target]
		switch {
		case known && kind == topology.Host:
			errs = append(errs, fmt.Errorf("point %d: switch is %q, and that is a host of the topology: want a switch", i+1,
				p.Switch))
		case known && name != "" && name != p.Switch:
			errs = append(errs, fmt.Errorf("point %d: switch is %q and target is %q, which is the target of %s in the "+
				"topology: want the name and the target of the same switch", i+1, p.Switch, p.Target, name))
		case name != "":
			called[p.Switch] = name
			p.Switch = name
		}
	}
	return points, called, errors.Join(errs...)
}
