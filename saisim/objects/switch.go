package objects

import (
	"slices"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/objects/aclmap"
	"tamtam/saisim/objects/qosmap"
	"tamtam/saisim/profile"
)

func (s *Store) switchKind() *kind {
	// A random choice would part a flow's packets.
	hashes := []sai.Enum{sai.HashAlgorithmCrc, sai.HashAlgorithmXor, sai.HashAlgorithmCrc32lo, sai.HashAlgorithmCrc32hi,
		sai.HashAlgorithmCrcCcitt, sai.HashAlgorithmCrcXor}
	k := &kind{
		max: 1,
		attrs: []sai.AttrID{
			sai.SwitchAttrInitSwitch, sai.SwitchAttrType, sai.SwitchAttrSrcMACAddress, sai.SwitchAttrFDBAgingTime,
			sai.SwitchAttrSwitchHardwareInfo, sai.SwitchAttrSwitchProfileID,
			sai.SwitchAttrIngressACL, sai.SwitchAttrEgressACL,
			sai.SwitchAttrFDBUnicastMissPacketAction, sai.SwitchAttrFDBBroadcastMissPacketAction,
			sai.SwitchAttrFDBMulticastMissPacketAction,
			sai.SwitchAttrFDBEventNotify, sai.SwitchAttrPortStateChangeNotify, sai.SwitchAttrSwitchShutdownRequestNotify,
			sai.SwitchAttrSwitchStateChangeNotify, sai.SwitchAttrPacketEventNotify, sai.SwitchAttrTAMEventNotify,
			sai.SwitchAttrTAMTelTypeConfigChangeNotify,
			sai.SwitchAttrSwitchingMode, sai.SwitchAttrTAMObjectID,
			sai.SwitchAttrLAGDefaultHashSeed, sai.SwitchAttrEcmpDefaultHashSeed,
			sai.SwitchAttrLAGDefaultHashAlgorithm, sai.SwitchAttrEcmpDefaultHashAlgorithm,
			sai.SwitchAttrPacketTrimSize, sai.SwitchAttrPacketTrimDSCPResolutionMode, sai.SwitchAttrPacketTrimDSCPValue,
			sai.SwitchAttrPacketTrimTCValue, sai.SwitchAttrPacketTrimQueueResolutionMode,
			sai.SwitchAttrPacketTrimQueueIndex,
		},
		create: s.createSwitch,
		set:    s.setSwitch,
		row:    s.switchRow,
		get:    s.getSwitch,
		enums: map[sai.AttrID][]sai.Enum{
			sai.SwitchAttrType:                         {sai.SwitchTypeNpu},
			sai.SwitchAttrSwitchingMode:                {sai.SwitchSwitchingModeStoreAndForward},
			sai.SwitchAttrFDBUnicastMissPacketAction:   {sai.PacketActionForward, sai.PacketActionDrop},
			sai.SwitchAttrFDBBroadcastMissPacketAction: {sai.PacketActionForward, sai.PacketActionDrop},
			sai.SwitchAttrFDBMulticastMissPacketAction: {sai.PacketActionForward, sai.PacketActionDrop},
			sai.SwitchAttrLAGDefaultHashAlgorithm:      hashes,
			sai.SwitchAttrEcmpDefaultHashAlgorithm:     hashes,
		},
	}
	if preIngress(&s.prof) {
		k.attrs = append(k.attrs, sai.SwitchAttrPreIngressACL)
	}
	// Read-only attributes.
	for id := range s.switchFacts() {
		k.attrs = append(k.attrs, id)
	}
	slices.Sort(k.attrs)
	s.addSwitchStats(k)
	return k
}

func (s *Store) createSwitch(o *object) error {
	if !o.flag(sai.SwitchAttrInitSwitch) {
		return badCreate(sai.SwitchAttrInitSwitch, sai.StatusNotSupported, "want true: nothing to reconnect to")
	}
	for _, a := range o.attrs {
		if err := s.setSwitch(o, a); err != nil {
			return err
		}
	}
	s.sw = o
	return nil
}

