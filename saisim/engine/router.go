package engine

import (
	"encoding/binary"
	"net/netip"

	"tamtam/saisim/config"
	"tamtam/saisim/describe"
	"tamtam/saisim/drop"
)

// route finds the destination of a packet that reached the router at pk.router, and counts it.
func (c *router) route(pk *packet) drop.Reason {
	r := pk.router
	_, n := pk.received()
	n += fcsLen
	why := c.routed(pk)
	if pk.verdict.kind == noDestination && pk.act&actCopy == 0 && why != drop.L3MTU {
		r.count(rifInError, n)
	} else {
		r.count(rifIn, n)
	}
	return why
}

// routed does route without the counters.
func (c *router) routed(pk *packet) drop.Reason {
	h, r := &pk.h, pk.router
	if h.etherType != etherIPv4 && h.etherType != etherIPv6 {
		c.traps.trap(pk, config.TrapIP2ME) // to the router, but not to be routed
		return drop.Trap
	}
	v4 := h.etherType == etherIPv4
	if !r.up(v4) || !r.vr.up(v4) {
		return drop.RouterDown
	}
	if !h.fitToRoute(pk) {
		return drop.IPHeader
	}
	if e := c.endOf(pk, v4); e != nil {
		return c.end(pk, e)
	}
	return c.byRoute(pk, r.vr, v4)
}

// byRoute sends a packet that is fit to be routed by the routes of a virtual router.
func (c *router) byRoute(pk *packet, vr *virtualRouter, v4 bool) drop.Reason {
	h := &pk.h
	d := c.longestPrefix(pk, vr, v4)
	switch {
	case d != nil && d.kind == destCPU && d.act&actDrop == 0:
		return c.local(pk)
	case h.onLink():
		return drop.IPHeader
	case h.ttl <= 1:
		c.traps.trap(pk, config.TrapTTL)
		return drop.TTL
	case d == nil:
		return drop.NoRoute
	}
	if pk.act |= d.act; d.act&actDrop != 0 {
		if d.route.Prefix.Bits() == 0 {
			return drop.NoRoute
		}
		return drop.Blackhole
	}
	pk.edit.prefix = uint8(d.prefix.Bits())
	switch d.kind {
	case destHop:
		return c.toHop(pk, d.hop)
	case destGroup:
		return c.toHop(pk, d.group.choose(hashOf(h, pk.in, &c.ecmpHash, saltECMP)))
	case destSubnet:
		return c.noNeighbor(pk, d.rif)
	}
	return drop.Route
}

// local handles a packet to the switch itself.
func (c *router) local(pk *packet) drop.Reason {
	if len(c.decaps) > 0 && pk.h.encapsulated() && c.decaps[pk.h.dst] > 0 {
		return drop.Decap
	}
	c.traps.trapLocal(pk)
	return drop.Trap
}

// longestPrefix looks the destination up in a virtual router, and returns nil if there is no prefix.
func (c *router) longestPrefix(pk *packet, vr *virtualRouter, v4 bool) (d *dest) {
	f := describe.IPv6Route
	if v4 {
		f = describe.IPv4Route
	}
	if c.skips&f.Ran() != 0 {
		return nil
	}
	d = vr.lookup(pk.h.dst, v4)
	pk.fixed |= f.Ran()
	if c.found != nil {
		c.found(pk, foundRoute(f.String(), vr, d))
	}
	if c.noting {
		pk.noteRoute(v4, d)
	}
	if d != nil {
		pk.fixed |= f.Hit()
	}
	return d
}

// noNeighbor traps or drops a packet to an address, reached through r, whose MAC address is unknown.
func (c *router) noNeighbor(pk *packet, r *rif) drop.Reason {
	pk.fixed |= describe.NextHop.Ran()
	if c.traps.states[config.TrapNeighborMiss].set {
		c.traps.trap(pk, config.TrapNeighborMiss)
	} else {
		c.traps.trapAs(pk, config.TrapNeighborMiss, r.missed)
	}
	return drop.NoNeighbor
}

// toHop sends the packet to a neighbour.
func (c *router) toHop(pk *packet, hop *adjacency) drop.Reason {
	h := &pk.h
	pk.fixed |= describe.NextHop.Ran()
	if c.found != nil && hop != nil {
		c.found(pk, foundHop(describe.NextHop.String(), hop.rif, hop.ip, hop.known, hop.mac))
	}
	if c.noting && hop != nil {
		pk.noteHop(hop)
	}
	switch {
	case hop == nil:
		return drop.NoNextHop
	case !hop.known:
		return c.noNeighbor(pk, hop.rif)
	}
	pk.fixed |= describe.NextHop.Hit()
	r := hop.rif
	v4 := h.flags&flagIPv4 != 0
	pk.act |= hop.act
	switch {
	case hop.act&actDrop != 0:
		return drop.Neighbor
	case !r.up(v4):
		return drop.RouterOutDown
	case r == pk.router && !r.loopback && pk.noted&notedEndDone == 0:
		return drop.SameInterface
	case h.ipLen > r.mtu:
		r.count(rifOutError, pk.length+fcsLen)
		pk.tooLong()
		c.traps.trap(pk, config.TrapL3MTU)
		return drop.L3MTU
	}
	pk.edited, pk.edit.routed, pk.edit.dmac, pk.edit.smac = true, true, hop.mac, r.mac
	pk.edit.hop = hop
	pk.source, pk.vid, pk.ipMTU = nil, 0, r.mtu // a routed packet may leave where it arrived
	why := drop.NoDestination
	switch {
	case r.vlan != nil:
		pk.vid = r.vlan.id
		if hop.mac == broadcast { // a directed broadcast
			why = pk.toGroup(r.vlan, hop.mac)
		} else {
			why = c.bridge.toMAC(pk, r.vlan, hop.mac)
		}
	case r.lag != nil:
		pk.verdict.kind, pk.verdict.lag = toLAG, r.lag
	default:
		pk.verdict.kind, pk.verdict.port = toPort, r.port
	}
	if pk.verdict.kind != noDestination {
		r.count(rifOut, pk.length+fcsLen)
	}
	return why
}

