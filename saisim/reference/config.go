package reference

import (
	"slices"

	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/saisim/profile"
)

// A settings value is one version of the configuration, with indexes for its rows. It never changes: a packet keeps the
// version that was current when it entered the pipe.
type settings struct {
	config.Tables
	fdb         []saisim.FDBRow
	ports       map[config.ID]config.Port
	portByID    map[saisim.PortID]config.Port
	lags        map[config.ID]config.LAG
	lagOf       map[saisim.PortID]config.ID
	bridgePorts map[config.ID]config.BridgePort
	bridgePort  map[config.ID]config.ID // by port or LAG
	vlans       map[config.ID]config.VLAN
	vlanByID    map[uint16]config.VLAN
	aclTables   map[config.ID]bool
	aclEntries  map[config.ID][]config.ACLEntry // by table
	aclGroups   map[config.ID]config.ACLGroup
	aclRanges   map[config.ID]config.ACLRange
	aclCounters map[config.ID]config.ACLCounter
	tamInts     map[config.ID]config.TAMInt
	routers     map[config.ID]config.Router
	rifs        map[config.ID]config.Interface
	rifOn       map[config.ID]config.ID // by port, LAG or VLAN
	subPorts    []config.Interface
	nextHops    map[config.ID]config.NextHop
	hopGroups   map[config.ID]config.HopGroup
	profiles    map[int]laneProfile  // profiles of alternate marking, by lane
	recorders   map[string]*recorder // recorders of table recording, by label

	mirrorsByIndex []config.Mirror
	eventsByIndex  []config.TAMEvent
}

// index returns rows by name.
func index[K comparable, R any](rows []R, name func(R) K) map[K]R {
	m := make(map[K]R, len(rows))
	for _, r := range rows {
		m[name(r)] = r
	}
	return m
}

// sorted returns rows sorted by a number.
func sorted[R any](rows []R, by func(R) int) []R {
	return slices.SortedFunc(slices.Values(rows), func(a, b R) int { return by(a) - by(b) })
}

func newConfig(t config.Tables, fdb []saisim.FDBRow) *settings {
	conf := &settings{
		Tables:      t,
		fdb:         fdb,
		ports:       index(t.Ports, func(r config.Port) config.ID { return r.ID }),
		portByID:    index(t.Ports, func(r config.Port) saisim.PortID { return r.Port }),
		lags:        index(t.LAGs, func(r config.LAG) config.ID { return r.ID }),
		bridgePorts: index(t.BridgePorts, func(r config.BridgePort) config.ID { return r.ID }),
		vlans:       index(t.VLANs, func(r config.VLAN) config.ID { return r.ID }),
		vlanByID:    index(t.VLANs, func(r config.VLAN) uint16 { return r.VID }),
		aclTables:   map[config.ID]bool{},
		aclEntries:  map[config.ID][]config.ACLEntry{},
		aclGroups:   index(t.ACLGroups, func(r config.ACLGroup) config.ID { return r.ID }),
		aclRanges:   index(t.ACLRanges, func(r config.ACLRange) config.ID { return r.ID }),
		aclCounters: index(t.ACLCounters, func(r config.ACLCounter) config.ID { return r.ID }),
		tamInts:     index(t.TAMInts, func(r config.TAMInt) config.ID { return r.ID }),
		routers:     index(t.Routers, func(r config.Router) config.ID { return r.ID }),
		rifs:        index(t.Interfaces, func(r config.Interface) config.ID { return r.ID }),
		nextHops:    index(t.NextHops, func(r config.NextHop) config.ID { return r.ID }),
		hopGroups:   index(t.HopGroups, func(r config.HopGroup) config.ID { return r.ID }),
		rifOn:       map[config.ID]config.ID{},
		profiles:    map[int]laneProfile{},
		recorders:   map[string]*recorder{},
		lagOf:       map[saisim.PortID]config.ID{},
		bridgePort:  map[config.ID]config.ID{},

		mirrorsByIndex: sorted(t.Mirrors, func(r config.Mirror) int { return r.Index }),
		eventsByIndex:  sorted(t.TAMEvents, func(r config.TAMEvent) int { return r.Index }),
	}
	for _, l := range t.LAGs {
		for _, m := range l.Members {
			conf.lagOf[m.Port] = l.ID
		}
	}
	for _, r := range t.ACLTables {
		conf.aclTables[r.ID] = true
	}
	for _, e := range t.ACLEntries {
		conf.aclEntries[e.Table] = append(conf.aclEntries[e.Table], e)
	}
	for _, r := range t.AltMarks {
		conf.profiles[r.Lane] = newProfile(r)
	}
	for _, bp := range t.BridgePorts {
		conf.bridgePort[bp.On] = bp.ID
	}
	for _, r := range t.Interfaces {
		switch {
		case r.OuterVLAN != 0:
			conf.subPorts = append(conf.subPorts, r)
		case r.On != config.None:
			conf.rifOn[r.On] = r.ID
		}
	}
	return conf
}

func up(p config.Port) bool { return p.Admin && p.Link }

// mode returns how a bridge port is in a VLAN, and false if it is not.
func (conf *settings) mode(vid uint16, bp config.ID) (config.Tagging, bool) {
	for _, m := range conf.vlanByID[vid].Members {
		if m.BridgePort == bp {
			return m.Tagging, true
		}
	}
	return 0, false
}

// chooseMember returns the port by which a LAG sends a packet, and false if none is up. Among the ports that are up, in
// order, it is the one at the flow's hash.
func (conf *settings) chooseMember(lag config.ID, pk *packet) (config.ID, bool) {
	var active []config.ID
	for _, m := range conf.lags[lag].Members {
		if p := conf.portByID[m.Port]; up(p) && !m.EgressDisabled {
			active = append(active, p.ID)
		}
	}
	if len(active) == 0 {
		return config.None, false
	}
	return active[pk.hashed(conf.Switch.LAGHash, 0)%uint32(len(active))], true
}

// flooded returns the bridge ports of a VLAN in the order of their copies: ports, then LAGs by their first member.
func (conf *settings) flooded(vlan config.ID) (bps []config.ID) {
	member := map[config.ID]bool{}
	for _, m := range conf.vlans[vlan].Members {
		member[m.BridgePort] = true
	}
	add := func(on config.ID) {
		if bp, ok := conf.bridgePort[on]; ok && member[bp] {
			bps = append(bps, bp)
			member[bp] = false
		}
	}
	for _, p := range conf.Ports {
		add(p.ID)
	}
	for _, p := range conf.Ports {
		if lag, ok := conf.lagOf[p.Port]; ok {
			add(lag)
		}
	}
	return bps
}

// poolCells returns the cells of a pool. The first pool has the cells of no other pool.
func (conf *settings) poolCells(prof profile.Profile, pool int) int {
	left := int(prof.Buffer.Cells)
	for _, p := range conf.Pools {
		if p.Index == pool {
			return int(p.Cells)
		}
		if p.Ingress {
			continue
		}
		left -= int(p.Cells)
	}
	return left
}
