package saisim

import (
	"slices"

	"tamtam/sai"
	"tamtam/saisim/config"
)

// A lagObject is a LAG object: its members, in the order of their ports.
type lagObject struct{ members []*object }

func (c *store) lagKind() *kind {
	return &kind{
		max: c.prof.LAGs,
		attrs: []sai.AttrID{
			sai.LAGAttrPortList, sai.LAGAttrIngressACL, sai.LAGAttrEgressACL, sai.LAGAttrPortVLANID,
			sai.LAGAttrDefaultVLANPriority, sai.LAGAttrDropUntagged, sai.LAGAttrDropTagged, sai.LAGAttrLabel,
		},
		create: func(o *object) error {
			o.self = &lagObject{}
			return nil
		},
		row: c.lagRow,
		get: func(o *object, id sai.AttrID) sai.Value {
			if id != sai.LAGAttrPortList {
				return nil
			}
			return oidsOf(o.self.(*lagObject).members)
		},
	}
}

func oidsOf(objects []*object) sai.OIDs {
	oids := sai.OIDs{}
	for _, o := range objects {
		oids = append(oids, o.key.OID)
	}
	return oids
}

// lagRow is what a LAG and its members say.
func (c *store) lagRow(o *object) (config.Row, error) {
	bad := func(id sai.AttrID, s sai.Status, format string, v uint64) (config.Row, error) {
		return nil, badValue(sai.Attr{ID: id}, s, format, v)
	}
	if v := o.number(sai.LAGAttrPortVLANID); v > 4094 {
		return bad(sai.LAGAttrPortVLANID, sai.StatusInvalidVLANID, "VLAN %d, want 0 to 4094", v)
	}
	if v := o.number(sai.LAGAttrDefaultVLANPriority); v > 7 {
		return bad(sai.LAGAttrDefaultVLANPriority, sai.StatusInvalidParameter, "priority %d, want 0 to 7", v)
	}
	if err := c.checkBinds(o, sai.ACLBindPointTypeLAG, sai.LAGAttrIngressACL, sai.LAGAttrEgressACL); err != nil {
		return nil, err
	}
	r := config.LAG{
		ID: o.id(), PVID: uint16(o.number(sai.LAGAttrPortVLANID)), Priority: uint8(o.number(sai.LAGAttrDefaultVLANPriority)),
		DropTagged: o.flag(sai.LAGAttrDropTagged), DropUntagged: o.flag(sai.LAGAttrDropUntagged),
		IngressACL: o.refID(sai.LAGAttrIngressACL), EgressACL: o.refID(sai.LAGAttrEgressACL),
	}
	for _, m := range o.self.(*lagObject).members {
		r.Members = append(r.Members, config.LAGMember{Port: m.self.(PortID),
			IngressDisabled: m.flag(sai.LAGMemberAttrIngressDisable), EgressDisabled: m.flag(sai.LAGMemberAttrEgressDisable)})
	}
	return r, nil
}

func (c *store) lagMemberKind() *kind {
	return &kind{
		max: c.prof.LAGMembers,
		attrs: []sai.AttrID{
			sai.LAGMemberAttrLAGID, sai.LAGMemberAttrPortID,
			sai.LAGMemberAttrEgressDisable, sai.LAGMemberAttrIngressDisable,
		},
		create: c.createLAGMember,
		set: func(o *object, a sai.Attr) error {
			o.put(a)
			return c.putLAGOf(o)
		},
		remove: func(o *object) error {
			l := c.objects[o.ref(sai.LAGMemberAttrLAGID)].self.(*lagObject)
			l.members = slices.DeleteFunc(l.members, func(m *object) bool { return m == o })
			return c.putLAGOf(o)
		},
	}
}

// putLAGOf puts the row of a member's LAG.
func (c *store) putLAGOf(o *object) error {
	return c.putRow(c.kinds[sai.ObjectTypeLAG], c.objects[o.ref(sai.LAGMemberAttrLAGID)])
}

func (c *store) createLAGMember(o *object) error {
	p, ok := self[*port](c, o.ref(sai.LAGMemberAttrPortID))
	bad := func(s sai.Status, why string) error {
		return refuse("create", sai.ObjectTypeLAGMember, sai.LAGMemberAttrPortID, s, "%s", why)
	}
	switch {
	case !ok:
		return bad(sai.StatusInvalidParameter, "the CPU port cannot be a member")
	case p.lag != nil:
		return bad(sai.StatusItemAlreadyExists, "the port is a member of a LAG already")
	case p.bridgePort != nil:
		return bad(sai.StatusObjectInUse, "the port has a bridge port of its own")
	case p.rif != nil:
		return bad(sai.StatusObjectInUse, "the port is a router interface")
	}
	o.self = p.id
	l := c.objects[o.ref(sai.LAGMemberAttrLAGID)].self.(*lagObject)
	l.members = append(l.members, o)
	slices.SortFunc(l.members, func(a, b *object) int { return int(a.self.(PortID)) - int(b.self.(PortID)) })
	return c.putLAGOf(o)
}
