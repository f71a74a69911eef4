package chipload

import (
	"encoding/json"
	"net/netip"

	"tamtam/sai"
	"tamtam/saisim/describe"
	"tamtam/saisim/profile"
	"tamtam/tam/record"
)

// recordLabel is the label of a recording mirror session.
const recordLabel = record.LabelPrefix + "bench"

// record creates an ACL table that selects all packets, and a plan for them.
func (s *calls) record(sw, monitor sai.OID, l Load) {
	ip := func(last byte) sai.Value { return sai.IP{Addr: netip.AddrFrom4([4]byte{10, 255, 0, last})} }
	session := s.create(sai.ObjectTypeMirrorSession,
		sai.Attr{ID: sai.MirrorSessionAttrType, Value: sai.MirrorSessionTypeEnhancedRemote},
		sai.Attr{ID: sai.MirrorSessionAttrMonitorPort, Value: monitor},
		sai.Attr{ID: sai.MirrorSessionAttrErspanEncapsulationType, Value: sai.ErspanEncapsulationTypeIi},
		sai.Attr{ID: sai.MirrorSessionAttrIphdrVersion, Value: sai.Uint(4)},
		sai.Attr{ID: sai.MirrorSessionAttrTOS, Value: sai.Uint(0)},
		sai.Attr{ID: sai.MirrorSessionAttrSrcIPAddress, Value: ip(1)},
		sai.Attr{ID: sai.MirrorSessionAttrDstIPAddress, Value: ip(2)},
		sai.Attr{ID: sai.MirrorSessionAttrSrcMACAddress, Value: sai.MAC{2, 1}},
		sai.Attr{ID: sai.MirrorSessionAttrDstMACAddress, Value: sai.MAC{2, 2}},
		sai.Attr{ID: sai.MirrorSessionAttrGREProtocolType, Value: sai.Uint(0x88be)},
		sai.Attr{ID: sai.MirrorSessionAttrTC, Value: sai.Uint(1)},
		sai.Attr{ID: sai.MirrorSessionAttrLabel, Value: sai.Text(recordLabel)})
	table := s.create(sai.ObjectTypeACLTable,
		sai.Attr{ID: sai.ACLTableAttrACLStage, Value: sai.ACLStagePreIngress},
		sai.Attr{ID: sai.ACLTableAttrACLBindPointTypeList, Value: sai.Enums{sai.ACLBindPointTypeSwitch}},
		sai.Attr{ID: sai.ACLTableAttrFieldSrcIP, Value: sai.Bool(true)})
	entry := []sai.Attr{{ID: sai.ACLEntryAttrTableID, Value: table}, {ID: sai.ACLEntryAttrPriority, Value: sai.Uint(1)}}
	if l.Sample > 0 {
		entry = append(entry, sai.Attr{ID: sai.ACLEntryAttrActionMirrorIngress, Value: sai.Do(sai.OIDs{session})})
	}
	s.create(sai.ObjectTypeACLEntry, entry...)
	s.set(sai.Obj(sai.ObjectTypeSwitch, sw), sai.SwitchAttrPreIngressACL, table)
	if l.Plan {
		s.applyPlan(l.Sample)
	}
}

// applyPlan applies a plan of 7 tables to the chip.
func (s *calls) applyPlan(sample uint32) {
	profile := profile.Default()
	p := record.ChipPlan{
		ID: 1, Switch: 1, PHV: "16+16", Graph: describe.Program(&profile, nil).Version,
		Sessions: []record.ChipSession{{Label: recordLabel, Sample: max(sample, 1)}},
	}
	for i, table := range []string{"port", "trap", "acl", "learning", "router_mac", "fdb", "mtu"} {
		m := record.ChipMark{Table: "chip." + table, When: record.MarkRan, Bit: i}
		if i%2 == 1 { // in the other container
			m.When, m.Bit = record.MarkHit, 16+i
		}
		p.Marks = append(p.Marks, m)
	}
	text, err := json.Marshal(map[string]any{"attributes": []any{map[string]any{"plan": map[string]any{"value": p}}}})
	if s.err == nil {
		s.err = err
	}
	s.create(sai.ObjectTypeGenericProgrammable,
		sai.Attr{ID: sai.GenericProgrammableAttrObjectName, Value: sai.Bytes(record.ObjectPlan)},
		sai.Attr{ID: sai.GenericProgrammableAttrEntry, Value: sai.Bytes(text)})
}
