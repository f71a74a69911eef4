package saisim_test

import (
	"context"
	"net/netip"
	"testing"

	"tamtam/sai"
	"tamtam/saisim/profile"
)

// A monitor holds the objects of a drop monitor with one collector.
type monitor struct{ transport, collector, report, action, event, tam sai.OID }

// collectorAt returns the attributes of a collector at 192.0.2.9:4739 reached through a port.
func (r *rig) collectorAt(transport, port sai.OID) []any {
	return []any{
		sai.TAMCollectorAttrTransport, transport, sai.TAMCollectorAttrLocalhost, sai.Bool(false),
		sai.TAMCollectorAttrSrcIP, sai.IP{Addr: netip.MustParseAddr("192.0.2.1")},
		sai.TAMCollectorAttrDstIP, sai.IP{Addr: netip.MustParseAddr("192.0.2.9")},
		sai.TAMCollectorAttrSrcMAC, sai.MAC{2, 0, 0, 0, 0, 0xaa}, sai.TAMCollectorAttrDstMAC, sai.MAC{2, 0, 0, 0, 0, 9},
		sai.TAMCollectorAttrDestination, port, sai.TAMCollectorAttrDSCPValue, sai.Uint(32),
	}
}

// monitored makes a drop monitor whose reports leave by a port. The pairs are attributes of its report.
func (r *rig) monitored(port sai.OID, pairs ...any) (m monitor) {
	r.Helper()
	m.transport = r.create(sai.ObjectTypeTAMTransport, sai.TAMTransportAttrTransportType, sai.TAMTransportTypeUDP,
		sai.TAMTransportAttrSrcPort, sai.Uint(50000), sai.TAMTransportAttrDstPort, sai.Uint(4739))
	m.collector = r.create(sai.ObjectTypeTAMCollector, r.collectorAt(m.transport, port)...)
	m.report = r.create(sai.ObjectTypeTAMReport, append([]any{sai.TAMReportAttrType, sai.TAMReportTypeIPFIX}, pairs...)...)
	m.action = r.create(sai.ObjectTypeTAMEventAction, sai.TAMEventActionAttrReportType, m.report)
	m.event = r.create(sai.ObjectTypeTAMEvent, r.eventOf(m)...)
	device := r.create(sai.ObjectTypeTAMInt, sai.TAMIntAttrType, sai.TAMIntTypeDirectExport, sai.TAMIntAttrDeviceID,
		sai.Uint(12345), sai.TAMIntAttrIntPresenceType, sai.TAMIntPresenceTypeUndefined, sai.TAMIntAttrInline,
		sai.Bool(false))
	m.tam = r.create(sai.ObjectTypeTAM, sai.TAMAttrEventObjectsList, sai.OIDs{m.event},
		sai.TAMAttrIntObjectsList, sai.OIDs{device})
	return m
}

func (r *rig) eventOf(m monitor) []any {
	return []any{sai.TAMEventAttrType, sai.TAMEventTypePacketDrop, sai.TAMEventAttrActionList, sai.OIDs{m.action},
		sai.TAMEventAttrCollectorList, sai.OIDs{m.collector}}
}

