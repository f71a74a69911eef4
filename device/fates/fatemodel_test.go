package fates

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"tamtam/device"
	"tamtam/swss"
)

// A fateModel predicts the fate of a frame, only from the rows of CONFIG_DB and the bytes of its headers. It is written
// from docs/forwarding.md, SAI and the RFCs, and shares no code with the chip's engines. It does not compute the chip's
// hashes: where a hash decides, it predicts all outcomes.
type fateModel struct {
	mac    string
	places map[string]*modelPlace // ports and PortChannels, by name
	lagOf  map[string]string      // PortChannel of each member port
	vlans  map[uint16]*modelInterface
	rows   []modelRoute
	hosts  map[modelHop]string // MAC addresses of neighbours
	fdb    map[modelMAC]modelFDB
	traps  map[string]string // packet actions by trap, for traps with an object or a default
	fateBeyond
}

// A fateBeyond holds state that no row of CONFIG_DB has: attributes set by SAI, programs, and full queues.
type fateBeyond struct {
	missDrops   bool            // unknown unicast destinations are dropped
	learnDrops  map[string]bool // frames from unknown addresses at these ports are dropped
	tagDrops    map[string]bool // tagged frames at these ports are dropped
	plainDrops  map[string]bool // untagged frames at these ports are dropped
	deadMACs    map[modelMAC]bool
	deadHosts   map[modelHop]bool // neighbours whose packets are dropped
	decaps      netip.Addr        // own address where headers of alternate marking end; invalid if there is none
	down4       map[string]bool   // router interfaces that are down for IPv4
	down6       map[string]bool
	routes      []modelRoute
	queueFull   map[string]string // drop reasons of ports whose queue accepts nothing, by port
	groupFull   string            // port whose priority groups accept nothing; empty if there is none
	tokens      map[string]int    // number of packets that each trap's policer still passes; no entry means no limit
	early, late uint16            // UDP ports that programs of the two pipes drop
}

func newFateBeyond() fateBeyond {
	return fateBeyond{
		learnDrops: map[string]bool{}, tagDrops: map[string]bool{}, plainDrops: map[string]bool{},
		deadMACs:  map[modelMAC]bool{},
		deadHosts: map[modelHop]bool{}, down4: map[string]bool{}, down6: map[string]bool{}, queueFull: map[string]string{},
		tokens: map[string]int{},
	}
}

type (
	modelMAC struct {
		vlan uint16
		mac  string
	}
	modelHop struct {
		name string // name of the interface
		addr netip.Addr
	}
	modelFDB struct {
		place  string
		static bool
	}
	modelRoute struct {
		prefix  netip.Prefix
		cpu     bool
		link    string // interface of a connected subnet
		hops    []modelHop
		drop    bool
		nowhere bool // true if the route neither drops nor has a next hop
	}
)

// A modelPlace is a port or a PortChannel.
type modelPlace struct {
	up      bool
	mtu     int      // maximum length of a frame with FCS, in bytes
	members []string // members of a PortChannel that are up
	native  uint16
	tagging map[uint16]string // tagging by VLAN
	rif     *modelInterface   // nil unless the place is routed
	in, out []*modelACL
}

// A modelInterface is a router interface; that of a VLAN may be missing.
type modelInterface struct {
	name, mac string
	there     bool
	mtu       int
	loopDrops bool
}

type modelACL struct{ rules []swss.FieldValues } // sorted by priority, the largest first

// modelOverhead is the number of bytes by which a frame can exceed the port's MTU: Ethernet header, tag and FCS.
const modelOverhead = 14 + 4 + 4

func newFateModel(c device.ConfigDB) *fateModel {
	m := &fateModel{
		mac: c["DEVICE_METADATA"]["localhost"]["mac"], places: map[string]*modelPlace{}, lagOf: map[string]string{},
		vlans: map[uint16]*modelInterface{}, hosts: map[modelHop]string{}, fdb: map[modelMAC]modelFDB{},
		fateBeyond: newFateBeyond(),
		// Actions of traps without a row of COPP_TRAP. A trap that is not listed has no action.
		traps: map[string]string{
			"stp": "trap", "lacp": "trap", "eapol": "trap", "lldp": "trap", "link_local": "trap", "ip2me": "trap",
			"neighbor_miss": "trap", "ttl_error": "trap", "l3_mtu_error": "drop", "static_fdb_move": "drop",
			"arp_req": "copy", "arp_resp": "copy", "neigh_discovery": "copy",
		},
	}
	for name, f := range c["PORT"] {
		m.places[name] = &modelPlace{up: f["admin_status"] == "up", mtu: modelNumber(f["mtu"], 9100) + modelOverhead,
			native: 1, tagging: map[uint16]string{}}
	}
	for name := range c["PORTCHANNEL"] {
		m.places[name] = &modelPlace{up: true, mtu: 1 << 20, native: 1, tagging: map[uint16]string{}}
	}
	for _, key := range slices.Sorted(maps.Keys(c["PORTCHANNEL_MEMBER"])) {
		lag, port, _ := strings.Cut(key, "|")
		m.lagOf[port] = lag
		if m.places[port].up {
			m.places[lag].members = append(m.places[lag].members, port)
		}
	}
	for name, f := range c["PORTCHANNEL"] { // with too few members the PortChannel is down, but its members stay up
		m.places[name].up = len(m.places[name].members) >= modelNumber(f["min_links"], 1)
	}
	for name := range c["VLAN"] {
		m.vlans[modelVID(name)] = &modelInterface{name: name}
	}
	for key, f := range c["VLAN_MEMBER"] {
		vlan, place, _ := strings.Cut(key, "|")
		m.places[place].tagging[modelVID(vlan)] = f["tagging_mode"]
		if f["tagging_mode"] == "untagged" {
			m.places[place].native = modelVID(vlan)
		}
	}
	m.readRouting(c)
	for key, f := range c["FDB"] {
		vlan, mac, _ := strings.Cut(key, "|")
		m.fdb[modelMAC{modelVID(vlan), mac}] = modelFDB{place: f["port"], static: true}
	}
	for _, f := range c["COPP_TRAP"] {
		for _, trap := range strings.Split(f["trap_ids"], ",") {
			m.traps[trap] = c["COPP_GROUP"][f["trap_group"]]["trap_action"]
		}
	}
	m.readACLs(c)
	return m
}

