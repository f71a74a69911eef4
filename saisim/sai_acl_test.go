package saisim_test

import (
	"net/netip"
	"slices"
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
)

// An aclSpec is a table of some fields, bound to an ingress or egress port, with VLAN 10 at ports 0 and 1.
type aclSpec struct {
	fields []any // attribute pairs of the table
	egress bool
	more   func(d *dut) // creates further objects
}

func (s aclSpec) world(d *dut) {
	d.boot()
	vlan10(d)
	if s.more != nil {
		s.more(d)
	}
	stage, port, bind := sai.ACLStageIngress, saisim.PortID(0), sai.PortAttrIngressACL
	if s.egress {
		stage, port, bind = sai.ACLStageEgress, 1, sai.PortAttrEgressACL
	}
	d.known["table"] = d.create(sai.ObjectTypeACLTable, append(s.fields, sai.ACLTableAttrACLStage, stage)...)
	d.set(d.port(port), bind, d.known["table"])
}

// dropAll makes an entry that drops matching packets.
func dropAll(d *dut, with ...sai.Attr) sai.Key {
	return aclEntry(d, append(with, attrs(sai.ACLEntryAttrActionPacketAction, sai.Do(sai.PacketActionDrop))...)...)
}

// aclEntry makes an entry of the table.
func aclEntry(d *dut, with ...sai.Attr) sai.Key {
	if _, given := sai.Find(with, sai.ACLEntryAttrPriority); !given {
		with = append(with, attrs(sai.ACLEntryAttrPriority, sai.Uint(10))...)
	}
	return d.make(sai.ObjectTypeACLEntry, append(with, attrs(sai.ACLEntryAttrTableID, d.known["table"])...)...)
}

func u(v, mask uint64) sai.Field { return sai.Match(sai.Uint(v), sai.Uint(mask)) }

func ipOf(s string) sai.IP { return sai.IP{Addr: netip.MustParseAddr(s)} }

// changed returns a frame with some bytes overwritten.
func changed(f []byte, pos int, b ...byte) []byte {
	f = slices.Clone(f)
	copy(f[pos:], b)
	return f
}

// flooded returns the copies of a frame that is not stopped. The frame is untagged, or tagged with VLAN 1.
func flooded(f []byte) frames {
	if f[12] == 0x81 && f[13] == 0 {
		return at(eth(f[:6], f[6:12], f[16:]), 1, 2)
	}
	return at(f, 1, 2)
}

