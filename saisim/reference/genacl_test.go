package reference_test

import (
	"fmt"
	"net/netip"

	"tamtam/sai"
)

// stage returns the stage of a table or group.
func stage(ingress bool) sai.Enum {
	if ingress {
		return sai.ACLStageIngress
	}
	return sai.ACLStageEgress
}

// aclFields are the match fields with which tables are made. Ingress tables do not have the last two.
var aclFields = []sai.AttrID{
	sai.ACLEntryAttrFieldDstMAC, sai.ACLEntryAttrFieldSrcMAC, sai.ACLEntryAttrFieldEtherType,
	sai.ACLEntryAttrFieldOuterVLANPri, sai.ACLEntryAttrFieldOuterVLANCfi, sai.ACLEntryAttrFieldOuterVLANID,
	sai.ACLEntryAttrFieldIPProtocol, sai.ACLEntryAttrFieldIPv6NextHeader, sai.ACLEntryAttrFieldDSCP,
	sai.ACLEntryAttrFieldECN,
	sai.ACLEntryAttrFieldTOS, sai.ACLEntryAttrFieldTTL, sai.ACLEntryAttrFieldTCPFlags, sai.ACLEntryAttrFieldIPFlags,
	sai.ACLEntryAttrFieldL4SrcPort, sai.ACLEntryAttrFieldL4DstPort, sai.ACLEntryAttrFieldICMPType,
	sai.ACLEntryAttrFieldICMPCode,
	sai.ACLEntryAttrFieldICMPv6Type, sai.ACLEntryAttrFieldICMPv6Code, sai.ACLEntryAttrFieldIPIdentification,
	sai.ACLEntryAttrFieldSrcIP, sai.ACLEntryAttrFieldDstIP, sai.ACLEntryAttrFieldSrcIPv6, sai.ACLEntryAttrFieldDstIPv6,
	sai.ACLEntryAttrFieldInnerVLANPri, sai.ACLEntryAttrFieldInnerVLANCfi, sai.ACLEntryAttrFieldInnerVLANID,
	sai.ACLEntryAttrFieldIPv6FlowLabel, sai.ACLEntryAttrFieldTC, sai.ACLEntryAttrFieldACLUserMeta,
	sai.ACLEntryAttrFieldACLIPType,
	sai.ACLEntryAttrFieldACLIPFrag, sai.ACLEntryAttrFieldHasVLANTag, sai.ACLEntryAttrFieldPacketVLAN,
	sai.ACLEntryAttrFieldTAMIntType, sai.ACLEntryAttrFieldInPorts, sai.ACLEntryAttrFieldInPort,
	sai.ACLEntryAttrFieldSrcPort,
	sai.ACLEntryAttrFieldOutPorts, sai.ACLEntryAttrFieldOutPort,
}

// tableField returns the attribute of a table that enables an entry's field.
func tableField(entry sai.AttrID) sai.AttrID {
	return entry - sai.AttrID(sai.ObjectTypeACLEntry)<<32 + sai.AttrID(sai.ObjectTypeACLTable)<<32
}

