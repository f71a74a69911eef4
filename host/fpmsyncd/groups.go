package fpmsyncd

import (
	"maps"
	"net/netip"

	"tamtam/host/fpm"
)

// applyNextHop processes a next hop, to which routes refer by its ID. A group may refer to members that arrive later.
func (s *Sync) applyNextHop(n *fpm.NextHop) {
	s.moved[n.ID] = true
	switch {
	case n.Gone:
		delete(s.hops, n.ID)
	case s.hops[n.ID] == nil && len(s.hops) >= mostGroups:
		s.noRoom(netip.Prefix{})
	default:
		s.hops[n.ID] = n
	}
}

// decideGroups decides the routes whose next hops have changed.
func (s *Sync) decideGroups() {
	if len(s.moved) == 0 {
		return
	}
	touched := maps.Clone(s.moved)
	for id, n := range s.hops {
		for _, m := range n.Members {
			touched[id] = touched[id] || s.moved[m.ID]
		}
	}
	clear(s.moved)
	for dest, r := range s.routes {
		if r.group != 0 && touched[r.group] {
			s.decideGroup(dest, r)
		}
	}
}

// decideGroup makes the row of a route by the ID of its next hop. Unknown members are left out.
func (s *Sync) decideGroup(dest netip.Prefix, r *route) {
	n := s.hops[r.group]
	switch {
	case n == nil:
		s.want(dest, r, nil)
	case n.Members == nil && n.Blackhole:
		s.decide(dest, r, fpm.Blackhole, nil)
	case n.Members == nil:
		s.decide(dest, r, fpm.Unicast, []fpm.Hop{n.Hop})
	default:
		var hops []fpm.Hop
		for _, m := range n.Members {
			if one := s.hops[m.ID]; one != nil && one.Members == nil && !one.Blackhole && len(hops) < mostHops {
				h := one.Hop
				h.Weight = m.Weight
				hops = append(hops, h)
			}
		}
		s.decide(dest, r, fpm.Unicast, hops)
	}
}
