package objects

import (
	"slices"

	"tamtam/sai"
)

// tamIntKind returns the kind of in-band telemetry objects: tail-stamping and IFA. An object for direct export sets the
// domain of a TAM object's reports.
func (ms *monitors) tamIntKind(most uint32) *kind {
	return &kind{
		max: most,
		attrs: append([]sai.AttrID{
			sai.TAMIntAttrType, sai.TAMIntAttrDeviceID, sai.TAMIntAttrIntPresenceType, sai.TAMIntAttrInline,
		}, slices.Concat(ifaAttrs(), ifaRefs())...),
		enums: map[sai.AttrID][]sai.Enum{
			sai.TAMIntAttrType:            {sai.TAMIntTypeIfa1Tailstamp, sai.TAMIntTypeIfa2, sai.TAMIntTypeDirectExport},
			sai.TAMIntAttrIntPresenceType: {sai.TAMIntPresenceTypeUndefined, sai.TAMIntPresenceTypeL3Protocol},
		},
		row: ms.tamIntRow,
		made: func(o *object) {
			if o.enum(sai.TAMIntAttrType) == sai.TAMIntTypeIfa2 {
				ms.ints[o.key.OID] = o
			}
		},
		gone: func(o *object) { delete(ms.ints, o.key.OID) },
	}
}

// storedKinds adds the types whose objects are only stored, with their references, to be read back. The packet path
// does not use them yet.
func storedKinds(kinds map[sai.ObjectType]*kind) {
	for _, t := range []sai.ObjectType{
		sai.ObjectTypeTAMMathFunc,
	} {
		k := &kind{stored: map[sai.AttrID]string{}}
		for _, m := range sai.ObjectMeta(t).Attrs {
			if !m.Has(sai.ReadOnly) {
				k.stored[m.ID] = "no packet is processed by such an object"
			}
		}
		kinds[t] = k
	}
}
