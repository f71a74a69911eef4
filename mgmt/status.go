package mgmt

import (
	"tamtam/schema"
	"tamtam/swss"
)

// statusModule is tamtam-status in the databases: what became of each row.
func statusModule() Module {
	list := func(path, table, key string) Group {
		return Group{Path: path, Rows: []Row{stateRow(table, key, "state")}}
	}
	features := list("/tam/features-state/feature", schema.StateTAMFeature, "{feature-ref}")
	features.Rows[0].Leaves = features.Rows[0].Leaves[1:] // op-status is openconfig-tam's
	features.Rows[0].Entry = true
	interfaces := list("/interfaces/interface", schema.StatePort, "{name}")
	interfaces.Rows[0].Only = "Ethernet"
	lags := stateRow(schema.StateLAG, "{name}", "state")
	lags.Only = "PortChannel"
	interfaces.Rows = append(interfaces.Rows, lags)
	return Module{Name: "tamtam-status", Groups: []Group{
		{Path: "/", Rows: []Row{
			stateRow(schema.StateTAMSwitch, schema.TAMGlobalKey, "tam/switch/state"),
			stateRow(schema.StateSwitch, schema.SwitchKey, "fdb/state"),
		}},
		{Path: "/config-tables/table", Rows: []Row{
			{DB: swss.ConfigDB, Key: "{name}", Tables: true, Entry: true, Counter: true,
				Leaves: []Leaf{{"state/rows", text("rows")}}},
		}},
		features,
		list("/tam/collectors/collector", schema.StateTAMCollector, "{name}"),
		list("/tam/samplers/sampler", schema.StateTAMSampler, "{name}"),
		list("/tam/flowgroups/flowgroup", schema.StateTAMFlowGroup, "{name}"),
		list("/tam/tailstamping-sessions/tailstamping-session", schema.StateTAMTailStamp, "{name}"),
		list("/tam/alt-mark-sessions/alt-mark-session", schema.StateTAMAltMark, "{name}"),
		list("/tam/flymon-tasks/flymon-task", schema.StateTAMFlyMonTask, "{name}"),
		list("/tam/flymon-queries/flymon-query", schema.StateTAMFlyMonQuery, "{name}"),
		list("/tam/tablerecord-sessions/tablerecord-session", schema.StateTAMTableRecord, "{name}"),
		interfaces,
		list("/interfaces/interface/breakout-mode/groups/group", schema.StateBreakout, "{name}"),
		list("/interfaces/interface/aggregation/members/member", schema.StateLAGMember, "{name}|{interface}"),
		list("/vlans/vlan", schema.StateVLAN, "Vlan{vlan-id}"),
		list("/vlans/vlan/members/member", schema.StateVLANMember, "Vlan{vlan-id}|{interface}"),
		list("/routing/interfaces/interface", schema.StateInterface, "{name}"),
		list("/routing/interfaces/interface/addresses/address", schema.StateInterface, "{name}|{prefix}"),
		list("/routing/static-routes/route", schema.StateStaticRoute, "{prefix}"),
		list("/routing/neighbors/neighbor", schema.StateNeigh, "{interface}|{address}"),
		list("/fdb/static-entries/entry", schema.StateStaticFDB, "Vlan{vlan-id}|{mac-address}"),
		list("/acl/acl-sets/acl-set", schema.StateACLTable, "{name}"),
		list("/acl/acl-sets/acl-set/acl-entries/acl-entry", schema.StateACLRule, "{name}|{sequence-id}"),
	}}
}

func stateRow(table, key, at string) Row {
	return Row{DB: swss.StateDB, Table: table, Key: key, Leaves: []Leaf{
		{at + "/status", text(schema.FieldStatus)},
		{at + "/reason", text(schema.FieldReason)},
		{at + "/since", text(schema.FieldSince)},
	}}
}
