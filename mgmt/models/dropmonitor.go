package models

import (
	"cmp"
	"strings"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// dropMonitorModule is tamtam-dropmonitor in the databases.
func dropMonitorModule() tree.Module {
	const session = "{name}"
	return tree.Module{Name: "tamtam-dropmonitor", Groups: []tree.Group{
		{Path: "/", Rows: []tree.Row{
			{DB: swss.ConfigDB, Table: schema.CfgTAMDevice, Key: schema.TAMDeviceKey, Leaves: deviceLeaves("config")},
			{DB: swss.ApplDB, Table: schema.AppTAMDevice, Key: schema.TAMDeviceKey, Behind: "tam/device/state/not-in-force",
				Wanted: wantedDevice, Leaves: deviceLeaves("state")},
			stateRow(schema.StateTAMDevice, schema.TAMDeviceKey, "tam/device/state"),
		}},
		{Path: "/tam/report-collectors/report-collector", Rows: []tree.Row{
			{DB: swss.ConfigDB, Table: schema.CfgTAMDestination, Key: "{name}", Entry: true,
				Leaves: destinationLeaves("config")},
			{DB: swss.ApplDB, Table: schema.AppTAMDestination, Key: "{name}", Behind: "state/not-in-force",
				Wanted: wanted(schema.CfgTAMDestination, schema.ParseTAMDestination, schema.TAMDestination.Fields),
				Leaves: destinationLeaves("state")},
		}},
		{Path: "/tam/match-groups/match-group", Rows: []tree.Row{
			{DB: swss.ConfigDB, Table: schema.CfgTAMGroup, Key: "{name}", Entry: true, Leaves: groupLeaves("config")},
			{DB: swss.ApplDB, Table: schema.AppTAMGroup, Key: "{name}", Fits: noRule, Behind: "state/not-in-force",
				Wanted: wantedGroup, Leaves: groupLeaves("state")},
		}},
		{Path: "/tam/match-groups/match-group/rules/rule", Rows: []tree.Row{
			{DB: swss.ConfigDB, Table: schema.CfgTAMGroup, Key: "{name}|{rule-name}", Entry: true,
				Leaves: matchLeaves("config")},
			{DB: swss.ApplDB, Table: schema.AppTAMGroup, Key: "{name}:{rule-name}", Behind: "state/not-in-force",
				Wanted: wantedMatch, Leaves: matchLeaves("state")},
		}},
		{Path: "/tam/drop-monitor-sessions/drop-monitor-session", Refs: map[string][]string{
			"config/flow-group": {"/tam/match-groups/match-group", "/tam/flowgroups/flowgroup"},
			"config/collector":  {"/tam/report-collectors/report-collector", "/tam/collectors/collector"},
		}, Rows: []tree.Row{
			{DB: swss.ConfigDB, Table: schema.CfgTAMSession, Key: session, Entry: true,
				New: map[string]string{"type": "drop-monitor", "report_type": "ipfix"}, Leaves: sessionLeaves("config")},
			{DB: swss.ApplDB, Table: schema.AppTAMSession, Key: session, Behind: "state/not-in-force",
				Wanted: wantedDrops, Leaves: append(sessionLeaves("state"),
					leaf("state/sampling-rate", text("sampling-rate")),
					leaf("state/effective-aging-interval", text("effective_aging_interval")))},
			dropStatus(session),
			{DB: swss.CountersDB, Table: schema.CountersDropMonitor, Key: session, Counter: true, Leaves: []tree.Leaf{
				leaf("state/counters/dropped", text("DROPPED_PACKETS")), leaf("state/counters/trapped", text("TRAPPED_PACKETS")),
				leaf("state/counters/reports", text("REPORTS")), leaf("state/counters/messages", text("MESSAGES")),
				leaf("state/counters/suppressed", text("SUPPRESSED")), leaf("state/counters/sampled-out", text("SAMPLED_OUT")),
				leaf("state/counters/unsendable", text("UNSENDABLE")), leaf("state/counters/lost", text("LOST")),
				leaf("state/counters/evicted", text("EVICTED")),
				leaf("state/counters/flows", text("FLOWS")), leaf("state/counters/counted-since", text("COUNTED_SINCE")),
			}},
		}, Is: ofType(schema.SessionDropMonitor)},
	}}
}

// ofType accepts sessions of a type.
func ofType(name string) func(map[string]string) bool {
	return func(fields map[string]string) bool { return schema.SessionType(fields) == name }
}

// dropStatus is the status of a session. A row by somebody who has only SONiC's field for it does not say of a session
// that is not in the switch whether it waits or is refused, and then nor does the leaf.
func dropStatus(key string) tree.Row {
	row := stateRow(schema.StateTAMDropMonitor, key, "state")
	for i, like := range []tree.Codec{text(schema.FieldStatus), statusNumber()} {
		row.Leaves[i].Codec = readOnly(tree.Codec{Get: func(r tree.Record) []string {
			status := schema.StatusIn(schema.StateTAMDropMonitor, r.Fields)
			if status == schema.TAMInactive {
				return nil
			}
			return like.Get(tree.Record{Fields: map[string]string{schema.FieldStatus: status}})
		}})
	}
	row.Leaves = append(row.Leaves, leaf("state/report-type", text(schema.FieldReportType)),
		leaf("state/event-type", text(schema.FieldEventType)), leaf("state/drop-stages", list(schema.FieldDropStages)))
	return row
}

func deviceLeaves(at string) []tree.Leaf {
	at = "tam/device/" + at
	return []tree.Leaf{leaf(at+"/device-id", eitherField("device-id", "device_id")),
		leaf(at+"/enterprise-id", eitherField("enterprise-id", "enterprise_id")), leaf(at+"/ifa", text("ifa"))}
}

// eitherField is a field that may be spelled in another way, too.
func eitherField(field, other string) tree.Codec {
	return tree.Codec{
		Get: func(r tree.Record) []string { return tree.One(cmp.Or(r.Field(field), r.Field(other))) },
		Put: func(r tree.Record, v []string) error {
			r.Set(other, "")
			r.Set(field, tree.First(v))
			return nil
		},
	}
}

func wantedDevice(c tree.Configured) (map[string]string, error) {
	row := c.Row(schema.CfgTAMDevice)
	if row == nil {
		return nil, nil
	}
	d, err := schema.ParseTAMDevice(schema.TAMDeviceKey, row)
	return d.Fields(), err
}

func destinationLeaves(at string) []tree.Leaf {
	return []tree.Leaf{
		leaf(at+"/source-ip", text("src_ip")), leaf(at+"/ip", text("dst_ip")), leaf(at+"/port", text("dst_port")),
		leaf(at+"/dscp", text("dscp_value")), leaf(at+"/vrf", text("vrf")), leaf(at+"/truncate", text("truncate_size")),
	}
}

func groupLeaves(at string) []tree.Leaf {
	return []tree.Leaf{leaf(at+"/ports", list("ports")), leaf(at+"/aging-interval", text("aging_interval"))}
}

// wantedGroup is a flow group with aliases of its ports resolved.
func wantedGroup(c tree.Configured) (map[string]string, error) {
	g, err := schema.ParseTAMGroup(c.Name(), c.Row(schema.CfgTAMGroup))
	for i, name := range g.Ports {
		if port, ok := c.Port(name); ok {
			g.Ports[i] = port
		}
	}
	schema.SortNames(g.Ports)
	return g.Fields(), err
}

func matchLeaves(at string) []tree.Leaf {
	return []tree.Leaf{
		leaf(at+"/source-prefix", text("src_ip_prefix")), leaf(at+"/destination-prefix", text("dst_ip_prefix")),
		leaf(at+"/protocol", text("ip_protocol")), leaf(at+"/source-port", text("l4_src_port")),
		leaf(at+"/destination-port", text("l4_dst_port")),
	}
}

func wantedMatch(c tree.Configured) (map[string]string, error) {
	u, err := schema.ParseTAMGroupRule(strings.Join(c.Keys(), "|"), c.Row(schema.CfgTAMGroup))
	return u.Fields(), err
}

// sessionLeaves are those of both rows of a session.
func sessionLeaves(at string) []tree.Leaf {
	return []tree.Leaf{
		leaf(at+"/flow-group", text("flow_group")), leaf(at+"/collector", list("collector")),
		leaf(at+"/sampler", text("sampler")),
		leaf(at+"/drop-type", text("drop_type")), leaf(at+"/aging-interval", text("aging_interval")),
		leaf(at+"/report-layout", text("report_layout")), leaf(at+"/max-report-rate", text("max_report_rate")),
		leaf(at+"/max-report-burst", text("max_report_burst")), leaf(at+"/template-interval", text("template_interval")),
	}
}

// wantedDrops is a session without what its flow group and its sampler add.
func wantedDrops(c tree.Configured) (map[string]string, error) {
	s, err := schema.ParseDropSession(c.Name(), c.Row(schema.CfgTAMSession))
	if err != nil {
		return nil, err
	}
	return schema.DropFlow{
		Name: s.Name, FlowGroup: s.FlowGroup, Collectors: s.Collectors, Sampler: s.Sampler, Sampling: 1, OwnAging: s.Aging,
		Aging: schema.DefaultAging, DropSettings: s.DropSettings,
	}.Fields(), nil
}

// noRule says that a key of APPL_DB is that of a flow group: GROUP:RULE is a rule's.
func noRule(keys []string) bool { return !strings.Contains(keys[0], ":") }