// setSwitch records which notifications are enabled.
func (s *Store) setSwitch(_ *object, a sai.Attr) error {
	if v, ok := a.Value.(sai.Pointer); ok {
		switch a.ID {
		case sai.SwitchAttrFDBEventNotify:
			s.bridge.fdbNotify = v != 0
		case sai.SwitchAttrPortStateChangeNotify:
			s.ports.portNotify = v != 0
		case sai.SwitchAttrTAMTelTypeConfigChangeNotify:
			s.telemetry.notify = v != 0
		}
	}
	return nil
}

// switchRow returns the row of the switch object.
func (s *Store) switchRow(o *object) (config.Row, error) {
	err := s.acls.checkBinds(o, sai.ACLBindPointTypeSwitch, sai.SwitchAttrIngressACL, sai.SwitchAttrEgressACL,
		sai.SwitchAttrPreIngressACL)
	if err != nil {
		return nil, err
	}
	if err := s.checkTAMs(o, sai.SwitchAttrTAMObjectID, sai.TAMBindPointTypeSwitch); err != nil {
		return nil, err
	}
	if err := noGroup(sai.SwitchAttrSrcMACAddress, sai.MAC(o.mac(sai.SwitchAttrSrcMACAddress))); err != nil {
		return nil, err
	}
	trim, err := s.trim(o)
	if err != nil {
		return nil, err
	}
	drops := func(id sai.AttrID) bool { return o.enum(id) == sai.PacketActionDrop }
	r := config.Switch{
		ID: o.id(), MAC: o.mac(sai.SwitchAttrSrcMACAddress), AgingSeconds: uint32(o.number(sai.SwitchAttrFDBAgingTime)),
		NoFlood: config.Flood{Unknown: drops(sai.SwitchAttrFDBUnicastMissPacketAction),
			Multicast: drops(sai.SwitchAttrFDBMulticastMissPacketAction),
			Broadcast: drops(sai.SwitchAttrFDBBroadcastMissPacketAction)},
		IngressACL: o.refID(sai.SwitchAttrIngressACL), EgressACL: o.refID(sai.SwitchAttrEgressACL),
		PreIngressACL: o.refID(sai.SwitchAttrPreIngressACL),

		TAMs: o.refIDs(sai.SwitchAttrTAMObjectID), Trim: trim,
		LAGHash:  hashing(o, s.lagHash, sai.SwitchAttrLAGDefaultHashSeed, sai.SwitchAttrLAGDefaultHashAlgorithm),
		ECMPHash: hashing(o, s.ecmpHash, sai.SwitchAttrEcmpDefaultHashSeed, sai.SwitchAttrEcmpDefaultHashAlgorithm),
	}
	if s.cpu != nil {
		r.CPU = s.cpu.id()
	}
	return r, nil
}

// powerUp creates the objects that a switch has from the start.
func (s *Store) powerUp() error {
	cpu, err := s.make(sai.Obj(sai.ObjectTypePort, s.newOID(sai.ObjectTypePort)), nil)
	if err != nil {
		return err
	}
	s.cpu = cpu
	if err := s.putRow(s.kinds[sai.ObjectTypeSwitch], s.sw); err != nil { // the row names the CPU port
		return err
	}
	add := func(t sai.ObjectType, attrs ...sai.Attr) (o *object) {
		if err == nil {
			o, err = s.make(sai.Obj(t, s.newOID(t)), attrs)
		}
		if err != nil {
			return &object{}
		}
		return o
	}
	s.defaultVLAN = add(sai.ObjectTypeVLAN, sai.Attr{ID: sai.VLANAttrVLANID, Value: sai.Uint(1)})
	s.defaultBridge = add(sai.ObjectTypeBridge, sai.Attr{ID: sai.BridgeAttrType, Value: sai.BridgeType1q})
	s.defaultRouter = add(sai.ObjectTypeVirtualRouter)
	s.defaultGroup = add(sai.ObjectTypeHostifTrapGroup)
	all := sai.Attr{ID: sai.HashAttrNativeHashFieldList, Value: sai.Enums(hashFields())}
	s.ecmpHash, s.lagHash = add(sai.ObjectTypeHash, all), add(sai.ObjectTypeHash, all)
	for _, d := range s.prof.Default {
		for i := range d.Count {
			lanes := make(sai.Uints, d.Lanes)
			for l := range lanes {
				lanes[l] = uint64(d.First + i*d.Lanes + uint32(l))
			}
			p := add(sai.ObjectTypePort, sai.Attr{ID: sai.PortAttrHWLaneList, Value: lanes},
				sai.Attr{ID: sai.PortAttrSpeed, Value: sai.Uint(d.Mbps)})
			bp := add(sai.ObjectTypeBridgePort, sai.Attr{ID: sai.BridgePortAttrType, Value: sai.BridgePortTypePort},
				sai.Attr{ID: sai.BridgePortAttrPortID, Value: p.key.OID},
				sai.Attr{ID: sai.BridgePortAttrAdminState, Value: sai.Bool(true)})
			add(sai.ObjectTypeVLANMember, sai.Attr{ID: sai.VLANMemberAttrVLANID, Value: s.defaultVLAN.key.OID},
				sai.Attr{ID: sai.VLANMemberAttrBridgePortID, Value: bp.key.OID})
		}
	}
	return err
}