// fitToRoute reports whether the IP header and its addresses are fit to be routed. The frame may have at most one VLAN
// tag. The header's length, version and, in IPv4, checksum must be right. No address may be a group, loopback or
// unspecified address. In IPv4, network 0 and 255.255.255.255 are not allowed either (RFC 1812, 5.3.5.1 and 5.3.7; RFC
// 4291, 2.5.2).
func (h *headers) fitToRoute(pk *packet) bool {
	if h.flags&(flagIP|flagNoLength) != flagIP || h.flags&flagTagged != 0 && !pk.tagged || h.flags&flagTwoTags != 0 {
		return false
	}
	if h.flags&flagIPv6 != 0 {
		return h.src[0]>>56 != 0xff && h.dst[0]>>56 != 0xff &&
			(h.src[0] != 0 || h.src[1] > 1) && (h.dst[0] != 0 || h.dst[1] > 1)
	}
	return routable(uint32(h.src[1])) && routable(uint32(h.dst[1])) &&
		checksum(pk.data[h.l3:][:int(pk.data[h.l3]&15)*4]) == 0
}

// routable reports whether a router forwards packets from and to an IPv4 address.
func routable(a uint32) bool {
	net := a >> 24
	return net-1 < 126 || net > 127 && a>>28 != 0xe && a != 0xffffffff
}

// onLink reports whether a packet may not leave its link, because an IPv6 address is link-local (RFC 4291, 2.5.6).
func (h *headers) onLink() bool {
	const prefix, bits = 0xfe80, 10
	local := func(a [2]uint64) bool { return a[0]>>(64-bits) == prefix>>(16-bits) }
	return h.flags&flagIPv6 != 0 && (local(h.src) || local(h.dst))
}

// A virtualRouter is a routing table with its own prefixes.
type virtualRouter struct {
	name             config.ID
	fib4, fib6       fib
	routes4, routes6 bool // admin states for IPv4 and IPv6
	dests            map[netip.Prefix]*dest
	shared           map[netip.Prefix]*dest // prefixes with several neighbours
}

func newVirtualRouter(name config.ID) *virtualRouter {
	return &virtualRouter{name: name, dests: map[netip.Prefix]*dest{}, shared: map[netip.Prefix]*dest{}}
}

func (v *virtualRouter) up(v4 bool) bool { return v4 && v.routes4 || !v4 && v.routes6 }

// lookup returns the destination of the longest prefix that contains an address, nil if there is none.
func (v *virtualRouter) lookup(a [2]uint64, v4 bool) *dest {
	if v4 {
		return v.fib4.lookup(address{a[1] << 32}, 4)
	}
	return v.fib6.lookup(a, 16)
}

// router routes packets, in all virtual routers.
type router struct {
	*core
	traps       *traps
	bridge      *bridge
	programs    *programs
	vrs         []*virtualRouter // in the order of their creation
	adjacencies map[adjacencyKey]*adjacency
	decaps      map[[2]uint64]int // number of indexes by address where their headers end
	ends        map[endKey]*tunnelEnd
	cpu         config.ID // the CPU port
	ecmpHash    config.Hashing
}

func (c *router) reset() {
	c.vrs, c.adjacencies, c.decaps = nil, map[adjacencyKey]*adjacency{}, map[[2]uint64]int{}
	c.ends = map[endKey]*tunnelEnd{}
	c.cpu, c.ecmpHash = config.None, config.Hashing{}
}

// usual finds the neighbour of a packet with a usual IPv4 header that reached the router at r. It returns nil unless
// nothing but its route decides, and the packet may leave to that neighbour.
func (c *router) usual(r *rif, ip []byte) (*dest, *adjacency) {
	if !r.vr.routes4 || !r.up4 || ip[8] <= 1 || !routable(binary.BigEndian.Uint32(ip[12:])) ||
		!routable(binary.BigEndian.Uint32(ip[16:])) || !correct(ip) {
		return nil, nil
	}
	d := r.vr.fib4.lookup(address{uint64(binary.BigEndian.Uint32(ip[16:])) << 32}, 4)
	if d == nil || d.act != 0 {
		return nil, nil
	}
	var hop *adjacency
	switch d.kind {
	case destHop:
		hop = d.hop
	case destGroup:
		hop = d.group.choose(usualHash(ip, uint64(c.ecmpHash.Seed)<<32|saltECMP))
	}
	if hop == nil || !hop.known || hop.act != 0 {
		return nil, nil
	}
	if out := hop.rif; !out.up4 || out == r && !out.loopback || uint32(binary.BigEndian.Uint16(ip[2:])) > out.mtu {
		return nil, nil
	}
	return d, hop
}
