package saisim

import (
	"slices"
	"tamtam/saisim/config"

	"tamtam/sai"
	"tamtam/saisim/profile"
)

func (c *store) allKinds() map[sai.ObjectType]*kind {
	kinds := map[sai.ObjectType]*kind{
		sai.ObjectTypeSwitch:        c.switchKind(),
		sai.ObjectTypePort:          c.portKind(),
		sai.ObjectTypeQueue:         c.queueKind(),
		sai.ObjectTypeScheduler:     c.schedulerKind(),
		sai.ObjectTypeWRED:          c.wredKind(),
		sai.ObjectTypeQoSMap:        c.qosMapKind(),
		sai.ObjectTypeBufferPool:    c.bufferPoolKind(),
		sai.ObjectTypeBufferProfile: c.bufferProfileKind(),
		sai.ObjectTypeLAG:           c.lagKind(),
		sai.ObjectTypeLAGMember:     c.lagMemberKind(),
		sai.ObjectTypeVLAN:          c.vlanKind(),
		sai.ObjectTypeVLANMember:    c.vlanMemberKind(),
		sai.ObjectTypeBridge:        c.bridgeKind(),
		sai.ObjectTypeBridgePort:    c.bridgePortKind(),
		sai.ObjectTypeFDBEntry:      c.fdbKind(),
		sai.ObjectTypeVirtualRouter: c.routerKind(),

		sai.ObjectTypeRouterInterface:    c.rifKind(),
		sai.ObjectTypeNeighborEntry:      c.neighborKind(),
		sai.ObjectTypeNextHop:            c.nextHopKind(),
		sai.ObjectTypeNextHopGroup:       c.hopGroupKind(),
		sai.ObjectTypeNextHopGroupMember: c.hopMemberKind(),
		sai.ObjectTypeRouteEntry:         c.routeKind(),
		sai.ObjectTypeMirrorSession:      c.mirrorKind(),

		sai.ObjectTypeHostif:          c.hostifKind(),
		sai.ObjectTypeHostifTrapGroup: c.trapGroupKind(),
		sai.ObjectTypeHostifTrap:      c.trapKind(),

		sai.ObjectTypeACLTable:            c.aclTableKind(),
		sai.ObjectTypeACLEntry:            c.aclEntryKind(),
		sai.ObjectTypeACLCounter:          c.aclCounterKind(),
		sai.ObjectTypeACLRange:            c.aclRangeKind(),
		sai.ObjectTypeACLTableGroup:       c.aclGroupKind(),
		sai.ObjectTypeACLTableGroupMember: c.aclMemberKind(),

		sai.ObjectTypeTAMInt:              c.tamIntKind(),
		sai.ObjectTypeGenericProgrammable: c.extensionKind(),
	}
	c.storedKinds(kinds)
	for t, n := range map[sai.ObjectType]uint32{
		sai.ObjectTypeLAG: c.prof.LAGs, sai.ObjectTypeLAGMember: c.prof.LAGMembers, sai.ObjectTypeTAMInt: c.prof.TAMInts,
		sai.ObjectTypeRouterInterface: c.prof.RouterInterfaces, sai.ObjectTypeNeighborEntry: c.prof.Neighbors,
		sai.ObjectTypeNextHop: c.prof.NextHops, sai.ObjectTypeNextHopGroup: c.prof.NextHopGroups,
		sai.ObjectTypeNextHopGroupMember: c.prof.NextHopMembers, sai.ObjectTypeMirrorSession: c.prof.MirrorSessions,
	} {
		if n == 0 {
			delete(kinds, t) // not: as many as you like
		}
	}
	return kinds
}

func (c *store) switchKind() *kind {
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
			sai.SwitchAttrSwitchingMode, sai.SwitchAttrTAMObjectID,
			sai.SwitchAttrLAGDefaultHashSeed, sai.SwitchAttrEcmpDefaultHashSeed,
		},
		create: c.createSwitch,
		set:    c.setSwitch,
		row:    c.switchRow,
		get:    c.getSwitch,
		enums: map[sai.AttrID][]sai.Enum{
			sai.SwitchAttrType:                         {sai.SwitchTypeNpu},
			sai.SwitchAttrSwitchingMode:                {sai.SwitchSwitchingModeStoreAndForward},
			sai.SwitchAttrFDBUnicastMissPacketAction:   {sai.PacketActionForward, sai.PacketActionDrop},
			sai.SwitchAttrFDBBroadcastMissPacketAction: {sai.PacketActionForward, sai.PacketActionDrop},
			sai.SwitchAttrFDBMulticastMissPacketAction: {sai.PacketActionForward, sai.PacketActionDrop},
		},
	}
	// What can only be read.
	for id := range c.switchFacts() {
		k.attrs = append(k.attrs, id)
	}
	slices.Sort(k.attrs)
	return k
}

func (c *store) createSwitch(o *object) error {
	if !o.flag(sai.SwitchAttrInitSwitch) {
		return refuse("create", sai.ObjectTypeSwitch, sai.SwitchAttrInitSwitch, sai.StatusNotSupported,
			"want true: nothing to reconnect to")
	}
	for _, a := range o.attrs {
		if err := c.setSwitch(o, a); err != nil {
			return err
		}
	}
	c.sw = o
	return nil
}