// aclTableOp makes and removes tables, groups, counters, ranges and INT objects.
func (g *gen) aclTableOp() {
	switch g.IntN(9) {
	case 0, 1:
		ingress := g.chance(60)
		fields := aclFields
		if ingress {
			fields = fields[:len(fields)-2]
		}
		with := []any{sai.ACLTableAttrACLStage, stage(ingress), sai.ACLTableAttrFieldACLRangeType, sai.Enums{
			sai.ACLRangeTypeL4SrcPortRange, sai.ACLRangeTypeL4DstPortRange, sai.ACLRangeTypeOuterVLAN,
			sai.ACLRangeTypeInnerVLAN, sai.ACLRangeTypePacketLength}}
		for _, f := range fields {
			with = append(with, tableField(f), sai.Bool(true))
		}
		g.create(sai.ObjectTypeACLTable, with...)
	case 2:
		g.create(sai.ObjectTypeACLTableGroup, sai.ACLTableGroupAttrACLStage, stage(g.chance(60)),
			sai.ACLTableGroupAttrType, pick(g, sai.ACLTableGroupTypeParallel, sai.ACLTableGroupTypeSequential))
	case 3:
		g.create(sai.ObjectTypeACLTableGroupMember, sai.ACLTableGroupMemberAttrACLTableGroupID,
			g.any(sai.ObjectTypeACLTableGroup),
			sai.ACLTableGroupMemberAttrACLTableID, g.any(sai.ObjectTypeACLTable),
			sai.ACLTableGroupMemberAttrPriority, sai.Uint(g.IntN(3)))
	case 4:
		g.removeAny(pick(g, sai.ObjectTypeACLTable, sai.ObjectTypeACLTableGroup, sai.ObjectTypeACLTableGroupMember,
			sai.ObjectTypeACLCounter, sai.ObjectTypeACLRange, sai.ObjectTypeTAMInt))
	case 5, 6:
		table := g.any(sai.ObjectTypeACLTable)
		with := []any{sai.ACLCounterAttrTableID, table, sai.ACLCounterAttrEnablePacketCount, g.bool(80),
			sai.ACLCounterAttrEnableByteCount, g.bool(80)}
		if n := len(g.counters[table]); n%2 == 0 {
			with = append(with, sai.ACLCounterAttrLabel, sai.Text(fmt.Sprint("T|R", n)))
		}
		x := g.create(sai.ObjectTypeACLCounter, with...)
		g.counters[table] = append(g.counters[table], x)
	case 7:
		g.rangeOp()
	default:
		g.create(sai.ObjectTypeTAMInt, sai.TAMIntAttrType, sai.TAMIntTypeIfa1Tailstamp, sai.TAMIntAttrDeviceID,
			sai.Uint(g.IntN(1000)),
			sai.TAMIntAttrIntPresenceType, sai.TAMIntPresenceTypeUndefined, sai.TAMIntAttrInline, sai.Bool(false))
	}
}

func (g *gen) rangeOp() {
	typ := pick(g, sai.ACLRangeTypeL4SrcPortRange, sai.ACLRangeTypeL4DstPortRange, sai.ACLRangeTypeOuterVLAN,
		sai.ACLRangeTypeInnerVLAN, sai.ACLRangeTypePacketLength)
	limit := sai.Range{Min: uint64(g.IntN(3)), Max: uint64(2 + g.IntN(4))}
	switch typ {
	case sai.ACLRangeTypePacketLength:
		limit = sai.Range{Min: uint64(60 + g.IntN(200)), Max: uint64(64 + g.IntN(1500))}
	case sai.ACLRangeTypeL4SrcPortRange, sai.ACLRangeTypeL4DstPortRange:
		limit = sai.Range{Min: uint64(g.port()) - uint64(g.IntN(2)), Max: uint64(g.port())}
	}
	g.create(sai.ObjectTypeACLRange, sai.ACLRangeAttrType, typ, sai.ACLRangeAttrLimit, limit)
}

// bindOp binds tables and groups.
func (g *gen) bindOp() {
	what := g.any(pick(g, sai.ObjectTypeACLTable, sai.ObjectTypeACLTable, sai.ObjectTypeACLTableGroup))
	if g.chance(15) {
		what = sai.NullOID
	}
	in := g.chance(60)
	attr := func(ingress, egress sai.AttrID) sai.AttrID {
		if in {
			return ingress
		}
		return egress
	}
	switch g.IntN(5) {
	case 0:
		g.set(sai.ObjectTypeLAG, attr(sai.LAGAttrIngressACL, sai.LAGAttrEgressACL), what)
	case 1:
		g.set(sai.ObjectTypeVLAN, attr(sai.VLANAttrIngressACL, sai.VLANAttrEgressACL), what)
	case 2:
		g.setOf(sai.ObjectTypeSwitch, g.sw, attr(sai.SwitchAttrIngressACL, sai.SwitchAttrEgressACL), what)
	default:
		g.set(sai.ObjectTypePort, attr(sai.PortAttrIngressACL, sai.PortAttrEgressACL), what)
	}
}

func (g *gen) aclEntryOp() {
	const t = sai.ObjectTypeACLEntry
	switch g.IntN(12) {
	case 0:
		g.removeAny(t)
	case 1:
		g.set(t, sai.ACLEntryAttrAdminState, g.bool(60))
	case 2:
		g.set(t, sai.ACLEntryAttrPriority, sai.Uint(1+g.IntN(5)))
	case 3:
		f := g.field()
		g.set(t, f.ID, f.Value)
	case 4:
		id, v := g.action(sai.NullOID)
		g.set(t, id, v)
	default:
		table := g.any(sai.ObjectTypeACLTable)
		with := []any{sai.ACLEntryAttrTableID, table, sai.ACLEntryAttrPriority, sai.Uint(1 + g.IntN(5)),
			sai.ACLEntryAttrAdminState, g.bool(95)}
		for range g.IntN(3) {
			with = g.with(with)
		}
		for range 1 + g.IntN(3) {
			if id, v := g.action(table); !has(with, id) {
				with = append(with, id, v)
			}
		}
		if g.chance(25) && !has(with, sai.ACLEntryAttrActionTAMIntObject) && !has(with, sai.ACLEntryAttrActionIntInsert) {
			with = append(with, sai.ACLEntryAttrActionTAMIntObject, sai.Do(g.any(sai.ObjectTypeTAMInt)),
				sai.ACLEntryAttrActionIntInsert, sai.Do(sai.Bool(true)))
		}
		g.create(t, with...)
	}
}

