package topology

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tamtam/internal/randtest"
)

const own = `switches:
- {name: "leaf1", target: "10.0.0.1:8080", id: 7}
- {name: "spine1"}
hosts:
- {name: "client"}
links:
- {a: "client", b: "leaf1:Ethernet0"}
- {a: "leaf1:Ethernet4", b: "spine1:Ethernet0"}
- {a: "leaf1:Ethernet12", b: "spine1:Ethernet4"}
`

const clab = `name: net
topology:
  kinds: {linux: {image: "${IMG:=tamtam}"}}
  nodes:
    leaf1: {kind: linux}
    leaf2: {kind: linux, image: "ghcr.io/x/own:1", labels: {tamtam: switch}, mgmt-ipv4: 172.20.0.2}
    sonic: {kind: sonic-vs, image: x}
    h1: {kind: linux, image: nicolaka/netshoot}
    br: {kind: ovs-bridge}
  links:
  - endpoints: ["h1:eth1", "leaf1:eth1"]
  - endpoints: ["leaf1:eth2", "leaf2:eth3"]
  - {type: veth, endpoints: [{node: leaf2, interface: Ethernet0}, {node: sonic, interface: eth1}]}
  - endpoints: ["leaf2:eth9", "host:veth0"]
  - {type: mgmt-net, endpoint: {node: leaf1, interface: eth5}}
  - endpoints: ["br:p1", "leaf1:eth6"]
`

