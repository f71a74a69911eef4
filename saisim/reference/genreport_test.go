package reference_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"

	"tamtam/sai"
	"tamtam/tam/dropreport"
)

// monitoredOf returns random numbers for drop reports in one case of three, otherwise nil.
func monitoredOf(seed uint64) *rand.Rand {
	if seed%3 == 0 {
		return rand.New(rand.NewPCG(seed, 4))
	}
	return nil
}

// monitored runs do with random numbers for drop monitors, if there are any.
func (g *gen) monitored(do func()) {
	if g.monitoring == nil {
		return
	}
	was := g.Rand
	g.Rand = g.monitoring
	do()
	g.Rand = was
}

// furnishMonitors makes events of every kind, and binds them.
func (g *gen) furnishMonitors() {
	g.monitored(func() {
		for range 40 {
			g.newMonitorObject()
		}
		g.bindMonitors(sai.ObjectTypeSwitch, g.sw, sai.SwitchAttrTAMObjectID)
		for range 3 {
			g.bindMonitors(sai.ObjectTypePort, g.any(sai.ObjectTypePort), sai.PortAttrTAMObject)
		}
		if g.chance(50) {
			g.monitorTable()
		}
	})
}

func (g *gen) bindMonitors(t sai.ObjectType, oid sai.OID, id sai.AttrID) {
	tams := sai.OIDs{}
	for range g.IntN(3) {
		if x := g.any(sai.ObjectTypeTAM); x != sai.NullOID {
			tams = append(tams, x)
		}
	}
	g.setOf(t, oid, id, tams)
}

// newMonitorObject makes a random object of a drop monitor. The objects to which it refers may be missing.
func (g *gen) newMonitorObject() {
	switch g.IntN(9) {
	case 0:
		g.create(sai.ObjectTypeTAMTransport, sai.TAMTransportAttrTransportType, sai.TAMTransportTypeUDP,
			sai.TAMTransportAttrSrcPort, sai.Uint(1000+g.IntN(3)), sai.TAMTransportAttrDstPort, sai.Uint(4739),
			sai.TAMTransportAttrMTU, sai.Uint(pick(g, 576, 600, 1500, 9000)))
	case 1, 2:
		g.newCollector()
	case 3:
		with := []any{sai.TAMReportAttrType, pick(g, sai.TAMReportTypeIPFIX, sai.TAMReportTypeIPFIX,
			sai.TAMReportTypeVendorExtn)}
		switch g.IntN(4) {
		case 0:
			with = append(with, sai.TAMReportAttrReportMode, sai.TAMReportModeSampling, sai.TAMReportAttrSampleRate,
				sai.Uint(1+g.IntN(4)))
		case 1:
			with = append(with, sai.TAMReportAttrMaxReportRate, sai.Uint(g.prof.ClockHz/(1+g.Uint64N(3000))),
				sai.TAMReportAttrMaxReportBurst, sai.Uint(g.IntN(4)))
		}
		g.create(sai.ObjectTypeTAMReport, append(with, sai.TAMReportAttrEnterpriseNumber, sai.Uint(pick(g, 0, 54321)))...)
	case 4:
		g.create(sai.ObjectTypeTAMEventAction, sai.TAMEventActionAttrReportType, g.any(sai.ObjectTypeTAMReport))
	case 5:
		g.create(sai.ObjectTypeTAMEventThreshold, sai.TAMEventThresholdAttrUnit, sai.TAMEventThresholdUnitUsec,
			sai.TAMEventThresholdAttrAbsValue, g.aging())
	case 6, 7:
		with := []any{sai.TAMEventAttrType, sai.TAMEventTypePacketDrop, sai.TAMEventAttrActionList,
			sai.OIDs{g.any(sai.ObjectTypeTAMEventAction)}, sai.TAMEventAttrCollectorList, g.someCollectors(),
			sai.TAMEventAttrDSCPValue, sai.Uint(g.IntN(64))}
		if x := g.any(sai.ObjectTypeTAMEventThreshold); x != sai.NullOID && g.chance(50) {
			with = append(with, sai.TAMEventAttrThreshold, x)
		}
		g.create(sai.ObjectTypeTAMEvent, with...)
	default:
		events := sai.OIDs{}
		for range 1 + g.IntN(2) {
			if x := g.any(sai.ObjectTypeTAMEvent); x != sai.NullOID {
				events = append(events, x)
			}
		}
		domain := g.create(sai.ObjectTypeTAMInt, sai.TAMIntAttrType, sai.TAMIntTypeDirectExport, sai.TAMIntAttrDeviceID,
			sai.Uint(g.IntN(3)), sai.TAMIntAttrIntPresenceType, sai.TAMIntPresenceTypeUndefined, sai.TAMIntAttrInline,
			sai.Bool(false))
		with := []any{sai.TAMAttrEventObjectsList, events}
		if domain != sai.NullOID {
			with = append(with, sai.TAMAttrIntObjectsList, sai.OIDs{domain})
		}
		g.create(sai.ObjectTypeTAM, with...)
	}
}

// aging returns a threshold in microseconds.
func (g *gen) aging() sai.Uint {
	n := 1 + g.IntN(40)
	if g.lasting {
		n *= 1000
	}
	return sai.Uint(n)
}

func (g *gen) someCollectors() (list sai.OIDs) {
	for range 1 + g.IntN(2) {
		list = append(list, g.any(sai.ObjectTypeTAMCollector))
	}
	return list
}

