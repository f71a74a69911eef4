package amorch

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"tamtam/sai"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

// kinds is a set of kinds of packets: ARP, other protocols except IP, and IPv4 and IPv6 by payload.
type kinds uint16

const (
	kindARP kinds = 1 << iota
	kindNonIP
	kindTCP4
	kindUDP4
	kindICMP4
	kindOther4
	kindTCP6
	kindUDP6
	kindICMP6
	kindOther6
	kindsIPv4 = kindTCP4 | kindUDP4 | kindICMP4 | kindOther4
	kindsIPv6 = kindTCP6 | kindUDP6 | kindICMP6 | kindOther6
	kindsIP   = kindsIPv4 | kindsIPv6
	allKinds  = kindARP | kindNonIP | kindsIP
)

// A ternary is a number of up to 128 bits in a packet. The bits in the mask are given.
type ternary struct{ value, mask [2]uint64 }

// meets reports whether some number matches both ternaries.
func (t ternary) meets(u ternary) bool {
	return (t.value[0]^u.value[0])&t.mask[0]&u.mask[0] == 0 && (t.value[1]^u.value[1])&t.mask[1]&u.mask[1] == 0
}

// holds reports whether all numbers that match u also match t.
func (t ternary) holds(u ternary) bool {
	return t.mask[0]&^u.mask[0] == 0 && t.mask[1]&^u.mask[1] == 0 && t.meets(u)
}

func (t ternary) and(u ternary) ternary {
	for i := range t.value {
		t.value[i], t.mask[i] = t.value[i]|u.value[i], t.mask[i]|u.mask[i]
	}
	return t
}

// number returns a ternary of at most 64 bits.
func number(value, mask uint64) ternary { return ternary{[2]uint64{0, value}, [2]uint64{0, mask}} }

// A field is the condition of a region on one field of packets.
type field struct {
	name schema.MatchField
	ternary
}

// A span is a range of L4 ports.
type span struct{ min, max uint16 }

func (s span) and(t span) span { return span{max(s.min, t.min), min(s.max, t.max)} }

var allPorts = span{0, 65535}

// A region is a set of packets: those that match all its fields.
type region struct {
	fields   []field // conditions by name, each name once; IP_TYPE, NEXT_HEADER and L4 ports are separate
	src, dst span
	kinds    kinds
	ports    []sai.OID // ports where the packets arrive; nil if any
	option   bool      // true if the packets have an AltMark option
	monID    altmark.FlowMonID
}

// regionOf returns the region of a session's packets: they match the flow group, and can carry the session's marks. The
// bits of these marks are not part of the region.
func regionOf(matches []schema.ACLMatch, ports []sai.OID, s altmark.Session) region {
	r := region{kinds: allKinds, src: allPorts, dst: allPorts, ports: ports}
	for _, m := range matches {
		r.want(m, s.Mark.DSCPBit()|s.Mark2.DSCPBit())
	}
	switch {
	case s.Role == altmark.Initiator && s.Encap.Given(): // the packets do not yet have the header with the mark
	case s.Mark == altmark.IPv4Reserved || s.Mark2 == altmark.IPv4Reserved:
		r.kinds &= kindsIPv4
	case s.Mark.DSCPBit() != 0:
		r.kinds &= kindsIP
	default:
		r.kinds, r.option = r.kinds&kindsIPv6, true
	}
	if !s.Encap.Given() || s.Role != altmark.Initiator {
		r.monID = s.FlowMonID
	}
	r.kinds &= implied(r.fields)
	r.narrowPorts()
	return r
}

// want adds a match of a rule to the region. It ignores the bits of the DSCP in marks.
func (r *region) want(m schema.ACLMatch, marks uint8) {
	switch m.Field {
	case schema.MatchInPorts: // r.ports contains the ports
	case schema.MatchL4SrcPort:
		r.wantPorts(&r.src, span{uint16(m.Value), uint16(m.Value)})
	case schema.MatchL4DstPort:
		r.wantPorts(&r.dst, span{uint16(m.Value), uint16(m.Value)})
	case schema.MatchL4SrcPortRange:
		r.wantPorts(&r.src, span{m.Min, m.Max})
	case schema.MatchL4DstPortRange:
		r.wantPorts(&r.dst, span{m.Min, m.Max})
	case schema.MatchIPType:
		r.kinds &= ipTypeKinds(schema.IPType(m.Value))
	case schema.MatchNextHeader:
		r.kinds &= kindsIPv6
		r.wantField(field{schema.MatchIPProtocol, number(m.Value, m.Mask)})
	default:
		r.wantField(fieldOf(m, marks))
	}
}

