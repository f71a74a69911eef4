package chipload

import (
	"net/netip"

	"tamtam/sai"
)

// A Monitor is the mode of a drop monitor of the whole switch.
type Monitor uint8

// Drop monitors.
const (
	NoMonitor Monitor = iota
	Stateless         // reports each drop
	Stateful          // reports each flow and reason, every second
)

// monitor creates a drop monitor whose reports leave by a port.
func (s *calls) monitor(sw sai.Key, port sai.OID, m Monitor) {
	ip := func(last byte) sai.Value { return sai.IP{Addr: netip.AddrFrom4([4]byte{10, 255, 0, last})} }
	transport := s.create(sai.ObjectTypeTAMTransport,
		sai.Attr{ID: sai.TAMTransportAttrTransportType, Value: sai.TAMTransportTypeUDP},
		sai.Attr{ID: sai.TAMTransportAttrSrcPort, Value: sai.Uint(50_000)},
		sai.Attr{ID: sai.TAMTransportAttrDstPort, Value: sai.Uint(4739)})
	collector := s.create(sai.ObjectTypeTAMCollector,
		sai.Attr{ID: sai.TAMCollectorAttrSrcIP, Value: ip(1)}, sai.Attr{ID: sai.TAMCollectorAttrDstIP, Value: ip(2)},
		sai.Attr{ID: sai.TAMCollectorAttrSrcMAC, Value: sai.MAC{2, 1}},
		sai.Attr{ID: sai.TAMCollectorAttrDstMAC, Value: sai.MAC{2, 2}},
		sai.Attr{ID: sai.TAMCollectorAttrLocalhost, Value: sai.Bool(false)},
		sai.Attr{ID: sai.TAMCollectorAttrDSCPValue, Value: sai.Uint(32)},
		sai.Attr{ID: sai.TAMCollectorAttrDestination, Value: port},
		sai.Attr{ID: sai.TAMCollectorAttrTransport, Value: transport})
	report := s.create(sai.ObjectTypeTAMReport, sai.Attr{ID: sai.TAMReportAttrType, Value: sai.TAMReportTypeIPFIX})
	action := s.create(sai.ObjectTypeTAMEventAction, sai.Attr{ID: sai.TAMEventActionAttrReportType, Value: report})
	event := []sai.Attr{
		{ID: sai.TAMEventAttrType, Value: sai.TAMEventTypePacketDrop},
		{ID: sai.TAMEventAttrActionList, Value: sai.OIDs{action}},
		{ID: sai.TAMEventAttrCollectorList, Value: sai.OIDs{collector}},
	}
	if m == Stateful {
		event = append(event, sai.Attr{ID: sai.TAMEventAttrThreshold, Value: s.create(sai.ObjectTypeTAMEventThreshold,
			sai.Attr{ID: sai.TAMEventThresholdAttrUnit, Value: sai.TAMEventThresholdUnitMsec},
			sai.Attr{ID: sai.TAMEventThresholdAttrAbsValue, Value: sai.Uint(1000)})})
	}
	tam := s.create(sai.ObjectTypeTAM,
		sai.Attr{ID: sai.TAMAttrEventObjectsList, Value: sai.OIDs{s.create(sai.ObjectTypeTAMEvent, event...)}},
		sai.Attr{ID: sai.TAMAttrTAMBindPointTypeList, Value: sai.Enums{sai.TAMBindPointTypeSwitch}})
	s.set(sw, sai.SwitchAttrTAMObjectID, sai.OIDs{tam})
}
