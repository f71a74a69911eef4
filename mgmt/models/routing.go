package models

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

const (
	staticNeighborPath = "/routing/neighbors/neighbor"
	staticFDBPath      = "/fdb/static-entries/entry"
)

// ownedByInterface returns the entries that are deleted with an interface: its routing, addresses and neighbours. The
// interface's name is the prefix and the owner's key.
func ownedByInterface(prefix string) []tree.Owned {
	return []tree.Owned{{Path: addressPath, Prefix: prefix}, {Path: routedPath, Prefix: prefix},
		{Path: staticNeighborPath, Prefix: prefix}}
}

// routingModule returns the mapping of tamtam-routing.
func routingModule() tree.Module {
	interfaces := tree.Group{Path: "/routing/interfaces/interface"}
	addresses := tree.Group{Path: addressPath, Only: func(keys []string) (name, value string) {
		ip, _, _ := strings.Cut(keys[1], "/")
		return "IP address", ip
	}}
	for _, table := range schema.RoutedTables {
		row := tree.Row{DB: swss.ConfigDB, Table: table, Only: routedKind[table], Entry: true,
			Fits: func(keys []string) bool { return keys[0] == tree.Wildcard || schema.InterfaceTable(keys[0]) == table }}
		row.Key, row.Leaves = "{name}", routedLeaves("config", table)
		interfaces.Rows = append(interfaces.Rows, row)
		row.Key, row.Leaves = "{name}|{prefix}", nil
		addresses.Rows = append(addresses.Rows, row)
	}
	interfaces.Rows = append(interfaces.Rows, tree.Row{DB: swss.ApplDB, Table: schema.AppInterface, Key: "{name}",
		Leaves: routedLeaves("state", schema.CfgVLANSubInterface)})
	return tree.Module{Name: "tamtam-routing", Groups: []tree.Group{
		{Path: "/routing/vrfs/vrf", Rows: []tree.Row{{DB: swss.ConfigDB, Table: schema.CfgVRF, Key: "{name}", Entry: true},
			{DB: swss.ApplDB, Table: schema.AppVRF, Key: "{name}"}}},
		interfaces, addresses,
		{Path: staticRoutePath, Rows: append(
			staticRouteRows(tree.Row{Leaves: []tree.Leaf{leaf("config/next-hop", nextHops())}}),
			tree.Row{DB: swss.ApplDB, Table: schema.AppRoute, Key: "{prefix/host}",
				Leaves: []tree.Leaf{leaf("state/next-hop", hopsInForce())}})},
		{Path: "/routing/routes/route", Rows: []tree.Row{{
			DB: swss.ApplDB, Table: schema.AppRoute, Key: "{prefix}", Entry: true, Fits: inDefaultVRF,
			Leaves: []tree.Leaf{leaf("state/next-hop", readOnly(nextHops())), leaf("state/protocol", text("protocol"))},
		}}},
		{Path: staticNeighborPath, Finish: finishNeighbor, Rows: []tree.Row{
			{
				DB: swss.ConfigDB, Table: schema.CfgNeigh, Key: "{interface}|{address}", Entry: true,
				Leaves: []tree.Leaf{leaf("config/mac-address", text("neigh"))},
			},
			{
				DB: swss.ApplDB, Table: schema.AppNeigh, Key: "{interface}:{address}",
				Leaves: []tree.Leaf{leaf("state/mac-address", text("neigh"))},
			},
		}},
		{Path: "/routing/host-neighbors/neighbor", Rows: []tree.Row{
			{
				DB: swss.StateDB, Table: schema.StateHostNeigh, Key: "{interface}|{address}", Entry: true,
				Leaves: []tree.Leaf{
					leaf("state/mac-address", text("neigh")), leaf("state/neighbor-state", text("state")),
					leaf("state/confirmed", text("confirmed")),
				},
			},
		}},
		{Path: "/", Rows: []tree.Row{
			{
				DB: swss.ConfigDB, Table: schema.CfgSwitch, Key: schema.SwitchKey,
				Leaves: []tree.Leaf{leaf("fdb/config/aging-time", text("fdb_aging_time"))},
			},
			{DB: swss.ApplDB, Table: schema.AppSwitch, Key: schema.SwitchKey,
				Leaves: []tree.Leaf{leaf("fdb/state/aging-time", text("fdb_aging_time"))}},
		}},
		{Path: staticFDBPath, Rows: []tree.Row{
			{
				DB: swss.ConfigDB, Table: schema.CfgFDB, Key: "Vlan{vlan-id}|{mac-address}", Entry: true,
				Leaves: []tree.Leaf{leaf("config/port", text("port"))},
			},
			{
				DB: swss.ApplDB, Table: schema.AppFDB, Key: "Vlan{vlan-id}:{mac-address}",
				Leaves: []tree.Leaf{leaf("state/port", text("port"))},
			},
		}},
		{Path: "/fdb/entries/entry", Rows: []tree.Row{
			{
				DB: swss.StateDB, Table: schema.StateFDB, Key: "Vlan{vlan-id}:{mac-address}", Entry: true,
				Leaves: []tree.Leaf{
					leaf("state/port", text("port")),
					leaf("state/entry-type", words("type", "", "STATIC", schema.FDBStatic, "DYNAMIC", schema.FDBDynamic)),
				},
			},
		}},
	}}
}

