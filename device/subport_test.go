package device_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tamtam/device/devicetest"
	"tamtam/device/packettrace"
	"tamtam/saisim"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// putSubPorts makes sub-ports of Ethernet2 and Ethernet3 with a neighbour at each, and a route by the second.
func (r *routed) putSubPorts() {
	for i, name := range []string{"Ethernet2.10", "Eth3.20"} {
		r.config("VLAN_SUB_INTERFACE|"+name, swss.FieldValues{"admin_status": "up"})
		r.config(fmt.Sprintf("VLAN_SUB_INTERFACE|%s|10.7.%d.1/24", name, i), swss.FieldValues{"NULL": "NULL"})
		r.config(fmt.Sprintf("NEIGH|%s|10.7.%d.2", name, i),
			swss.FieldValues{"neigh": devicetest.HostMAC(byte(40 + i)).String()})
	}
	r.config("STATIC_ROUTE|10.9.0.0/16", swss.FieldValues{"nexthop": "10.7.1.2"})
}

// taggedTo describes the only frame that leaves for a tagged packet into a port, with its tag.
func (r *routed) taggedTo(port saisim.PortID, tci uint16, dst string) string {
	r.Helper()
	frame := slices.Insert(ipFrame(r.T, devicetest.HostMAC(5), "10.7.0.9", dst, 64, 1), 12,
		0x81, 0, byte(tci>>8), byte(tci))
	outs := r.send(port, frame)
	if len(outs) != 1 {
		return fmt.Sprint(len(outs), " frames")
	}
	tag := ""
	if d := outs[0].Data; d[12] == 0x81 && d[13] == 0 {
		tag = fmt.Sprintf(" tag %x", d[14:16])
		outs[0].Data = slices.Delete(d, 12, 16)
	}
	return describe(outs[0]) + tag
}

// From rows as SONiC has them to frames: a sub-port has the frames with its VLAN, and what leaves by it has its tag.
func TestSubPorts(t *testing.T) {
	r := newRouted(t)
	r.putSubPorts()
	for _, key := range []string{"Ethernet2.10", "Eth3.20", "Eth3.20|10.7.1.1/24"} {
		if f := r.state("INTERFACE_TABLE", key); f[schema.FieldStatus] != schema.StatusActive {
			t.Errorf("%s is %v", key, f)
		}
	}
	const want = "port 3 02:00:00:00:07:e4 > 02:00:00:00:00:29 10.7.0.9 > 10.9.1.1 ttl 63 tag a014"
	if got := r.taggedTo(2, 0xa00a, "10.9.1.1"); got != want {
		t.Errorf("from one sub-port to another: %s, want %s", got, want)
	}
	for _, vid := range []uint16{11, 20} {
		if got := r.taggedTo(2, vid, "10.9.1.1"); got != "0 frames" {
			t.Errorf("with VLAN %d: %s", vid, got)
		}
	}
	names, err := r.Redis.DB(swss.CountersDB).Client().HGetAll(t.Context(), schema.CountersRIFNameMap).Result()
	if err != nil || names["Ethernet2.10"] == "" || names["Eth3.20"] == "" {
		t.Errorf("router interfaces with counters are %v, %v", names, err)
	}
	vlan := uint16(10)
	a, err := packettrace.Of(t.Context(), r.Redis, r.Chip, packettrace.Request{In: "Ethernet2", Src: "10.7.0.9",
		Dst: "10.9.1.1", VLAN: &vlan})
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for _, l := range a.Lookups {
		if l.Table == "chip.port" || l.Table == "chip.next_hop" {
			seen = append(seen, l.Key+l.Entry)
		}
	}
	if got := strings.Join(seen, "; "); got != "router interface Ethernet2.10; 10.7.1.2 at Eth3.2002:00:00:00:00:29" {
		t.Errorf("the trace has %q", got)
	}
	r.config("VLAN_SUB_INTERFACE|Eth3.20", swss.FieldValues{"admin_status": "down"})
	if got := r.taggedTo(2, 10, "10.9.1.1"); got != "0 frames" {
		t.Errorf("by a sub-port that is down: %s", got)
	}
	r.config("VLAN_SUB_INTERFACE|Eth3.20", swss.FieldValues{"admin_status": "up", "vlan": "21", "mtu": "1500"})
	if got := r.taggedTo(2, 10, "10.9.1.1"); got != strings.Replace(want, "a014", "0015", 1) {
		t.Errorf("by a sub-port with another VLAN: %s", got)
	}
	r.config("VLAN_SUB_INTERFACE|Ethernet3.21", swss.FieldValues{"admin_status": "up"})
	if f := r.state("INTERFACE_TABLE", "Ethernet3.21"); f[schema.FieldReason] !=
		"Eth3.20 is the sub-port of Ethernet3 with VLAN 21 already" {
		t.Errorf("another sub-port with the same VLAN is %v", f)
	}
	for _, name := range []string{"Ethernet2.10", "Eth3.20", "Ethernet3.21"} {
		r.config("VLAN_SUB_INTERFACE|"+name, nil)
	}
	if got := len(r.Chip.Tables().Interfaces); got != len(newRouted(t).Chip.Tables().Interfaces) {
		t.Errorf("%d router interfaces are left", got)
	}
}
