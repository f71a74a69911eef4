package objects

import (
	"encoding/binary"
	"math"

	"tamtam/sai"
	"tamtam/saisim/config"
)

// aclFields returns the match fields of the chip. Several attributes may be one field.
func aclFields() map[sai.AttrID]config.ACLField {
	return map[sai.AttrID]config.ACLField{
		sai.ACLEntryAttrFieldDstMAC:           config.FieldDstMAC,
		sai.ACLEntryAttrFieldEtherType:        config.FieldEtherType,
		sai.ACLEntryAttrFieldSrcMAC:           config.FieldSrcMAC,
		sai.ACLEntryAttrFieldOuterVLANPri:     config.FieldOuterPriority,
		sai.ACLEntryAttrFieldOuterVLANCfi:     config.FieldOuterCFI,
		sai.ACLEntryAttrFieldOuterVLANID:      config.FieldOuterVLAN,
		sai.ACLEntryAttrFieldIPProtocol:       config.FieldIPProtocol,
		sai.ACLEntryAttrFieldIPv6NextHeader:   config.FieldIPv6NextHeader,
		sai.ACLEntryAttrFieldDSCP:             config.FieldDSCP,
		sai.ACLEntryAttrFieldECN:              config.FieldECN,
		sai.ACLEntryAttrFieldTOS:              config.FieldTOS,
		sai.ACLEntryAttrFieldTTL:              config.FieldTTL,
		sai.ACLEntryAttrFieldTCPFlags:         config.FieldTCPFlags,
		sai.ACLEntryAttrFieldIPFlags:          config.FieldIPFlags,
		sai.ACLEntryAttrFieldL4SrcPort:        config.FieldL4SrcPort,
		sai.ACLEntryAttrFieldL4DstPort:        config.FieldL4DstPort,
		sai.ACLEntryAttrFieldICMPType:         config.FieldICMPType,
		sai.ACLEntryAttrFieldICMPCode:         config.FieldICMPCode,
		sai.ACLEntryAttrFieldICMPv6Type:       config.FieldICMPv6Type,
		sai.ACLEntryAttrFieldICMPv6Code:       config.FieldICMPv6Code,
		sai.ACLEntryAttrFieldIPIdentification: config.FieldIPID,
		sai.ACLEntryAttrFieldSrcIP:            config.FieldSrcIP,
		sai.ACLEntryAttrFieldDstIP:            config.FieldDstIP,
		sai.ACLEntryAttrFieldSrcIPv6:          config.FieldSrcIPv6,
		sai.ACLEntryAttrFieldDstIPv6:          config.FieldDstIPv6,
		sai.ACLEntryAttrFieldInnerVLANPri:     config.FieldInnerPriority,
		sai.ACLEntryAttrFieldInnerVLANCfi:     config.FieldInnerCFI,
		sai.ACLEntryAttrFieldInnerVLANID:      config.FieldInnerVLAN,
		sai.ACLEntryAttrFieldIPv6FlowLabel:    config.FieldFlowLabel,
		sai.ACLEntryAttrFieldTC:               config.FieldTC,
		sai.ACLEntryAttrFieldACLUserMeta:      config.FieldMeta,

		sai.ACLEntryAttrFieldACLIPType:  config.FieldIPType,
		sai.ACLEntryAttrFieldACLIPFrag:  config.FieldFragment,
		sai.ACLEntryAttrFieldPacketVLAN: config.FieldTags,
		sai.ACLEntryAttrFieldHasVLANTag: config.FieldHasTag,
		sai.ACLEntryAttrFieldTAMIntType: config.FieldTailstamp,

		sai.ACLEntryAttrFieldInPorts:      config.FieldInPorts,
		sai.ACLEntryAttrFieldInPort:       config.FieldInPorts,
		sai.ACLEntryAttrFieldSrcPort:      config.FieldInPorts,
		sai.ACLEntryAttrFieldOutPorts:     config.FieldOutPorts,
		sai.ACLEntryAttrFieldOutPort:      config.FieldOutPorts,
		sai.ACLEntryAttrFieldACLRangeType: config.FieldRanges,
	}
}

