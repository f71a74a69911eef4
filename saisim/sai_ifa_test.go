package saisim_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/saisim/tailstamp"
	"tamtam/tam/ifa"
	"tamtam/tam/ipfix"
)

// ifaObject returns the attributes of a TAM INT object of IFA.
func ifaObject(device uint32, pairs ...any) []any {
	return append([]any{sai.TAMIntAttrType, sai.TAMIntTypeIfa2, sai.TAMIntAttrDeviceID, sai.Uint(device),
		sai.TAMIntAttrIntPresenceType, sai.TAMIntPresenceTypeL3Protocol, sai.TAMIntAttrIntPresenceL3Protocol,
		sai.Uint(ifa.Protocol),
		sai.TAMIntAttrInline, sai.Bool(true)}, pairs...)
}

// ifaAll makes an entry for all received packets, which begins IFA or ends it.
func (r *rig) ifaAll(object sai.OID, does sai.AttrID, pairs ...any) {
	r.Helper()
	table := r.create(sai.ObjectTypeACLTable, sai.ACLTableAttrACLStage, sai.ACLStageIngress)
	counter := r.create(sai.ObjectTypeACLCounter, sai.ACLCounterAttrTableID, table, sai.ACLCounterAttrEnablePacketCount,
		sai.Bool(true),
		sai.ACLCounterAttrLabel, sai.Text("ifa"))
	r.create(sai.ObjectTypeACLEntry, append([]any{sai.ACLEntryAttrTableID, table, sai.ACLEntryAttrActionCounter,
		sai.Do(counter),
		sai.ACLEntryAttrActionTAMIntObject, sai.Do(object), does, sai.Do(sai.Bool(true))}, pairs...)...)
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrIngressACL, table)
}

// transit makes the switch a transit.
func (r *rig) transit(object sai.OID) {
	r.Helper()
	tam := r.create(sai.ObjectTypeTAM, sai.TAMAttrTAMBindPointTypeList, sai.Enums{sai.TAMBindPointTypeSwitch},
		sai.TAMAttrIntObjectsList, sai.OIDs{object})
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrTAMObjectID, sai.OIDs{tam})
}

// ifaCounts returns the results of IFA for packets.
func (r *rig) ifaCounts(label string) (n [ifa.NumCounts]uint64) {
	r.Helper()
	entry := fmt.Sprintf(
		`{"attributes":[{"labels":{"sai_metadata":{"sai_attr_value_type":"SAI_ATTR_VALUE_TYPE_UINT32_LIST"},"value":[%q]}}]}`,
		label)
	oid := r.create(sai.ObjectTypeGenericProgrammable, sai.GenericProgrammableAttrObjectName,
		sai.Bytes(ifa.ObjectCounters),
		sai.GenericProgrammableAttrEntry, sai.Bytes(entry))
	defer r.remove(sai.ObjectTypeGenericProgrammable, oid)
	got, err := r.Get(context.Background(), sai.Obj(sai.ObjectTypeGenericProgrammable, oid),
		[]sai.Attr{sai.Want(sai.GenericProgrammableAttrEntry, 100_000)})
	if err != nil {
		r.Fatal(err)
	}
	var answer struct {
		Attributes []map[string]struct{ Value []any }
	}
	if err := json.Unmarshal(got[0].Value.(sai.Bytes), &answer); err != nil {
		r.Fatal(err)
	}
	for _, a := range answer.Attributes {
		for i, v := range a["counters"].Value {
			n[i] = uint64(v.(float64))
		}
	}
	return n
}

