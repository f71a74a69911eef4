package reference_test

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"tamtam/internal/randtest"
	"tamtam/sai"
)

// isSubPort reports whether the case of a seed may have sub-ports and tunnels that end at the chip. No test used seeds
// between 70,000 and 80,000 before.
func isSubPort(seed uint64) bool {
	return seed >= 70_000 && seed < 80_000 || seed >= 1_000_000_000 && seed%13 == 7
}

// subPortCases are cases of the gate with sub-ports and tunnels. In five of them most packets are routed.
var subPortCases = []randtest.Cases{{Seed: 70_000, Count: 20}}

// furnishSubPorts makes sub-ports of some routed ports and LAGs, and of ports that are nothing else.
func (g *gen) furnishSubPorts() {
	if !g.subPorts {
		return
	}
	for range 3 + g.IntN(6) {
		g.newSubPort()
	}
	for range 2 {
		if p := g.any(sai.ObjectTypePort); g.chance(50) {
			g.unbridge(p)
			g.subPortOn(p)
		}
	}
	for range 2 {
		g.newTunnel()
	}
	for range 8 {
		g.newTunnelEnd()
	}
}

// newTunnel makes a tunnel. Its inner packets continue at a loopback, or at any router interface.
func (g *gen) newTunnel() {
	overlay := g.create(sai.ObjectTypeRouterInterface, sai.RouterInterfaceAttrType, sai.RouterInterfaceTypeLoopback,
		sai.RouterInterfaceAttrVirtualRouterID, g.vr())
	if overlay == sai.NullOID || g.chance(20) {
		overlay = g.any(sai.ObjectTypeRouterInterface)
	}
	with := []any{sai.TunnelAttrType, sai.TunnelTypeIpinip, sai.TunnelAttrOverlayInterface, overlay,
		sai.TunnelAttrUnderlayInterface, overlay, sai.TunnelAttrDecapTTLMode, g.ttlMode(),
		sai.TunnelAttrDecapDSCPMode, g.dscpMode()}
	if g.chance(50) {
		with = append(with, sai.TunnelAttrDecapECNMode, sai.TunnelDecapECNModeCopyFromOuter)
	}
	g.create(sai.ObjectTypeTunnel, with...)
}

func (g *gen) ttlMode() sai.Enum {
	return pick(g, sai.TunnelTTLModeUniformModel, sai.TunnelTTLModePipeModel)
}

func (g *gen) dscpMode() sai.Enum {
	return pick(g, sai.TunnelDSCPModeUniformModel, sai.TunnelDSCPModePipeModel)
}

// newTunnelEnd makes an end of a tunnel at an address of the switch, mostly for all sources.
func (g *gen) newTunnelEnd() {
	dst, src := netip.AddrFrom4(g.own4()), netip.AddrFrom4(g.ip4())
	if g.chance(35) {
		dst, src = netip.AddrFrom16(g.own6()), netip.AddrFrom16(g.ip6())
	}
	with := []any{sai.TunnelTermTableEntryAttrVrID, g.vr(), sai.TunnelTermTableEntryAttrDstIP, sai.IP{Addr: dst},
		sai.TunnelTermTableEntryAttrTunnelType, sai.TunnelTypeIpinip, sai.TunnelTermTableEntryAttrActionTunnelID,
		g.any(sai.ObjectTypeTunnel)}
	if g.chance(30) {
		with = append(with, sai.TunnelTermTableEntryAttrType, sai.TunnelTermTableEntryTypeP2p,
			sai.TunnelTermTableEntryAttrSrcIP, sai.IP{Addr: src})
	} else {
		with = append(with, sai.TunnelTermTableEntryAttrType, sai.TunnelTermTableEntryTypeP2mp)
	}
	g.create(sai.ObjectTypeTunnelTermTableEntry, with...)
}

// own6 does the same as own4 for IPv6.
func (g *gen) own6() [16]byte { return [16]byte{0x20, 1, 0xd, 0xb8, 15: byte(9 + g.IntN(4))} }

