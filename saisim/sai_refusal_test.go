package saisim_test

import (
	"context"
	"net/netip"
	"testing"

	"tamtam/sai"
)

// Objects in use cannot be removed (SAI_STATUS_OBJECT_IN_USE), and the attempt does not affect packets.
func TestSAIInUse(t *testing.T) {
	obj := func(t sai.ObjectType, f func(d *dut) sai.OID) func(d *dut) sai.Key {
		return func(d *dut) sai.Key { return sai.Obj(t, f(d)) }
	}
	d := newDUT(t)
	d.boot()
	d.unbridge(2)
	d.known["rif 2"] = d.rif(2).OID
	d.neighbor(2, at4(2, 6), 6)
	hop := d.nextHop(2, at4(2, 6))
	group := d.ecmp(hop)
	d.route("198.51.100.0/24", group)
	table := d.table(sai.ACLStageIngress)
	d.set(d.port(0), sai.PortAttrIngressACL, table)
	session := d.create(sai.ObjectTypeMirrorSession, sai.MirrorSessionAttrType, sai.MirrorSessionTypeLocal,
		sai.MirrorSessionAttrMonitorPort, d.port(1).OID)
	d.set(d.port(0), sai.PortAttrIngressMirrorSession, sai.OIDs{session})
	d.unbridge(3)
	lag := d.create(sai.ObjectTypeLAG)
	d.create(sai.ObjectTypeLAGMember, sai.LAGMemberAttrLAGID, lag, sai.LAGMemberAttrPortID, d.port(3).OID)
	dscp := d.create(sai.ObjectTypeQoSMap, sai.QoSMapAttrType, sai.QoSMapTypeDSCPToTC, sai.QoSMapAttrMapToValueList,
		dscpMap(46, 5))
	d.set(d.port(0), sai.PortAttrQoSDSCPToTCMap, dscp)
	trapGroup := d.create(sai.ObjectTypeHostifTrapGroup)
	d.create(sai.ObjectTypeHostifTrap, sai.HostifTrapAttrTrapType, sai.HostifTrapTypeArpRequest,
		sai.HostifTrapAttrPacketAction, sai.PacketActionTrap, sai.HostifTrapAttrTrapGroup, trapGroup)
	queue := sai.Obj(sai.ObjectTypeQueue, d.get(d.port(1), sai.PortAttrQoSQueueList).(sai.OIDs)[0])
	scheduler := d.create(sai.ObjectTypeScheduler)
	d.set(queue, sai.QueueAttrSchedulerProfileID, scheduler)
	pool := d.create(sai.ObjectTypeBufferPool, sai.BufferPoolAttrType, sai.BufferPoolTypeEgress, sai.BufferPoolAttrSize,
		sai.Uint(6400))
	buffer := d.create(sai.ObjectTypeBufferProfile, sai.BufferProfileAttrPoolID, pool,
		sai.BufferProfileAttrReservedBufferSize, sai.Uint(0),
		sai.BufferProfileAttrThresholdMode, sai.BufferProfileThresholdModeStatic, sai.BufferProfileAttrSharedStaticTh,
		sai.Uint(6400))
	d.set(queue, sai.QueueAttrBufferProfileID, buffer)
	d.entry(sai.FDBEntry{Switch: d.sw, MAC: sai.MAC(host(2)), BV: d.vlan1().OID},
		attrs(sai.FDBEntryAttrType, sai.FDBEntryTypeStatic,
			sai.FDBEntryAttrBridgePortID, d.bridgePort(d.port(1).OID).OID)...)
	v10 := vlan10(d)
	rows := []specRow{
		{name: "bridged", in: in(untagged), with: at(untagged, 1, 1)}, // one copy is mirrored
		{name: "routed", in: frames{{2, changed(toFar4, 0, 2, 0, 0, 0, 1, 2)}},
			with: at(routed(toFar4, 2, 6), 2)},
		{name: "trapped", in: in(arp(1)), with: at(arp(1), cpuPort, 1)},
	}
	check := func(how string) {
		for i := range rows {
			d.observe(&rows[i], rows[i].name+" "+how, rows[i].with)
		}
	}
	check("first")
	for _, k := range []func(d *dut) sai.Key{
		func(d *dut) sai.Key { return d.port(0) },
		func(d *dut) sai.Key { return d.port(3) }, // a member of the LAG
		func(d *dut) sai.Key { return d.bridgePort(d.port(1).OID) },
		func(d *dut) sai.Key { return d.vlan1() },
		obj(sai.ObjectTypeVLAN, func(*dut) sai.OID { return v10 }),
		obj(sai.ObjectTypeLAG, func(*dut) sai.OID { return lag }),
		obj(sai.ObjectTypeRouterInterface, func(d *dut) sai.OID { return d.known["rif 2"] }),
		obj(sai.ObjectTypeNextHop, func(*dut) sai.OID { return hop }),
		obj(sai.ObjectTypeNextHopGroup, func(*dut) sai.OID { return group }),
		obj(sai.ObjectTypeACLTable, func(*dut) sai.OID { return table }),
		obj(sai.ObjectTypeMirrorSession, func(*dut) sai.OID { return session }),
		obj(sai.ObjectTypeQoSMap, func(*dut) sai.OID { return dscp }),
		obj(sai.ObjectTypeHostifTrapGroup, func(*dut) sai.OID { return trapGroup }),
		obj(sai.ObjectTypeScheduler, func(*dut) sai.OID { return scheduler }),
		obj(sai.ObjectTypeBufferPool, func(*dut) sai.OID { return pool }),
		obj(sai.ObjectTypeBufferProfile, func(*dut) sai.OID { return buffer }),
	} {
		d.refuseRemove(sai.StatusObjectInUse, k(d))
	}
	check("after removals that were refused")
}

