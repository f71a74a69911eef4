package ports

import (
	"slices"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss/schema"
)

// A member names a port or LAG as a member of a LAG or VLAN.
type member struct{ group, port string }

func (m member) String() string { return m.group + ":" + m.port }

// A portSpec is the target state of a port. Speed is in Mbit/s, MTU as in CONFIG_DB.
type portSpec struct {
	lanes []uint32
	speed uint32
	mtu   uint32
	up    bool
}

// A traffic is what a member of a LAG may do: receive and send.
type traffic struct{ collects, distributes bool }

func (t traffic) String() string {
	switch {
	case t.distributes && t.collects:
		return schema.OperUp
	case t.collects:
		return schema.MemberCollecting
	}
	return schema.OperDown
}

// A plan is the target state of the ASIC. It is a function of the rows alone.
type plan struct {
	ports       map[string]portSpec
	lags        map[string]bool
	minLinks    map[string]int // minimum number of active members, by LAG
	lagMembers  map[member]traffic
	lagOf       map[string]string
	vlans       map[string]uint16
	vlanMembers map[member]sai.Enum   // tagging mode of each member
	pvid        map[string]uint16     // VLAN of untagged frames, by port or LAG
	mtu         map[string]uint32     // MTU in bytes, by port, LAG or VLAN
	why         map[orch.RowKey]error // rows that are not in the plan
}

// makePlan computes the target state. Ports are planned first. If two ports have the same lane, two LAGs the same port,
// or two VLANs the same port as untagged member, the smaller name wins. A member of a LAG is in no VLAN itself. A port
// that the ASIC has refused permanently is not in the plan, so that its previous settings do not matter.
func makePlan(rows *orch.Ledger) *plan {
	p := &plan{
		ports: map[string]portSpec{}, lags: map[string]bool{}, minLinks: map[string]int{}, lagMembers: map[member]traffic{},
		lagOf: map[string]string{}, vlans: map[string]uint16{}, vlanMembers: map[member]sai.Enum{},
		pvid: map[string]uint16{}, mtu: map[string]uint32{}, why: map[orch.RowKey]error{},
	}
	p.addPorts(rows)
	for _, name := range rows.Keys(schema.AppLAG) {
		k := orch.Row(schema.AppLAG, name)
		lag, err := schema.ParsePortChannel(name, rows.Rows[k])
		if err != nil {
			p.why[k] = err
			continue
		}
		p.lags[name], p.mtu[name], p.minLinks[name] = true, uint32(lag.MTU), int(lag.MinLinks)
	}
	p.addLAGMembers(rows)
	p.addVLANs(rows)
	p.addVLANMembers(rows)
	return p
}

func (p *plan) addPorts(rows *orch.Ledger) {
	owner := map[uint32]string{}
	for _, name := range rows.Keys(schema.AppPort) {
		if marker(name) {
			continue
		}
		k := orch.Row(schema.AppPort, name)
		spec, err := parsePort(name, rows.Rows[k])
		if err == nil && orch.Classify(rows.Failed[k]) == orch.Permanent {
			err = rows.Failed[k]
		}
		if err != nil {
			p.why[k] = err
			continue
		}
		if i := slices.IndexFunc(spec.lanes, func(l uint32) bool { return owner[l] != "" }); i >= 0 {
			lane := spec.lanes[i]
			p.why[k] = orch.Wait("port", owner[lane], "lane %d is used by %s", lane, owner[lane])
			continue
		}
		for _, l := range spec.lanes {
			owner[l] = name
		}
		p.ports[name], p.mtu[name] = spec, spec.mtu
	}
}

func (p *plan) addLAGMembers(rows *orch.Ledger) {
	for _, key := range rows.Keys(schema.AppLAGMember) {
		k := orch.Row(schema.AppLAGMember, key)
		m, does, err := parseLAGMember(key, rows.Rows[k])
		switch {
		case err != nil:
			p.why[k] = err
		case !p.lags[m.group]:
			p.why[k] = orch.Wait("PortChannel", m.group, "no PortChannel %s", m.group)
		case !p.hasPort(m.port):
			p.why[k] = orch.Wait("port", m.port, "no port %s", m.port)
		case p.lagOf[m.port] != "":
			p.why[k] = orch.Wait("port", m.port, "%s is a member of %s", m.port, p.lagOf[m.port])
		default:
			p.lagMembers[m] = does
			p.lagOf[m.port] = m.group
		}
	}
}

func (p *plan) addVLANs(rows *orch.Ledger) {
	for _, name := range rows.Keys(schema.AppVLAN) {
		k := orch.Row(schema.AppVLAN, name)
		v, err := schema.ParseVLAN(name, rows.Rows[k])
		if err != nil {
			p.why[k] = err
			continue
		}
		p.vlans[name], p.mtu[name] = v.ID, uint32(v.MTU)
	}
}

func (p *plan) addVLANMembers(rows *orch.Ledger) {
	for _, key := range rows.Keys(schema.AppVLANMember) {
		k := orch.Row(schema.AppVLANMember, key)
		m, mode, err := parseVLANMember(key, rows.Rows[k])
		id, haveVLAN := p.vlans[m.group]
		switch {
		case err != nil:
			p.why[k] = err
		case !haveVLAN:
			p.why[k] = orch.Wait("VLAN", m.group, "no VLAN %s", m.group)
		case !p.hasPort(m.port) && !p.lags[m.port]:
			p.why[k] = orch.Wait("port", m.port, "no port or PortChannel %s", m.port)
		case p.lagOf[m.port] != "":
			p.why[k] = orch.Wait("port", m.port, "%s is a member of %s", m.port, p.lagOf[m.port])
		case mode == sai.VLANTaggingModeUntagged && p.pvid[m.port] != 0:
			p.why[k] = orch.Wait("port", m.port, "%s is an untagged member of Vlan%d", m.port, p.pvid[m.port])
		default:
			p.vlanMembers[m] = mode
			if mode == sai.VLANTaggingModeUntagged {
				p.pvid[m.port] = id
			}
		}
	}
}

func (p *plan) hasPort(name string) bool {
	_, ok := p.ports[name]
	return ok
}

// bridged returns the ports and LAGs that are members of any VLAN, and so need a bridge port.
func (p *plan) bridged() map[string]bool {
	b := map[string]bool{}
	for m := range p.vlanMembers {
		b[m.port] = true
	}
	return b
}

// sorted returns the keys of a map whose keys are names, in natural order.
func sorted[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.SortFunc(names, schema.CompareNames)
	return names
}

func sortedMembers[V any](m map[member]V) []member {
	ms := make([]member, 0, len(m))
	for k := range m {
		ms = append(ms, k)
	}
	slices.SortFunc(ms, func(a, b member) int {
		if c := schema.CompareNames(a.group, b.group); c != 0 {
			return c
		}
		return schema.CompareNames(a.port, b.port)
	})
	return ms
}
