package saisim

import (
	"net/netip"
	"slices"

	"tamtam/sai"
)

// A dest is what a prefix leads to: where its ROUTE_ENTRY says, or, without one,
// to the neighbour with this address.
type dest struct {
	route *object      // ROUTE_ENTRY, nil: none
	hosts []*adjacency // neighbours with a host route, the first one counts

	// derived
	kind  destKind
	act   actions
	hop   *adjacency // destHop
	group *hopGroup  // destGroup
	rif   *rif       // destSubnet
}

type destKind uint8

const (
	destNone   destKind = iota // no next hop: dropped
	destHop                    // a next hop or a neighbour
	destGroup                  // ECMP
	destSubnet                 // directly connected, nobody there is known by this address
	destCPU                    // the switch itself
)

func (c *store) routeKind() *kind {
	return &kind{
		attrs: []sai.AttrID{
			sai.RouteEntryAttrPacketAction, sai.RouteEntryAttrNextHopID, sai.RouteEntryAttrIPAddrFamily,
		},
		create: c.createRoute,
		set:    c.setRoute,
		remove: func(o *object) error {
			p := o.key.Entry.(sai.RouteEntry).Dest
			d := c.dests[p]
			d.route = nil
			*c.routesUsed(p)--
			c.resolve(p, d)
			return nil
		},
		get: func(o *object, id sai.AttrID) sai.Value {
			if id == sai.RouteEntryAttrIPAddrFamily {
				return family(o.key.Entry.(sai.RouteEntry).Dest.Addr())
			}
			return nil
		},
	}
}

func (c *store) createRoute(o *object) error {
	p := o.key.Entry.(sai.RouteEntry).Dest
	bad := func(s sai.Status, format string, args ...any) error {
		return refuse("create", sai.ObjectTypeRouteEntry, 0, s, format, args...)
	}
	if !p.IsValid() || p != p.Masked() {
		return bad(sai.StatusInvalidParameter, "prefix %s, want one without bits behind its length", p)
	}
	if *c.routesUsed(p) >= c.maxRoutes(p) {
		return bad(sai.StatusTableFull, "all %d routes are in use", c.maxRoutes(p))
	}
	if err := c.checkNextHop(o.ref(sai.RouteEntryAttrNextHopID)); err != nil {
		return err
	}
	d := c.dests[p]
	if d == nil {
		d = &dest{}
		c.dests[p] = d
	}
	d.route = o
	*c.routesUsed(p)++
	c.resolve(p, d)
	return nil
}

func (c *store) setRoute(o *object, a sai.Attr) error {
	if oid, ok := a.Value.(sai.OID); ok {
		if err := c.checkNextHop(oid); err != nil {
			return err
		}
	}
	p := o.key.Entry.(sai.RouteEntry).Dest
	o.put(a) // resolve reads it
	c.resolve(p, c.dests[p])
	return nil
}

// checkNextHop refuses what a route cannot lead to.
func (c *store) checkNextHop(oid sai.OID) error {
	if _, ok := self[*port](c, oid); ok {
		return refuse("set", sai.ObjectTypeRouteEntry, sai.RouteEntryAttrNextHopID, sai.StatusNotSupported,
			"of ports, routes lead to the CPU port only")
	}
	return nil
}

// routesUsed and maxRoutes are those of the prefix's family.
func (c *store) routesUsed(p netip.Prefix) *uint32 {
	if p.Addr().Is4() {
		return &c.used4
	}
	return &c.used6
}

func (c *store) maxRoutes(p netip.Prefix) uint32 {
	if p.Addr().Is4() {
		return c.prof.IPv4Routes
	}
	return c.prof.IPv6Routes
}

// hostRoute gives a neighbour its host route, or takes it away.
func (c *store) hostRoute(adj *adjacency, on bool) {
	p := netip.PrefixFrom(adj.ip, adj.ip.BitLen())
	d := c.dests[p]
	if d == nil {
		if !on {
			return
		}
		d = &dest{}
		c.dests[p] = d
	}
	d.hosts = slices.DeleteFunc(d.hosts, func(a *adjacency) bool { return a == adj })
	if on {
		d.hosts = append(d.hosts, adj)
		slices.SortStableFunc(d.hosts, func(a, b *adjacency) int { return a.rif.order() - b.rif.order() })
	}
	c.resolve(p, d)
}

// resolve makes the derived part of a dest anew, and puts it where the packet
// path looks, or takes it out if nothing leads there any more.
func (c *store) resolve(p netip.Prefix, d *dest) {
	t := &c.fib6
	if p.Addr().Is4() {
		t = &c.fib4
	}
	d.kind, d.act, d.hop, d.group, d.rif = destNone, 0, nil, nil, nil
	switch {
	case d.route != nil:
		d.act = packetAction(d.route.enum(sai.RouteEntryAttrPacketAction))
		c.resolveNextHop(d, d.route.ref(sai.RouteEntryAttrNextHopID))
	case len(d.hosts) > 0:
		d.kind, d.hop = destHop, d.hosts[0]
	default:
		delete(c.dests, p)
		t.remove(p)
		return
	}
	t.put(p, d)
}

func (c *store) resolveNextHop(d *dest, oid sai.OID) {
	o := c.objects[oid]
	if o == nil {
		return
	}
	switch x := o.self.(type) {
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
	default:
		d.kind = destCPU
	}
}
