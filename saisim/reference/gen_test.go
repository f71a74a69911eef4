package reference_test

import (
	"context"
	"math/rand/v2"
	"net/netip"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
)

// A gen makes random configurations by SAI calls. Calls that the chip refuses change nothing, so any call is allowed.
// The reference uses Chip.Tables.
type gen struct {
	*rand.Rand
	chip *saisim.Chip
	prof profile.Profile
	sw   sai.OID
	// router is the default virtual router, and cpu the CPU port.
	router, cpu sai.OID
	pool        map[sai.ObjectType][]sai.OID
	counters    map[sai.OID][]sai.OID // by ACL table
	// slow means that the clock is slow enough for entries to age.
	slow bool
	// routes means that there is a router, so that much traffic is sent to it.
	routes bool
	// recording means that there are plans of table recording.
	recording bool
	// usual means that most frames are of hosts that stay at their port, with few other features in use. They take the
	// shortcuts.
	usual bool
	// policing supplies random numbers for policers, so that other cases do not change. nil means that there are no
	// policers.
	policing *rand.Rand
	// samplers supplies random numbers for samplers, in the same way.
	samplers *rand.Rand
	// keepBursts leaves the bursts of policers unchanged.
	keepBursts bool
	// monitoring supplies random numbers for drop monitors. nil means that there are none.
	monitoring *rand.Rand
	// lasting means that thresholds are so long that no dropped flow ends, so flows are evicted.
	lasting bool
	marks   bool // ports mirror what they mark
	// routed means that most frames are routed: see isRouted.
	routed bool
	// bare means that there are few features besides routing: see routedOf.
	bare bool
	// short means that there is almost nothing but single ACL tables and passive programs: see isShort.
	short bool
	// extra supplies random numbers for features that cases of older seeds lack. nil means that there are none.
	extra *rand.Rand
	// vrfs means that there may be several virtual routers: see isVRF. Half of the cases with sub-ports have them, too.
	vrfs bool
	// buffers supplies random numbers for ingress buffers. nil means that packets are not accounted there.
	buffers *rand.Rand
	// subPorts means that there may be sub-ports: see isSubPort.
	subPorts bool
	marker
	clamper
	analyser
	wrapper
	trimmer
}

// chance returns true n times in a hundred.
func (g *gen) chance(n int) bool { return g.IntN(100) < n }

// seldom does the same as chance, for features that keep frames from the shortcuts.
func (g *gen) seldom(n int) bool {
	if g.usual {
		n /= 5
	}
	return g.chance(n)
}

func pick[T any](g *gen, of ...T) T { return of[g.IntN(len(of))] }

// any returns an object of a type, or null if there is none.
func (g *gen) any(t sai.ObjectType) sai.OID {
	if l := g.pool[t]; len(l) > 0 {
		return l[g.IntN(len(l))]
	}
	return sai.NullOID
}

func attrs(pairs ...any) (l []sai.Attr) {
	for i := 0; i < len(pairs); i += 2 {
		l = append(l, sai.Attr{ID: pairs[i].(sai.AttrID), Value: pairs[i+1].(sai.Value)})
	}
	return l
}

func (g *gen) create(t sai.ObjectType, pairs ...any) sai.OID {
	oid, err := g.chip.Create(context.Background(), t, attrs(pairs...))
	if err != nil {
		return sai.NullOID
	}
	g.pool[t] = append(g.pool[t], oid)
	return oid
}

// set sets an attribute of any object of a type.
func (g *gen) set(t sai.ObjectType, id sai.AttrID, v sai.Value) { g.setOf(t, g.any(t), id, v) }

func (g *gen) setOf(t sai.ObjectType, oid sai.OID, id sai.AttrID, v sai.Value) {
	if oid != sai.NullOID {
		_ = g.chip.Set(context.Background(), sai.Obj(t, oid), sai.Attr{ID: id, Value: v})
	}
}

// removeAny removes an object of a type, if one can be removed.
func (g *gen) removeAny(t sai.ObjectType) {
	l := g.pool[t]
	if len(l) == 0 {
		return
	}
	i := g.IntN(len(l))
	if g.chip.Remove(context.Background(), sai.Obj(t, l[i])) == nil {
		l[i] = l[len(l)-1]
		g.pool[t] = l[:len(l)-1]
	}
}

func (g *gen) list(t sai.ObjectType, oid sai.OID, id sai.AttrID) sai.OIDs {
	got, err := g.chip.Get(context.Background(), sai.Obj(t, oid), []sai.Attr{sai.Want(id, 64)})
	if err != nil {
		return nil
	}
	return got[0].Value.(sai.OIDs)
}

