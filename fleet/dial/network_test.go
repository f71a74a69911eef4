package dial

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"tamtam/collector/marks"
	"tamtam/collector/topology"
	"tamtam/internal/randtest"
)

// answers is a gNMI server that answers Get, by path.
type answers struct {
	gpb.UnimplementedGNMIServer
	json map[string]string
}

func (a answers) Get(_ context.Context, r *gpb.GetRequest) (*gpb.GetResponse, error) {
	p := r.GetPath()[0]
	raw, ok := a.json[text(p.GetElem())]
	if !ok {
		return nil, status.Error(codes.NotFound, "nothing there")
	}
	return &gpb.GetResponse{Notification: []*gpb.Notification{{Update: []*gpb.Update{{
		Path: p, Val: &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: []byte(raw)}}}}}}}, nil
}

func serveAnswers(t *testing.T, json map[string]string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	gpb.RegisterGNMIServer(s, answers{json: json})
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return l.Addr().String()
}

// The neighbours and sessions of a switch are read from its answers; a switch without LLDP does not count as one
// without neighbours.
func TestRead(t *testing.T) {
	addr := serveAnswers(t, map[string]string{
		"/lldp": `{"openconfig-lldp:state":{"system-name":"leaf1","chassis-id":"02:00:00:00:00:01","enabled":true},
			"openconfig-lldp:interfaces":{"interface":[{"name":"Ethernet0"},{"name":"Ethernet4","neighbors":{"neighbor":[
			{"id":"1","state":{"system-name":"spine1","chassis-id":"02:00:00:00:00:02","port-id":"Eth1",
			 "port-description":"Ethernet0"}}]}}]}}`,
		"/tam/switch/state": `{"op-switch-id":258}`,
		"/tam/alt-mark-sessions": `{"tamtam-altmark:alt-mark-session":[
			{"name":"web","config":{"name":"web","flowgroup":"w","role":"initiator","flow-mon-id":9,"encap-dst":"2001:db8::1"}},
			{"name":"x","config":{"name":"x","flowgroup":"none","role":"transit"}}]}`,
		"/tam/flowgroups": `{"openconfig-tam:flowgroup":[{"name":"w","config":{"name":"w","id":7,"priority":5,
		 "interfaces":["Ethernet0"],
			"other-fields":["VLAN_ID=7","DSCP=8/0x38"]},"ipv4":{"config":{"dscp":10,"destination-address":"10.0.0.2"},
			"state":{"destination-address":"no"}},"transport":{"config":{"destination-port":80}}}]}`,
	})
	v, err := ReadLLDP(t.Context(), "", addr, Options{Insecure: true})
	want := topology.View{Target: addr, ID: 258, System: "leaf1", Chassis: "02:00:00:00:00:01",
		Ports: []string{"Ethernet0", "Ethernet4"},
		Neighbors: []topology.Neighbor{{At: "Ethernet4", System: "spine1", Chassis: "02:00:00:00:00:02", PortID: "Eth1",
			PortDescribe: "Ethernet0"}}}
	if err != nil || !reflect.DeepEqual(v, want) {
		t.Errorf("%+v, %v\nwant %+v", v, err, want)
	}
	all, err := ReadSessions(t.Context(), "leaf1", addr, Options{Insecure: true})
	if err != nil || !slices.Equal(all, []Session{
		{Point{"leaf1", addr, "web"}, "w", "initiator", "9", true,
			"other-fields VLAN_ID=7, destination-address 10.0.0.2/32, destination-port 80"},
		{Point{"leaf1", addr, "x"}, "none", "transit", "", false, "nothing: there is no such flow group"},
	}) {
		t.Errorf("%+v, %v", all, err)
	}
	none := serveAnswers(t, nil)
	if _, err := ReadLLDP(t.Context(), "", none, Options{Insecure: true}); err == nil ||
		!strings.Contains(err.Error(), "does not speak LLDP") {
		t.Error(err)
	}
	if all, err := ReadSessions(t.Context(), "x", none, Options{Insecure: true}); err != nil || len(all) > 0 {
		t.Error(all, err)
	}
	bad := serveAnswers(t, map[string]string{"/tam/alt-mark-sessions": "{"})
	if _, err := ReadSessions(t.Context(), "x", bad, Options{Insecure: true}); err == nil ||
		!strings.Contains(err.Error(), "the server's JSON") {
		t.Error(err)
	}
}

func networkOf(links ...string) *topology.Topology {
	t, used := &topology.Topology{}, map[string]int{}
	for _, l := range links {
		var ends []topology.End
		for name := range strings.SplitSeq(l, "-") {
			if used[name]++; used[name] == 1 {
				t.Nodes = append(t.Nodes, topology.Node{Name: name, Kind: topology.Switch})
			}
			ends = append(ends, topology.End{Node: name, Port: fmt.Sprint("e", used[name])})
		}
		t.Links = append(t.Links, topology.Link{A: ends[0], B: ends[1]})
	}
	return t
}

