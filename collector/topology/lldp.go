package topology

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A View is the LLDP information of one switch, about itself and its neighbours.
type View struct {
	Name      string // name of the switch; "" means System
	Target    string
	ID        uint32 // switch id, see [Node]
	System    string // system name
	Chassis   string // chassis id; "" if unknown
	Ports     []string
	Neighbors []Neighbor
}

// A Neighbor is an LLDP neighbour at a port.
type Neighbor struct {
	At                   string // port of the switch that receives its LLDP
	System, Chassis      string
	PortID, PortDescribe string
}

// says is a switch's report about a port: the port at the other end.
type says struct {
	far  End
	view *View // view of the other end; nil if that was not queried
}

// join is the state of joining views.
type join struct {
	t       *Topology
	views   map[string]*View // views by switch name
	system  map[string]*View // views by system name; nil if several switches have the name
	chassis map[string]*View
	ids     map[uint32]int
	others  map[string]string // chassis ids, or else system names, of nodes that were not queried, by node name
}

func (j *join) note(format string, args ...any) { j.t.note(format, args...) }

// leaveOut adds a note why a possible link is left out.
func (j *join) leaveOut(format string, args ...any) {
	j.t.LeftOut++
	j.note(format, args...)
}

// Join returns the topology of the views of several switches. It contains a link if both ends report it, or if one end
// reports it and the other was not queried. In the latter case, the other node is of unknown kind, with a note. All
// other information in the views becomes notes.
func Join(views []View) (*Topology, error) {
	j := &join{&Topology{}, map[string]*View{}, map[string]*View{}, map[string]*View{}, map[uint32]int{},
		map[string]string{}}
	for i := range views {
		if err := j.view(&views[i]); err != nil {
			return nil, err
		}
	}
	all := map[End]says{}
	for _, name := range slices.Sorted(maps.Keys(j.views)) {
		maps.Copy(all, j.ports(name, j.views[name]))
	}
	ends := slices.SortedFunc(maps.Keys(all), End.compare)
	claims := map[End][]End{} // ends that report each end at a node that was not queried
	for _, e := range ends {
		s := all[e]
		back, heard := all[s.far]
		switch {
		case s.view == nil:
			claims[s.far] = append(claims[s.far], e)
		case heard && back.far == e:
			if e.less(s.far) {
				j.t.Links = append(j.t.Links, Link{e, s.far})
			}
		case heard:
			j.leaveOut("%s reports %s at the other end, but that port reports %s: no link", e, s.far, back.far)
		default:
			j.leaveOut("%s reports %s at the other end, but that port has no neighbour: no link", e, s.far)
		}
	}
	for _, far := range slices.SortedFunc(maps.Keys(claims), End.compare) {
		j.unasked(far, claims[far])
	}
	for i := range j.t.Nodes {
		if n := &j.t.Nodes[i]; n.ID != 0 && j.ids[n.ID] > 1 {
			j.note("%s has the same switch id %d as another switch: the id identifies neither", n.Name, n.ID)
			n.ID = 0
		}
	}
	slices.Sort(j.t.Notes)
	return j.t, j.t.Check()
}

// view registers a view by its names.
func (j *join) view(v *View) error {
	v.Name = cmp.Or(v.Name, v.System)
	if v.Name == "" {
		return fmt.Errorf("target %s: the switch has no system name: want NAME=%s", v.Target, v.Target)
	}
	if other := j.views[v.Name]; other != nil {
		return fmt.Errorf("targets %s and %s are both called %s: want NAME=TARGET with different names", other.Target,
			v.Target, v.Name)
	}
	j.views[v.Name] = v
	j.ids[v.ID]++
	j.t.Nodes = append(j.t.Nodes, Node{v.Name, Switch, v.Target, v.ID})
	for what, by := range map[string]struct {
		value string
		all   map[string]*View
	}{"system name": {v.System, j.system}, "chassis id": {normal(v.Chassis), j.chassis}} {
		if by.value == "" {
			continue
		}
		if other, twice := by.all[by.value]; twice {
			j.note("%s and another switch have the same %s %s, which identifies neither", v.Name, what, by.value)
			_, by.all[by.value] = other, nil
			continue
		}
		by.all[by.value] = v
	}
	return nil
}

func normal(chassis string) string { return strings.ToLower(chassis) }

