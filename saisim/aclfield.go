package saisim

import (
	"encoding/binary"
	"math"

	"tamtam/sai"
	"tamtam/saisim/config"
)

// An aclField says where a match field is in the key. Fields that are not
// there, but need code, have no bits.
type aclField struct {
	id    sai.AttrID // of the entry
	word  uint8
	shift uint8
	bits  uint8  // 128: an IPv6 address in this word and the next
	need  uint32 // parser flags: the packet has the field
}

// tableField returns the attribute by which a table has an entry's field; SAI
// numbers both alike.
func tableField(entry sai.AttrID) sai.AttrID {
	return entry - sai.AttrID(sai.ObjectTypeACLEntry)<<32 + sai.AttrID(sai.ObjectTypeACLTable)<<32
}

// aclFields are the match fields of the chip.
func aclFields() []aclField {
	return []aclField{
		{sai.ACLEntryAttrFieldDstMAC, 0, 16, 48, 0},
		{sai.ACLEntryAttrFieldEtherType, 0, 0, 16, flagEthernet2},
		{sai.ACLEntryAttrFieldSrcMAC, 1, 16, 48, 0},
		{sai.ACLEntryAttrFieldOuterVLANPri, 1, 13, 3, 0},
		{sai.ACLEntryAttrFieldOuterVLANCfi, 1, 12, 1, 0},
		{sai.ACLEntryAttrFieldOuterVLANID, 1, 0, 12, 0},
		{sai.ACLEntryAttrFieldIPProtocol, 2, 32, 8, flagIP},
		{sai.ACLEntryAttrFieldIPv6NextHeader, 2, 32, 8, flagIPv6},
		{sai.ACLEntryAttrFieldDSCP, 2, 26, 6, flagIP},
		{sai.ACLEntryAttrFieldECN, 2, 24, 2, flagIP},
		{sai.ACLEntryAttrFieldTOS, 2, 24, 8, flagIP},
		{sai.ACLEntryAttrFieldTTL, 2, 16, 8, flagIP},
		{sai.ACLEntryAttrFieldTCPFlags, 2, 8, 8, flagTCP},
		{sai.ACLEntryAttrFieldIPFlags, 2, 0, 8, flagIPv4},
		{sai.ACLEntryAttrFieldL4SrcPort, 3, 48, 16, flagL4},
		{sai.ACLEntryAttrFieldL4DstPort, 3, 32, 16, flagL4},
		{sai.ACLEntryAttrFieldICMPType, 3, 24, 8, flagICMP},
		{sai.ACLEntryAttrFieldICMPCode, 3, 16, 8, flagICMP},
		{sai.ACLEntryAttrFieldICMPv6Type, 3, 24, 8, flagICMPv6},
		{sai.ACLEntryAttrFieldICMPv6Code, 3, 16, 8, flagICMPv6},
		{sai.ACLEntryAttrFieldIPIdentification, 3, 0, 16, flagIPv4},
		{sai.ACLEntryAttrFieldSrcIP, 5, 0, 32, flagIPv4},
		{sai.ACLEntryAttrFieldDstIP, 7, 0, 32, flagIPv4},
		{sai.ACLEntryAttrFieldSrcIPv6, 4, 0, 128, flagIPv6},
		{sai.ACLEntryAttrFieldDstIPv6, 6, 0, 128, flagIPv6},
		{sai.ACLEntryAttrFieldInnerVLANPri, 8, 61, 3, flagTwoTags},
		{sai.ACLEntryAttrFieldInnerVLANCfi, 8, 60, 1, flagTwoTags},
		{sai.ACLEntryAttrFieldInnerVLANID, 8, 48, 12, flagTwoTags},
		{sai.ACLEntryAttrFieldIPv6FlowLabel, 8, 16, 20, flagIPv6},
		{sai.ACLEntryAttrFieldTC, 8, 0, 8, 0},
		{sai.ACLEntryAttrFieldACLUserMeta, 9, 32, 32, 0},

		{id: sai.ACLEntryAttrFieldACLIPType},
		{id: sai.ACLEntryAttrFieldACLIPFrag},
		{id: sai.ACLEntryAttrFieldHasVLANTag},
		{id: sai.ACLEntryAttrFieldPacketVLAN},
		{id: sai.ACLEntryAttrFieldTAMIntType},
		{id: sai.ACLEntryAttrFieldInPorts},
		{id: sai.ACLEntryAttrFieldInPort},
		{id: sai.ACLEntryAttrFieldSrcPort},
		{id: sai.ACLEntryAttrFieldOutPorts},
		{id: sai.ACLEntryAttrFieldOutPort},
	}
}

// flags adds a match on parser flags: those of want set, those of not clear.
func (r *aclRule) flags(want, not uint32) {
	r.want(2, uint64(want)<<40, uint64(want|not)<<40)
}

// want adds the match of some bits of a word. What contradicts an earlier match
// makes a rule that never matches.
func (r *aclRule) want(word uint8, value, mask uint64) {
	value &= mask
	if (r.value[word]^value)&r.mask[word]&mask != 0 {
		r.never = true
	}
	r.value[word] |= value
	r.mask[word] |= mask
}

// match adds an enabled field to the rule. ports and lags are resolved by c.
func (c *store) match(r *aclRule, fields map[sai.AttrID]aclField, a sai.Attr, f sai.Field) error {
	def := fields[a.ID]
	if def.bits > 0 {
		return r.matchBits(def, a, f)
	}
	switch v := f.Data.(type) {
	case sai.Bool:
		if v {
			r.flags(flagTagged, 0)
		} else {
			r.flags(0, flagTagged)
		}
	case sai.Enum:
		return r.matchEnum(a, v)
	case sai.OID:
		return c.matchPorts(r, a, sai.OIDs{v})
	case sai.OIDs:
		if a.ID == sai.ACLEntryAttrFieldACLRangeType {
			return c.matchRanges(r, a, v)
		}
		return c.matchPorts(r, a, v)
	}
	return nil
}

