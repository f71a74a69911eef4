package chipload

import (
	"encoding/binary"
	"errors"
	"net/netip"

	"tamtam/sai"
	"tamtam/tam/altmark"
)

// markAll creates a session of muxed marking for each host's flow, with one profile and two entries per flow.
func (s *calls) markAll(sw sai.Key, flows int) {
	yes := sai.Bool(true)
	s.create(sai.ObjectTypeGenericProgrammable,
		sai.Attr{ID: sai.GenericProgrammableAttrObjectName, Value: sai.Bytes(altmark.ObjectProfile)},
		sai.Attr{ID: sai.GenericProgrammableAttrEntry, Value: sai.Bytes(`{"attributes":[{"profile":{"value":{` +
			`"lane":0,"role":"initiator","method":"muxed","interval":0,"mark":"dscp0","mark2":"",` +
			`"clear":false,"slot-sync":true,"guard-ns":1000}}}]}`)})
	table := s.create(sai.ObjectTypeACLTable,
		sai.Attr{ID: sai.ACLTableAttrACLStage, Value: sai.ACLStageIngress},
		sai.Attr{ID: sai.ACLTableAttrACLBindPointTypeList, Value: sai.Enums{sai.ACLBindPointTypeSwitch}},
		sai.Attr{ID: sai.ACLTableAttrFieldSrcIP, Value: yes}, sai.Attr{ID: sai.ACLTableAttrFieldACLUserMeta, Value: yes})
	entries := make([][]sai.Attr, 2*flows)
	for i := range entries {
		flow, colour := uint32(i/2), uint32(i%2)
		counter := s.create(sai.ObjectTypeACLCounter, sai.Attr{ID: sai.ACLCounterAttrTableID, Value: table},
			sai.Attr{ID: sai.ACLCounterAttrEnablePacketCount, Value: yes},
			sai.Attr{ID: sai.ACLCounterAttrEnableByteCount, Value: yes})
		ip := sai.IP{Addr: netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, 10<<24|flow)))}
		all := sai.IP{Addr: netip.AddrFrom4([4]byte{255, 255, 255, 255})}
		entries[i] = []sai.Attr{
			{ID: sai.ACLEntryAttrTableID, Value: table}, {ID: sai.ACLEntryAttrPriority, Value: sai.Uint(100)},
			{ID: sai.ACLEntryAttrFieldSrcIP, Value: sai.Match(ip, all)},
			{ID: sai.ACLEntryAttrFieldACLUserMeta, Value: sai.Match(sai.Uint(8|colour), sai.Uint(9))},
			{ID: sai.ACLEntryAttrActionCounter, Value: sai.Do(counter)},
			{ID: sai.ACLEntryAttrActionSetACLMetaData, Value: sai.Do(sai.Uint(0xA<<28 | colour<<23 | flow))},
		}
	}
	if s.err == nil {
		_, errs := s.chip.BulkCreate(s.ctx, sai.ObjectTypeACLEntry, entries)
		s.err = errors.Join(errs...)
	}
	s.set(sw, sai.SwitchAttrIngressACL, table)
}
