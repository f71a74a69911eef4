package routes

import (
	"fmt"
	"net/netip"
	"slices"

	"tamtam/orch/forward"
	"tamtam/swss/schema"
)

// decideInterfaces decides which interfaces route.
func (d *decision) decideInterfaces() {
	d.routed = map[string]bool{}
	for _, key := range d.interfaces.sorted() {
		row := d.interfaces[key]
		appl, state := forward.Row{Table: schema.AppInterface, Key: key}, forward.Row{Table: schema.StateInterface, Key: key}
		if d.accept(appl, state, key, func() map[string]string { return row.row.Fields() }, row.err, d.unroutable(key)) {
			d.routed[key] = true
		}
	}
}

// unroutable returns the reason why an interface of this name cannot route, or "" if it can.
func (d *decision) unroutable(name string) string {
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

// decideAddresses decides on the addresses of interfaces. Subnets of different interfaces must not overlap.
func (d *decision) decideAddresses() {
	taken := map[string]string{}
	d.subnets, d.own = map[netip.Prefix]subnet{}, map[netip.Addr]string{}
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
	if name := d.own[a.Prefix.Addr()]; name != "" {
		return fmt.Sprintf("%s has the address %s already", name, a.Prefix.Addr())
	}
	for bits := range a.Prefix.Bits() + 1 {
		p, err := a.Prefix.Addr().Prefix(bits)
		if s, ok := d.subnets[p]; err == nil && ok && (s.name != a.Name || bits != a.Prefix.Bits()) {
			return fmt.Sprintf("the subnet overlaps %s of %s", s.first, s.name)
		}
	}
	for p, s := range d.subnets { // subnets inside the prefix
		if p.Bits() > a.Prefix.Bits() && a.Prefix.Contains(p.Addr()) {
			return d.firstInside(a.Prefix, s)
		}
	}
	return ""
}

// firstInside returns the first of the accepted subnets inside a prefix.
func (d *decision) firstInside(p netip.Prefix, s subnet) string {
	for q, t := range d.subnets {
		if q.Bits() > p.Bits() && p.Contains(q.Addr()) && t.first.Compare(s.first) < 0 {
			s = t
		}
	}
	return fmt.Sprintf("the subnet overlaps %s of %s", s.first, s.name)
}

func (d *decision) addSubnet(a schema.InterfaceAddress) {
	if a.Prefix.Addr().IsLinkLocalUnicast() {
		return
	}
	d.own[a.Prefix.Addr()] = a.Name
	p := a.Prefix.Masked()
	if _, ok := d.subnets[p]; ok {
		return
	}
	d.subnets[p] = subnet{name: a.Name, first: a.Prefix}
	f := 0
	if !p.Addr().Is4() {
		f = 1
	}
	if !slices.Contains(d.lengths[f], p.Bits()) {
		d.lengths[f] = append(d.lengths[f], p.Bits())
		slices.SortFunc(d.lengths[f], func(a, b int) int { return b - a })
	}
}

// connected returns the interface whose subnet contains the address.
func (d *decision) connected(a netip.Addr) (name string, ok bool) {
	f := 0
	if !a.Is4() {
		f = 1
	}
	for _, bits := range d.lengths[f] {
		if p, err := a.Prefix(bits); err == nil {
			if s, ok := d.subnets[p]; ok {
				return s.name, true
			}
		}
	}
	return "", false
}
