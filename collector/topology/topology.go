package topology

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"tamtam/collector/whole"
)

// Kind is the kind of a node.
type Kind uint8

// The kinds. An Unknown node is known only by LLDP, and was not queried.
const (
	Unknown Kind = iota
	Switch
	Host
)

// String returns unknown, switch or host.
func (k Kind) String() string { return []string{"unknown", "switch", "host"}[min(k, Host)] }

// MarshalText returns the text of [Kind.String].
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// A Node is a switch or a host.
type Node struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	// Target is HOST:PORT of a switch's gNMI server, or unix:/PATH. It is "" if unknown.
	Target string `json:"target,omitempty"`
	ID     uint32 `json:"id,omitempty"` // switch id in stamps and records; zero if unknown
}

// An End is a port of a node. The port of a host may be "".
type End struct {
	Node string `json:"node"`
	Port string `json:"port,omitempty"`
}

// String returns text such as leaf1:Ethernet0. For a host without a port it is the name.
func (e End) String() string {
	if e.Port == "" {
		return e.Node
	}
	return e.Node + ":" + e.Port
}

// A Link is a wire. It has no direction.
type Link struct {
	A End `json:"a"`
	B End `json:"b"`
}

// String returns text such as leaf1:Ethernet0 - client.
func (l Link) String() string { return l.A.String() + " - " + l.B.String() }

// A Topology is a network, with nodes and links sorted by name.
type Topology struct {
	Nodes []Node `json:"nodes"`
	Links []Link `json:"links"`
	// Notes describe uncertain parts, which are therefore left out.
	Notes []string `json:"notes,omitempty"`
	// LeftOut is the number of possible links that were left out because their ends disagree.
	LeftOut int `json:"left-out,omitempty"`
}

// Limits of a topology.
const (
	maxFile  = 4 << 20
	maxNodes = 1 << 16
	maxLinks = 1 << 18
)

// note adds a note, and replaces characters that are unsafe for a terminal.
func (t *Topology) note(format string, args ...any) {
	t.Notes = append(t.Notes, strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, fmt.Sprintf(format, args...)))
}

// Node returns the node with this name. It returns false if there is none.
func (t *Topology) Node(name string) (Node, bool) {
	for _, n := range t.Nodes {
		if n.Name == name {
			return n, true
		}
	}
	return Node{}, false
}

// ChangeSwitch calls change with the switch of a name.
func (t *Topology) ChangeSwitch(name string, change func(*Node) error) error {
	i := slices.IndexFunc(t.Nodes, func(n Node) bool { return n.Name == name && n.Kind == Switch })
	if i < 0 {
		return fmt.Errorf("the topology has no switch %q", name)
	}
	return change(&t.Nodes[i])
}

// Far returns the other end of each port, for both directions.
func (t *Topology) Far() map[End]End {
	far := map[End]End{}
	for _, l := range t.Links {
		far[l.A], far[l.B] = l.B, l.A
	}
	return far
}

// Cables returns the pairs of linked switches, including nodes that may be switches, without duplicates. The smaller
// name is first.
func (t *Topology) Cables() [][2]string {
	kind := map[string]Kind{}
	for _, n := range t.Nodes {
		kind[n.Name] = n.Kind
	}
	var all [][2]string
	for _, l := range t.Links {
		if a, b := l.A.Node, l.B.Node; a != b && kind[a] != Host && kind[b] != Host {
			all = append(all, [2]string{min(a, b), max(a, b)})
		}
	}
	slices.SortFunc(all, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(all)
}

// Check returns an error with all faults, and sorts nodes and links.
func (t *Topology) Check() error {
	if n, l := len(t.Nodes), len(t.Links); n > maxNodes || l > maxLinks {
		return fmt.Errorf("%d nodes and %d links: want at most %d and %d", n, l, maxNodes, maxLinks)
	}
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	kinds := map[string]Kind{}
	for _, n := range t.Nodes {
		if _, twice := kinds[n.Name]; twice {
			bad("node %s: there is another one of that name", n.Name)
		}
		if kinds[n.Name] = n.Kind; !validName(n.Name) {
			bad("node %q: want a name of %s", n.Name, nameWords)
		}
		if !validTarget(n.Target) {
			bad("node %s: target is %q, want HOST:PORT or unix:/PATH", n.Name, n.Target)
		}
	}
	t.checkIDs(bad)
	t.checkLinks(kinds, bad)
	slices.SortFunc(t.Nodes, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(t.Links, func(a, b Link) int { return cmp.Or(a.A.compare(b.A), a.B.compare(b.B)) })
	return errors.Join(errs...)
}

// checkLinks checks the links and puts the smaller end of each first.
func (t *Topology) checkLinks(kinds map[string]Kind, bad func(string, ...any)) {
	used := map[End]bool{}
	for i, l := range t.Links {
		for _, e := range []End{l.A, l.B} {
			kind, known := kinds[e.Node]
			switch {
			case !known:
				bad("link %s: there is no node %q", l, e.Node)
			case e.Port == "" && kind != Host:
				bad("link %s: want a port of %s, as %s:Ethernet0", l, e.Node, e.Node)
			case !validPort(e.Port):
				bad("link %s: port %q of %s: want at most 100 visible characters", l, e.Port, e.Node)
			case used[e] && e.Port != "":
				bad("link %s: %s is at another link, too", l, e)
			}
			used[e] = true
		}
		if End.less(l.B, l.A) {
			t.Links[i] = Link{l.B, l.A}
		}
	}
}

func (t *Topology) checkIDs(bad func(string, ...any)) {
	ids := map[uint32]string{}
	for _, n := range t.Nodes {
		if other, twice := ids[n.ID]; twice && n.ID != 0 {
			bad("switches %s and %s both have the switch id %d: want different ones", other, n.Name, n.ID)
		}
		if ids[n.ID] = n.Name; n.ID != 0 && n.Kind != Switch {
			bad("node %s has the switch id %d, and is no switch", n.Name, n.ID)
		}
	}
}

// compare orders ends by node and port, with Ethernet8 before Ethernet12.
func (e End) compare(o End) int {
	return cmp.Or(strings.Compare(e.Node, o.Node), cmp.Compare(len(e.Port), len(o.Port)), strings.Compare(e.Port, o.Port))
}

func (e End) less(o End) bool { return e.compare(o) < 0 }

const nameWords = "1 to 100 visible ASCII characters without | : , and +"

func validName(s string) bool {
	return s != "" && len(s) <= 100 && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune("|:,+", r)
	})
}

