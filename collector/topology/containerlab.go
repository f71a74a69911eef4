package topology

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Containerlab controls how a containerlab topology file is read.
//
// The label tamtam of a node is its kind: switch or host. Without the label, a node of kind linux is a switch if its
// image is called tamtam or it has a startup configuration of tamtam. Otherwise it is a host. A node whose kind
// contains "bridge" has no gNMI, and its kind is unknown. All others, such as sonic-vs, are switches.
//
// On switches eth1, eth2, eth3 are Ethernet0, Ethernet4, Ethernet8: the ports in order, with Step lanes each. Other
// names are unchanged.
type Containerlab struct {
	Step int                         // number of lanes per port; zero means 4
	Port int                         // port of the switches' gNMI servers; zero means 8080
	Env  func(string) (string, bool) // lookup of variables; nil means that there are none
}

type clabFile struct {
	Name     string  `yaml:"name"`
	Prefix   *string `yaml:"prefix"`
	Topology struct {
		Defaults clabNode            `yaml:"defaults"`
		Kinds    map[string]clabNode `yaml:"kinds"`
		Groups   map[string]clabNode `yaml:"groups"`
		Nodes    map[string]clabNode `yaml:"nodes"`
		Links    []struct {
			Type      string      `yaml:"type"`
			Endpoints []yaml.Node `yaml:"endpoints"`
			Endpoint  yaml.Node   `yaml:"endpoint"`
		} `yaml:"links"`
	} `yaml:"topology"`
}

type clabNode struct {
	Kind   string            `yaml:"kind"`
	Group  string            `yaml:"group"`
	Image  string            `yaml:"image"`
	Labels map[string]string `yaml:"labels"`
	Binds  []string          `yaml:"binds"`
	IPv4   string            `yaml:"mgmt-ipv4"`

	starts bool // true if the binds include a startup configuration of tamtam
}

// variable matches ${NAME}, ${NAME:=DEFAULT} and ${NAME:-DEFAULT}.
var variable = regexp.MustCompile(`\$\{(\w+)(?::[=-]([^}]*))?\}`)

func (c Containerlab) parse(text []byte) (*Topology, error) {
	text = variable.ReplaceAllFunc(text, func(found []byte) []byte {
		parts := variable.FindSubmatch(found)
		if c.Env != nil {
			if v, ok := c.Env(string(parts[1])); ok && v != "" {
				return []byte(v)
			}
		}
		return parts[2]
	})
	var f clabFile
	if err := yaml.Unmarshal(text, &f); err != nil {
		return nil, err
	}
	if n := len(f.Topology.Nodes); n > maxNodes {
		return nil, fmt.Errorf("topology.nodes: %d: want at most %d", n, maxNodes)
	}
	f.read()
	t := &Topology{}
	kinds := map[string]Kind{}
	for _, name := range slices.Sorted(maps.Keys(f.Topology.Nodes)) {
		n := f.complete(f.Topology.Nodes[name])
		kind, err := n.nodeKind()
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", name, err)
		}
		node := Node{Name: name, Kind: kind}
		if kinds[name] = kind; kind == Switch {
			node.Target = fmt.Sprintf("%s:%d", cmp.Or(n.IPv4, f.container(name)), cmp.Or(c.Port, 8080))
		}
		t.Nodes = append(t.Nodes, node)
	}
	if len(t.Nodes) == 0 {
		return nil, errors.New("topology.nodes: none: want one or more")
	}
	for i, l := range f.Topology.Links {
		if l.Type != "" && l.Type != "veth" {
			t.note("topology.links[%d]: of type %s, which leads out of the topology", i, l.Type)
			continue
		}
		link, out, err := c.link(l.Endpoints, kinds)
		switch {
		case err != nil:
			return nil, fmt.Errorf("topology.links[%d]: %w", i, err)
		case out:
			t.note("topology.links[%d]: %s leads out of the topology", i, link)
		default:
			t.Links = append(t.Links, link)
		}
	}
	return t, t.Check()
}

// labelKind is the label with the kind of a node.
const labelKind = "tamtam"

