package lab_test

import (
	"testing"

	"tamtam/internal/racetest"
	"tamtam/lab"
)

// Two hosts of different subnets reach each other through two switches without any static neighbour. The first packet
// of each flow waits for ARP in the CPU of the last switch, which then sends it as its own frame. The lab counts it as
// punted, and the new frame belongs to no flow. All other packets arrive.
func TestHostd(t *testing.T) {
	racetest.Stepped(t)
	topology, err := lab.Parse("hostd.yaml", []byte(`
experiment: hostd
duration: 50ms
switches:
- name: s1
  hostd: true
  config:
    PORT:
      Ethernet0: {lanes: "1", speed: "10000", admin_status: up}
      Ethernet4: {lanes: "5", speed: "10000", admin_status: up}
    INTERFACE:
      Ethernet0: {}
      Ethernet0|10.0.1.1/24: {}
      Ethernet4: {}
      Ethernet4|10.0.0.1/30: {}
    STATIC_ROUTE:
      10.0.2.0/24: {nexthop: 10.0.0.2, ifname: Ethernet4}
- name: s2
  hostd: true
  config:
    PORT:
      Ethernet0: {lanes: "1", speed: "10000", admin_status: up}
      Ethernet4: {lanes: "5", speed: "10000", admin_status: up}
    VLAN: {Vlan20: {vlanid: "20"}}
    VLAN_MEMBER:
      Vlan20|Ethernet0: {tagging_mode: untagged}
    VLAN_INTERFACE:
      Vlan20: {}
      Vlan20|10.0.2.1/24: {}
    INTERFACE:
      Ethernet4: {}
      Ethernet4|10.0.0.2/30: {}
    STATIC_ROUTE:
      10.0.1.0/24: {nexthop: 10.0.0.1, ifname: Ethernet4}
hosts:
- {name: a, ips: [10.0.1.2/24], silent: true}
- {name: b, ips: [10.0.2.2/24], silent: true}
links:
- {a: a, b: "s1:Ethernet0"}
- {a: "s1:Ethernet4", b: "s2:Ethernet4"}
- {a: b, b: "s2:Ethernet0"}
traffic:
- {name: there, from: a, to: b, pps: 1000, count: 20, start: 10ms}
- {name: back, from: b, to: a, pps: 1000, count: 20, start: 12ms}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := lab.Run(t.Context(), topology, lab.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, flow := range []string{"there", "back"} {
		if n := r.Flows[flow].Received; n != 19 {
			t.Errorf("%s: %d packets came, want 19 of 20", flow, n)
		}
	}
}