func sessionsAt(flow string, at ...string) (all []Session) {
	for _, text := range at {
		name, role, _ := strings.Cut(text, " ")
		all = append(all, Session{Point: Point{name, name + ":1", "s"}, FlowGroup: flow, Role: role})
	}
	return all
}

// The graph of a flow group contains the switches with sessions for it on the shortest paths; others are left out, or
// watched.
func TestGraphs(t *testing.T) {
	leafSpine := []string{"l1-s1", "l1-s2", "l2-s1", "l2-s2", "l3-s1", "l3-s2", "s1-x", "l1-l2"}
	for _, c := range []struct {
		links, sessions []string
		want            string
	}{
		{leafSpine[:7], []string{"l1 initiator", "s1 transit", "s2 transit", "l2 terminator"},
			"[[l1 s1] [l1 s2] [s1 l2] [s2 l2]] watched []"},
		{leafSpine[:7], []string{"l1 initiator", "s1 transit", "l2 terminator"}, "[[l1 l2] [l1 s1] [s1 l2]] watched []"},
		{leafSpine[:7], []string{"l1 initiator", "s1 transit", "s2 transit", "l2 terminator", "l3 transit"},
			"[[l1 s1] [l1 s2] [s1 l2] [s2 l2]] watched [l3]"},
		{leafSpine, []string{"l1 initiator", "s1 transit", "l2 terminator"}, "[[l1 l2]] watched [s1]"},
		// a terminator that is further away
		{leafSpine, []string{"l1 initiator", "s1 transit", "s2 transit", "l2 terminator", "l3 terminator"},
			"[[l1 l2] [l1 s1] [l1 s2] [s1 l3] [s2 l3]] watched []"},
		{leafSpine, []string{"l1 initiator", "l2 transit"}, `initiators ["l1"] and terminators []`},
		{leafSpine, []string{"l1 initiator", "l1 terminator"}, "switch l1 has two sessions"},
		{[]string{"a-b", "c-d"}, []string{"a initiator", "d terminator"}, `the topology has no path from ["a"] to ["d"]`},
		{[]string{"a-b", "b-c"}, []string{"a initiator", "c initiator", "b terminator", "a2 terminator"},
			"terminator a2 is on no path in the topology"},
		{[]string{"a-b", "b-c"}, []string{"a initiator", "b terminator", "c terminator"}, "terminator b is on a path to c"},
		{[]string{"a-b", "b-c"}, []string{"a initiator", "b initiator", "c terminator"}, "initiator b is on a path from a"},
	} {
		f, notes := Graphs(networkOf(c.links...), sessionsAt("web", c.sessions...))
		got := strings.Join(notes, "; ")
		for _, g := range f.Graphs {
			var watched []string
			for _, p := range g.Watched {
				watched = append(watched, p.Switch)
			}
			got += fmt.Sprintf("%v watched %v", g.Links, watched)
			if _, err := NewJoin(f, time.Unix(0, 0)); err != nil {
				t.Error(err)
			}
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%v of %v: %s, want %s", c.sessions, c.links, got, c.want)
		}
	}
}

// A node of unknown kind on a path is neither a wire nor absent. Hosts and nodes on longer paths do not matter. Links
// that LLDP leaves open are in no graph.
func TestGraphsUnknown(t *testing.T) {
	sessions := sessionsAt("web", "a initiator", "s transit", "b terminator")
	for _, c := range []struct {
		links string
		kind  topology.Kind
		want  string
	}{
		{"a-s s-b a-x x-b", topology.Unknown,
			"packets may pass x, and the topology does not define it: want a switch or a host"},
		{"a-s s-b a-x x-b", topology.Host, "[]"},
		{"a-s s-b a-x x-y y-b", topology.Unknown, "[]"},
		{"a-x x-b s-b", topology.Unknown, "packets may pass x"},
	} {
		n := networkOf(strings.Fields(c.links)...)
		for i := range n.Nodes {
			if n.Nodes[i].Name == "x" {
				n.Nodes[i].Kind = c.kind
			}
		}
		if _, notes := Graphs(n, sessions); !strings.Contains(fmt.Sprint(notes), c.want) {
			t.Errorf("%s: %v, want %s", c.links, notes, c.want)
		}
	}
	n := networkOf("a-b")
	n.LeftOut = 1
	if _, _, err := Monitored(t.Context(), n, Options{}); err == nil ||
		!strings.Contains(err.Error(), "lacks links whose ends report different neighbours") {
		t.Error(err)
	}
}

// Sessions of one flow group that match different packets make no graph: a packet that only some of them count would
// look lost. A session that adds headers sees other packets than those after it.
func TestGraphsAlike(t *testing.T) {
	for _, c := range []struct {
		change func(*Session)
		want   string
	}{
		{func(s *Session) {}, "[]"},
		{func(s *Session) { s.Match = "port 81" },
			"flow group web: no graph: it matches port 80 at switch a, and port 81 at b: want the same packets"},
		{func(s *Session) { s.FlowMonID = "7" }, "flow-mon-id is none at switch a, and 7 at b"},
		{func(s *Session) { s.Encap, s.Match = true, "headers" }, "[]"},
	} {
		sessions := sessionsAt("web", "a initiator", "b terminator")
		sessions[0].Match, sessions[1].Match = "port 80", "port 80"
		c.change(&sessions[1])
		if _, notes := Graphs(networkOf("a-b"), sessions); !strings.Contains(fmt.Sprint(notes), c.want) {
			t.Errorf("%v, want %s", notes, c.want)
		}
	}
}

