package saisim_test

import (
	"fmt"
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
)

// table makes an ACL table with the field source MAC address.
func (d *dut) table(stage sai.Enum, pairs ...any) sai.OID {
	d.Helper()
	return d.create(sai.ObjectTypeACLTable, append(pairs, sai.ACLTableAttrACLStage, stage, sai.ACLTableAttrFieldSrcMAC,
		sai.Bool(true))...)
}

// rule makes an entry of a table for frames from host 1.
func (d *dut) rule(table sai.OID, priority int, pairs ...any) sai.Key {
	d.Helper()
	return sai.Obj(sai.ObjectTypeACLEntry, d.create(sai.ObjectTypeACLEntry, append(pairs, sai.ACLEntryAttrTableID, table,
		sai.ACLEntryAttrPriority, sai.Uint(priority),
		sai.ACLEntryAttrFieldSrcMAC, sai.Match(sai.MAC(host(1)), sai.MAC{255, 255, 255, 255, 255, 255}))...))
}

// saiacl.h: among the matching entries of one table, only the one with the highest priority counts.
func TestSAIACLPriority(t *testing.T) {
	world := func(d *dut) {
		d.boot()
		d.known["table"] = d.table(sai.ACLStageIngress)
		d.set(d.port(0), sai.PortAttrIngressACL, d.known["table"])
		d.rule(d.known["table"], 20, sai.ACLEntryAttrActionRedirect, sai.Do(d.port(2).OID))
	}
	runSpec(t, specObject{name: "entry beside one of priority 20", world: world, object: dropAll, rows: []specRow{
		{name: "higher", attr: sai.ACLEntryAttrPriority, value: sai.Uint(21), back: sai.Uint(19), in: in(untagged),
			without: at(untagged, 2), refused: []refusal{{sai.Uint(0), sai.StatusInvalidParameter},
				{sai.Uint(1025), sai.StatusInvalidParameter}}},
	}}, specObject{name: "entry of priority 30 beside it", world: world, object: func(d *dut, with ...sai.Attr) sai.Key {
		if len(with) == 0 {
			with = attrs(sai.ACLEntryAttrPriority, sai.Uint(30))
		}
		return dropAll(d, with...)
	}, rows: []specRow{
		{name: "lower", attr: sai.ACLEntryAttrPriority, value: sai.Uint(2), back: sai.Uint(30), in: in(untagged),
			with: at(untagged, 2)},
	}})
}

// saiacl.h: the tables of a parallel group all match, and conflicts are decided by the priority in the group. In a
// sequential group only the first match counts.
func TestSAIACLGroups(t *testing.T) {
	for _, tt := range []struct {
		name       string
		kind       sai.Enum
		low, high  []any // actions of the tables of lower and of higher priority for frames of host 1
		in         []byte
		both, swap frames // with the given priorities, and with exchanged priorities
	}{
		{"parallel, no conflict: both", sai.ACLTableGroupTypeParallel,
			[]any{sai.ACLEntryAttrActionPacketAction, sai.Do(sai.PacketActionCopy)},
			[]any{sai.ACLEntryAttrActionSetDSCP, sai.Do(sai.Uint(46))}, sum(changed(untagged, 0)),
			at(sum(changed(untagged, 15, 46<<2)), 1, 2).and(sum(changed(untagged, 0)), cpuPort),
			at(sum(changed(untagged, 15, 46<<2)), 1, 2).and(sum(changed(untagged, 0)), cpuPort)},
		{"sequential: the first alone", sai.ACLTableGroupTypeSequential,
			[]any{sai.ACLEntryAttrActionPacketAction, sai.Do(sai.PacketActionCopy)},
			[]any{sai.ACLEntryAttrActionSetDSCP, sai.Do(sai.Uint(46))}, sum(changed(untagged, 0)),
			at(sum(changed(untagged, 15, 46<<2)), 1, 2), at(sum(changed(untagged, 0)), 1, 2, cpuPort)},
		{"parallel, conflict: the higher", sai.ACLTableGroupTypeParallel,
			[]any{sai.ACLEntryAttrActionSetDSCP, sai.Do(sai.Uint(10))},
			[]any{sai.ACLEntryAttrActionSetDSCP, sai.Do(sai.Uint(46))}, sum(changed(untagged, 0)),
			at(sum(changed(untagged, 15, 46<<2)), 1, 2), at(sum(changed(untagged, 15, 10<<2)), 1, 2)},
	} {
		for _, swapped := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", tt.name, swapped), func(t *testing.T) {
				d := newDUT(t)
				d.boot()
				g := d.create(sai.ObjectTypeACLTableGroup, sai.ACLTableGroupAttrACLStage, sai.ACLStageIngress,
					sai.ACLTableGroupAttrType, tt.kind)
				d.set(d.port(0), sai.PortAttrIngressACL, g)
				low, high, want := 1, 2, tt.both
				if swapped {
					low, high, want = 2, 1, tt.swap
				}
				var members []sai.Key
				for _, x := range []struct {
					does     []any
					priority int
				}{{tt.low, low}, {tt.high, high}} {
					table := d.table(sai.ACLStageIngress)
					d.rule(table, 5, x.does...)
					members = append(members, sai.Obj(sai.ObjectTypeACLTableGroupMember, d.create(sai.ObjectTypeACLTableGroupMember,
						sai.ACLTableGroupMemberAttrACLTableGroupID, g, sai.ACLTableGroupMemberAttrACLTableID, table,
						sai.ACLTableGroupMemberAttrPriority, sai.Uint(x.priority))))
				}
				d.observe(&specRow{in: in(tt.in)}, "bound", want)
				other := eth(host(2), host(3), someIP)
				d.observe(&specRow{in: in(other)}, "another host", at(other, 1, 2))
				for _, m := range members {
					d.remove(m)
				}
				d.observe(&specRow{in: in(tt.in)}, "members removed", at(tt.in, 1, 2))
			})
		}
	}
}

