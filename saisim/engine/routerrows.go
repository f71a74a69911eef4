package engine

import (
	"net/netip"
	"slices"

	"tamtam/saisim/config"
)

// applyRouting compiles rows of routing. It returns false for other rows.
func (c *router) applyRouting(row config.Row, gone bool) bool {
	switch r := row.(type) {
	case config.Router:
		c.applyRouter(r, gone)
	case config.Interface:
		c.applyInterface(r, gone)
	case config.Neighbor:
		c.applyNeighbor(r, gone)
	case config.NextHop:
		c.applyNextHop(r, gone)
	case config.HopGroup:
		c.applyHopGroup(r, gone)
	case config.Route:
		c.applyRoute(r, gone)
	case config.Tunnel:
		c.applyTunnel(r, gone)
	case config.TunnelEnd:
		c.applyTunnelEnd(r, gone)
	default:
		return false
	}
	return true
}

// applyRouter adds a virtual router, sets its states, or removes it. A virtual router that is removed has no interfaces
// and no routes.
func (c *router) applyRouter(r config.Router, gone bool) {
	v := at[*virtualRouter](c.core, r.ID)
	if gone {
		c.vrs = slices.DeleteFunc(c.vrs, func(x *virtualRouter) bool { return x == v })
		delete(c.ids, r.ID)
		return
	}
	if v == nil {
		v = newVirtualRouter(r.ID)
		c.ids[r.ID] = v
		c.vrs = append(c.vrs, v)
	}
	v.routes4, v.routes6 = r.Up4, r.Up6
}

// applyInterface adds a router interface to a port, a LAG or a VLAN, or removes it. Packets that already leave by a
// removed interface are still sent.
func (c *router) applyInterface(r config.Interface, gone bool) {
	x := at[*rif](c.core, r.ID)
	if x == nil {
		x = &rif{
			vr:   at[*virtualRouter](c.core, r.Router),
			port: at[*port](c.core, r.On), lag: at[*lag](c.core, r.On), vlan: at[*vlan](c.core, r.On), outer: r.OuterVLAN,
		}
		c.ids[r.ID] = x
		x.attach(x)
		c.stale = true
	}
	if gone {
		x.attach(nil)
		delete(c.ids, r.ID)
		c.stale = true
		return
	}
	x.mac, x.mtu, x.up4, x.up6, x.loopback = mac48(r.MAC[:]), r.MTU, r.Up4, r.Up6, r.Loopback
	x.missed = actionsOf(r.Missed)
}

// attach sets the router interface of the port, LAG or VLAN that r is on, or the sub-port. nil removes it.
func (r *rif) attach(x *rif) {
	switch {
	case r.outer != 0:
		var subPorts *map[uint16]*rif
		if r.lag != nil {
			subPorts = &r.lag.subPorts
		} else {
			subPorts = &r.port.subPorts
		}
		if *subPorts == nil {
			*subPorts = map[uint16]*rif{}
		}
		if (*subPorts)[r.outer] = x; x == nil {
			delete(*subPorts, r.outer)
		}
	case r.vlan != nil:
		r.vlan.rif = x
	case r.lag != nil:
		r.lag.rif = x
	case r.port != nil:
		r.port.rif = x
	}
}

// adjacency returns the adjacency of an address, which it creates if necessary.
func (c *router) adjacency(r *rif, ip netip.Addr) *adjacency {
	k := adjacencyKey{r, ip}
	a := c.adjacencies[k]
	if a == nil {
		a = &adjacency{rif: r, ip: ip}
		c.adjacencies[k] = a
	}
	return a
}

// releaseAdjacency deletes an adjacency without neighbour and next hops.
func (c *router) releaseAdjacency(a *adjacency) {
	if !a.known && a.hops == 0 {
		delete(c.adjacencies, adjacencyKey{a.rif, a.ip})
	}
}

func (c *router) applyNeighbor(r config.Neighbor, gone bool) {
	a := c.adjacency(at[*rif](c.core, r.Interface), r.IP)
	if a.known = !gone; gone {
		c.hostRoute(a, false)
		c.releaseAdjacency(a)
		return
	}
	a.mac, a.act = mac48(r.MAC[:]), actionsOf(r.Action)
	c.hostRoute(a, r.HostRoute)
}