// A packet passes an initiator, a transit and a terminator. Each hop has its switch's values, and the packet that
// leaves equals the one that arrived, byte for byte. The collector's copy has all three hops.
func TestSAIIFA(t *testing.T) {
	for name, frame := range map[string][]byte{
		"UDP":      udpFrame(2, 1, 60),
		"padded":   pad(eth(host(2), host(1), ip4(1, 2, 17, 0, udp(1, 2, 1))), 60),
		"TCP":      eth(host(2), host(1), ip4(1, 2, 6, 0, tcp(1, 2, 16, 9))),
		"TCP IPv6": eth(host(2), host(1), ip6(1, 2, 6, tcp(1, 2, 16, 300))),
	} {
		t.Run(name, func(t *testing.T) {
			begin, middle, end := newRig(t, profile.Small()), newRig(t, profile.Small()), newRig(t, profile.Small())
			begin.ifaAll(begin.create(sai.ObjectTypeTAMInt, ifaObject(1, sai.TAMIntAttrTraceVector, sai.Uint(3),
				sai.TAMIntAttrActionVector, sai.Uint(0x40), sai.TAMIntAttrMaxHopCount, sai.Uint(9))...),
				sai.ACLEntryAttrActionIntInsert)
			middle.transit(middle.create(sai.ObjectTypeTAMInt, ifaObject(2)...))
			mirror := end.create(sai.ObjectTypeMirrorSession, sai.MirrorSessionAttrType, sai.MirrorSessionTypeLocal,
				sai.MirrorSessionAttrMonitorPort, end.oid(3))
			end.ifaAll(end.create(sai.ObjectTypeTAMInt, ifaObject(3)...), sai.ACLEntryAttrActionIntDelete,
				sai.ACLEntryAttrActionMirrorIngress, sai.Do(sai.OIDs{mirror}))
			at := frame
			for i, r := range []*rig{begin, middle} {
				outs := r.send(0, at)
				at = bytes.Clone(outs[0].data)
				p, err := ifa.Decode(at[14:])
				if err != nil || len(p.Hops) != i+1 || p.Hops[0].Device != uint32(i+1) || int(p.HopLimit) != 9-i {
					t.Fatalf("behind switch %d: %+v %v", i+1, p, err)
				}
			}
			outs := end.send(0, at)
			plain, reports := 0, 0
			for _, o := range outs {
				if bytes.Equal(o.data, frame) {
					plain++
					continue
				}
				p, err := ifa.Decode(o.data[14:])
				if err != nil || len(p.Hops) != 3 || p.Request != 3 || p.Action != 0x40 || p.HopLimit != 7 {
					t.Errorf("by port %d: %+v %v", o.port, p, err)
					continue
				}
				reports++
				h := p.Hops[0]
				if d, ok := h.Residing(); h.Device != 3 || !ok || d <= 0 || h.Speed != ifa.SpeedOf(10_000) || h.Trust != 0 {
					t.Errorf("own hop: %+v", h)
				}
			}
			n := end.ifaCounts("ifa")
			if plain == 0 || reports != plain || n[ifa.Stripped] != uint64(plain) || n[ifa.Reported] != uint64(reports) {
				t.Errorf("%d as they came in, %d reports, counted %d", plain, reports, n)
			}
			if n := middle.ifaCounts(""); n[ifa.Inserted] == 0 {
				t.Errorf("transit counts %d", n)
			}
		})
	}
}

