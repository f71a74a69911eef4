package reference

import (
	"fmt"
	"net/netip"

	"tamtam/saisim/config"
	"tamtam/saisim/drop"
)

// A routed describes how a routed packet is rewritten.
type routed struct {
	out        config.Interface
	dmac, smac config.MAC
	mtu        int // MTU of the router interface
	hop        netip.Addr
	bits       uint8 // length of the prefix that leads there; zero if an ACL entry does
}

// These constants index the counters of a router interface. Each has bytes and packets.
const (
	rifIn = iota
	rifOut
	rifInError
	rifOutError
)

// countRIF counts a packet. On the ingress, it counts the bytes as received: without an outer header that was added
// since, and with one that was removed since.
func (c *Chip) countRIF(oid config.ID, what int, pk *packet) {
	if c.rifs[oid] == nil {
		c.rifs[oid] = &[8]uint64{}
	}
	size := pk.length
	if what == rifIn || what == rifInError {
		size -= pk.grew
	}
	c.rifs[oid][2*what] += uint64(size + fcs)
	c.rifs[oid][2*what+1]++
}

// route decides where a packet goes that arrived at a router interface.
func (c *Chip) route(pk *packet) drop.Reason {
	in := pk.router
	why := c.findRoute(pk)
	if pk.kind == nowhere && !pk.effects.copy && why != drop.L3MTU {
		c.countRIF(in, rifInError, pk)
	} else {
		c.countRIF(in, rifIn, pk)
	}
	return why
}

func (c *Chip) findRoute(pk *packet) drop.Reason {
	conf := pk.conf
	if pk.h.etherType != 0x0800 && pk.h.etherType != 0x86dd {
		conf.trapPacket(pk, config.TrapIP2ME)
		return drop.Trap
	}
	v4 := pk.h.etherType == 0x0800
	in := conf.rifs[pk.router]
	vr := conf.routers[in.Router]
	if !rifUp(in, v4) || v4 && !vr.Up4 || !v4 && !vr.Up6 {
		return drop.RouterDown
	}
	if !routable(pk) {
		return drop.IPHeader
	}
	if end, ok := pk.tunnelEnd(vr.ID); ok {
		return c.endTunnel(pk, end)
	}
	return c.routeBy(pk, vr.ID)
}

// routeBy sends a packet by the routes of a virtual router.
func (c *Chip) routeBy(pk *packet, vr config.ID) drop.Reason {
	conf, v4 := pk.conf, pk.h.ip.version == 4
	_, dst := pk.h.ip.addresses()
	r, found := conf.longestPrefix(vr, dst)
	table := map[bool]string{true: "chip.ipv4_route", false: "chip.ipv6_route"}[v4]
	if pk.faults.skips(table) {
		r, found = config.Route{}, false
	} else {
		pk.ran(table, found)
		pk.findRoute(table, vr, r, found)
	}
	does := doesOf(r.Action)
	c.sawRoute(pk, r, found)
	switch {
	case found && r.NextHop == conf.Switch.CPU && !does.drop && pk.endsUntaken():
		return drop.Decap
	case found && r.NextHop == conf.Switch.CPU && !does.drop: // an address of the switch
		conf.trapPacket(pk, conf.localTrap(&pk.h))
		return drop.Trap
	case ofOneLink(pk):
		return drop.IPHeader
	case pk.h.ip.ttl <= 1:
		conf.trapPacket(pk, config.TrapTTL)
		return drop.TTL
	case !found:
		return drop.NoRoute
	}
	pk.effects = pk.effects.or(does)
	switch {
	case does.drop && r.Prefix.Bits() == 0: // the default route
		return drop.NoRoute
	case does.drop:
		return drop.Blackhole
	}
	return c.follow(pk, r)
}

// sawRoute reports the TTL of a packet that is to be routed, and the prefix found for it.
func (c *Chip) sawRoute(pk *packet, r config.Route, found bool) {
	switch ttl := pk.h.ip.ttl; ttl {
	case 0, 1, 2, 255:
		c.Routing(fmt.Sprint("TTL ", ttl))
	}
	if found && r.Prefix.IsValid() {
		c.Routing(fmt.Sprintf("IPv%d prefix of %d bits", pk.h.ip.version, r.Prefix.Bits()))
	}
}

// longestPrefix returns the route of an address in a virtual router. The address of a neighbour counts as a route to
// it. If a route and a neighbour have the same prefix, the route wins.
func (conf *settings) longestPrefix(vr config.ID, dst netip.Addr) (best config.Route, found bool) {
	for _, r := range conf.Routes {
		if r.Router == vr && r.Prefix.Contains(dst) && (!found || r.Prefix.Bits() > best.Prefix.Bits()) {
			best, found = r, true
		}
	}
	if found && best.Prefix.Bits() == dst.BitLen() {
		return best, true
	}
	if n, ok := conf.hostRoute(vr, dst); ok {
		return config.Route{Router: vr, Prefix: netip.PrefixFrom(dst, dst.BitLen()),
			Action: config.Forward, NextHop: n.Interface}, true
	}
	return best, found
}