// The graphs of the switches' answers can be written and read as a file. They change when a switch's answer changes; a
// switch that does not answer changes nothing.
func TestMonitored(t *testing.T) {
	say := func(role string) map[string]string {
		return map[string]string{
			"/tam/alt-mark-sessions": `{"alt-mark-session":[{"name":"s","config":{"flowgroup":"web","role":"` + role + `"}}]}`}
	}
	a, b := say("initiator"), say("terminator")
	n := networkOf("a-b")
	n.Nodes[0].Target, n.Nodes[1].Target = serveAnswers(t, a), serveAnswers(t, b)
	o := Options{Insecure: true}
	f, notes, err := Monitored(t.Context(), n, o)
	if err != nil || len(notes) > 0 || len(f.Graphs) != 1 || f.Graphs[0].String() != "graph web: a>b" {
		t.Fatal(f, notes, err)
	}
	var text strings.Builder
	if err := f.Write(&text); err != nil {
		t.Fatal(err)
	}
	if again, err := ReadFile(strings.NewReader(text.String())); err != nil || !reflect.DeepEqual(again, f) {
		t.Errorf("%s\nis read as %+v, %v", text.String(), again, err)
	}
	away := networkOf("a-b")
	away.Nodes[0].Target, away.Nodes[1].Target = n.Nodes[0].Target, "127.0.0.1:1"
	ctx, stop := context.WithCancel(t.Context())
	if _, changed := f.Changed(ctx, away, o, time.Millisecond, func(error) { stop() }); changed {
		t.Error("a switch that does not answer is taken for one without sessions")
	}
	other := n.Nodes[1].Target
	n.Nodes[1].Target = serveAnswers(t, say("transit"))
	if _, changed := f.Changed(t.Context(), n, o, time.Millisecond, func(err error) { t.Error(err) }); !changed {
		t.Error("other sessions make the same graphs")
	}
	n.Nodes[1].Target = other
	n.Nodes[0].Target = ""
	if _, _, err := Monitored(t.Context(), n, o); err == nil || !strings.Contains(err.Error(),
		"switch a: the topology has no address for it") {
		t.Error(err)
	}
}

// On random networks, each path with the fewest links is a path of the graph, once the switches without a session are
// left out. Every link of the graph is on such a path.
func TestGraphsRandom(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 200, Short: 60}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 11))
		n, links := 3+rnd.IntN(7), map[string]bool{}
		name := func(i int) string { return fmt.Sprint("n", i) }
		for range n + rnd.IntN(2*n) {
			if a, b := rnd.IntN(n), rnd.IntN(n); a < b {
				links[name(a)+"-"+name(b)] = true
			}
		}
		sessions := sessionsAt("f", name(0)+" initiator", name(n-1)+" terminator")
		measured := map[string]bool{name(0): true, name(n - 1): true}
		for i := 1; i < n-1; i++ {
			if rnd.IntN(2) == 0 {
				sessions = append(sessions, sessionsAt("f", name(i)+" transit")...)
				measured[name(i)] = true
			}
		}
		f, notes := Graphs(networkOf(slices.Sorted(maps.Keys(links))...), sessions)
		want := map[marks.Link]bool{}
		for _, path := range shortest(links, name(0), name(n-1)) {
			path = slices.DeleteFunc(path, func(s string) bool { return !measured[s] })
			for i := 1; i < len(path); i++ {
				want[marks.Link{From: path[i-1], To: path[i]}] = true
			}
		}
		if len(want) == 0 {
			if len(f.Graphs) > 0 || len(notes) != 1 {
				t.Fatalf("%v of a network without a way: %v", f, notes)
			}
			return
		}
		got := map[marks.Link]bool{}
		if len(f.Graphs) == 1 {
			for _, l := range f.Graphs[0].Links {
				got[marks.Link{From: l[0], To: l[1]}] = true
			}
		}
		if !maps.Equal(got, want) {
			t.Fatalf("%v, want %v; %v", got, want, notes)
		}
	})
}

// shortest returns all paths with the fewest links, by a search of all paths.
func shortest(links map[string]bool, from, to string) (all [][]string) {
	for paths := [][]string{{from}}; len(paths) > 0 && len(all) == 0; {
		var longer [][]string
		for _, w := range paths {
			end := w[len(w)-1]
			if end == to {
				all = append(all, w)
				continue
			}
			for l := range links {
				a, b, _ := strings.Cut(l, "-")
				if b == end {
					a, b = b, a
				}
				if a == end && !slices.Contains(w, b) {
					longer = append(longer, append(slices.Clone(w), b))
				}
			}
		}
		paths = longer
	}
	return all
}