// saiacl.h: every field, with a frame that matches and one that barely does not. A field that is disabled, or whose
// mask is 0, matches everything.
func TestSAIACLFields(t *testing.T) {
	frame := func(parts ...[]byte) []byte { return eth(host(2), host(1), parts...) }
	v4, v6 := frame(ip4(1, 2, 17, 0, udp(1000, 2000, 30))), frame(ip6(1, 2, 17, udp(1000, 2000, 30)))
	tcp4, tcp6 := frame(ip4(1, 2, 6, 0, tcp(1000, 2000, 0x12, 30))), frame(ip6(1, 2, 6, tcp(1000, 2000, 0x12, 30)))
	tail := frame(ip4(1, 2, 17, 5, udp(1000, 2000, 30)))
	head := frame(ip4(1, 2, 17, 0x2000, udp(1000, 2000, 30)))
	icmp := frame(ip4(1, 2, 1, 0, append([]byte{8, 3}, make([]byte, 30)...)))
	icmp6 := frame(ip6(1, 2, 58, append([]byte{128, 3}, make([]byte, 30)...)))
	arpReq := frame(u16(0x0806), []byte{0, 1, 8, 0, 6, 4, 0, 1}, make([]byte, 38))
	arpRep := changed(arpReq, 21, 2)
	other := frame(u16(0x88b5), make([]byte, 46))
	double := tagged(3<<13|1<<12|1, tagged(6<<13|1<<12|77, v4))
	// inner returns the frame with another inner tag; the outer is VLAN 1.
	inner := func(tci uint16) []byte { return tagged(1, tagged(tci, v4)) }
	const l3, l4 = 14, 34
	enum := func(v sai.Enum) sai.Field { return sai.Field{Enabled: true, Data: v, Mask: sai.Enum(-1)} }
	boolean := func(v bool) sai.Field { return sai.Field{Enabled: true, Data: sai.Bool(v)} }
	full6 := ipOf("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")
	for _, tt := range []struct {
		entry, table sai.AttrID
		match        sai.Field
		hit, near    []byte
	}{
		{sai.ACLEntryAttrFieldSrcMAC, sai.ACLTableAttrFieldSrcMAC,
			sai.Match(sai.MAC(host(1)), sai.MAC{255, 255, 255, 255, 255, 255}), v4, changed(v4, 11, 3)},
		{sai.ACLEntryAttrFieldSrcMAC, sai.ACLTableAttrFieldSrcMAC, // bits outside the mask do not count
			sai.Match(sai.MAC(host(1)), sai.MAC{255, 255, 255, 255, 255, 0}), changed(v4, 11, 3), changed(v4, 10, 1)},
		{sai.ACLEntryAttrFieldDstMAC, sai.ACLTableAttrFieldDstMAC,
			sai.Match(sai.MAC(host(2)), sai.MAC{255, 255, 255, 255, 255, 255}), v4, changed(v4, 5, 3)},
		{sai.ACLEntryAttrFieldEtherType, sai.ACLTableAttrFieldEtherType, u(0x0800, 0xffff), v4, v6},
		{sai.ACLEntryAttrFieldEtherType, sai.ACLTableAttrFieldEtherType, u(0x0800, 0xffff), tagged(1, v4), tagged(1, v6)},
		{sai.ACLEntryAttrFieldSrcIP, sai.ACLTableAttrFieldSrcIP,
			sai.Match(ipOf("10.0.0.1"), ipOf("255.255.255.255")), v4, changed(v4, l3+15, 3)},
		{sai.ACLEntryAttrFieldSrcIP, sai.ACLTableAttrFieldSrcIP,
			sai.Match(ipOf("10.0.0.0"), ipOf("255.255.255.252")), v4, changed(v4, l3+15, 4)},
		{sai.ACLEntryAttrFieldSrcIP, sai.ACLTableAttrFieldSrcIP, sai.Match(ipOf("10.0.0.0"), ipOf("0.0.0.0")), v4, v6},
		{sai.ACLEntryAttrFieldDstIP, sai.ACLTableAttrFieldDstIP,
			sai.Match(ipOf("10.0.0.2"), ipOf("255.255.255.255")), v4, changed(v4, l3+16, 11)},
		{sai.ACLEntryAttrFieldSrcIPv6, sai.ACLTableAttrFieldSrcIPv6, sai.Match(ipOf("2001:db8::1"), full6), v6,
			changed(v6, l3+23, 3)},
		{sai.ACLEntryAttrFieldSrcIPv6, sai.ACLTableAttrFieldSrcIPv6,
			sai.Match(ipOf("2001:db8::"), ipOf("ffff:ffff:ffff:ffff::")), v6, changed(v6, l3+15, 1)},
		{sai.ACLEntryAttrFieldDstIPv6, sai.ACLTableAttrFieldDstIPv6, sai.Match(ipOf("2001:db8::2"), full6), v6,
			changed(v6, l3+24, 0x21)},
		{sai.ACLEntryAttrFieldIPProtocol, sai.ACLTableAttrFieldIPProtocol, u(6, 255), tcp4, v4},
		{sai.ACLEntryAttrFieldIPv6NextHeader, sai.ACLTableAttrFieldIPv6NextHeader, u(6, 255), tcp6, tcp4},
		{sai.ACLEntryAttrFieldIPv6NextHeader, sai.ACLTableAttrFieldIPv6NextHeader, u(6, 255), tcp6, v6},
		{sai.ACLEntryAttrFieldDSCP, sai.ACLTableAttrFieldDSCP, u(46, 63), changed(v4, l3+1, 46<<2|3),
			changed(v4, l3+1, 47<<2)},
		{sai.ACLEntryAttrFieldDSCP, sai.ACLTableAttrFieldDSCP, u(46, 63), changed(v6, l3, 0x6b, 0x80),
			changed(v6, l3, 0x6b, 0xc0)},
		{sai.ACLEntryAttrFieldECN, sai.ACLTableAttrFieldECN, u(3, 3), changed(v4, l3+1, 46<<2|3), changed(v4, l3+1, 46<<2|1)},
		{sai.ACLEntryAttrFieldTOS, sai.ACLTableAttrFieldTOS, u(0xb8, 0xff), changed(v4, l3+1, 0xb8), changed(v4, l3+1, 0xb9)},
		{sai.ACLEntryAttrFieldTTL, sai.ACLTableAttrFieldTTL, u(64, 255), v4, changed(v4, l3+8, 63)},
		{sai.ACLEntryAttrFieldTTL, sai.ACLTableAttrFieldTTL, u(64, 255), v6, changed(v6, l3+7, 63)},
		{sai.ACLEntryAttrFieldIPIdentification, sai.ACLTableAttrFieldIPIdentification, u(1, 0xffff), v4,
			changed(v4, l3+5, 2)},
		{sai.ACLEntryAttrFieldIPFlags, sai.ACLTableAttrFieldIPFlags, u(2, 7), changed(v4, l3+6, 0x40), changed(v4, l3+6, 0)},
		{sai.ACLEntryAttrFieldTCPFlags, sai.ACLTableAttrFieldTCPFlags, u(2, 2), tcp4, changed(tcp4, l4+13, 0x10)},
		{sai.ACLEntryAttrFieldTCPFlags, sai.ACLTableAttrFieldTCPFlags, u(0x12, 0x3f), tcp4, v4},
		{sai.ACLEntryAttrFieldL4SrcPort, sai.ACLTableAttrFieldL4SrcPort, u(1000, 0xffff), v4, changed(v4, l4+1, 0xe9)},
		// without an L4 header
		{sai.ACLEntryAttrFieldL4SrcPort, sai.ACLTableAttrFieldL4SrcPort, u(1000, 0xffff), v6, tail},
		{sai.ACLEntryAttrFieldL4DstPort, sai.ACLTableAttrFieldL4DstPort, u(2000, 0xffff), tcp4, changed(tcp4, l4+3, 0xd1)},
		{sai.ACLEntryAttrFieldL4DstPort, sai.ACLTableAttrFieldL4DstPort, u(2000, 0xffff), head, tail},
		{sai.ACLEntryAttrFieldICMPType, sai.ACLTableAttrFieldICMPType, u(8, 255), icmp, changed(icmp, l4, 9)},
		{sai.ACLEntryAttrFieldICMPType, sai.ACLTableAttrFieldICMPType, u(128, 255), changed(icmp, l4, 128), icmp6},
		{sai.ACLEntryAttrFieldICMPCode, sai.ACLTableAttrFieldICMPCode, u(3, 255), icmp, changed(icmp, l4+1, 9)},
		{sai.ACLEntryAttrFieldICMPv6Type, sai.ACLTableAttrFieldICMPv6Type, u(128, 255), icmp6, changed(icmp, l4, 128)},
		{sai.ACLEntryAttrFieldICMPv6Type, sai.ACLTableAttrFieldICMPv6Type, u(128, 255), icmp6, changed(icmp6, 54, 129)},
		{sai.ACLEntryAttrFieldICMPv6Code, sai.ACLTableAttrFieldICMPv6Code, u(3, 255), icmp6, changed(icmp6, 55, 4)},
		{sai.ACLEntryAttrFieldIPv6FlowLabel, sai.ACLTableAttrFieldIPv6FlowLabel, u(0x12345, 0xfffff),
			changed(v6, l3+1, 1, 0x23, 0x45), changed(v6, l3+1, 1, 0x23, 0x44)},

		{sai.ACLEntryAttrFieldOuterVLANID, sai.ACLTableAttrFieldOuterVLANID, u(10, 0xfff), tagged(10, v4), tagged(1, v4)},
		{sai.ACLEntryAttrFieldOuterVLANPri, sai.ACLTableAttrFieldOuterVLANPri, u(5, 7), tagged(5<<13|1, v4),
			tagged(4<<13|1, v4)},
		{sai.ACLEntryAttrFieldOuterVLANCfi, sai.ACLTableAttrFieldOuterVLANCfi, u(1, 1), tagged(1<<12|1, v4), tagged(1, v4)},
		{sai.ACLEntryAttrFieldInnerVLANID, sai.ACLTableAttrFieldInnerVLANID, u(77, 0xfff), double, inner(78)},
		{sai.ACLEntryAttrFieldInnerVLANPri, sai.ACLTableAttrFieldInnerVLANPri, u(6, 7), double, inner(5<<13 | 77)},
		{sai.ACLEntryAttrFieldInnerVLANCfi, sai.ACLTableAttrFieldInnerVLANCfi, u(1, 1), double, inner(77)},
		{sai.ACLEntryAttrFieldHasVLANTag, sai.ACLTableAttrFieldHasVLANTag, boolean(true), tagged(1, v4), v4},
		{sai.ACLEntryAttrFieldHasVLANTag, sai.ACLTableAttrFieldHasVLANTag, boolean(false), v4, tagged(1, v4)},
		{sai.ACLEntryAttrFieldPacketVLAN, sai.ACLTableAttrFieldPacketVLAN, enum(sai.PacketVLANUntag), v4, tagged(1, v4)},
		{sai.ACLEntryAttrFieldPacketVLAN, sai.ACLTableAttrFieldPacketVLAN, enum(sai.PacketVLANSingleOuterTag), tagged(1, v4),
			double},
		{sai.ACLEntryAttrFieldPacketVLAN, sai.ACLTableAttrFieldPacketVLAN, enum(sai.PacketVLANDoubleTag), double,
			tagged(1, v4)},

		{sai.ACLEntryAttrFieldACLIPType, sai.ACLTableAttrFieldACLIPType, enum(sai.ACLIPTypeIP), v6, arpReq},
		{sai.ACLEntryAttrFieldACLIPType, sai.ACLTableAttrFieldACLIPType, enum(sai.ACLIPTypeNonIP), other, v4},
		{sai.ACLEntryAttrFieldACLIPType, sai.ACLTableAttrFieldACLIPType, enum(sai.ACLIPTypeIPv4Any), v4, v6},
		{sai.ACLEntryAttrFieldACLIPType, sai.ACLTableAttrFieldACLIPType, enum(sai.ACLIPTypeNonIPv4), arpReq, v4},
		{sai.ACLEntryAttrFieldACLIPType, sai.ACLTableAttrFieldACLIPType, enum(sai.ACLIPTypeIPv6Any), v6, v4},
		{sai.ACLEntryAttrFieldACLIPType, sai.ACLTableAttrFieldACLIPType, enum(sai.ACLIPTypeNonIPv6), v4, v6},
		{sai.ACLEntryAttrFieldACLIPType, sai.ACLTableAttrFieldACLIPType, enum(sai.ACLIPTypeArp), arpRep, v4},
		{sai.ACLEntryAttrFieldACLIPType, sai.ACLTableAttrFieldACLIPType, enum(sai.ACLIPTypeArpRequest), arpReq, arpRep},
		{sai.ACLEntryAttrFieldACLIPType, sai.ACLTableAttrFieldACLIPType, enum(sai.ACLIPTypeArpReply), arpRep, arpReq},
		{sai.ACLEntryAttrFieldACLIPFrag, sai.ACLTableAttrFieldACLIPFrag, enum(sai.ACLIPFragAny), head, v4},
		{sai.ACLEntryAttrFieldACLIPFrag, sai.ACLTableAttrFieldACLIPFrag, enum(sai.ACLIPFragAny), tail, v4},
		{sai.ACLEntryAttrFieldACLIPFrag, sai.ACLTableAttrFieldACLIPFrag, enum(sai.ACLIPFragNonFrag), v4, head},
		{sai.ACLEntryAttrFieldACLIPFrag, sai.ACLTableAttrFieldACLIPFrag, enum(sai.ACLIPFragNonFragOrHead), head, tail},
		{sai.ACLEntryAttrFieldACLIPFrag, sai.ACLTableAttrFieldACLIPFrag, enum(sai.ACLIPFragNonFragOrHead), v4, tail},
		{sai.ACLEntryAttrFieldACLIPFrag, sai.ACLTableAttrFieldACLIPFrag, enum(sai.ACLIPFragHead), head, tail},
		{sai.ACLEntryAttrFieldACLIPFrag, sai.ACLTableAttrFieldACLIPFrag, enum(sai.ACLIPFragNonHead), tail, head},
	} {
		runSpec(t, specObject{
			name: tt.entry.String(), object: dropAll, world: aclSpec{fields: []any{tt.table, sai.Bool(true)}}.world,
			rows: []specRow{
				{name: "matches", attr: tt.entry, value: tt.match, in: in(tt.hit)},
				{name: "just does not", attr: tt.entry, value: tt.match, in: in(tt.near), with: flooded(tt.near)},
			},
		})
	}
}