// powerUp creates the switch with its ports up.
func (g *gen) powerUp() error {
	oid, err := g.chip.Create(context.Background(), sai.ObjectTypeSwitch, attrs(sai.SwitchAttrInitSwitch, sai.Bool(true),
		sai.SwitchAttrSrcMACAddress, ownMAC, sai.SwitchAttrFDBEventNotify, sai.Pointer(1)))
	if err != nil {
		return err
	}
	g.sw = oid
	got, err := g.chip.Get(context.Background(), sai.Obj(sai.ObjectTypeSwitch, oid),
		[]sai.Attr{sai.Want(sai.SwitchAttrDefaultVirtualRouterID, 0), sai.Want(sai.SwitchAttrCPUPort, 0)})
	if err != nil {
		return err
	}
	g.router, g.cpu = got[0].Value.(sai.OID), got[1].Value.(sai.OID)
	t := g.chip.Tables()
	for _, p := range t.Ports {
		g.pool[sai.ObjectTypePort] = append(g.pool[sai.ObjectTypePort], sai.OID(p.ID))
		g.setOf(sai.ObjectTypePort, sai.OID(p.ID), sai.PortAttrMTU, pick[sai.Value](g, sai.Uint(1522), sai.Uint(1522),
			sai.Uint(9100), sai.Uint(500)))
		g.setOf(sai.ObjectTypePort, sai.OID(p.ID), sai.PortAttrAdminState, sai.Bool(true))
		if g.chance(75) { // a port without a host interface can be removed
			g.create(sai.ObjectTypeHostif, sai.HostifAttrType, sai.HostifTypeNetdev, sai.HostifAttrObjID, sai.OID(p.ID),
				sai.HostifAttrName, sai.Text("Ethernet"+string(rune('0'+p.Port%10))))
		}
	}
	for _, bp := range t.BridgePorts {
		g.pool[sai.ObjectTypeBridgePort] = append(g.pool[sai.ObjectTypeBridgePort], sai.OID(bp.ID))
	}
	for _, v := range t.VLANs {
		g.pool[sai.ObjectTypeVLAN] = append(g.pool[sai.ObjectTypeVLAN], sai.OID(v.ID))
		g.pool[sai.ObjectTypeVLANMember] = append(g.pool[sai.ObjectTypeVLANMember],
			g.list(sai.ObjectTypeVLAN, sai.OID(v.ID), sai.VLANAttrMemberList)...)
	}
	return nil
}

// furnish makes a configuration in which most frames reach a destination: VLANs with members, and in most cases ACL
// tables with entries of every kind.
func (g *gen) furnish() {
	for _, id := range []uint64{2, 3, 100} {
		vlan := g.create(sai.ObjectTypeVLAN, sai.VLANAttrVLANID, sai.Uint(id))
		for _, bp := range g.pool[sai.ObjectTypeBridgePort] {
			if g.chance(70) {
				g.create(sai.ObjectTypeVLANMember, sai.VLANMemberAttrVLANID, vlan, sai.VLANMemberAttrBridgePortID, bp,
					sai.VLANMemberAttrVLANTaggingMode, pick(g, sai.VLANTaggingModeTagged, sai.VLANTaggingModeTagged,
						sai.VLANTaggingModeUntagged, sai.VLANTaggingModePriorityTagged))
			}
		}
	}
	if !g.routed && g.seldom(40) {
		for range 2 + g.IntN(3) {
			g.joinLAG()
		}
		for range 4 {
			g.create(sai.ObjectTypeVLANMember, sai.VLANMemberAttrVLANID, g.any(sai.ObjectTypeVLAN),
				sai.VLANMemberAttrBridgePortID,
				g.any(sai.ObjectTypeBridgePort), sai.VLANMemberAttrVLANTaggingMode, sai.VLANTaggingModeTagged)
		}
	}
	if g.routes = g.routed || g.seldom(50) || g.recording && g.chance(60); g.routes {
		g.furnishRouter()
	}
	if g.seldom(50) {
		for range 20 + g.IntN(30) {
			g.qosOp()
		}
	}
	if !g.bare && g.seldom(40) {
		for range 6 + g.IntN(8) {
			g.mirrorOp()
		}
	}
	if !g.bare && g.chance(40) {
		g.furnishMarking()
	}
	g.prepareOuters()
	if !g.bare && g.chance(70) {
		for range 60 {
			g.aclTableOp()
		}
		for range 40 + g.IntN(60) {
			g.aclEntryOp()
		}
		for range 4 + g.IntN(10) {
			g.bindOp()
		}
	}
	if g.marks {
		g.mirrorMarked()
	}
	g.bindFlows()
}

