package objects

import (
	"cmp"
	"slices"

	"tamtam/sai"
	"tamtam/saisim/config"
)

// A hopGroup is the state that the store keeps for a NEXT_HOP_GROUP object: its members in the order in which the hash
// counts them. This is not the order of their creation.
type hopGroup struct{ members []*object }

func (rt *router) nextHopKind() *kind {
	return &kind{
		max:   rt.prof.NextHops,
		attrs: []sai.AttrID{sai.NextHopAttrType, sai.NextHopAttrIP, sai.NextHopAttrRouterInterfaceID},
		enums: map[sai.AttrID][]sai.Enum{sai.NextHopAttrType: {sai.NextHopTypeIP}},
		create: func(o *object) error {
			if rt.leadsNowhere(o.ref(sai.NextHopAttrRouterInterfaceID)) {
				return badCreate(sai.NextHopAttrRouterInterfaceID, sai.StatusInvalidParameter, "a loopback leads nowhere")
			}
			return nil
		},
		values: func(o *object) error {
			ip, _ := o.attr(sai.NextHopAttrIP).(sai.IP)
			if !ip.IsValid() || ip.IsMulticast() || ip.IsUnspecified() {
				return badCreate(sai.NextHopAttrIP, sai.StatusInvalidParameter, "%s, want a unicast address", ip)
			}
			return nil
		},
		row: func(o *object) (config.Row, error) {
			ip, _ := o.attr(sai.NextHopAttrIP).(sai.IP)
			return config.NextHop{ID: o.id(), Interface: o.refID(sai.NextHopAttrRouterInterfaceID), IP: ip.Addr}, nil
		},
	}
}

func (rt *router) hopGroupKind() *kind {
	return &kind{
		max: rt.prof.NextHopGroups,
		attrs: []sai.AttrID{
			sai.NextHopGroupAttrType, sai.NextHopGroupAttrNextHopCount, sai.NextHopGroupAttrNextHopMemberList,
			sai.NextHopGroupAttrLabel,
		},
		enums: map[sai.AttrID][]sai.Enum{sai.NextHopGroupAttrType: {sai.NextHopGroupTypeDynamicUnorderedEcmp}},
		create: func(o *object) error {
			o.self = &hopGroup{}
			return nil
		},
		row: func(o *object) (config.Row, error) { return rt.hopGroupRow(o, o.self.(*hopGroup).members), nil },
		get: func(o *object, id sai.AttrID) sai.Value {
			g := o.self.(*hopGroup)
			switch id {
			case sai.NextHopGroupAttrNextHopCount:
				return sai.Uint(len(g.members))
			case sai.NextHopGroupAttrNextHopMemberList:
				return oidsOf(g.members)
			}
			return nil
		},
	}
}

// hopGroupRow returns the row of a group with these members, which it sorts.
func (rt *router) hopGroupRow(group *object, members []*object) config.HopGroup {
	slices.SortStableFunc(members, func(a, b *object) int {
		return cmp.Or(rt.compareHops(a, b), cmp.Compare(memberWeight(a), memberWeight(b)))
	})
	r := config.HopGroup{ID: group.id()}
	for _, m := range members {
		r.Members = append(r.Members, config.HopMember{
			NextHop: m.refID(sai.NextHopGroupMemberAttrNextHopID), Weight: memberWeight(m),
		})
	}
	return r
}

// compareHops compares members of a group, by address and then interface.
func (rt *router) compareHops(a, b *object) int {
	x, _ := row[config.NextHop](rt.core, a.ref(sai.NextHopGroupMemberAttrNextHopID))
	y, _ := row[config.NextHop](rt.core, b.ref(sai.NextHopGroupMemberAttrNextHopID))
	on, other := rt.interfaceOrder(x.Interface), rt.interfaceOrder(y.Interface)
	return cmp.Or(x.IP.Compare(y.IP), cmp.Compare(on, other))
}

func memberWeight(m *object) uint32 {
	if v, ok := m.attr(sai.NextHopGroupMemberAttrWeight).(sai.Uint); ok {
		return uint32(v)
	}
	return 1
}

// checkHopMember rejects an invalid member.
func (rt *router) checkHopMember(m *object) error {
	hop := sai.NextHopGroupMemberAttrNextHopID
	if _, ok := row[config.NextHop](rt.core, m.ref(hop)); !ok {
		return badValue(hop, sai.StatusNotSupported, "want a next hop: groups have no groups as members")
	}
	if memberWeight(m) == 0 {
		return badValue(sai.NextHopGroupMemberAttrWeight, sai.StatusInvalidParameter, "weight 0, want at least 1")
	}
	return nil
}

func (rt *router) hopMemberKind() *kind {
	return rt.memberKind(&kind{
		max: rt.prof.NextHopMembers,
		attrs: []sai.AttrID{
			sai.NextHopGroupMemberAttrNextHopGroupID, sai.NextHopGroupMemberAttrNextHopID, sai.NextHopGroupMemberAttrWeight,
		},
		check: rt.checkHopMember,
	}, func(m *object) (*object, *[]*object) {
		g := rt.objects[m.ref(sai.NextHopGroupMemberAttrNextHopGroupID)]
		return g, &g.self.(*hopGroup).members
	})
}