// Invalid objects are refused without a change, objects in use stay, and attributes read back as set.
func TestMonitorObjects(t *testing.T) {
	r := newRig(t, profile.Small())
	m := r.monitored(r.oid(1))
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrTAMObjectID, sai.OIDs{m.tam})
	r.set(sai.ObjectTypePort, r.oid(2), sai.PortAttrTAMObject, sai.OIDs{m.tam})
	lag := r.create(sai.ObjectTypeLAG)
	collector := func(pairs ...any) []any {
		return append([]any{sai.TAMCollectorAttrTransport, m.transport,
			sai.TAMCollectorAttrSrcIP, sai.IP{Addr: netip.MustParseAddr("2001:db8::1")},
			sai.TAMCollectorAttrDstIP, sai.IP{Addr: netip.MustParseAddr("2001:db8::9")}}, pairs...)
	}
	r.create(sai.ObjectTypeTAMCollector, collector(sai.TAMCollectorAttrLocalhost, sai.Bool(false),
		sai.TAMCollectorAttrDestination, lag)...)
	event := func(pairs ...any) []any { return append(r.eventOf(m)[:2], pairs...) }
	invalid, unsupported := sai.StatusInvalidParameter, sai.StatusNotSupported
	for _, tt := range []struct {
		want  sai.Status
		of    sai.ObjectType
		pairs []any
	}{
		{unsupported, sai.ObjectTypeTAMTransport, []any{sai.TAMTransportAttrTransportType, sai.TAMTransportTypeTCP}},
		{invalid, sai.ObjectTypeTAMTransport, []any{sai.TAMTransportAttrTransportType, sai.TAMTransportTypeUDP,
			sai.TAMTransportAttrSrcPort, sai.Uint(65536)}},
		{invalid, sai.ObjectTypeTAMTransport, []any{sai.TAMTransportAttrTransportType, sai.TAMTransportTypeUDP,
			sai.TAMTransportAttrMTU, sai.Uint(575)}},
		{invalid, sai.ObjectTypeTAMCollector, collector(sai.TAMCollectorAttrDSCPValue, sai.Uint(64))},
		{invalid, sai.ObjectTypeTAMCollector, collector(sai.TAMCollectorAttrDestination, r.get(sai.ObjectTypeSwitch, r.sw,
			sai.SwitchAttrCPUPort), sai.TAMCollectorAttrLocalhost, sai.Bool(false))},
		{invalid, sai.ObjectTypeTAMCollector, []any{sai.TAMCollectorAttrTransport, m.transport,
			sai.TAMCollectorAttrSrcIP, sai.IP{Addr: netip.MustParseAddr("2001:db8::1")},
			sai.TAMCollectorAttrDstIP, sai.IP{Addr: netip.MustParseAddr("192.0.2.9")}}},
		{invalid, sai.ObjectTypeTAMCollector, []any{sai.TAMCollectorAttrTransport, m.transport,
			sai.TAMCollectorAttrSrcIP, sai.IP{Addr: netip.MustParseAddr("0.0.0.0")},
			sai.TAMCollectorAttrDstIP, sai.IP{Addr: netip.MustParseAddr("192.0.2.9")}}},
		{unsupported, sai.ObjectTypeTAMReport, []any{sai.TAMReportAttrType, sai.TAMReportTypeJson}},
		{invalid, sai.ObjectTypeTAMReport, []any{sai.TAMReportAttrType, sai.TAMReportTypeIPFIX,
			sai.TAMReportAttrReportMode, sai.TAMReportModeSampling, sai.TAMReportAttrSampleRate, sai.Uint(0)}},
		{invalid, sai.ObjectTypeTAMReport, []any{sai.TAMReportAttrType, sai.TAMReportTypeIPFIX,
			sai.TAMReportAttrTemplateReportInterval, sai.Uint(0)}},
		{unsupported, sai.ObjectTypeTAMEventThreshold, []any{sai.TAMEventThresholdAttrUnit, sai.TAMEventThresholdUnitBytes,
			sai.TAMEventThresholdAttrAbsValue, sai.Uint(1)}},
		{invalid, sai.ObjectTypeTAMEventThreshold, nil},
		{unsupported, sai.ObjectTypeTAMEvent, []any{sai.TAMEventAttrType, sai.TAMEventTypeBsp,
			sai.TAMEventAttrActionList, sai.OIDs{m.action}, sai.TAMEventAttrCollectorList, sai.OIDs{m.collector}}},
		{invalid, sai.ObjectTypeTAMEvent, event(sai.TAMEventAttrActionList, sai.OIDs{m.action},
			sai.TAMEventAttrCollectorList, sai.OIDs{m.collector, m.collector})},
		{unsupported, sai.ObjectTypeTAM, []any{sai.TAMAttrTAMBindPointTypeList,
			sai.Enums{sai.TAMBindPointTypeQueue, sai.TAMBindPointTypePort}}},
		{unsupported, sai.ObjectTypeHostifUserDefinedTrap, []any{sai.HostifUserDefinedTrapAttrType,
			sai.HostifUserDefinedTrapTypeRouter}},
	} {
		r.refused(tt.want, tt.of, tt.pairs...)
	}
	for _, k := range []sai.Key{sai.Obj(sai.ObjectTypeTAMTransport, m.transport), sai.Obj(sai.ObjectTypeTAM, m.tam),
		sai.Obj(sai.ObjectTypeTAMCollector, m.collector), sai.Obj(sai.ObjectTypeTAMReport, m.report),
		sai.Obj(sai.ObjectTypeTAMEvent, m.event), sai.Obj(sai.ObjectTypeTAMEventAction, m.action),
		sai.Obj(sai.ObjectTypeLAG, lag)} {
		r.wantStatus(r.Remove(context.Background(), k), sai.StatusObjectInUse)
	}
	switchOnly := r.create(sai.ObjectTypeTAM, sai.TAMAttrTAMBindPointTypeList, sai.Enums{sai.TAMBindPointTypeSwitch})
	for _, tt := range []struct {
		k sai.Key
		a sai.Attr
	}{
		{sai.Obj(sai.ObjectTypePort, r.oid(1)), sai.Attr{ID: sai.PortAttrTAMObject, Value: sai.OIDs{switchOnly}}},
		{sai.Obj(sai.ObjectTypeTAMTransport, m.transport), sai.Attr{ID: sai.TAMTransportAttrMTU, Value: sai.Uint(100)}},
		{sai.Obj(sai.ObjectTypeTAMCollector, m.collector), sai.Attr{ID: sai.TAMCollectorAttrDSCPValue, Value: sai.Uint(64)}},
		{sai.Obj(sai.ObjectTypeTAMEvent, m.event), sai.Attr{ID: sai.TAMEventAttrDSCPValue, Value: sai.Uint(64)}},
	} {
		r.wantStatus(r.Set(context.Background(), tt.k, tt.a), invalid)
	}
	before := r.Tables().TAMCollectors[0]
	if r.set(sai.ObjectTypeTAMTransport, m.transport, sai.TAMTransportAttrDstPort,
		sai.Uint(9995)); before.DstPort != 4739 {
		t.Error(before)
	}
	if c := r.Tables().TAMCollectors[0]; c.DstPort != 9995 || c.DSCP != 32 || c.MTU != 1500 {
		t.Errorf("after the port was set: %+v", c)
	}
	if v := r.get(sai.ObjectTypeTAMTransport, m.transport, sai.TAMTransportAttrDstPort); v != sai.Uint(9995) {
		t.Errorf("%v, want what was set", v)
	}
	if x := r.Tables(); x.TAMs[0].Domain != 12345 || len(x.Switch.TAMs) != 1 || x.TAMEvents[0].Templates != 15e9 {
		t.Errorf("%+v, bound to the switch %v", x.Reporting, x.Switch.TAMs)
	}
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrTAMObjectID, sai.OIDs{})
	r.set(sai.ObjectTypePort, r.oid(2), sai.PortAttrTAMObject, sai.OIDs{})
	r.remove(sai.ObjectTypeTAM, m.tam)
	r.remove(sai.ObjectTypeTAMEvent, m.event)
	if x := r.Tables(); len(x.TAMEvents) != 0 || len(x.TAMs) != 1 {
		t.Errorf("left: %+v", x.Reporting)
	}
}

// Pre-ingress ACL entries select the packets of a flow for drop reports. No other stage has this action.
func TestMonitorByACL(t *testing.T) {
	r := newRig(t, profile.Small())
	m := r.monitored(r.oid(1))
	table := r.acl(sai.ACLStagePreIngress, sai.ACLTableAttrFieldSrcIP, sai.Bool(true))
	r.entry(table, 1, sai.ACLEntryAttrFieldSrcIP, sai.Match(sai.IP{Addr: at4(0, 1)},
		sai.IP{Addr: netip.MustParseAddr("255.255.255.255")}),
		sai.ACLEntryAttrActionTAMObject, sai.Do(m.tam))
	r.wantStatus(r.Remove(context.Background(), sai.Obj(sai.ObjectTypeTAM, m.tam)), sai.StatusObjectInUse)
	r.refused(sai.StatusInvalidParameter, sai.ObjectTypeACLEntry, sai.ACLEntryAttrTableID, r.acl(sai.ACLStageIngress),
		sai.ACLEntryAttrPriority, sai.Uint(1), sai.ACLEntryAttrActionTAMObject, sai.Do(m.tam))
}
