package reference_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/tam/ifa"
)

// An analyser makes the configuration of IFA, and packets with IFA data. It has its own random numbers, so that cases
// without IFA do not change.
type analyser struct {
	analysing *rand.Rand // nil means that there is no IFA
	ifas      []sai.OID  // TAM INT objects of IFA
	tam       sai.OID
}

// analysedOf returns random numbers for IFA in one case of five, otherwise nil.
func analysedOf(seed uint64) *rand.Rand {
	if seed%5 == 2 {
		return rand.New(rand.NewPCG(seed, 4))
	}
	return nil
}

// analysed runs do with random numbers for IFA, if there is any.
func (g *gen) analysed(do func()) {
	if g.analysing == nil {
		return
	}
	was := g.Rand
	g.Rand = g.analysing
	do()
	g.Rand = was
}

func (g *gen) furnishIFA() {
	g.analysed(func() {
		g.furnishReports()
		for range 2 + g.IntN(2) {
			g.newIFA()
		}
		if len(g.ifas) == 0 {
			return
		}
		g.tam = g.create(sai.ObjectTypeTAM, sai.TAMAttrTAMBindPointTypeList, sai.Enums{sai.TAMBindPointTypeSwitch},
			sai.TAMAttrIntObjectsList, sai.OIDs{pick(g, g.ifas...)})
		if g.chance(70) {
			g.setOf(sai.ObjectTypeSwitch, g.sw, sai.SwitchAttrTAMObjectID, sai.OIDs{g.tam})
		}
		for _, p := range g.pool[sai.ObjectTypePort] { // some ports have no capacity for a hop
			if g.chance(25) {
				g.setOf(sai.ObjectTypePort, p, sai.PortAttrMTU, sai.Uint(120+g.IntN(300)))
			}
		}
		g.furnishEnds()
		for range 3 + g.IntN(6) {
			g.ifaEntry()
		}
	})
}

// ifaSource is the UDP source port of reports from IFA objects.
const ifaSource = 2000

// furnishReports makes the objects to which objects of IFA refer: samplers, collectors and reports.
func (g *gen) furnishReports() {
	for range 2 {
		g.create(sai.ObjectTypeSamplepacket, sai.SamplepacketAttrSampleRate, sai.Uint(1+g.IntN(4)),
			sai.SamplepacketAttrType, sai.SamplepacketTypeSlowPath, sai.SamplepacketAttrMode, sai.SamplepacketModeExclusive)
		g.create(sai.ObjectTypeTAMTransport, sai.TAMTransportAttrTransportType, sai.TAMTransportTypeUDP,
			sai.TAMTransportAttrSrcPort, sai.Uint(ifaSource), sai.TAMTransportAttrDstPort, sai.Uint(4739),
			sai.TAMTransportAttrMTU, sai.Uint(pick(g, 576, 1500)))
		g.newCollector()
		g.create(sai.ObjectTypeTAMReport, sai.TAMReportAttrType, sai.TAMReportTypeIPFIX,
			sai.TAMReportAttrTemplateReportInterval, sai.Uint(1+g.IntN(2)))
		g.create(sai.ObjectTypeTAMReport, sai.TAMReportAttrType, sai.TAMReportTypeIPFIX,
			sai.TAMReportAttrReportMode, sai.TAMReportModeSampling, sai.TAMReportAttrSampleRate, sai.Uint(2))
		g.create(sai.ObjectTypeTAMReport, sai.TAMReportAttrType, sai.TAMReportTypeIPFIX, sai.TAMReportAttrMaxReportRate,
			sai.Uint(g.prof.ClockHz/1000), sai.TAMReportAttrMaxReportBurst, sai.Uint(2))
	}
	for _, rif := range g.pool[sai.ObjectTypeRouterInterface] { // some interfaces have no capacity in a datagram
		if g.chance(25) {
			g.setOf(sai.ObjectTypeRouterInterface, rif, sai.RouterInterfaceAttrMTU, sai.Uint(100+g.IntN(300)))
		}
	}
}

// furnishEnds binds a table to the switch that begins or ends IFA for all packets. Removed IFA data are mirrored.
func (g *gen) furnishEnds() {
	table := g.create(sai.ObjectTypeACLTable, sai.ACLTableAttrACLStage, sai.ACLStageIngress)
	counter := g.create(sai.ObjectTypeACLCounter, sai.ACLCounterAttrTableID, table)
	g.counters[table] = append(g.counters[table], counter)
	if s := g.create(sai.ObjectTypeMirrorSession, g.session()...); g.chance(60) && s != sai.NullOID {
		g.create(sai.ObjectTypeACLEntry, sai.ACLEntryAttrTableID, table, sai.ACLEntryAttrActionCounter, sai.Do(counter),
			sai.ACLEntryAttrActionTAMIntObject, sai.Do(pick(g, g.ifas...)), pick(g, sai.ACLEntryAttrActionIntInsert,
				sai.ACLEntryAttrActionIntDelete, sai.ACLEntryAttrActionIntDelete), sai.Do(sai.Bool(true)),
			sai.ACLEntryAttrActionMirrorIngress, sai.Do(sai.OIDs{s}))
		g.setOf(sai.ObjectTypeSwitch, g.sw, sai.SwitchAttrIngressACL, table)
	}
}

