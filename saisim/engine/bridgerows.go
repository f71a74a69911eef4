package engine

import (
	"slices"

	"tamtam/saisim/config"
)

// applyBridgePort compiles a bridge port. Removing a bridge port also removes the addresses learned there, including
// those made static later. An address created as static refers to its bridge port, which then cannot be removed.
// Packets in flight to a removed bridge port find it without a port.
func (c *bridge) applyBridgePort(r config.BridgePort, gone bool) {
	c.stale = true
	bp := at[*bridgePort](c.core, r.ID)
	if gone {
		c.flushFDB(func(e *fdbEntry) bool { return e.to == bp })
		if bp.lag != nil {
			bp.lag.bridgePort = nil
		} else {
			bp.port.bridgePort = nil
		}
		bp.port, bp.lag, bp.admin = nil, nil, false
		delete(c.ids, r.ID)
		return
	}
	if bp == nil {
		c.doors.n++
		bp = &bridgePort{name: r.ID, number: c.doors.n, port: at[*port](c.core, r.On), lag: at[*lag](c.core, r.On)}
		c.ids[r.ID] = bp
		c.doors.names[bp.number%numDoors] = door{bp.number, r.ID}
		if bp.lag != nil {
			bp.lag.bridgePort = bp
		} else {
			bp.port.bridgePort = bp
		}
	}
	bp.admin, bp.learning = r.Admin, r.Learning
}

// applyLAG compiles a LAG.
func (c *bridge) applyLAG(r config.LAG, gone bool) {
	c.stale = true
	l := at[*lag](c.core, r.ID)
	if gone {
		l.active = nil // packets in flight to the LAG find no member
		c.lags = slices.DeleteFunc(c.lags, func(x *lag) bool { return x == l })
		delete(c.ids, r.ID)
		return
	}
	if l == nil {
		l = &lag{name: r.ID}
		c.ids[r.ID] = l
		c.lags = append(c.lags, l)
	}
	l.pvid, l.priority, l.dropTagged, l.dropUntagged = r.PVID, r.Priority, r.DropTagged, r.DropUntagged
	l.acl = [2]config.ID{r.IngressACL, r.EgressACL}
	for _, m := range l.members {
		m.port.lag = nil
	}
	l.members = l.members[:0]
	for _, m := range r.Members {
		p := c.byID[m.Port]
		p.lag = l
		l.members = append(l.members, lagMember{p, m.IngressDisabled, m.EgressDisabled})
	}
}

// applyVLAN compiles a VLAN.
func (c *bridge) applyVLAN(r config.VLAN, gone bool) {
	c.stale = true
	v := at[*vlan](c.core, r.ID)
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
		bp := at[*bridgePort](c.core, m.BridgePort)
		bp.vlans[v.id/64].set(v.id, true, m.Tagging)
		v.members = append(v.members, vlanMember{bp, m.Tagging})
	}
}

// applyFDB compiles an address.
func (c *bridge) applyFDB(r config.FDBEntry, gone bool) {
	v := at[*vlan](c.core, r.VLAN)
	if v == nil {
		return // the VLAN's removal has removed its addresses
	}
	key := fdbKey(v.id, mac48(r.MAC[:]))
	if gone {
		c.fdb.remove(key)
		return
	}
	e := c.fdb.find(key)
	if e == nil {
		e = c.fdb.insert(fdbEntry{key: key})
	}
	e.to, e.static, e.moves, e.act = at[*bridgePort](c.core, r.BridgePort), r.Static, r.Moves, actionsOf(r.Action)
	e.seen = max(e.seen, Cycle(r.Fresh))
	c.sweepFor(max(c.now, e.seen+c.fdb.age))
}