// setSwitch notes what somebody wants to be told of.
func (c *store) setSwitch(_ *object, a sai.Attr) error {
	if v, ok := a.Value.(sai.Pointer); ok {
		switch a.ID {
		case sai.SwitchAttrFDBEventNotify:
			c.fdbNotify = v != 0
		case sai.SwitchAttrPortStateChangeNotify:
			c.portNotify = v != 0
		}
	}
	return nil
}

// switchRow is what the switch object says.
func (c *store) switchRow(o *object) (config.Row, error) {
	if err := c.checkBinds(o, sai.ACLBindPointTypeSwitch, sai.SwitchAttrIngressACL, sai.SwitchAttrEgressACL); err != nil {
		return nil, err
	}
	drops := func(id sai.AttrID) bool { return o.enum(id) == sai.PacketActionDrop }
	r := config.Switch{
		ID: o.id(), MAC: o.mac(sai.SwitchAttrSrcMACAddress), AgingSeconds: uint32(o.number(sai.SwitchAttrFDBAgingTime)),
		NoFlood: config.Flood{Unknown: drops(sai.SwitchAttrFDBUnicastMissPacketAction),
			Multicast: drops(sai.SwitchAttrFDBMulticastMissPacketAction),
			Broadcast: drops(sai.SwitchAttrFDBBroadcastMissPacketAction)},
		IngressACL: o.refID(sai.SwitchAttrIngressACL), EgressACL: o.refID(sai.SwitchAttrEgressACL),
		LAGSeed:  uint32(o.number(sai.SwitchAttrLAGDefaultHashSeed)),
		ECMPSeed: uint32(o.number(sai.SwitchAttrEcmpDefaultHashSeed)),
	}
	if c.cpu != nil {
		r.CPU = c.cpu.id()
	}
	return r, nil
}

// powerUp makes the objects that a switch has from its creation on.
func (c *store) powerUp() error {
	cpu, err := c.make(sai.Obj(sai.ObjectTypePort, c.newOID(sai.ObjectTypePort)), nil)
	if err != nil {
		return err
	}
	c.cpu = cpu
	if err := c.putRow(c.kinds[sai.ObjectTypeSwitch], c.sw); err != nil { // it names the CPU port
		return err
	}
	add := func(t sai.ObjectType, attrs ...sai.Attr) (o *object) {
		if err == nil {
			o, err = c.make(sai.Obj(t, c.newOID(t)), attrs)
		}
		if err != nil {
			return &object{}
		}
		return o
	}
	c.defaultVLAN = add(sai.ObjectTypeVLAN, sai.Attr{ID: sai.VLANAttrVLANID, Value: sai.Uint(1)})
	c.defaultBridge = add(sai.ObjectTypeBridge, sai.Attr{ID: sai.BridgeAttrType, Value: sai.BridgeType1q})
	c.defaultRouter = add(sai.ObjectTypeVirtualRouter)
	c.defaultGroup = add(sai.ObjectTypeHostifTrapGroup)
	for _, d := range c.prof.Default {
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
			add(sai.ObjectTypeVLANMember, sai.Attr{ID: sai.VLANMemberAttrVLANID, Value: c.defaultVLAN.key.OID},
				sai.Attr{ID: sai.VLANMemberAttrBridgePortID, Value: bp.key.OID})
		}
	}
	return err
}

func (c *store) getSwitch(_ *object, id sai.AttrID) sai.Value {
	if f := c.switchFacts()[id]; f != nil {
		return f()
	}
	if id == sai.SwitchAttrSrcMACAddress {
		return macBytes(c.switchMAC)
	}
	return nil
}