func has(pairs []any, id sai.AttrID) bool {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i] == id {
			return true
		}
	}
	return false
}

func (g *gen) with(pairs []any) []any {
	if f := g.field(); !has(pairs, f.ID) {
		pairs = append(pairs, f.ID, f.Value)
	}
	return pairs
}

// action returns an action for an entry of a table.
func (g *gen) action(table sai.OID) (sai.AttrID, sai.Value) {
	switch g.IntN(14) {
	case 11:
		return sai.ACLEntryAttrActionSetTC, sai.Do(sai.Uint(g.IntN(16)))
	case 12:
		return pick(g, sai.ACLEntryAttrActionMirrorIngress, sai.ACLEntryAttrActionMirrorEgress),
			sai.Do(sai.OIDs{g.any(sai.ObjectTypeMirrorSession)})
	case 9:
		return sai.ACLEntryAttrActionSetDSCP, sai.Do(sai.Uint(g.IntN(64)))
	case 0, 1:
		return sai.ACLEntryAttrActionPacketAction, sai.Do(g.packetAction())
	case 2, 3, 8:
		if l := g.counters[table]; len(l) > 0 {
			return sai.ACLEntryAttrActionCounter, sai.Do(pick(g, l...))
		}
		return sai.ACLEntryAttrActionCounter, sai.Do(g.any(sai.ObjectTypeACLCounter))
	case 4:
		return sai.ACLEntryAttrActionRedirect,
			sai.Do(g.any(pick(g, sai.ObjectTypePort, sai.ObjectTypeLAG, sai.ObjectTypeBridgePort,
				sai.ObjectTypeNextHop, sai.ObjectTypeNextHopGroup)))
	case 5:
		return sai.ACLEntryAttrActionSetACLMetaData, sai.Do(sai.Uint(g.IntN(4)))
	case 6:
		return sai.ACLEntryAttrActionSetDoNotLearn, sai.Do(sai.Uint(1))
	case 7:
		return sai.ACLEntryAttrActionIntInsert, sai.Do(g.bool(90))
	}
	return sai.ACLEntryAttrActionTAMIntObject, sai.Do(g.any(sai.ObjectTypeTAMInt))
}

// mask returns a mask that is mostly all ones.
func (g *gen) mask(bits int) sai.Uint {
	ones := uint64(1)<<bits - 1
	if g.chance(70) {
		return sai.Uint(ones)
	}
	return sai.Uint(g.Uint64() & ones)
}

func (g *gen) number(bits int, values ...uint64) sai.Field {
	v := g.Uint64() & (1<<bits - 1)
	if len(values) > 0 {
		v = pick(g, values...)
	}
	return sai.Match(sai.Uint(v), g.mask(bits))
}

// field returns a match on values that occur in the traffic.
func (g *gen) field() sai.Attr {
	id := pick(g, append(aclFields, sai.ACLEntryAttrFieldACLRangeType)...)
	return sai.Attr{ID: id, Value: g.matchOf(id)}
}

