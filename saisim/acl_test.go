package saisim_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
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

// What packet actions do, alone and where two tables of a parallel group differ.
func TestPacketActions(t *testing.T) {
	const both, cpu, fwd, none = "1 cpu", "cpu", "1", ""
	name := func(outs []sent) string {
		var s []string
		for _, o := range outs {
			if o.port == saisim.CPUPort {
				s = append(s, "cpu")
			} else {
				s = append(s, fmt.Sprint(o.port))
			}
		}
		slices.Sort(s)
		out := ""
		for i, x := range s {
			if i > 0 {
				out += " "
			}
			out += x
		}
		return out
	}
	for _, tt := range []struct {
		a, b sai.Enum
		want string
	}{
		{sai.PacketActionForward, sai.PacketActionForward, fwd},
		{sai.PacketActionDrop, sai.PacketActionDrop, none},
		{sai.PacketActionCopy, sai.PacketActionForward, both},
		{sai.PacketActionLog, sai.PacketActionForward, both},
		{sai.PacketActionTrap, sai.PacketActionForward, cpu},
		{sai.PacketActionDeny, sai.PacketActionForward, none},
		{sai.PacketActionTransit, sai.PacketActionForward, fwd},
		{sai.PacketActionDonotdrop, sai.PacketActionForward, fwd},
		{sai.PacketActionForward, sai.PacketActionDrop, none},
		{sai.PacketActionDonotdrop, sai.PacketActionDrop, none},
		{sai.PacketActionCopy, sai.PacketActionDrop, cpu},
		{sai.PacketActionTrap, sai.PacketActionDeny, none},
		{sai.PacketActionCopy, sai.PacketActionCopyCancel, fwd},
	} {
		t.Run(fmt.Sprint(tt.a, tt.b), func(t *testing.T) {
			r := newRig(t, profile.Small())
			r.send(1, udpFrame(2, 1, 60))
			one, two := r.acl(sai.ACLStageIngress), r.acl(sai.ACLStageIngress)
			c1 := r.entry(one, 10, action(tt.a)...)
			c2 := r.entry(two, 10, action(tt.b)...)
			r.set(sai.ObjectTypePort, r.oid(0), sai.PortAttrIngressACL, r.group(sai.ACLStageIngress,
				sai.ACLTableGroupTypeParallel, one, two))
			if got := name(r.send(0, udpFrame(1, 2, 60))); got != tt.want {
				t.Errorf("left by %q, want %q", got, tt.want)
			}
			if tt.want == none && r.dropped(0) != "acl=1 " {
				t.Errorf("dropped %q", r.dropped(0))
			}
			if r.packets(c1) != 1 || r.packets(c2) != 1 {
				t.Errorf("counted %d and %d, want both tables to count", r.packets(c1), r.packets(c2))
			}
			if b := r.get(sai.ObjectTypeACLCounter, c1, sai.ACLCounterAttrBytes); b != sai.Uint(64) {
				t.Errorf("%v bytes, want 60 + FCS", b)
			}
			r.send(1, udpFrame(2, 1, 60)) // not bound there
			if r.packets(c1) != 1 {
				t.Error("counted at a port where it is not bound")
			}
		})
	}
}

// In a sequential group the first table that hits is the last to be looked in.
func TestSequentialGroup(t *testing.T) {
	r := newRig(t, profile.Small())
	r.send(1, udpFrame(2, 1, 60))
	src := []any{sai.ACLTableAttrFieldSrcMAC, sai.Bool(true)}
	one, two, three := r.acl(sai.ACLStageIngress, src...), r.acl(sai.ACLStageIngress), r.acl(sai.ACLStageIngress)
	c1 := r.entry(one, 1, sai.ACLEntryAttrFieldSrcMAC, sai.Match(sai.MAC(host(1)), sai.MAC{255, 255, 255, 255, 255, 255}))
	c2 := r.entry(two, 1)
	c3 := r.entry(three, 1, action(sai.PacketActionDrop)...)
	r.set(sai.ObjectTypePort, r.oid(0), sai.PortAttrIngressACL, r.group(sai.ACLStageIngress,
		sai.ACLTableGroupTypeSequential, one, two, three))
	r.send(0, udpFrame(1, 2, 60))
	r.send(0, udpFrame(3, 2, 60))
	if a, b, c := r.packets(c1), r.packets(c2), r.packets(c3); a != 1 || b != 1 || c != 0 {
		t.Errorf("counted %d, %d, %d; want 1, 1, 0", a, b, c)
	}
}