func routedLeaves(at, table string) []tree.Leaf {
	all := []tree.Leaf{leaf(at+"/mtu", text("mtu")), leaf(at+"/mac-address", text("mac_addr")),
		leaf(at+"/vrf", text("vrf_name")), leaf(at+"/vlan", text("vlan")), leaf(at+"/admin-status", text("admin_status"))}
	if table == schema.CfgVLANSubInterface {
		return all
	}
	return all[:3]
}

// inDefaultVRF accepts the keys of routes of the default VRF.
func inDefaultVRF(keys []string) bool { return !strings.HasPrefix(keys[len(keys)-1], schema.VRFPrefix) }

// finishNeighbor writes the family into the row, as SONiC does.
func finishNeighbor(c tree.Change) error {
	if row := c.Fields(schema.CfgNeigh); row != nil {
		row["family"] = "IPv6"
		if a, err := netip.ParseAddr(c.Keys()[1]); err == nil && a.Is4() {
			row["family"] = "IPv4"
		}
	}
	return nil
}

// nextHops returns the codec of the next hops of a route.
func nextHops() tree.Codec {
	return tree.Codec{
		Get: func(r tree.Record) (texts []string) {
			for _, h := range readHops(r) {
				if text := formatNextHop(h.Address, h.Interface, h.Blackhole, h.Distance); text != "" {
					texts = append(texts, text)
				}
			}
			return texts
		},
		Put: func(r tree.Record, texts []string) error {
			was, index := readHops(r), r.Field(schema.RouteIndex)
			var hops []routeHop
			for i, text := range texts {
				nextHop, err := parseNextHop(text)
				if err != nil {
					return err
				}
				h := routeHop{Index: strconv.Itoa(i)}
				if len(was) == len(texts) { // hops keep their indexes
					h.Index = was[i].Index
				}
				for j, to := range h.texts() {
					*to = nextHop[j]
				}
				hops = append(hops, h)
			}
			writeHops(r, hops)
			if len(texts) == 0 {
				r.Set(schema.RouteIndex, index) // the leaf does not have it
			}
			return nil
		},
	}
}

func formatNextHop(addr, name, blackhole, distance string) string {
	nextHop := addr
	if a, err := netip.ParseAddr(addr); err == nil && a.IsUnspecified() {
		nextHop = ""
	}
	if name != "" {
		nextHop += "@" + name
	}
	if strings.EqualFold(blackhole, "true") || strings.EqualFold(name, schema.NullInterface) {
		nextHop = "blackhole"
	}
	if nextHop != "" && distance != "" && distance != "0" {
		nextHop += "#" + distance
	}
	return nextHop
}

// parseNextHop splits a next hop into address, interface, blackhole and distance.
func parseNextHop(text string) (nextHop [4]string, err error) {
	to, distance, _ := strings.Cut(text, "#")
	if distance == "" {
		distance = "0"
	}
	if to == "blackhole" {
		return [4]string{"", "", "true", distance}, nil
	}
	addr, name, _ := strings.Cut(to, "@")
	if _, err := netip.ParseAddr(addr); addr != "" && err != nil {
		return nextHop, fmt.Errorf("%q is no address", addr)
	}
	return [4]string{addr, name, "false", distance}, nil
}
