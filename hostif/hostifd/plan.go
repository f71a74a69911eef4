package hostifd

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"tamtam/schema"
	"tamtam/swss"
)

// A Device is an interface of Linux as it should be.
type Device struct {
	MAC     schema.MAC
	MTU     int  // bytes
	Up      bool // as an administrator wants it
	Carrier bool
	Routed  bool           // else it is for frames alone, and has no address of IPv6's own making
	Addrs   []netip.Prefix // sorted
}

func (d Device) equal(o Device) bool {
	return d.MAC == o.MAC && d.MTU == o.MTU && d.Up == o.Up && d.Carrier == o.Carrier &&
		d.Routed == o.Routed && slices.Equal(d.Addrs, o.Addrs)
}

// A way is how frames of a device get to the chip, and which frames of the chip are the device's.
type way struct {
	port    string   // a port's
	members []string // ports of a PortChannel that are up, sorted; frames leave by the first
	lag     bool
	vlan    uint16
}

// A plan is what there should be.
type plan struct {
	devices map[string]Device
	ways    map[string]way
	lagOf   map[string]string // PortChannel by port
	local   map[string]bool   // interfaces whose neighbours may have link-local addresses
	whole   bool              // all configured ports are known: what is not planned is not wanted
}

// rows are those of APPL_DB, by table and key.
type rows map[string]map[string]swss.FieldValues

// tables are those that say what interfaces there are.
var tables = []string{
	schema.AppPort, schema.AppLAG, schema.AppLAGMember, schema.AppVLAN, schema.AppVLANMember, schema.AppInterface,
}

// makePlan makes the plan of all rows. Rows that are wrong are orchagent's to tell of; here they count as not there. A
// VLAN has a carrier always, as SONiC's has, whose bridge has a member that is always up.
func makePlan(r rows, mac schema.MAC) plan {
	p := plan{devices: map[string]Device{}, ways: map[string]way{}, lagOf: map[string]string{}, local: map[string]bool{}}
	_, p.whole = r[schema.AppPort][schema.PortConfigDone]
	for name, f := range r[schema.AppPort] {
		if port, err := schema.ParsePort(name, f); err == nil && schema.IsPortName(name) {
			p.devices[name] = Device{MAC: mac, MTU: int(port.MTU), Up: port.AdminUp, Carrier: up(f)}
			p.ways[name] = way{port: name}
		}
	}
	for name, f := range r[schema.AppLAG] {
		if lag, err := schema.ParsePortChannel(name, f); err == nil {
			p.devices[name] = Device{MAC: mac, MTU: int(lag.MTU), Up: lag.AdminUp, Carrier: up(f)}
			p.ways[name] = way{lag: true}
		}
	}
	p.addMembers(r)
	p.addInterfaces(r, mac)
	p.fitWires(r)
	return p
}

// leastMTU is the least that an IP link has (RFC 791).
const leastMTU = 68

// fitWires lowers MTUs to those of the wires behind a device, of which it takes the smallest: what Linux would send
// beyond that is lost for good, BGP's updates too.
func (p plan) fitWires(r rows) {
	fit := func(name string, mtu int) {
		if d, ok := p.devices[name]; ok && mtu < d.MTU {
			d.MTU = mtu
			p.devices[name] = d
		}
	}
	vlans := map[string][]string{} // by member
	for key := range r[schema.AppVLANMember] {
		if vlan, member, ok := strings.Cut(key, ":"); ok {
			vlans[member] = append(vlans[member], vlan)
		}
	}
	for port, f := range r[schema.StateWire] {
		mtu, err := strconv.Atoi(f[schema.WireMTU])
		if err != nil || mtu < leastMTU {
			continue
		}
		lag := p.lagOf[port]
		for _, name := range slices.Concat([]string{port, lag}, vlans[port], vlans[lag]) {
			fit(name, mtu)
		}
	}
}

// up says whether a port or PortChannel is up.
func up(f swss.FieldValues) bool { return f[schema.FieldOperStatus] == schema.OperUp }

func (p plan) addMembers(r rows) {
	for _, key := range slices.Sorted(maps.Keys(r[schema.AppLAGMember])) {
		m, err := schema.ParsePortChannelMember(schema.ConfigKey(key), r[schema.AppLAGMember][key])
		w, ok := p.ways[m.PortChannel]
		if err != nil || !ok {
			continue
		}
		p.lagOf[m.Port] = m.PortChannel
		if p.devices[m.Port].Carrier && r[schema.AppLAGMember][key]["status"] != "disabled" {
			w.members = append(w.members, m.Port)
			slices.SortFunc(w.members, schema.CompareNames)
			p.ways[m.PortChannel] = w
		}
	}
}

// loopbackMTU is that of loopbacks, which send nothing.
const loopbackMTU = schema.DefaultMTU

// addInterfaces adds what only routed interfaces have.
func (p plan) addInterfaces(r rows, mac schema.MAC) {
	table := r[schema.AppInterface]
	for _, key := range slices.Sorted(maps.Keys(table)) {
		if schema.IsAddressKey(schema.ConfigKey(key)) {
			continue
		}
		i, err := schema.ParseInterface(schema.AppInterface, key, table[key])
		if err != nil {
			continue
		}
		d, ok := p.devices[i.Name]
		switch id, vlan := schema.VLANNumber(i.Name); {
		case vlan:
			v, err := schema.ParseVLAN(i.Name, r[schema.AppVLAN][i.Name])
			if err != nil || r[schema.AppVLAN][i.Name] == nil {
				continue
			}
			d = Device{MAC: mac, MTU: int(v.MTU), Up: v.AdminUp, Carrier: true}
			p.ways[i.Name] = way{vlan: id}
		case schema.IsLoopbackName(i.Name):
			d = Device{MAC: mac, MTU: loopbackMTU, Up: true, Carrier: true}
			p.ways[i.Name] = way{}
		case !ok:
			continue
		}
		if !i.MAC.IsZero() {
			d.MAC = i.MAC
		}
		d.MTU, d.Routed = int(cmp.Or(i.MTU, uint16(d.MTU))), true
		p.devices[i.Name], p.local[i.Name] = d, i.LinkLocal
	}
	for _, key := range slices.Sorted(maps.Keys(table)) {
		a, err := schema.ParseInterfaceAddress(schema.AppInterface, schema.ConfigKey(key), table[key])
		_, routes := table[a.Name]
		if d, ok := p.devices[a.Name]; err == nil && ok && routes && schema.IsAddressKey(schema.ConfigKey(key)) {
			d.Addrs = append(d.Addrs, a.Prefix)
			slices.SortFunc(d.Addrs, netip.Prefix.Compare)
			p.devices[a.Name] = d
		}
	}
}

// onPhysical are the traps of protocols between the ends of a wire: their frames are the port's, whatever it is part
// of.
var onPhysical = map[string]bool{
	"lacp": true, "lldp": true, "stp": true, "pvrst": true, "udld": true, "cdp": true, "eapol": true,
}

// deviceOf returns the device that a frame of the chip is for.
func (p plan) deviceOf(port string, vlan uint16, trap string) string {
	if onPhysical[trap] {
		return port
	}
	if vlan != 0 {
		if name := fmt.Sprintf("Vlan%d", vlan); p.ways[name].vlan == vlan {
			return name
		}
	}
	return cmp.Or(p.lagOf[port], port)
}
