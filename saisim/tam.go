package saisim

import (
	"tamtam/sai"
	"tamtam/saisim/config"
)

// tamIntKind is that of in-band telemetry objects; the chip has tail-stamping.
func (c *store) tamIntKind() *kind {
	return &kind{
		max: c.prof.TAMInts,
		attrs: []sai.AttrID{
			sai.TAMIntAttrType, sai.TAMIntAttrDeviceID, sai.TAMIntAttrIntPresenceType, sai.TAMIntAttrInline,
		},
		enums: map[sai.AttrID][]sai.Enum{
			sai.TAMIntAttrType:            {sai.TAMIntTypeIfa1Tailstamp},
			sai.TAMIntAttrIntPresenceType: {sai.TAMIntPresenceTypeUndefined},
		},
		row: func(o *object) (config.Row, error) {
			return config.TAMInt{ID: o.id(), SwitchID: uint32(o.number(sai.TAMIntAttrDeviceID))}, nil
		},
	}
}

// storedKinds adds the types whose objects are kept, with their references, for
// others to read: nothing in the packet path asks for them yet.
func (c *store) storedKinds(kinds map[sai.ObjectType]*kind) {
	for _, t := range []sai.ObjectType{
		sai.ObjectTypeTAM, sai.ObjectTypeTAMReport, sai.ObjectTypeTAMTelType, sai.ObjectTypeTAMTelemetry,
		sai.ObjectTypeTAMTransport, sai.ObjectTypeTAMCollector, sai.ObjectTypeTAMMathFunc,
		sai.ObjectTypeTAMEvent, sai.ObjectTypeTAMEventAction, sai.ObjectTypeTAMEventThreshold,
	} {
		k := &kind{}
		for _, m := range sai.ObjectMeta(t).Attrs {
			if !m.Has(sai.ReadOnly) {
				k.attrs = append(k.attrs, m.ID)
			}
		}
		kinds[t] = k
	}
}
