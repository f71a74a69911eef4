package objects

import (
	"tamtam/sai"
	"tamtam/saisim/config"
)

// A vlan is a VLAN object, with its members.
type vlan struct {
	members []*object
	uses
}

func (b *bridge) vlanKind() *kind {
	flood := []sai.Enum{sai.VLANFloodControlTypeAll, sai.VLANFloodControlTypeNone}
	return &kind{
		max: b.prof.VLANs,
		attrs: []sai.AttrID{
			sai.VLANAttrVLANID, sai.VLANAttrMemberList, sai.VLANAttrLearnDisable, sai.VLANAttrIngressACL, sai.VLANAttrEgressACL,
			sai.VLANAttrUnknownUnicastFloodControlType, sai.VLANAttrUnknownMulticastFloodControlType,
			sai.VLANAttrBroadcastFloodControlType,
		},
		enums: map[sai.AttrID][]sai.Enum{
			sai.VLANAttrUnknownUnicastFloodControlType:   flood,
			sai.VLANAttrUnknownMulticastFloodControlType: flood,
			sai.VLANAttrBroadcastFloodControlType:        flood,
		},
		values: vlanValues,
		create: b.createVLAN,
		row:    b.vlanRow,
		made:   func(o *object) { b.vlanIDs[uint16(o.number(sai.VLANAttrVLANID))] = o.key.OID },
		remove: func(o *object) error {
			if o == b.defaultVLAN {
				return refuse("remove", sai.ObjectTypeVLAN, 0, sai.StatusObjectInUse, "the default VLAN stays")
			}
			return nil
		},
		live: map[sai.AttrID]func(o *object) sai.Value{
			sai.VLANAttrMemberList: func(o *object) sai.Value { return oidsOf(o.self.(*vlan).members) },
		},
	}
}

func vlanValues(o *object) error {
	if id := o.number(sai.VLANAttrVLANID); id < 1 || id > 4094 {
		return badCreate(sai.VLANAttrVLANID, sai.StatusInvalidVLANID, "VLAN %d, want 1 to 4094", id)
	}
	return nil
}

func (b *bridge) createVLAN(o *object) error {
	id := o.number(sai.VLANAttrVLANID)
	if b.objects[b.vlanIDs[uint16(id)]] != nil {
		return badCreate(sai.VLANAttrVLANID, sai.StatusItemAlreadyExists, "VLAN %d exists", id)
	}
	o.self = &vlan{}
	return nil
}

// vlanRow returns the row that follows from a VLAN and its members.
func (b *bridge) vlanRow(o *object) (config.Row, error) {
	if err := b.acls.checkBinds(o, sai.ACLBindPointTypeVLAN, sai.VLANAttrIngressACL, sai.VLANAttrEgressACL); err != nil {
		return nil, err
	}
	no := func(id sai.AttrID) bool { return o.enum(id) == sai.VLANFloodControlTypeNone }
	r := config.VLAN{
		ID: o.id(), VID: uint16(o.number(sai.VLANAttrVLANID)), LearnDisable: o.flag(sai.VLANAttrLearnDisable),
		NoFlood: config.Flood{Unknown: no(sai.VLANAttrUnknownUnicastFloodControlType),
			Multicast: no(sai.VLANAttrUnknownMulticastFloodControlType), Broadcast: no(sai.VLANAttrBroadcastFloodControlType)},
		IngressACL: o.refID(sai.VLANAttrIngressACL), EgressACL: o.refID(sai.VLANAttrEgressACL),
	}
	for _, m := range o.self.(*vlan).members {
		r.Members = append(r.Members, config.VLANMember{BridgePort: m.refID(sai.VLANMemberAttrBridgePortID),
			Tagging: config.Tagging(m.enum(sai.VLANMemberAttrVLANTaggingMode))}) // numbered in SAI's order
	}
	return r, nil
}

func (b *bridge) vlanMemberKind() *kind {
	const port = sai.VLANMemberAttrBridgePortID
	groupOf := func(o *object) (*object, *[]*object) {
		v := b.objects[o.ref(sai.VLANMemberAttrVLANID)]
		return v, &v.self.(*vlan).members
	}
	return b.memberKind(&kind{
		attrs: []sai.AttrID{sai.VLANMemberAttrVLANID, port, sai.VLANMemberAttrVLANTaggingMode},
		create: func(o *object) error {
			v, members := groupOf(o)
			for _, m := range *members {
				if m.ref(port) == o.ref(port) {
					return badCreate(port, sai.StatusItemAlreadyExists,
						"it is a member of VLAN %d already", v.number(sai.VLANAttrVLANID))
				}
			}
			return nil
		},
	}, groupOf)
}