// A packet is looked up in a table once, however many bind points lead there.
func TestBindPoints(t *testing.T) {
	r := newRig(t, profile.Small())
	r.send(1, udpFrame(2, 1, 60))
	table := r.acl(sai.ACLStageIngress)
	c := r.entry(table, 1)
	vlan := r.get(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrDefaultVLANID).(sai.OID)
	want := uint64(0)
	step := func(what string, hit bool) {
		t.Helper()
		if hit {
			want++
		}
		r.send(0, udpFrame(1, 2, 60))
		if got := r.packets(c); got != want {
			t.Errorf("%s: counted %d, want %d", what, got, want)
		}
	}
	step("bound nowhere", false)
	r.set(sai.ObjectTypeVLAN, vlan, sai.VLANAttrIngressACL, table)
	step("VLAN", true)
	r.set(sai.ObjectTypePort, r.oid(0), sai.PortAttrIngressACL, table)
	step("VLAN and port", true)
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrIngressACL, r.group(sai.ACLStageIngress, sai.ACLTableGroupTypeParallel,
		table))
	step("VLAN, port and switch", true)
	r.wantStatus(r.Remove(context.Background(), sai.Obj(sai.ObjectTypeACLTable, table)), sai.StatusObjectInUse)
	r.set(sai.ObjectTypeVLAN, vlan, sai.VLANAttrIngressACL, sai.NullOID)
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrIngressACL, sai.NullOID)
	step("port", true)
	r.set(sai.ObjectTypePort, r.oid(0), sai.PortAttrIngressACL, sai.NullOID)
	step("unbound", false)

	// On a LAG it holds for the members.
	lag := r.create(sai.ObjectTypeLAG)
	r.clearVLAN1()
	r.create(sai.ObjectTypeLAGMember, sai.LAGMemberAttrLAGID, lag, sai.LAGMemberAttrPortID, r.oid(0))
	r.set(sai.ObjectTypeLAG, lag, sai.LAGAttrIngressACL, table)
	v := r.vlan(7)
	r.member(v, r.bridgePort(lag), sai.VLANTaggingModeUntagged)
	r.set(sai.ObjectTypeLAG, lag, sai.LAGAttrPortVLANID, sai.Uint(7))
	step("LAG", true)
}

func TestRedirect(t *testing.T) {
	r := newRig(t, profile.Small())
	r.send(1, udpFrame(2, 1, 60))
	table := r.acl(sai.ACLStageIngress)
	r.create(sai.ObjectTypeACLEntry, sai.ACLEntryAttrTableID, table, sai.ACLEntryAttrPriority, sai.Uint(5),
		sai.ACLEntryAttrActionRedirect, sai.Do(r.oid(6)))
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrIngressACL, table)
	if ids := portsOf(r.send(0, udpFrame(1, 2, 60))); !slices.Equal(ids, []saisim.PortID{6}) {
		t.Errorf("redirected to %v, want 6", ids)
	}
	// Of two tables the one with the higher priority in the group redirects.
	two := r.acl(sai.ACLStageIngress)
	r.create(sai.ObjectTypeACLEntry, sai.ACLEntryAttrTableID, two, sai.ACLEntryAttrPriority, sai.Uint(500),
		sai.ACLEntryAttrActionRedirect, sai.Do(r.oid(4)))
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrIngressACL, r.group(sai.ACLStageIngress, sai.ACLTableGroupTypeParallel,
		table, two))
	if ids := portsOf(r.send(0, udpFrame(1, 2, 60))); !slices.Equal(ids, []saisim.PortID{6}) {
		t.Errorf("redirected to %v, want 6", ids)
	}
}

