package models

import (
	"cmp"
	"strings"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// dropMonitorModule returns the mapping of tamtam-dropmonitor.
func dropMonitorModule() tree.Module {
	const session = "{name}"
	groups := schema.TablesOf(schema.CfgTAMGroup) // the groups, and their rules
	destination, sessions := schema.TableOf(schema.CfgTAMDestination), schema.TableOf(schema.CfgTAMSession)
	group, rule := appliedRow(groups[0], "{name}", wantedGroup), appliedRow(groups[1], "{name}:{rule-name}", wantedMatch)
	group.Fits = noRule
	entry := configRow(sessions, session)
	entry.New = map[string]string{"type": "drop-monitor", "report_type": "ipfix"}
	return tree.Module{Name: "tamtam-dropmonitor", Groups: []tree.Group{
		{Path: "/", Rows: []tree.Row{
			{DB: swss.ConfigDB, Table: schema.CfgTAMDevice, Key: schema.TAMDeviceKey, Leaves: deviceLeaves("config")},
			{DB: swss.ApplDB, Table: schema.AppTAMDevice, Key: schema.TAMDeviceKey, Behind: "tam/device/state/not-in-force",
				Wanted: wantedDevice, Leaves: deviceLeaves("state")},
			stateRow(schema.StateTAMDevice, schema.TAMDeviceKey, "tam/device/state"),
		}},
		{Path: "/tam/report-collectors/report-collector", Rows: []tree.Row{
			configRow(destination, "{name}"),
			appliedRow(destination, "{name}",
				wanted(schema.CfgTAMDestination, schema.ParseTAMDestination, schema.TAMDestination.Fields)),
		}},
		{Path: "/tam/match-groups/match-group", Rows: []tree.Row{
			configRow(groups[0], "{name}"), group,
		}},
		{Path: "/tam/match-groups/match-group/rules/rule", Rows: []tree.Row{
			configRow(groups[1], "{name}|{rule-name}"), rule,
		}},
		{Path: "/tam/drop-monitor-sessions/drop-monitor-session", Refs: map[string][]string{
			"config/flow-group": {"/tam/match-groups/match-group", "/tam/flowgroups/flowgroup"},
			"config/collector":  {"/tam/report-collectors/report-collector", "/tam/collectors/collector"},
		}, Rows: []tree.Row{
			entry, appliedRow(sessions, session, wantedDrops), dropStatus(session),
			countersRow(schema.CountersDropMonitor, session, "state/counters"),
		}, Is: ofType(schema.SessionDropMonitor)},
	}}
}

// ofType returns a function that accepts sessions of a type.
func ofType(name string) func(map[string]string) bool {
	return func(fields map[string]string) bool { return schema.SessionType(fields) == name }
}

// dropStatus returns the status row of a session. A row with only SONiC's field does not distinguish pending sessions
// from refused ones, so an inactive session then has no status.
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
	return fieldLeaves("tam/device/"+at, schema.TableOf(schema.CfgTAMDevice).Fields, map[string]tree.Codec{
		"device-id": eitherField("device-id", "device_id"), "enterprise-id": eitherField("enterprise-id", "enterprise_id")})
}

// eitherField returns the codec of a field that may have a second spelling.
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

// wantedGroup returns the target state of a flow group, with aliases of its ports resolved.
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

func wantedMatch(c tree.Configured) (map[string]string, error) {
	u, err := schema.ParseTAMGroupRule(strings.Join(c.Keys(), "|"), c.Row(schema.CfgTAMGroup))
	return u.Fields(), err
}

// wantedDrops returns the target state of a session, without the fields from its flow group and its sampler.
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

// noRule reports whether a key of APPL_DB belongs to a flow group. The key of a rule has the form GROUP:RULE.
func noRule(keys []string) bool { return !strings.Contains(keys[0], ":") }
