package objects

import "tamtam/sai"

// A bridge is the area of VLANs, bridge ports, and the addresses known at them.
type bridge struct {
	*core
	acls        *acls              // for bindings to VLANs
	bridgePorts []*object          // in the order of their creation
	vlanIDs     map[uint16]sai.OID // VLAN objects by VID, including removed ones
	fdbNotify   bool
}

func newBridge(c *core, a *acls) *bridge {
	return &bridge{core: c, acls: a, vlanIDs: map[uint16]sai.OID{}}
}

func (b *bridge) bridgeKind() *kind {
	return &kind{
		max:    1,
		attrs:  []sai.AttrID{sai.BridgeAttrType, sai.BridgeAttrPortList},
		enums:  map[sai.AttrID][]sai.Enum{sai.BridgeAttrType: {sai.BridgeType1q}},
		remove: refuseRemove("the default bridge stays"),
		live: map[sai.AttrID]func(o *object) sai.Value{
			sai.BridgeAttrPortList: func(_ *object) sai.Value { return oidsOf(b.bridgePorts) },
		},
	}
}
