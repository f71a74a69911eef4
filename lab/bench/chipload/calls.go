package chipload

import (
	"context"
	"encoding/binary"
	"errors"
	"net/netip"

	"tamtam/sai"
	"tamtam/saisim"
)

// calls makes SAI calls until one fails.
type calls struct {
	ctx  context.Context
	chip *saisim.Chip
	err  error
}

func (s *calls) create(t sai.ObjectType, attrs ...sai.Attr) (oid sai.OID) {
	if s.err == nil {
		oid, s.err = s.chip.Create(s.ctx, t, attrs)
	}
	return oid
}

func (s *calls) set(k sai.Key, id sai.AttrID, v sai.Value) {
	if s.err == nil {
		s.err = s.chip.Set(s.ctx, k, sai.Attr{ID: id, Value: v})
	}
}

func (s *calls) get(k sai.Key, id sai.AttrID) sai.Value {
	if s.err != nil {
		return nil
	}
	got, err := s.chip.Get(s.ctx, k, []sai.Attr{sai.Want(id, 1024)})
	if s.err = err; err != nil {
		return nil
	}
	return got[0].Value
}

// account gives the first priority group of each port a profile, as SONiC does.
func (s *calls) account(ports []sai.OID) {
	pool := s.create(sai.ObjectTypeBufferPool,
		sai.Attr{ID: sai.BufferPoolAttrType, Value: sai.BufferPoolTypeIngress},
		sai.Attr{ID: sai.BufferPoolAttrSize, Value: sai.Uint(1 << 22)},
		sai.Attr{ID: sai.BufferPoolAttrThresholdMode, Value: sai.BufferPoolThresholdModeDynamic})
	profile := s.create(sai.ObjectTypeBufferProfile,
		sai.Attr{ID: sai.BufferProfileAttrPoolID, Value: pool},
		sai.Attr{ID: sai.BufferProfileAttrReservedBufferSize, Value: sai.Uint(0)},
		sai.Attr{ID: sai.BufferProfileAttrThresholdMode, Value: sai.BufferProfileThresholdModeDynamic},
		sai.Attr{ID: sai.BufferProfileAttrSharedDynamicTh, Value: sai.Int(3)})
	for _, oid := range ports {
		groups, _ := s.get(sai.Obj(sai.ObjectTypePort, oid), sai.PortAttrIngressPriorityGroupList).(sai.OIDs)
		if s.err == nil { // each port has groups
			s.set(sai.Obj(sai.ObjectTypeIngressPriorityGroup, groups[0]), sai.IngressPriorityGroupAttrBufferProfile, profile)
		}
	}
}

// rules creates a table with entries that the packets do not hit. If the load has Stamp, a lower entry stamps all
// packets.
func (s *calls) rules(sw sai.Key, l Load) {
	yes := sai.Bool(true)
	table := s.create(sai.ObjectTypeACLTable,
		sai.Attr{ID: sai.ACLTableAttrACLStage, Value: sai.ACLStageIngress},
		sai.Attr{ID: sai.ACLTableAttrACLBindPointTypeList, Value: sai.Enums{sai.ACLBindPointTypeSwitch}},
		sai.Attr{ID: sai.ACLTableAttrFieldSrcIP, Value: yes}, sai.Attr{ID: sai.ACLTableAttrFieldDstIP, Value: yes},
		sai.Attr{ID: sai.ACLTableAttrFieldL4DstPort, Value: yes}, sai.Attr{ID: sai.ACLTableAttrFieldIPProtocol, Value: yes})
	ip := func(n uint32) sai.IP {
		return sai.IP{Addr: netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, n)))}
	}
	entries := make([][]sai.Attr, l.Rules)
	for i := range entries {
		e := []sai.Attr{
			{ID: sai.ACLEntryAttrTableID, Value: table}, {ID: sai.ACLEntryAttrPriority, Value: sai.Uint(1000 + i%5000)},
			{ID: sai.ACLEntryAttrFieldSrcIP, Value: sai.Match(ip(11<<24|uint32(i)), ip(1<<32-1))},
		}
		switch i % 4 {
		case 1:
			e = append(e, sai.Attr{ID: sai.ACLEntryAttrFieldDstIP, Value: sai.Match(ip(12<<24|uint32(i%256)<<8), ip(1<<32-256))})
		case 2:
			e = append(e, sai.Attr{ID: sai.ACLEntryAttrFieldL4DstPort, Value: sai.Match(sai.Uint(i%60_000), sai.Uint(0xffff))})
		case 3:
			e = append(e, sai.Attr{ID: sai.ACLEntryAttrFieldIPProtocol, Value: sai.Match(sai.Uint(17), sai.Uint(0xff))})
		}
		entries[i] = e
	}
	if s.err == nil && len(entries) > 0 {
		_, errs := s.chip.BulkCreate(s.ctx, sai.ObjectTypeACLEntry, entries)
		s.err = errors.Join(errs...)
	}
	if l.Stamp {
		session := s.create(sai.ObjectTypeTAMInt,
			sai.Attr{ID: sai.TAMIntAttrType, Value: sai.TAMIntTypeIfa1Tailstamp},
			sai.Attr{ID: sai.TAMIntAttrDeviceID, Value: sai.Uint(1)},
			sai.Attr{ID: sai.TAMIntAttrIntPresenceType, Value: sai.TAMIntPresenceTypeUndefined},
			sai.Attr{ID: sai.TAMIntAttrInline, Value: yes})
		s.create(sai.ObjectTypeACLEntry, sai.Attr{ID: sai.ACLEntryAttrTableID, Value: table},
			sai.Attr{ID: sai.ACLEntryAttrPriority, Value: sai.Uint(1)},
			sai.Attr{ID: sai.ACLEntryAttrActionIntInsert, Value: sai.Do(yes)},
			sai.Attr{ID: sai.ACLEntryAttrActionTAMIntObject, Value: sai.Do(session)})
	}
	s.set(sw, sai.SwitchAttrIngressACL, table)
}

// egressRule creates an egress ACL with one entry, which all packets hit.
func (s *calls) egressRule(sw sai.Key) {
	table := s.create(sai.ObjectTypeACLTable, sai.Attr{ID: sai.ACLTableAttrACLStage, Value: sai.ACLStageEgress},
		sai.Attr{ID: sai.ACLTableAttrACLBindPointTypeList, Value: sai.Enums{sai.ACLBindPointTypeSwitch}},
		sai.Attr{ID: sai.ACLTableAttrFieldSrcIP, Value: sai.Bool(true)})
	s.create(sai.ObjectTypeACLEntry, sai.Attr{ID: sai.ACLEntryAttrTableID, Value: table},
		sai.Attr{ID: sai.ACLEntryAttrPriority, Value: sai.Uint(1)},
		sai.Attr{ID: sai.ACLEntryAttrActionPacketAction, Value: sai.Do(sai.PacketActionForward)})
	s.set(sw, sai.SwitchAttrEgressACL, table)
}