func (s *Store) getSwitch(_ *object, id sai.AttrID) sai.Value {
	if f := s.switchFacts()[id]; f != nil {
		return f()
	}
	if id == sai.SwitchAttrSrcMACAddress {
		return sai.MAC(s.sw.mac(id))
	}
	return nil
}

// switchFacts returns functions that read the read-only attributes.
func (s *Store) switchFacts() map[sai.AttrID]func() sai.Value {
	num := func(n uint32) func() sai.Value { return func() sai.Value { return sai.Uint(n) } }
	oid := func(o **object) func() sai.Value { return func() sai.Value { return (*o).key.OID } }
	left := func(t sai.ObjectType, of uint32) func() sai.Value {
		return func() sai.Value { return sai.Uint(of - s.live[t]) }
	}
	a := &s.prof.ACL
	facts := map[sai.AttrID]func() sai.Value{
		sai.SwitchAttrPortList:                         func() sai.Value { return s.ports.oids() },
		sai.SwitchAttrNumberOfActivePorts:              func() sai.Value { return sai.Uint(len(s.ports.all())) },
		sai.SwitchAttrMaxNumberOfSupportedPorts:        num(s.prof.Lanes),
		sai.SwitchAttrPortMaxMTU:                       num(s.prof.MTU),
		sai.SwitchAttrCPUPort:                          oid(&s.cpu),
		sai.SwitchAttrDefaultVLANID:                    oid(&s.defaultVLAN),
		sai.SwitchAttrDefault1qBridgeID:                oid(&s.defaultBridge),
		sai.SwitchAttrDefaultVirtualRouterID:           oid(&s.defaultRouter),
		sai.SwitchAttrDefaultTrapGroup:                 oid(&s.defaultGroup),
		sai.SwitchAttrEcmpHash:                         oid(&s.ecmpHash),
		sai.SwitchAttrLAGHash:                          oid(&s.lagHash),
		sai.SwitchAttrOperStatus:                       func() sai.Value { return sai.SwitchOperStatusUp },
		sai.SwitchAttrFDBTableSize:                     num(s.prof.FDB),
		sai.SwitchAttrAvailableFDBEntry:                func() sai.Value { return sai.Uint(s.engine.AddressesLeft()) },
		sai.SwitchAttrMaxVirtualRouters:                num(s.prof.VirtualRouters),
		sai.SwitchAttrMaxMirrorSession:                 num(min(s.prof.MirrorSessions, profile.MaxMirrors)),
		sai.SwitchAttrL3NeighborTableSize:              num(s.prof.Neighbors),
		sai.SwitchAttrL3RouteTableSize:                 num(s.prof.IPv4Routes),
		sai.SwitchAttrEcmpMembers:                      num(s.prof.NextHopMembers),
		sai.SwitchAttrNumberOfEcmpGroups:               num(s.prof.NextHopGroups),
		sai.SwitchAttrAvailableIPv4RouteEntry:          func() sai.Value { return sai.Uint(s.router.routesLeft(false)) },
		sai.SwitchAttrAvailableIPv6RouteEntry:          func() sai.Value { return sai.Uint(s.router.routesLeft(true)) },
		sai.SwitchAttrAvailableIPv4NexthopEntry:        left(sai.ObjectTypeNextHop, s.prof.NextHops),
		sai.SwitchAttrAvailableIPv6NexthopEntry:        left(sai.ObjectTypeNextHop, s.prof.NextHops),
		sai.SwitchAttrAvailableIPv4NeighborEntry:       left(sai.ObjectTypeNeighborEntry, s.prof.Neighbors),
		sai.SwitchAttrAvailableIPv6NeighborEntry:       left(sai.ObjectTypeNeighborEntry, s.prof.Neighbors),
		sai.SwitchAttrAvailableNextHopGroupEntry:       left(sai.ObjectTypeNextHopGroup, s.prof.NextHopGroups),
		sai.SwitchAttrAvailableNextHopGroupMemberEntry: left(sai.ObjectTypeNextHopGroupMember, s.prof.NextHopMembers),
		sai.SwitchAttrMaxEcmpMemberCount:               num(s.prof.NextHopMembers), // a group may have all of them
		sai.SwitchAttrNumberOfSystemPorts:              num(0),
		sai.SwitchAttrMaxTwampSession:                  num(0),
		sai.SwitchAttrMaxNumberOfTempSensors:           num(0),
		sai.SwitchAttrAvailableSnatEntry:               num(0),
		sai.SwitchAttrAvailableDnatEntry:               num(0),
		sai.SwitchAttrAvailableIpmcEntry:               num(0),
		sai.SwitchAttrAvailableL2mcEntry:               num(0),
		sai.SwitchAttrNumberOfLags:                     num(s.prof.LAGs),
		sai.SwitchAttrLAGMembers:                       num(s.prof.LAGMembers),
		// SAI specifies KB
		sai.SwitchAttrTotalBufferSize: func() sai.Value {
			return sai.Uint(uint64(s.prof.Buffer.CellBytes) * uint64(s.prof.Buffer.Cells) >> 10)
		},
		sai.SwitchAttrNumberOfUnicastQueues:        num(s.prof.Queues),
		sai.SwitchAttrNumberOfMulticastQueues:      num(0),
		sai.SwitchAttrNumberOfQueues:               num(s.prof.Queues),
		sai.SwitchAttrNumberOfCPUQueues:            num(config.NumCPUQueues),
		sai.SwitchAttrACLTableMinimumPriority:      num(0),
		sai.SwitchAttrACLTableMaximumPriority:      num(maxMemberPriority),
		sai.SwitchAttrACLTableGroupMinimumPriority: num(0),
		sai.SwitchAttrACLTableGroupMaximumPriority: num(maxMemberPriority),
		sai.SwitchAttrACLEntryMinimumPriority:      num(a.MinPriority),
		sai.SwitchAttrACLEntryMaximumPriority:      num(a.MaxPriority),
		sai.SwitchAttrMaxACLActionCount:            func() sai.Value { return sai.Uint(len(aclmap.Actions(config.Ingress))) },
		sai.SwitchAttrMaxACLRangeCount:             num(a.Ranges),
		sai.SwitchAttrACLStageIngress:              func() sai.Value { return aclmap.Capability(config.Ingress) },
		sai.SwitchAttrACLStageEgress:               func() sai.Value { return aclmap.Capability(config.Egress) },
		sai.SwitchAttrAvailableACLTable:            func() sai.Value { return s.acls.tablesByBindPoint() },
		sai.SwitchAttrAvailableACLTableGroup:       func() sai.Value { return s.acls.groupsByBindPoint() },
		sai.SwitchAttrACLUserMetaDataRange:         func() sai.Value { return sai.Range{Max: 1<<32 - 1} },
		sai.SwitchAttrQoSMaxNumberOfTrafficClasses: num(qosmap.TrafficClasses),
		sai.SwitchAttrSupportedObjectTypeList:      func() sai.Value { return s.objectTypes() },
	}
	if preIngress(&s.prof) {
		facts[sai.SwitchAttrACLStagePreIngress] = func() sai.Value { return aclmap.Capability(config.PreIngress) }
	}
	return facts
}