func written(t *testing.T, n *Topology) string {
	t.Helper()
	var b bytes.Buffer
	if err := n.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A written file parses to the same topology. Links are in port order, and far ends are known from both sides.
func TestFile(t *testing.T) {
	n, err := Parse([]byte(own), Containerlab{})
	if err != nil {
		t.Fatal(err)
	}
	if got := written(t, n); got != own {
		t.Errorf("%s\nwant\n%s", got, own)
	}
	if far := n.Far()[End{"spine1", "Ethernet4"}]; far != (End{"leaf1", "Ethernet12"}) {
		t.Errorf("%v is at the other end", far)
	}
	if got := fmt.Sprint(n.Cables()); got != "[[leaf1 spine1]]" {
		t.Error(got)
	}
}

func TestContainerlab(t *testing.T) {
	n, err := Parse([]byte(clab), Containerlab{})
	if err != nil {
		t.Fatal(err)
	}
	const want = `# topology.links[3]: leaf2:Ethernet32 - host:veth0 leads out of the topology
# topology.links[4]: of type mgmt-net, which leads out of the topology
switches:
- {name: "leaf1", target: "clab-net-leaf1:8080"}
- {name: "leaf2", target: "172.20.0.2:8080"}
- {name: "sonic", target: "clab-net-sonic:8080"}
hosts:
- {name: "h1"}
unknown:
- {name: "br"}
links:
- {a: "br:p1", b: "leaf1:Ethernet20"}
- {a: "h1:eth1", b: "leaf1:Ethernet0"}
- {a: "leaf1:Ethernet4", b: "leaf2:Ethernet8"}
- {a: "leaf2:Ethernet0", b: "sonic:Ethernet0"}
`
	if got := written(t, n); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	n, err = Parse([]byte(strings.Replace(clab, "name: net", "name: net\nprefix: ''", 1)), Containerlab{
		Step: 1, Port: 57400, Env: func(name string) (string, bool) { return "other", name == "IMG" }})
	if err != nil {
		t.Fatal(err)
	}
	leaf1, _ := n.Node("leaf1")
	leaf2, _ := n.Node("leaf2")
	if leaf1.Kind != Host || leaf2.Target != "172.20.0.2:57400" || n.Far()[End{"leaf2", "Ethernet2"}].Port != "eth2" {
		t.Error(written(t, n))
	}
}

// A node inherits missing fields from its group, else from its kind, else from the defaults. Its own startup
// configuration does not replace theirs.
func TestContainerlabInherits(t *testing.T) {
	const file = `topology:
  defaults: {kind: linux, image: x, labels: {other: y}}
  kinds: {linux: {labels: {tamtam: switch}}, other: {binds: ["a:/etc/tamtam/startup:ro"]}, third: {image: z}}
  groups:
    hosts: {labels: {tamtam: host}}
    bound: {kind: linux, labels: {tamtam: ""}, binds: ["a:/b", "a:/etc/tamtam/startup"]}
  nodes:
    kind: {}
    group: {group: hosts}
    own: {group: hosts, labels: {tamtam: switch}}
    startup: {group: bound}
    none: {group: bound, binds: ["c:/d"]}
    plain: {labels: {tamtam: ""}}
`
	n, err := Parse([]byte(file), Containerlab{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Kind{"kind": Switch, "group": Host, "own": Switch, "startup": Switch, "none": Switch, "plain": Host}
	for _, node := range n.Nodes {
		if node.Kind != want[node.Name] {
			t.Errorf("%s is a %v, want %v", node.Name, node.Kind, want[node.Name])
		}
	}
}

// Each fault in a file is named.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ text, old, new, want string }{
		{own, own, "", "the file is empty"},
		{own, "switches:", "swiches:", "field swiches not found"},
		{own, own, "links: []", "switches: none: want one or more"},
		{own, `"spine1"}`, `"leaf1"}`, "node leaf1: there is another one of that name"},
		{own, `"client"}`, `"cli ent"}`, `node "cli ent": want a name of`},
		{own, "10.0.0.1:8080", "10.0.0.1", `node leaf1: target is "10.0.0.1", want HOST:PORT`},
		{own, "leaf1:Ethernet12", "leaf1:Ethernet4", "leaf1:Ethernet4 is at another link, too"},
		{own, `"leaf1:Ethernet4"`, `"leaf1"`, "want a port of leaf1"},
		{own, `b: "spine1:Ethernet0"`, `b: "x:Ethernet0"`, `there is no node "x"`},
		{own, `"spine1"}`, `"spine1", id: 7}`, "switches leaf1 and spine1 both have the switch id 7"},
		{own, `"client"}`, `"client", id: 9}`, "node client has the switch id 9, and is no switch"},
		{own, "hosts:", "---\nhosts:", "there is a second document"},
		{own, "hosts:", "experiment: x\nhosts:", ErrLab.Error()},
		{clab, "h1:eth1", "h2:eth1", `there is no node "h2"`},
		{clab, "leaf1:eth2", "leaf1:eth0", "want eth1, eth2, ...: eth0 is the container's own"},
		{clab, "leaf1:eth2", "leaf1", `endpoints[0]: "leaf1:": want NODE:INTERFACE`},
		{clab, `["br:p1", "leaf1:eth6"]`, `["br:p1"]`, "topology.links[5]: endpoints: there are 1, want 2"},
		{clab, "tamtam: switch", "tamtam: router", `node leaf2: label tamtam is "router", want switch or host`},
		{clab, "{kind: ovs-bridge}", "{}", "node br: it has no kind"},
	} {
		_, err := Parse([]byte(strings.Replace(c.text, c.old, c.new, 1)), Containerlab{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q: %v, want %s", c.new, c.old, err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(own))
	f.Add([]byte(clab))
	f.Fuzz(func(t *testing.T, text []byte) {
		n, err := Parse(text, Containerlab{})
		if err != nil {
			return
		}
		n.Notes = nil
		again, err := Parse([]byte(written(t, n)), Containerlab{})
		if slices.ContainsFunc(n.Nodes, func(n Node) bool { return n.Kind == Switch }) &&
			(err != nil || written(t, again) != written(t, n)) {
			t.Errorf("%s\nis read as\n%v: %v", written(t, n), again, err)
		}
	})
}

// viewsOf returns the LLDP views of a topology's switches.
func viewsOf(n *Topology) []View {
	var views []View
	for i, node := range n.Nodes {
		v := View{System: node.Name, Chassis: fmt.Sprintf("02:00:00:00:00:%02x", i), Target: fmt.Sprintf("10.0.0.%d:1", i)}
		for near, far := range n.Far() {
			if near.Node != node.Name {
				continue
			}
			v.Ports = append(v.Ports, near.Port)
			other := slices.IndexFunc(n.Nodes, func(o Node) bool { return o.Name == far.Node })
			v.Neighbors = append(v.Neighbors, Neighbor{At: near.Port, System: far.Node,
				Chassis: fmt.Sprintf("02:00:00:00:00:%02X", other), PortID: far.Port})
		}
		views = append(views, v)
	}
	return views
}

func randomNetwork(rnd *rand.Rand) *Topology {
	n := &Topology{}
	used := make([]int, 2+rnd.IntN(7))
	for i := range used {
		n.Nodes = append(n.Nodes, Node{fmt.Sprintf("s%d", i), Switch, fmt.Sprintf("10.0.0.%d:1", i), 0})
	}
	for range rnd.IntN(15) {
		var ends [2]End
		for i := range ends {
			s := rnd.IntN(len(used))
			ends[i] = End{n.Nodes[s].Name, fmt.Sprintf("Ethernet%d", used[s]*4)}
			used[s]++
		}
		n.Links = append(n.Links, Link{ends[0], ends[1]})
	}
	_ = n.Check()
	return n
}

// The join of complete views of a random network is its topology. If a switch does not receive a neighbour, receives a
// wrong one, or was not queried, only its own links are missing, with a note. There is never a link that the network
// does not have.
func TestJoinRandom(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 300, Short: 100}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 9))
		want := randomNetwork(rnd)
		views := viewsOf(want)
		got, err := Join(views)
		if err != nil || !reflect.DeepEqual(got.Links, want.Links) || !reflect.DeepEqual(got.Nodes, want.Nodes) ||
			len(got.Notes) > 0 || got.LeftOut > 0 {
			t.Fatalf("%v\n%s\nwant\n%s", err, written(t, got), written(t, want))
		}
		i := rnd.IntN(len(views))
		v := &views[i]
		if len(v.Neighbors) == 0 {
			return
		}
		k := rnd.IntN(len(v.Neighbors))
		bad := map[End]bool{{v.System, v.Neighbors[k].At}: true, {v.Neighbors[k].System, v.Neighbors[k].PortID}: true}
		switch rnd.IntN(5) {
		case 0: // no LLDP is received there
			v.Neighbors = slices.Delete(v.Neighbors, k, k+1)
		case 1: // the neighbour reports another port
			v.Neighbors[k].PortID = "Ethernet999"
		case 2: // the neighbour reports another name
			v.Neighbors[k].System = "who"
		case 3: // two neighbours at a port
			v.Neighbors = append(v.Neighbors, Neighbor{At: v.Neighbors[k].At, System: "hub", Chassis: "x", PortID: "1"})
		case 4: // a port receives its own LLDP
			v.Neighbors[k].System, v.Neighbors[k].Chassis, v.Neighbors[k].PortID = v.System, v.Chassis, v.Neighbors[k].At
		}
		got, err = Join(views)
		if err != nil {
			t.Fatal(err)
		}
		var left []Link
		for _, l := range want.Links {
			if !bad[l.A] && !bad[l.B] {
				left = append(left, l)
			}
		}
		if !slices.Equal(got.Links, left) || len(got.Notes) == 0 || got.LeftOut == 0 {
			t.Fatalf("%s\nwant links %v, and a note", written(t, got), left)
		}
	})
}