// ports returns a switch's statements about its ports, if the neighbour can be identified.
func (j *join) ports(name string, v *View) map[End]says {
	at := map[string][]Neighbor{}
	for _, n := range v.Neighbors {
		at[n.At] = append(at[n.At], n)
	}
	all := map[End]says{}
	for _, port := range slices.Sorted(maps.Keys(at)) {
		e := End{name, port}
		if n := len(at[port]); n > 1 {
			j.leaveOut("%s has %d neighbours, so it is not the end of a wire between two ports: no link", e, n)
			continue
		}
		if s, ok := j.who(e, at[port][0]); ok {
			all[e] = s
		}
	}
	return all
}

// who identifies a neighbour.
func (j *join) who(e End, n Neighbor) (says, bool) {
	bySystem, byChassis := j.system[n.System], j.chassis[normal(n.Chassis)]
	if why := j.contradiction(n, bySystem, byChassis); why != "" {
		j.leaveOut("%s has a neighbour that announces %s: no link", e, why)
		return says{}, false
	}
	view := cmp.Or(byChassis, bySystem)
	if view == nil {
		name := j.stranger(n)
		return says{far: End{name, cmp.Or(n.PortID, n.PortDescribe)}}, true
	}
	for _, port := range []string{n.PortID, n.PortDescribe} {
		if slices.Contains(view.Ports, port) {
			return says{End{view.Name, port}, view}, true
		}
	}
	j.leaveOut("%s reports %s at the other end with port id %q and description %q, which name no port of it: no link",
		e, view.Name, n.PortID, n.PortDescribe)
	return says{}, false
}

// contradiction returns the inconsistency in the names of a neighbour, or "" if there is none. bySystem and byChassis
// are the switches with the same system name and chassis id.
func (j *join) contradiction(n Neighbor, bySystem, byChassis *View) string {
	_, knownSystem := j.system[n.System]
	_, knownChassis := j.chassis[normal(n.Chassis)]
	switch {
	case bySystem == nil && byChassis == nil && (knownSystem || knownChassis):
		return fmt.Sprintf("%s with chassis id %s, which fits several switches", n.System, n.Chassis)
	case byChassis != nil && bySystem != nil && byChassis != bySystem:
		return fmt.Sprintf("the system name of %s with the chassis id of %s", bySystem.Name, byChassis.Name)
	case byChassis == nil && bySystem != nil && bySystem.Chassis != "" && n.Chassis != "":
		return fmt.Sprintf("the system name of %s with chassis id %s, which is not that of %s", bySystem.Name, n.Chassis,
			bySystem.Name)
	case byChassis != nil && !knownSystem && n.System != "":
		return fmt.Sprintf("%s with the chassis id of %s, which has the system name %s", n.System, byChassis.Name,
			byChassis.System)
	}
	return ""
}

// stranger returns a name for a neighbour that was not queried.
func (j *join) stranger(n Neighbor) string {
	clean := func(s string) string {
		s = strings.Map(func(r rune) rune {
			if r <= ' ' || r > '~' || strings.ContainsRune("|:,+", r) {
				return '-'
			}
			return r
		}, s)
		return s[:min(len(s), 60)]
	}
	chassis := normal(n.Chassis)
	name := cmp.Or(clean(n.System), clean(chassis), "nameless")
	who := cmp.Or(chassis, n.System)
	others := func(name string) bool {
		known, there := j.others[name]
		return j.views[name] != nil || there && known != who
	}
	if others(name) {
		name += "-" + clean(chassis)
		name = name[:min(len(name), 90)]
	}
	for i, first := 2, name; others(name); i++ { // after cleaning, names of different nodes may be equal
		name = fmt.Sprintf("%s-%d", first, i)
	}
	j.others[name] = who
	return name
}

// unasked adds a node that was not queried. It adds the link to this node if only one switch reports the link.
func (j *join) unasked(far End, from []End) {
	if _, there := j.t.Node(far.Node); !there {
		j.t.Nodes = append(j.t.Nodes, Node{Name: far.Node})
		j.note("%s is not among the targets: its kind and its other links are unknown", far.Node)
	}
	switch {
	case len(from) > 1:
		j.leaveOut("%v each report %s at the other end: no link", from, far)
	case far.Port == "" || !validPort(far.Port):
		j.leaveOut("%s reports %s at the other end, with port id %q: no link", from[0], far.Node, far.Port)
	default:
		j.t.Links = append(j.t.Links, Link{from[0], far})
	}
}
