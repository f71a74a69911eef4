package mgmt

import (
	"cmp"
	"strings"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// dropMonitorModule is tamtam-dropmonitor in the databases.
func dropMonitorModule() Module {
	const session = "{name}"
	return Module{Name: "tamtam-dropmonitor", Groups: []Group{
		{Path: "/", Rows: []Row{
			{DB: swss.ConfigDB, Table: schema.CfgTAMDevice, Key: schema.TAMDeviceKey, Leaves: deviceLeaves("config")},
			{DB: swss.ApplDB, Table: schema.AppTAMDevice, Key: schema.TAMDeviceKey, Behind: "tam/device/state/not-in-force",
				Wanted: wantedDevice, Leaves: deviceLeaves("state")},
			stateRow(schema.StateTAMDevice, schema.TAMDeviceKey, "tam/device/state"),
		}},
		{Path: "/tam/report-collectors/report-collector", Rows: []Row{
			{DB: swss.ConfigDB, Table: schema.CfgTAMDestination, Key: "{name}", Entry: true,
				Leaves: destinationLeaves("config")},
			{DB: swss.ApplDB, Table: schema.AppTAMDestination, Key: "{name}", Behind: "state/not-in-force",
				Wanted: wanted(schema.CfgTAMDestination, schema.ParseTAMDestination, schema.TAMDestination.Fields),
				Leaves: destinationLeaves("state")},
		}},
		{Path: "/tam/match-groups/match-group", Rows: []Row{
			{DB: swss.ConfigDB, Table: schema.CfgTAMGroup, Key: "{name}", Entry: true, Leaves: groupLeaves("config")},
			{DB: swss.ApplDB, Table: schema.AppTAMGroup, Key: "{name}", Fits: noRule, Behind: "state/not-in-force",
				Wanted: wantedGroup, Leaves: groupLeaves("state")},
		}},
		{Path: "/tam/match-groups/match-group/rules/rule", Rows: []Row{
			{DB: swss.ConfigDB, Table: schema.CfgTAMGroup, Key: "{name}|{rule-name}", Entry: true,
				Leaves: matchLeaves("config")},
			{DB: swss.ApplDB, Table: schema.AppTAMGroup, Key: "{name}:{rule-name}", Behind: "state/not-in-force",
				Wanted: wantedMatch, Leaves: matchLeaves("state")},
		}},
		{Path: "/tam/drop-monitor-sessions/drop-monitor-session", Refs: map[string][]string{
			"config/flow-group": {"/tam/match-groups/match-group", "/tam/flowgroups/flowgroup"},
			"config/collector":  {"/tam/report-collectors/report-collector", "/tam/collectors/collector"},
		}, Rows: []Row{
			{DB: swss.ConfigDB, Table: schema.CfgTAMSession, Key: session, Entry: true,
				New: map[string]string{"type": "drop-monitor", "report_type": "ipfix"}, Leaves: sessionLeaves("config")},
			{DB: swss.ApplDB, Table: schema.AppTAMSession, Key: session, Behind: "state/not-in-force",
				Wanted: wantedDrops, Leaves: append(sessionLeaves("state"),
					Leaf{"state/sampling-rate", text("sampling-rate")},
					Leaf{"state/effective-aging-interval", text("effective_aging_interval")})},
			dropStatus(session),
			{DB: swss.CountersDB, Table: schema.CountersDropMonitor, Key: session, Counter: true, Leaves: []Leaf{
				{"state/counters/dropped", text("DROPPED_PACKETS")}, {"state/counters/trapped", text("TRAPPED_PACKETS")},
				{"state/counters/reports", text("REPORTS")}, {"state/counters/messages", text("MESSAGES")},
				{"state/counters/suppressed", text("SUPPRESSED")}, {"state/counters/sampled-out", text("SAMPLED_OUT")},
				{"state/counters/unsendable", text("UNSENDABLE")}, {"state/counters/lost", text("LOST")},
				{"state/counters/evicted", text("EVICTED")},
				{"state/counters/flows", text("FLOWS")}, {"state/counters/counted-since", text("COUNTED_SINCE")},
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
func dropStatus(key string) Row {
	row := stateRow(schema.StateTAMDropMonitor, key, "state")
	for i, like := range []Codec{text(schema.FieldStatus), statusNumber()} {
		row.Leaves[i].Codec = readOnly(Codec{Get: func(r Record) []string {
			status := schema.StatusIn(schema.StateTAMDropMonitor, r.Fields)
			if status == schema.TAMInactive {
				return nil
			}
			return like.Get(Record{Fields: map[string]string{schema.FieldStatus: status}})
		}})
	}
	row.Leaves = append(row.Leaves, Leaf{"state/report-type", text(schema.FieldReportType)},
		Leaf{"state/event-type", text(schema.FieldEventType)}, Leaf{"state/drop-stages", list(schema.FieldDropStages)})
	return row
}

func deviceLeaves(at string) []Leaf {
	at = "tam/device/" + at
	return []Leaf{{at + "/device-id", eitherField("device-id", "device_id")},
		{at + "/enterprise-id", eitherField("enterprise-id", "enterprise_id")}, {at + "/ifa", text("ifa")}}
}

// eitherField is a field that may be spelled in another way, too.
func eitherField(field, other string) Codec {
	return Codec{
		Get: func(r Record) []string { return one(cmp.Or(r.Field(field), r.Field(other))) },
		Put: func(r Record, v []string) error {
			r.Set(other, "")
			r.Set(field, first(v))
			return nil
		},
	}
}

func wantedDevice(c Configured) (map[string]string, error) {
	row := c.Row(schema.CfgTAMDevice)
	if row == nil {
		return nil, nil
	}
	d, err := schema.ParseTAMDevice(schema.TAMDeviceKey, row)
	return d.Fields(), err
}

func destinationLeaves(at string) []Leaf {
	return []Leaf{
		{at + "/source-ip", text("src_ip")}, {at + "/ip", text("dst_ip")}, {at + "/port", text("dst_port")},
		{at + "/dscp", text("dscp_value")}, {at + "/vrf", text("vrf")}, {at + "/truncate", text("truncate_size")},
	}
}

func groupLeaves(at string) []Leaf {
	return []Leaf{{at + "/ports", list("ports")}, {at + "/aging-interval", text("aging_interval")}}
}

// wantedGroup is a flow group with aliases of its ports resolved.
func wantedGroup(c Configured) (map[string]string, error) {
	g, err := schema.ParseTAMGroup(c.Name(), c.Row(schema.CfgTAMGroup))
	for i, name := range g.Ports {
		if port, ok := c.Port(name); ok {
			g.Ports[i] = port
		}
	}
	schema.SortNames(g.Ports)
	return g.Fields(), err
}

func matchLeaves(at string) []Leaf {
	return []Leaf{
		{at + "/source-prefix", text("src_ip_prefix")}, {at + "/destination-prefix", text("dst_ip_prefix")},
		{at + "/protocol", text("ip_protocol")}, {at + "/source-port", text("l4_src_port")},
		{at + "/destination-port", text("l4_dst_port")},
	}
}

func wantedMatch(c Configured) (map[string]string, error) {
	u, err := schema.ParseTAMGroupRule(strings.Join(c.Keys(), "|"), c.Row(schema.CfgTAMGroup))
	return u.Fields(), err
}

// sessionLeaves are those of both rows of a session.
func sessionLeaves(at string) []Leaf {
	return []Leaf{
		{at + "/flow-group", text("flow_group")}, {at + "/collector", list("collector")}, {at + "/sampler", text("sampler")},
		{at + "/drop-type", text("drop_type")}, {at + "/aging-interval", text("aging_interval")},
		{at + "/report-layout", text("report_layout")}, {at + "/max-report-rate", text("max_report_rate")},
		{at + "/max-report-burst", text("max_report_burst")}, {at + "/template-interval", text("template_interval")},
	}
}

// wantedDrops is a session without what its flow group and its sampler add.
func wantedDrops(c Configured) (map[string]string, error) {
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