// hostRoute returns the neighbour to which an address is a route in a virtual router. If there are several, the one at
// the first interface wins: ports before LAGs before VLANs.
func (conf *settings) hostRoute(vr config.ID, dst netip.Addr) (best config.Neighbor, found bool) {
	for _, n := range conf.Neighbors {
		if conf.rifs[n.Interface].Router == vr && n.IP == dst && n.HostRoute &&
			(!found || conf.rifOrder(n.Interface) < conf.rifOrder(best.Interface)) {
			best, found = n, true
		}
	}
	return best, found
}

// rifOrder sorts router interfaces by the object below them, and sub-ports after the interface of the whole port.
func (conf *settings) rifOrder(rif config.ID) int {
	return conf.orderOf(conf.rifs[rif].On)*4096 + int(conf.rifs[rif].OuterVLAN)
}

func (conf *settings) orderOf(on config.ID) int {
	if p, ok := conf.ports[on]; ok {
		return int(p.Port)
	}
	if l, ok := conf.lags[on]; ok {
		if len(l.Members) == 0 {
			return 2 << 16
		}
		return 1<<16 + int(l.Members[0].Port)
	}
	return 3<<16 + int(conf.vlans[on].VID)
}

// follow sends a packet along a route.
func (c *Chip) follow(pk *packet, r config.Route) drop.Reason {
	conf, bits := pk.conf, uint8(0)
	if r.Prefix.IsValid() { // a route from an ACL entry has none
		bits = uint8(r.Prefix.Bits())
	} else {
		c.Routing("by an ACL entry")
	}
	if does := doesOf(r.Action); does.copy && !does.drop {
		c.Routing("copied to the CPU")
	}
	if group, ok := conf.hopGroups[r.NextHop]; ok {
		hop, ok := conf.chooseHop(group, pk)
		if !ok {
			pk.ran("chip.next_hop", false)
			c.Routing("to a group without members")
			return drop.NoNextHop
		}
		c.Routing(map[bool]string{false: "to a group of one", true: "to a group of several"}[len(group.Members) > 1])
		return c.toNeighbor(pk, hop.Interface, hop.IP, bits)
	}
	if hop, ok := conf.nextHops[r.NextHop]; ok {
		c.Routing("to a next hop")
		return c.toNeighbor(pk, hop.Interface, hop.IP, bits)
	}
	if rif, ok := conf.rifs[r.NextHop]; ok { // a connected subnet
		dst := r.Prefix.Addr()
		for _, n := range conf.Neighbors {
			if r.Prefix.IsSingleIP() && rif.Router == r.Router && n.Interface == rif.ID && n.IP == dst && n.HostRoute {
				c.Routing("to a neighbour's own address")
				return c.toNeighbor(pk, rif.ID, dst, bits)
			}
		}
		pk.ran("chip.next_hop", false)
		c.Routing("to a subnet")
		return conf.unknownNeighbor(pk, rif)
	}
	c.Routing("to no next hop")
	return drop.Route
}

// chooseHop returns the next hop of a flow. Each hop owns a range of the hash in proportion to its weight.
func (conf *settings) chooseHop(g config.HopGroup, pk *packet) (config.NextHop, bool) {
	total := uint64(0)
	for _, m := range g.Members {
		total += uint64(m.Weight)
	}
	if total == 0 {
		return config.NextHop{}, false
	}
	x := uint64(pk.hashed(conf.Switch.ECMPHash, 1<<16)) % total
	for _, m := range g.Members {
		if x < uint64(m.Weight) {
			return conf.nextHops[m.NextHop], true
		}
		x -= uint64(m.Weight)
	}
	panic("reference: a hash beyond all weights")
}

func (conf *settings) unknownNeighbor(pk *packet, rif config.Interface) drop.Reason {
	does, _, set := conf.trapOf(config.TrapNeighborMiss)
	if !set {
		does = doesOf(rif.Missed)
	}
	pk.trapAs(config.TrapNeighborMiss, does)
	return drop.NoNeighbor
}

