package switchpage

import (
	"fmt"
	"slices"
	"testing"

	"tamtam/mgmt/web"
	"tamtam/swss"
)

// A neighbour that announces forwarding by LLDP is a switch. A neighbour that announces nothing is unknown.
func TestNeighbor(t *testing.T) {
	for enabled, want := range map[string]web.Node{
		"28 00": {}, "20 00": {}, "08 00": {}, "09 00": {}, // bridge and router; bridge; router; router and station
		"01 00": {Host: true}, "10 00": {Host: true}, "00 80": {Host: true},
		"00 00": {Unknown: true}, "": {Unknown: true}, "bridge": {Unknown: true},
	} {
		if got := neighbor("", swss.FieldValues{"lldp_rem_sys_cap_enabled": enabled}); got != want {
			t.Errorf("%q: %+v, want %+v", enabled, got, want)
		}
	}
}

// Two neighbours with one name are two nodes, and one neighbour at two ports is one node.
func TestNamesakes(t *testing.T) {
	s := &web.Switch{Name: "leaf1"}
	heard := map[string]swss.FieldValues{}
	for i, who := range [][2]string{
		{"localhost", "c1"}, {"localhost", "c2"}, {"localhost", "c1"}, {"localhost", "c2"}, {"localhost", ""},
		{"leaf1", "c3"},
	} {
		port := fmt.Sprintf("Ethernet%d", 4*i)
		s.Ports = append(s.Ports, web.Port{Name: port})
		heard[port] = swss.FieldValues{"lldp_rem_sys_name": who[0], "lldp_rem_chassis_id": who[1]}
	}
	n := neighbours(s, heard)
	var names, far []string
	for _, x := range n.Nodes {
		names = append(names, x.Name)
	}
	for _, l := range n.Links {
		far = append(far, l.B.Node)
	}
	const two, three = "localhost (chassis c2)", "localhost (chassis not reported, at Ethernet16)"
	const four = "the neighbour at Ethernet20"
	if !slices.Equal(names, []string{"leaf1", "localhost", two, three, four}) ||
		!slices.Equal(far, []string{"localhost", two, "localhost", two, three, four}) {
		t.Errorf("nodes %q, at the ports %q", names, far)
	}
}
