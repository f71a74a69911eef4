package reference_test

import (
	"context"
	"net/netip"

	"tamtam/sai"
)

// furnishRouter makes router interfaces with neighbours, next hops and routes, so that most packets to the router reach
// a destination.
func (g *gen) furnishRouter() {
	g.furnishVRFs()
	if g.routed {
		g.furnishRouted()
		return
	}
	for range 1 + g.IntN(3) {
		g.create(sai.ObjectTypeRouterInterface, sai.RouterInterfaceAttrType, sai.RouterInterfaceTypeVLAN,
			sai.RouterInterfaceAttrVirtualRouterID, g.vr(), sai.RouterInterfaceAttrVLANID, g.any(sai.ObjectTypeVLAN))
	}
	for range 1 + g.IntN(3) {
		p := g.any(pick(g, sai.ObjectTypePort, sai.ObjectTypePort, sai.ObjectTypeLAG))
		g.unbridge(p)
		g.rifOn(p)
	}
	g.furnishSubPorts()
	for range 40 {
		g.routeOp()
	}
}

func (g *gen) rifOn(port sai.OID) {
	g.create(sai.ObjectTypeRouterInterface, sai.RouterInterfaceAttrType, sai.RouterInterfaceTypePort,
		sai.RouterInterfaceAttrVirtualRouterID, g.vr(), sai.RouterInterfaceAttrPortID, port)
}

// prefix returns one of a small set that contains the traffic's addresses.
func (g *gen) prefix() netip.Prefix {
	if g.routed {
		return g.nearPrefix()
	}
	if g.chance(50) {
		a, bits := netip.AddrFrom4(g.ip4()), pick(g, 0, 8, 24, 29, 30, 31, 32, 32)
		p, _ := a.Prefix(bits)
		return p
	}
	p, _ := netip.AddrFrom16(g.ip6()).Prefix(pick(g, 0, 16, 64, 65, 126, 127, 128, 128))
	return p
}

func (g *gen) address() netip.Addr {
	if g.routed {
		return g.nearAddress()
	}
	if g.chance(50) {
		return netip.AddrFrom4(g.ip4())
	}
	return netip.AddrFrom16(g.ip6())
}

// routeOp changes router interfaces, neighbours, next hops, groups and routes.
func (g *gen) routeOp() {
	const rif = sai.ObjectTypeRouterInterface
	switch g.IntN(16) {
	case 0:
		g.rifOp()
	case 1:
		addr, rif := g.address(), g.any(rif)
		g.createNextHop(rif, addr)
		if g.routed && g.chance(80) {
			g.createNeighbor(rif, addr)
		}
	case 2:
		g.create(sai.ObjectTypeNextHopGroup, sai.NextHopGroupAttrType, sai.NextHopGroupTypeDynamicUnorderedEcmp)
	case 3, 4:
		g.create(sai.ObjectTypeNextHopGroupMember, sai.NextHopGroupMemberAttrNextHopGroupID,
			g.any(sai.ObjectTypeNextHopGroup),
			sai.NextHopGroupMemberAttrNextHopID, g.any(sai.ObjectTypeNextHop), sai.NextHopGroupMemberAttrWeight,
			sai.Uint(1+g.IntN(3)))
	case 5:
		g.removeAny(pick(g, sai.ObjectTypeNextHop, sai.ObjectTypeNextHopGroup, sai.ObjectTypeNextHopGroupMember, rif))
	case 6, 7, 8, 9:
		g.neighborOp()
	default:
		g.routeEntryOp()
	}
}