// saiacl.h: fields that name objects, or depend on the result of an earlier station.
func TestSAIACLFieldsOfObjects(t *testing.T) {
	ports := func(lanes ...saisim.PortID) func(d *dut) sai.Value {
		return func(d *dut) sai.Value {
			oids := sai.OIDs{}
			for _, l := range lanes {
				oids = append(oids, d.port(l).OID)
			}
			return sai.Field{Enabled: true, Data: oids}
		}
	}
	port := func(lane saisim.PortID) func(d *dut) sai.Value {
		return func(d *dut) sai.Value { return sai.Field{Enabled: true, Data: d.port(lane).OID} }
	}
	all := at(untagged, 1, 2)
	row := func(name string, attr sai.AttrID, value any, f []byte, with frames) specRow {
		return specRow{name: name, attr: attr, value: value, in: in(f), with: with}
	}
	ranges := func(kind sai.Enum, limits ...uint64) func(d *dut) sai.Value {
		return func(d *dut) sai.Value {
			oids := sai.OIDs{}
			for i := 0; i < len(limits); i += 2 {
				oids = append(oids, d.create(sai.ObjectTypeACLRange, sai.ACLRangeAttrType, kind,
					sai.ACLRangeAttrLimit, sai.Range{Min: limits[i], Max: limits[i+1]}))
			}
			return sai.Field{Enabled: true, Data: oids}
		}
	}
	withRange := func(kind sai.Enum, fits, below, above []byte, min, max uint64) specObject {
		f, near := ranges(kind, min, max), func(x []byte) frames { return flooded(x) }
		return specObject{name: "range " + sai.EnumName(sai.ACLRangeAttrType, kind), object: dropAll,
			world: aclSpec{fields: []any{sai.ACLTableAttrFieldACLRangeType, sai.Enums{kind}}}.world,
			rows: []specRow{
				row("in it", sai.ACLEntryAttrFieldACLRangeType, f, fits, nil),
				row("one too little", sai.ACLEntryAttrFieldACLRangeType, f, below, near(below)),
				row("one too much", sai.ACLEntryAttrFieldACLRangeType, f, above, near(above)),
			}}
	}
	ports4 := func(src, dst uint16) []byte { return eth(host(2), host(1), ip4(1, 2, 6, 0, tcp(src, dst, 2, 30))) }
	longer := func(n int) []byte { return pad(untagged, n) }
	twice := func(id uint16) []byte { return tagged(1, tagged(id, untagged)) }
	vlan := specObject{name: "range of VLANs", object: dropAll,
		world: aclSpec{fields: []any{sai.ACLTableAttrFieldACLRangeType, sai.Enums{sai.ACLRangeTypeOuterVLAN}}}.world,
		rows: []specRow{
			row("in it", sai.ACLEntryAttrFieldACLRangeType, ranges(sai.ACLRangeTypeOuterVLAN, 1, 9), tagged(1, untagged), nil),
			row("not in it", sai.ACLEntryAttrFieldACLRangeType, ranges(sai.ACLRangeTypeOuterVLAN, 1, 9), tagged(10, untagged),
				at(tagged(10, untagged), 1)),
		}}
	dscpTo := func(d *dut) { // DSCP 46 is traffic class 5
		d.set(d.port(0), sai.PortAttrQoSDSCPToTCMap, d.create(sai.ObjectTypeQoSMap, sai.QoSMapAttrType,
			sai.QoSMapTypeDSCPToTC,
			sai.QoSMapAttrMapToValueList, dscpMap(46, 5)))
	}
	marks := func(d *dut) { // the ingress sets the metadata of frames of host 1 to 7
		t := d.create(sai.ObjectTypeACLTable, sai.ACLTableAttrACLStage, sai.ACLStageIngress, sai.ACLTableAttrFieldSrcMAC,
			sai.Bool(true))
		d.create(sai.ObjectTypeACLEntry, sai.ACLEntryAttrTableID, t, sai.ACLEntryAttrPriority, sai.Uint(1),
			sai.ACLEntryAttrFieldSrcMAC, sai.Match(sai.MAC(host(1)), sai.MAC{255, 255, 255, 255, 255, 255}),
			sai.ACLEntryAttrActionSetACLMetaData, sai.Do(sai.Uint(7)))
		d.set(d.port(0), sai.PortAttrIngressACL, t)
	}
	fromHost3 := eth(host(2), host(3), someIP)
	marked := changed(untagged, 15, 46<<2)
	runSpec(t,
		specObject{name: "IN_PORTS", object: dropAll, world: aclSpec{fields: []any{sai.ACLTableAttrFieldInPorts,
			sai.Bool(true)}}.world,
			rows: []specRow{
				row("one of them", sai.ACLEntryAttrFieldInPorts, ports(2, 0), untagged, nil),
				row("none of them", sai.ACLEntryAttrFieldInPorts, ports(1, 2), untagged, all)}},
		specObject{name: "IN_PORT", object: dropAll, world: aclSpec{fields: []any{sai.ACLTableAttrFieldInPort,
			sai.Bool(true)}}.world,
			rows: []specRow{
				row("it is", sai.ACLEntryAttrFieldInPort, port(0), untagged, nil),
				row("it is not", sai.ACLEntryAttrFieldInPort, port(1), untagged, all)}},
		specObject{name: "SRC_PORT", object: dropAll, world: aclSpec{fields: []any{sai.ACLTableAttrFieldSrcPort,
			sai.Bool(true)}}.world,
			rows: []specRow{
				row("it is", sai.ACLEntryAttrFieldSrcPort, port(0), untagged, nil),
				row("it is not", sai.ACLEntryAttrFieldSrcPort, port(1), untagged, all)}},
		specObject{name: "OUT_PORTS", object: dropAll,
			world: aclSpec{fields: []any{sai.ACLTableAttrFieldOutPorts, sai.Bool(true)}, egress: true}.world,
			rows: []specRow{
				{name: "one of them", attr: sai.ACLEntryAttrFieldOutPorts, value: ports(1, 2), in: in(untagged),
					with: at(untagged, 2), without: at(untagged, 2)},
				{name: "none of them", attr: sai.ACLEntryAttrFieldOutPorts, value: ports(0, 2), in: in(untagged),
					with: all, without: at(untagged, 2)}}},
		specObject{name: "OUT_PORT", object: dropAll,
			world: aclSpec{fields: []any{sai.ACLTableAttrFieldOutPort, sai.Bool(true)}, egress: true}.world,
			rows: []specRow{
				{name: "it is", attr: sai.ACLEntryAttrFieldOutPort, value: port(1), in: in(untagged),
					with: at(untagged, 2), without: at(untagged, 2)},
				{name: "it is not", attr: sai.ACLEntryAttrFieldOutPort, value: port(0), in: in(untagged),
					with: all, without: at(untagged, 2)}}},
		specObject{name: "TC", object: dropAll, world: aclSpec{fields: []any{sai.ACLTableAttrFieldTC, sai.Bool(true)},
			more: dscpTo}.world,
			rows: []specRow{
				row("of that class", sai.ACLEntryAttrFieldTC, u(5, 255), marked, nil),
				row("of another", sai.ACLEntryAttrFieldTC, u(5, 255), untagged, all)}},
		specObject{name: "ACL_USER_META", object: dropAll,
			world: aclSpec{fields: []any{sai.ACLTableAttrFieldACLUserMeta, sai.Bool(true)}, more: marks, egress: true}.world,
			rows: []specRow{
				{name: "what an ingress table has set", attr: sai.ACLEntryAttrFieldACLUserMeta, value: u(7, 0xff), in: in(untagged),
					with: at(untagged, 2), without: at(untagged, 2)},
				{name: "not set", attr: sai.ACLEntryAttrFieldACLUserMeta, value: u(7, 0xff), in: in(fromHost3),
					with: at(fromHost3, 1, 2), without: at(fromHost3, 2)}}},
		withRange(sai.ACLRangeTypeL4SrcPortRange, ports4(100, 1), ports4(99, 150), ports4(201, 150), 100, 200),
		withRange(sai.ACLRangeTypeL4DstPortRange, ports4(1, 200), ports4(150, 99), ports4(150, 201), 100, 200),
		withRange(sai.ACLRangeTypePacketLength, longer(120), longer(95), longer(197), 100, 200), // with FCS
		withRange(sai.ACLRangeTypeInnerVLAN, twice(20), twice(19), twice(31), 20, 30),
		vlan,
	)
}

