package saisim

import (
	"net/netip"
	"slices"

	"tamtam/saisim/config"
)

// A dest is what a prefix leads to: where its route says, or, without one,
// to the neighbour with this address.
type dest struct {
	route *config.Route // nil: none
	hosts []*adjacency  // neighbours with a host route, the first one counts

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

// destOf returns the dest of a prefix, made if need be.
func (c *engine) destOf(p netip.Prefix) *dest {
	d := c.dests[p]
	if d == nil {
		d = &dest{}
		c.dests[p] = d
	}
	return d
}

func (c *engine) applyRoute(r config.Route, gone bool) {
	d := c.destOf(r.Prefix)
	if d.route = &r; gone {
		d.route = nil
	}
	c.resolve(r.Prefix, d)
}

// hostRoute gives a neighbour its host route, or takes it away.
func (c *engine) hostRoute(adj *adjacency, on bool) {
	p := netip.PrefixFrom(adj.ip, adj.ip.BitLen())
	if c.dests[p] == nil && !on {
		return
	}
	d := c.destOf(p)
	d.hosts = slices.DeleteFunc(d.hosts, func(a *adjacency) bool { return a == adj })
	if on {
		d.hosts = append(d.hosts, adj)
		d.sortHosts()
	}
	if delete(c.shared, p); len(d.hosts) > 1 {
		c.shared[p] = d
	}
	c.resolve(p, d)
}

// sortHosts puts the neighbours with one address in order: the one at the first interface counts.
func (d *dest) sortHosts() {
	slices.SortStableFunc(d.hosts, func(a, b *adjacency) int { return a.rif.order() - b.rif.order() })
}

// resolve makes the derived part of a dest anew, and puts it where the packet
// path looks, or takes it out if nothing leads there any more.
func (c *engine) resolve(p netip.Prefix, d *dest) {
	t := &c.fib6
	if p.Addr().Is4() {
		t = &c.fib4
	}
	d.kind, d.act, d.hop, d.group, d.rif = destNone, 0, nil, nil, nil
	switch {
	case d.route != nil:
		d.act = actionsOf(d.route.Action)
		c.resolveNextHop(d)
	case len(d.hosts) > 0:
		d.kind, d.hop = destHop, d.hosts[0]
	default:
		delete(c.dests, p)
		t.remove(p)
		return
	}
	t.put(p, d)
}

func (c *engine) resolveNextHop(d *dest) {
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

// sortShared sorts neighbours anew: which interface is the first may have changed with the members of
// a LAG.
func (c *engine) sortShared() {
	for p, d := range c.shared {
		d.sortHosts()
		c.resolve(p, d)
	}
}