func (g *gen) newCollector() {
	src, dst := netip.AddrFrom4([4]byte{192, 0, 2, 1}), netip.AddrFrom4([4]byte{192, 0, 2, byte(9 + g.IntN(2))})
	if g.chance(40) {
		src, dst = netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::9")
	}
	with := []any{sai.TAMCollectorAttrTransport, g.any(sai.ObjectTypeTAMTransport), sai.TAMCollectorAttrSrcIP,
		sai.IP{Addr: src},
		sai.TAMCollectorAttrDstIP, sai.IP{Addr: dst}, sai.TAMCollectorAttrDSCPValue, sai.Uint(pick(g, 0, g.IntN(64))),
		sai.TAMCollectorAttrTruncateSize, sai.Uint(pick(g, 0, 0, 1, 64, 128))}
	if g.chance(25) {
		trap := g.create(sai.ObjectTypeHostifUserDefinedTrap, sai.HostifUserDefinedTrapAttrType,
			sai.HostifUserDefinedTrapTypeTAM)
		if group := g.any(sai.ObjectTypeHostifTrapGroup); group != sai.NullOID {
			g.setOf(sai.ObjectTypeHostifUserDefinedTrap, trap, sai.HostifUserDefinedTrapAttrTrapGroup, group)
		}
		if trap != sai.NullOID {
			with = append(with, sai.TAMCollectorAttrHostifTrap, trap)
		}
		g.create(sai.ObjectTypeTAMCollector, with...)
		return
	}
	with = append(with, sai.TAMCollectorAttrLocalhost, sai.Bool(false))
	if to := g.any(pick(g, sai.ObjectTypePort, sai.ObjectTypePort, sai.ObjectTypeLAG)); to != sai.NullOID {
		with = append(with, sai.TAMCollectorAttrDestination, to)
	}
	if g.chance(90) {
		with = append(with, sai.TAMCollectorAttrDstMAC, sai.MAC(g.host()))
	}
	g.create(sai.ObjectTypeTAMCollector, with...)
}

// monitorTable makes a table after the parser whose entries select drops to report.
func (g *gen) monitorTable() {
	table := g.create(sai.ObjectTypeACLTable, sai.ACLTableAttrACLStage, sai.ACLStagePreIngress,
		sai.ACLTableAttrFieldIPProtocol, sai.Bool(true), sai.ACLTableAttrFieldInPorts, sai.Bool(true))
	for i := range 4 {
		tam := g.any(sai.ObjectTypeTAM)
		if tam == sai.NullOID {
			return
		}
		g.create(sai.ObjectTypeACLEntry, sai.ACLEntryAttrTableID, table, sai.ACLEntryAttrPriority, sai.Uint(1+i),
			sai.ACLEntryAttrFieldIPProtocol, sai.Match(sai.Uint(pick(g, 6, 17)), sai.Uint(255)),
			sai.ACLEntryAttrActionTAMObject, sai.Do(tam))
	}
	g.setOf(sai.ObjectTypeSwitch, g.sw, sai.SwitchAttrPreIngressACL, table)
}

// monitorOp sometimes changes the objects that report drops.
func (g *gen) monitorOp() {
	g.monitored(func() {
		switch g.IntN(12) {
		case 0, 1:
			g.newMonitorObject()
		case 2:
			g.removeAny(pick(g, sai.ObjectTypeTAM, sai.ObjectTypeTAMEvent, sai.ObjectTypeTAMCollector))
		case 3:
			g.bindMonitors(sai.ObjectTypeSwitch, g.sw, sai.SwitchAttrTAMObjectID)
		case 4:
			g.bindMonitors(sai.ObjectTypePort, g.any(sai.ObjectTypePort), sai.PortAttrTAMObject)
		case 5:
			g.set(sai.ObjectTypeTAMCollector, sai.TAMCollectorAttrDestination,
				g.any(pick(g, sai.ObjectTypePort, sai.ObjectTypeLAG)))
		case 6:
			g.set(sai.ObjectTypeTAMTransport, pick(g, sai.TAMTransportAttrSrcPort, sai.TAMTransportAttrMTU),
				sai.Uint(1000+g.IntN(3)))
		case 7:
			g.set(sai.ObjectTypeTAMEventThreshold, sai.TAMEventThresholdAttrAbsValue, g.aging())
		case 8:
			g.set(sai.ObjectTypeTAMReport, sai.TAMReportAttrType, pick(g, sai.TAMReportTypeIPFIX, sai.TAMReportTypeVendorExtn))
		case 9:
			g.set(sai.ObjectTypeTAMEvent, sai.TAMEventAttrThreshold, pick(g, sai.NullOID,
				g.any(sai.ObjectTypeTAMEventThreshold)))
		}
	})
}

// reportsDiffer returns an error if the counters of a stream of reports differ.
func (p *pair) reportsDiffer() error {
	names := [...]string{"drops", "punted", "sampled out", "rate-limited", "reports", "flows begun", "flows ended",
		"flows evicted",
		"sent", "not sendable", "lost", "templates"}
	for _, c := range p.chip.Tables().TAMCollectors {
		src, dst := netip.AddrPortFrom(c.Src, c.SrcPort), netip.AddrPortFrom(c.Dst, c.DstPort)
		fast, ref := p.chip.ReportCounts(src, dst), p.ref.ReportCounts(src, dst)
		for i := range dropreport.NumWords {
			if fast[i] != ref[i] {
				return fmt.Errorf("reports from %s to %s: %s: fast %d, reference %d", src, dst, names[i], fast[i], ref[i])
			}
			p.saw["reports: "+names[i]] += int(ref[i])
			if c.SrcPort == ifaSource && ref[i] > 0 {
				p.saw["ifa: reports "+names[i]] += int(ref[i])
			}
		}
	}
	return nil
}
