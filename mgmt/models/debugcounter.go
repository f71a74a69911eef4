package models

import (
	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// debugCounterModule returns the mapping of tamtam-debugcounter. Counts are stored in the counter rows of ports and of
// the switch, under names of statistics; they are collected here.
func debugCounterModule() tree.Module {
	const name, reason = "{name}", "{name}|{drop-reason}"
	state := func(name, field string) tree.Leaf { return leaf("state/"+name, readOnly(text(field))) }
	outcome := []tree.Leaf{state("status", schema.FieldStatus), state("reason", schema.FieldReason)}
	return tree.Module{Name: "tamtam-debugcounter", Groups: []tree.Group{
		{Path: "/debug-counters/debug-counter", Rows: []tree.Row{
			{DB: swss.ConfigDB, Table: schema.CfgDebugCounter, Key: name, Entry: true, Leaves: []tree.Leaf{
				state("type", "type"), state("alias", "alias"), state("description", "desc"), state("group", "group"),
				state("drop-monitor-status", "drop_monitor_status"), state("window", "window"),
				state("drop-count-threshold", "drop_count_threshold"),
				state("incident-count-threshold", "incident_count_threshold")}},
			{DB: swss.StateDB, Table: schema.AppDebugCounter, Key: name, Leaves: outcome},
			{DB: swss.StateDB, Source: SourceDebugCounts, Key: name, Counter: true, Leaves: []tree.Leaf{
				state("statistic", "statistic"), state("packets", "packets"), state("counted-since", "since")}},
		}},
		{Path: "/debug-counters/debug-counter/reasons/reason", Rows: []tree.Row{
			{DB: swss.ConfigDB, Table: schema.CfgDebugReason, Key: reason, Entry: true},
			{DB: swss.StateDB, Table: schema.AppDebugReason, Key: reason, Leaves: outcome},
		}},
		{Path: "/debug-counters/debug-counter/ports/port", Rows: []tree.Row{
			{DB: swss.StateDB, Source: SourceDebugCounts, Key: "{name}|{port}", Entry: true, Counter: true,
				Leaves: []tree.Leaf{state("packets", "packets"), state("counted-since", "since"),
					state("incidents", schema.FieldIncidents), state("alerts", schema.FieldAlerts),
					state("last-alert", schema.FieldLastAlert)}},
		}},
		{Path: "/debug-counters/debug-counter/persistent-drops/alert", Rows: []tree.Row{
			{DB: swss.StateDB, Source: SourceDropAlerts, Key: "{name}|{time}", Entry: true, Counter: true,
				Leaves: []tree.Leaf{state("text", "text")}},
		}},
		{Path: "/", Rows: []tree.Row{
			{DB: swss.ConfigDB, Table: schema.CfgPersistentDrops, Key: schema.PersistentDropsKey, Leaves: []tree.Leaf{
				leaf("persistent-drops/state/configured", readOnly(text("status")))}},
			{DB: swss.StateDB, Table: schema.CfgPersistentDrops, Key: schema.PersistentDropsKey, Leaves: []tree.Leaf{
				leaf("persistent-drops/state/status", readOnly(text(schema.FieldStatus))),
				leaf("persistent-drops/state/reason", readOnly(text(schema.FieldReason)))}},
		}},
		{Path: "/debug-counter-capabilities/capability", Rows: []tree.Row{
			{DB: swss.StateDB, Table: schema.StateDebugCapabilities, Key: "{type}", Entry: true, Leaves: []tree.Leaf{
				state("count", schema.FieldDebugCount),
				leaf("state/drop-reason", tree.Codec{Get: func(r tree.Record) []string {
					return schema.ParseDebugReasonList(r.Field(schema.FieldDebugReasons))
				}}),
			}},
		}},
	}}
}

// SourceDebugCounts is the source of the values of debug counters. A counter of the switch has a row NAME, a counter of
// ports a row NAME|port for each port.
const SourceDebugCounts = "debug-counters"

// SourceDropAlerts is the source of the alerts of persistent drops, with rows NAME|time.
const SourceDropAlerts = "persistent-drop-alerts"
