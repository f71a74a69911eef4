package objects

import (
	"tamtam/sai"
	"tamtam/saisim/config"
)

// tamIntKind returns the kind of in-band telemetry objects; the chip has tail-stamping. One for direct export says
// from which domain a TAM object reports.
func tamIntKind(most uint32) *kind {
	return &kind{
		max: most,
		attrs: []sai.AttrID{
			sai.TAMIntAttrType, sai.TAMIntAttrDeviceID, sai.TAMIntAttrIntPresenceType, sai.TAMIntAttrInline,
		},
		enums: map[sai.AttrID][]sai.Enum{
			sai.TAMIntAttrType:            {sai.TAMIntTypeIfa1Tailstamp, sai.TAMIntTypeDirectExport},
			sai.TAMIntAttrIntPresenceType: {sai.TAMIntPresenceTypeUndefined},
		},
		row: func(o *object) (config.Row, error) {
			if o.enum(sai.TAMIntAttrType) == sai.TAMIntTypeDirectExport {
				return nil, nil // in the row of the TAM object
			}
			return config.TAMInt{ID: o.id(), SwitchID: uint32(o.number(sai.TAMIntAttrDeviceID))}, nil
		},
	}
}

// storedKinds adds the types whose objects are kept, with their references, to be read back: nothing in
// the packet path uses them yet.
func storedKinds(kinds map[sai.ObjectType]*kind) {
	for _, t := range []sai.ObjectType{
		sai.ObjectTypeTAMTelType, sai.ObjectTypeTAMTelemetry, sai.ObjectTypeTAMMathFunc,
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