// Packets that must not grow stay as they are, and the reason is counted.
func TestIFALeftAlone(t *testing.T) {
	long := udpFrame(1, 2, 1522-4-ifa.Overhead+1)
	for _, tt := range []struct {
		name  string
		frame []byte
		cut   int
		want  ifa.Count
	}{
		{"ICMP", eth(host(2), host(1), ip4(1, 2, 1, 0, make([]byte, 30))), 0, ifa.Unsupported},
		{"a fragment", eth(host(2), host(1), ip4(1, 2, 17, 0x2000, udp(1, 2, 9))), 0, ifa.Unsupported},
		{"behind an extension header", eth(host(2), host(1), ip6(1, 2, 0,
			append([]byte{17, 0, 1, 4, 0, 0, 0, 0}, udp(1, 2, 10)...))), 0, ifa.Unsupported},
		{"no IP", eth(host(2), host(1), u16(0x88b5), make([]byte, 60)), 0, ifa.Unsupported},
		{"cut", udpFrame(1, 2, 100), 80, ifa.Cut},
		{"one byte too long", long, 0, ifa.MTU},
		{"just short enough", udpFrame(1, 2, 1522-4-ifa.Overhead), 0, ifa.Inserted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, profile.Small())
			r.send(1, udpFrame(2, 1, 60))
			r.set(sai.ObjectTypePort, r.oid(1), sai.PortAttrMTU, sai.Uint(1522))
			r.ifaAll(r.create(sai.ObjectTypeTAMInt, ifaObject(1)...), sai.ACLEntryAttrActionIntInsert)
			f := saisim.Frame{Data: tt.frame, Len: len(tt.frame)}
			if tt.cut > 0 {
				f.Data = f.Data[:tt.cut]
			}
			outs := r.sendAt(0, r.Now(), f)
			if n := r.ifaCounts("ifa"); n[ifa.Matched] != 1 || n[tt.want] == 0 {
				t.Errorf("counted %d", n)
			}
			for _, o := range outs {
				if tt.want != ifa.Inserted && !bytes.Equal(o.data, f.Data) {
					t.Errorf("%x left as %x", f.Data, o.data)
				}
			}
		})
	}
}

// Tail-stamping and IFA report the same values for the same packets.
func TestIFAEqualsTailstamp(t *testing.T) {
	r := newRig(t, profile.Small())
	r.send(1, udpFrame(2, 1, 60))
	r.stampAll(7)
	r.transit(r.create(sai.ObjectTypeTAMInt, ifaObject(7)...))
	hop := ifa.Hop{Device: 1}
	packet := udpFrame(2, 1, 60)
	packet = append(packet[:14:14], ifa.Insert(bytes.Clone(packet[14:]), 20, 8,
		ifa.Header{GNS: ifa.PerHop, Next: 17, MaxLength: 255},
		ifa.Metadata{HopLimit: 3}, &hop)...)
	for i, o := range r.send(0, packet) {
		records, end := tailstamp.Decode(o.data)
		p, err := ifa.Decode(o.data[14:end])
		if err != nil || len(records) != 1 || len(p.Hops) != 2 {
			t.Fatalf("%d records, %+v %v", len(records), p, err)
		}
		rec, h := records[0], p.Hops[0]
		d, _ := rec.Latency()
		if got, ok := h.Residing(); !ok || got != d || h.InPort != rec.InPort || h.OutPort != rec.OutPort ||
			h.Device != rec.SwitchID ||
			uint64(h.Seconds) != rec.Ingress.Seconds&(1<<20-1) || h.Nanoseconds != rec.Ingress.Nanoseconds ||
			uint8(h.Trust) != uint8(rec.Flags) {
			t.Errorf("%d: IFA says %+v, the stamp %+v", i, h, rec)
		}
	}
}

