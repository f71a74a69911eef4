package saisim

import (
	"slices"

	"tamtam/sai"
)

// A lag is a link aggregation group.
type lag struct {
	o                        *object
	members                  []*lagMember // in the order of their ports
	active                   []*port      // that send; derived
	bridgePort               *bridgePort
	rif                      *rif
	pvid                     uint16
	priority                 uint8
	dropTagged, dropUntagged bool
	acl                      [2]sai.OID
}

type lagMember struct {
	o                               *object
	lag                             *lag
	port                            *port
	ingressDisabled, egressDisabled bool
}

// first is the lowest port of the LAG, above all ports if it has none.
func (l *lag) first() PortID {
	if len(l.members) == 0 {
		return CPUPort
	}
	return l.members[0].port.id
}

func (c *store) lagKind() *kind {
	return &kind{
		max: c.prof.LAGs,
		attrs: []sai.AttrID{
			sai.LAGAttrPortList, sai.LAGAttrIngressACL, sai.LAGAttrEgressACL, sai.LAGAttrPortVLANID,
			sai.LAGAttrDefaultVLANPriority, sai.LAGAttrDropUntagged, sai.LAGAttrDropTagged, sai.LAGAttrLabel,
		},
		create: func(o *object) error {
			l := &lag{o: o, pvid: uint16(o.number(sai.LAGAttrPortVLANID))}
			o.self = l
			for _, a := range o.attrs {
				if err := c.setLAG(o, a); err != nil {
					return err
				}
			}
			c.lags = append(c.lags, l)
			return nil
		},
		set: c.setLAG,
		remove: func(o *object) error {
			o.self.(*lag).active = nil // what is on its way to it finds nobody
			c.lags = slices.DeleteFunc(c.lags, func(l *lag) bool { return l.o == o })
			c.stale = true
			return nil
		},
		get: func(o *object, id sai.AttrID) sai.Value {
			if id != sai.LAGAttrPortList {
				return nil
			}
			oids := sai.OIDs{}
			for _, m := range o.self.(*lag).members {
				oids = append(oids, m.o.key.OID)
			}
			return oids
		},
	}
}

func (c *store) setLAG(o *object, a sai.Attr) error {
	l := o.self.(*lag)
	c.stale = true
	switch v := a.Value.(type) {
	case sai.Bool:
		if a.ID == sai.LAGAttrDropTagged {
			l.dropTagged = bool(v)
		} else {
			l.dropUntagged = bool(v)
		}
	case sai.Uint:
		if a.ID == sai.LAGAttrPortVLANID {
			if v > 4094 {
				return badValue(a, sai.StatusInvalidVLANID, "VLAN %d, want 0 to 4094", v)
			}
			l.pvid = uint16(v)
		} else {
			if v > 7 {
				return badValue(a, sai.StatusInvalidParameter, "priority %d, want 0 to 7", v)
			}
			l.priority = uint8(v)
		}
	case sai.OID:
		return c.bind(a, v, &l.acl, sai.ACLBindPointTypeLAG, sai.LAGAttrIngressACL)
	}
	return nil
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
			m := o.self.(*lagMember)
			if a.ID == sai.LAGMemberAttrEgressDisable {
				m.egressDisabled = bool(a.Value.(sai.Bool))
			} else {
				m.ingressDisabled = bool(a.Value.(sai.Bool))
			}
			c.stale = true
			return nil
		},
		remove: func(o *object) error {
			m := o.self.(*lagMember)
			m.lag.members = slices.DeleteFunc(m.lag.members, func(x *lagMember) bool { return x == m })
			m.port.lag = nil
			c.stale = true
			return nil
		},
	}
}

func (c *store) createLAGMember(o *object) error {
	l, _ := self[*lag](c, o.ref(sai.LAGMemberAttrLAGID))
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
	m := &lagMember{
		o: o, lag: l, port: p,
		ingressDisabled: o.flag(sai.LAGMemberAttrIngressDisable), egressDisabled: o.flag(sai.LAGMemberAttrEgressDisable),
	}
	o.self = m
	p.lag = l
	l.members = append(l.members, m)
	slices.SortFunc(l.members, func(a, b *lagMember) int { return int(a.port.id) - int(b.port.id) })
	c.stale = true
	return nil
}