// tunnelled returns a frame whose IP packet at an offset is in another one to an address of the switch, in some cases
// damaged.
func (g *gen) tunnelled(b []byte, at int) []byte {
	inner, proto := slices.Clone(b[at:]), byte(4)
	if b[at-2] == 0x86 {
		proto = 41
	}
	switch g.IntN(16) {
	case 0:
		inner[g.IntN(min(len(inner), 40))] ^= byte(1 << g.IntN(8))
	case 1:
		inner = inner[:g.IntN(len(inner))]
	case 2:
		inner = append(inner, zeros[:g.IntN(20)]...)
	case 3:
		proto = pick[byte](g, 4, 41, 47)
	}
	b = b[:at-2]
	tos, ttl := byte(g.IntN(256)), pick[byte](g, 64, 64, 64, 0, 1, 2, 255)
	if g.chance(65) {
		words, fragment := 5, pick[uint16](g, 0, 0, 0, 0x4000, 0x4000, 0x4000, 0x4000, 0x2000, 1)
		if g.chance(5) {
			words += g.IntN(3)
		}
		src, dst := g.ip4(), g.own4()
		b = append(b, 8, 0, byte(0x40+words), tos, 0, 0, 0, 1, byte(fragment>>8), byte(fragment), ttl, proto, 0, 0)
		b = append(append(append(b, src[:]...), dst[:]...), zeros[:4*words-20]...)
		binary.BigEndian.PutUint16(b[at+2:], uint16(4*words+len(inner)))
		binary.BigEndian.PutUint16(b[at+10:], checksum(b[at:at+4*words]))
		return append(b, inner...)
	}
	src, dst := g.ip6(), g.own6()
	b = append(b, 0x86, 0xdd, 0x60|tos>>4, tos<<4, 0, 7, byte(len(inner)>>8), byte(len(inner)), proto, ttl)
	b = append(append(b, src[:]...), dst[:]...)
	if g.chance(5) { // an options header in between
		b[at+6] = 60
		inner = append([]byte{proto, 0, 1, 4, 0, 0, 0, 0}, inner...)
		binary.BigEndian.PutUint16(b[at+4:], uint16(len(inner)))
	}
	return append(b, inner...)
}

// newSubPort makes a sub-port of any port or LAG that is not bridged.
func (g *gen) newSubPort() {
	g.subPortOn(g.any(pick(g, sai.ObjectTypePort, sai.ObjectTypePort, sai.ObjectTypeLAG)))
}

func (g *gen) subPortOn(port sai.OID) {
	with := []any{sai.RouterInterfaceAttrType, sai.RouterInterfaceTypeSubPort, sai.RouterInterfaceAttrVirtualRouterID,
		g.vr(), sai.RouterInterfaceAttrPortID, port, sai.RouterInterfaceAttrOuterVLANID,
		sai.Uint(pick(g, 1, 2, 3, 3, 100, 4094))}
	if g.chance(30) {
		with = append(with, sai.RouterInterfaceAttrSrcMACAddress, g.interfaceMAC())
	}
	g.create(sai.ObjectTypeRouterInterface, with...)
}

// changeSubPorts makes a sub-port, removes a router interface without neighbours and routes, or changes tunnels.
func (g *gen) changeSubPorts() {
	if !g.subPorts {
		return
	}
	switch g.IntN(16) {
	case 0, 1:
		g.newSubPort()
	case 2, 3:
		g.removeAny(sai.ObjectTypeRouterInterface)
	case 4:
		g.newTunnel()
	case 5:
		g.newTunnelEnd()
	case 6:
		g.removeAny(sai.ObjectTypeTunnelTermTableEntry)
	case 7:
		g.removeAny(sai.ObjectTypeTunnel)
	case 8:
		g.set(sai.ObjectTypeTunnel, sai.TunnelAttrDecapTTLMode, g.ttlMode())
	case 9:
		g.set(sai.ObjectTypeTunnel, sai.TunnelAttrDecapDSCPMode, g.dscpMode())
	}
}

// tags returns the VLANs of which the tag of a routed frame has one, or nil if the frame has no tag.
func (g *gen) tags() []int {
	switch {
	case g.subPorts && g.chance(50):
		return []int{0, 1, 2, 3, 3, 100, 4094}
	case !g.subPorts && g.chance(6):
		return []int{0, 0, 1, 2, 3}
	}
	return nil
}
