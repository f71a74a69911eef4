package reference

import (
	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/saisim/profile"
)

// A settings value is one version of the configuration, by name. It never changes:
// packets in a pipe keep the one that they met.
type settings struct {
	saisim.Tables
	ports       map[sai.OID]saisim.PortRow
	portByID    map[saisim.PortID]saisim.PortRow
	lags        map[sai.OID]saisim.LAGRow
	lagOf       map[saisim.PortID]sai.OID
	bridgePorts map[sai.OID]saisim.BridgePortRow
	bridgePort  map[sai.OID]sai.OID // of a port or LAG
	vlans       map[sai.OID]saisim.VLANRow
	vlanByID    map[uint16]saisim.VLANRow
	aclTables   map[sai.OID]saisim.ACLTableRow
	aclGroups   map[sai.OID]saisim.ACLGroupRow
	aclRanges   map[sai.OID]saisim.ACLRangeRow
	aclCounters map[sai.OID]saisim.ACLCounterRow
	tamInts     map[sai.OID]config.TAMInt
	rifs        map[sai.OID]config.Interface
	rifOn       map[sai.OID]sai.OID // by port, LAG or VLAN
	nextHops    map[sai.OID]config.NextHop
	hopGroups   map[sai.OID]config.HopGroup
	profiles    map[int]laneProfile  // of alternate marking, by lane
	recorders   map[string]*recorder // of table recording, by label
}

// index returns rows by name.
func index[K comparable, R any](rows []R, name func(R) K) map[K]R {
	m := make(map[K]R, len(rows))
	for _, r := range rows {
		m[name(r)] = r
	}
	return m
}

func newConfig(t saisim.Tables) *settings {
	conf := &settings{
		Tables:      t,
		ports:       index(t.Ports, func(r saisim.PortRow) sai.OID { return r.OID }),
		portByID:    index(t.Ports, func(r saisim.PortRow) saisim.PortID { return r.ID }),
		lags:        index(t.LAGs, func(r saisim.LAGRow) sai.OID { return r.OID }),
		bridgePorts: index(t.BridgePorts, func(r saisim.BridgePortRow) sai.OID { return r.OID }),
		vlans:       index(t.VLANs, func(r saisim.VLANRow) sai.OID { return r.OID }),
		vlanByID:    index(t.VLANs, func(r saisim.VLANRow) uint16 { return r.ID }),
		aclTables:   index(t.ACLTables, func(r saisim.ACLTableRow) sai.OID { return r.OID }),
		aclGroups:   index(t.ACLGroups, func(r saisim.ACLGroupRow) sai.OID { return r.OID }),
		aclRanges:   index(t.ACLRanges, func(r saisim.ACLRangeRow) sai.OID { return r.OID }),
		aclCounters: index(t.ACLCounters, func(r saisim.ACLCounterRow) sai.OID { return r.OID }),
		tamInts:     index(t.TAMInts, func(r config.TAMInt) sai.OID { return sai.OID(r.ID) }),
		rifs:        index(t.Interfaces, func(r config.Interface) sai.OID { return sai.OID(r.ID) }),
		nextHops:    index(t.NextHops, func(r config.NextHop) sai.OID { return sai.OID(r.ID) }),
		hopGroups:   index(t.HopGroups, func(r config.HopGroup) sai.OID { return sai.OID(r.ID) }),
		rifOn:       map[sai.OID]sai.OID{},
		profiles:    map[int]laneProfile{},
		recorders:   map[string]*recorder{},
		lagOf:       map[saisim.PortID]sai.OID{},
		bridgePort:  map[sai.OID]sai.OID{},
	}
	for _, l := range t.LAGs {
		for _, m := range l.Members {
			conf.lagOf[m.Port] = l.OID
		}
	}
	for _, r := range t.AltMarks {
		conf.profiles[r.Lane] = newProfile(r)
	}
	for _, bp := range t.BridgePorts {
		conf.bridgePort[bp.On] = bp.OID
	}
	for _, r := range t.Interfaces {
		if r.On != config.None {
			conf.rifOn[sai.OID(r.On)] = sai.OID(r.ID)
		}
	}
	return conf
}

func up(p saisim.PortRow) bool { return p.Admin && p.Link }

// mode returns how a bridge port is in a VLAN, false if it is not.
func (conf *settings) mode(vid uint16, bp sai.OID) (sai.Enum, bool) {
	for _, m := range conf.vlanByID[vid].Members {
		if m.BridgePort == bp {
			return m.Mode, true
		}
	}
	return 0, false
}

// chooseMember returns the port by which a LAG sends a packet, false if none is
// up: of those that are, in the order of ports, the one at the flow's hash.
func (conf *settings) chooseMember(lag sai.OID, h headers) (sai.OID, bool) {
	var active []sai.OID
	for _, m := range conf.lags[lag].Members {
		if p := conf.portByID[m.Port]; up(p) && !m.EgressDisabled {
			active = append(active, p.OID)
		}
	}
	if len(active) == 0 {
		return sai.NullOID, false
	}
	return active[h.flowHash(uint64(conf.Switch.LAGSeed)<<32)%uint32(len(active))], true
}

// flooded returns the bridge ports of a VLAN in the order in which they are sent
// to: ports, then LAGs by their first member.
func (conf *settings) flooded(vlan sai.OID) (bps []sai.OID) {
	member := map[sai.OID]bool{}
	for _, m := range conf.vlans[vlan].Members {
		member[m.BridgePort] = true
	}
	add := func(on sai.OID) {
		if bp, ok := conf.bridgePort[on]; ok && member[bp] {
			bps = append(bps, bp)
			member[bp] = false
		}
	}
	for _, p := range conf.Ports {
		add(p.OID)
	}
	for _, p := range conf.Ports {
		if lag, ok := conf.lagOf[p.ID]; ok {
			add(lag)
		}
	}
	return bps
}

// poolCells returns the cells of a pool; before the first configuration the chip
// has one, of all.
func (conf *settings) poolCells(prof profile.Profile, pool int) int {
	if len(conf.Pools) == 0 {
		return int(prof.Buffer.Cells)
	}
	return int(conf.Pools[pool])
}
