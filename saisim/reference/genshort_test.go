package reference_test

import (
	"math/rand/v2"

	"tamtam/internal/randtest"
	"tamtam/sai"
)

// isShort reports whether the case of a seed has almost nothing but what two shortcuts need: ports with a single ACL
// table, and programs that only read packets. No test used seeds between 30,000 and 40,000 before.
func isShort(seed uint64) bool {
	return seed >= 30_000 && seed < 40_000 || seed >= 1_000_000_000 && seed%7 == 3
}

// shortCases are such cases of the gate. In five of 13, most packets are routed, mostly in VLANs.
var shortCases = []randtest.Cases{{Seed: 30_000, Count: 26}}

// shortOf returns the variant of a seed, without other features if isShort holds.
func shortOf(seed uint64, v variant) variant {
	if !isShort(seed) {
		return v
	}
	return variant{short: true, usual: true, bare: true, blind: true, ledgered: v.ledgered, keeps: v.keeps,
		keepBursts: v.keepBursts, lasting: v.lasting, routed: seed%13 < 5, passive: rand.New(rand.NewPCG(seed, 14))}
}

// shortFields are the match fields of entries in such cases. Usual packets have values in all of them.
var shortFields = []sai.AttrID{
	sai.ACLEntryAttrFieldSrcIP, sai.ACLEntryAttrFieldDstIP, sai.ACLEntryAttrFieldSrcIP, sai.ACLEntryAttrFieldDstIP,
	sai.ACLEntryAttrFieldL4SrcPort, sai.ACLEntryAttrFieldL4DstPort, sai.ACLEntryAttrFieldL4SrcPort,
	sai.ACLEntryAttrFieldL4DstPort, sai.ACLEntryAttrFieldIPProtocol, sai.ACLEntryAttrFieldDSCP,
	sai.ACLEntryAttrFieldECN, sai.ACLEntryAttrFieldTTL, sai.ACLEntryAttrFieldTCPFlags, sai.ACLEntryAttrFieldIPFlags,
	sai.ACLEntryAttrFieldIPIdentification, sai.ACLEntryAttrFieldOuterVLANID, sai.ACLEntryAttrFieldOuterVLANID,
	sai.ACLEntryAttrFieldTC, sai.ACLEntryAttrFieldTC, sai.ACLEntryAttrFieldACLUserMeta,
	sai.ACLEntryAttrFieldSrcMAC, sai.ACLEntryAttrFieldDstMAC, sai.ACLEntryAttrFieldSrcPort,
	sai.ACLEntryAttrFieldEtherType, sai.ACLEntryAttrFieldInPorts, sai.ACLEntryAttrFieldACLIPType,
}

// furnishShort binds a table to most ports. In some cases entries match ranges, and in some they mark packets.
func (g *gen) furnishShort() {
	if !g.short {
		return
	}
	for range 2 {
		g.create(sai.ObjectTypeTAMInt, sai.TAMIntAttrType, sai.TAMIntTypeIfa1Tailstamp, sai.TAMIntAttrDeviceID,
			sai.Uint(g.IntN(1000)), sai.TAMIntAttrIntPresenceType, sai.TAMIntPresenceTypeUndefined,
			sai.TAMIntAttrInline, sai.Bool(false))
	}
	if g.chance(12) {
		g.furnishMarking()
		g.bindFlows()
	}
	for range 1 + g.IntN(3) {
		g.shortTable()
	}
	if g.chance(12) {
		for range 4 {
			g.rangeOp()
		}
	}
	for range 8 + g.IntN(20) {
		g.shortEntry()
	}
	for _, port := range g.pool[sai.ObjectTypePort] {
		if g.chance(85) {
			g.setOf(sai.ObjectTypePort, port, sai.PortAttrIngressACL, g.any(sai.ObjectTypeACLTable))
		}
		if g.chance(60) {
			g.setOf(sai.ObjectTypePort, port, sai.PortAttrQoSDefaultTC, sai.Uint(g.IntN(4)))
		}
	}
	for range g.IntN(4) {
		g.mapOp()
	}
	if g.slow {
		g.setOf(sai.ObjectTypeSwitch, g.sw, sai.SwitchAttrFDBAgingTime, sai.Uint(1+g.IntN(2)))
	}
}

