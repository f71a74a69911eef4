package saisim_test

import (
	"context"
	"testing"

	"tamtam/sai"
	"tamtam/saisim/profile"
)

func (r *rig) acl(stage sai.Enum, pairs ...any) sai.OID {
	r.Helper()
	return r.create(sai.ObjectTypeACLTable, append([]any{sai.ACLTableAttrACLStage, stage}, pairs...)...)
}

func (r *rig) entry(table sai.OID, priority int, pairs ...any) (counter sai.OID) {
	r.Helper()
	counter = r.create(sai.ObjectTypeACLCounter, sai.ACLCounterAttrTableID, table, sai.ACLCounterAttrEnablePacketCount,
		sai.Bool(true),
		sai.ACLCounterAttrEnableByteCount, sai.Bool(true))
	r.create(sai.ObjectTypeACLEntry, append([]any{sai.ACLEntryAttrTableID, table, sai.ACLEntryAttrPriority,
		sai.Uint(priority),
		sai.ACLEntryAttrActionCounter, sai.Do(counter)}, pairs...)...)
	return counter
}

func (r *rig) group(stage, kind sai.Enum, tables ...sai.OID) sai.OID {
	r.Helper()
	g := r.create(sai.ObjectTypeACLTableGroup, sai.ACLTableGroupAttrACLStage, stage, sai.ACLTableGroupAttrType, kind)
	for i, table := range tables {
		r.create(sai.ObjectTypeACLTableGroupMember, sai.ACLTableGroupMemberAttrACLTableGroupID, g,
			sai.ACLTableGroupMemberAttrACLTableID, table, sai.ACLTableGroupMemberAttrPriority, sai.Uint(100-i))
	}
	return g
}

func action(a sai.Enum) []any { return []any{sai.ACLEntryAttrActionPacketAction, sai.Do(a)} }

// An entry that redirects to a LAG without members sends packets nowhere.
func TestRedirectToEmptyLAG(t *testing.T) {
	r := newRig(t, profile.Small())
	table := r.acl(sai.ACLStageIngress)
	r.entry(table, 1, sai.ACLEntryAttrActionRedirect, sai.Do(r.create(sai.ObjectTypeLAG)))
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrIngressACL, table)
	if outs := r.send(0, udpFrame(1, 2, 60)); len(outs) != 0 || r.dropped(0) != "no-lag-member=1 " {
		t.Errorf("left %v, dropped %q", outs, r.dropped(0))
	}
}