// Metadata of an ingress entry is matched at egress; egress entries see the
// port that a copy leaves by.
func TestEgressTables(t *testing.T) {
	r := newRig(t, profile.Small())
	in := r.acl(sai.ACLStageIngress, sai.ACLTableAttrFieldSrcMAC, sai.Bool(true))
	r.create(sai.ObjectTypeACLEntry, sai.ACLEntryAttrTableID, in, sai.ACLEntryAttrPriority, sai.Uint(1),
		sai.ACLEntryAttrFieldSrcMAC, sai.Match(sai.MAC(host(1)), sai.MAC{255, 255, 255, 255, 255, 255}),
		sai.ACLEntryAttrActionSetACLMetaData, sai.Do(sai.Uint(77)))
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrIngressACL, in)
	out := r.acl(sai.ACLStageEgress, sai.ACLTableAttrFieldACLUserMeta, sai.Bool(true), sai.ACLTableAttrFieldOutPorts,
		sai.Bool(true))
	c := r.entry(out, 1, append(action(sai.PacketActionDrop), sai.ACLEntryAttrFieldACLUserMeta,
		sai.Match(sai.Uint(77), sai.Uint(0xffffffff)),
		sai.ACLEntryAttrFieldOutPorts, sai.Match(sai.OIDs{r.oid(2), r.oid(5)}, nil))...)
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrEgressACL, out)
	if ids := portsOf(r.send(0, udpFrame(1, 9, 60))); !slices.Equal(ids, []saisim.PortID{1, 3, 4, 6, 7}) {
		t.Errorf("left by %v, want all but 2 and 5", ids)
	}
	if r.packets(c) != 2 || r.dropped(5) != "egress-acl=1 " {
		t.Errorf("counted %d copies, port 5 dropped %q", r.packets(c), r.dropped(5))
	}
	if ids := portsOf(r.send(0, udpFrame(3, 9, 60))); len(ids) != 7 {
		t.Errorf("unmarked packet left by %v", ids)
	}
}

// Egress entries stamp the copies that leave by the ports they match.
func TestEgressStamp(t *testing.T) {
	r := newRig(t, profile.Small())
	out := r.acl(sai.ACLStageEgress, sai.ACLTableAttrFieldOutPort, sai.Bool(true))
	r.entry(out, 1, append(r.stampAction(9), sai.ACLEntryAttrFieldOutPort, sai.Match(r.oid(3), nil))...)
	r.set(sai.ObjectTypePort, r.oid(3), sai.PortAttrEgressACL, out)
	for _, o := range r.send(0, udpFrame(1, 2, 60)) {
		if o.stamped != (o.port == 3) {
			t.Errorf("%v", o)
		}
	}
}

// Ties between entries of one priority are decided by what they say.
func TestTies(t *testing.T) {
	full := sai.MAC{255, 255, 255, 255, 255, 255}
	build := func(order []int) (*rig, []sai.OID) {
		r := newRig(t, profile.Small())
		table := r.acl(sai.ACLStageIngress, sai.ACLTableAttrFieldSrcMAC, sai.Bool(true), sai.ACLTableAttrFieldDstMAC,
			sai.Bool(true),
			sai.ACLTableAttrFieldInPorts, sai.Bool(true))
		match := [][]any{
			{sai.ACLEntryAttrFieldSrcMAC, sai.Match(sai.MAC(host(1)), full)},
			{sai.ACLEntryAttrFieldDstMAC, sai.Match(sai.MAC(host(2)), full)},
			{sai.ACLEntryAttrFieldInPorts, sai.Match(sai.OIDs{r.oid(0), r.oid(1)}, nil)},
			{sai.ACLEntryAttrFieldInPorts, sai.Match(sai.OIDs{r.oid(3), r.oid(0)}, nil)},
		}
		counters := make([]sai.OID, len(match))
		for _, i := range order {
			counters[i] = r.entry(table, 5, match[i]...)
		}
		r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrIngressACL, table)
		r.send(0, udpFrame(1, 2, 60))
		return r, counters
	}
	var first []uint64
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}} {
		r, counters := build(order)
		var got []uint64
		for _, c := range counters {
			got = append(got, r.packets(c))
		}
		if first == nil {
			first = got
		}
		if !slices.Equal(got, first) {
			t.Errorf("created in order %v: hits %v, in another order %v", order, got, first)
		}
	}
}

// What a vendor's SAI refuses, the chip refuses.
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

// Tables, entries, ranges and TAM objects run out where the profile says.
func TestResourcesRunOut(t *testing.T) {
	r := newRig(t, profile.Small()) // 4 tables, 64 entries, 32 per table, 4 ranges, 4 TAM INT
	var tables []sai.OID
	for range 4 {
		tables = append(tables, r.acl(sai.ACLStageIngress))
	}
	r.refused(sai.StatusInsufficientResources, sai.ObjectTypeACLTable, sai.ACLTableAttrACLStage, sai.ACLStageIngress)
	r.acl(sai.ACLStageEgress) // another stage
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
