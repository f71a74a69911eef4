package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"tamtam/collector/result"
	"tamtam/collector/topology"
)

const topologyFile = `switches:
- {name: leaf1, id: 1}
- {name: leaf2, id: 2}
- {name: spine1, id: 3}
unknown:
- {name: box}
hosts:
- {name: client}
links:
- {a: "leaf1:Ethernet0", b: client}
- {a: "leaf1:Ethernet4", b: "spine1:Ethernet0"}
- {a: "leaf2:Ethernet4", b: "spine1:Ethernet4"}
- {a: "leaf2:Ethernet8", b: "box:p1"}
`

// A given topology names the switches in stamps and alternate marking, and shows their results on its links. The state
// and load of these links are unknown. Delays of stamps over an unknown link are assigned to no link.
func TestReportedTopology(t *testing.T) {
	n, err := topology.Parse([]byte(topologyFile), topology.Containerlab{})
	if err != nil {
		t.Fatal(err)
	}
	w := result.Window{Start: testNow.UnixNano() - 1e9, Length: 1}
	delay := func(ns int64) result.Distribution {
		return result.Distribution{Count: 5, Sum: 5 * ns, Min: ns, Max: ns, First: result.Bucket(ns), Buckets: []uint32{5}}
	}
	p := put(t, &result.Batch{
		Hops: []result.Hop{
			{Window: w, Flow: "f", Path: "x", Switch: 1, In: 0, Out: 4, Packets: 5, Resident: delay(600)},
			{Window: w, Flow: "f", Path: "x", Index: 1, Switch: 3, In: 0, Out: 4, Packets: 5, Resident: delay(600),
				Link: delay(250)},
			{Window: w, Flow: "f", Path: "x", Index: 2, Switch: 2, In: 4, Out: 8, Packets: 5, Resident: delay(600),
				Link: delay(77_000)},
			// Over another wire.
			{Window: w, Flow: "g", Path: "y", Switch: 1, In: 0, Out: 4, Packets: 7, Resident: delay(600)},
			{Window: w, Flow: "g", Path: "y", Index: 1, Switch: 2, In: 4, Out: 8, Packets: 7, Resident: delay(600),
				Link: delay(999_000)},
			{Window: w, Flow: "h", Path: "z", Switch: 9, In: 0, Out: 4, Packets: 1, Resident: delay(600)},
		},
		Losses: []result.Loss{{Flow: "web", From: "leaf1", To: "spine1", Period: 1, Window: w, Status: "ok", Known: true,
			Sent:     100,
			Received: 97, Lost: 3}},
	}, func(c *Config) { c.Topology = Reported(n, "net.yaml") })
	r, text := get(t, p, "/")
	for _, want := range []string{"topology from net.yaml", "leaf1:Ethernet4 → leaf2:Ethernet4",
		"ids the topology does not have: switch 9",
		`class="n-unknown"`, `class="n-host"`,
		"leaf1:Ethernet4 to spine1:Ethernet0: unknown, load unknown, delay 250 ns, lost 3 of 100 packets",
		"spine1:Ethernet4 to leaf2:Ethernet4: unknown, load unknown, delay 77.00 µs, lost unknown"} {
		if r.StatusCode != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s, and does not say %q:\n%s", r.Status, want, text)
		}
	}
	if strings.Contains(text, "999") {
		t.Error("a link has the delay of packets that came another way")
	}
	if _, text := get(t, p, "/flow?flow=f&path=x"); !strings.Contains(text, "leaf1 → spine1 → leaf2") {
		t.Error("a flow's switches do not have the topology's names")
	}
}

// The number of a port follows from its name. Ports with names of another form have no number.
func TestPortNumber(t *testing.T) {
	for name, want := range map[string]uint16{"Ethernet0": 0, "Ethernet124": 124, "Ethernet04": noPort, "7": noPort,
		"eth1":          noPort,
		"Ethernet65535": noPort, "Ethernet70000": noPort, "": noPort} {
		if got := PortNumber(name); got != want {
			t.Errorf("%q: %d, want %d", name, got, want)
		}
	}
}

// The label of a link has the direction that lost more, and the arrow shows which one. The link names both.
func TestWorseDirection(t *testing.T) {
	for _, x := range []struct {
		up, down int64
		label    string
	}{
		{40, 59, "59 lost ↓"}, {1234, 0, "1,234 lost ↑"}, {7, 7, "7 lost"}, {0, 0, ""},
	} {
		n := reported{&Network{Nodes: []Node{{Name: "h", Host: true}, {Name: "leaf"}},
			Links: []Link{{A: End{Node: "h"}, B: End{Node: "leaf", Port: "p"},
				AB: Traffic{LostKnown: true, Lost: x.up}, BA: Traffic{LostKnown: true, Lost: x.down}}}}}
		_, text := get(t, put(t, &result.Batch{}, func(c *Config) { c.Topology = n }), "/")
		if has := strings.Contains(text, `class="label bad">`); has != (x.label != "") ||
			has && !strings.Contains(text, `class="label bad">`+x.label+`<`) {
			t.Errorf("%d lost upwards, %d downwards: want the label %q in\n%s", x.up, x.down, x.label, text)
		}
		both := fmt.Sprintf(`tabindex="0" role="img" aria-label="h to leaf:p: unknown, load unknown, delay unknown, `+
			`lost %s frames; leaf:p to h: unknown, load unknown, delay unknown, lost %s frames"`, count(x.up), count(x.down))
		if !strings.Contains(text, both) {
			t.Errorf("the link does not name both directions: want %s in\n%s", both, text)
		}
	}
}

// A load with two bounds is shown with these bounds, in the table and at the line. The line is as thick as the upper
// bound.
func TestLoadWithin(t *testing.T) {
	n := reported{&Network{Nodes: []Node{{Name: "a"}, {Name: "b"}}, Links: []Link{{A: End{Node: "a", Port: "Ethernet0"},
		B: End{Node: "b", Port: "p"}, Oper: "up", AB: Traffic{Within: &Load{Low: 0.25, High: 0.5}}}}}}
	_, text := get(t, put(t, &result.Batch{Journeys: []result.Journey{{Time: testNow.UnixNano(), Key: "k"}}},
		func(c *Config) { c.Topology = n }), "/")
	for _, want := range []string{`data-of="Load">25.0 % to 50.0 %<`, `stroke-width="3.5"`,
		"a:Ethernet0 to b:p: up, load 25.0 % to 50.0 %",
		"b:p to a:Ethernet0: up, load unknown", `data-of="Frames"><span class="nk">unknown`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q:\n%s", want, text)
		}
	}
}