func modelNumber(s string, without int) int {
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	return without
}

func modelVID(vlan string) uint16 {
	return uint16(modelNumber(strings.TrimPrefix(vlan, "Vlan"), 0))
}

// readRouting reads interfaces, neighbours and routes.
func (m *fateModel) readRouting(c device.ConfigDB) {
	connected := map[string][]netip.Prefix{}
	for _, table := range []string{"INTERFACE", "VLAN_INTERFACE", "PORTCHANNEL_INTERFACE", "LOOPBACK_INTERFACE"} {
		for key, f := range c[table] {
			name, prefix, addressed := strings.Cut(key, "|")
			if addressed {
				p := netip.MustParsePrefix(prefix)
				m.rows = append(m.rows, modelRoute{prefix: netip.PrefixFrom(p.Addr(), p.Addr().BitLen()), cpu: true})
				if table != "LOOPBACK_INTERFACE" {
					m.rows = append(m.rows, modelRoute{prefix: p.Masked(), link: name})
					connected[name] = append(connected[name], p.Masked())
				}
				continue
			}
			r := &modelInterface{name: name, mac: m.mac, there: true, loopDrops: f["loopback_action"] == "drop"}
			if f["mac_addr"] != "" {
				r.mac = f["mac_addr"]
			}
			switch table {
			case "VLAN_INTERFACE":
				r.mtu = modelNumber(f["mtu"], modelNumber(c["VLAN"][name]["mtu"], 9100))
				m.vlans[modelVID(name)] = r
			case "INTERFACE":
				r.mtu = modelNumber(f["mtu"], modelNumber(c["PORT"][name]["mtu"], 9100))
				m.places[name].rif = r
			case "PORTCHANNEL_INTERFACE":
				r.mtu = modelNumber(f["mtu"], modelNumber(c["PORTCHANNEL"][name]["mtu"], 9100))
				m.places[name].rif = r
			}
		}
	}
	for key, f := range c["NEIGH"] {
		name, addr, _ := strings.Cut(key, "|")
		m.hosts[modelHop{name, netip.MustParseAddr(addr)}] = f["neigh"]
	}
	for prefix, f := range c["STATIC_ROUTE"] {
		r := modelRoute{prefix: netip.MustParsePrefix(prefix).Masked(), drop: f["blackhole"] == "true"}
		for _, via := range strings.Split(f["nexthop"], ",") {
			for name, subnets := range connected {
				for _, p := range subnets {
					if addr, err := netip.ParseAddr(via); err == nil && p.Contains(addr) && m.hosts[modelHop{name, addr}] != "" {
						r.hops = append(r.hops, modelHop{name, addr})
					}
				}
			}
		}
		// Next hops that are down are left out, unless all are.
		if up := slices.DeleteFunc(slices.Clone(r.hops), func(h modelHop) bool { return !m.carries(h.name) }); len(up) > 0 {
			r.hops = up
		}
		slices.SortFunc(r.hops, func(a, b modelHop) int {
			return strings.Compare(a.name+a.addr.String(),
				b.name+b.addr.String())
		})
		if r.drop || len(r.hops) > 0 {
			m.rows = append(m.rows, r)
		}
	}
	for _, all := range []string{"0.0.0.0/0", "::/0"} { // as in SONiC
		if p := netip.MustParsePrefix(all); !slices.ContainsFunc(m.rows, func(r modelRoute) bool { return r.prefix == p }) {
			m.rows = append(m.rows, modelRoute{prefix: p, drop: true})
		}
	}
	m.rows = append(m.rows, modelRoute{prefix: netip.MustParsePrefix("fe80::/10"), cpu: true})
}

// carries reports whether an interface has a port or PortChannel that is up.
func (m *fateModel) carries(name string) bool {
	p := m.places[name]
	return p == nil || p.up // a VLAN: the FDB determines the port
}

// readACLs reads tables of types L3 and L3V6.
func (m *fateModel) readACLs(c device.ConfigDB) {
	for _, name := range slices.Sorted(maps.Keys(c["ACL_TABLE"])) {
		a := &modelACL{}
		for key, f := range c["ACL_RULE"] {
			if table, _, _ := strings.Cut(key, "|"); table == name {
				f = maps.Clone(f)
				f[modelRule] = key
				a.rules = append(a.rules, f)
			}
		}
		slices.SortFunc(a.rules, func(x, y swss.FieldValues) int {
			return modelNumber(y["PRIORITY"], 0) - modelNumber(x["PRIORITY"], 0)
		})
		for _, port := range strings.Split(c["ACL_TABLE"][name]["ports@"], ",") {
			if p := m.places[port]; c["ACL_TABLE"][name]["stage"] == "egress" {
				p.out = append(p.out, a)
			} else {
				p.in = append(p.in, a)
			}
		}
	}
}
