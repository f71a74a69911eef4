package device_test

import (
	"fmt"
	"strings"
	"testing"

	"tamtam/device/devicetest"
	"tamtam/device/packettrace"
	"tamtam/saisim"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// putVRF puts Ethernet2 and Ethernet3 into Vrf1, with the addresses and neighbours that other interfaces of the default
// VRF have.
func (r *routed) putVRF() {
	r.config("VRF|Vrf1", swss.FieldValues{"NULL": "NULL"})
	for i, name := range []string{"Ethernet2", "Ethernet3"} {
		r.config("INTERFACE|"+name, swss.FieldValues{"vrf_name": "Vrf1"})
		r.config(fmt.Sprintf("INTERFACE|%s|10.7.%d.1/24", name, i), swss.FieldValues{"NULL": "NULL"})
		r.config(fmt.Sprintf("NEIGH|%s|10.7.%d.2", name, i),
			swss.FieldValues{"neigh": devicetest.HostMAC(byte(40 + i)).String()})
	}
	r.config("STATIC_ROUTE|Vrf1|10.9.0.0/16", swss.FieldValues{"nexthop": "10.7.1.2"})
}

// vrfTo returns the description of the only frame that leaves for a packet into a port, or how many leave.
func (r *routed) vrfTo(port saisim.PortID, dst string) string {
	r.Helper()
	outs := r.send(port, ipFrame(r.T, devicetest.HostMAC(5), "10.7.0.9", dst, 64, 1))
	if len(outs) != 1 {
		return fmt.Sprint(len(outs), " frames")
	}
	return describe(outs[0])
}

// From rows as SONiC has them to frames: the interfaces of a VRF route by its own routes. Without the row of the VRF
// its interfaces and routes wait.
func TestVRF(t *testing.T) {
	r := newRouted(t)
	r.config("STATIC_ROUTE|10.9.0.0/16", nil)
	r.putVRF()
	for _, key := range []string{"VRF_TABLE|Vrf1", "INTERFACE_TABLE|Ethernet3", "INTERFACE_TABLE|Ethernet3|10.7.1.1/24",
		"NEIGH_TABLE|Ethernet3|10.7.1.2", "STATIC_ROUTE_TABLE|Vrf1|10.9.0.0/16"} {
		table, row, _ := strings.Cut(key, "|")
		if f := r.state(table, row); f[schema.FieldStatus] != schema.StatusActive {
			t.Errorf("%s is %v", key, f)
		}
	}
	const want = "port 3 02:00:00:00:07:e4 > 02:00:00:00:00:29 10.7.0.9 > "
	for _, dst := range []string{"10.7.1.2", "10.9.1.1"} {
		if got := r.vrfTo(2, dst); got != want+dst+" ttl 63" {
			t.Errorf("to %s in Vrf1: %s", dst, got)
		}
	}
	if got := r.vrfTo(0, "10.9.1.1"); got != "0 frames" {
		t.Errorf("to a route of Vrf1 from the default VRF: %s", got)
	}
	a, err := packettrace.Of(t.Context(), r.Redis, r.Chip, packettrace.Request{In: "Ethernet2", Src: "10.7.0.9",
		Dst: "10.9.1.1"})
	if err != nil {
		t.Fatal(err)
	}
	found := ""
	for _, l := range a.Lookups {
		if l.Table == "chip.ipv4_route" {
			found = l.Entry + " in " + l.At
		}
	}
	if found != "10.9.0.0/16 in Vrf1" {
		t.Errorf("the trace has route %q: %+v", found, a.Lookups)
	}
	r.config("VRF|Vrf1", nil)
	if f := r.state("STATIC_ROUTE_TABLE", "Vrf1|10.9.0.0/16"); f[schema.FieldStatus] != schema.StatusPending {
		t.Errorf("without the VRF its route is %v", f)
	}
	if got := r.vrfTo(2, "10.7.1.2"); strings.HasPrefix(got, "port 3") {
		t.Errorf("without the VRF: %s", got)
	}
	if n := len(r.Chip.Tables().Routers); n != 1 {
		t.Errorf("%d virtual routers are left, want that of the default VRF", n)
	}
	r.config("VRF|Vrf1", swss.FieldValues{"NULL": "NULL"})
	if got := r.vrfTo(2, "10.9.1.1"); got != want+"10.9.1.1 ttl 63" {
		t.Errorf("with the VRF again: %s", got)
	}
}

// A route leaks into another VRF if nexthop-vrf names that of its next hop.
func TestVRFLeak(t *testing.T) {
	r := newRouted(t)
	r.config("STATIC_ROUTE|10.9.0.0/16", nil)
	r.putVRF()
	r.config("STATIC_ROUTE|10.8.0.0/16", nil)
	r.config("STATIC_ROUTE|default|10.8.0.0/16", swss.FieldValues{"nexthop": "10.7.1.2", "nexthop-vrf": "Vrf1"})
	const want = "port 3 02:00:00:00:07:e4 > 02:00:00:00:00:29 10.7.0.9 > 10.8.1.1 ttl 63"
	if got := r.vrfTo(0, "10.8.1.1"); got != want {
		t.Errorf("by a route to a next hop of Vrf1: %s", got)
	}
	r.config("STATIC_ROUTE|default|10.8.0.0/16", swss.FieldValues{"nexthop": "10.7.1.2"})
	if f := r.state("STATIC_ROUTE_TABLE", "default|10.8.0.0/16"); f[schema.FieldStatus] != schema.StatusPending {
		t.Errorf("without the VRF of its next hop the route is %v", f)
	}
}
