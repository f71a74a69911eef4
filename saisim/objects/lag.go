package objects

import (
	"slices"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/engine"
)

// A lag is a LAG object: its members, in the order of their ports.
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
		get: func(o *object, id sai.AttrID) sai.Value {
			if id != sai.LAGAttrPortList {
				return nil
			}
			return oidsOf(o.self.(*lag).members)
		},
	}
}

// lagRow returns the row that follows from a LAG and its members.
func (ps *ports) lagRow(o *object) (config.Row, error) {
	bad := func(id sai.AttrID, s sai.Status, format string, v uint64) (config.Row, error) {
		return nil, badValue(sai.Attr{ID: id}, s, format, v)
	}
	if v := o.number(sai.LAGAttrPortVLANID); v > 4094 {
		return bad(sai.LAGAttrPortVLANID, sai.StatusInvalidVLANID, "VLAN %d, want 0 to 4094", v)
	}
	if v := o.number(sai.LAGAttrDefaultVLANPriority); v > 7 {
		return bad(sai.LAGAttrDefaultVLANPriority, sai.StatusInvalidParameter, "priority %d, want 0 to 7", v)
	}
	if err := ps.acls.checkBinds(o, sai.ACLBindPointTypeLAG, sai.LAGAttrIngressACL, sai.LAGAttrEgressACL); err != nil {
		return nil, err
	}
	r := config.LAG{
		ID: o.id(), PVID: uint16(o.number(sai.LAGAttrPortVLANID)), Priority: uint8(o.number(sai.LAGAttrDefaultVLANPriority)),
		DropTagged: o.flag(sai.LAGAttrDropTagged), DropUntagged: o.flag(sai.LAGAttrDropUntagged),
		IngressACL: o.refID(sai.LAGAttrIngressACL), EgressACL: o.refID(sai.LAGAttrEgressACL),
	}
	for _, m := range o.self.(*lag).members {
		r.Members = append(r.Members, config.LAGMember{Port: m.self.(engine.PortID),
			IngressDisabled: m.flag(sai.LAGMemberAttrIngressDisable), EgressDisabled: m.flag(sai.LAGMemberAttrEgressDisable)})
	}
	return r, nil
}

func (ps *ports) lagMemberKind() *kind {
	return &kind{
		max: ps.prof.LAGMembers,
		attrs: []sai.AttrID{
			sai.LAGMemberAttrLAGID, sai.LAGMemberAttrPortID,
			sai.LAGMemberAttrEgressDisable, sai.LAGMemberAttrIngressDisable,
		},
		create: ps.createLAGMember,
		set: func(o *object, a sai.Attr) error {
			o.put(a)
			return ps.putLAGOf(o)
		},
		remove: func(o *object) error {
			l := ps.objects[o.ref(sai.LAGMemberAttrLAGID)].self.(*lag)
			l.members = slices.DeleteFunc(l.members, func(m *object) bool { return m == o })
			ps.usesOf(o.ref(sai.LAGMemberAttrPortID)).inLAG = false
			return ps.putLAGOf(o)
		},
	}
}

// putLAGOf puts the row of a member's LAG.
func (ps *ports) putLAGOf(o *object) error {
	return ps.putRow(ps.kinds[sai.ObjectTypeLAG], ps.objects[o.ref(sai.LAGMemberAttrLAGID)])
}

func (ps *ports) createLAGMember(o *object) error {
	p, ok := self[*port](ps.core, o.ref(sai.LAGMemberAttrPortID))
	bad := func(s sai.Status, why string) error {
		return refuse("create", sai.ObjectTypeLAGMember, sai.LAGMemberAttrPortID, s, "%s", why)
	}
	switch {
	case !ok:
		return bad(sai.StatusInvalidParameter, "the CPU port cannot be a member")
	case p.inLAG:
		return bad(sai.StatusItemAlreadyExists, "the port is a member of a LAG already")
	case p.bridged:
		return bad(sai.StatusObjectInUse, "the port has a bridge port of its own")
	case p.routed:
		return bad(sai.StatusObjectInUse, "the port is a router interface")
	}
	p.inLAG, o.self = true, p.id()
	l := ps.objects[o.ref(sai.LAGMemberAttrLAGID)].self.(*lag)
	l.members = append(l.members, o)
	slices.SortFunc(l.members, func(a, b *object) int { return int(a.self.(engine.PortID)) - int(b.self.(engine.PortID)) })
	return ps.putLAGOf(o)
}
