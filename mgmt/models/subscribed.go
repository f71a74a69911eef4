package models

import (
	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// portState returns the row of a port in force, with leaves.
func portState(leaves ...tree.Leaf) tree.Row {
	return tree.Row{DB: swss.ApplDB, Table: schema.AppPort, Key: "{name}", Only: "Ethernet", Leaves: leaves}
}

// sdnModule returns the mapping of openconfig-if-sdn-ext.
func sdnModule() tree.Module {
	viable := leaf("state/forwarding-viable", constant("true"))
	channel := tree.Row{DB: swss.ApplDB, Table: schema.AppLAG, Key: "{name}", Only: "PortChannel",
		Leaves: []tree.Leaf{viable}}
	return tree.Module{Name: "openconfig-if-sdn-ext",
		Groups: []tree.Group{{Path: interfacesPath, Rows: []tree.Row{portState(viable), channel}}}}
}

// transceiverModule returns the mapping of openconfig-platform-transceiver.
func transceiverModule() tree.Module {
	return tree.Module{Name: "openconfig-platform-transceiver", Groups: []tree.Group{{Path: interfacesPath,
		Rows: []tree.Row{portState(leaf("state/transceiver", never()), leaf("state/physical-channel", never()))}}}}
}

// p4rtModule returns the mapping of openconfig-p4rt.
func p4rtModule() tree.Module {
	return tree.Module{Name: "openconfig-p4rt", Groups: []tree.Group{
		{Path: interfacesPath, Rows: []tree.Row{portState(leaf("state/id", never()))}},
		{Path: "/components/component", Rows: []tree.Row{{
			DB: swss.ApplDB, Table: schema.AppSwitch, Key: schema.SwitchKey, At: "chip", Entry: true,
			Leaves: []tree.Leaf{leaf("integrated-circuit/state/node-id", never())},
		}}},
	}}
}
