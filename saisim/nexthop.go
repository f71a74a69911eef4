package saisim

import (
	"cmp"
	"slices"

	"tamtam/sai"
)

// A nextHop is a NEXT_HOP object.
type nextHop struct {
	o   *object
	adj *adjacency
}

// A hopGroup spreads flows over next hops (ECMP), by weight.
type hopGroup struct {
	o       *object
	members []*hopMember // by address and interface, not in the order of their making
	total   uint64       // of the weights
}

type hopMember struct {
	o      *object
	group  *hopGroup
	hop    *nextHop
	weight uint32
	upTo   uint64 // sum of the weights so far, its own included
}

// choose returns the next hop of a flow, nil if the group is empty: the first
// member with hash mod (sum of all weights) < the sum of weights up to its own.
func (g *hopGroup) choose(hash uint32) *adjacency {
	if g.total == 0 {
		return nil
	}
	x := uint64(hash) % g.total
	lo, hi := 0, len(g.members)-1
	for lo < hi {
		if mid := (lo + hi) / 2; x < g.members[mid].upTo {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return g.members[lo].hop.adj
}

// settle puts the members in order and adds up their weights.
func (g *hopGroup) settle() {
	slices.SortStableFunc(g.members, func(a, b *hopMember) int {
		x, y := a.hop.adj, b.hop.adj
		return cmp.Or(x.ip.Compare(y.ip), cmp.Compare(x.rif.order(), y.rif.order()), cmp.Compare(a.weight, b.weight))
	})
	g.total = 0
	for _, m := range g.members {
		g.total += uint64(m.weight)
		m.upTo = g.total
	}
}

func (c *store) nextHopKind() *kind {
	return &kind{
		max:   c.prof.NextHops,
		attrs: []sai.AttrID{sai.NextHopAttrType, sai.NextHopAttrIP, sai.NextHopAttrRouterInterfaceID},
		enums: map[sai.AttrID][]sai.Enum{sai.NextHopAttrType: {sai.NextHopTypeIP}},
		create: func(o *object) error {
			r, _ := self[*rif](c, o.ref(sai.NextHopAttrRouterInterfaceID))
			ip, _ := o.attr(sai.NextHopAttrIP).(sai.IP)
			switch {
			case r.port == nil && r.lag == nil && r.vlan == nil:
				return refuse("create", sai.ObjectTypeNextHop, sai.NextHopAttrRouterInterfaceID, sai.StatusInvalidParameter,
					"a loopback leads nowhere")
			case !ip.IsValid() || ip.IsMulticast() || ip.IsUnspecified():
				return refuse("create", sai.ObjectTypeNextHop, sai.NextHopAttrIP, sai.StatusInvalidParameter,
					"%s, want a unicast address", ip)
			}
			h := &nextHop{o, c.adjacency(r, ip.Addr)}
			h.adj.hops++
			o.self = h
			return nil
		},
		remove: func(o *object) error {
			adj := o.self.(*nextHop).adj
			adj.hops--
			c.releaseAdjacency(adj)
			return nil
		},
	}
}

func (c *store) hopGroupKind() *kind {
	return &kind{
		max: c.prof.NextHopGroups,
		attrs: []sai.AttrID{
			sai.NextHopGroupAttrType, sai.NextHopGroupAttrNextHopCount, sai.NextHopGroupAttrNextHopMemberList, sai.NextHopGroupAttrLabel,
		},
		enums: map[sai.AttrID][]sai.Enum{sai.NextHopGroupAttrType: {sai.NextHopGroupTypeDynamicUnorderedEcmp}},
		create: func(o *object) error {
			o.self = &hopGroup{o: o}
			return nil
		},
		get: func(o *object, id sai.AttrID) sai.Value {
			g := o.self.(*hopGroup)
			switch id {
			case sai.NextHopGroupAttrNextHopCount:
				return sai.Uint(len(g.members))
			case sai.NextHopGroupAttrNextHopMemberList:
				oids := sai.OIDs{}
				for _, m := range g.members {
					oids = append(oids, m.o.key.OID)
				}
				return oids
			}
			return nil
		},
	}
}

func (c *store) hopMemberKind() *kind {
	weigh := func(a sai.Attr) (uint32, error) {
		n := uint64(a.Value.(sai.Uint))
		if n == 0 {
			return 0, badValue(a, sai.StatusInvalidParameter, "weight 0, want at least 1")
		}
		return uint32(n), nil
	}
	hop := func(a sai.Attr) (*nextHop, error) {
		h, ok := self[*nextHop](c, a.Value.(sai.OID))
		if !ok {
			return nil, badValue(a, sai.StatusNotSupported, "want a next hop: groups have no groups as members")
		}
		return h, nil
	}
	return &kind{
		max: c.prof.NextHopMembers,
		attrs: []sai.AttrID{
			sai.NextHopGroupMemberAttrNextHopGroupID, sai.NextHopGroupMemberAttrNextHopID, sai.NextHopGroupMemberAttrWeight,
		},
		create: func(o *object) (err error) {
			g, _ := self[*hopGroup](c, o.ref(sai.NextHopGroupMemberAttrNextHopGroupID))
			m := &hopMember{o: o, group: g, weight: 1}
			for _, a := range o.attrs {
				switch {
				case err != nil:
				case a.ID == sai.NextHopGroupMemberAttrNextHopID:
					m.hop, err = hop(a)
				case a.ID == sai.NextHopGroupMemberAttrWeight:
					m.weight, err = weigh(a)
				}
			}
			if err != nil {
				return err
			}
			o.self = m
			g.members = append(g.members, m)
			g.settle()
			return nil
		},
		set: func(o *object, a sai.Attr) (err error) {
			m := o.self.(*hopMember)
			if a.ID == sai.NextHopGroupMemberAttrNextHopID {
				var h *nextHop
				if h, err = hop(a); err == nil {
					m.hop = h
				}
			} else {
				var w uint32
				if w, err = weigh(a); err == nil {
					m.weight = w
				}
			}
			m.group.settle()
			return err
		},
		remove: func(o *object) error {
			m := o.self.(*hopMember)
			m.group.members = slices.DeleteFunc(m.group.members, func(x *hopMember) bool { return x == m })
			m.group.settle()
			return nil
		},
	}
}