func (g *gen) rifOp() {
	const rif = sai.ObjectTypeRouterInterface
	switch g.IntN(6) {
	case 0:
		g.set(rif, sai.RouterInterfaceAttrMTU, g.mtu())
	case 1:
		g.set(rif, pick(g, sai.RouterInterfaceAttrAdminV4State, sai.RouterInterfaceAttrAdminV6State), g.bool(80))
	case 2:
		g.set(rif, sai.RouterInterfaceAttrNeighborMissPacketAction, g.packetAction())
	case 3:
		g.set(rif, sai.RouterInterfaceAttrLoopbackPacketAction, pick(g, sai.PacketActionForward, sai.PacketActionDrop))
	case 4:
		g.setOf(sai.ObjectTypeVirtualRouter, g.vr(), pick(g, sai.VirtualRouterAttrAdminV4State,
			sai.VirtualRouterAttrAdminV6State), g.bool(90))
	default:
		g.create(rif, sai.RouterInterfaceAttrType, sai.RouterInterfaceTypeVLAN, sai.RouterInterfaceAttrVirtualRouterID,
			g.vr(), sai.RouterInterfaceAttrVLANID, g.any(sai.ObjectTypeVLAN), sai.RouterInterfaceAttrSrcMACAddress,
			sai.MAC{2, 0, 0, 0, 0, 0xab})
	}
}

func (g *gen) neighborOp() {
	ctx := context.Background()
	key := sai.NeighborEntry{Switch: g.sw, RIF: g.any(sai.ObjectTypeRouterInterface), IP: g.address()}
	switch g.IntN(6) {
	case 0:
		_ = g.chip.Remove(ctx, sai.EntryKey(key))
	case 1:
		_ = g.chip.Set(ctx, sai.EntryKey(key), sai.Attr{ID: sai.NeighborEntryAttrDstMACAddress, Value: sai.MAC(g.host())})
	default:
		g.createNeighbor(key.RIF, key.IP)
	}
}

func (g *gen) createNextHop(rif sai.OID, ip netip.Addr) {
	g.create(sai.ObjectTypeNextHop, sai.NextHopAttrType, sai.NextHopTypeIP, sai.NextHopAttrIP, sai.IP{Addr: ip},
		sai.NextHopAttrRouterInterfaceID, rif)
}

func (g *gen) createNeighbor(rif sai.OID, ip netip.Addr) {
	mac, noHostRoute := sai.MAC(g.host()), 20
	action := pick(g, sai.PacketActionForward, sai.PacketActionForward, g.packetAction())
	if g.routed { // otherwise most routes would lead nowhere
		noHostRoute, action = 70, g.forwardOr(8)
	}
	_ = g.chip.CreateEntry(context.Background(), sai.NeighborEntry{Switch: g.sw, RIF: rif, IP: ip},
		attrs(sai.NeighborEntryAttrDstMACAddress, mac, sai.NeighborEntryAttrPacketAction, action,
			sai.NeighborEntryAttrNoHostRoute, g.bool(noHostRoute)))
}

func (g *gen) routeEntryOp() {
	ctx := context.Background()
	key := sai.RouteEntry{Switch: g.sw, VR: g.vr(), Dest: g.prefix()}
	hop := g.any(pick(g, sai.ObjectTypeNextHop, sai.ObjectTypeNextHop, sai.ObjectTypeNextHopGroup,
		sai.ObjectTypeRouterInterface))
	if g.chance(10) {
		hop = pick(g, g.cpu, sai.NullOID)
	}
	action := pick(g, sai.PacketActionForward, sai.PacketActionForward, sai.PacketActionForward, g.packetAction())
	if g.routed {
		hop, action = pick(g, hop, g.hop()), g.forwardOr(8)
	}
	switch g.IntN(8) {
	case 0:
		_ = g.chip.Remove(ctx, sai.EntryKey(key))
	case 1:
		_ = g.chip.Set(ctx, sai.EntryKey(key), sai.Attr{ID: sai.RouteEntryAttrNextHopID, Value: hop})
	case 2:
		_ = g.chip.Set(ctx, sai.EntryKey(key), sai.Attr{ID: sai.RouteEntryAttrPacketAction, Value: action})
	default:
		g.createRoute(key.Dest, action, hop)
	}
}

func (g *gen) createRoute(dest netip.Prefix, action sai.Enum, hop sai.OID) {
	_ = g.chip.CreateEntry(context.Background(), sai.RouteEntry{Switch: g.sw, VR: g.vr(), Dest: dest},
		attrs(sai.RouteEntryAttrPacketAction, action, sai.RouteEntryAttrNextHopID, hop))
}