// saiport.h, sailag.h, saivlan.h, saiswitch.h: tables and groups of tables apply where they are bound, until unbound.
func TestSAIACLBindPoints(t *testing.T) {
	for _, group := range []bool{false, true} {
		dropping := func(stage sai.Enum) func(d *dut) sai.Value {
			return func(d *dut) sai.Value {
				table := d.table(stage)
				d.rule(table, 1, sai.ACLEntryAttrActionPacketAction, sai.Do(sai.PacketActionDrop))
				if !group {
					return table
				}
				g := d.create(sai.ObjectTypeACLTableGroup, sai.ACLTableGroupAttrACLStage, stage)
				d.create(sai.ObjectTypeACLTableGroupMember, sai.ACLTableGroupMemberAttrACLTableGroupID, g,
					sai.ACLTableGroupMemberAttrACLTableID, table, sai.ACLTableGroupMemberAttrPriority, sai.Uint(1))
				return g
			}
		}
		// A table of another stage, or for other bind points, is refused.
		refused := func(stage, point sai.Enum) []refusal {
			other := sai.ACLStageIngress
			if stage == other {
				other = sai.ACLStageEgress
			}
			return []refusal{{dropping(other), sai.StatusInvalidParameter}, {func(d *dut) sai.Value {
				if group {
					return d.create(sai.ObjectTypeACLTableGroup, sai.ACLTableGroupAttrACLStage, stage,
						sai.ACLTableGroupAttrACLBindPointTypeList, sai.Enums{point})
				}
				return d.table(stage, sai.ACLTableAttrACLBindPointTypeList, sai.Enums{point})
			}, sai.StatusInvalidParameter}, {func(d *dut) sai.Value { return d.port(0).OID }, sai.StatusInvalidParameter}}
		}
		row := func(name string, attr sai.AttrID, stage, wrongPoint sai.Enum, sent, with, without frames) specRow {
			return specRow{name: name, attr: attr, value: dropping(stage), in: sent, with: with, without: without,
				refused: refused(stage, wrongPoint)}
		}
		all := at(untagged, 1, 2)
		ingress, egress := sai.ACLStageIngress, sai.ACLStageEgress
		port, vlan := sai.ACLBindPointTypePort, sai.ACLBindPointTypeVLAN
		name := fmt.Sprintf("group %v/", group)
		oneWay := func(d *dut, with ...sai.Attr) sai.Key { // only port 1 of the LAG sends
			k := lagOf(d, with...)
			for _, oid := range d.get(k, sai.LAGAttrPortList).(sai.OIDs) {
				if m := sai.Obj(sai.ObjectTypeLAGMember, oid); d.get(m, sai.LAGMemberAttrPortID) == d.port(2).OID {
					d.set(m, sai.LAGMemberAttrEgressDisable, sai.Bool(true))
				}
			}
			return k
		}
		lagWorld := func(d *dut) {
			d.boot()
			d.unbridge(1, 2)
		}
		runSpec(t,
			specObject{name: name + "port", object: remakePort(0), keep: true, rows: []specRow{
				row("ingress", sai.PortAttrIngressACL, ingress, vlan, in(untagged), nil, all),
				row("ingress of another port", sai.PortAttrIngressACL, ingress, vlan, frames{{1, untagged}},
					at(untagged, 0, 2), at(untagged, 0, 2)),
				row("egress", sai.PortAttrEgressACL, egress, vlan, frames{{1, untagged}}, at(untagged, 2), at(untagged, 0, 2)),
				row("egress of another port", sai.PortAttrEgressACL, egress, vlan, in(untagged), all, all)}},
			specObject{name: name + "LAG", world: lagWorld, object: oneWay, keep: true, rows: []specRow{
				row("ingress", sai.LAGAttrIngressACL, ingress, port, frames{{1, untagged}}, nil, at(untagged, 0)),
				row("ingress of its other member", sai.LAGAttrIngressACL, ingress, port, frames{{2, untagged}}, nil,
					at(untagged, 0)),
				row("ingress of another port", sai.LAGAttrIngressACL, ingress, port, in(bcast), at(bcast, 1), at(bcast, 1)),
				row("egress", sai.LAGAttrEgressACL, egress, port, in(bcast), nil, at(bcast, 1))}},
			specObject{name: name + "VLAN", keep: true, object: func(d *dut, with ...sai.Attr) sai.Key {
				v := d.make(sai.ObjectTypeVLAN, append(attrs(sai.VLANAttrVLANID, sai.Uint(10)), with...)...)
				for p := range saisim.PortID(3) {
					d.join(v.OID, d.bridgePort(d.port(p).OID).OID, sai.VLANTaggingModeTagged)
				}
				return v
			}, rows: []specRow{
				row("ingress", sai.VLANAttrIngressACL, ingress, port, in(tagged(10, untagged)), nil,
					at(tagged(10, untagged), 1, 2)),
				row("ingress of another VLAN", sai.VLANAttrIngressACL, ingress, port, in(untagged), all, all),
				row("egress", sai.VLANAttrEgressACL, egress, port, in(tagged(10, untagged)), nil, at(tagged(10, untagged), 1, 2)),
				row("egress of another VLAN", sai.VLANAttrEgressACL, egress, port, in(untagged), all, all)}},
			specObject{name: name + "switch", exists: true, keep: true, object: func(d *dut, _ ...sai.Attr) sai.Key {
				return sai.Obj(sai.ObjectTypeSwitch, d.sw)
			}, rows: []specRow{
				row("ingress", sai.SwitchAttrIngressACL, ingress, port, in(untagged), nil, all),
				row("egress", sai.SwitchAttrEgressACL, egress, port, frames{{2, untagged}}, nil, at(untagged, 0, 1))}},
		)
	}
}

