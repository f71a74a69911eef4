package objects

import (
	"slices"

	"tamtam/sai"
)

func (s *Store) allKinds() map[sai.ObjectType]*kind {
	kinds := map[sai.ObjectType]*kind{
		sai.ObjectTypeSwitch:               s.switchKind(),
		sai.ObjectTypePort:                 s.ports.portKind(),
		sai.ObjectTypeQueue:                s.ports.queueKind(),
		sai.ObjectTypeIngressPriorityGroup: s.ports.priorityGroupKind(),
		sai.ObjectTypeScheduler:            s.qos.schedulerKind(),
		sai.ObjectTypeWRED:                 s.qos.wredKind(),
		sai.ObjectTypeQoSMap:               s.qos.qosMapKind(),
		sai.ObjectTypeBufferPool:           s.qos.bufferPoolKind(),
		sai.ObjectTypeBufferProfile:        s.qos.bufferProfileKind(),
		sai.ObjectTypeLAG:                  s.ports.lagKind(),
		sai.ObjectTypeLAGMember:            s.ports.lagMemberKind(),
		sai.ObjectTypeVLAN:                 s.bridge.vlanKind(),
		sai.ObjectTypeVLANMember:           s.bridge.vlanMemberKind(),
		sai.ObjectTypeBridge:               s.bridge.bridgeKind(),
		sai.ObjectTypeBridgePort:           s.bridge.bridgePortKind(),
		sai.ObjectTypeFDBEntry:             s.bridge.fdbKind(),
		sai.ObjectTypeVirtualRouter:        s.router.routerKind(),

		sai.ObjectTypeRouterInterface:    s.router.rifKind(),
		sai.ObjectTypeNeighborEntry:      s.router.neighborKind(),
		sai.ObjectTypeNextHop:            s.router.nextHopKind(),
		sai.ObjectTypeNextHopGroup:       s.router.hopGroupKind(),
		sai.ObjectTypeNextHopGroupMember: s.router.hopMemberKind(),
		sai.ObjectTypeRouteEntry:         s.router.routeKind(),
		sai.ObjectTypeMirrorSession:      s.mirrors.mirrorKind(),

		sai.ObjectTypeTunnel:               s.router.tunnelKind(),
		sai.ObjectTypeTunnelTermTableEntry: s.router.tunnelEndKind(),

		sai.ObjectTypeSchedulerGroup:   s.ports.schedulerGroupKind(),
		sai.ObjectTypeHostif:           s.ports.hostifKind(),
		sai.ObjectTypeHostifTableEntry: s.ports.hostifTableKind(),
		sai.ObjectTypeHostifTrapGroup:  s.traps.trapGroupKind(),
		sai.ObjectTypeHostifTrap:       s.traps.trapKind(),
		sai.ObjectTypeCounter:          s.traps.counterKind(),
		sai.ObjectTypeHash:             s.hashKind(),
		sai.ObjectTypePolicer:          s.policerKind(),
		sai.ObjectTypeSamplepacket:     s.monitors.samplerKind(),
		sai.ObjectTypeDebugCounter:     s.debug.debugKind(),

		sai.ObjectTypeACLTable:            s.acls.tableKind(),
		sai.ObjectTypeACLEntry:            s.acls.entryKind(),
		sai.ObjectTypeACLCounter:          s.acls.counterKind(),
		sai.ObjectTypeACLRange:            s.acls.rangeKind(),
		sai.ObjectTypeACLTableGroup:       s.acls.groupKind(),
		sai.ObjectTypeACLTableGroupMember: s.acls.groupMemberKind(),

		sai.ObjectTypeTAMInt:                 s.monitors.tamIntKind(s.prof.TAMInts),
		sai.ObjectTypeTAM:                    s.monitors.tamKind(),
		sai.ObjectTypeTAMEvent:               s.monitors.eventKind(),
		sai.ObjectTypeTAMEventAction:         s.monitors.actionKind(),
		sai.ObjectTypeTAMEventThreshold:      s.monitors.thresholdKind(),
		sai.ObjectTypeTAMReport:              s.monitors.reportKind(),
		sai.ObjectTypeTAMCollector:           s.monitors.collectorKind(),
		sai.ObjectTypeTAMTransport:           s.monitors.transportKind(),
		sai.ObjectTypeHostifUserDefinedTrap:  s.monitors.userTrapKind(),
		sai.ObjectTypeTAMTelType:             s.telemetry.telTypeKind(),
		sai.ObjectTypeTAMTelemetry:           s.telemetry.telemetryKind(),
		sai.ObjectTypeTAMCounterSubscription: s.telemetry.subscriptionKind(),
		sai.ObjectTypeGenericProgrammable:    extensionKind(s.extensions),
	}
	storedKinds(kinds)
	for _, t := range []sai.ObjectType{ // the chain from a stream to the switch and to the host
		sai.ObjectTypeSwitch, sai.ObjectTypeTAM, sai.ObjectTypeTAMTelemetry, sai.ObjectTypeTAMTelType,
		sai.ObjectTypeTAMReport, sai.ObjectTypeTAMCollector, sai.ObjectTypeTAMTransport, sai.ObjectTypeHostifTableEntry,
	} {
		kinds[t].changed = s.telemetry.connect
	}
	for t, n := range map[sai.ObjectType]uint32{
		sai.ObjectTypeLAG: s.prof.LAGs, sai.ObjectTypeLAGMember: s.prof.LAGMembers, sai.ObjectTypeTAMInt: s.prof.TAMInts,
		sai.ObjectTypeRouterInterface: s.prof.RouterInterfaces, sai.ObjectTypeNeighborEntry: s.prof.Neighbors,
		sai.ObjectTypeNextHop: s.prof.NextHops, sai.ObjectTypeNextHopGroup: s.prof.NextHopGroups,
		sai.ObjectTypeNextHopGroupMember: s.prof.NextHopMembers, sai.ObjectTypeMirrorSession: s.prof.MirrorSessions,
	} {
		if n == 0 {
			delete(kinds, t) // a limit of 0 means not supported, not unlimited
		}
	}
	return kinds
}

func (s *Store) objectTypes() (types sai.Enums) {
	for t := range s.kinds {
		types = append(types, sai.Enum(t))
	}
	slices.Sort(types)
	return types
}
