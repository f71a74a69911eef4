package objects

import (
	"slices"

	"tamtam/sai"
	"tamtam/saisim/config"
)

func (b *bridge) bridgePortKind() *kind {
	return &kind{
		attrs: []sai.AttrID{
			sai.BridgePortAttrType, sai.BridgePortAttrPortID, sai.BridgePortAttrBridgeID, sai.BridgePortAttrAdminState,
			sai.BridgePortAttrFDBLearningMode, sai.BridgePortAttrIngressFiltering,
		},
		enums: map[sai.AttrID][]sai.Enum{
			sai.BridgePortAttrType: {sai.BridgePortTypePort},
			sai.BridgePortAttrFDBLearningMode: {sai.BridgePortFDBLearningModeHW,
				sai.BridgePortFDBLearningModeDisable, sai.BridgePortFDBLearningModeDrop},
		},
		create: b.createBridgePort,
		row:    bridgePortRow,
		made: func(o *object) {
			b.bridgePorts = append(b.bridgePorts, o)
			b.usesOf(o.ref(sai.BridgePortAttrPortID)).bridged = true
		},
		remove: func(o *object) error {
			b.usesOf(o.ref(sai.BridgePortAttrPortID)).bridged = false
			b.bridgePorts = slices.DeleteFunc(b.bridgePorts, func(x *object) bool { return x == o })
			return nil
		},
		live: map[sai.AttrID]func(o *object) sai.Value{
			sai.BridgePortAttrIngressFiltering: func(_ *object) sai.Value { return sai.Bool(true) }, // the chip always filters
		},
	}
}

func (b *bridge) createBridgePort(o *object) error {
	oid := o.ref(sai.BridgePortAttrPortID)
	bad := func(s sai.Status, why string) error {
		return badCreate(sai.BridgePortAttrPortID, s, "%s", why)
	}
	what := "port"
	if _, ok := row[config.LAG](b.core, oid); ok {
		what = "LAG"
	} else if _, ok := row[config.Port](b.core, oid); !ok {
		return bad(sai.StatusInvalidParameter, "want a port or a LAG")
	}
	switch u := b.usesOf(oid); {
	case u.bridged:
		return bad(sai.StatusItemAlreadyExists, "the "+what+" has a bridge port already")
	case u.inLAG:
		return bad(sai.StatusObjectInUse, "the port is a member of a LAG")
	case u.routes():
		return bad(sai.StatusObjectInUse, "the "+what+" is a router interface")
	}
	return nil
}

// bridgePortRow returns the row that follows from a bridge port's attributes.
func bridgePortRow(o *object) (config.Row, error) {
	learning := map[sai.Enum]config.Learning{
		sai.BridgePortFDBLearningModeHW: config.Learn, sai.BridgePortFDBLearningModeDisable: config.LearnNot,
		sai.BridgePortFDBLearningModeDrop: config.LearnDrop,
	}
	return config.BridgePort{
		ID: o.id(), On: o.refID(sai.BridgePortAttrPortID), Admin: o.flag(sai.BridgePortAttrAdminState),
		Learning: learning[o.enum(sai.BridgePortAttrFDBLearningMode)],
	}, nil
}