func (c *router) applyNextHop(r config.NextHop, gone bool) {
	h := at[*nextHop](c.core, r.ID)
	switch {
	case gone:
		h.adj.hops--
		c.releaseAdjacency(h.adj)
		delete(c.ids, r.ID)
	case h == nil: // a next hop never changes
		a := c.adjacency(at[*rif](c.core, r.Interface), r.IP)
		a.hops++
		c.ids[r.ID] = &nextHop{a}
	}
}

// applyHopGroup sets a group's members, in the order of the row.
func (c *router) applyHopGroup(r config.HopGroup, gone bool) {
	if gone {
		delete(c.ids, r.ID)
		return
	}
	g := at[*hopGroup](c.core, r.ID)
	if g == nil {
		g = &hopGroup{}
		c.ids[r.ID] = g
	}
	g.members, g.total = g.members[:0], 0
	for _, m := range r.Members {
		g.total += uint64(m.Weight)
		g.members = append(g.members, hopMember{at[*nextHop](c.core, m.NextHop).adj, m.Weight, g.total})
	}
}

// destOf returns the dest of a prefix, which it creates if necessary.
func (v *virtualRouter) destOf(p netip.Prefix) *dest {
	d := v.dests[p]
	if d == nil {
		d = &dest{vr: v, prefix: p}
		v.dests[p] = d
	}
	return d
}

func (c *router) applyRoute(r config.Route, gone bool) {
	d := at[*virtualRouter](c.core, r.Router).destOf(r.Prefix)
	if d.route = &r; gone {
		d.route = nil
	}
	c.resolve(d)
}

// hostRoute adds a neighbour's host route, or removes it.
func (c *router) hostRoute(adj *adjacency, on bool) {
	p, v := netip.PrefixFrom(adj.ip, adj.ip.BitLen()), adj.rif.vr
	if v.dests[p] == nil && !on {
		return
	}
	d := v.destOf(p)
	d.hosts = slices.DeleteFunc(d.hosts, func(a *adjacency) bool { return a == adj })
	if on {
		d.hosts = append(d.hosts, adj)
		d.sortHosts()
	}
	if delete(v.shared, p); len(d.hosts) > 1 {
		v.shared[p] = d
	}
	c.resolve(d)
}

// sortHosts sorts the neighbours with one address by interface. Only the first one is used.
func (d *dest) sortHosts() {
	slices.SortStableFunc(d.hosts, func(a, b *adjacency) int { return a.rif.order() - b.rif.order() })
}

// resolve updates the derived part of a dest. It adds the dest to the packet path's trie, or removes it if nothing
// leads there any more.
func (c *router) resolve(d *dest) {
	v, p := d.vr, d.prefix
	t := &v.fib6
	if p.Addr().Is4() {
		t = &v.fib4
	}
	d.kind, d.act, d.hop, d.group, d.rif = destNone, 0, nil, nil, nil
	switch {
	case d.route != nil:
		d.act = actionsOf(d.route.Action)
		c.resolveNextHop(d)
	case len(d.hosts) > 0:
		d.kind, d.hop = destHop, d.hosts[0]
	default:
		delete(v.dests, p)
		t.remove(p)
		return
	}
	t.put(p, d)
}

func (c *router) resolveNextHop(d *dest) {
	if to := d.route.NextHop; to != config.None && to == c.cpu {
		d.kind = destCPU
		return
	}
	switch x := c.ids[d.route.NextHop].(type) {
	case *nextHop:
		d.kind, d.hop = destHop, x.adj
	case *hopGroup:
		d.kind, d.group = destGroup, x
	case *rif:
		d.kind, d.rif = destSubnet, x
		for _, adj := range d.hosts {
			if adj.rif == x {
				d.kind, d.hop = destHop, adj
			}
		}
	}
}

// sortShared sorts neighbours again, because a change of a LAG's members may have changed the order of interfaces.
func (c *router) sortShared() {
	for _, v := range c.vrs {
		for _, d := range v.shared {
			d.sortHosts()
			c.resolve(d)
		}
	}
}