// hashFields returns the fields of the flow hash that a hash has from the start. An IP packet has addresses, protocol
// and ports, any other frame EtherType and MAC addresses.
func hashFields() []sai.Enum {
	return []sai.Enum{
		sai.NativeHashFieldSrcIP, sai.NativeHashFieldDstIP, sai.NativeHashFieldIPProtocol,
		sai.NativeHashFieldL4SrcPort, sai.NativeHashFieldL4DstPort, sai.NativeHashFieldEthertype,
		sai.NativeHashFieldSrcMAC, sai.NativeHashFieldDstMAC,
	}
}

// hashKind returns the kind of the two HASH objects of the switch: for next hop groups and for LAGs. They come with the
// switch. Their lists name the fields that are hashed.
func (s *Store) hashKind() *kind {
	return &kind{
		max:   2,
		attrs: []sai.AttrID{sai.HashAttrNativeHashFieldList},
		enums: map[sai.AttrID][]sai.Enum{
			sai.HashAttrNativeHashFieldList: append(hashFields(), sai.NativeHashFieldInPort),
		},
		set: func(o *object, a sai.Attr) error {
			o.put(a)
			return s.putRow(s.kinds[sai.ObjectTypeSwitch], s.sw)
		},
		remove: refuseRemove("the hashes of the switch stay"),
	}
}