// shortTable makes a table with a counter for each kind of entry, and an entry for most packets.
func (g *gen) shortTable() {
	with := []any{sai.ACLTableAttrACLStage, sai.ACLStageIngress, sai.ACLTableAttrFieldACLRangeType, sai.Enums{
		sai.ACLRangeTypeL4SrcPortRange, sai.ACLRangeTypeL4DstPortRange, sai.ACLRangeTypePacketLength}}
	for _, f := range shortFields {
		if id := tableField(f); !has(with, id) {
			with = append(with, id, sai.Bool(true))
		}
	}
	table := g.create(sai.ObjectTypeACLTable, with...)
	for range 4 {
		g.counters[table] = append(g.counters[table], g.create(sai.ObjectTypeACLCounter, sai.ACLCounterAttrTableID, table,
			sai.ACLCounterAttrEnablePacketCount, sai.Bool(true), sai.ACLCounterAttrEnableByteCount, sai.Bool(true)))
	}
}

// shortEntry makes an entry that counts and stamps. Some entries do something else, too.
func (g *gen) shortEntry() {
	table := g.any(sai.ObjectTypeACLTable)
	with := []any{sai.ACLEntryAttrTableID, table, sai.ACLEntryAttrPriority, sai.Uint(1 + g.IntN(5))}
	for range 1 + g.IntN(2) {
		id := pick(g, shortFields...)
		if len(g.pool[sai.ObjectTypeACLRange]) > 0 && g.chance(30) {
			id = sai.ACLEntryAttrFieldACLRangeType
		}
		if !has(with, id) {
			with = append(with, id, g.matchOf(id))
		}
	}
	if l := g.counters[table]; len(l) > 0 && g.chance(80) {
		with = append(with, sai.ACLEntryAttrActionCounter, sai.Do(pick(g, l...)))
	}
	if g.chance(50) {
		with = append(with, sai.ACLEntryAttrActionTAMIntObject, sai.Do(g.any(sai.ObjectTypeTAMInt)),
			sai.ACLEntryAttrActionIntInsert, sai.Do(sai.Bool(true)))
	}
	if g.chance(35) {
		id, v := g.shortAction()
		with = append(with, id, v)
	}
	g.create(sai.ObjectTypeACLEntry, with...)
}

// shortAction returns an action with which the packets of an entry leave the shortcut.
func (g *gen) shortAction() (sai.AttrID, sai.Value) {
	switch g.IntN(7) {
	case 0:
		return sai.ACLEntryAttrActionPacketAction, sai.Do(g.packetAction())
	case 1:
		return sai.ACLEntryAttrActionSetTC, sai.Do(sai.Uint(g.IntN(8)))
	case 2:
		return sai.ACLEntryAttrActionSetACLMetaData, sai.Do(sai.Uint(1 + g.IntN(4)))
	case 3:
		return sai.ACLEntryAttrActionSetDSCP, sai.Do(sai.Uint(g.IntN(64)))
	}
	return sai.ACLEntryAttrActionSetDoNotLearn, sai.Do(sai.Uint(1))
}

// shortOp changes what these cases have: entries, bindings, ranges, and what the key of a packet depends on.
func (g *gen) shortOp() {
	const entry, port = sai.ObjectTypeACLEntry, sai.ObjectTypePort
	switch g.IntN(14) {
	case 0:
		g.removeAny(entry)
	case 1:
		g.set(entry, sai.ACLEntryAttrAdminState, g.bool(60))
	case 2:
		g.set(entry, sai.ACLEntryAttrPriority, sai.Uint(1+g.IntN(5)))
	case 3:
		id, v := g.shortAction()
		g.set(entry, id, v)
	case 4, 5:
		g.set(port, sai.PortAttrIngressACL, g.any(sai.ObjectTypeACLTable))
	case 6: // for a while, packets of other ports are looked up in two tables
		g.setOf(sai.ObjectTypeSwitch, g.sw, sai.SwitchAttrIngressACL, pick(g, sai.NullOID, sai.NullOID,
			sai.NullOID, g.any(sai.ObjectTypeACLTable)))
	case 7:
		if g.removeAny(sai.ObjectTypeACLRange); g.chance(10) {
			g.rangeOp()
		}
	case 8:
		g.set(port, sai.PortAttrQoSDefaultTC, sai.Uint(g.IntN(4)))
	case 9:
		g.set(port, sai.PortAttrMTU, sai.Uint(300+g.IntN(1300)))
	case 10:
		g.set(port, sai.PortAttrSpeed, sai.Uint(pick(g, g.prof.SpeedsMbps...)))
	default:
		g.shortEntry()
	}
}