// The chip refuses what a vendor's SAI refuses.
func TestRefusals(t *testing.T) {
	r := newRig(t, profile.Small())
	table := r.acl(sai.ACLStageIngress, sai.ACLTableAttrFieldSrcMAC, sai.Bool(true),
		sai.ACLTableAttrFieldACLRangeType, sai.Enums{sai.ACLRangeTypeL4SrcPortRange},
		sai.ACLTableAttrACLActionTypeList, sai.Enums{sai.ACLActionTypePacketAction, sai.ACLActionTypeCounter})
	egress := r.acl(sai.ACLStageEgress)
	rng := r.create(sai.ObjectTypeACLRange, sai.ACLRangeAttrType, sai.ACLRangeTypeL4DstPortRange, sai.ACLRangeAttrLimit,
		sai.Range{Min: 1, Max: 2})
	foreign := r.create(sai.ObjectTypeACLCounter, sai.ACLCounterAttrTableID, egress)
	ttl := sai.Match(sai.Uint(1), sai.Uint(255))
	for _, tt := range []struct {
		name string
		t    sai.ObjectType
		a    []any
		want sai.Status
	}{
		{"a field that the table has not", sai.ObjectTypeACLEntry, []any{sai.ACLEntryAttrTableID, table,
			sai.ACLEntryAttrFieldTTL, ttl}, sai.StatusInvalidParameter},
		{"a field that the chip has not", sai.ObjectTypeACLEntry, []any{sai.ACLEntryAttrTableID, table,
			sai.ACLEntryAttrFieldInnerSrcIP, sai.Field{}},
			sai.StatusSuccess},
		{"a range type that the table has not", sai.ObjectTypeACLEntry, []any{sai.ACLEntryAttrTableID, table,
			sai.ACLEntryAttrFieldACLRangeType, sai.Match(sai.OIDs{rng}, nil)}, sai.StatusInvalidParameter},
		{"an action that the table has not", sai.ObjectTypeACLEntry, []any{sai.ACLEntryAttrTableID, table,
			sai.ACLEntryAttrActionRedirect, sai.Do(r.oid(1))}, sai.StatusInvalidParameter},
		{"an action that the stage has not", sai.ObjectTypeACLEntry, []any{sai.ACLEntryAttrTableID, egress,
			sai.ACLEntryAttrActionRedirect, sai.Do(r.oid(1))}, sai.StatusInvalidParameter},
		{"a copy to the CPU at egress", sai.ObjectTypeACLEntry, []any{sai.ACLEntryAttrTableID, egress,
			sai.ACLEntryAttrActionPacketAction, sai.Do(sai.PacketActionTrap)}, sai.StatusNotSupported},
		{"priority 0", sai.ObjectTypeACLEntry, []any{sai.ACLEntryAttrTableID, table, sai.ACLEntryAttrPriority, sai.Uint(0)},
			sai.StatusInvalidParameter},
		{"priority above the maximum", sai.ObjectTypeACLEntry, []any{sai.ACLEntryAttrTableID, table, sai.ACLEntryAttrPriority,
			sai.Uint(1025)}, sai.StatusInvalidParameter},
		{"a counter of another table", sai.ObjectTypeACLEntry, []any{sai.ACLEntryAttrTableID, table,
			sai.ACLEntryAttrActionCounter, sai.Do(foreign)}, sai.StatusInvalidParameter},
		{"a table with a field that the chip has not", sai.ObjectTypeACLTable,
			[]any{sai.ACLTableAttrACLStage, sai.ACLStageIngress,
				sai.ACLTableAttrFieldInnerSrcIP, sai.Bool(true)}, sai.StatusAttrNotSupported0 - 1},
		{"an egress port at ingress", sai.ObjectTypeACLTable, []any{sai.ACLTableAttrACLStage, sai.ACLStageIngress,
			sai.ACLTableAttrFieldOutPort, sai.Bool(true)}, sai.StatusNotSupported},
		{"a stage that the chip has not", sai.ObjectTypeACLTable, []any{sai.ACLTableAttrACLStage, sai.ACLStageIngressMacsec},
			sai.StatusNotSupported},
		{"mirroring at the egress by an ingress table", sai.ObjectTypeACLTable,
			[]any{sai.ACLTableAttrACLStage, sai.ACLStageIngress,
				sai.ACLTableAttrACLActionTypeList, sai.Enums{sai.ACLActionTypeMirrorEgress}}, sai.StatusNotSupported},
		{"an oversized table", sai.ObjectTypeACLTable, []any{sai.ACLTableAttrACLStage, sai.ACLStageIngress,
			sai.ACLTableAttrSize, sai.Uint(33)}, sai.StatusInsufficientResources},
		{"IFA2", sai.ObjectTypeTAMInt, []any{sai.TAMIntAttrType, sai.TAMIntTypeIfa2, sai.TAMIntAttrDeviceID, sai.Uint(1),
			sai.TAMIntAttrIntPresenceType, sai.TAMIntPresenceTypeUndefined, sai.TAMIntAttrInline, sai.Bool(true)},
			sai.StatusNotSupported},
		{"a queue of the host", sai.ObjectTypeHostifUserDefinedTrap,
			[]any{sai.HostifUserDefinedTrapAttrType, sai.HostifUserDefinedTrapTypeACL}, sai.StatusNotSupported},
		{"an unknown extension", sai.ObjectTypeGenericProgrammable, []any{sai.GenericProgrammableAttrObjectName,
			sai.Bytes("x")}, sai.StatusNotSupported},
		{"a port on used lanes", sai.ObjectTypePort, []any{sai.PortAttrHWLaneList, sai.Uints{3, 4}, sai.PortAttrSpeed,
			sai.Uint(40000)}, sai.StatusItemAlreadyExists},
		{"a port on lanes that are not there", sai.ObjectTypePort, []any{sai.PortAttrHWLaneList, sai.Uints{8},
			sai.PortAttrSpeed, sai.Uint(10000)}, sai.StatusInvalidParameter},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want == sai.StatusSuccess {
				r.create(tt.t, tt.a...)
			} else {
				r.refused(tt.want, tt.t, tt.a...)
			}
		})
	}
	t.Run("binding to the wrong stage", func(t *testing.T) {
		err := r.Set(context.Background(), sai.Obj(sai.ObjectTypePort, r.oid(0)),
			sai.Attr{ID: sai.PortAttrIngressACL, Value: egress})
		r.wantStatus(err, sai.StatusInvalidParameter)
	})
	t.Run("binding where it was not made for", func(t *testing.T) {
		lagOnly := r.acl(sai.ACLStageIngress, sai.ACLTableAttrACLBindPointTypeList, sai.Enums{sai.ACLBindPointTypeLAG})
		err := r.Set(context.Background(), sai.Obj(sai.ObjectTypePort, r.oid(0)),
			sai.Attr{ID: sai.PortAttrIngressACL, Value: lagOnly})
		r.wantStatus(err, sai.StatusInvalidParameter)
	})
}