// saiacl.h: counters count the packets and bytes that hit the entry, if enabled for packets or bytes. After a set, they
// continue from the set value.
func TestSAIACLCounter(t *testing.T) {
	for _, tt := range []struct {
		packets, bytes bool
	}{{true, true}, {true, false}, {false, true}, {false, false}} {
		d := newDUT(t)
		d.boot()
		table := d.table(sai.ACLStageIngress)
		d.set(d.port(0), sai.PortAttrIngressACL, table)
		counter := sai.Obj(sai.ObjectTypeACLCounter, d.create(sai.ObjectTypeACLCounter, sai.ACLCounterAttrTableID, table,
			sai.ACLCounterAttrEnablePacketCount, sai.Bool(tt.packets), sai.ACLCounterAttrEnableByteCount, sai.Bool(tt.bytes)))
		k := d.rule(table, 1, sai.ACLEntryAttrActionCounter, sai.Do(counter.OID))
		want := func(what string, packets, bytes uint64) {
			t.Helper()
			if !tt.packets {
				packets = 0
			}
			if !tt.bytes {
				bytes = 0
			}
			p, b := d.get(counter, sai.ACLCounterAttrPackets), d.get(counter, sai.ACLCounterAttrBytes)
			if p != sai.Uint(packets) || b != sai.Uint(bytes) {
				t.Errorf("%+v, %s: %v packets, %v bytes; want %d and %d", tt, what, p, b, packets, bytes)
			}
		}
		n := uint64(len(untagged) + 4) // with FCS
		d.send(in(untagged, untagged, eth(host(2), host(3), someIP))...)
		want("two of three hit", 2, 2*n)
		d.set(k, sai.ACLEntryAttrActionCounter, sai.Action{})
		d.send(in(untagged)...)
		want("the counter taken off", 2, 2*n)
		d.set(k, sai.ACLEntryAttrActionCounter, sai.Do(counter.OID))
		d.send(in(untagged)...)
		want("the counter put on again", 3, 3*n)
		if tt.packets && tt.bytes {
			d.set(counter, sai.ACLCounterAttrPackets, sai.Uint(100))
			d.set(counter, sai.ACLCounterAttrBytes, sai.Uint(0))
			d.send(in(untagged)...)
			want("set to 100 and 0", 101, n)
		}
		d.refuseRemove(sai.StatusObjectInUse, counter)
		other := d.create(sai.ObjectTypeACLCounter, sai.ACLCounterAttrTableID, d.table(sai.ACLStageIngress))
		err := d.Set(d.Context(), k, sai.Attr{ID: sai.ACLEntryAttrActionCounter, Value: sai.Do(other)})
		d.wantStatus("the counter of another table", err, sai.StatusInvalidParameter)
	}
}