// read evaluates the binds, once per kind and group, because many nodes share them.
func (f *clabFile) read() {
	f.Topology.Defaults.read()
	for _, all := range []map[string]clabNode{f.Topology.Kinds, f.Topology.Groups, f.Topology.Nodes} {
		for name, n := range all {
			n.read()
			all[name] = n
		}
	}
}

func (n *clabNode) read() {
	n.starts = slices.ContainsFunc(n.Binds, func(bind string) bool {
		parts := strings.Split(bind, ":")
		return len(parts) > 1 && parts[1] == "/etc/tamtam/startup"
	})
}

// complete returns a node with missing fields from its group, its kind, and the defaults.
func (f *clabFile) complete(n clabNode) clabNode {
	group := f.Topology.Groups[cmp.Or(n.Group, f.Topology.Defaults.Group)]
	n.Kind = cmp.Or(n.Kind, group.Kind, f.Topology.Defaults.Kind)
	kind := f.Topology.Kinds[n.Kind]
	n.Image = cmp.Or(n.Image, group.Image, kind.Image, f.Topology.Defaults.Image)
	for _, from := range []clabNode{n, group, kind, f.Topology.Defaults} {
		if label, ok := from.Labels[labelKind]; ok {
			n.Labels = map[string]string{labelKind: label}
			break
		}
	}
	n.starts = n.starts || group.starts || kind.starts || f.Topology.Defaults.starts
	return n
}

// container returns the name of a node's container, which the machine that runs it can resolve.
func (f *clabFile) container(node string) string {
	switch {
	case f.Prefix == nil:
		return "clab-" + f.Name + "-" + node
	case *f.Prefix == "":
		return node
	case *f.Prefix == "__lab-name":
		return f.Name + "-" + node
	}
	return *f.Prefix + "-" + f.Name + "-" + node
}

func (n clabNode) nodeKind() (Kind, error) {
	image, _, _ := strings.Cut(n.Image[strings.LastIndex(n.Image, "/")+1:], ":")
	switch label := n.Labels[labelKind]; {
	case label == "switch":
		return Switch, nil
	case label == "host":
		return Host, nil
	case label != "":
		return Unknown, fmt.Errorf("label tamtam is %q, want switch or host", label)
	case n.Kind == "":
		return Unknown, errors.New("it has no kind")
	case n.Kind == "linux" && image != "tamtam" && !n.starts:
		return Host, nil
	case strings.Contains(n.Kind, "bridge"):
		return Unknown, nil
	}
	return Switch, nil
}

// link reads the two ends of a link. out reports that one end is not one of the nodes.
func (c Containerlab) link(ends []yaml.Node, kinds map[string]Kind) (l Link, out bool, err error) {
	if len(ends) != 2 {
		return l, false, fmt.Errorf("endpoints: there are %d, want 2", len(ends))
	}
	for i, to := range []*End{&l.A, &l.B} {
		var e struct{ Node, Interface string }
		if ends[i].Kind == yaml.ScalarNode {
			e.Node, e.Interface, _ = strings.Cut(ends[i].Value, ":")
		} else if err := ends[i].Decode(&e); err != nil {
			return l, false, fmt.Errorf("endpoints[%d]: %w", i, err)
		}
		if e.Node == "" || e.Interface == "" {
			return l, false, fmt.Errorf("endpoints[%d]: %q: want NODE:INTERFACE", i, e.Node+":"+e.Interface)
		}
		*to = End{e.Node, e.Interface}
		switch kind, known := kinds[e.Node]; {
		case known && kind == Switch:
			if to.Port, err = c.port(e.Interface); err != nil {
				return l, false, fmt.Errorf("endpoints[%d]: %s: %w", i, to, err)
			}
		case !known && slices.Contains([]string{"host", "mgmt-net", "macvlan", "dummy"}, e.Node):
			out = true
		}
	}
	return l, out, nil
}

// port returns the switch's name of an interface.
func (c Containerlab) port(name string) (string, error) {
	number, ok := strings.CutPrefix(name, "eth")
	if !ok {
		return name, nil
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > 10000 {
		return "", errors.New("want eth1, eth2, ...: eth0 is the container's own")
	}
	return fmt.Sprintf("Ethernet%d", (n-1)*cmp.Or(c.Step, 4)), nil
}