func (g *gen) matchOf(id sai.AttrID) sai.Field {
	switch id {
	case sai.ACLEntryAttrFieldDstMAC, sai.ACLEntryAttrFieldSrcMAC:
		m := pick(g, sai.MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, sai.MAC{1}, sai.MAC{0, 0, 0, 0, 0, 1})
		return sai.Match(sai.MAC(g.host()), m)
	case sai.ACLEntryAttrFieldEtherType:
		return g.number(16, 0x800, 0x86dd, 0x806, 0x88b5)
	case sai.ACLEntryAttrFieldOuterVLANPri, sai.ACLEntryAttrFieldInnerVLANPri:
		return g.number(3)
	case sai.ACLEntryAttrFieldOuterVLANCfi, sai.ACLEntryAttrFieldInnerVLANCfi:
		return g.number(1)
	case sai.ACLEntryAttrFieldOuterVLANID, sai.ACLEntryAttrFieldInnerVLANID:
		return g.number(12, 1, 2, 3, 100)
	case sai.ACLEntryAttrFieldIPProtocol, sai.ACLEntryAttrFieldIPv6NextHeader:
		return g.number(8, 1, 6, 17, 58, 44)
	case sai.ACLEntryAttrFieldDSCP:
		return g.number(6, 0, 46)
	case sai.ACLEntryAttrFieldECN:
		return g.number(2)
	case sai.ACLEntryAttrFieldTOS:
		return g.number(8, 0, 46<<2)
	case sai.ACLEntryAttrFieldTTL:
		return g.number(8, 64, 1, 0)
	case sai.ACLEntryAttrFieldTCPFlags:
		return g.number(6, 2, 16, 18)
	case sai.ACLEntryAttrFieldIPFlags:
		return g.number(3, 0, 1, 2)
	case sai.ACLEntryAttrFieldL4SrcPort, sai.ACLEntryAttrFieldL4DstPort:
		return g.number(16, uint64(g.port()))
	case sai.ACLEntryAttrFieldICMPType, sai.ACLEntryAttrFieldICMPv6Type:
		return g.number(8, 0, 8, 128)
	case sai.ACLEntryAttrFieldICMPCode, sai.ACLEntryAttrFieldICMPv6Code:
		return g.number(8, 0, 1)
	case sai.ACLEntryAttrFieldIPIdentification:
		return g.number(16, 0, 1)
	case sai.ACLEntryAttrFieldIPv6FlowLabel:
		return g.number(20, 0, 5)
	case sai.ACLEntryAttrFieldACLUserMeta, sai.ACLEntryAttrFieldTC:
		return g.number(2)
	}
	return g.matchOther(id)
}

func (g *gen) matchOther(id sai.AttrID) sai.Field {
	switch id {
	case sai.ACLEntryAttrFieldSrcIP, sai.ACLEntryAttrFieldDstIP:
		return sai.Match(sai.IP{Addr: netip.AddrFrom4(g.ip4())}, ip(
			pick(g, "255.255.255.255", "255.0.0.0", "0.0.0.1", "0.0.0.0")))
	case sai.ACLEntryAttrFieldSrcIPv6, sai.ACLEntryAttrFieldDstIPv6:
		return sai.Match(sai.IP{Addr: netip.AddrFrom16(g.ip6())}, ip(
			pick(g, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff::", "::1", "::")))
	case sai.ACLEntryAttrFieldACLIPType:
		return sai.Match(pick(g, sai.ACLIPTypeAny, sai.ACLIPTypeIP, sai.ACLIPTypeNonIP, sai.ACLIPTypeIPv4Any,
			sai.ACLIPTypeNonIPv4,
			sai.ACLIPTypeIPv6Any, sai.ACLIPTypeNonIPv6, sai.ACLIPTypeArp, sai.ACLIPTypeArpRequest, sai.ACLIPTypeArpReply), nil)
	case sai.ACLEntryAttrFieldACLIPFrag:
		return sai.Match(pick(g, sai.ACLIPFragAny, sai.ACLIPFragNonFrag, sai.ACLIPFragNonFragOrHead, sai.ACLIPFragHead,
			sai.ACLIPFragNonHead), nil)
	case sai.ACLEntryAttrFieldHasVLANTag:
		return sai.Match(g.bool(50), nil)
	case sai.ACLEntryAttrFieldPacketVLAN:
		return sai.Match(pick(g, sai.PacketVLANUntag, sai.PacketVLANSingleOuterTag, sai.PacketVLANDoubleTag), nil)
	case sai.ACLEntryAttrFieldTAMIntType:
		return sai.Match(sai.TAMIntTypeIfa1Tailstamp, nil)
	case sai.ACLEntryAttrFieldInPorts, sai.ACLEntryAttrFieldOutPorts:
		return sai.Match(sai.OIDs{g.any(sai.ObjectTypePort), g.any(sai.ObjectTypePort)}, nil)
	case sai.ACLEntryAttrFieldACLRangeType:
		return sai.Match(sai.OIDs{g.any(sai.ObjectTypeACLRange)}, nil)
	}
	return sai.Match(g.any(pick(g, sai.ObjectTypePort, sai.ObjectTypePort, sai.ObjectTypeLAG)), nil)
}