// matchBits adds a field that is bits of the key. What the mask leaves out of
// the data is ignored, as in a TCAM.
func (r *aclRule) matchBits(def aclField, a sai.Attr, f sai.Field) error {
	r.flags(def.need, 0)
	if def.bits == 128 {
		d, okd := f.Data.(sai.IP)
		m, okm := f.Mask.(sai.IP)
		if !okd || !okm {
			return badValue(a, sai.StatusInvalidParameter, "want an address with a mask")
		}
		db, mb := d.As16(), m.As16()
		for i := range 2 {
			r.want(def.word+uint8(i), binary.BigEndian.Uint64(db[8*i:]), binary.BigEndian.Uint64(mb[8*i:]))
		}
		return nil
	}
	data, ok1 := scalar(f.Data)
	mask, ok2 := scalar(f.Mask)
	width := uint64(math.MaxUint64) >> (64 - def.bits)
	if !ok1 || !ok2 || data > width {
		return badValue(a, sai.StatusInvalidParameter, "%v, want a value of %d bits with a mask", f.Data, def.bits)
	}
	r.want(def.word, data<<def.shift, mask&width<<def.shift)
	return nil
}

// scalar returns the number that a value is in the key.
func scalar(v sai.Value) (uint64, bool) {
	switch v := v.(type) {
	case sai.Uint:
		return uint64(v), true
	case sai.MAC:
		return mac48(v[:]), true
	case sai.IP:
		if v.Is4() {
			b := v.As4()
			return uint64(binary.BigEndian.Uint32(b[:])), true
		}
	}
	return 0, false
}

// matchEnum adds a field that is a combination of parser flags.
func (r *aclRule) matchEnum(a sai.Attr, v sai.Enum) error {
	type flags struct{ want, not uint32 }
	var of map[sai.Enum]flags
	switch a.ID {
	case sai.ACLEntryAttrFieldACLIPType:
		of = map[sai.Enum]flags{
			sai.ACLIPTypeAny: {}, sai.ACLIPTypeIP: {flagIP, 0}, sai.ACLIPTypeNonIP: {0, flagIP},
			sai.ACLIPTypeIPv4Any: {flagIPv4, 0}, sai.ACLIPTypeNonIPv4: {0, flagIPv4},
			sai.ACLIPTypeIPv6Any: {flagIPv6, 0}, sai.ACLIPTypeNonIPv6: {0, flagIPv6},
			sai.ACLIPTypeArp: {flagARP, 0}, sai.ACLIPTypeArpRequest: {flagARPRequest, 0},
			sai.ACLIPTypeArpReply: {flagARPReply, 0},
		}
	case sai.ACLEntryAttrFieldACLIPFrag:
		of = map[sai.Enum]flags{
			sai.ACLIPFragAny: {flagFragment, 0}, sai.ACLIPFragNonFrag: {flagIP, flagFragment},
			sai.ACLIPFragNonFragOrHead: {flagIP, flagTail}, sai.ACLIPFragHead: {flagHead, 0},
			sai.ACLIPFragNonHead: {flagTail, 0},
		}
	case sai.ACLEntryAttrFieldPacketVLAN:
		of = map[sai.Enum]flags{
			sai.PacketVLANUntag: {0, flagTagged}, sai.PacketVLANSingleOuterTag: {flagTagged, flagTwoTags},
			sai.PacketVLANDoubleTag: {flagTwoTags, 0},
		}
	case sai.ACLEntryAttrFieldTAMIntType:
		of = map[sai.Enum]flags{sai.TAMIntTypeIfa1Tailstamp: {flagTailstamp, 0}}
	}
	f, ok := of[v]
	if !ok {
		return badValue(a, sai.StatusNotSupported, "the chip does not match %s", sai.EnumName(a.ID, v))
	}
	r.flags(f.want, f.not)
	return nil
}

// matchPorts adds a match on the ingress or egress port: one of several, or the
// members of a LAG.
func (c *store) matchPorts(r *aclRule, a sai.Attr, oids sai.OIDs) error {
	set, l := &r.in, &r.inLAG
	if a.ID == sai.ACLEntryAttrFieldOutPort || a.ID == sai.ACLEntryAttrFieldOutPorts {
		set, l = &r.out, &r.outLAG
	}
	ports := &portSet{}
	for _, oid := range oids {
		if p, ok := self[*port](c, oid); ok {
			ports.add(p.id)
		} else if g, ok := self[*lag](c, oid); ok && len(oids) == 1 {
			*l = g
			return nil
		} else {
			return badValue(a, sai.StatusInvalidParameter, "%s is no front-panel port", oid)
		}
	}
	if *set != nil { // several fields name ports: all must hold
		for i := range ports {
			ports[i] &= (*set)[i]
		}
	}
	*set = ports
	return nil
}

func (c *store) matchRanges(r *aclRule, a sai.Attr, oids sai.OIDs) error {
	for _, oid := range oids {
		g, ok := self[config.ACLRange](c, oid)
		if !ok {
			return badValue(a, sai.StatusInvalidParameter, "%s is no range", oid)
		}
		r.want(10, 1<<g.Index, 1<<g.Index)
	}
	return nil
}
