package fpmsyncd

import (
	"maps"
	"net/netip"
	"strconv"
	"strings"

	"tamtam/host/beside"
	"tamtam/host/fpm"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Fields of a row, as SONiC's fpmsyncd writes them.
const (
	fieldProtocol  = "protocol"
	fieldBlackhole = "blackhole"
	fieldNextHop   = "nexthop"
	fieldInterface = "ifname"
	fieldWeight    = "weight"
)

// A row of ROUTE_TABLE, without its key.
type row struct {
	protocol                string
	nexthop, ifname, weight string // lists of equal length, separated by commas
	blackhole               bool
	foreign                 string // encoded fields of a row that was found and that fpmsyncd would not write
}

// size returns the approximate memory use of the row in bytes.
func (r row) size() int {
	const overhead = 160
	return overhead + len(r.protocol) + len(r.nexthop) + len(r.ifname) + len(r.weight) + len(r.foreign)
}

// pairs returns the fields in SONiC's order.
func (r row) pairs() []swss.Pair {
	if r.foreign != "" {
		list, _ := swss.DecodeFields(r.foreign) // no error: it was encoded by EncodeFields
		return list
	}
	list := []swss.Pair{{Field: fieldProtocol, Value: r.protocol}}
	if r.blackhole {
		return append(list, swss.Pair{Field: fieldBlackhole, Value: "true"})
	}
	return append(list, swss.Pair{Field: fieldNextHop, Value: r.nexthop},
		swss.Pair{Field: fieldInterface, Value: r.ifname}, swss.Pair{Field: fieldWeight, Value: r.weight})
}

// rowOf decodes a row that was found. A row with other fields equals none that fpmsyncd writes.
func rowOf(f swss.FieldValues) row {
	r := row{
		protocol: f[fieldProtocol], nexthop: f[fieldNextHop], ifname: f[fieldInterface], weight: f[fieldWeight],
		blackhole: f[fieldBlackhole] == "true",
	}
	if !maps.Equal(f, swss.ToFieldValues(r.pairs())) {
		r = row{foreign: swss.EncodeFields(swss.Pairs(f))}
	}
	return r
}

// ours reports whether a row of ROUTE_TABLE is fpmsyncd's.
func ours(f swss.FieldValues) bool { return f[fieldProtocol] != "" && !beside.Tammgrs(f) }

// prefixOf parses the key of a row of the default VRF.
func prefixOf(key string) (netip.Prefix, bool) {
	if p, err := netip.ParsePrefix(key); err == nil {
		return p, p == p.Masked() && schema.RouteKey(p) == key
	}
	a, err := netip.ParseAddr(key)
	if err != nil || a.Zone() != "" {
		return netip.Prefix{}, false
	}
	p := netip.PrefixFrom(a, a.BitLen())
	return p, schema.RouteKey(p) == key
}

// protocols holds FRR's names of RTPROT_.
var protocols = map[uint8]string{
	2: "kernel", 3: "boot", 4: "static", 9: "ra", 11: "zebra", 16: "dhcp", 42: "babel",
	186: "bgp", 187: "isis", 188: "ospf", 189: "rip",
	190: "ripng", 191: "nhrp", 192: "eigrp", 193: "ldp", 194: "sharp", 195: "pbr",
	196: "static", 197: "openfabric", 198: "srte",
}

func protocol(number uint8) string {
	if name, ok := protocols[number]; ok {
		return name
	}
	return strconv.Itoa(int(number))
}

// mostHops is the maximum number of next hops of a row, as in SONiC; see schema.Route.
const mostHops = 128

// hopsRow returns the row of next hops, false if none of them is the switch's. Next hops on other interfaces of the
// host (eth0, lo, docker0 and so on) are left out: the chip has no path there.
func hopsRow(dest netip.Prefix, proto uint8, hops []fpm.Hop, name func(uint32) string) (row, bool) {
	none := "0.0.0.0"
	if !dest.Addr().Is4() {
		none = "::"
	}
	var nexthop, ifname, weight []string
	for _, h := range hops {
		ifn := name(h.Index)
		if schema.InterfaceTable(ifn) == "" || len(ifname) == mostHops {
			continue
		}
		addr := none
		if h.Gateway.IsValid() && !h.Gateway.IsUnspecified() {
			addr = h.Gateway.String()
		}
		nexthop, ifname = append(nexthop, addr), append(ifname, ifn)
		weight = append(weight, strconv.Itoa(int(min(h.Weight, 255))))
	}
	if len(ifname) == 0 {
		return row{}, false
	}
	return row{
		protocol: protocol(proto), nexthop: strings.Join(nexthop, ","), ifname: strings.Join(ifname, ","),
		weight: strings.Join(weight, ","),
	}, true
}
