package routes

import (
	"fmt"
	"net/netip"
	"slices"

	"tamtam/orch/forward"
	"tamtam/swss/schema"
)

// decideVRFs forwards the VRFs. There is nothing that a VRF waits for.
func (d *decision) decideVRFs() {
	for _, key := range d.vrfs.sorted() {
		row, state := d.vrfs[key], forward.Row{Table: schema.StateVRF, Key: key}
		if row.err != nil {
			d.out.Report(state, schema.StatusFailed, schema.Reason(row.err))
			continue
		}
		d.out.Forward(forward.Row{Table: schema.AppVRF, Key: key}, row.row.Fields(), state)
	}
}

// decideInterfaces decides which interfaces route.
func (d *decision) decideInterfaces() {
	type tag struct {
		on   string
		vlan uint16
	}
	d.routed = map[string]bool{}
	subPorts := map[tag]string{}
	for _, key := range d.interfaces.sorted() {
		row := d.interfaces[key]
		appl, state := forward.Row{Table: schema.AppInterface, Key: key}, forward.Row{Table: schema.StateInterface, Key: key}
		on, _, sub := schema.SubPort(key)
		at := tag{on, row.row.VLAN}
		if other := subPorts[at]; sub && row.err == nil && other != "" {
			d.refuse(state, "%s is the sub-port of %s with VLAN %d already", other, on, row.row.VLAN)
			continue
		}
		if d.accept(appl, state, key, row.row.Appl, row.err, d.unroutable(key)) {
			d.routed[key] = true
		}
		if sub && row.err == nil {
			subPorts[at] = key
		}
	}
}

// unroutable returns the reason why an interface of this name cannot route, or "" if it can.
func (d *decision) unroutable(name string) string {
	if vrf := d.vrfOf(name); vrf != "" && !d.vrfs.valid(vrf) {
		return fmt.Sprintf("VRF %q does not exist", vrf)
	}
	if on, _, ok := schema.SubPort(name); ok {
		name = on
	}
	switch schema.InterfaceTable(name) {
	case schema.CfgInterface:
		if !d.ports.valid(name) {
			return fmt.Sprintf("port %q does not exist", name)
		}
	case schema.CfgPortChannelInterface:
		if !d.lags.valid(name) {
			return fmt.Sprintf("PortChannel %q does not exist", name)
		}
	case schema.CfgVLANInterface:
		if !d.vlans.valid(name) {
			return fmt.Sprintf("VLAN %q does not exist", name)
		}
		return ""
	}
	switch {
	case d.master[name] != "":
		return fmt.Sprintf("port %q is a member of PortChannel %q", name, d.master[name])
	case d.vlanOf[name] != "":
		return fmt.Sprintf("%q is a member of VLAN %q, and a port either bridges or routes", name, d.vlanOf[name])
	}
	return ""
}

// vrfOf returns the VRF of an interface, "" for the default one.
func (d *decision) vrfOf(name string) string { return d.interfaces[name].row.VRF }

// decideAddresses decides on the addresses of interfaces. Subnets of different interfaces of a VRF must not overlap.
func (d *decision) decideAddresses() {
	taken := map[string]string{}
	d.subnets, d.own = map[schema.Dest]subnet{}, map[place]string{}
	for _, key := range d.addresses.sorted() {
		row := d.addresses[key]
		a, state := row.row, forward.Row{Table: schema.StateInterface, Key: key}
		missing := ""
		switch {
		case row.err != nil:
		case taken[a.Key()] != "":
			d.refuse(state, "%s is the same address, and has a row of its own", taken[a.Key()])
			continue
		case !d.routed[a.Name]:
			missing = d.unrouted(a.Name)
		default:
			if other := d.overlap(a); other != "" {
				d.refuse(state, "%s", other)
				continue
			}
		}
		if row.err == nil {
			taken[a.Key()] = key
		}
		appl := forward.Row{Table: schema.AppInterface, Key: a.Name + ":" + a.Prefix.String()}
		if d.accept(appl, state, key, func() map[string]string { return a.Fields() }, row.err, missing) {
			d.addSubnet(a)
		}
	}
}

// unrouted returns the reason why an interface does not route, or "" if it does.
func (d *decision) unrouted(name string) string {
	if _, ok := d.interfaces[name]; !ok {
		return fmt.Sprintf("%s does not route: there is no row %s|%s", name, schema.InterfaceTable(name), name)
	}
	if why := d.unroutable(name); why != "" {
		return why
	}
	return fmt.Sprintf("%s does not route", name)
}

// overlap returns a reason that names the accepted address whose subnet overlaps that of a. It returns "" if there is
// none.
func (d *decision) overlap(a schema.InterfaceAddress) string {
	if a.Prefix.Addr().IsLinkLocalUnicast() {
		return ""
	}
	vrf := d.vrfOf(a.Name)
	if name := d.own[place{vrf, a.Prefix.Addr()}]; name != "" {
		return fmt.Sprintf("%s has the address %s already", name, a.Prefix.Addr())
	}
	for bits := range a.Prefix.Bits() + 1 {
		p, err := a.Prefix.Addr().Prefix(bits)
		s, ok := d.subnets[schema.Dest{VRF: vrf, Prefix: p}]
		if err == nil && ok && (s.name != a.Name || bits != a.Prefix.Bits()) {
			return fmt.Sprintf("the subnet overlaps %s of %s", s.first, s.name)
		}
	}
	for p, s := range d.subnets { // subnets inside the prefix
		if inside(p, vrf, a.Prefix) {
			return d.firstInside(vrf, a.Prefix, s)
		}
	}
	return ""
}

// inside reports whether a subnet is one of the VRF and part of a larger prefix.
func inside(d schema.Dest, vrf string, p netip.Prefix) bool {
	return d.VRF == vrf && d.Prefix.Bits() > p.Bits() && p.Contains(d.Prefix.Addr())
}

// firstInside returns the first of the accepted subnets of a VRF inside a prefix.
func (d *decision) firstInside(vrf string, p netip.Prefix, s subnet) string {
	for q, t := range d.subnets {
		if inside(q, vrf, p) && t.first.Compare(s.first) < 0 {
			s = t
		}
	}
	return fmt.Sprintf("the subnet overlaps %s of %s", s.first, s.name)
}

func (d *decision) addSubnet(a schema.InterfaceAddress) {
	if a.Prefix.Addr().IsLinkLocalUnicast() {
		return
	}
	vrf, p := d.vrfOf(a.Name), a.Prefix.Masked()
	d.own[place{vrf, a.Prefix.Addr()}] = a.Name
	to := schema.Dest{VRF: vrf, Prefix: p}
	if _, ok := d.subnets[to]; ok {
		return
	}
	d.subnets[to] = subnet{name: a.Name, first: a.Prefix}
	f := 0
	if !p.Addr().Is4() {
		f = 1
	}
	if !slices.Contains(d.lengths[f], p.Bits()) {
		d.lengths[f] = append(d.lengths[f], p.Bits())
		slices.SortFunc(d.lengths[f], func(a, b int) int { return b - a })
	}
}

// connected returns the interface of a VRF whose subnet contains the address.
func (d *decision) connected(vrf string, a netip.Addr) (name string, ok bool) {
	f := 0
	if !a.Is4() {
		f = 1
	}
	for _, bits := range d.lengths[f] {
		if p, err := a.Prefix(bits); err == nil {
			if s, ok := d.subnets[schema.Dest{VRF: vrf, Prefix: p}]; ok {
				return s.name, true
			}
		}
	}
	return "", false
}