func (r *region) wantPorts(of *span, s span) {
	*of = of.and(s)
	r.kinds &= portKinds
}

// wantField adds a field. If its values only determine the kinds of packets, the region only stores these.
func (r *region) wantField(f field) {
	k := impliedBy(f)
	r.kinds &= k
	if f.mask == [2]uint64{} || f.name == schema.MatchEtherType && k != kindNonIP {
		return
	}
	fields, some := fieldsOf(r.fields, []field{f})
	if r.fields = fields; !some {
		r.kinds = 0
	}
}

// fieldOf converts a match to a field, without the bits of the DSCP in marks.
func fieldOf(m schema.ACLMatch, marks uint8) field {
	switch {
	case m.Field == schema.MatchDSCP:
		return field{m.Field, number(m.Value&^uint64(marks), m.Mask&^uint64(marks))}
	case m.Field == schema.MatchSrcMAC || m.Field == schema.MatchDstMAC:
		return field{m.Field, number(macNumber(m.MAC), macNumber(m.MACMask))}
	case m.Addr.Is4():
		a, k := m.Addr.As4(), m.AddrMask.As4()
		return field{m.Field, number(uint64(binary.BigEndian.Uint32(a[:])), uint64(binary.BigEndian.Uint32(k[:])))}
	case m.Addr.IsValid():
		return field{m.Field, ternary{words(m.Addr.As16()), words(m.AddrMask.As16())}}
	}
	return field{m.Field, number(m.Value, m.Mask)}
}

// fieldsOf returns the union of two lists of fields. It returns false if no packet can match both.
func fieldsOf(a, b []field) (both []field, some bool) {
	both, some = slices.Clone(a), true
	for _, f := range b {
		i, found := slices.BinarySearchFunc(both, f, func(x, y field) int { return cmp.Compare(x.name, y.name) })
		if !found {
			both = slices.Insert(both, i, f)
			continue
		}
		some = some && both[i].meets(f.ternary)
		both[i].ternary = both[i].and(f.ternary)
	}
	return both, some
}

const portKinds = kindTCP4 | kindUDP4 | kindOther4 | kindTCP6 | kindUDP6 | kindOther6

// narrowPorts makes a region empty if it is limited to an empty list of ports.
func (r *region) narrowPorts() {
	if r.src.min > r.src.max || r.dst.min > r.dst.max || r.ports != nil && len(r.ports) == 0 {
		r.kinds = 0
	}
}

func macNumber(m schema.MAC) uint64 {
	return binary.BigEndian.Uint64(append([]byte{0, 0}, m[:]...))
}

func addr4(n uint64) netip.Addr {
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, uint32(n))))
}

func addr6(n [2]uint64) netip.Addr {
	return netip.AddrFrom16([16]byte(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, n[0]), n[1])))
}

