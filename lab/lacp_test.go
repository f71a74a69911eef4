package lab_test

import (
	"testing"

	"tamtam/internal/racetest"
	"tamtam/lab"
)

// Two switches aggregate two links by LACP, and no member is up by configuration alone. Frames that hosts send before
// LACP has set one up are lost at the PortChannel; later ones are not.
//
// Then a link loses all frames while both its ports stay up. LACP detects the silence within three seconds, and nothing
// is lost afterwards. Nothing is lost when the link heals, nor when daemons are restarted.
func TestLACP(t *testing.T) {
	racetest.Stepped(t)
	topology, err := lab.Parse("lacp.yaml", []byte(`
experiment: lacp
duration: 10900ms
switches:
- name: s1
  hostd: true
  config: &config
    PORT:
      Ethernet0: {lanes: "1", speed: "10000", admin_status: up}
      Ethernet4: {lanes: "5", speed: "10000", admin_status: up}
      Ethernet8: {lanes: "9", speed: "10000", admin_status: up}
    PORTCHANNEL: {PortChannel1: {admin_status: up, min_links: "1", fast_rate: "true"}}
    PORTCHANNEL_MEMBER:
      PortChannel1|Ethernet4: {}
      PortChannel1|Ethernet8: {}
    VLAN: {Vlan20: {vlanid: "20"}}
    VLAN_MEMBER:
      Vlan20|Ethernet0: {tagging_mode: untagged}
      Vlan20|PortChannel1: {tagging_mode: untagged}
- name: s2
  hostd: true
  config: *config
hosts:
- {name: a, ips: [10.0.2.1/24]}
- {name: b, ips: [10.0.2.2/24]}
links:
- {a: a, b: "s1:Ethernet0"}
- {name: first, a: "s1:Ethernet4", b: "s2:Ethernet4"}
- {name: second, a: "s1:Ethernet8", b: "s2:Ethernet8"}
- {a: b, b: "s2:Ethernet0"}
traffic:
- {name: early, from: a, to: b, pps: 1000, count: 20, start: 1s}
- {name: there, from: a, to: b, pps: 1000, count: 20, start: 3500ms}
- {name: back, from: b, to: a, pps: 1000, count: 20, start: 3500ms}
- {name: silent, from: a, to: b, pps: 1000, count: 20, start: 7300ms}
- {name: silent-back, from: b, to: a, pps: 1000, count: 20, start: 7300ms}
- {name: heals, from: a, to: b, pps: 50, count: 170, start: 7400ms}
events:
- {at: 4s, do: impair, link: first, impair: {delay: 1us, loss: 1}}
- {at: 7500ms, do: impair, link: first, impair: {delay: 1us}}
- {at: 8s, do: restart, switch: s1, what: managers}
- {at: 8100ms, do: restart, switch: s2, what: orchagent}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := lab.Run(t.Context(), topology, lab.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	for flow, want := range map[string]uint64{
		"early": 0, "there": 20, "back": 20, "silent": 20, "silent-back": 20, "heals": 170,
	} {
		if n := r.Flows[flow].Received; n != want {
			t.Errorf("%s: %d packets came, want %d", flow, n, want)
		}
	}
}
