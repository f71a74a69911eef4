// Package aft binds OpenConfig's abstract forwarding tables to the databases: the routes of APPL_DB, whatever their
// origin, and the subnets of interfaces. What configures routes is not here.
package aft

import (
	"encoding/json"
	"hash/fnv"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"tamtam/mgmt/models/kit"
	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Modules returns the mappings of openconfig-aft. SONiC writes the next hops into each route, but OpenConfig numbers
// next hops and their groups. Each number is a hash of the content, so that it stays the same as long as the content
// does.
func Modules() []tree.Module {
	const afts = "/network-instances/network-instance/afts"
	next := func(each string, visit func(hops []hop, add func(key string, h hop)), leaves ...tree.Leaf) []tree.Row {
		// fold returns what visit adds for each route that all yields.
		fold := func(all func(map[string]string, func(string, []hop))) func(map[string]string) map[string]string {
			return func(rows map[string]string) map[string]string {
				out := map[string]string{}
				all(rows, func(vrf string, hops []hop) {
					visit(hops, func(key string, h hop) { out[schema.VRFName(vrf)+" "+key] = hopText(h) })
				})
				return out
			}
		}
		return []tree.Row{{
			DB: swss.ApplDB, Table: schema.AppRoute, Key: "{*}", Of: "nexthop ifname weight blackhole", Each: "name " + each,
			Fold: fold(eachRoute), Entry: true, Leaves: leaves,
		}, {
			DB: swss.ApplDB, Table: schema.AppInterface, Key: "{*}", Of: "vrf_name", Each: "name " + each,
			Fold: fold(eachLink), Entry: true, Leaves: leaves,
		}}
	}
	subinterface := tree.Codec{Get: func(r tree.Record) []string {
		return tree.One(kit.Subinterface(r.Field("interface")))
	}}
	m := tree.Module{Name: "openconfig-network-instance", Groups: []tree.Group{
		{Path: afts + "/next-hops/next-hop", Rows: append(next("index", visitHops,
			kit.Leaf("state/ip-address", kit.ReadOnly(kit.Text("address"))),
			kit.Leaf("interface-ref/state/interface", kit.ReadOnly(kit.Text("interface"))),
			kit.Leaf("interface-ref/state/subinterface", subinterface)), tree.Row{
			DB: swss.ApplDB, Table: schema.AppNeigh, Key: "{*}", Of: "neigh", Each: "index", Fold: resolvedHops,
			Leaves: []tree.Leaf{kit.Leaf("state/mac-address", kit.MAC("mac"))},
		})},
		{Path: afts + "/next-hop-groups/next-hop-group", Rows: next("id", visitGroups)},
		{Path: afts + "/next-hop-groups/next-hop-group/next-hops/next-hop", Rows: next("id index", visitMembers,
			kit.Leaf("state/weight", kit.ReadOnly(kit.Text("weight"))))},
	}}
	group := tree.Codec{Get: func(r tree.Record) []string {
		hops := routeHops(r.Field("nexthop"), r.Field("ifname"), r.Field("weight"), r.Field("blackhole"))
		if len(hops) == 0 {
			return nil
		}
		return tree.One(hopGroup(hops))
	}}
	origin := tree.Codec{Get: func(r tree.Record) []string {
		switch p := strings.ToLower(r.Field("protocol")); p {
		case "static", "bgp", "ospf", "isis":
			return tree.One(strings.ToUpper(p))
		}
		return nil
	}}
	to := tree.Module{Name: "openconfig-aft-network-instance"}
	for _, family := range []string{"ipv4", "ipv6"} {
		path := afts + "/" + family + "-unicast/" + family + "-entry"
		row := tree.Row{DB: swss.ApplDB, Table: schema.AppRoute, Key: "{prefix/host}", At: schema.DefaultVRF, Entry: true,
			Fits: ofFamilyOf(family)}
		in := tree.Row{DB: swss.ApplDB, Table: schema.AppRoute, Key: "{name}:{prefix/host}", Only: schema.VRFPrefix,
			Entry: true, Fits: ofFamilyOf(family)}
		// A subnet comes before a route to the same prefix, as in the ASIC.
		link := tree.Row{DB: swss.ApplDB, Table: schema.AppInterface, Key: "{*}", Of: "vrf_name",
			Each: "name prefix", Fold: linksOf(family), Entry: true}
		link.Leaves = []tree.Leaf{kit.Leaf("state/origin-protocol", kit.Constant("DIRECTLY_CONNECTED"))}
		row.Leaves = []tree.Leaf{kit.Leaf("state/origin-protocol", origin)}
		in.Leaves = row.Leaves
		m.Groups = append(m.Groups, tree.Group{Path: path, Rows: []tree.Row{link, row, in}})
		link.Leaves = []tree.Leaf{kit.Leaf("state/next-hop-group", kit.ReadOnly(kit.Text("group"))),
			inInstance(kit.Text("group"))}
		row.Leaves = []tree.Leaf{kit.Leaf("state/next-hop-group", group), inInstance(group)}
		in.Leaves = row.Leaves
		to.Groups = append(to.Groups, tree.Group{Path: path, Rows: []tree.Row{link, row, in}})
	}
	return []tree.Module{m, to, summaryModule(afts)}
}

// inInstance returns the leaf with the network instance of a route's group of next hops, for the codec of the group.
func inInstance(group tree.Codec) tree.Leaf {
	return kit.Leaf("state/next-hop-group-network-instance", tree.Codec{Get: func(r tree.Record) []string {
		if group.Get(r) == nil {
			return nil
		}
		return tree.One(r.Keys[0])
	}})
}

// SourceSummary is the source of the numbers of routes. It has a row for each network instance, family and
// origin-protocol, such as "default|ipv4-unicast|STATIC", with the field aft-entries.
const SourceSummary = "aft-summaries"

// summaryModule returns the mapping of openconfig-aft-summary.
func summaryModule(afts string) tree.Module {
	m := tree.Module{Name: "openconfig-aft-summary"}
	for _, family := range []string{"ipv4-unicast", "ipv6-unicast"} {
		m.Groups = append(m.Groups, tree.Group{Path: afts + "/aft-summaries/" + family + "/protocols/protocol",
			Rows: []tree.Row{{
				DB: swss.StateDB, Source: SourceSummary, Key: "{name}|" + family + "|{origin-protocol}", Entry: true,
				Counter: true,
				Leaves:  []tree.Leaf{kit.Leaf("state/counters/aft-entries", kit.ReadOnly(kit.Text("aft-entries")))},
			}}})
	}
	return m
}

// resolvedHops returns the MAC address of each next hop that is a neighbour, by the number of the next hop. keys of
// neighbours are those of NEIGH_TABLE.
func resolvedHops(neighbours map[string]string) map[string]string {
	out := map[string]string{}
	for _, key := range tree.SortedKeys(neighbours) {
		name, address, _ := strings.Cut(key, ":")
		text, err := json.Marshal(map[string]string{"mac": neighbours[key]})
		if a, bad := netip.ParseAddr(address); bad == nil && err == nil && neighbours[key] != "" {
			out[hop{Address: a.String(), Interface: name}.index()] = string(text)
		}
	}
	return out
}

// ofFamilyOf returns a function that accepts the keys of routes whose network has a family.
func ofFamilyOf(family string) func(keys []string) bool {
	return func(keys []string) bool {
		if keys[0] != tree.Wildcard && keys[0] != schema.DefaultVRF && !strings.HasPrefix(keys[0], schema.VRFPrefix) {
			return false // the beginning of an IPv6 network
		}
		last := keys[len(keys)-1]
		p, err := netip.ParsePrefix(last)
		return last == tree.Wildcard || err == nil && p.Addr().Is4() == (family == "ipv4")
	}
}

// A hop is a next hop of a route.
type hop struct {
	Address   string `json:"address,omitempty"`
	Interface string `json:"interface,omitempty"`
	Weight    string `json:"weight"`
}

// index returns the number of a next hop. Its weight in a group does not matter.
func (h hop) index() string { return number64(h.Address + "@" + h.Interface) }

// hopGroup returns the number of a group of next hops. Their order does not matter.
func hopGroup(hops []hop) string {
	var texts []string
	for _, h := range hops {
		texts = append(texts, h.Address+"@"+h.Interface+"*"+h.Weight)
	}
	slices.Sort(texts)
	return number64(strings.Join(texts, ","))
}

func number64(text string) string {
	h := fnv.New64a()
	h.Write([]byte(text))
	return strconv.FormatUint(h.Sum64(), 10)
}

// routeHops returns the next hops of a route from its fields, which are lists of equal length. A route that drops
// packets has none.
func routeHops(addresses, interfaces, weights, blackhole string) (hops []hop) {
	if strings.EqualFold(blackhole, "true") || addresses+interfaces == "" {
		return nil
	}
	a, i, w := strings.Split(addresses, ","), strings.Split(interfaces, ","), strings.Split(weights, ",")
	at := func(list []string, n int) string {
		if n < len(list) {
			return strings.TrimSpace(list[n])
		}
		return ""
	}
	for n := range max(len(a), len(i)) {
		h := hop{Interface: at(i, n), Weight: "1"}
		if addr, err := netip.ParseAddr(at(a, n)); err == nil && !addr.IsUnspecified() {
			h.Address = addr.String()
		}
		if v := at(w, n); v != "" {
			h.Weight = v
		}
		hops = append(hops, h)
	}
	return hops
}

// eachRoute calls visit with the VRF and the next hops of each route. Fields of a route are separated by bars.
func eachRoute(routes map[string]string, visit func(vrf string, hops []hop)) {
	for key, text := range routes {
		vrf := ""
		if strings.HasPrefix(key, schema.VRFPrefix) {
			vrf, _, _ = strings.Cut(key, ":")
		}
		if f := strings.Split(text, "|"); len(f) == 4 {
			if hops := routeHops(f[0], f[1], f[2], f[3]); len(hops) > 0 {
				visit(vrf, hops)
			}
		}
	}
}

// link returns the subnet that an address of an interface makes reachable, and the next hop, for a key of INTF_TABLE. A
// loopback, a link-local address and an address without a subnet make none.
func link(key string) (subnet netip.Prefix, h hop, ok bool) {
	name, text, _ := strings.Cut(key, ":")
	p, err := netip.ParsePrefix(text)
	if err != nil || schema.IsLoopbackName(name) || p.Addr().IsLinkLocalUnicast() || p.IsSingleIP() {
		return netip.Prefix{}, hop{}, false
	}
	return p.Masked(), hop{Interface: name, Weight: "1"}, true
}

// eachLink calls visit with the VRF and the next hop of each subnet of the interfaces, whose values are their VRFs.
func eachLink(interfaces map[string]string, visit func(vrf string, hops []hop)) {
	for key := range interfaces {
		if _, h, ok := link(key); ok {
			visit(interfaces[h.Interface], []hop{h})
		}
	}
}

// linksOf returns a function that returns the interfaces' subnets of a family, by network instance and subnet, each
// with its group of next hops.
func linksOf(family string) func(map[string]string) map[string]string {
	return func(interfaces map[string]string) map[string]string {
		out := map[string]string{}
		for _, key := range tree.SortedKeys(interfaces) {
			subnet, h, ok := link(key)
			to := schema.VRFName(interfaces[h.Interface]) + " " + subnet.String()
			if _, taken := out[to]; ok && !taken && subnet.Addr().Is4() == (family == "ipv4") {
				out[to] = `{"group":"` + hopGroup([]hop{h}) + `"}`
			}
		}
		return out
	}
}

// visitHops adds the next hops of a route.
func visitHops(hops []hop, add func(key string, h hop)) {
	for _, h := range hops {
		index := h.index()
		h.Interface = kit.ServedInterface(h.Interface)
		add(index, h)
	}
}

// visitGroups adds the group of a route's next hops.
func visitGroups(hops []hop, add func(key string, h hop)) { add(hopGroup(hops), hop{}) }

// visitMembers adds the members of the group of a route's next hops.
func visitMembers(hops []hop, add func(key string, h hop)) {
	for _, h := range hops {
		add(hopGroup(hops)+" "+h.index(), h)
	}
}

func hopText(h hop) string {
	text, _ := json.Marshal(h) // strings can always be encoded
	return string(text)
}
