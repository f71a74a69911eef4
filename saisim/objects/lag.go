package objects

import (
	"slices"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/engine"
)

// A lag is a LAG object, with its members in the order of their ports.
type lag struct {
	members []*object
	uses
}

func (ps *ports) lagKind() *kind {
	return &kind{
		max: ps.prof.LAGs,
		attrs: []sai.AttrID{
			sai.LAGAttrPortList, sai.LAGAttrIngressACL, sai.LAGAttrEgressACL, sai.LAGAttrPortVLANID,
			sai.LAGAttrDefaultVLANPriority, sai.LAGAttrDropUntagged, sai.LAGAttrDropTagged, sai.LAGAttrLabel,
		},
		create: func(o *object) error {
			o.self = &lag{}
			return nil
		},
		row: ps.lagRow,
		live: map[sai.AttrID]func(o *object) sai.Value{
			sai.LAGAttrPortList: func(o *object) sai.Value { return oidsOf(o.self.(*lag).members) },
		},
	}
}

// lagRow returns the row that follows from a LAG and its members.
func (ps *ports) lagRow(o *object) (config.Row, error) {
	if err := o.within(
		bound{id: sai.LAGAttrPortVLANID, what: "VLAN ", most: 4094, status: sai.StatusInvalidVLANID},
		bound{id: sai.LAGAttrDefaultVLANPriority, what: "priority ", most: 7},
	); err != nil {
		return nil, err
	}
	if err := ps.acls.checkBinds(o, sai.ACLBindPointTypeLAG, sai.LAGAttrIngressACL, sai.LAGAttrEgressACL); err != nil {
		return nil, err
	}
	r := config.LAG{
		ID: o.id(), PVID: uint16(o.number(sai.LAGAttrPortVLANID)), Priority: uint8(o.number(sai.LAGAttrDefaultVLANPriority)),
		DropTagged: o.flag(sai.LAGAttrDropTagged), DropUntagged: o.flag(sai.LAGAttrDropUntagged),
		IngressACL: o.refID(sai.LAGAttrIngressACL), EgressACL: o.refID(sai.LAGAttrEgressACL),
	}
	members := o.self.(*lag).members
	slices.SortFunc(members, func(a, b *object) int { return int(a.self.(engine.PortID)) - int(b.self.(engine.PortID)) })
	for _, m := range members {
		r.Members = append(r.Members, config.LAGMember{Port: m.self.(engine.PortID),
			IngressDisabled: m.flag(sai.LAGMemberAttrIngressDisable), EgressDisabled: m.flag(sai.LAGMemberAttrEgressDisable)})
	}
	return r, nil
}

func (ps *ports) lagMemberKind() *kind {
	return ps.memberKind(&kind{
		max: ps.prof.LAGMembers,
		attrs: []sai.AttrID{
			sai.LAGMemberAttrLAGID, sai.LAGMemberAttrPortID,
			sai.LAGMemberAttrEgressDisable, sai.LAGMemberAttrIngressDisable,
		},
		create: ps.createLAGMember,
		gone:   func(o *object) { ps.usesOf(o.ref(sai.LAGMemberAttrPortID)).inLAG = false },
	}, func(o *object) (*object, *[]*object) {
		l := ps.objects[o.ref(sai.LAGMemberAttrLAGID)]
		return l, &l.self.(*lag).members
	})
}

func (ps *ports) createLAGMember(o *object) error {
	p, ok := self[*port](ps.core, o.ref(sai.LAGMemberAttrPortID))
	bad := func(s sai.Status, why string) error {
		return badCreate(sai.LAGMemberAttrPortID, s, "%s", why)
	}
	switch {
	case !ok:
		return bad(sai.StatusInvalidParameter, "the CPU port cannot be a member")
	case p.inLAG:
		return bad(sai.StatusItemAlreadyExists, "the port is a member of a LAG already")
	case p.bridged:
		return bad(sai.StatusObjectInUse, "the port has a bridge port of its own")
	case p.routes():
		return bad(sai.StatusObjectInUse, "the port is a router interface")
	}
	p.inLAG, o.self = true, p.id()
	return nil
}
