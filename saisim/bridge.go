package saisim

import (
	"tamtam/saisim/config"
	"tamtam/saisim/profile"
)

// A bridgePort is a port or LAG as the 802.1Q bridge sees it.
type bridgePort struct {
	name     config.ID
	port     *port // one of the two; both nil once it is removed
	lag      *lag
	admin    bool
	learning config.Learning
	vlans    [64]memberships // of 64 VLANs each; derived from the VLAN members
}

// memberships are those of a bridge port in 64 VLANs, one bit each.
type memberships struct{ members, untagged, priorityTagged uint64 }

// order sorts bridge ports by what they are.
func (bp *bridgePort) order() int {
	if bp.lag != nil {
		return profile.MaxLanes + int(bp.lag.first())
	}
	if bp.port != nil {
		return int(bp.port.id)
	}
	return int(CPUPort) * 2
}

// applyBridgePort makes of a bridge port what its row says. One that goes takes the addresses learned
// there with it, those too that were then made static (what was created static holds the bridge port).
// Packets that are on their way to it find it without port.
func (c *engine) applyBridgePort(r config.BridgePort, gone bool) {
	c.stale = true
	bp := at[*bridgePort](c, r.ID)
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
		bp = &bridgePort{name: r.ID, port: at[*port](c, r.On), lag: at[*lag](c, r.On)}
		c.ids[r.ID] = bp
		if bp.lag != nil {
			bp.lag.bridgePort = bp
		} else {
			bp.port.bridgePort = bp
		}
	}
	bp.admin, bp.learning = r.Admin, r.Learning
}
