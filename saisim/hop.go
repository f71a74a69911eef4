package saisim

import (
	"cmp"
	"net/netip"

	"tamtam/saisim/config"
	"tamtam/saisim/profile"
)

// A rif is a router interface. It is on a port, a LAG or a VLAN; a loopback is
// on none of them.
type rif struct {
	port     *port
	lag      *lag
	vlan     *vlan
	mac      uint64
	mtu      uint32 // of the IP packet
	up4, up6 bool
	loopback bool    // what came in here may leave here
	missed   actions // with packets to who is no neighbour here
	behind   int     // adjacencies
	counts   rifCounts
}

// rifCounts are the counters of a router interface, in the order of SAI's statistics: bytes
// are frames with FCS, as they came in.
type rifCounts [numRIFCounts]uint64

const (
	rifIn = 2 * iota
	rifOut
	rifInError
	rifOutError
	numRIFCounts
)

func (r *rif) count(what, bytes int) {
	r.counts[what] += uint64(bytes)
	r.counts[what+1]++
}

// order sorts router interfaces by what they are on.
func (r *rif) order() int {
	switch {
	case r.port != nil:
		return int(r.port.id)
	case r.lag != nil:
		return profile.MaxLanes + int(r.lag.first())
	case r.vlan != nil:
		return 2*int(CPUPort) + int(r.vlan.id)
	}
	return 3 * int(CPUPort)
}

// loops says that an interface leads nowhere.
func (r *rif) loops() bool { return r.port == nil && r.lag == nil && r.vlan == nil }

func (r *rif) up(v4 bool) bool { return v4 && r.up4 || !v4 && r.up6 }

// An adjacency is somebody behind a router interface, by address: a neighbour
// and the next hops that lead to it share one. It outlives the neighbour while
// there are next hops.
type adjacency struct {
	rif   *rif
	ip    netip.Addr
	known bool // it is a neighbour, with a MAC address
	mac   uint64
	act   actions
	hops  int
}

type adjacencyKey struct {
	rif *rif
	ip  netip.Addr
}

// A nextHop leads to somebody behind a router interface.
type nextHop struct{ adj *adjacency }

// A hopGroup spreads flows over next hops (ECMP), by weight.
type hopGroup struct {
	members []hopMember
	total   uint64 // of the weights
}

type hopMember struct {
	adj    *adjacency
	weight uint32
	upTo   uint64 // sum of the weights so far, its own included
}

// choose returns the next hop of a flow, nil if the group is empty: the first
// member with hash mod (sum of all weights) < the sum of weights up to its own.
func (g *hopGroup) choose(hash uint32) *adjacency {
	if g.total == 0 {
		return nil
	}
	x := uint64(hash) % g.total
	lo, hi := 0, len(g.members)-1
	for lo < hi {
		if mid := (lo + hi) / 2; x < g.members[mid].upTo {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return g.members[lo].adj
}

// applyRouting compiles rows of routing; false: the row is another's.
func (c *engine) applyRouting(row config.Row, gone bool) bool {
	switch r := row.(type) {
	case config.Router:
		c.routes4, c.routes6 = r.Up4 && !gone, r.Up6 && !gone
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
	default:
		return false
	}
	return true
}

// applyInterface puts a router interface on a port, a LAG or a VLAN, or takes it off. Packets on their
// way out of one that goes go on.
func (c *engine) applyInterface(r config.Interface, gone bool) {
	x := at[*rif](c, r.ID)
	if x == nil {
		x = &rif{port: at[*port](c, r.On), lag: at[*lag](c, r.On), vlan: at[*vlan](c, r.On)}
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

// attach has what an interface is on know it, or (nil) forget it.
func (r *rif) attach(x *rif) {
	switch {
	case r.vlan != nil:
		r.vlan.rif = x
	case r.lag != nil:
		r.lag.rif = x
	case r.port != nil:
		r.port.rif = x
	}
}

// adjacency returns that of an address, made if need be.
func (c *engine) adjacency(r *rif, ip netip.Addr) *adjacency {
	k := adjacencyKey{r, ip}
	a := c.adjacencies[k]
	if a == nil {
		a = &adjacency{rif: r, ip: ip}
		c.adjacencies[k] = a
		r.behind++
	}
	return a
}

// release forgets an adjacency that nothing leads to.
func (c *engine) releaseAdjacency(a *adjacency) {
	if !a.known && a.hops == 0 {
		delete(c.adjacencies, adjacencyKey{a.rif, a.ip})
		a.rif.behind--
	}
}

func (c *engine) applyNeighbor(r config.Neighbor, gone bool) {
	a := c.adjacency(at[*rif](c, r.Interface), r.IP)
	if a.known = !gone; gone {
		c.hostRoute(a, false)
		c.releaseAdjacency(a)
		return
	}
	a.mac, a.act = mac48(r.MAC[:]), actionsOf(r.Action)
	c.hostRoute(a, r.HostRoute)
}

func (c *engine) applyNextHop(r config.NextHop, gone bool) {
	h := at[*nextHop](c, r.ID)
	switch {
	case gone:
		h.adj.hops--
		c.releaseAdjacency(h.adj)
		delete(c.ids, r.ID)
	case h == nil: // it never changes
		a := c.adjacency(at[*rif](c, r.Interface), r.IP)
		a.hops++
		c.ids[r.ID] = &nextHop{a}
	}
}

// applyHopGroup gives a group its members. They count in the order of the row.
func (c *engine) applyHopGroup(r config.HopGroup, gone bool) {
	if gone {
		delete(c.ids, r.ID)
		return
	}
	g := at[*hopGroup](c, r.ID)
	if g == nil {
		g = &hopGroup{}
		c.ids[r.ID] = g
	}
	g.members, g.total = g.members[:0], 0
	for _, m := range r.Members {
		g.total += uint64(m.Weight)
		g.members = append(g.members, hopMember{at[*nextHop](c, m.NextHop).adj, m.Weight, g.total})
	}
}

// compareHops is the order of a group's members: by address and interface.
func compareHops(a, b *adjacency) int {
	return cmp.Or(a.ip.Compare(b.ip), cmp.Compare(a.rif.order(), b.rif.order()))
}