func words(b [16]byte) [2]uint64 {
	return [2]uint64{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
}

func ipTypeKinds(t schema.IPType) kinds {
	switch t {
	case schema.IPTypeIP:
		return kindsIP
	case schema.IPTypeNonIP:
		return allKinds &^ kindsIP
	case schema.IPTypeIPv4Any:
		return kindsIPv4
	case schema.IPTypeNonIPv4:
		return allKinds &^ kindsIPv4
	case schema.IPTypeIPv6Any:
		return kindsIPv6
	case schema.IPTypeNonIPv6:
		return allKinds &^ kindsIPv6
	}
	return allKinds
}

// implied returns the kinds of packets that have all the fields.
func implied(fields []field) kinds {
	k := allKinds
	for _, f := range fields {
		k &= impliedBy(f)
	}
	return k
}

// impliedBy returns the kinds of packets that have a field.
func impliedBy(f field) kinds {
	switch f.name {
	case schema.MatchSrcIP, schema.MatchDstIP:
		return kindsIPv4
	case schema.MatchSrcIPv6, schema.MatchDstIPv6, schema.MatchIPv6FlowLabel:
		return kindsIPv6
	case schema.MatchICMPType, schema.MatchICMPCode:
		return kindICMP4
	case schema.MatchICMPv6Type, schema.MatchICMPv6Code:
		return kindICMP6
	case schema.MatchTCPFlags:
		return kindTCP4 | kindTCP6
	case schema.MatchDSCP, schema.MatchTTL:
		return kindsIP
	case schema.MatchEtherType:
		return etherKinds(f.value[1])
	case schema.MatchIPProtocol:
		return protocolKinds(f.value[1])
	}
	return allKinds
}

func etherKinds(etherType uint64) kinds {
	switch etherType {
	case 0x0800:
		return kindsIPv4
	case 0x86dd:
		return kindsIPv6
	case 0x0806:
		return kindARP
	}
	return kindNonIP
}

func protocolKinds(protocol uint64) kinds {
	switch protocol {
	case 1:
		return kindICMP4 | kindOther6
	case 6:
		return kindTCP4 | kindTCP6
	case 17:
		return kindUDP4 | kindUDP6
	case 58:
		return kindICMP6 | kindOther4
	}
	return kindOther4 | kindOther6
}

// and returns the packets in both regions. It returns false if there are none.
func (r region) and(o region) (both region, some bool) {
	both = region{src: r.src.and(o.src), dst: r.dst.and(o.dst), kinds: r.kinds & o.kinds, option: r.option || o.option,
		ports: r.ports, monID: r.monID}
	if both.monID.Given && o.monID.Given && both.monID != o.monID {
		return both, false
	}
	if o.monID.Given {
		both.monID = o.monID
	}
	switch {
	case r.ports == nil:
		both.ports = o.ports
	case o.ports != nil:
		both.ports = slices.DeleteFunc(slices.Clone(r.ports), func(p sai.OID) bool { return !slices.Contains(o.ports, p) })
	}
	both.narrowPorts()
	if both.kinds == 0 {
		return both, false
	}
	both.fields, some = fieldsOf(r.fields, o.fields)
	return both, some
}

// holds reports whether r contains all packets of o.
func (r region) holds(o region) bool {
	if o.kinds&^r.kinds != 0 || r.src.and(o.src) != o.src || r.dst.and(o.dst) != o.dst || r.option && !o.option ||
		r.monID.Given && r.monID != o.monID || !r.comesBy(o.ports) {
		return false
	}
	for _, f := range r.fields {
		if !o.field(f.name).wants(f) {
			return false
		}
	}
	return true
}

// comesBy reports whether the region includes packets that arrive at all these ports. nil means any port.
func (r region) comesBy(ports []sai.OID) bool {
	return r.ports == nil || ports != nil &&
		!slices.ContainsFunc(ports, func(p sai.OID) bool { return !slices.Contains(r.ports, p) })
}

// field returns the condition of a region on a field of packets.
func (r region) field(name schema.MatchField) field {
	for _, f := range r.fields {
		if f.name == name {
			return f
		}
	}
	return field{name: name}
}

// perLink reports whether the region depends on values that routers and bridges change. The same packets may have other
// values at the next switch.
func (r region) perLink() bool {
	return slices.ContainsFunc(r.fields, func(f field) bool {
		switch f.name {
		case schema.MatchTTL, schema.MatchSrcMAC, schema.MatchDstMAC, schema.MatchVLANID, schema.MatchTC:
			return true
		}
		return false
	})
}

// wants reports whether all numbers that match f also match o.
func (f field) wants(o field) bool { return o.ternary.holds(f.ternary) }

// without returns the region with any value of some bits of the DSCP.
func (r region) without(marks uint8) region {
	r.fields = slices.Clone(r.fields)
	for i := range r.fields {
		if f := &r.fields[i]; f.name == schema.MatchDSCP {
			f.value[1] &^= uint64(marks)
			f.mask[1] &^= uint64(marks)
		}
	}
	r.fields = slices.DeleteFunc(r.fields, func(f field) bool { return f.mask == [2]uint64{} })
	return r
}

// text returns the region, except the ports, in the syntax of rules and in canonical form. It omits the matches that
// the wider region but also has.
func (r region) text(but *region) string {
	var parts []string
	add := func(m schema.ACLMatch) { parts = append(parts, m.String()) }
	for _, f := range r.fields {
		if but != nil && but.field(f.name) == f {
			continue
		}
		add(f.match(r.kinds))
	}
	for _, x := range []struct {
		span, but    span
		one, several schema.MatchField
	}{
		{r.src, but.spans()[0], schema.MatchL4SrcPort, schema.MatchL4SrcPortRange},
		{r.dst, but.spans()[1], schema.MatchL4DstPort, schema.MatchL4DstPortRange},
	} {
		switch {
		case x.span == x.but:
		case x.span.min == x.span.max:
			add(schema.ACLMatch{Field: x.one, Value: uint64(x.span.min), Mask: 0xffff})
		default:
			add(schema.ACLMatch{Field: x.several, Min: x.span.min, Max: x.span.max})
		}
	}
	if text := r.kindsText(but); text != "" {
		parts = append(parts, text)
	}
	switch {
	case r.monID.Given && (but == nil || but.monID != r.monID):
		parts = append(parts, "flow-mon-id "+r.monID.String())
	case r.option && !r.monID.Given && (but == nil || !but.option):
		parts = append(parts, "an AltMark option")
	}
	return strings.Join(parts, ", ")
}

// indexed returns the fields of a region, including single L4 ports.
func (r region) indexed() []field {
	all := slices.Clip(r.fields)
	if r.src.min == r.src.max {
		all = append(all, field{schema.MatchL4SrcPort, number(uint64(r.src.min), 0xffff)})
	}
	if r.dst.min == r.dst.max {
		all = append(all, field{schema.MatchL4DstPort, number(uint64(r.dst.min), 0xffff)})
	}
	return all
}

// spans returns the L4 ports of a region; all ports if r is nil.
func (r *region) spans() [2]span {
	if r == nil {
		return [2]span{allPorts, allPorts}
	}
	return [2]span{r.src, r.dst}
}

// kindsText returns the restriction to kinds of packets that the fields of a region do not imply.
func (r region) kindsText(but *region) string {
	have := implied(r.fields)
	if r.src != allPorts || r.dst != allPorts {
		have &= portKinds
	}
	if but != nil {
		have &= but.kinds
	}
	if have&^r.kinds == 0 {
		return ""
	}
	for _, t := range []schema.IPType{schema.IPTypeIP, schema.IPTypeNonIP, schema.IPTypeIPv4Any, schema.IPTypeNonIPv4,
		schema.IPTypeIPv6Any, schema.IPTypeNonIPv6} {
		if have&ipTypeKinds(t) == r.kinds {
			return schema.ACLMatch{Field: schema.MatchIPType, Value: uint64(t)}.String()
		}
	}
	return fmt.Sprintf("kinds %#x", uint16(r.kinds))
}

// match converts a field to a match of a rule for packets of the given kinds.
func (f field) match(of kinds) schema.ACLMatch {
	m := schema.ACLMatch{Field: f.name, Value: f.value[1], Mask: f.mask[1]}
	switch f.name {
	case schema.MatchSrcMAC, schema.MatchDstMAC:
		value, mask := binary.BigEndian.AppendUint64(nil, m.Value), binary.BigEndian.AppendUint64(nil, m.Mask)
		m.MAC, m.MACMask = schema.MAC(value[2:]), schema.MAC(mask[2:])
	case schema.MatchSrcIP, schema.MatchDstIP:
		m.Addr, m.AddrMask = addr4(f.value[1]), addr4(f.mask[1])
	case schema.MatchSrcIPv6, schema.MatchDstIPv6:
		m.Addr, m.AddrMask = addr6(f.value), addr6(f.mask)
	case schema.MatchIPProtocol:
		if of&^kindsIPv6 == 0 {
			m.Field = schema.MatchNextHeader
		}
	}
	return m
}
