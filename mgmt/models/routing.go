package models

import (
	"fmt"
	"net/netip"
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
	addresses := tree.Group{Path: "/routing/interfaces/interface/addresses/address"}
	for _, table := range schema.InterfaceTables {
		only := routedKind[table]
		interfaces.Rows = append(interfaces.Rows, tree.Row{
			DB: swss.ConfigDB, Table: table, Key: "{name}", Only: only, Entry: true, Leaves: routedLeaves("config"),
		})
		addresses.Rows = append(addresses.Rows, tree.Row{
			DB: swss.ConfigDB, Table: table, Key: "{name}|{prefix}", Only: only, Entry: true,
		})
	}
	interfaces.Rows = append(interfaces.Rows, tree.Row{DB: swss.ApplDB, Table: schema.AppInterface, Key: "{name}",
		Leaves: routedLeaves("state")})
	return tree.Module{Name: "tamtam-routing", Groups: []tree.Group{
		interfaces, addresses,
		{Path: "/routing/static-routes/route", Rows: staticRouteRows(tree.Row{
			Leaves: []tree.Leaf{leaf("config/next-hop", nextHops()), leaf("state/next-hop", readOnly(nextHops()))},
		})},
		{Path: "/routing/routes/route", Rows: []tree.Row{
			{
				DB: swss.ApplDB, Table: schema.AppRoute, Key: "{prefix}", Entry: true,
				Leaves: []tree.Leaf{leaf("state/next-hop", readOnly(nextHops())), leaf("state/protocol", text("protocol"))},
			},
		}},
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

// staticRouteRows returns a row of a static route in both forms: as SONiC writes it, and without the VRF.
func staticRouteRows(r tree.Row) []tree.Row {
	r.DB, r.Table, r.Entry = swss.ConfigDB, schema.CfgStaticRoute, true
	r.Key = schema.StaticRouteKey("{prefix}")
	former := r
	former.Key, former.Former = "{prefix}", true
	return []tree.Row{r, former}
}

func routedLeaves(at string) []tree.Leaf {
	return []tree.Leaf{leaf(at+"/mtu", text("mtu")), leaf(at+"/mac-address", text("mac_addr"))}
}

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

// nextHops returns the codec of the next hops of a route: lists of equal length in several fields.
func nextHops() tree.Codec {
	fields := []string{"nexthop", "ifname", "blackhole", "distance"}
	return tree.Codec{
		Get: func(r tree.Record) (hops []string) {
			var lists [4][]string
			n := 0
			for i, f := range fields {
				if v := r.Field(f); v != "" {
					lists[i] = strings.Split(v, ",")
					n = max(n, len(lists[i]))
				}
			}
			for i := range n {
				var e [4]string
				for j, l := range lists {
					if i < len(l) {
						e[j] = strings.TrimSpace(l[i])
					}
				}
				if nextHop := formatNextHop(e[0], e[1], e[2], e[3]); nextHop != "" {
					hops = append(hops, nextHop)
				}
			}
			return hops
		},
		Put: func(r tree.Record, hops []string) error {
			var lists [4][]string
			for _, w := range hops {
				nextHop, err := parseNextHop(w)
				if err != nil {
					return err
				}
				for j, v := range nextHop {
					lists[j] = append(lists[j], v)
				}
			}
			for j, f := range fields {
				v := strings.Join(lists[j], ",")
				if none := [...]string{"", "", "false", "0"}[j]; v == strings.TrimSuffix(strings.Repeat(none+",", len(hops)), ",") {
					v = "" // all equal the value of an absent field
				}
				r.Set(f, v)
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
