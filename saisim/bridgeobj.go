package saisim

import (
	"slices"

	"tamtam/sai"
	"tamtam/saisim/config"
)

func (c *store) bridgeKind() *kind {
	return &kind{
		max:    1,
		attrs:  []sai.AttrID{sai.BridgeAttrType, sai.BridgeAttrPortList},
		enums:  map[sai.AttrID][]sai.Enum{sai.BridgeAttrType: {sai.BridgeType1q}},
		remove: refuseRemove("the default bridge stays"),
		get: func(_ *object, id sai.AttrID) sai.Value {
			if id != sai.BridgeAttrPortList {
				return nil
			}
			return oidsOf(c.bridgePorts)
		},
	}
}

func (c *store) bridgePortKind() *kind {
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
		create: c.createBridgePort,
		row:    bridgePortRow,
		made:   func(o *object) { c.bridgePorts = append(c.bridgePorts, o) },
		remove: func(o *object) error {
			c.bridgePorts = slices.DeleteFunc(c.bridgePorts, func(x *object) bool { return x == o })
			return nil
		},
		get: func(_ *object, id sai.AttrID) sai.Value {
			if id == sai.BridgePortAttrIngressFiltering {
				return sai.Bool(true) // the chip always filters
			}
			return nil
		},
	}
}

func (c *store) createBridgePort(o *object) error {
	oid := o.ref(sai.BridgePortAttrPortID)
	bad := func(s sai.Status, why string) error {
		return refuse("create", sai.ObjectTypeBridgePort, sai.BridgePortAttrPortID, s, "%s", why)
	}
	if l, ok := self[*lag](c, oid); ok {
		switch {
		case l.bridgePort != nil:
			return bad(sai.StatusItemAlreadyExists, "the LAG has a bridge port already")
		case l.rif != nil:
			return bad(sai.StatusObjectInUse, "the LAG is a router interface")
		}
	} else if p, ok := self[*port](c, oid); ok {
		switch {
		case p.bridgePort != nil:
			return bad(sai.StatusItemAlreadyExists, "the port has a bridge port already")
		case p.lag != nil:
			return bad(sai.StatusObjectInUse, "the port is a member of a LAG")
		case p.rif != nil:
			return bad(sai.StatusObjectInUse, "the port is a router interface")
		}
	} else {
		return bad(sai.StatusInvalidParameter, "want a port or a LAG")
	}
	return nil
}

// bridgePortRow is what a bridge port's attributes say.
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
