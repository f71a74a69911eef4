package objects

import (
	"maps"
	"slices"

	"tamtam/sai"
	"tamtam/saisim/config"
)

// traps is the area of the traps and their groups.
type traps struct {
	*core
	types map[sai.Enum]config.Trap
	users func() // puts the other rows that follow from trap groups
}

func newTraps(c *core) *traps { return &traps{core: c, types: trapTypes()} }

// trapTypes returns the traps that have a type in SAI.
func trapTypes() map[sai.Enum]config.Trap {
	return map[sai.Enum]config.Trap{
		sai.HostifTrapTypeStp:                       config.TrapSTP,
		sai.HostifTrapTypeLacp:                      config.TrapLACP,
		sai.HostifTrapTypeEapol:                     config.TrapEAPOL,
		sai.HostifTrapTypeLldp:                      config.TrapLLDP,
		sai.HostifTrapTypePvrst:                     config.TrapPVRST,
		sai.HostifTrapTypeUdld:                      config.TrapUDLD,
		sai.HostifTrapTypeCdp:                       config.TrapCDP,
		sai.HostifTrapTypeIsis:                      config.TrapISIS,
		sai.HostifTrapTypeArpRequest:                config.TrapARPRequest,
		sai.HostifTrapTypeArpResponse:               config.TrapARPResponse,
		sai.HostifTrapTypeDhcp:                      config.TrapDHCP,
		sai.HostifTrapTypeDhcpv6:                    config.TrapDHCPv6,
		sai.HostifTrapTypeIPv6NeighborDiscovery:     config.TrapND,
		sai.HostifTrapTypeIPv6NeighborSolicitation:  config.TrapNS,
		sai.HostifTrapTypeIPv6NeighborAdvertisement: config.TrapNA,
		sai.HostifTrapTypeOspf:                      config.TrapOSPF,
		sai.HostifTrapTypeOspfv6:                    config.TrapOSPFv6,
		sai.HostifTrapTypePim:                       config.TrapPIM,
		sai.HostifTrapTypeVrrp:                      config.TrapVRRP,
		sai.HostifTrapTypeVrrpv6:                    config.TrapVRRPv6,
		sai.HostifTrapTypeIp2me:                     config.TrapIP2ME,
		sai.HostifTrapTypeSsh:                       config.TrapSSH,
		sai.HostifTrapTypeSnmp:                      config.TrapSNMP,
		sai.HostifTrapTypeBgp:                       config.TrapBGP,
		sai.HostifTrapTypeBgpv6:                     config.TrapBGPv6,
		sai.HostifTrapTypeBfd:                       config.TrapBFD,
		sai.HostifTrapTypeBfdv6:                     config.TrapBFDv6,
		sai.HostifTrapTypeBfdMicro:                  config.TrapMicroBFD,
		sai.HostifTrapTypeBfdv6Micro:                config.TrapMicroBFDv6,
		sai.HostifTrapTypeLdp:                       config.TrapLDP,
		sai.HostifTrapTypeGnmi:                      config.TrapGNMI,
		sai.HostifTrapTypeP4rt:                      config.TrapP4RT,
		sai.HostifTrapTypeNtpclient:                 config.TrapNTPClient,
		sai.HostifTrapTypeNtpserver:                 config.TrapNTPServer,
		sai.HostifTrapTypeStaticFDBMove:             config.TrapStaticMove,
		sai.HostifTrapTypeNeighborMiss:              config.TrapNeighborMiss,
		sai.HostifTrapTypeL3MTUError:                config.TrapL3MTU,
		sai.HostifTrapTypeTTLError:                  config.TrapTTL,
		sai.HostifTrapTypeSamplepacket:              config.TrapSample,
	}
}

// putRule puts the rule of a HOSTIF_TRAP object. If its trap group is administratively down, the rule is dropped
// instead.
func (ts *traps) putRule(o *object) {
	g := ts.groupOf(o)
	r := config.TrapRule{
		ID: o.id(), Trap: ts.types[o.enum(sai.HostifTrapAttrTrapType)],
		Action:   o.does(sai.HostifTrapAttrPacketAction),
		Priority: uint32(o.number(sai.HostifTrapAttrTrapPriority)),
		ToCPU:    g.toCPU(),
	}
	r.Counter = o.refID(sai.HostifTrapAttrCounterID)
	if g.flag(sai.HostifTrapGroupAttrAdminState) {
		ts.put(r)
	} else {
		ts.drop(r)
	}
}

// groupOf returns the group of a trap. A trap that names no group is in the default group.
func (ts *traps) groupOf(trap *object) *object {
	if g := ts.objects[trap.ref(sai.HostifTrapAttrTrapGroup)]; g != nil {
		return g
	}
	return ts.defaultGroup
}

