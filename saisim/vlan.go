package saisim

import (
	"slices"

	"tamtam/sai"
)

// A vlan is an 802.1Q VLAN.
type vlan struct {
	o       *object
	id      uint16
	members []*vlanMember
	noLearn bool
	rif     *rif
	acl     [2]sai.OID

	// derived
	flood                               []*bridgePort // in the order of ports
	noUnknown, noMulticast, noBroadcast bool
	tables                              [2][]lookup
}

type vlanMember struct {
	o    *object
	vlan *vlan
	bp   *bridgePort
	mode sai.Enum
}

func (c *store) vlanKind() *kind {
	flood := []sai.Enum{sai.VLANFloodControlTypeAll, sai.VLANFloodControlTypeNone}
	return &kind{
		max: c.prof.VLANs,
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
		create: c.createVLAN,
		set:    c.setVLAN,
		remove: func(o *object) error {
			v := o.self.(*vlan)
			if o == c.defaultVLAN {
				return refuse("remove", sai.ObjectTypeVLAN, 0, sai.StatusObjectInUse, "the default VLAN stays")
			}
			c.flushFDB(func(e *fdbEntry) bool { return e.key>>48 == uint64(v.id) })
			v.flood = nil
			c.vlans[v.id] = nil
			c.stale = true
			return nil
		},
		get: func(o *object, id sai.AttrID) sai.Value {
			if id != sai.VLANAttrMemberList {
				return nil
			}
			oids := sai.OIDs{}
			for _, m := range o.self.(*vlan).members {
				oids = append(oids, m.o.key.OID)
			}
			return oids
		},
	}
}

func (c *store) createVLAN(o *object) error {
	id := o.number(sai.VLANAttrVLANID)
	switch {
	case id < 1 || id > 4094:
		return refuse("create", sai.ObjectTypeVLAN, sai.VLANAttrVLANID, sai.StatusInvalidVLANID, "VLAN %d, want 1 to 4094", id)
	case c.vlans[id] != nil:
		return refuse("create", sai.ObjectTypeVLAN, sai.VLANAttrVLANID, sai.StatusItemAlreadyExists, "VLAN %d exists", id)
	}
	v := &vlan{o: o, id: uint16(id)}
	o.self = v
	for _, a := range o.attrs {
		if err := c.setVLAN(o, a); err != nil {
			return err
		}
	}
	c.vlans[id] = v
	c.stale = true
	return nil
}

func (c *store) setVLAN(o *object, a sai.Attr) error {
	v := o.self.(*vlan)
	c.stale = true // flood controls are read from the object
	switch x := a.Value.(type) {
	case sai.Bool:
		v.noLearn = bool(x)
	case sai.OID:
		return c.bind(a, x, &v.acl, sai.ACLBindPointTypeVLAN, sai.VLANAttrIngressACL)
	}
	return nil
}

func (c *store) vlanMemberKind() *kind {
	return &kind{
		attrs: []sai.AttrID{sai.VLANMemberAttrVLANID, sai.VLANMemberAttrBridgePortID, sai.VLANMemberAttrVLANTaggingMode},
		create: func(o *object) error {
			v, _ := self[*vlan](c, o.ref(sai.VLANMemberAttrVLANID))
			bp, _ := self[*bridgePort](c, o.ref(sai.VLANMemberAttrBridgePortID))
			for _, m := range v.members {
				if m.bp == bp {
					return refuse("create", sai.ObjectTypeVLANMember, sai.VLANMemberAttrBridgePortID, sai.StatusItemAlreadyExists,
						"it is a member of VLAN %d already", v.id)
				}
			}
			m := &vlanMember{o: o, vlan: v, bp: bp, mode: o.enum(sai.VLANMemberAttrVLANTaggingMode)}
			o.self = m
			v.members = append(v.members, m)
			m.apply()
			c.stale = true
			return nil
		},
		set: func(o *object, a sai.Attr) error {
			m := o.self.(*vlanMember)
			m.mode = a.Value.(sai.Enum)
			m.apply()
			return nil
		},
		remove: func(o *object) error {
			m := o.self.(*vlanMember)
			m.vlan.members = slices.DeleteFunc(m.vlan.members, func(x *vlanMember) bool { return x == m })
			m.mode = noMember
			m.apply()
			c.stale = true
			return nil
		},
	}
}

// noMember is the tagging mode of a member that is removed.
const noMember sai.Enum = -1

// apply writes the membership into the bridge port's bits.
func (m *vlanMember) apply() {
	b, bit := &m.bp.vlans[m.vlan.id/64], uint64(1)<<(m.vlan.id%64)
	set := func(bits *uint64, on bool) {
		if on {
			*bits |= bit
		} else {
			*bits &^= bit
		}
	}
	set(&b.members, m.mode != noMember)
	set(&b.untagged, m.mode == sai.VLANTaggingModeUntagged)
	set(&b.priorityTagged, m.mode == sai.VLANTaggingModePriorityTagged)
}

// compileAll makes the lists that are derived from objects.
func (c *store) compileAll() {
	c.stale = false
	c.sortShared()
	for _, l := range c.lags {
		l.active = l.active[:0]
		for _, m := range l.members {
			m.port.in = admission{
				lag: l, source: l.bridgePort, router: l.rif, pvid: l.pvid, priority: l.priority,
				dropTagged: l.dropTagged, dropUntagged: l.dropUntagged, closed: m.ingressDisabled,
			}
			if m.port.up() && !m.egressDisabled {
				l.active = append(l.active, m.port)
			}
		}
	}
	for _, p := range c.ports {
		if p.lag == nil {
			p.in = admission{
				source: p.bridgePort, router: p.rif, pvid: p.pvid, priority: p.priority,
				dropTagged: p.dropTagged, dropUntagged: p.dropUntagged,
			}
		}
		for stage := range p.tables {
			points := []sai.OID{p.acl[stage], c.switchACL[stage]}
			if p.lag != nil {
				points = append(points, p.lag.acl[stage])
			}
			p.tables[stage] = c.lookups(p.tables[stage][:0], points)
		}
	}
	c.vlanACLs = [2]bool{}
	for _, v := range c.vlans {
		if v == nil {
			continue
		}
		v.flood = v.flood[:0]
		for _, m := range v.members {
			v.flood = append(v.flood, m.bp)
		}
		slices.SortFunc(v.flood, func(a, b *bridgePort) int { return a.order() - b.order() })
		no := func(id sai.AttrID) bool { return v.o.enum(id) == sai.VLANFloodControlTypeNone }
		v.noUnknown = c.missUnicast || no(sai.VLANAttrUnknownUnicastFloodControlType)
		v.noMulticast = c.missMulticast || no(sai.VLANAttrUnknownMulticastFloodControlType)
		v.noBroadcast = c.missBroadcast || no(sai.VLANAttrBroadcastFloodControlType)
		for stage := range v.tables {
			v.tables[stage] = c.lookups(v.tables[stage][:0], []sai.OID{v.acl[stage]})
			c.vlanACLs[stage] = c.vlanACLs[stage] || len(v.tables[stage]) > 0
		}
	}
}