// Invalid values of an IFA object are refused.
func TestIFARefused(t *testing.T) {
	r := newRig(t, profile.Small())
	for _, tt := range []struct {
		want  sai.Status
		attr  sai.AttrID
		value sai.Value
	}{
		{sai.StatusInvalidParameter, sai.TAMIntAttrDeviceID, sai.Uint(1 << 20)},
		{sai.StatusInvalidParameter, sai.TAMIntAttrIntPresenceL3Protocol, sai.Uint(254)},
		{sai.StatusNotSupported, sai.TAMIntAttrInline, sai.Bool(false)},
		{sai.StatusInvalidParameter, sai.TAMIntAttrTraceVector, sai.Uint(256)},
		{sai.StatusInvalidParameter, sai.TAMIntAttrActionVector, sai.Uint(256)},
		{sai.StatusInvalidParameter, sai.TAMIntAttrMaxLength, sai.Uint(7)},
		{sai.StatusInvalidParameter, sai.TAMIntAttrNameSpaceID, sai.Uint(1)},
	} {
		with := attrs(ifaObject(1)...)
		for i := range with {
			if with[i].ID == tt.attr {
				with[i].Value = tt.value
				tt.attr = 0
			}
		}
		if tt.attr != 0 {
			with = append(with, sai.Attr{ID: tt.attr, Value: tt.value})
		}
		_, err := r.Create(context.Background(), sai.ObjectTypeTAMInt, with)
		r.wantStatus(err, tt.want)
	}
	x := r.create(sai.ObjectTypeTAMInt, ifaObject(1)...)
	table := r.create(sai.ObjectTypeACLTable, sai.ACLTableAttrACLStage, sai.ACLStageIngress)
	r.refused(sai.StatusNotSupported, sai.ObjectTypeACLEntry, sai.ACLEntryAttrTableID, table,
		sai.ACLEntryAttrActionTAMIntObject, sai.Do(x),
		sai.ACLEntryAttrActionIntInsert, sai.Do(sai.Bool(true)), sai.ACLEntryAttrActionIntDelete, sai.Do(sai.Bool(true)))
	egress := r.create(sai.ObjectTypeACLTable, sai.ACLTableAttrACLStage, sai.ACLStageEgress)
	r.refused(sai.StatusNotSupported, sai.ObjectTypeACLEntry, sai.ACLEntryAttrTableID, egress,
		sai.ACLEntryAttrActionTAMIntObject, sai.Do(x),
		sai.ACLEntryAttrActionIntInsert, sai.Do(sai.Bool(true)))
}

