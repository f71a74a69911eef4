package routes

import (
	"net/netip"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss/schema"
)

// Changes publishes that next hops or routes may have changed. Those that are about to be removed are no longer found,
// and subscribers must release them before they return.
func (o *Orch) Changes() *orch.Topic[struct{}] { return &o.changes }

// NextHop returns the next hop object of a neighbour.
func (o *Orch) NextHop(name string, addr netip.Addr) (sai.OID, bool) {
	n := o.hops[hop{name, addr}]
	if n == nil || n.leaving || n.oid == 0 {
		return 0, false
	}
	return n.oid, true
}

// A Path is how packets to an address leave the switch.
type Path struct {
	Interface string     // port, PortChannel or VLAN
	NextHop   netip.Addr // the neighbour that gets the packets
	MAC       sai.MAC    // MAC address of the neighbour
	Source    sai.MAC    // MAC address of the router interface
	Own       netip.Addr // first address of the interface with the same IP version; invalid if there is none
}

// Lookup returns how packets to an address in the default VRF leave the switch. It uses the longest prefix that leads
// to a neighbour, and the first next hop of a group. The error is the reason why there is no path.
func (o *Orch) Lookup(to netip.Addr) (Path, error) {
	h, err := o.leads(to)
	if err != nil {
		return Path{}, err
	}
	n := h.in(o.hops)
	if n == nil {
		return Path{}, orch.Wait("neighbour", h.String(), "no neighbour %s", h)
	}
	own := netip.Addr{}
	for _, key := range sorted(o.rows.addresses) {
		a := o.rows.addresses[key].row
		fits := a.Name == h.name && a.Prefix.Addr().Is4() == to.Is4() && !a.Prefix.Addr().IsLinkLocalUnicast()
		if fits && !own.IsValid() && o.ledger.Why[orch.Row(schema.AppInterface, key)] == nil {
			own = a.Prefix.Addr()
		}
	}
	return Path{h.name, h.addr, n.mac, o.rifs[h.name].spec.mac, own}, nil
}

// leads returns the neighbour, known or not, that packets to an address go to.
func (o *Orch) leads(to netip.Addr) (hop, error) {
	for bits := to.BitLen(); bits >= 0; bits-- {
		p, err := to.Prefix(bits)
		if err != nil {
			return hop{}, err
		}
		t, ok := o.routes[schema.Dest{Prefix: p}]
		if !ok {
			continue
		}
		h := t.hop
		switch name := o.rifOf(t.oid); {
		case t.drop:
			return hop{}, orch.Wait("route", to.String(), "no route to %s", to)
		case t.group != "":
			h = o.groups[t.group].hops[0]
		case name != "":
			h = hop{name, to}
		case h == (hop{}):
			return hop{}, orch.Wait("route", to.String(), "%s is the switch's own address", to)
		}
		return h, nil
	}
	return hop{}, orch.Wait("route", to.String(), "no route to %s", to)
}

// Address returns the source address with which the switch itself sends to a neighbour through an interface of the
// default VRF. The
// address has the neighbour's IP version. It belongs to a loopback, else to the interface, else to any other interface.
// Among several, the first by name is used.
func (o *Orch) Address(to netip.Addr, name string) (netip.Addr, bool) {
	best, rank := netip.Addr{}, 3
	for _, key := range sorted(o.rows.addresses) {
		a := o.rows.addresses[key].row
		own := a.Prefix.Addr()
		other := !own.IsValid() || o.vrfOf(a.Name) != "" || own.Is4() != to.Is4() || own.IsLinkLocalUnicast()
		if other || o.ledger.Why[orch.Row(schema.AppInterface, key)] != nil {
			continue
		}
		r := 2
		switch {
		case schema.IsLoopbackName(a.Name):
			r = 0
		case a.Name == name:
			r = 1
		}
		if r < rank {
			best, rank = own, r
		}
	}
	return best, best.IsValid()
}

// Owns reports whether an address is one of the switch's own in the default VRF, and in force.
func Owns(o *Orch, a netip.Addr) bool {
	for key, x := range o.rows.addresses {
		if x.row.Prefix.Addr() == a && o.vrfOf(x.row.Name) == "" && o.ledger.Why[orch.Row(schema.AppInterface, key)] == nil {
			return true
		}
	}
	return false
}

// Exit returns the interface by which packets to an address leave the switch, and its MTU. For a group it is the first
// interface. The error is the reason why there is none. The neighbour need not be known.
func Exit(o *Orch, to netip.Addr) (name string, mtu uint32, err error) {
	h, err := o.leads(to)
	if err != nil {
		return "", 0, err
	}
	if r := o.rifs[h.name]; r != nil {
		return h.name, r.spec.mtu, nil
	}
	return "", 0, orch.Wait("route", to.String(), "no route to %s", to)
}

// rifOf returns the name of a router interface, or "" if oid is not one.
func (o *Orch) rifOf(oid sai.OID) string {
	for name, r := range o.rifs {
		if r.oid == oid {
			return name
		}
	}
	return ""
}

// Used returns the number of objects in the ASIC, by the switch attribute that reports how many are left.
func (o *Orch) Used() map[sai.AttrID]int {
	used := map[sai.AttrID]int{
		sai.SwitchAttrAvailableIPv4RouteEntry: 0, sai.SwitchAttrAvailableIPv6RouteEntry: 0,
		sai.SwitchAttrAvailableIPv4NeighborEntry: 0, sai.SwitchAttrAvailableIPv6NeighborEntry: 0,
		sai.SwitchAttrAvailableIPv4NexthopEntry: 0, sai.SwitchAttrAvailableIPv6NexthopEntry: 0,
		sai.SwitchAttrAvailableNextHopGroupEntry: len(o.groups), sai.SwitchAttrAvailableNextHopGroupMemberEntry: 0,
	}
	for p := range o.routes {
		if p.Prefix.Addr().Is4() {
			used[sai.SwitchAttrAvailableIPv4RouteEntry]++
		} else {
			used[sai.SwitchAttrAvailableIPv6RouteEntry]++
		}
	}
	for h := range o.hops {
		if h.addr.Is4() {
			used[sai.SwitchAttrAvailableIPv4NeighborEntry]++
			used[sai.SwitchAttrAvailableIPv4NexthopEntry]++
		} else {
			used[sai.SwitchAttrAvailableIPv6NeighborEntry]++
			used[sai.SwitchAttrAvailableIPv6NexthopEntry]++
		}
	}
	for _, g := range o.groups {
		used[sai.SwitchAttrAvailableNextHopGroupMemberEntry] += len(g.members)
	}
	return used
}
