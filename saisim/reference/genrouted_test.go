package reference_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"

	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/saisim"
)

// isRouted reports whether most packets of the case of a seed are routed. This holds for three seeds of 13, and for one
// more of those with sub-ports. Seeds below 3000, and those that "make outputs" compares with older commits, have no
// such case.
func isRouted(seed uint64) bool {
	return (seed >= 2_000_000 || seed >= 3000 && seed < 10_000 || isAdded(seed) || isVRF(seed) || isSubPort(seed) ||
		isBuffered(seed)) && (seed%13 < 3 || seed%13 == 7 && isSubPort(seed))
}

// routedCases returns n times three cases of the gate in which most packets are routed.
func routedCases(n uint64) (cases []randtest.Cases) {
	const first = 3003
	for i := range n {
		cases = append(cases, randtest.Cases{Seed: first + 13*i, Count: 3})
	}
	return cases
}

// routings returns the events of routing that must occur: destinations, edges, prefixes of all lengths, and paths
// through the engine.
func routings() (all []string) {
	for _, what := range []string{
		"TTL 0", "TTL 1", "TTL 2", "TTL 255", "-1 bytes to the MTU", "+0 bytes to the MTU", "+1 bytes to the MTU",
		"by an ACL entry", "copied to the CPU", "to a group of one", "to a group of several", "to a group without members",
		"to a neighbour's own address", "to a next hop", "to a subnet", "to an unknown neighbour", "to no next hop",
		"out of a port", "out of a LAG", "to a bridge port of a VLAN", "flooded in a VLAN",
		"to the broadcast address of a VLAN", "out of a tunnel", "damaged in a tunnel",
	} {
		all = append(all, "route: "+what)
	}
	for bits := range 33 {
		all = append(all, fmt.Sprintf("route: IPv4 prefix of %d bits", bits))
	}
	for _, bits := range []int{0, 64, 127, 128} {
		all = append(all, fmt.Sprintf("route: IPv6 prefix of %d bits", bits))
	}
	for _, path := range []string{"in windows", "event by event"} {
		all = append(all, "path: "+path, "path: routed, "+path)
	}
	return all
}

// routedOf returns the variant of a seed, routed if isRouted holds. One of three routed cases has all other features,
// and one has few. The third has almost none and no observer, so that its packets take the shortest path that the
// engine has for routed packets.
func routedOf(seed uint64, v variant) variant {
	if v.routed = isRouted(seed); !v.routed {
		return v
	}
	v.usual, v.bare = seed%13 > 0, seed%13 == 2
	if v.bare {
		v.blind, v.keeps, v.watched = true, false, false
		v.sampled, v.monitored, v.analysed, v.wrapped, v.policed = nil, nil, nil, nil, nil
	}
	return v
}

// routedMTUs are the MTUs of router interfaces in routed cases. Packets exist that are as long, and a byte shorter and
// longer.
var routedMTUs = []int{1500, 1500, 1500, 9100, 72, 128, 296, 440}

// mtu returns an MTU for a router interface.
func (g *gen) mtu() sai.Uint {
	if g.routed {
		return sai.Uint(pick(g, routedMTUs...))
	}
	return sai.Uint(68 + g.IntN(1600))
}

// near4 returns an address that begins like those of ip4, for a random number of bits. So prefixes of all lengths
// contain some of the addresses, and not others.
func (g *gen) near4() [4]byte {
	a := g.ip4()
	if bit := g.IntN(64); bit < 32 {
		a[bit/8] ^= 0x80 >> (bit % 8)
	}
	return a
}

// near6 does the same as near4 with ip6.
func (g *gen) near6() [16]byte {
	a := g.ip6()
	if bit := g.IntN(256); bit < 128 {
		a[bit/8] ^= 0x80 >> (bit % 8)
	}
	return a
}

// own4 returns one of the addresses that the switch itself may have. They are next to those of ip4.
func (g *gen) own4() [4]byte { return [4]byte{10, 0, 0, byte(9 + g.IntN(4))} }

