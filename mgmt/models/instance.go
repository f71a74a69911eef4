package models

import (
	"encoding/json"
	"strings"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Names of the network instance, and of the protocol that has the static routes.
const (
	instanceName   = schema.DefaultVRF
	staticProtocol = "STATIC"
	staticName     = "static"
)

// instanceModule returns the mapping of openconfig-network-instance. The default instance has all that is in no VRF.
// Each VRF is an instance with its interfaces and its forwarding table. Their content is written at other paths. A Set
// of VLANs, interfaces and static routes is executed at those paths.
func instanceModule() tree.Module {
	const (
		instance = "/network-instances/network-instance"
		protocol = instance + "/protocols/protocol"
		static   = protocol + "/static-routes/static"
		nextHop  = static + "/next-hops/next-hop"
	)
	// Every switch has at least one of these rows.
	there := func(leaves ...tree.Leaf) []tree.Row {
		return []tree.Row{
			{DB: swss.ApplDB, Table: schema.AppSwitch, Key: schema.SwitchKey, At: instanceName, Entry: true, Leaves: leaves},
			{DB: swss.ConfigDB, Table: schema.CfgDeviceMetadata, Key: schema.MetadataKey, At: instanceName, Entry: true,
				Leaves: leaves},
		}
	}
	kind, vrf, yes := constant("DEFAULT_INSTANCE"), constant("L3VRF"), constant("true")
	index := tree.Codec{Get: func(r tree.Record) []string { return tree.One(r.Keys[len(r.Keys)-1]) }}
	return tree.Module{Name: "openconfig-network-instance", Groups: []tree.Group{
		{
			Path: instance, View: "VRFs are written in /routing/vrfs",
			Rows: append(there(leaf("config/type", kind), leaf("state/type", kind)), tree.Row{
				DB: swss.ConfigDB, Table: schema.CfgVRF, Key: "{name}", Only: schema.VRFPrefix, Entry: true,
				Leaves: []tree.Leaf{leaf("config/type", vrf)},
			}, tree.Row{
				DB: swss.ApplDB, Table: schema.AppVRF, Key: "{name}", Only: schema.VRFPrefix,
				Leaves: []tree.Leaf{leaf("state/type", vrf)},
			}),
		},
		{Path: instance + "/interfaces/interface", View: inRouting, Second: true, Through: instanceInterfaceThrough(),
			Rows: routedInstanceRows()},
		{Path: instance + "/vlans/vlan", View: "VLANs are written in /vlans", Through: vlanThrough(), Rows: []tree.Row{
			{DB: swss.ConfigDB, Table: schema.CfgVLAN, Key: "Vlan{vlan-id}", At: instanceName, Entry: true,
				Leaves: vlanLeaves("config")},
			{DB: swss.ApplDB, Table: schema.AppVLAN, Key: "Vlan{vlan-id}", At: instanceName,
				Leaves: vlanLeaves("state")},
		}},
		{Path: instance + "/fdb/mac-table/entries/entry", View: "MAC addresses are written in /fdb", Rows: []tree.Row{
			{DB: swss.StateDB, Table: schema.StateFDB, Key: "Vlan{vlan}:{mac-address}", At: instanceName, Entry: true,
				Leaves: []tree.Leaf{leaf("interface/interface-ref/state/interface", text("port")),
					leaf("state/entry-type", words("type", "", "STATIC", schema.FDBStatic, "DYNAMIC", schema.FDBDynamic)),
				}},
		}},
		{
			Path: protocol, View: "only the default instance has a protocol",
			Rows: there(leaf("config/enabled", yes), leaf("state/enabled", yes)),
			Keys: map[string]tree.Codec{"identifier": constant(staticProtocol), "name": constant(staticName)},
		},
		{Path: static, View: inRouting, Through: staticThrough(), Rows: staticRouteRows(tree.Row{At: instanceName})},
		{
			Path: nextHop, View: inRouting, Through: staticHopThrough(nextHop),
			Rows: append(staticRouteRows(tree.Row{
				At: instanceName, Each: "index", Fold: hopsByIndex, Leaves: nextHopLeaves("config"),
			}), tree.Row{
				DB: swss.ApplDB, Table: schema.AppRoute, Key: "{prefix/host}", At: instanceName,
				Leaves: wayInForce(append(nextHopLeaves("state"), leaf("state/index", index))),
			}),
		},
	}}
}

// baseSubinterface follows the name of an interface in the id of its entry in the network instance.
const baseSubinterface = ".0"

// routedInstanceRows returns the rows of the interfaces of network instances: all that route, except those of VLANs,
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
		rows = append(rows, tree.Row{DB: swss.ConfigDB, Table: table, Key: "{*}", Of: "vrf_name", Each: "name id",
			Entry: true, Leaves: leaves, Fold: func(found map[string]string) map[string]string {
				out := map[string]string{}
				for name, vrf := range found {
					text, err := json.Marshal(map[string]string{"interface": name})
					if err == nil && !strings.Contains(name, "|") {
						out[schema.VRFName(vrf)+" "+name+baseSubinterface] = string(text)
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
