package objects

import (
	"math/bits"

	"tamtam/sai"
	"tamtam/saisim/config"
)

func (as *acls) rangeKind() *kind {
	return &kind{
		max:   as.prof.ACL.Ranges,
		attrs: []sai.AttrID{sai.ACLRangeAttrType, sai.ACLRangeAttrLimit},
		create: func(o *object) error {
			limit, _ := o.attr(sai.ACLRangeAttrLimit).(sai.Range)
			o.self = config.ACLRange{
				ID: o.id(), Index: bits.TrailingZeros64(^as.rangesUsed), // one is free, since the kind's max ensures it
				Of:  rangeOf()[o.enum(sai.ACLRangeAttrType)],
				Min: uint32(limit.Min), Max: uint32(limit.Max),
			}
			return nil
		},
		row:  func(o *object) (config.Row, error) { return o.self.(config.ACLRange), nil },
		made: func(o *object) { as.rangesUsed |= 1 << o.self.(config.ACLRange).Index },
		gone: func(o *object) { as.rangesUsed &^= 1 << o.self.(config.ACLRange).Index },
	}
}

// rangeOf returns the field that each type of range compares.
func rangeOf() map[sai.Enum]config.RangeOf {
	return map[sai.Enum]config.RangeOf{
		sai.ACLRangeTypeL4SrcPortRange: config.RangeL4Src, sai.ACLRangeTypeL4DstPortRange: config.RangeL4Dst,
		sai.ACLRangeTypeOuterVLAN: config.RangeOuterVLAN, sai.ACLRangeTypeInnerVLAN: config.RangeInnerVLAN,
		sai.ACLRangeTypePacketLength: config.RangeLength,
	}
}