// nearPrefix returns a prefix of any length around the addresses of near4 or near6.
func (g *gen) nearPrefix() netip.Prefix {
	a, bits := netip.AddrFrom4(g.near4()), pick(g, 32, g.IntN(33), g.IntN(33), 25+g.IntN(8))
	if g.chance(35) {
		a, bits = netip.AddrFrom16(g.near6()), pick(g, 128, g.IntN(129), g.IntN(129), 121+g.IntN(8))
	}
	if g.chance(6) {
		bits = 0
	}
	p, _ := a.Prefix(bits)
	return p
}

func (g *gen) nearAddress() netip.Addr {
	if g.chance(65) {
		return netip.AddrFrom4(g.near4())
	}
	return netip.AddrFrom16(g.near6())
}

// furnishRouted does the same as furnishRouter for a case in which most packets are routed. Some ports are router
// interfaces, others are in LAGs that are router interfaces, and most VLANs of the rest have one.
func (g *gen) furnishRouted() {
	lags, made := make([]sai.OID, 2), 0
	routers, members := 4, 7 // of ten ports
	switch {
	case g.short: // most ports are in VLANs
		routers, members = 2, 3
	case g.bare:
		routers, members = 6, 8
	}
	for i, port := range append([]sai.OID(nil), g.pool[sai.ObjectTypePort]...) {
		switch n := g.IntN(10); {
		case n < routers || i == 0:
			g.unbridge(port)
			g.rifOn(port)
		case n < members:
			g.unbridge(port)
			lag := &lags[made%2]
			if made++; *lag == sai.NullOID {
				*lag = g.create(sai.ObjectTypeLAG)
				g.rifOn(*lag)
			}
			g.create(sai.ObjectTypeLAGMember, sai.LAGMemberAttrLAGID, *lag, sai.LAGMemberAttrPortID, port)
		}
	}
	for _, vlan := range g.pool[sai.ObjectTypeVLAN] {
		if g.chance(75) {
			g.create(sai.ObjectTypeRouterInterface, sai.RouterInterfaceAttrType, sai.RouterInterfaceTypeVLAN,
				sai.RouterInterfaceAttrVirtualRouterID, g.vr(), sai.RouterInterfaceAttrVLANID, vlan)
		}
	}
	g.furnishSubPorts()
	for _, rif := range g.pool[sai.ObjectTypeRouterInterface] {
		g.furnishInterface(rif)
	}
	for range 4 {
		g.hopGroup()
	}
	for _, all := range defaultRoutes {
		if g.chance(95) {
			g.createRoute(all, sai.PacketActionForward, g.hop())
		}
	}
	for bits := range 129 { // routes around one address, so that many lengths are the longest for some packets
		if bits <= 32 && g.chance(25) {
			p, _ := netip.AddrFrom4(g.ip4()).Prefix(bits)
			g.createRoute(p, g.forwardOr(8), g.hop())
		}
		if g.chance(8) {
			p, _ := netip.AddrFrom16(g.ip6()).Prefix(bits)
			g.createRoute(p, g.forwardOr(8), g.hop())
		}
	}
	for range 40 {
		g.routeOp()
	}
	for range 6 {
		g.fdbOp()
	}
	for _, port := range g.pool[sai.ObjectTypePort] {
		if g.chance(40) {
			g.setOf(sai.ObjectTypePort, port, sai.PortAttrQoSDefaultTC, sai.Uint(g.IntN(8)))
		}
	}
	if g.chance(40) {
		for range 4 {
			g.mapOp()
		}
	}
	if g.chance(40) {
		g.setWRED(g.any(sai.ObjectTypePort), g.markingWRED())
	}
	for range g.IntN(4) {
		g.routedTrap()
	}
	if g.chance(50) {
		g.redirectTable()
	}
}

