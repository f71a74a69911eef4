package models

import (
	"encoding/json"
	"net/netip"
	"strconv"
	"strings"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// instanceModule returns the mapping of openconfig-network-instance. There is one instance, whose content is written at
// other paths. A Set of its VLANs is executed at those paths.
func instanceModule() tree.Module {
	const (
		instance = "/network-instances/network-instance"
		protocol = instance + "/protocols/protocol"
		static   = protocol + "/static-routes/static"
	)
	only := "there is one network instance"
	// Every switch has at least one of these rows.
	there := func(leaves ...tree.Leaf) []tree.Row {
		return []tree.Row{
			{DB: swss.ApplDB, Table: schema.AppSwitch, Key: schema.SwitchKey, Entry: true, Leaves: leaves},
			{DB: swss.ConfigDB, Table: schema.CfgDeviceMetadata, Key: schema.MetadataKey, Entry: true, Leaves: leaves},
		}
	}
	kind := constant("DEFAULT_INSTANCE")
	index := tree.Codec{Get: func(r tree.Record) []string { return tree.One(r.Keys[len(r.Keys)-1]) }}
	return tree.Module{Name: "openconfig-network-instance", Groups: []tree.Group{
		{
			Path: instance, View: only, Keys: map[string]tree.Codec{"name": constant("default")},
			Rows: there(leaf("config/type", kind), leaf("state/type", kind)),
		},
		{
			Path: instance + "/interfaces/interface", View: inRouting, Second: true, Through: instanceInterfaceThrough(),
			Rows: routedInstanceRows(),
		},
		{Path: instance + "/vlans/vlan", View: "VLANs are written in /vlans", Through: vlanThrough(), Rows: []tree.Row{
			{DB: swss.ConfigDB, Table: schema.CfgVLAN, Key: "Vlan{vlan-id}", Entry: true, Leaves: vlanLeaves("config")},
			{DB: swss.ApplDB, Table: schema.AppVLAN, Key: "Vlan{vlan-id}", Leaves: vlanLeaves("state")},
		}},
		{Path: instance + "/fdb/mac-table/entries/entry", View: "MAC addresses are written in /fdb", Rows: []tree.Row{
			{DB: swss.StateDB, Table: schema.StateFDB, Key: "Vlan{vlan}:{mac-address}", Entry: true, Leaves: []tree.Leaf{
				leaf("interface/interface-ref/state/interface", text("port")),
				leaf("state/entry-type", words("type", "", "STATIC", schema.FDBStatic, "DYNAMIC", schema.FDBDynamic)),
			}},
		}},
		{
			Path: protocol, View: only, Rows: there(),
			Keys: map[string]tree.Codec{"identifier": constant("STATIC"), "name": constant("static")},
		},
		{Path: static, View: inRouting, Rows: staticRouteRows(tree.Row{})},
		{
			Path: static + "/next-hops/next-hop", View: inRouting,
			Rows: append(
				staticRouteRows(tree.Row{Each: "index", Fold: hopsByIndex, Leaves: nextHopLeaves("config")}),
				tree.Row{
					DB: swss.ApplDB, Table: schema.AppRoute, Key: "{prefix/host}",
					Leaves: wayInForce(append(nextHopLeaves("state"), leaf("state/index", index))),
				}),
		},
	}}
}

// baseSubinterface follows the name of an interface in the id of its entry in the network instance.
const baseSubinterface = ".0"

// routedInstanceRows returns the rows of the interfaces of the network instance: all that route, except those of VLANs,
// which have no subinterface.
func routedInstanceRows() (rows []tree.Row) {
	var leaves []tree.Leaf
	for _, at := range []string{"config", "state"} {
		leaves = append(leaves, leaf(at+"/interface", readOnly(text("interface"))), leaf(at+"/subinterface", constant("0")))
	}
	for _, table := range schema.InterfaceTables {
		if table == schema.CfgVLANInterface {
			continue
		}
		rows = append(rows, tree.Row{DB: swss.ConfigDB, Table: table, Key: "{*}", Each: "id", Entry: true, Leaves: leaves,
			Fold: func(found map[string]string) map[string]string {
				out := map[string]string{}
				for name := range found {
					text, err := json.Marshal(map[string]string{"interface": name})
					if err == nil && !strings.Contains(name, "|") {
						out[name+baseSubinterface] = string(text)
					}
				}
				return out
			}})
	}
	return rows
}

func vlanLeaves(at string) []tree.Leaf {
	name := tree.Codec{Get: func(r tree.Record) []string { return tree.One("Vlan" + r.Keys[len(r.Keys)-1]) }}
	return []tree.Leaf{leaf(at+"/name", name), leaf(at+"/status", vlanStatus())}
}

func vlanStatus() tree.Codec {
	return words("admin_status", "ACTIVE", "ACTIVE", "up", "SUSPENDED", "down")
}

// A routeNextHop is one next hop of a route, as JSON.
type routeNextHop struct {
	Address   string `json:"address"`
	Interface string `json:"interface"`
	Blackhole string `json:"blackhole"`
	Distance  string `json:"distance"`
}

// hopsByIndex returns the next hops of a route's row, by their position in its lists.
func hopsByIndex(fields map[string]string) map[string]string {
	row := tree.Record{Fields: fields}
	var lists [4][]string
	n := 0
	for i, f := range []string{"nexthop", "ifname", "blackhole", "distance"} {
		if v := row.Field(f); v != "" {
			lists[i] = strings.Split(v, ",")
			n = max(n, len(lists[i]))
		}
	}
	out := map[string]string{}
	for i := range n {
		at := func(list int) string {
			if i < len(lists[list]) {
				return strings.TrimSpace(lists[list][i])
			}
			return ""
		}
		nextHop := routeNextHop{at(0), at(1), at(2), at(3)}
		if strings.EqualFold(nextHop.Interface, schema.NullInterface) {
			nextHop.Interface, nextHop.Blackhole = "", "true"
		}
		text, err := json.Marshal(nextHop)
		if err == nil {
			out[strconv.Itoa(i)] = string(text)
		}
	}
	return out
}

// wayInForce returns leaves of a next hop that have a value only while the static route in force has the hop. The
// entry's own row is the configured hop. The row is the route in APPL_DB, which has the usable hops of the smallest
// distance.
func wayInForce(leaves []tree.Leaf) []tree.Leaf {
	address := func(text string) netip.Addr {
		if a, err := netip.ParseAddr(text); err == nil && !a.IsUnspecified() {
			return a
		}
		return netip.Addr{}
	}
	for i, l := range leaves {
		leaves[i].Codec = tree.Codec{Get: func(r tree.Record) []string {
			if r.Field("protocol") != "static" {
				return nil
			}
			want := tree.Record{Fields: r.Own}
			for _, text := range hopsByIndex(r.Fields) {
				is := tree.Record{Keys: r.Keys, Fields: tree.JSONFields(text)}
				if strings.EqualFold(want.Field("blackhole"), "true") == strings.EqualFold(is.Field("blackhole"), "true") &&
					address(want.Field("address")) == address(is.Field("address")) &&
					(want.Field("interface") == "" || want.Field("interface") == is.Field("interface")) {
					is.Fields["distance"] = want.Field("distance")
					return l.Codec.Get(is)
				}
			}
			return nil
		}}
	}
	return leaves
}

func nextHopLeaves(at string) []tree.Leaf {
	hop := tree.Codec{Get: func(r tree.Record) []string {
		if strings.EqualFold(r.Field("blackhole"), "true") {
			return tree.One("DROP")
		}
		if a, err := netip.ParseAddr(r.Field("address")); err == nil && !a.IsUnspecified() {
			return tree.One(a.String())
		}
		if r.Field("interface") != "" {
			return tree.One("LOCAL_LINK")
		}
		return nil
	}}
	metric := tree.Codec{Get: func(r tree.Record) []string { // 0 stands for none in a list
		return tree.One(strings.TrimPrefix(r.Field("distance"), "0"))
	}}
	return []tree.Leaf{
		leaf(at+"/next-hop", hop), leaf(at+"/metric", metric),
		leaf("interface-ref/"+at+"/interface", readOnly(text("interface"))),
	}
}