// toNeighbor sends a packet to an address that is reached through a router interface. bits is the length of the
// matching prefix.
func (c *Chip) toNeighbor(pk *packet, out config.ID, ip netip.Addr, bits uint8) drop.Reason {
	conf := pk.conf
	rif := conf.rifs[out]
	var n *config.Neighbor
	for i := range conf.Neighbors {
		if x := &conf.Neighbors[i]; x.Interface == out && x.IP == ip {
			n = x
		}
	}
	pk.ran("chip.next_hop", n != nil)
	pk.findHop(rif, ip, n)
	if n == nil {
		c.Routing("to an unknown neighbour")
		return conf.unknownNeighbor(pk, rif)
	}
	switch pk.h.ip.size - int(rif.MTU) {
	case -1, 0, 1:
		c.Routing(fmt.Sprintf("%+d bytes to the MTU", pk.h.ip.size-int(rif.MTU)))
	}
	does := doesOf(n.Action)
	pk.effects = pk.effects.or(does)
	switch {
	case does.drop:
		return drop.Neighbor
	case !rifUp(rif, pk.h.ip.version == 4):
		return drop.RouterOutDown
	case out == pk.router && !rif.Loopback && !pk.decapsulated:
		return drop.SameInterface
	case pk.h.ip.size > int(rif.MTU):
		c.countRIF(out, rifOutError, pk)
		pk.tooLong()
		conf.trapPacket(pk, config.TrapL3MTU)
		return drop.L3MTU
	}
	pk.routed = &routed{rif, n.MAC, rif.MAC, int(rif.MTU), ip, bits}
	pk.source, pk.vid = config.None, 0 // it may leave by the port where it arrived
	why := drop.NoDestination
	if vlan, ok := conf.vlans[rif.On]; ok {
		pk.vid = vlan.VID
		why = c.toAddress(pk, vlan, mac(n.MAC[:]))
	} else {
		pk.kind, pk.to = conf.destination(rif.On), rif.On
	}
	if pk.kind == toVLAN && mac(n.MAC[:]) == 0xffffffffffff {
		c.Routing("to the broadcast address of a VLAN")
	}
	if pk.kind != nowhere {
		c.countRIF(out, rifOut, pk)
		c.Routing(pk.leavesBy())
	}
	return why
}

// leavesBy returns where a packet that routing forwards leaves, for reports.
func (pk *packet) leavesBy() string {
	if _, ok := pk.conf.lags[pk.to]; ok {
		return "out of a LAG"
	}
	if _, ok := pk.conf.ports[pk.to]; ok {
		return "out of a port"
	}
	return map[bool]string{false: "to a bridge port of a VLAN", true: "flooded in a VLAN"}[pk.kind == toVLAN]
}

// doesOf returns the effects of a row's packet action.
func doesOf(a config.PacketAction) effects { return packetAction(a) } // in the order of SAI

func rifUp(r config.Interface, v4 bool) bool { return v4 && r.Up4 || !v4 && r.Up6 }

// routable reports whether a packet may be routed. Its IP header is well-formed, with a correct length and checksum,
// after at most one tag. Its addresses may be routed.
func routable(pk *packet) bool {
	ip := pk.h.ip
	if ip == nil || ip.endless || len(pk.h.tags) > 1 || len(pk.h.tags) == 1 && !pk.tagged {
		return false
	}
	src, dst := netip.AddrFrom16(ip.src), netip.AddrFrom16(ip.dst)
	if ip.version == 4 {
		src, dst = netip.AddrFrom4([4]byte(ip.src[12:])), netip.AddrFrom4([4]byte(ip.dst[12:]))
		// A checksum of 0 may be written as 0xffff too: both are zero in one's complement (RFC 1071).
		header := pk.data[ip.at : ip.at+ip.head]
		if sum := word(header, 10); sum%0xffff != checksum(header)%0xffff {
			return false
		}
	}
	return mayBeRouted(src) && mayBeRouted(dst)
}

// mayBeRouted reports whether packets from and to an address may be routed.
func mayBeRouted(a netip.Addr) bool {
	if a.Is4() && (a.As4()[0] == 0 || a.As4() == [4]byte{255, 255, 255, 255}) {
		return false
	}
	return !a.IsMulticast() && !a.IsLoopback() && !a.IsUnspecified()
}

// ofOneLink reports whether a packet has an IPv6 link-local address, which routers do not forward.
func ofOneLink(pk *packet) bool {
	ip := pk.h.ip
	src, dst := netip.AddrFrom16(ip.src), netip.AddrFrom16(ip.dst)
	return ip.version == 6 && (src.IsLinkLocalUnicast() || dst.IsLinkLocalUnicast())
}

// checksum returns the checksum of RFC 791 over an IPv4 header, without its own field.
func checksum(header []byte) uint16 {
	sum := 0
	for i := 0; i < len(header); i += 2 {
		if i != 10 {
			sum += int(header[i])<<8 + int(header[i+1])
		}
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}