func (g *gen) newIFA() {
	with := []any{sai.TAMIntAttrType, sai.TAMIntTypeIfa2, sai.TAMIntAttrDeviceID, sai.Uint(g.Uint32N(1 << 20)),
		sai.TAMIntAttrIntPresenceType, sai.TAMIntPresenceTypeL3Protocol, sai.TAMIntAttrIntPresenceL3Protocol,
		sai.Uint(ifa.Protocol),
		sai.TAMIntAttrInline, sai.Bool(true), sai.TAMIntAttrTraceVector, sai.Uint(g.IntN(256)), sai.TAMIntAttrActionVector,
		sai.Uint(g.IntN(256)),
		sai.TAMIntAttrMaxHopCount, sai.Uint(pick(g, 0, 1, 3, 255)), sai.TAMIntAttrMaxLength, sai.Uint(pick(g, 0, 8, 16, 255))}
	if x := g.any(sai.ObjectTypeSamplepacket); x != sai.NullOID && g.chance(30) {
		with = append(with, sai.TAMIntAttrIngressSamplepacketEnable, x)
	}
	if x := g.any(sai.ObjectTypeTAMReport); x != sai.NullOID && g.chance(70) {
		with = append(with, sai.TAMIntAttrReportID, x, sai.TAMIntAttrCollectorList, g.someCollectors())
	}
	oid := g.create(sai.ObjectTypeTAMInt, with...)
	if oid != sai.NullOID {
		g.ifas = append(g.ifas, oid)
	}
}

// ifaEntry makes an entry that begins or ends IFA.
func (g *gen) ifaEntry() {
	if len(g.ifas) == 0 {
		return
	}
	table := g.any(sai.ObjectTypeACLTable)
	with := []any{sai.ACLEntryAttrTableID, table, sai.ACLEntryAttrPriority, sai.Uint(3 + g.IntN(3)),
		sai.ACLEntryAttrActionTAMIntObject, sai.Do(pick(g, g.ifas...)),
		pick(g, sai.ACLEntryAttrActionIntInsert, sai.ACLEntryAttrActionIntDelete), sai.Do(sai.Bool(true))}
	if l := g.counters[table]; len(l) > 0 {
		with = append(with, sai.ACLEntryAttrActionCounter, sai.Do(pick(g, l...)))
	}
	if s := g.any(sai.ObjectTypeMirrorSession); s != sai.NullOID && g.chance(60) {
		with = append(with, sai.ACLEntryAttrActionMirrorIngress, sai.Do(sai.OIDs{s}))
	}
	if g.chance(50) {
		f := g.field()
		with = append(with, f.ID, f.Value)
	}
	g.create(sai.ObjectTypeACLEntry, with...)
}

// ifaOp sometimes changes IFA.
func (g *gen) ifaOp() {
	g.analysed(func() {
		switch g.IntN(14) {
		case 0:
			g.newIFA()
		case 1, 2:
			g.ifaEntry()
		case 3:
			if len(g.ifas) > 0 {
				g.setOf(sai.ObjectTypeTAMInt, pick(g, g.ifas...), pick(g, sai.TAMIntAttrTraceVector, sai.TAMIntAttrActionVector,
					sai.TAMIntAttrMaxHopCount, sai.TAMIntAttrMaxLength), sai.Uint(pick(g, 0, 1, 8, 16, 24, 255)))
			}
		case 4:
			if len(g.ifas) > 0 {
				g.setOf(sai.ObjectTypeTAM, g.tam, sai.TAMAttrIntObjectsList, pick(g, sai.OIDs{pick(g, g.ifas...)}, sai.OIDs{}))
			}
		case 9:
			if x := g.any(sai.ObjectTypeTAMReport); x != sai.NullOID && len(g.ifas) > 0 {
				g.setOf(sai.ObjectTypeTAMInt, pick(g, g.ifas...), sai.TAMIntAttrReportID, x)
			}
		case 10:
			if len(g.ifas) > 0 {
				g.setOf(sai.ObjectTypeTAMInt, pick(g, g.ifas...), sai.TAMIntAttrCollectorList, g.someCollectors())
			}
		case 11:
			g.set(sai.ObjectTypeSamplepacket, sai.SamplepacketAttrSampleRate, sai.Uint(1+g.IntN(3)))
		case 5:
			g.setOf(sai.ObjectTypeSwitch, g.sw, sai.SwitchAttrTAMObjectID, pick(g, sai.OIDs{g.tam}, sai.OIDs{g.tam}, sai.OIDs{}))
		case 6:
			if i := g.IntN(len(g.ifas) + 1); i < len(g.ifas) &&
				g.chip.Remove(context.Background(), sai.Obj(sai.ObjectTypeTAMInt, g.ifas[i])) == nil {
				g.ifas = append(g.ifas[:i], g.ifas[i+1:]...)
			}
		case 8:
			g.set(sai.ObjectTypePort, sai.PortAttrMTU, sai.Uint(120+g.IntN(200)))
		case 7:
			g.set(sai.ObjectTypeACLEntry, pick(g, sai.ACLEntryAttrActionIntInsert, sai.ACLEntryAttrActionIntDelete),
				sai.Do(g.bool(50)))
		}
	})
}

