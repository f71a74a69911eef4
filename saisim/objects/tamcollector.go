package objects

import (
	"maps"
	"net/netip"
	"slices"

	"tamtam/sai"
	"tamtam/saisim/config"
)

func (ms *monitors) transportKind() *kind {
	return &kind{
		max: maxTAMs,
		attrs: []sai.AttrID{
			sai.TAMTransportAttrTransportType, sai.TAMTransportAttrSrcPort, sai.TAMTransportAttrDstPort,
			sai.TAMTransportAttrTransportAuthType, sai.TAMTransportAttrMTU,
		},
		enums: map[sai.AttrID][]sai.Enum{
			sai.TAMTransportAttrTransportType:     {sai.TAMTransportTypeUDP, sai.TAMTransportTypeNone},
			sai.TAMTransportAttrTransportAuthType: {sai.TAMTransportAuthTypeNone},
		},
		check: func(o *object) error {
			return o.within(
				bound{id: sai.TAMTransportAttrSrcPort, least: 1, most: 65535},
				bound{id: sai.TAMTransportAttrDstPort, least: 1, most: 65535},
				bound{id: sai.TAMTransportAttrMTU, least: config.MinReportMTU, most: config.MaxReportMTU},
			)
		},
		set: ms.putCollectorsOf,
	}
}

func (ms *monitors) collectorKind() *kind {
	return &kind{
		max: config.MaxTAMCollectors,
		attrs: []sai.AttrID{
			sai.TAMCollectorAttrSrcIP, sai.TAMCollectorAttrDstIP, sai.TAMCollectorAttrLocalhost,
			sai.TAMCollectorAttrVirtualRouterID, sai.TAMCollectorAttrTruncateSize, sai.TAMCollectorAttrTransport,
			sai.TAMCollectorAttrDSCPValue, sai.TAMCollectorAttrHostifTrap, sai.TAMCollectorAttrSrcMAC,
			sai.TAMCollectorAttrDstMAC, sai.TAMCollectorAttrDestination,
		},
		row: ms.collectorRow,
		set: func(o *object, a sai.Attr) error {
			if o.ofHost(ms.core) != o.with(a).ofHost(ms.core) {
				return badValue(a.ID, sai.StatusNotSupported,
					"a collector cannot change between one on the host and one that gets packets")
			}
			return nil
		},
		made: func(o *object) { ms.collectors[o.key.OID] = o },
		gone: func(o *object) { delete(ms.collectors, o.key.OID) },
	}
}

// collectorRow returns the row that follows from a collector, its transport and its trap. It returns nil for a program
// on the host.
func (ms *monitors) collectorRow(o *object) (config.Row, error) {
	if o.ofHost(ms.core) {
		return nil, nil // no packet goes there
	}
	src, _ := o.attr(sai.TAMCollectorAttrSrcIP).(sai.IP)
	dst, _ := o.attr(sai.TAMCollectorAttrDstIP).(sai.IP)
	t := ms.objects[o.ref(sai.TAMCollectorAttrTransport)]
	r := config.TAMCollector{
		ID: o.id(), Local: o.flag(sai.TAMCollectorAttrLocalhost), Src: src.Addr, Dst: dst.Addr,
		SMAC: o.mac(sai.TAMCollectorAttrSrcMAC), DMAC: o.mac(sai.TAMCollectorAttrDstMAC),
		DSCP: uint8(o.number(sai.TAMCollectorAttrDSCPValue)), Truncate: int(o.number(sai.TAMCollectorAttrTruncateSize)),
		SrcPort: uint16(t.number(sai.TAMTransportAttrSrcPort)), DstPort: uint16(t.number(sai.TAMTransportAttrDstPort)),
		MTU: int(t.number(sai.TAMTransportAttrMTU)), ToCPU: ms.toCPU(o),
	}
	if id, ok := wrongEnds(src.Addr, dst.Addr); !ok {
		return nil, badValue(id, sai.StatusInvalidParameter,
			"from %s to %s, want addresses of hosts, both of IPv4 or both of IPv6", src.Addr, dst.Addr)
	}
	if err := o.within(bound{id: sai.TAMCollectorAttrDSCPValue, what: "DSCP ", most: 63}); err != nil {
		return nil, err
	}
	if vr := o.ref(sai.TAMCollectorAttrVirtualRouterID); vr != sai.NullOID && vr != ms.defaultRouter.key.OID {
		return nil, badValue(sai.TAMCollectorAttrVirtualRouterID, sai.StatusInvalidParameter,
			"%s, want the default virtual router: the chip has no other", vr)
	}
	if !r.Local {
		r.To = o.refID(sai.TAMCollectorAttrDestination)
		_, port := row[config.Port](ms.core, sai.OID(r.To))
		_, lag := row[config.LAG](ms.core, sai.OID(r.To))
		if r.To != config.None && !port && !lag {
			return nil, badValue(sai.TAMCollectorAttrDestination, sai.StatusInvalidParameter,
				"%s, want a front-panel port or a LAG", sai.OID(r.To))
		}
	}
	return r, nil
}