// The packet path allocates nothing for any of the three roles. The pace leaves room for the inserted bytes.
func TestIFADoesNotAllocate(t *testing.T) {
	countsAllocations(t)
	for name, with := range map[string]func(l *load){
		"initiator": func(l *load) {
			l.ifaAll(l.create(sai.ObjectTypeTAMInt, ifaObject(1)...), sai.ACLEntryAttrActionIntInsert)
		},
		"transit": func(l *load) { l.transit(l.create(sai.ObjectTypeTAMInt, ifaObject(2)...)) },
		"terminator": func(l *load) {
			session := l.create(sai.ObjectTypeMirrorSession, sai.MirrorSessionAttrType, sai.MirrorSessionTypeLocal,
				sai.MirrorSessionAttrMonitorPort, l.oid(l.Ports()[0]))
			l.ifaAll(l.create(sai.ObjectTypeTAMInt, ifaObject(3)...), sai.ACLEntryAttrActionIntDelete,
				sai.ACLEntryAttrActionMirrorIngress, sai.Do(sai.OIDs{session}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLoad(t, 0, false)
			l.pause = 24
			if with(l); name != "initiator" {
				for i, f := range l.frames {
					l.frames[i] = append(f[:14:14], ifa.Insert(bytes.Clone(f[14:]), 20, 8,
						ifa.Header{GNS: ifa.PerHop, Next: 17, MaxLength: 255}, ifa.Metadata{HopLimit: 9}, &ifa.Hop{Device: 9})...)
				}
			}
			l.allocatesNothing(t, 10_000)
			counts := l.ifaCounts("ifa")
			if name == "transit" {
				counts = l.ifaCounts("")
			}
			if counts[ifa.Inserted]+counts[ifa.Stripped] < 10_000 {
				t.Errorf("counted %d", counts)
			}
		})
	}
}

// An initiator with a sampler chooses the first of each n packets, and follows changes of the rate.
func TestSAIIFASampled(t *testing.T) {
	r := newRig(t, profile.Small())
	sampler := r.create(sai.ObjectTypeSamplepacket, sai.SamplepacketAttrSampleRate, sai.Uint(3))
	r.ifaAll(r.create(sai.ObjectTypeTAMInt, ifaObject(1, sai.TAMIntAttrIngressSamplepacketEnable, sampler)...),
		sai.ACLEntryAttrActionIntInsert)
	for range 7 {
		r.send(0, udpFrame(2, 1, 60))
	}
	if n := r.ifaCounts("ifa"); n[ifa.Matched] != 7 || n[ifa.Unsampled] != 4 {
		t.Errorf("one in three of seven: %d", n)
	}
	r.set(sai.ObjectTypeSamplepacket, sampler, sai.SamplepacketAttrSampleRate, sai.Uint(1))
	r.send(0, udpFrame(2, 1, 60))
	if n := r.ifaCounts("ifa"); n[ifa.Matched] != 8 || n[ifa.Unsampled] != 4 {
		t.Errorf("and then all: %d", n)
	}
}

// ifaReports makes the objects by which a terminator reports to 192.0.2.9 behind a port.
func (r *rig) ifaReports(port saisim.PortID, pairs ...any) []any {
	transport := r.create(sai.ObjectTypeTAMTransport, sai.TAMTransportAttrTransportType, sai.TAMTransportTypeUDP,
		sai.TAMTransportAttrSrcPort, sai.Uint(49152), sai.TAMTransportAttrDstPort, sai.Uint(4739))
	collector := r.create(sai.ObjectTypeTAMCollector, append([]any{sai.TAMCollectorAttrTransport, transport,
		sai.TAMCollectorAttrSrcIP, sai.IP{Addr: netip.MustParseAddr("192.0.2.1")},
		sai.TAMCollectorAttrDstIP, sai.IP{Addr: netip.MustParseAddr("192.0.2.9")},
		sai.TAMCollectorAttrLocalhost, sai.Bool(false), sai.TAMCollectorAttrDestination, r.oid(port),
		sai.TAMCollectorAttrDstMAC, sai.MAC{2, 0, 0, 0, 0, 9}}, pairs...)...)
	report := r.create(sai.ObjectTypeTAMReport, sai.TAMReportAttrType, sai.TAMReportTypeIPFIX)
	return []any{sai.TAMIntAttrReportID, report, sai.TAMIntAttrCollectorList, sai.OIDs{collector}}
}

// A terminator with a report and collectors sends each packet that it strips by IPFIX: first a template, then one
// message for each packet. The message contains the frame as it would have left, with the terminator's own hop on top.
func TestSAIIFAReports(t *testing.T) {
	begin, end := newRig(t, profile.Small()), newRig(t, profile.Small())
	begin.ifaAll(begin.create(sai.ObjectTypeTAMInt, ifaObject(1)...), sai.ACLEntryAttrActionIntInsert)
	end.ifaAll(end.create(sai.ObjectTypeTAMInt, ifaObject(2, end.ifaReports(3)...)...), sai.ACLEntryAttrActionIntDelete)
	end.send(1, udpFrame(2, 1, 60)) // the receiver's location is learned
	frame := udpFrame(1, 2, 60)
	reader, sections := ipfix.NewDecoder(0), [][]byte{}
	for range 3 {
		for _, o := range end.send(0, bytes.Clone(begin.send(0, frame)[0].data)) {
			if o.port == 1 && !bytes.Equal(o.data, frame) {
				t.Errorf("left as %x, want %x", o.data, frame)
			}
			if o.port != 3 {
				continue
			}
			if err := reader.Message(o.data[42:], func(r *ipfix.DataRecord) {
				sections = append(sections, bytes.Clone(r.Values[5]))
				if in, out := r.Values[2][3], r.Values[3][3]; in != 1 || out != 2 {
					t.Errorf("by interfaces %d and %d", in, out)
				}
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, b := range sections {
		p, err := ifa.Decode(b[14:])
		if err != nil || len(p.Hops) != 2 || p.Hops[0].Device != 2 || p.Hops[1].Device != 1 {
			t.Errorf("reported %+v %v", p, err)
		}
	}
	if n := end.ifaCounts("ifa"); len(sections) != 3 || n[ifa.Stripped] != 3 || n[ifa.Reported] != 3 {
		t.Errorf("%d reports, counted %d", len(sections), n)
	}
}