func validPort(s string) bool {
	return len(s) <= 100 && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

func validTarget(s string) bool {
	if socket, ok := strings.CutPrefix(s, "unix:"); ok {
		return socket != ""
	}
	_, _, err := net.SplitHostPort(s)
	return s == "" || err == nil
}

// A file is a topology as YAML, in the terms of the lab's files:
//
//	switches:
//	- {name: leaf1, target: "10.0.0.1:8080", id: 1}
//	hosts:
//	- {name: client}
//	links:
//	- {a: "leaf1:Ethernet0", b: client}
type file struct {
	Switches []fileNode `yaml:"switches"`
	Hosts    []fileNode `yaml:"hosts"`
	Unknown  []fileNode `yaml:"unknown"` // nodes that are known only by LLDP
	Links    []fileLink `yaml:"links"`
}

type fileNode struct {
	Name   string `yaml:"name"`
	Target string `yaml:"target"`
	ID     uint32 `yaml:"id"`
}

type fileLink struct {
	A string `yaml:"a"`
	B string `yaml:"b"`
}

// ErrLab is the error of [Parse] for a lab file, which only the lab reads.
var ErrLab = errors.New("a file of the lab, which has an experiment")

// Parse reads a topology file, its own format or containerlab's. For containerlab, variables are looked up by env, and
// interfaces eth1, eth2, ... of switches become ports: see [Containerlab].
func Parse(text []byte, c Containerlab) (*Topology, error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("longer than %d MiB, which is the limit", maxFile>>20)
	}
	var keys struct {
		Topology, Experiment yaml.Node
	}
	if err := yaml.Unmarshal(text, &keys); err != nil {
		return nil, err
	}
	switch {
	case keys.Experiment.Kind != 0:
		return nil, ErrLab
	case keys.Topology.Kind != 0:
		return c.parse(text)
	}
	if err := whole.Check(text, "id"); err != nil {
		return nil, err
	}
	var f file
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&f); errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty: want switches, hosts and links")
	} else if err != nil {
		return nil, err
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is a second document (---): want one topology in a file")
	}
	t := &Topology{}
	for kind, nodes := range [][]fileNode{f.Unknown, f.Switches, f.Hosts} {
		for _, n := range nodes {
			t.Nodes = append(t.Nodes, Node{n.Name, Kind(kind), n.Target, n.ID})
		}
	}
	if len(f.Switches) == 0 {
		return nil, errors.New("switches: none: want one or more")
	}
	for _, l := range f.Links {
		t.Links = append(t.Links, Link{ParseEnd(l.A), ParseEnd(l.B)})
	}
	return t, t.Check()
}

// ParseEnd parses NODE:PORT, or the name of a host.
func ParseEnd(text string) End {
	node, port, _ := strings.Cut(text, ":")
	return End{node, port}
}

// Write writes the topology as a file that [Parse] reads, with its notes as comments at the top.
func (t *Topology) Write(w io.Writer) error {
	var b bytes.Buffer
	for _, note := range t.Notes {
		fmt.Fprintf(&b, "# %s\n", note)
	}
	list := func(name string, kind Kind) {
		first := true
		for _, n := range t.Nodes {
			if n.Kind != kind {
				continue
			}
			if first {
				fmt.Fprintf(&b, "%s:\n", name)
			}
			first = false
			fmt.Fprintf(&b, "- {name: %q", n.Name)
			if n.Target != "" {
				fmt.Fprintf(&b, ", target: %q", n.Target)
			}
			if n.ID != 0 {
				fmt.Fprintf(&b, ", id: %d", n.ID)
			}
			fmt.Fprintln(&b, "}")
		}
	}
	list("switches", Switch)
	list("hosts", Host)
	list("unknown", Unknown)
	fmt.Fprintln(&b, map[bool]string{true: "links:", false: "links: []"}[len(t.Links) > 0])
	for _, l := range t.Links {
		fmt.Fprintf(&b, "- {a: %q, b: %q}\n", l.A, l.B)
	}
	_, err := w.Write(b.Bytes())
	return err
}