// A node that was not queried is of unknown kind. Names that fit several switches identify none.
func TestJoinOthers(t *testing.T) {
	hears := func(name string, n ...Neighbor) View {
		return View{System: name, Chassis: "c-" + name, Ports: []string{"p1", "p2"}, Neighbors: n, ID: 5}
	}
	n, err := Join([]View{
		hears("a", Neighbor{"p1", "x", "c-x", "7", ""}, Neighbor{"p2", "b", "c-b", "alias", "p2"}),
		hears("b", Neighbor{"p1", "x", "c-y", "8", ""}, Neighbor{"p2", "a", "c-a", "p2", ""}),
		{Name: "c", System: "d", Chassis: "same"}, {Name: "e", System: "d", Chassis: "same"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := written(t, n)
	for _, want := range []string{
		`- {a: "a:p2", b: "b:p2"}`, `- {a: "a:p1", b: "x:7"}`, `- {a: "b:p1", b: "x-c-y:8"}`, `- {name: "x-c-y"}`,
		"# x is not among the targets: its kind and its other links are unknown",
		"have the same system name d, which identifies neither", "# a has the same switch id 5 as another switch",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	if strings.Contains(got, "id:") && strings.Contains(got, "id: 5") {
		t.Error("a switch id that two have is believed")
	}
	if _, err := Join([]View{{Target: "h:1"}}); err == nil || !strings.Contains(err.Error(),
		"target h:1: the switch has no system name") {
		t.Error(err)
	}
	if _, err := Join([]View{hears("a"), hears("a")}); err == nil || !strings.Contains(err.Error(), "are both called a") {
		t.Error(err)
	}
}

// A node that was not queried is never mistaken for a queried one, or for another node that was not. This holds even if
// the names made from their LLDP data are equal.
func TestJoinStrangers(t *testing.T) {
	n, err := Join([]View{
		{Name: "a", System: "sys", Chassis: "c-a"}, {System: "a-b", Chassis: "c-ab", Ports: []string{"p1"}},
		{System: "c", Chassis: "c-c", Ports: []string{"p1", "p2", "p3", "p4"}, Neighbors: []Neighbor{
			{"p1", "a", "b", "p1", ""}, {"p2", "x y", "", "1", ""}, {"p3", "x+y", "", "2", ""}, {"p4", "x y", "", "3", ""}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = "[a-b-2:p1 - c:p1 c:p2 - x-y:1 c:p3 - x-y-:2 c:p4 - x-y:3]"
	if got := fmt.Sprint(n.Links); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// For any views the join returns a topology that can be written and read.
func FuzzJoin(f *testing.F) {
	f.Add("a|c-a|p1 p2|p1,b,c-b,p1,;b|c-b|p1|p1,a,c-a,p1,p9")
	f.Fuzz(func(t *testing.T, text string) {
		var views []View
		for part := range strings.SplitSeq(text, ";") {
			w := append(strings.Split(part, "|"), "", "", "", "")
			v := View{System: w[0], Chassis: w[1], Ports: strings.Fields(w[2])}
			for _, n := range w[3:] {
				x := append(strings.Split(n, ","), "", "", "", "", "")
				v.Neighbors = append(v.Neighbors, Neighbor{x[0], x[1], x[2], x[3], x[4]})
			}
			views = append(views, v)
		}
		n, err := Join(views)
		if err != nil {
			return
		}
		if _, err := Parse([]byte(written(t, n)), Containerlab{}); err != nil {
			t.Errorf("%s: %v", written(t, n), err)
		}
	})
}