// checkCollectors rejects collectors that get no packets.
func (ms *monitors) checkCollectors(id sai.AttrID, collectors []config.ID) error {
	for _, c := range collectors {
		if oid := sai.OID(c); ms.objects[oid].ofHost(ms.core) {
			return badValue(id, sai.StatusNotSupported, "collector %s is on the host, and reports are packets: want a "+
				"transport of SAI_TAM_TRANSPORT_TYPE_UDP", oid)
		}
	}
	return nil
}

// wrongEnds reports whether reports can be sent from one address to another. If not, it returns the attribute of the
// wrong address.
func wrongEnds(src, dst netip.Addr) (sai.AttrID, bool) {
	host := func(a netip.Addr) bool { return a.IsValid() && !a.IsUnspecified() && !a.IsMulticast() && !a.Is4In6() }
	switch {
	case !host(src):
		return sai.TAMCollectorAttrSrcIP, false
	case !host(dst) || src.Is4() != dst.Is4():
		return sai.TAMCollectorAttrDstIP, false
	}
	return 0, true
}

// toCPU returns the queue and policer of reports to a collector that is reached through the CPU. They are configured in
// its trap's group, or in the default group.
func (ms *monitors) toCPU(o *object) config.ToCPU {
	if t := ms.objects[o.ref(sai.TAMCollectorAttrHostifTrap)]; t != nil {
		if g := ms.objects[t.ref(sai.HostifUserDefinedTrapAttrTrapGroup)]; g != nil {
			return g.toCPU()
		}
	}
	return ms.defaultGroup.toCPU()
}

// putCollectors puts the rows of all collectors again after a change of a trap group.
func (ms *monitors) putCollectors() {
	for _, oid := range slices.Sorted(maps.Keys(ms.collectors)) {
		if r, err := ms.collectorRow(ms.collectors[oid]); err == nil { // the row was valid before
			ms.put(r)
		}
	}
}

// putCollectorsOf puts the rows of all collectors again, with a new attribute of an object that they may use.
func (ms *monitors) putCollectorsOf(o *object, a sai.Attr) error {
	return ms.again(o, a, ms.collectors, ms.collectorRow)
}

// userTrapKind returns the kind of the traps for reports to the CPU.
func (ms *monitors) userTrapKind() *kind {
	return &kind{
		max: maxTAMs,
		attrs: []sai.AttrID{
			sai.HostifUserDefinedTrapAttrType, sai.HostifUserDefinedTrapAttrTrapGroup,
		},
		stored: map[sai.AttrID]string{
			sai.HostifUserDefinedTrapAttrTrapPriority: "reports have no other trap",
		},
		enums: map[sai.AttrID][]sai.Enum{sai.HostifUserDefinedTrapAttrType: {sai.HostifUserDefinedTrapTypeTAM}},
		set:   ms.putCollectorsOf,
	}
}