func (g *gen) bool(percent int) sai.Bool { return sai.Bool(g.chance(percent)) }

func (g *gen) vid() sai.Uint { return sai.Uint(pick(g, 1, 1, 2, 2, 3, 100)) }

// An op changes the configuration in one way. weight is its relative frequency.
type op struct {
	weight int
	do     func(g *gen)
}

// ops are the changes of the configuration, except those of FDB entries.
var ops = []op{
	{4, (*gen).portOp}, {3, (*gen).vlanOp}, {4, (*gen).memberOp}, {3, (*gen).lagOp}, {2, (*gen).bridgePortOp},
	{2, (*gen).switchOp}, {1, (*gen).trapOp}, {8, (*gen).routeOp}, {3, (*gen).mirrorOp}, {5, (*gen).qosOp},
	{3, (*gen).aclTableOp}, {12, (*gen).aclEntryOp}, {4, (*gen).bindOp}, {6, (*gen).markingOp},
}

func (g *gen) anyOp() {
	if g.short && (g.chance(50) || !g.routed && g.chance(80)) {
		g.shortOp()
		return
	}
	if g.routed && g.chance(60) {
		g.routedOp()
		return
	}
	total := 0
	for _, o := range ops {
		total += o.weight
	}
	n := g.IntN(total)
	for _, o := range ops {
		if n -= o.weight; n < 0 {
			o.do(g)
			return
		}
	}
}

func (g *gen) portOp() {
	const t = sai.ObjectTypePort
	switch g.IntN(10) {
	case 0:
		g.set(t, sai.PortAttrPortVLANID, g.vid())
	case 1:
		g.set(t, sai.PortAttrDefaultVLANPriority, sai.Uint(g.IntN(8)))
	case 2:
		g.set(t, sai.PortAttrDropTagged, g.bool(10))
	case 3:
		g.set(t, sai.PortAttrDropUntagged, g.bool(10))
	case 4:
		g.set(t, sai.PortAttrMTU, sai.Uint(200+g.IntN(1600)))
	case 5:
		g.set(t, sai.PortAttrAdminState, g.bool(85))
	case 6:
		g.set(t, sai.PortAttrSpeed, sai.Uint(pick(g, g.prof.SpeedsMbps...)))
	case 7, 8:
		if ids := g.chip.Ports(); len(ids) > 0 {
			g.chip.SetWire(pick(g, ids...), g.chance(80), pick(g, 0, 0, uint32(100+g.IntN(1500))))
		}
	default:
		if g.chance(40) {
			p := g.any(t)
			g.unbridge(p)
			_ = g.chip.Remove(context.Background(), sai.Obj(t, p))
		} else {
			lane := g.prof.FirstLane + g.Uint32N(g.prof.Lanes)
			p := g.create(t, sai.PortAttrHWLaneList, sai.Uints{uint64(lane)}, sai.PortAttrSpeed,
				sai.Uint(pick(g, g.prof.SpeedsMbps...)),
				sai.PortAttrAdminState, sai.Bool(true))
			g.setOf(t, p, sai.PortAttrMTU, sai.Uint(1522))
		}
	}
}

func (g *gen) vlanOp() {
	const t = sai.ObjectTypeVLAN
	flood := pick(g, sai.VLANFloodControlTypeAll, sai.VLANFloodControlTypeAll, sai.VLANFloodControlTypeNone)
	switch g.IntN(8) {
	case 0, 1, 2:
		g.create(t, sai.VLANAttrVLANID, g.vid())
	case 3:
		g.removeAny(t)
	case 4:
		g.set(t, sai.VLANAttrLearnDisable, g.bool(30))
	default:
		g.set(t, pick(g, sai.VLANAttrUnknownUnicastFloodControlType, sai.VLANAttrUnknownMulticastFloodControlType,
			sai.VLANAttrBroadcastFloodControlType), flood)
	}
}

func (g *gen) memberOp() {
	const t = sai.ObjectTypeVLANMember
	mode := pick(g, sai.VLANTaggingModeUntagged, sai.VLANTaggingModeTagged, sai.VLANTaggingModeTagged,
		sai.VLANTaggingModePriorityTagged)
	switch g.IntN(6) {
	case 0:
		g.removeAny(t)
	case 1:
		g.set(t, sai.VLANMemberAttrVLANTaggingMode, mode)
	default:
		g.create(t, sai.VLANMemberAttrVLANID, g.any(sai.ObjectTypeVLAN), sai.VLANMemberAttrBridgePortID,
			g.any(sai.ObjectTypeBridgePort),
			sai.VLANMemberAttrVLANTaggingMode, mode)
	}
}

