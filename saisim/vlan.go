package saisim

import (
	"slices"

	"tamtam/saisim/config"
)

// A vlan is an 802.1Q VLAN.
type vlan struct {
	name    config.ID
	id      uint16
	members []vlanMember
	noLearn bool
	noFlood config.Flood
	rif     *rif
	acl     [2]config.ID

	// derived
	flood                               []*bridgePort // in the order of ports
	noUnknown, noMulticast, noBroadcast bool
	tables                              [2][]lookup
}

type vlanMember struct {
	bp      *bridgePort
	tagging config.Tagging
}

// applyVLAN makes of a VLAN what its row says.
func (c *engine) applyVLAN(r config.VLAN, gone bool) {
	c.stale = true
	v := at[*vlan](c, r.ID)
	if gone {
		c.flushFDB(func(e *fdbEntry) bool { return e.key>>48 == uint64(v.id) })
		v.flood = nil
		c.vlans[v.id] = nil
		delete(c.ids, r.ID)
		return
	}
	if v == nil {
		v = &vlan{name: r.ID, id: r.VID}
		c.ids[r.ID], c.vlans[r.VID] = v, v
	}
	v.noLearn, v.noFlood, v.acl = r.LearnDisable, r.NoFlood, [2]config.ID{r.IngressACL, r.EgressACL}
	for _, m := range v.members {
		m.bp.vlans[v.id/64].set(v.id, false, 0)
	}
	v.members = v.members[:0]
	for _, m := range r.Members {
		bp := at[*bridgePort](c, m.BridgePort)
		bp.vlans[v.id/64].set(v.id, true, m.Tagging)
		v.members = append(v.members, vlanMember{bp, m.Tagging})
	}
}

// set says whether and how the bridge port is in a VLAN.
func (b *memberships) set(vid uint16, member bool, t config.Tagging) {
	bit := uint64(1) << (vid % 64)
	b.members, b.untagged, b.priorityTagged = b.members&^bit, b.untagged&^bit, b.priorityTagged&^bit
	if !member {
		return
	}
	b.members |= bit
	switch t {
	case config.Untagged:
		b.untagged |= bit
	case config.PriorityTagged:
		b.priorityTagged |= bit
	}
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
			points := []config.ID{p.acl[stage], c.switchACL[stage]}
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
		v.noUnknown = c.noFlood.Unknown || v.noFlood.Unknown
		v.noMulticast = c.noFlood.Multicast || v.noFlood.Multicast
		v.noBroadcast = c.noFlood.Broadcast || v.noFlood.Broadcast
		for stage := range v.tables {
			v.tables[stage] = c.lookups(v.tables[stage][:0], []config.ID{v.acl[stage]})
			c.vlanACLs[stage] = c.vlanACLs[stage] || len(v.tables[stage]) > 0
		}
	}
}