// furnishInterface gives a router interface its addresses, neighbours and next hops.
func (g *gen) furnishInterface(rif sai.OID) {
	const t = sai.ObjectTypeRouterInterface
	if g.chance(40) {
		g.setOf(t, rif, sai.RouterInterfaceAttrSrcMACAddress, g.interfaceMAC())
	}
	if g.chance(40) {
		g.setOf(t, rif, sai.RouterInterfaceAttrMTU, g.mtu())
	}
	if g.chance(30) {
		g.setOf(t, rif, sai.RouterInterfaceAttrLoopbackPacketAction, sai.PacketActionDrop)
	}
	own := netip.AddrFrom4(g.own4())
	g.createRoute(netip.PrefixFrom(own, 32), sai.PacketActionForward, g.cpu)
	subnet, _ := own.Prefix(29 + g.IntN(3))
	g.createRoute(subnet, sai.PacketActionForward, rif)
	for range 3 + g.IntN(3) {
		addr := g.nearAddress()
		g.createNeighbor(rif, addr)
		if g.chance(85) {
			g.createNextHop(rif, addr)
		}
		if g.chance(15) { // mostly an interface where the neighbour is not
			g.createRoute(netip.PrefixFrom(addr, addr.BitLen()), sai.PacketActionForward,
				g.any(sai.ObjectTypeRouterInterface))
		}
	}
}

var defaultRoutes = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}

// hop returns a destination of a route, mostly a group.
func (g *gen) hop() sai.OID {
	return g.any(pick(g, sai.ObjectTypeNextHopGroup, sai.ObjectTypeNextHopGroup, sai.ObjectTypeNextHop))
}

// forwardOr returns an action that forwards, or in one of n cases any action.
func (g *gen) forwardOr(n int) sai.Enum {
	if any := g.packetAction(); g.IntN(n) == 0 {
		return any
	}
	return sai.PacketActionForward
}

// hopGroup makes a group with several members.
func (g *gen) hopGroup() {
	group := g.create(sai.ObjectTypeNextHopGroup, sai.NextHopGroupAttrType,
		sai.NextHopGroupTypeDynamicUnorderedEcmp)
	for range 1 + g.IntN(5) {
		g.create(sai.ObjectTypeNextHopGroupMember, sai.NextHopGroupMemberAttrNextHopGroupID, group,
			sai.NextHopGroupMemberAttrNextHopID, g.any(sai.ObjectTypeNextHop), sai.NextHopGroupMemberAttrWeight,
			sai.Uint(1+g.IntN(3)))
	}
}

// routedOp changes what routed packets need more often than anyOp does: members of groups, neighbours, routes, router
// interfaces, links and traps.
func (g *gen) routedOp() {
	switch g.IntN(18) {
	case 0:
		g.removeAny(sai.ObjectTypeNextHopGroupMember)
	case 1:
		g.hopGroup()
	case 2:
		g.routedTrap()
	case 3:
		g.set(sai.ObjectTypeRouterInterface, sai.RouterInterfaceAttrSrcMACAddress, g.interfaceMAC())
	case 4:
		g.set(sai.ObjectTypeRouterInterface, sai.RouterInterfaceAttrMTU, g.mtu())
	case 5:
		g.set(sai.ObjectTypeLAGMember, sai.LAGMemberAttrEgressDisable, g.bool(30))
	case 6:
		key := sai.RouteEntry{Switch: g.sw, VR: g.vr(), Dest: pick(g, defaultRoutes...)}
		_ = g.chip.Set(context.Background(), sai.EntryKey(key), sai.Attr{ID: sai.RouteEntryAttrPacketAction,
			Value: g.forwardOr(2)})
	case 7:
		g.set(sai.ObjectTypePort, pick(g, sai.PortAttrDropTagged, sai.PortAttrDropUntagged), g.bool(20))
	case 8:
		g.setOf(sai.ObjectTypeVirtualRouter, g.vr(), pick(g, sai.VirtualRouterAttrAdminV4State,
			sai.VirtualRouterAttrAdminV6State), g.bool(70))
	case 9, 10:
		g.set(sai.ObjectTypeRouterInterface, pick(g, sai.RouterInterfaceAttrAdminV4State,
			sai.RouterInterfaceAttrAdminV6State), g.bool(70))
	case 11:
		if g.chance(30) {
			g.hashing()
		}
		g.setOf(sai.ObjectTypeSwitch, g.sw, sai.SwitchAttrEcmpDefaultHashSeed, sai.Uint(g.Uint32()))
	default:
		g.routeOp()
	}
}