// Creates without a mandatory attribute, with an attribute of another type, or of existing objects, are refused.
func TestSAICreateRefusals(t *testing.T) {
	d := newDUT(t)
	_, err := d.Create(context.Background(), sai.ObjectTypeVLAN, attrs(sai.VLANAttrVLANID, sai.Uint(2)))
	d.wantStatus("a VLAN before the switch", err, sai.StatusInvalidParameter)
	d.boot()
	v10 := vlan10(d)
	d.unbridge(2, 4)
	d.rif(2)
	bp1, port := d.bridgePort(d.port(1).OID).OID, d.port(1).OID
	lag := d.create(sai.ObjectTypeLAG)
	member := []any{sai.LAGMemberAttrLAGID, lag, sai.LAGMemberAttrPortID, d.port(4).OID}
	d.create(sai.ObjectTypeLAGMember, member...)
	missing, wrong, exists := sai.StatusMandatoryAttributeMissing, sai.StatusInvalidParameter, sai.StatusItemAlreadyExists
	vr := d.ofSwitch(sai.SwitchAttrDefaultVirtualRouterID)
	for _, tt := range []struct {
		want  sai.Status
		t     sai.ObjectType
		pairs []any
	}{
		{missing, sai.ObjectTypePort, []any{sai.PortAttrHWLaneList, sai.Uints{9}}},
		{wrong, sai.ObjectTypePort, []any{sai.PortAttrHWLaneList, sai.Uints{9}, sai.PortAttrSpeed, sai.Uint(10000)}},
		{missing, sai.ObjectTypeVLAN, nil},
		{sai.StatusInvalidVLANID, sai.ObjectTypeVLAN, []any{sai.VLANAttrVLANID, sai.Uint(4095)}},
		{sai.StatusInvalidVLANID, sai.ObjectTypeVLAN, []any{sai.VLANAttrVLANID, sai.Uint(0)}},
		{missing, sai.ObjectTypeVLANMember, []any{sai.VLANMemberAttrVLANID, v10}},
		{wrong, sai.ObjectTypeVLANMember, []any{sai.VLANMemberAttrVLANID, v10, sai.VLANMemberAttrBridgePortID, port}},
		{wrong, sai.ObjectTypeVLANMember, []any{sai.VLANMemberAttrVLANID, bp1, sai.VLANMemberAttrBridgePortID, bp1}},
		{exists, sai.ObjectTypeVLANMember, []any{sai.VLANMemberAttrVLANID, v10, sai.VLANMemberAttrBridgePortID, bp1}},
		{missing, sai.ObjectTypeBridgePort, []any{sai.BridgePortAttrType, sai.BridgePortTypePort}},
		{exists, sai.ObjectTypeBridgePort, []any{sai.BridgePortAttrType, sai.BridgePortTypePort, sai.BridgePortAttrPortID,
			port}},
		{sai.StatusObjectInUse, sai.ObjectTypeBridgePort, []any{sai.BridgePortAttrType, sai.BridgePortTypePort,
			sai.BridgePortAttrPortID, d.port(2).OID}}, // port 2 is a router port
		{missing, sai.ObjectTypeLAGMember, []any{sai.LAGMemberAttrPortID, port}},
		{sai.StatusObjectInUse, sai.ObjectTypeLAGMember, []any{sai.LAGMemberAttrLAGID, lag, sai.LAGMemberAttrPortID,
			port}}, // the port is bridged
		{exists, sai.ObjectTypeLAGMember, member},
		{missing, sai.ObjectTypeRouterInterface, []any{sai.RouterInterfaceAttrType, sai.RouterInterfaceTypePort,
			sai.RouterInterfaceAttrVirtualRouterID, vr}},
		{sai.StatusObjectInUse, sai.ObjectTypeRouterInterface, []any{sai.RouterInterfaceAttrType, sai.RouterInterfaceTypePort,
			sai.RouterInterfaceAttrVirtualRouterID, vr, sai.RouterInterfaceAttrPortID, port}}, // the port is bridged
		{wrong, sai.ObjectTypeRouterInterface, []any{sai.RouterInterfaceAttrType, sai.RouterInterfaceTypePort,
			sai.RouterInterfaceAttrVirtualRouterID, port, sai.RouterInterfaceAttrPortID, d.port(3).OID}},
		{missing, sai.ObjectTypeNextHop, []any{sai.NextHopAttrType, sai.NextHopTypeIP,
			sai.NextHopAttrRouterInterfaceID, d.known["rif 2"]}},
		{wrong, sai.ObjectTypeNextHop, []any{sai.NextHopAttrType, sai.NextHopTypeIP, sai.NextHopAttrIP, ipOf("224.0.0.1"),
			sai.NextHopAttrRouterInterfaceID, d.known["rif 2"]}},
		{missing, sai.ObjectTypeHostifTrap, []any{sai.HostifTrapAttrTrapType, sai.HostifTrapTypeLldp}},
		{missing, sai.ObjectTypeMirrorSession, []any{sai.MirrorSessionAttrType, sai.MirrorSessionTypeLocal}},
		{wrong, sai.ObjectTypeMirrorSession, []any{sai.MirrorSessionAttrType, sai.MirrorSessionTypeLocal,
			sai.MirrorSessionAttrMonitorPort, port, sai.MirrorSessionAttrTOS, sai.Uint(1)}}, // only for ERSPAN
		{missing, sai.ObjectTypeTAMInt, []any{sai.TAMIntAttrType, sai.TAMIntTypeIfa1Tailstamp}},
		// The attribute is given twice.
		{wrong, sai.ObjectTypeVLAN, []any{sai.VLANAttrVLANID, sai.Uint(3), sai.VLANAttrVLANID, sai.Uint(4)}},
		// The attribute is read only.
		{wrong, sai.ObjectTypeVLAN, []any{sai.VLANAttrVLANID, sai.Uint(3), sai.VLANAttrMemberList, sai.OIDs{}}},
	} {
		d.refuseCreate(tt.want, tt.t, tt.pairs...)
		d.observe(&specRow{in: in(tagged(10, untagged))}, "after it", at(tagged(10, untagged), 1))
	}
	entry := func(e sai.Entry, want sai.Status, pairs ...any) {
		t.Helper()
		d.wantStatus(sai.FormatEntry(e), d.CreateEntry(context.Background(), e, attrs(pairs...)), want)
		d.observe(&specRow{in: in(untagged)}, "after it", at(untagged, 1))
	}
	fdb := sai.FDBEntry{Switch: d.sw, MAC: sai.MAC(host(2)), BV: d.vlan1().OID}
	entry(fdb, missing, sai.FDBEntryAttrBridgePortID, bp1)
	entry(fdb, wrong, sai.FDBEntryAttrType, sai.FDBEntryTypeStatic, sai.FDBEntryAttrBridgePortID, port)
	entry(sai.FDBEntry{Switch: d.sw, MAC: sai.MAC{1}, BV: d.vlan1().OID}, wrong, sai.FDBEntryAttrType,
		sai.FDBEntryTypeStatic,
		sai.FDBEntryAttrBridgePortID, bp1)
	entry(sai.FDBEntry{Switch: d.sw, MAC: sai.MAC(host(2)), BV: port}, wrong, sai.FDBEntryAttrType, sai.FDBEntryTypeStatic,
		sai.FDBEntryAttrBridgePortID, bp1)
	neighbor := sai.NeighborEntry{Switch: d.sw, RIF: d.known["rif 2"], IP: at4(2, 7)}
	entry(neighbor, missing)
	d.neighbor(2, at4(2, 7), 7)
	entry(neighbor, exists, sai.NeighborEntryAttrDstMACAddress, sai.MAC(host(8)))
	d.wantStatus("remove a route that is not there", d.Remove(context.Background(), sai.EntryKey(sai.RouteEntry{
		Switch: d.sw, VR: vr, Dest: netip.MustParsePrefix("192.0.2.0/24")})), sai.StatusItemNotFound)
}

// saiport.h: a refused port causes no notification, whichever of its attributes was wrong.
func TestSAIRefusedPortIsSilent(t *testing.T) {
	d := newDUT(t)
	d.boot(attrs(sai.SwitchAttrPortStateChangeNotify, sai.Pointer(1))...)
	d.unbridge(0)
	d.remove(d.port(0))
	d.reported = nil
	pairs := []any{sai.PortAttrHWLaneList, sai.Uints{0}, sai.PortAttrSpeed, sai.Uint(10000), sai.PortAttrAdminState,
		sai.Bool(true)}
	d.refuseCreate(sai.StatusInvalidParameter, sai.ObjectTypePort, append(pairs, sai.PortAttrMTU, sai.Uint(3))...)
	if len(d.reported) != 0 {
		t.Errorf("told of a port that does not exist: %v", d.reported)
	}
	d.create(sai.ObjectTypePort, pairs...)
	if len(d.reported) != 1 {
		t.Errorf("told %v of a port that is up, want that once", d.reported)
	}
}
