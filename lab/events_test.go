package lab_test

import (
	"fmt"
	"testing"

	"tamtam/internal/racetest"
	"tamtam/lab"
)

// If an event gives a switch something to send, as a link that comes up does with hostd, it sends immediately. In a
// quiet lab, where nothing else is due for long, the frame still reaches the other switch in time.
func TestEventsAreWork(t *testing.T) {
	racetest.Stepped(t)
	for _, lookahead := range []string{"1us", "100us"} {
		topology, err := lab.Parse("up.yaml", fmt.Appendf(nil, `
experiment: up
duration: 5100ms
switches:
- name: s1
  hostd: true
  config: &config
    PORT:
      Ethernet0: {lanes: "1", speed: "10000", admin_status: up}
      Ethernet4: {lanes: "5", speed: "10000", admin_status: up}
- {name: s2, hostd: true, config: *config}
- {name: s3, hostd: true, config: *config}
links:
- {name: first, a: "s1:Ethernet0", b: "s2:Ethernet0", delay: %[1]s}
- {name: second, a: "s2:Ethernet4", b: "s3:Ethernet4", delay: %[1]s}
events:
- {at: 1s, do: down, link: first}
- {at: 2001ms, do: up, link: first}
- {at: 2700123us, do: down, link: second}
- {at: 3001ms, do: up, link: second}
- {at: 4001ms, do: config, switch: s1, set: {PORT|Ethernet0: {admin_status: down}}}
- {at: 5001ms, do: config, switch: s1, set: {PORT|Ethernet0: {admin_status: up}}}
`, lookahead), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lab.Run(t.Context(), topology, lab.Options{Workers: 1}); err != nil {
			t.Errorf("links of %s: %v", lookahead, err)
		}
	}
}

// Frames sent in a window that an event ends remain work for later windows, even if neither sender nor receiver has
// other work. They continue, over a shorter link, in time.
func TestEventsLeaveFramesInFlight(t *testing.T) {
	racetest.Stepped(t)
	var events []byte
	for i := range 20 { // one of them ends the window in which the first switch sends
		at := int64(lab.Second) + int64(i)*int64(50*lab.Millisecond) + int64(i)*int64(200*lab.Nanosecond)
		events = fmt.Appendf(events, "- {at: %dps, do: impair, link: short, impair: {delay: 1us}}\n", at)
	}
	topology, err := lab.Parse("way.yaml", fmt.Appendf(nil, `
experiment: way
duration: 2100ms
switches:
- name: s1
  config: &config
    PORT:
      Ethernet0: {lanes: "1", speed: "10000", admin_status: up}
      Ethernet4: {lanes: "5", speed: "10000", admin_status: up}
    VLAN: {Vlan20: {vlanid: "20"}}
    VLAN_MEMBER:
      Vlan20|Ethernet0: {tagging_mode: untagged}
      Vlan20|Ethernet4: {tagging_mode: untagged}
- {name: s2, config: *config}
- {name: s3, config: *config}
hosts:
- {name: a, ips: [10.0.2.1/24]}
- {name: b, ips: [10.0.2.2/24]}
links:
- {a: a, b: "s1:Ethernet0"}
- {a: "s1:Ethernet4", b: "s2:Ethernet0", delay: 100us}
- {name: short, a: "s2:Ethernet4", b: "s3:Ethernet0", delay: 1us}
- {a: b, b: "s3:Ethernet4"}
traffic:
- {name: frames, from: a, to: b, pps: 20, count: 20, start: 1s}
events:
%s
checks:
- {name: all come, measured: flow.frames.received, want: 20}
`, events), nil)
	if err != nil {
		t.Fatal(err)
	}
	result, err := lab.Run(t.Context(), topology, lab.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if !result.Passed() {
		t.Error(result.Checks)
	}
}