// hashing returns the hash of a HASH object, with attributes of the switch. The object is nil before it exists.
func hashing(sw, o *object, seed, algorithm sai.AttrID) config.Hashing {
	h := config.Hashing{Seed: uint32(sw.number(seed)), Algorithm: config.HashAlgorithm(sw.enum(algorithm))}
	if o == nil {
		return h
	}
	list, _ := o.attr(sai.HashAttrNativeHashFieldList).(sai.Enums)
	for i, f := range hashFields() {
		if !slices.Contains(list, f) {
			h.Without |= 1 << i
		}
	}
	h.InPort = slices.Contains(list, sai.NativeHashFieldInPort)
	return h
}

// leastTrim is the least size of trimmed packets: the headers up to the end of that of IP are always whole. They are
// Ethernet with two tags, a tag that the egress adds, and IPv4 with all options.
const leastTrim = 14 + 3*4 + 60

// trim returns the form that packets have after queues have trimmed them.
func (s *Store) trim(o *object) (config.Trim, error) {
	err := o.within(
		bound{id: sai.SwitchAttrPacketTrimSize, what: "bytes ", least: leastTrim, most: uint64(s.prof.MTU) - 4},
		bound{id: sai.SwitchAttrPacketTrimDSCPValue, what: "DSCP ", most: 63},
		bound{id: sai.SwitchAttrPacketTrimTCValue, what: "traffic class ", most: qosmap.TrafficClasses - 1},
		bound{id: sai.SwitchAttrPacketTrimQueueIndex, what: "queue ", most: uint64(s.prof.Queues) - 1},
	)
	return config.Trim{
		Size:    int(o.number(sai.SwitchAttrPacketTrimSize)),
		DSCP:    uint8(o.number(sai.SwitchAttrPacketTrimDSCPValue)),
		FromTC:  o.enum(sai.SwitchAttrPacketTrimDSCPResolutionMode) == sai.PacketTrimDSCPResolutionModeFromTC,
		TC:      uint8(o.number(sai.SwitchAttrPacketTrimTCValue)),
		Queue:   uint8(o.number(sai.SwitchAttrPacketTrimQueueIndex)),
		Dynamic: o.enum(sai.SwitchAttrPacketTrimQueueResolutionMode) == sai.PacketTrimQueueResolutionModeDynamic,
	}, err
}

// addSwitchStats makes the counters of the switch readable: those of debug counters, and of trimmed packets.
func (s *Store) addSwitchStats(k *kind) {
	s.debug.addSwitchStats(k)
	debug := k.stat
	k.stats = []sai.StatID{sai.SwitchStatDroppedTrimPackets, sai.SwitchStatTxTrimPackets}
	k.stat = func(o *object, id sai.StatID) uint64 {
		switch t := s.engine.TrimTotals(); id {
		case sai.SwitchStatDroppedTrimPackets:
			return t.Dropped
		case sai.SwitchStatTxTrimPackets:
			return t.Sent
		}
		return debug(o, id)
	}
}
