package saisim

import (
	"cmp"
	"slices"

	"tamtam/sai"
	"tamtam/saisim/config"
)

// A hopGroupObject is what the chip keeps of a NEXT_HOP_GROUP object: its members, in the order in which
// the hash counts them, which is not that of their making.
type hopGroupObject struct{ members []*object }

func (c *store) nextHopKind() *kind {
	return &kind{
		max:   c.prof.NextHops,
		attrs: []sai.AttrID{sai.NextHopAttrType, sai.NextHopAttrIP, sai.NextHopAttrRouterInterfaceID},
		enums: map[sai.AttrID][]sai.Enum{sai.NextHopAttrType: {sai.NextHopTypeIP}},
		create: func(o *object) error {
			r, _ := self[*rif](c, o.ref(sai.NextHopAttrRouterInterfaceID))
			ip, _ := o.attr(sai.NextHopAttrIP).(sai.IP)
			switch {
			case r.loops():
				return refuse("create", sai.ObjectTypeNextHop, sai.NextHopAttrRouterInterfaceID, sai.StatusInvalidParameter,
					"a loopback leads nowhere")
			case !ip.IsValid() || ip.IsMulticast() || ip.IsUnspecified():
				return refuse("create", sai.ObjectTypeNextHop, sai.NextHopAttrIP, sai.StatusInvalidParameter,
					"%s, want a unicast address", ip)
			}
			return nil
		},
		row: func(o *object) (config.Row, error) {
			ip, _ := o.attr(sai.NextHopAttrIP).(sai.IP)
			return config.NextHop{ID: o.id(), Interface: o.refID(sai.NextHopAttrRouterInterfaceID), IP: ip.Addr}, nil
		},
	}
}

func (c *store) hopGroupKind() *kind {
	return &kind{
		max: c.prof.NextHopGroups,
		attrs: []sai.AttrID{
			sai.NextHopGroupAttrType, sai.NextHopGroupAttrNextHopCount, sai.NextHopGroupAttrNextHopMemberList,
			sai.NextHopGroupAttrLabel,
		},
		enums: map[sai.AttrID][]sai.Enum{sai.NextHopGroupAttrType: {sai.NextHopGroupTypeDynamicUnorderedEcmp}},
		create: func(o *object) error {
			o.self = &hopGroupObject{}
			return nil
		},
		row: func(o *object) (config.Row, error) { return c.hopGroupRow(o, o.self.(*hopGroupObject).members), nil },
		get: func(o *object, id sai.AttrID) sai.Value {
			g := o.self.(*hopGroupObject)
			switch id {
			case sai.NextHopGroupAttrNextHopCount:
				return sai.Uint(len(g.members))
			case sai.NextHopGroupAttrNextHopMemberList:
				oids := sai.OIDs{}
				for _, m := range g.members {
					oids = append(oids, m.key.OID)
				}
				return oids
			}
			return nil
		},
	}
}

// hopGroupRow is a group with these members, which it puts in order.
func (c *store) hopGroupRow(group *object, members []*object) config.HopGroup {
	hop := func(m *object) *adjacency {
		return at[*nextHop](c.engine, m.refID(sai.NextHopGroupMemberAttrNextHopID)).adj
	}
	slices.SortStableFunc(members, func(a, b *object) int {
		return cmp.Or(compareHops(hop(a), hop(b)), cmp.Compare(memberWeight(a), memberWeight(b)))
	})
	r := config.HopGroup{ID: group.id()}
	for _, m := range members {
		r.Members = append(r.Members, config.HopMember{
			NextHop: m.refID(sai.NextHopGroupMemberAttrNextHopID), Weight: memberWeight(m),
		})
	}
	return r
}

func memberWeight(m *object) uint32 {
	if v, ok := m.attr(sai.NextHopGroupMemberAttrWeight).(sai.Uint); ok {
		return uint32(v)
	}
	return 1
}

// checkHopMember refuses what cannot be a member.
func (c *store) checkHopMember(m *object) error {
	hop := sai.NextHopGroupMemberAttrNextHopID
	if at[*nextHop](c.engine, m.refID(hop)) == nil {
		return badValue(sai.Attr{ID: hop}, sai.StatusNotSupported, "want a next hop: groups have no groups as members")
	}
	if memberWeight(m) == 0 {
		return badValue(sai.Attr{ID: sai.NextHopGroupMemberAttrWeight}, sai.StatusInvalidParameter,
			"weight 0, want at least 1")
	}
	return nil
}

// groupOf is the group of a member.
func (c *store) groupOf(m *object) (*object, *hopGroupObject) {
	g := c.objects[m.ref(sai.NextHopGroupMemberAttrNextHopGroupID)]
	return g, g.self.(*hopGroupObject)
}

func (c *store) hopMemberKind() *kind {
	return &kind{
		max: c.prof.NextHopMembers,
		attrs: []sai.AttrID{
			sai.NextHopGroupMemberAttrNextHopGroupID, sai.NextHopGroupMemberAttrNextHopID, sai.NextHopGroupMemberAttrWeight,
		},
		create: func(o *object) error {
			if err := c.checkHopMember(o); err != nil {
				return err
			}
			group, g := c.groupOf(o)
			g.members = append(g.members, o)
			c.put(c.hopGroupRow(group, g.members))
			return nil
		},
		set: func(o *object, a sai.Attr) error {
			next := o.with(a)
			if err := c.checkHopMember(next); err != nil {
				return err
			}
			o.put(a)
			group, g := c.groupOf(o)
			c.put(c.hopGroupRow(group, g.members))
			return nil
		},
		remove: func(o *object) error {
			group, g := c.groupOf(o)
			g.members = slices.DeleteFunc(g.members, func(m *object) bool { return m == o })
			c.put(c.hopGroupRow(group, g.members))
			return nil
		},
	}
}