// saiacl.h: entries may only use the features for which their table was made.
func TestSAIACLTable(t *testing.T) {
	d := newDUT(t)
	d.boot()
	table := d.table(sai.ACLStageIngress, sai.ACLTableAttrACLActionTypeList, sai.Enums{sai.ACLActionTypePacketAction},
		sai.ACLTableAttrSize, sai.Uint(2))
	d.set(d.port(0), sai.PortAttrIngressACL, table)
	e := []any{sai.ACLEntryAttrTableID, table, sai.ACLEntryAttrPriority, sai.Uint(5)}
	entry := func(pairs ...any) []any { return append(pairs, e...) }
	row := &specRow{in: in(untagged)}
	d.refuseCreate(sai.StatusInvalidParameter, sai.ObjectTypeACLEntry, entry(sai.ACLEntryAttrFieldTTL, u(64, 255),
		sai.ACLEntryAttrActionPacketAction, sai.Do(sai.PacketActionDrop))...)
	d.refuseCreate(sai.StatusInvalidParameter, sai.ObjectTypeACLEntry,
		entry(sai.ACLEntryAttrActionSetTC, sai.Do(sai.Uint(1)))...)
	d.refuseCreate(sai.StatusMandatoryAttributeMissing, sai.ObjectTypeACLEntry,
		sai.ACLEntryAttrActionPacketAction, sai.Do(sai.PacketActionDrop))
	d.refuseCreate(sai.StatusMandatoryAttributeMissing, sai.ObjectTypeACLTable, sai.ACLTableAttrFieldSrcMAC,
		sai.Bool(true))
	d.observe(row, "after what was refused", at(untagged, 1, 2))
	first := d.rule(table, 1, sai.ACLEntryAttrActionPacketAction, sai.Do(sai.PacketActionForward))
	d.rule(table, 2, sai.ACLEntryAttrActionPacketAction, sai.Do(sai.PacketActionForward))
	d.refuseCreate(sai.StatusTableFull, sai.ObjectTypeACLEntry,
		entry(sai.ACLEntryAttrActionPacketAction, sai.Do(sai.PacketActionDrop))...)
	d.observe(row, "after one too many", at(untagged, 1, 2))
	d.refuseRemove(sai.StatusObjectInUse, sai.Obj(sai.ObjectTypeACLTable, table))
	d.remove(first)
	d.rule(table, 3, sai.ACLEntryAttrActionPacketAction, sai.Do(sai.PacketActionDrop))
	d.observe(row, "in the place of the first", nil)
	err := d.Set(d.Context(), sai.Obj(sai.ObjectTypeACLTable, table),
		sai.Attr{ID: sai.ACLTableAttrSize, Value: sai.Uint(9)})
	d.wantStatus("set what can only be created with", err, sai.StatusInvalidParameter)
	d.refuseCreate(sai.StatusNotSupported, sai.ObjectTypeACLTable, sai.ACLTableAttrACLStage, sai.ACLStageIngress,
		sai.ACLTableAttrFieldOutPort, sai.Bool(true))
	d.observe(row, "at the end", nil)
}