// match returns the match of an enabled field.
func (as *acls) match(t *aclTable, a sai.Attr, f sai.Field) (config.ACLMatch, error) {
	m := config.ACLMatch{Field: as.fields[a.ID]}
	if err := t.allowsField(as.core, a, f); err != nil {
		return m, err
	}
	var err error
	switch m.Field {
	case config.FieldInPorts, config.FieldOutPorts:
		m.Of, err = as.matchPorts(a, f.Data)
	case config.FieldRanges:
		m.Of, err = as.matchRanges(a, f.Data)
	case config.FieldHasTag:
		if v, _ := f.Data.(sai.Bool); v {
			m.Value[1] = 1
		}
	case config.FieldIPType, config.FieldFragment, config.FieldTags:
		v, _ := f.Data.(sai.Enum)
		m.Value[1], err = enumValue(a, m.Field, v)
	case config.FieldTailstamp: // the kind's enums allow a single value
	default:
		m.Value, m.Mask, err = matchBits(a, m.Field.Bits(), f)
	}
	return m, err
}

// matchBits returns the match of a number. Bits of the data outside the mask are ignored, as in a TCAM.
func matchBits(a sai.Attr, bits int, f sai.Field) (value, mask [2]uint64, err error) {
	if bits == 128 {
		d, okd := f.Data.(sai.IP)
		m, okm := f.Mask.(sai.IP)
		if !okd || !okm {
			return value, mask, badValue(a.ID, sai.StatusInvalidParameter, "want an address with a mask")
		}
		db, mb := d.As16(), m.As16()
		for i := range 2 {
			value[i], mask[i] = binary.BigEndian.Uint64(db[8*i:]), binary.BigEndian.Uint64(mb[8*i:])
		}
		return value, mask, nil
	}
	data, ok1 := scalar(f.Data)
	m, ok2 := scalar(f.Mask)
	width := uint64(math.MaxUint64) >> (64 - bits)
	if !ok1 || !ok2 || data > width {
		return value, mask, badValue(a.ID, sai.StatusInvalidParameter, "%v, want a value of %d bits with a mask", f.Data,
			bits)
	}
	value[1], mask[1] = data, m&width
	return value, mask, nil
}

// scalar returns the number by which a value is represented in the key.
func scalar(v sai.Value) (uint64, bool) {
	switch v := v.(type) {
	case sai.Uint:
		return uint64(v), true
	case sai.MAC:
		return config.MAC(v).Number(), true
	case sai.IP:
		if v.Is4() {
			b := v.As4()
			return uint64(binary.BigEndian.Uint32(b[:])), true
		}
	}
	return 0, false
}

// enumValue returns the number of a field value, if the chip matches it. Rows have the values in SAI's order.
func enumValue(a sai.Attr, f config.ACLField, v sai.Enum) (uint64, error) {
	last := sai.Enum(config.ARPReply)
	switch f {
	case config.FieldFragment:
		last = sai.Enum(config.NonHeadFragment)
	case config.FieldTags:
		last = sai.Enum(config.TwoTags)
	}
	if v < 0 || v > last {
		return 0, badValue(a.ID, sai.StatusNotSupported, "the chip does not match %s", sai.EnumName(a.ID, v))
	}
	return uint64(v), nil
}

// matchPorts returns the ids of front-panel ports, or of one LAG.
func (as *acls) matchPorts(a sai.Attr, v sai.Value) ([]config.ID, error) {
	oids, list := v.(sai.OIDs)
	if oid, ok := v.(sai.OID); ok && !list {
		oids = sai.OIDs{oid}
	}
	ids := configIDs(oids)
	for _, id := range ids {
		_, port := config.Find[config.Port](as.tables, id)
		_, lag := config.Find[config.LAG](as.tables, id)
		if !port && (!lag || len(ids) > 1) {
			return nil, badValue(a.ID, sai.StatusInvalidParameter, "%s is no front-panel port", sai.OID(id))
		}
	}
	return ids, nil
}

func (as *acls) matchRanges(a sai.Attr, v sai.Value) ([]config.ID, error) {
	oids, _ := v.(sai.OIDs)
	ids := configIDs(oids)
	for _, id := range ids {
		if _, ok := config.Find[config.ACLRange](as.tables, id); !ok {
			return nil, badValue(a.ID, sai.StatusInvalidParameter, "%s is no range", sai.OID(id))
		}
	}
	return ids, nil
}
