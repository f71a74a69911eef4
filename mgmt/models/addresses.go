package models

import (
	"cmp"
	"net/netip"
	"strconv"
	"strings"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// routedPath is the list in which routed interfaces are written.
const routedPath = "/routing/interfaces/interface"

// inRouting is the reason why routed data is read-only. It states where the data is written.
const inRouting = "it is written in /routing"

// routedKind maps tables of routed interfaces to the prefix of their interfaces' names.
var routedKind = map[string]string{
	schema.CfgInterface: "Ethernet", schema.CfgVLANInterface: "Vlan", schema.CfgPortChannelInterface: "PortChannel",
	schema.CfgLoopbackInterface: "Loopback",
}

// addressesModule returns the mapping of openconfig-if-ip. Addresses and neighbours are written through to
// tamtam-routing.
func addressesModule() tree.Module {
	m := tree.Module{Name: "openconfig-if-ip", Groups: ipEnabled()}
	for _, at := range []string{"subinterfaces/subinterface", "routed-vlan"} {
		vlan := at == "routed-vlan"
		for _, family := range []string{"ipv4", "ipv6"} {
			path := interfacesPath + "/" + at + "/" + family
			m.Groups = append(m.Groups,
				tree.Group{
					Path: path + "/addresses/address", View: inRouting, Rows: addressRows(vlan, family),
					Through: addressThrough(path+"/addresses/address", vlan, family),
				},
				tree.Group{
					Path: path + "/neighbors/neighbor", View: inRouting, Rows: neighbourRows(vlan, family),
					Through: neighbourThrough(path+"/neighbors/neighbor", vlan, family),
				})
		}
	}
	return m
}

// ipEnabled returns the groups of enabled of both IP versions: true for each interface that routes.
func ipEnabled() []tree.Group {
	below := tree.Group{Path: interfacesPath + "/subinterfaces/subinterface"}
	leaves := func(at, kind string, c tree.Codec) (list []tree.Leaf) {
		for _, family := range []string{"ipv4", "ipv6"} {
			list = append(list, leaf(at+family+"/"+kind+"/enabled", c))
		}
		return list
	}
	sizes := func(at string, by *tree.Through) (list []tree.Leaf) {
		for _, mtu := range ipMTUs {
			list = append(list, leaf(at+mtu, tree.Codec{Get: text("mtu").Get, Through: by}))
		}
		return list
	}
	yes := constant("true")
	vlan := tree.Group{Path: interfacesPath, Rows: []tree.Row{
		{DB: swss.ConfigDB, Table: schema.CfgVLANInterface, Key: "{name}", Only: "Vlan",
			Leaves: append(leaves("routed-vlan/", "config", tree.Codec{Get: yes.Get, Through: routedVLANThrough()}),
				sizes("routed-vlan/", routedVLANThrough())...)},
		{DB: swss.ApplDB, Table: schema.AppInterface, Key: "{name}",
			Leaves: leaves("routed-vlan/", "state", of("Vlan", yes))},
	}}
	for _, table := range schema.InterfaceTables {
		if table == schema.CfgVLANInterface {
			continue
		}
		row := tree.Row{DB: swss.ConfigDB, Table: table, Key: "{name}", Only: routedKind[table],
			Leaves: leaves("", "config", yes)}
		if table != schema.CfgLoopbackInterface {
			row.Leaves = append(row.Leaves, sizes("", nil)...)
		}
		below.Rows = append(below.Rows, row)
	}
	below.Rows = append(below.Rows,
		tree.Row{DB: swss.ApplDB, Table: schema.AppInterface, Key: "{name}", Leaves: leaves("", "state", yes)})
	sized := func(table, kind, at string) tree.Row {
		return tree.Row{DB: swss.ApplDB, Table: table, Key: "{name}", Only: kind, Leaves: []tree.Leaf{
			leaf(at+"ipv4/state/mtu", ipMTU()), leaf(at+"ipv6/state/mtu", ipMTU()),
		}}
	}
	below.Rows = append(below.Rows, sized(schema.AppPort, "Ethernet", ""), sized(schema.AppLAG, "PortChannel", ""))
	vlan.Rows = append(vlan.Rows, sized(schema.AppVLAN, "Vlan", "routed-vlan/"))
	return []tree.Group{below, vlan}
}

// ipMTU returns the codec of the largest IP packet. The row is that of the port, PortChannel or VLAN; the entry's own
// row is that of the router interface.
func ipMTU() tree.Codec {
	return tree.Codec{Get: func(r tree.Record) []string {
		on, err := strconv.Atoi(cmp.Or(r.Field("mtu"), strconv.Itoa(schema.DefaultMTU)))
		if err != nil || r.Own == nil {
			return nil
		}
		own, _ := strconv.ParseUint(tree.Record{Fields: r.Own}.Field("mtu"), 10, 16) // 0 if there is none
		return tree.One(strconv.Itoa(schema.Interface{MTU: uint16(own)}.MTUOn(on)))
	}}
}

// ofInterface returns a function that accepts the keys of entries below a VLAN interface, or below any other interface.
// The last key must be an address of the family.
func ofInterface(vlan bool, family string) func(keys []string) bool {
	return func(keys []string) bool {
		name, ip := keys[0], keys[len(keys)-1]
		if name != tree.Wildcard && strings.HasPrefix(name, "Vlan") != vlan {
			return false
		}
		a, err := netip.ParseAddr(ip)
		return ip == tree.Wildcard || err == nil && a.Is4() == (family == "ipv4") && a.Zone() == ""
	}
}

func addressRows(vlan bool, family string) (rows []tree.Row) {
	length := tree.Codec{Get: func(r tree.Record) []string { return parts(r) }}
	kind := func(at string) (list []tree.Leaf) {
		if family == "ipv6" {
			list = append(list, leaf(at+"/type", tree.Codec{Get: func(r tree.Record) []string {
				return tree.One(addressType(r.Keys[len(r.Keys)-1]))
			}}))
		}
		return list
	}
	fits := ofInterface(vlan, family)
	for _, table := range schema.InterfaceTables {
		if (table == schema.CfgVLANInterface) == vlan {
			rows = append(rows, tree.Row{
				DB: swss.ConfigDB, Table: table, Key: "{name}|{ip}/{*}", Only: routedKind[table], Fits: fits, Entry: true,
				Leaves: append(kind("config"), leaf("config/prefix-length", length)),
			})
		}
	}
	ip := tree.Codec{Get: func(r tree.Record) []string { return tree.One(r.Keys[len(r.Keys)-1]) }}
	return append(rows, tree.Row{DB: swss.ApplDB, Table: schema.AppInterface, Key: "{name}:{ip}/{*}", Fits: fits,
		Leaves: append(kind("state"), leaf("state/ip", ip), leaf("state/prefix-length", length),
			leaf("state/origin", constant("STATIC")))})
}

// addressType returns OpenConfig's type of an IPv6 address.
func addressType(ip string) string {
	if a, err := netip.ParseAddr(ip); err == nil && a.IsLinkLocalUnicast() {
		return "LINK_LOCAL_UNICAST"
	}
	return "GLOBAL_UNICAST"
}

// neighbourRows returns the rows of the neighbours that are in force, whatever their origin.
func neighbourRows(vlan bool, family string) []tree.Row {
	fits := ofInterface(vlan, family)
	return []tree.Row{
		{
			DB: swss.ConfigDB, Table: schema.CfgNeigh, Key: "{name}|{ip}", Fits: fits, Entry: true,
			Leaves: []tree.Leaf{leaf("config/link-layer-address", readOnly(text("neigh"))),
				leaf("state/origin", constant("STATIC"))},
		},
		{
			DB: swss.ApplDB, Table: schema.AppNeigh, Key: "{name}:{ip}", Fits: fits, Entry: true,
			Leaves: []tree.Leaf{leaf("state/link-layer-address", readOnly(text("neigh"))),
				leaf("state/origin", constant("DYNAMIC"))},
		},
	}
}
