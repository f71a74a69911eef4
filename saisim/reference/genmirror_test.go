package reference_test

import (
	"net/netip"

	"tamtam/sai"
)

// mirrorOp changes mirror sessions and the ports that use them.
func (g *gen) mirrorOp() {
	const t = sai.ObjectTypeMirrorSession
	switch g.IntN(8) {
	case 0:
		g.removeAny(t)
	case 1:
		g.set(t, pick(g, sai.MirrorSessionAttrTruncateSize, sai.MirrorSessionAttrTTL, sai.MirrorSessionAttrVLANID),
			sai.Uint(20+g.IntN(100)))
	case 2:
		g.set(t, sai.MirrorSessionAttrMonitorPort, g.any(pick(g, sai.ObjectTypePort, sai.ObjectTypeLAG)))
	case 3, 4:
		var sessions sai.OIDs
		for range g.IntN(3) {
			sessions = append(sessions, g.any(t))
		}
		g.set(sai.ObjectTypePort, pick(g, sai.PortAttrIngressMirrorSession, sai.PortAttrEgressMirrorSession), sessions)
	default:
		g.create(t, g.session()...)
	}
}

// session returns the attributes of a mirror session.
func (g *gen) session() []any {
	typ := pick(g, sai.MirrorSessionTypeLocal, sai.MirrorSessionTypeRemote, sai.MirrorSessionTypeEnhancedRemote,
		sai.MirrorSessionTypeEnhancedRemote)
	records := g.recording && g.chance(75)
	if records || g.chance(10) {
		typ = pick(g, sai.MirrorSessionTypeEnhancedRemote, sai.MirrorSessionTypeSflow, sai.MirrorSessionTypeSflow)
	}
	with := []any{sai.MirrorSessionAttrType, typ, sai.MirrorSessionAttrMonitorPort,
		g.any(pick(g, sai.ObjectTypePort, sai.ObjectTypePort, sai.ObjectTypeLAG)),
		sai.MirrorSessionAttrTruncateSize, sai.Uint(pick(g, 0, 0, 64, 100, 200)), sai.MirrorSessionAttrTC,
		sai.Uint(g.IntN(4))}
	tag := []any{sai.MirrorSessionAttrVLANTpid, sai.Uint(pick(g, 0x8100, 0x88a8)), sai.MirrorSessionAttrVLANID,
		sai.Uint(1 + g.IntN(100)),
		sai.MirrorSessionAttrVLANPri, sai.Uint(g.IntN(8)), sai.MirrorSessionAttrVLANCfi, sai.Uint(g.IntN(2))}
	if typ == sai.MirrorSessionTypeRemote {
		return append(with, tag...)
	}
	if records {
		with = append(with, sai.MirrorSessionAttrLabel, sai.Text(g.recordLabel()))
	}
	if typ == sai.MirrorSessionTypeSflow {
		with = append(with, sai.MirrorSessionAttrUDPSrcPort, sai.Uint(g.IntN(1<<16)), sai.MirrorSessionAttrUDPDstPort,
			sai.Uint(g.IntN(1<<16)),
			sai.MirrorSessionAttrTTL, sai.Uint(g.IntN(256)))
	}
	if typ != sai.MirrorSessionTypeEnhancedRemote {
		return with
	}
	version, src, dst := 4, netip.AddrFrom4(g.ip4()), netip.AddrFrom4(g.ip4())
	if g.chance(40) {
		version, src, dst = 6, netip.AddrFrom16(g.ip6()), netip.AddrFrom16(g.ip6())
	}
	encap := pick(g, sai.ErspanEncapsulationTypeIi, sai.ErspanEncapsulationTypeIii,
		sai.ErspanEncapsulationTypeMirrorL3GRETunnel)
	gre := map[sai.Enum]uint{sai.ErspanEncapsulationTypeIi: 0x88be, sai.ErspanEncapsulationTypeIii: 0x22eb,
		sai.ErspanEncapsulationTypeMirrorL3GRETunnel: uint(pick(g, 0x88be, 0x6558, 0x8949, 0x9000))}[encap]
	with = append(with, sai.MirrorSessionAttrErspanEncapsulationType, encap,
		sai.MirrorSessionAttrIphdrVersion, sai.Uint(version), sai.MirrorSessionAttrSrcIPAddress, sai.IP{Addr: src},
		sai.MirrorSessionAttrDstIPAddress, sai.IP{Addr: dst}, sai.MirrorSessionAttrTOS, sai.Uint(g.IntN(256)),
		sai.MirrorSessionAttrTTL, sai.Uint(g.IntN(256)),
		sai.MirrorSessionAttrSrcMACAddress, sai.MAC(g.host()), sai.MirrorSessionAttrDstMACAddress, sai.MAC(g.host()),
		sai.MirrorSessionAttrGREProtocolType, sai.Uint(gre))
	if encap != sai.ErspanEncapsulationTypeMirrorL3GRETunnel {
		with = append(with, sai.MirrorSessionAttrErspanSessionID, sai.Uint(g.IntN(1024)))
	}
	if g.chance(30) {
		with = append(append(with, sai.MirrorSessionAttrVLANHeaderValid, sai.Bool(true)), tag...)
	}
	return with
}
