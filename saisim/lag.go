package saisim

import (
	"slices"

	"tamtam/saisim/config"
)

// A lag is a link aggregation group.
type lag struct {
	name                     config.ID
	members                  []lagMember // in the order of their ports
	active                   []*port     // that send; derived
	bridgePort               *bridgePort
	rif                      *rif
	pvid                     uint16
	priority                 uint8
	dropTagged, dropUntagged bool
	acl                      [2]config.ID
}

type lagMember struct {
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

// applyLAG makes of a LAG what its row says.
func (c *engine) applyLAG(r config.LAG, gone bool) {
	c.stale = true
	l := at[*lag](c, r.ID)
	if gone {
		l.active = nil // what is on its way to it finds nobody
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