// saiacl.h: actions of entries, which apply only to matching packets.
func TestSAIACLActions(t *testing.T) {
	do := func(v sai.Value) sai.Value { return sai.Do(v) }
	all, known := at(untagged, 1, 2), in(untagged)
	packet := func(name string, act sai.Enum, with frames) specRow {
		return specRow{name: name, attr: sai.ACLEntryAttrActionPacketAction, value: do(act), in: known, with: with,
			without: all}
	}
	to := func(k func(d *dut) sai.OID) func(d *dut) sai.Value {
		return func(d *dut) sai.Value { return sai.Do(k(d)) }
	}
	session := func(lane saisim.PortID) func(d *dut) sai.Value {
		return func(d *dut) sai.Value { return sai.Do(sessionList(lane, nil)(d)) }
	}
	talk := frames{{0, untagged}, {1, eth(host(1), host(2), someIP)}}
	answer := talk[1].data
	dscp := sum(changed(untagged, 15, 46<<2))
	valid := sum(changed(untagged, 0))
	macOf := aclSpec{fields: []any{sai.ACLTableAttrFieldSrcMAC, sai.Bool(true)}}
	lag := func(d *dut) sai.OID {
		if d.known["LAG"] == 0 {
			d.unbridge(3)
			d.set(d.port(3), sai.PortAttrAdminState, sai.Bool(true))
			d.known["LAG"] = d.create(sai.ObjectTypeLAG)
			d.create(sai.ObjectTypeLAGMember, sai.LAGMemberAttrLAGID, d.known["LAG"], sai.LAGMemberAttrPortID, d.port(3).OID)
		}
		return d.known["LAG"]
	}
	bad := []refusal{{func(d *dut) sai.Value { return sai.Do(d.vlan1().OID) }, sai.StatusInvalidParameter}}
	entry := specObject{name: "ingress entry", object: aclEntry, world: macOf.world, rows: []specRow{
		packet("DROP", sai.PacketActionDrop, nil),
		packet("FORWARD", sai.PacketActionForward, all),
		packet("TRAP: to the CPU alone", sai.PacketActionTrap, at(untagged, cpuPort)),
		packet("COPY: to the CPU too", sai.PacketActionCopy, at(untagged, 1, 2, cpuPort)),
		packet("LOG: trap and forward", sai.PacketActionLog, at(untagged, 1, 2, cpuPort)),
		packet("DENY: drop, no copy", sai.PacketActionDeny, nil),
		packet("TRANSIT: forward, no copy", sai.PacketActionTransit, all),
		packet("COPY_CANCEL: no copy", sai.PacketActionCopyCancel, all),
		{name: "REDIRECT to a port", attr: sai.ACLEntryAttrActionRedirect, in: known, with: at(untagged, 2), without: all,
			value: to(func(d *dut) sai.OID { return d.port(2).OID }), refused: bad},
		{name: "REDIRECT to a LAG", attr: sai.ACLEntryAttrActionRedirect, in: known, with: at(untagged, 3), without: all,
			value: to(lag)},
		{name: "REDIRECT to a bridge port, with its tag", attr: sai.ACLEntryAttrActionRedirect,
			in: in(tagged(10, untagged)), with: at(tagged(10, untagged), 1), without: at(tagged(10, untagged), 1),
			value: to(func(d *dut) sai.OID { return d.bridgePort(d.port(1).OID).OID })},
		{name: "MIRROR_INGRESS: a copy as it came in", attr: sai.ACLEntryAttrActionMirrorIngress, value: session(2),
			in: in(tagged(1, untagged)), with: at(untagged, 1, 2).and(tagged(1, untagged), 2), without: all},
		{name: "SET_DSCP, with the checksum", attr: sai.ACLEntryAttrActionSetDSCP, value: do(sai.Uint(46)), in: in(valid),
			with: at(dscp, 1, 2), without: at(valid, 1, 2),
			refused: []refusal{{do(sai.Uint(64)), sai.StatusInvalidParameter}}},
		{name: "SET_DO_NOT_LEARN", attr: sai.ACLEntryAttrActionSetDoNotLearn, value: do(sai.Uint(0)), in: talk,
			with: at(answer, 0, 2), without: at(answer, 0)},
		{name: "SET_TC changes no byte", attr: sai.ACLEntryAttrActionSetTC, value: do(sai.Uint(3)), in: known, with: all,
			without: all, refused: []refusal{{do(sai.Uint(16)), sai.StatusInvalidParameter}}},
		{name: "SET_ACL_META_DATA changes no byte", attr: sai.ACLEntryAttrActionSetACLMetaData, value: do(sai.Uint(3)),
			in: known, with: all, without: all},
	}}
	elsewhere := specObject{name: "entry that does not match", world: macOf.world,
		object: func(d *dut, with ...sai.Attr) sai.Key {
			return aclEntry(d, append(with, attrs(sai.ACLEntryAttrFieldSrcMAC,
				sai.Match(sai.MAC(host(3)), sai.MAC{255, 255, 255, 255, 255, 255}))...)...)
		}}
	for _, r := range entry.rows {
		if r.in[len(r.in)-1].port == 0 {
			elsewhere.rows = append(elsewhere.rows, specRow{name: r.name, attr: r.attr, value: r.value, in: r.in,
				with: r.without, without: r.without})
		}
	}
	drop := specObject{name: "dropping entry", object: dropAll, world: macOf.world, rows: []specRow{
		{name: "an entry that is down matches nothing", attr: sai.ACLEntryAttrAdminState, value: sai.Bool(false),
			in: known, with: all},
	}}
	egress := specObject{name: "egress entry", object: aclEntry,
		world: aclSpec{fields: []any{sai.ACLTableAttrFieldSrcMAC, sai.Bool(true)}, egress: true}.world, rows: []specRow{
			{name: "DROP at its port only", attr: sai.ACLEntryAttrActionPacketAction, value: do(sai.PacketActionDrop),
				in: known, with: at(untagged, 2), without: all},
			{name: "MIRROR_EGRESS: a copy as it leaves", attr: sai.ACLEntryAttrActionMirrorEgress, value: session(2),
				in: in(tagged(10, untagged)), with: at(tagged(10, untagged), 1, 2), without: at(tagged(10, untagged), 1)},
		}}
	runSpec(t, entry, elsewhere, drop, egress)
}