func (g *gen) lagOp() {
	const t, m = sai.ObjectTypeLAG, sai.ObjectTypeLAGMember
	switch g.IntN(9) {
	case 0:
		g.create(t, sai.LAGAttrPortVLANID, g.vid())
	case 1:
		g.removeAny(t)
	case 2:
		g.set(t, pick(g, sai.LAGAttrDropTagged, sai.LAGAttrDropUntagged), g.bool(20))
	case 3:
		g.set(t, sai.LAGAttrDefaultVLANPriority, sai.Uint(g.IntN(8)))
	case 4:
		g.set(m, pick(g, sai.LAGMemberAttrIngressDisable, sai.LAGMemberAttrEgressDisable), g.bool(30))
	case 5:
		g.removeAny(m)
	default:
		g.joinLAG()
	}
}

// joinLAG moves a port from the bridge into a LAG.
func (g *gen) joinLAG() {
	lag := g.any(sai.ObjectTypeLAG)
	if lag == sai.NullOID {
		lag = g.create(sai.ObjectTypeLAG, sai.LAGAttrPortVLANID, g.vid())
		g.create(sai.ObjectTypeBridgePort, sai.BridgePortAttrType, sai.BridgePortTypePort, sai.BridgePortAttrPortID, lag,
			sai.BridgePortAttrAdminState, sai.Bool(true))
	}
	p := g.any(sai.ObjectTypePort)
	g.unbridge(p)
	g.create(sai.ObjectTypeLAGMember, sai.LAGMemberAttrLAGID, lag, sai.LAGMemberAttrPortID, p)
}

// unbridge removes a port's bridge port with its VLAN memberships.
func (g *gen) unbridge(port sai.OID) {
	t := g.chip.Tables()
	for _, bp := range t.BridgePorts {
		if sai.OID(bp.On) != port {
			continue
		}
		for _, m := range g.pool[sai.ObjectTypeVLANMember] {
			got, err := g.chip.Get(context.Background(), sai.Obj(sai.ObjectTypeVLANMember, m),
				[]sai.Attr{sai.Want(sai.VLANMemberAttrBridgePortID, 0)})
			if err == nil && got[0].Value == sai.OID(bp.ID) {
				_ = g.chip.Remove(context.Background(), sai.Obj(sai.ObjectTypeVLANMember, m))
			}
		}
		_ = g.chip.Remove(context.Background(), sai.Obj(sai.ObjectTypeBridgePort, sai.OID(bp.ID)))
	}
}

func (g *gen) bridgePortOp() {
	const t = sai.ObjectTypeBridgePort
	switch g.IntN(6) {
	case 0:
		g.set(t, sai.BridgePortAttrAdminState, g.bool(80))
	case 1, 2:
		g.set(t, sai.BridgePortAttrFDBLearningMode, pick(g, sai.BridgePortFDBLearningModeHW, sai.BridgePortFDBLearningModeHW,
			sai.BridgePortFDBLearningModeDisable, sai.BridgePortFDBLearningModeDrop))
	case 3:
		g.unbridge(g.any(sai.ObjectTypePort))
	default:
		bp := g.create(t, sai.BridgePortAttrType, sai.BridgePortTypePort,
			sai.BridgePortAttrPortID, g.any(pick(g, sai.ObjectTypePort, sai.ObjectTypeLAG)), sai.BridgePortAttrAdminState,
			sai.Bool(true))
		g.create(sai.ObjectTypeVLANMember, sai.VLANMemberAttrVLANID, g.any(sai.ObjectTypeVLAN),
			sai.VLANMemberAttrBridgePortID, bp,
			sai.VLANMemberAttrVLANTaggingMode, sai.VLANTaggingModeTagged)
	}
}

// hashing changes the algorithm of LAGs or next hop groups, in half of the cases to the usual one.
func (g *gen) hashing() {
	g.setOf(sai.ObjectTypeSwitch, g.sw,
		pick(g, sai.SwitchAttrLAGDefaultHashAlgorithm, sai.SwitchAttrEcmpDefaultHashAlgorithm),
		pick(g, sai.HashAlgorithmCrc, sai.HashAlgorithmCrc, sai.HashAlgorithmCrc, sai.HashAlgorithmCrc,
			sai.HashAlgorithmXor, sai.HashAlgorithmCrc32lo, sai.HashAlgorithmCrc32hi, sai.HashAlgorithmCrcCcitt,
			sai.HashAlgorithmCrcXor))
}