// interfaceMAC returns an address of a router interface.
func (g *gen) interfaceMAC() sai.MAC {
	return pick(g, ownMAC, sai.MAC{2, 0, 0, 0, 0, 0xab}, sai.MAC{2, 0, 0, 0, 0, 0xac})
}

// routedTrap makes a trap that routing applies, or changes one.
func (g *gen) routedTrap() {
	g.create(sai.ObjectTypeHostifTrap, sai.HostifTrapAttrTrapType, pick(g, sai.HostifTrapTypeTTLError,
		sai.HostifTrapTypeL3MTUError, sai.HostifTrapTypeIp2me, sai.HostifTrapTypeNeighborMiss),
		sai.HostifTrapAttrPacketAction, g.packetAction())
	g.set(sai.ObjectTypeHostifTrap, sai.HostifTrapAttrPacketAction, g.packetAction())
}

// redirectTable binds a table to a port, whose entries stamp packets, or route them to a next hop or a group.
func (g *gen) redirectTable() {
	table := g.create(sai.ObjectTypeACLTable, sai.ACLTableAttrACLStage, sai.ACLStageIngress,
		tableField(sai.ACLEntryAttrFieldL4DstPort), sai.Bool(true), tableField(sai.ACLEntryAttrFieldDSCP), sai.Bool(true))
	stamp := g.create(sai.ObjectTypeTAMInt, sai.TAMIntAttrType, sai.TAMIntTypeIfa1Tailstamp,
		sai.TAMIntAttrDeviceID, sai.Uint(g.IntN(1000)), sai.TAMIntAttrIntPresenceType,
		sai.TAMIntPresenceTypeUndefined, sai.TAMIntAttrInline, sai.Bool(false))
	for range 3 {
		with := []any{sai.ACLEntryAttrTableID, table, sai.ACLEntryAttrPriority, sai.Uint(1 + g.IntN(5)),
			sai.ACLEntryAttrFieldL4DstPort, g.number(16, uint64(g.port()))}
		if g.chance(40) {
			with = append(with, sai.ACLEntryAttrActionTAMIntObject, sai.Do(stamp), sai.ACLEntryAttrActionIntInsert,
				sai.Do(sai.Bool(true)))
		} else {
			with = append(with, sai.ACLEntryAttrActionRedirect, sai.Do(g.hop()))
		}
		if g.chance(30) {
			with = append(with, sai.ACLEntryAttrActionSetTC, sai.Do(sai.Uint(g.IntN(8))))
		}
		g.create(sai.ObjectTypeACLEntry, with...)
	}
	g.set(sai.ObjectTypePort, sai.PortAttrIngressACL, table)
}

