package saisim

import "tamtam/saisim/config"

// route decides where a packet goes that came to the router at pk.router.
func (c *engine) route(pk *packet) DropReason {
	r := pk.router
	n := pk.length + fcsLen
	why := c.routed(pk)
	if pk.verdict.kind == toNobody && pk.act&actCopy == 0 && why != DropL3MTU {
		r.count(rifInError, n)
	} else {
		r.count(rifIn, n)
	}
	return why
}

// routed is route without the counters.
func (c *engine) routed(pk *packet) DropReason {
	h := &pk.h
	if h.etherType != etherIPv4 && h.etherType != etherIPv6 {
		c.trap(pk, config.TrapIP2ME) // to the router, but not to be routed
		return DropTrap
	}
	v4 := h.etherType == etherIPv4
	if !pk.router.up(v4) || v4 && !c.routes4 || !v4 && !c.routes6 {
		return DropRouterDown
	}
	if !h.fitToRoute(pk) {
		return DropIPHeader
	}
	d := c.longestPrefix(pk, v4)
	switch {
	case d != nil && d.kind == destCPU && d.act&actDrop == 0:
		c.trapLocal(pk)
		return DropTrap
	case h.ttl <= 1:
		c.trap(pk, config.TrapTTL)
		return DropTTL
	case d == nil:
		return DropNoRoute
	}
	if pk.act |= d.act; d.act&actDrop != 0 {
		return DropRoute
	}
	switch d.kind {
	case destHop:
		return c.toHop(pk, d.hop)
	case destGroup:
		return c.toHop(pk, d.group.choose(c.ecmpHash(h)))
	case destSubnet:
		return c.noNeighbor(pk, d.rif)
	}
	return DropRoute
}

// longestPrefix looks the destination up.
func (c *engine) longestPrefix(pk *packet, v4 bool) (d *dest) {
	f := fixedIPv6Route
	if v4 {
		f = fixedIPv4Route
	}
	switch {
	case c.skips&f.ran() != 0:
		return nil
	case v4:
		d = c.fib4.lookup(address{pk.h.dst[1] << 32}, 4)
	default:
		d = c.fib6.lookup(pk.h.dst, 16)
	}
	pk.fixed |= f.ran()
	if d != nil {
		pk.fixed |= f.hit()
	}
	return d
}

// noNeighbor traps, or drops, a packet to somebody behind r whose MAC address
// is not known.
func (c *engine) noNeighbor(pk *packet, r *rif) DropReason {
	pk.fixed |= fixedNextHop.ran()
	if c.traps[config.TrapNeighborMiss].set {
		c.trap(pk, config.TrapNeighborMiss)
	} else {
		c.trapAs(pk, config.TrapNeighborMiss, r.missed)
	}
	return DropNoNeighbor
}

// toHop sends the packet to a neighbour.
func (c *engine) toHop(pk *packet, hop *adjacency) DropReason {
	h := &pk.h
	pk.fixed |= fixedNextHop.ran()
	switch {
	case hop == nil:
		return DropNoNextHop
	case !hop.known:
		return c.noNeighbor(pk, hop.rif)
	}
	pk.fixed |= fixedNextHop.hit()
	r := hop.rif
	v4 := h.flags&flagIPv4 != 0
	pk.act |= hop.act
	switch {
	case hop.act&actDrop != 0:
		return DropRoute
	case !r.up(v4):
		return DropRouterDown
	case r == pk.router && !r.loopback:
		return DropSamePort
	case h.ipLen > r.mtu:
		r.count(rifOutError, pk.length+fcsLen)
		c.trap(pk, config.TrapL3MTU)
		return DropL3MTU
	}
	pk.edit.routed, pk.edit.dmac, pk.edit.smac = true, hop.mac, r.mac
	pk.source, pk.vid = nil, 0 // it may leave where it came from
	why := DropNoDestination
	switch {
	case r.vlan != nil:
		pk.vid = r.vlan.id
		why = c.toMAC(pk, r.vlan, hop.mac)
	case r.lag != nil:
		pk.verdict.kind, pk.verdict.lag = toLAG, r.lag
	default:
		pk.verdict.kind, pk.verdict.port = toPort, r.port
	}
	if pk.verdict.kind != toNobody {
		r.count(rifOut, pk.length+fcsLen)
	}
	return why
}

// fitToRoute reports whether the IP header is where it is to be, behind at most
// one VLAN tag, and right: length, version and, of IPv4, checksum; and whether
// its addresses may be routed: from no group or loopback address, to no group,
// loopback or unspecified address.
func (h *headers) fitToRoute(pk *packet) bool {
	if h.flags&flagIP == 0 || h.flags&flagTagged != 0 && !pk.tagged || h.flags&flagTwoTags != 0 {
		return false
	}
	if h.flags&flagIPv6 != 0 {
		return h.src[0]>>56 != 0xff && h.dst[0]>>56 != 0xff &&
			(h.src[0] != 0 || h.src[1] != 1) && (h.dst[0] != 0 || h.dst[1] > 1)
	}
	src, dst := uint32(h.src[1]), uint32(h.dst[1])
	if src>>28 == 0xe || src>>24 == 127 || src == 0xffffffff || dst>>28 == 0xe || dst>>24 == 127 || dst == 0 {
		return false
	}
	return checksum(pk.data[h.l3:][:int(pk.data[h.l3]&15)*4]) == 0
}

// checksum is that of RFC 1071; it is 0 over a header whose checksum is right.
func checksum(b []byte) uint16 {
	sum := uint32(0)
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(b[i])<<8 | uint32(b[i+1])
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}