// Tables, entries, ranges and TAM objects run out at the limits of the profile.
func TestResourcesRunOut(t *testing.T) {
	r := newRig(t, profile.Small()) // 4 tables, 64 entries, 32 per table, 4 ranges, 4 TAM INT
	var tables []sai.OID
	for range 4 {
		tables = append(tables, r.acl(sai.ACLStageIngress))
	}
	r.refused(sai.StatusInsufficientResources, sai.ObjectTypeACLTable, sai.ACLTableAttrACLStage, sai.ACLStageIngress)
	r.acl(sai.ACLStageEgress) // a table of another stage than the rig's table
	avail := r.get(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrAvailableACLTable).(sai.ACLResources)
	for _, a := range avail {
		if want := map[sai.Enum]uint32{sai.ACLStageIngress: 0, sai.ACLStageEgress: 3,
			sai.ACLStagePreIngress: 4}[a.Stage]; a.Available != want {
			t.Errorf("%+v, want %d left", a, want)
		}
	}
	var entries []sai.OID
	for i := range 32 {
		entries = append(entries, r.create(sai.ObjectTypeACLEntry, sai.ACLEntryAttrTableID, tables[0],
			sai.ACLEntryAttrPriority, sai.Uint(1+i)))
	}
	r.refused(sai.StatusTableFull, sai.ObjectTypeACLEntry, sai.ACLEntryAttrTableID, tables[0])
	if n := r.get(sai.ObjectTypeACLTable, tables[0], sai.ACLTableAttrAvailableACLEntry); n != sai.Uint(0) {
		t.Errorf("%v entries left", n)
	}
	for i := range 32 {
		r.create(sai.ObjectTypeACLEntry, sai.ACLEntryAttrTableID, tables[1], sai.ACLEntryAttrPriority, sai.Uint(1+i))
	}
	r.refused(sai.StatusTableFull, sai.ObjectTypeACLEntry, sai.ACLEntryAttrTableID, tables[2])
	r.remove(sai.ObjectTypeACLEntry, entries[7])
	r.create(sai.ObjectTypeACLEntry, sai.ACLEntryAttrTableID, tables[2])
	for range 4 {
		r.create(sai.ObjectTypeACLRange, sai.ACLRangeAttrType, sai.ACLRangeTypeL4SrcPortRange, sai.ACLRangeAttrLimit,
			sai.Range{Min: 1, Max: 2})
	}
	for range 16 {
		r.stampAction(1)
	}
	r.refused(sai.StatusInsufficientResources, sai.ObjectTypeACLRange, sai.ACLRangeAttrType,
		sai.ACLRangeTypeL4SrcPortRange, sai.ACLRangeAttrLimit, sai.Range{})
	if n, err := r.Availability(context.Background(), sai.ObjectTypeTAMInt, nil); n != 0 || err != nil {
		t.Errorf("%d TAM INT objects left, %v", n, err)
	}
}

// A packet that carries a record can be matched.
func TestMatchTailstamp(t *testing.T) {
	r, q := newRig(t, profile.Small()), newRig(t, profile.Small())
	r.stampAll(1)
	plain := udpFrame(1, 2, 100)
	stampedFrame := r.send(0, plain)[0].data
	table := q.acl(sai.ACLStageIngress, sai.ACLTableAttrFieldTAMIntType, sai.Bool(true))
	c := q.entry(table, 1, sai.ACLEntryAttrFieldTAMIntType, sai.Match(sai.TAMIntTypeIfa1Tailstamp, sai.Enum(-1)))
	q.set(sai.ObjectTypeSwitch, q.sw, sai.SwitchAttrIngressACL, table)
	q.send(0, plain)
	q.send(0, stampedFrame)
	if q.packets(c) != 1 {
		t.Errorf("%d packets matched, want the stamped one", q.packets(c))
	}
}