// toCPU returns the policer and the queue of a trap group's packets for the CPU.
func (o *object) toCPU() config.ToCPU {
	return config.ToCPU{
		Policer: o.refID(sai.HostifTrapGroupAttrPolicer), Queue: uint8(o.number(sai.HostifTrapGroupAttrQueue)),
	}
}

func (ts *traps) trapKind() *kind {
	types := slices.Sorted(maps.Keys(ts.types))
	return &kind{
		attrs: []sai.AttrID{
			sai.HostifTrapAttrTrapType, sai.HostifTrapAttrPacketAction, sai.HostifTrapAttrTrapPriority,
			sai.HostifTrapAttrTrapGroup, sai.HostifTrapAttrCounterID,
		},
		enums: map[sai.AttrID][]sai.Enum{sai.HostifTrapAttrTrapType: types},
		check: checkSampleTrap,
		create: func(o *object) error {
			ts.putRule(o)
			return nil
		},
		set: func(o *object, a sai.Attr) error {
			ts.putRule(o.with(a))
			return nil
		},
		gone: func(o *object) { ts.drop(config.TrapRule{ID: o.id()}) },
	}
}

// trapGroupKind returns the kind of trap groups. The switch's own group is for all packets to the CPU without a trap
// object, regardless of its administrative state. Packets to the CPU do not wait in its queues: they only carry the
// number of their queue.
func (ts *traps) trapGroupKind() *kind {
	return &kind{
		attrs: []sai.AttrID{
			sai.HostifTrapGroupAttrAdminState, sai.HostifTrapGroupAttrQueue, sai.HostifTrapGroupAttrPolicer,
		},
		check: checkTrapGroup,
		set: func(o *object, a sai.Attr) error {
			o.put(a)
			if o == ts.defaultGroup {
				ts.put(config.TrapDefault{ToCPU: o.toCPU()})
			}
			for _, trap := range ts.objects {
				if trap.key.Type == sai.ObjectTypeHostifTrap && ts.groupOf(trap) == o {
					ts.putRule(trap)
				}
			}
			ts.users()
			return nil
		},
		remove: func(o *object) error {
			if o == ts.defaultGroup {
				return refuseRemove("the default trap group stays")(o)
			}
			return nil
		},
	}
}

// maxTrapCounters is the number of counters of traps.
const maxTrapCounters = 256

// counterKind returns the kind of the counters of traps. They count packets and bytes of frames with FCS, before the
// packets are policed.
func (ts *traps) counterKind() *kind {
	return &kind{
		max: maxTrapCounters,
		attrs: []sai.AttrID{
			sai.CounterAttrType, sai.CounterAttrLabel, sai.CounterAttrEnablePacketCount, sai.CounterAttrEnableByteCount,
		},
		enums: map[sai.AttrID][]sai.Enum{sai.CounterAttrType: {sai.CounterTypeRegular}},
		row:   func(o *object) (config.Row, error) { return config.Counter{ID: o.id()}, nil },
		stats: []sai.StatID{sai.CounterStatPackets, sai.CounterStatBytes},
		stat: func(o *object, id sai.StatID) uint64 {
			n := ts.engine.TrapCount(o.id())
			switch {
			case id == sai.CounterStatPackets && o.flag(sai.CounterAttrEnablePacketCount):
				return n.Packets
			case id == sai.CounterStatBytes && o.flag(sai.CounterAttrEnableByteCount):
				return n.Bytes
			}
			return 0
		},
	}
}

func checkTrapGroup(o *object) error {
	if q := o.number(sai.HostifTrapGroupAttrQueue); q >= config.NumCPUQueues {
		return badValue(sai.HostifTrapGroupAttrQueue, sai.StatusInvalidParameter,
			"queue %d, the CPU port has 0 to %d", q, config.NumCPUQueues-1)
	}
	return nil
}

// checkSampleTrap rejects an action of the sample trap that does not send samples to the CPU. The trap only selects
// their path to the CPU.
func checkSampleTrap(o *object) error {
	if o.enum(sai.HostifTrapAttrTrapType) != sai.HostifTrapTypeSamplepacket {
		return nil
	}
	switch o.enum(sai.HostifTrapAttrPacketAction) {
	case sai.PacketActionTrap, sai.PacketActionCopy:
		return nil
	}
	return badValue(sai.HostifTrapAttrPacketAction, sai.StatusNotSupported, "%s of samples, want trap or copy",
		sai.EnumName(sai.HostifTrapAttrPacketAction, o.enum(sai.HostifTrapAttrPacketAction)))
}