// routedFrame returns a frame from a host at the i-th port to a router interface.
func (g *gen) routedFrame(b []byte, i int) saisim.Frame {
	dst, src := [6]byte(ownMAC), g.host()
	src[5] = byte(1 + i)
	switch n := g.IntN(100); {
	case n < 8:
		dst = g.interfaceMAC()
	case n < 12:
		dst = g.dst()
	}
	if g.chance(2) {
		src[0] |= 1
	}
	b = append(append(b[:0], dst[:]...), src[:]...)
	if vids := g.tags(); vids != nil {
		b = binary.BigEndian.AppendUint16(b, 0x8100)
		b = binary.BigEndian.AppendUint16(b, uint16(g.IntN(8)<<13|pick(g, vids...)))
	}
	ttl := byte(64)
	if g.chance(10) {
		ttl = pick[byte](g, 0, 1, 2, 2, 255)
	}
	proto, size := pick[byte](g, 6, 6, 17, 17, 17), g.IntN(30)
	if g.chance(15) {
		size = g.size()
	}
	if g.chance(4) {
		proto = pick[byte](g, 1, 47, 58, 132)
	}
	edge := 0 // length of the IP packet; zero means any
	if g.chance(15) {
		edge = pick(g, routedMTUs[3:]...) + pick(g, -1, 0, 0, 1)
	}
	at := len(b) + 2
	if g.chance(80) {
		b = g.routed4(b, ttl, proto, size, edge)
	} else {
		b = g.routed6(b, ttl, proto, size, edge)
	}
	if g.subPorts && g.chance(30) {
		b = g.tunnelled(b, at)
	}
	if g.chance(90) {
		for len(b) < 60 {
			b = append(b, 0)
		}
	}
	f := saisim.Frame{Data: b, ID: g.Uint64()}
	switch g.IntN(80) {
	case 0: // damaged
		b[g.IntN(len(b))] ^= byte(1 << g.IntN(8))
	case 1: // truncated by a capture
		f.Len = len(b)
		f.Data = b[:14+g.IntN(len(b)-13)]
	case 2:
		g.otherLength(b)
	}
	return f
}

// room returns a payload with which a packet that begins at b[at] is as long as edge, if that is possible. b ends where
// its transport header begins.
func room(b []byte, at int, proto byte, size, edge int) int {
	header := map[byte]int{6: 20, 1: 4, 58: 4}[proto]
	if header == 0 {
		header = 8
	}
	if n := edge - (len(b) - at) - header; n >= 0 && n < len(zeros) {
		return n
	}
	return size
}

func (g *gen) routed4(b []byte, ttl, proto byte, size, edge int) []byte {
	at, head, fragment := len(b)+2, byte(0x45), uint16(0)
	if g.chance(20) {
		fragment = pick[uint16](g, 0x4000, 0x4000, 0x4000, 0x4000, 0x2000, 1)
	}
	src, dst := g.near4(), g.near4()
	if g.chance(4) {
		dst = g.own4()
	}
	b = append(b, 0x08, 0x00, head, g.dscp()<<2|pick[byte](g, 0, 0, 0, 1, 2, 3), 0, 0, byte(g.IntN(256)),
		byte(g.IntN(256)), byte(fragment>>8), byte(fragment), ttl, proto, 0, 0)
	b = append(append(b, src[:]...), dst[:]...)
	if g.chance(3) {
		b[at] += 2
		b = g.garbage(b, 8)
	}
	n := int(b[at]&15) * 4
	b = g.l4(b, proto, room(b, at, proto, size, edge))
	binary.BigEndian.PutUint16(b[at+2:], uint16(len(b)-at))
	binary.BigEndian.PutUint16(b[at+10:], checksum(b[at:at+n]))
	if g.chance(2) {
		b[at+10] ^= byte(1 << g.IntN(8))
	}
	return b
}

func (g *gen) routed6(b []byte, ttl, proto byte, size, edge int) []byte {
	at := len(b) + 2
	src, dst, tc := g.near6(), g.near6(), g.dscp()<<2|pick[byte](g, 0, 0, 0, 1, 2, 3)
	if g.chance(2) {
		dst = [16]byte{0: 0xfe, 1: 0x80, 15: 2}
	}
	b = append(b, 0x86, 0xdd, 0x60|tc>>4, tc<<4, 0, byte(g.IntN(4)), 0, 0, proto, ttl)
	b = append(append(b, src[:]...), dst[:]...)
	b = g.l4(b, proto, room(b, at, proto, size, edge))
	binary.BigEndian.PutUint16(b[at+4:], uint16(len(b)-at-40))
	return b
}