// switchFacts are the attributes that can only be read.
func (c *store) switchFacts() map[sai.AttrID]func() sai.Value {
	num := func(n uint32) func() sai.Value { return func() sai.Value { return sai.Uint(n) } }
	oid := func(o **object) func() sai.Value { return func() sai.Value { return (*o).key.OID } }
	left := func(t sai.ObjectType, of uint32) func() sai.Value {
		return func() sai.Value { return sai.Uint(of - c.live[t]) }
	}
	a := &c.prof.ACL
	return map[sai.AttrID]func() sai.Value{
		sai.SwitchAttrPortList:                         func() sai.Value { return c.portOIDs() },
		sai.SwitchAttrNumberOfActivePorts:              func() sai.Value { return sai.Uint(len(c.ports)) },
		sai.SwitchAttrMaxNumberOfSupportedPorts:        num(c.prof.Lanes),
		sai.SwitchAttrPortMaxMTU:                       num(c.prof.MTU),
		sai.SwitchAttrCPUPort:                          oid(&c.cpu),
		sai.SwitchAttrDefaultVLANID:                    oid(&c.defaultVLAN),
		sai.SwitchAttrDefault1qBridgeID:                oid(&c.defaultBridge),
		sai.SwitchAttrDefaultVirtualRouterID:           oid(&c.defaultRouter),
		sai.SwitchAttrDefaultTrapGroup:                 oid(&c.defaultGroup),
		sai.SwitchAttrOperStatus:                       func() sai.Value { return sai.SwitchOperStatusUp },
		sai.SwitchAttrFDBTableSize:                     num(c.prof.FDB),
		sai.SwitchAttrAvailableFDBEntry:                func() sai.Value { return sai.Uint(c.fdb.max - c.fdb.n) },
		sai.SwitchAttrMaxVirtualRouters:                num(1),
		sai.SwitchAttrMaxMirrorSession:                 num(min(c.prof.MirrorSessions, profile.MaxMirrors)),
		sai.SwitchAttrL3NeighborTableSize:              num(c.prof.Neighbors),
		sai.SwitchAttrL3RouteTableSize:                 num(c.prof.IPv4Routes),
		sai.SwitchAttrEcmpMembers:                      num(c.prof.NextHopMembers),
		sai.SwitchAttrNumberOfEcmpGroups:               num(c.prof.NextHopGroups),
		sai.SwitchAttrAvailableIPv4RouteEntry:          func() sai.Value { return sai.Uint(c.prof.IPv4Routes - c.used4) },
		sai.SwitchAttrAvailableIPv6RouteEntry:          func() sai.Value { return sai.Uint(c.prof.IPv6Routes - c.used6) },
		sai.SwitchAttrAvailableIPv4NexthopEntry:        left(sai.ObjectTypeNextHop, c.prof.NextHops),
		sai.SwitchAttrAvailableIPv6NexthopEntry:        left(sai.ObjectTypeNextHop, c.prof.NextHops),
		sai.SwitchAttrAvailableIPv4NeighborEntry:       left(sai.ObjectTypeNeighborEntry, c.prof.Neighbors),
		sai.SwitchAttrAvailableIPv6NeighborEntry:       left(sai.ObjectTypeNeighborEntry, c.prof.Neighbors),
		sai.SwitchAttrAvailableNextHopGroupEntry:       left(sai.ObjectTypeNextHopGroup, c.prof.NextHopGroups),
		sai.SwitchAttrAvailableNextHopGroupMemberEntry: left(sai.ObjectTypeNextHopGroupMember, c.prof.NextHopMembers),
		sai.SwitchAttrNumberOfLags:                     num(c.prof.LAGs),
		sai.SwitchAttrLAGMembers:                       num(c.prof.LAGMembers),
		// in KB, says SAI
		sai.SwitchAttrTotalBufferSize: func() sai.Value {
			return sai.Uint(uint64(c.prof.Buffer.CellBytes) * uint64(c.prof.Buffer.Cells) >> 10)
		},
		sai.SwitchAttrNumberOfUnicastQueues:        num(c.prof.Queues),
		sai.SwitchAttrNumberOfMulticastQueues:      num(0),
		sai.SwitchAttrNumberOfQueues:               num(c.prof.Queues),
		sai.SwitchAttrNumberOfCPUQueues:            num(1),
		sai.SwitchAttrACLTableMinimumPriority:      num(0),
		sai.SwitchAttrACLTableMaximumPriority:      num(maxMemberPriority),
		sai.SwitchAttrACLTableGroupMinimumPriority: num(0),
		sai.SwitchAttrACLTableGroupMaximumPriority: num(maxMemberPriority),
		sai.SwitchAttrACLEntryMinimumPriority:      num(a.MinPriority),
		sai.SwitchAttrACLEntryMaximumPriority:      num(a.MaxPriority),
		sai.SwitchAttrMaxACLActionCount:            func() sai.Value { return sai.Uint(len(aclActions(stageIngress))) },
		sai.SwitchAttrMaxACLRangeCount:             num(a.Ranges),
		sai.SwitchAttrACLStageIngress:              func() sai.Value { return aclCapability(stageIngress) },
		sai.SwitchAttrACLStageEgress:               func() sai.Value { return aclCapability(stageEgress) },
		sai.SwitchAttrAvailableACLTable:            func() sai.Value { return c.aclResources(a.Tables, c.tablesUsed) },
		sai.SwitchAttrAvailableACLTableGroup:       func() sai.Value { return c.aclResources(a.Groups, c.groupsUsed()) },
		sai.SwitchAttrACLUserMetaDataRange:         func() sai.Value { return sai.Range{Max: 1<<32 - 1} },
		sai.SwitchAttrQoSMaxNumberOfTrafficClasses: num(maxTrafficClasses),
		sai.SwitchAttrSupportedObjectTypeList:      func() sai.Value { return c.objectTypes() },
	}
}

func (c *store) portOIDs() sai.OIDs {
	oids := make(sai.OIDs, len(c.ports))
	for i, p := range c.ports {
		oids[i] = sai.OID(p.name)
	}
	return oids
}

func (c *store) objectTypes() (types sai.Enums) {
	for t := range c.kinds {
		types = append(types, sai.Enum(t))
	}
	slices.Sort(types)
	return types
}