// withIFA puts IFA into some packets of TCP and UDP, and damages some of it.
func (g *gen) withIFA(b []byte) []byte {
	g.analysed(func() {
		l3, at, proto, ok := transportOf(b)
		if !ok || !g.chance(50) {
			return
		}
		n, err := ifa.TransportSize(proto, b[l3+at:])
		if err != nil {
			return
		}
		hop := ifa.Hop{Device: g.Uint32N(1 << 20), InPort: uint16(g.IntN(9)), Residence: g.Uint32()}
		h := ifa.Header{GNS: pick[uint8](g, 15, 15, 15, 15, 15, 2), Next: proto, Flags: ifa.Inband,
			MaxLength: uint8(pick(g, 255, 255, 255, 8, 16, 24, g.IntN(40)))}
		m := ifa.Metadata{Request: 1, HopLimit: uint8(pick(g, 255, 0, 1, 2, 7, 254))}
		b = append(b[:l3:l3], ifa.Insert(append([]byte{}, b[l3:]...), at, n, h, m, &hop)...)
		for g.chance(40) {
			p, err := ifa.Locate(b[l3:])
			if err != nil || b[l3:][p.Stack-1] > 247 {
				break
			}
			b = append(b[:l3:l3], p.Push(append([]byte{}, b[l3:]...), &hop)...)
		}
		if g.chance(15) { // flags, another version, another protocol, a wrong length
			b[l3+at+g.IntN(ifa.HeaderSize)] ^= byte(1 << g.IntN(8))
		}
		if g.chance(10) {
			b[l3+at+ifa.HeaderSize+n+g.IntN(ifa.HeaderSize)] ^= byte(1 << g.IntN(8))
		}
	})
	return b
}

// transportOf finds a transport header directly after an undamaged IP header.
func transportOf(b []byte) (l3, at int, proto byte, ok bool) {
	l3 = 14
	for len(b) >= l3+4 && (b[l3-2] == 0x81 && b[l3-1] == 0 || b[l3-2] == 0x88 && b[l3-1] == 0xa8) {
		l3 += 4
	}
	ip := b[min(l3, len(b)):]
	switch {
	case len(ip) > 20 && b[l3-2] == 8 && b[l3-1] == 0 && ip[0]>>4 == 4:
		at, proto = int(ip[0]&15)*4, ip[9]
		ok = at >= 20 && len(ip) > at && binary.BigEndian.Uint16(ip[2:]) <= uint16(len(ip))
	case len(ip) > 40 && b[l3-2] == 0x86 && b[l3-1] == 0xdd && ip[0]>>4 == 6:
		at, proto, ok = 40, ip[6], true
	}
	return l3, at, proto, ok
}

// ifaWords returns the names of the IFA counters, in order.
func ifaWords() []string {
	return []string{"matched", "unsampled", "already", "absent", "inserted", "stripped", "cut", "unsupported", "hop limit",
		"max length", "MTU", "reported"}
}

// analyses returns the events of IFA that must occur.
func analyses() (all []string) {
	for who, what := range map[string][]string{
		"ACL": {"matched", "unsampled", "already", "absent", "inserted", "stripped", "cut", "unsupported", "MTU",
			"reported"},
		"transit": {"inserted", "cut", "unsupported", "hop limit", "max length", "MTU"},
		"reports": {"sampled out", "sent", "templates"},
	} {
		for _, w := range what {
			all = append(all, "ifa: "+who+" "+w)
		}
	}
	return all
}

// ifaDiffers returns an error if IFA counters differ, or if a register read does.
func (p *pair) ifaDiffers() error {
	got, want := p.chip.State().IFA, p.ref.IFACounts()
	for id, f := range got {
		if f != want[id] {
			return fmt.Errorf("IFA, by ACL counter %s (0: transit):\n     fast %d\nreference %d", id, f, want[id])
		}
		who := "ACL"
		if id == config.None {
			who = "transit"
		}
		for i, n := range f {
			if n > 0 {
				p.saw["ifa: "+who+" "+ifaWords()[i]] += int(n)
			}
		}
	}
	return nil
}
