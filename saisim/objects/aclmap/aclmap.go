// Package aclmap holds the fields and actions of SAI's ACLs that the chip has, and their form in rows.
//
// What belongs here: tables of fields and actions, and values of fields. Objects do not.
package aclmap

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"tamtam/sai"
	"tamtam/saisim/config"
)

// Fields returns the match fields of the chip. Several attributes may be one field.
func Fields() map[sai.AttrID]config.ACLField {
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

// Bits returns the match of a number. Bits of the data outside the mask are ignored, as in a TCAM.
func Bits(a sai.Attr, bits int, f sai.Field) (value, mask [2]uint64, err error) {
	if bits == 128 {
		d, okd := f.Data.(sai.IP)
		m, okm := f.Mask.(sai.IP)
		if !okd || !okm {
			return value, mask, bad(a.ID, sai.StatusInvalidParameter, "want an address with a mask")
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
		return value, mask, bad(a.ID, sai.StatusInvalidParameter, "%v, want a value of %d bits with a mask", f.Data,
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

// EnumValue returns the number of a field value, if the chip matches it. Rows have the values in SAI's order.
func EnumValue(a sai.Attr, f config.ACLField, v sai.Enum) (uint64, error) {
	last := sai.Enum(config.ARPReply)
	switch f {
	case config.FieldFragment:
		last = sai.Enum(config.NonHeadFragment)
	case config.FieldTags:
		last = sai.Enum(config.TwoTags)
	}
	if v < 0 || v > last {
		return 0, bad(a.ID, sai.StatusNotSupported, "the chip does not match %s", sai.EnumName(a.ID, v))
	}
	return uint64(v), nil
}

// An Action is the name of an action attribute in the lists of tables, and the action of an entry.
type Action struct {
	Listed sai.Enum
	Kind   config.ACLActionKind
}

// EntryActions returns the action attributes of entries.
func EntryActions() map[sai.AttrID]Action {
	return map[sai.AttrID]Action{
		sai.ACLEntryAttrActionPacketAction:              {sai.ACLActionTypePacketAction, config.ActPacket},
		sai.ACLEntryAttrActionCounter:                   {sai.ACLActionTypeCounter, config.ActCounter},
		sai.ACLEntryAttrActionRedirect:                  {sai.ACLActionTypeRedirect, config.ActRedirect},
		sai.ACLEntryAttrActionMirrorIngress:             {sai.ACLActionTypeMirrorIngress, config.ActMirrorIngress},
		sai.ACLEntryAttrActionMirrorEgress:              {sai.ACLActionTypeMirrorEgress, config.ActMirrorEgress},
		sai.ACLEntryAttrActionSetTC:                     {sai.ACLActionTypeSetTC, config.ActSetTC},
		sai.ACLEntryAttrActionSetDSCP:                   {sai.ACLActionTypeSetDSCP, config.ActSetDSCP},
		sai.ACLEntryAttrActionSetACLMetaData:            {sai.ACLActionTypeSetACLMetaData, config.ActSetMeta},
		sai.ACLEntryAttrActionSetDoNotLearn:             {sai.ACLActionTypeSetDoNotLearn, config.ActNoLearning},
		sai.ACLEntryAttrActionTAMIntObject:              {sai.ACLActionTypeTAMIntObject, config.ActStamp},
		sai.ACLEntryAttrActionTAMObject:                 {sai.ACLActionTypeTAMObject, config.ActTAM},
		sai.ACLEntryAttrActionIngressSamplepacketEnable: {sai.ACLActionTypeIngressSamplepacketEnable, config.ActSample},
		sai.ACLEntryAttrActionEgressSamplepacketEnable:  {sai.ACLActionTypeEgressSamplepacketEnable, config.ActSample},
		sai.ACLEntryAttrActionPacketTrimDisable:         {sai.ACLActionTypePacketTrimDisable, config.ActNoTrim},
		// They qualify the object above, and are not actions of their own in rows.
		sai.ACLEntryAttrActionIntInsert: {sai.ACLActionTypeIntInsert, config.NumACLActions},
		sai.ACLEntryAttrActionIntDelete: {sai.ACLActionTypeIntDelete, config.NumACLActions},
	}
}

// Actions returns the actions of a stage.
func Actions(stage config.Stage) (actions []sai.Enum) {
	for _, a := range EntryActions() {
		early := a.Listed == sai.ACLActionTypeTAMObject
		if stage == config.PreIngress {
			early = early || a.Listed == sai.ACLActionTypeCounter || a.Listed == sai.ACLActionTypeMirrorIngress
		}
		if early != (stage == config.PreIngress) {
			continue
		}
		switch a.Listed {
		case sai.ACLActionTypeRedirect, sai.ACLActionTypeSetACLMetaData, sai.ACLActionTypeSetDoNotLearn,
			sai.ACLActionTypeMirrorIngress, sai.ACLActionTypeSetTC, sai.ACLActionTypeSetDSCP, sai.ACLActionTypeIntDelete,
			sai.ACLActionTypeIngressSamplepacketEnable, sai.ACLActionTypePacketTrimDisable:
			if stage == config.Egress {
				continue
			}
		case sai.ACLActionTypeMirrorEgress, sai.ACLActionTypeEgressSamplepacketEnable:
			if stage == config.Ingress {
				continue
			}
		}
		actions = append(actions, a.Listed)
	}
	slices.Sort(actions)
	return actions
}

// AllActions returns the actions of all stages.
func AllActions() []sai.Enum {
	all := slices.Concat(Actions(config.PreIngress), Actions(config.Ingress), Actions(config.Egress))
	slices.Sort(all)
	return slices.Compact(all)
}

// Capability returns the actions of a stage, as an attribute of the switch has them.
func Capability(stage config.Stage) sai.ACLCapability {
	return sai.ACLCapability{Actions: Actions(stage)}
}

// bad returns an error for the value of an attribute.
func bad(id sai.AttrID, s sai.Status, format string, args ...any) error {
	return &sai.CallError{Op: "set", Type: id.ObjectType(), Attr: id, Status: s, Reason: fmt.Sprintf(format, args...)}
}