func (g *gen) switchOp() {
	set := func(id sai.AttrID, v sai.Value) { g.setOf(sai.ObjectTypeSwitch, g.sw, id, v) }
	switch {
	case g.slow && g.chance(50):
		set(sai.SwitchAttrFDBAgingTime, sai.Uint(pick(g, 0, 1, 1, 2, 3)))
	case g.chance(20):
		set(sai.SwitchAttrSrcMACAddress, pick(g, ownMAC, sai.MAC{}))
	case g.chance(20):
		set(pick(g, sai.SwitchAttrLAGDefaultHashSeed, sai.SwitchAttrEcmpDefaultHashSeed), sai.Uint(g.Uint32()))
	case g.chance(10):
		g.hashing()
	default:
		set(pick(g, sai.SwitchAttrFDBUnicastMissPacketAction, sai.SwitchAttrFDBBroadcastMissPacketAction,
			sai.SwitchAttrFDBMulticastMissPacketAction),
			pick(g, sai.PacketActionForward, sai.PacketActionForward, sai.PacketActionDrop))
	}
}

func (g *gen) packetAction() sai.Enum {
	return pick(g, sai.PacketActionForward, sai.PacketActionDrop, sai.PacketActionCopy, sai.PacketActionTrap,
		sai.PacketActionLog,
		sai.PacketActionDeny, sai.PacketActionTransit, sai.PacketActionCopyCancel)
}

func (g *gen) trapOp() {
	const t = sai.ObjectTypeHostifTrap
	switch g.IntN(4) {
	case 0:
		g.removeAny(t)
	case 1:
		g.set(t, sai.HostifTrapAttrPacketAction, g.packetAction())
	default:
		types, err := g.chip.EnumCapability(context.Background(), sai.HostifTrapAttrTrapType)
		if err != nil {
			return
		}
		typ := pick(g, types...)
		if g.chance(50) {
			g.create(t, sai.HostifTrapAttrTrapType, typ, sai.HostifTrapAttrPacketAction, g.packetAction())
		} else {
			g.create(t, sai.HostifTrapAttrTrapType, typ, sai.HostifTrapAttrPacketAction, sai.PacketActionTrap,
				sai.HostifTrapAttrTrapPriority, sai.Uint(g.IntN(3)))
		}
	}
}

// anyFDB returns a key and the attributes of an FDB entry.
func (g *gen) anyFDB() (sai.FDBEntry, []sai.Attr) {
	key := sai.FDBEntry{Switch: g.sw, MAC: sai.MAC(g.host()), BV: g.any(sai.ObjectTypeVLAN)}
	return key, attrs(sai.FDBEntryAttrType, pick(g, sai.FDBEntryTypeStatic, sai.FDBEntryTypeDynamic),
		sai.FDBEntryAttrBridgePortID, g.any(sai.ObjectTypeBridgePort),
		sai.FDBEntryAttrPacketAction, pick(g, sai.PacketActionForward, sai.PacketActionForward, sai.PacketActionDrop,
			sai.PacketActionTrap, sai.PacketActionCopy), sai.FDBEntryAttrAllowMACMove, g.bool(30))
}

// fdbOp changes FDB entries.
func (g *gen) fdbOp() {
	ctx := context.Background()
	key, with := g.anyFDB()
	switch g.IntN(6) {
	case 0:
		_ = g.chip.Remove(ctx, sai.EntryKey(key))
	case 1:
		_ = g.chip.Set(ctx, sai.EntryKey(key), pick(g, with...))
	case 2:
		_ = g.chip.FlushFDB(ctx, attrs(pick[any](g, sai.FDBFlushAttrBridgePortID), g.any(sai.ObjectTypeBridgePort)))
	case 3:
		_ = g.chip.FlushFDB(ctx, attrs(sai.FDBFlushAttrBvID, g.any(sai.ObjectTypeVLAN),
			sai.FDBFlushAttrEntryType, pick(g, sai.FDBFlushEntryTypeDynamic, sai.FDBFlushEntryTypeAll)))
	default:
		_ = g.chip.CreateEntry(ctx, key, with)
	}
}

func ip(s string) sai.IP { return sai.IP{Addr: netip.MustParseAddr(s)} }
