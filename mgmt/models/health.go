package models

import (
	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/drift"
	"tamtam/swss/schema"
)

// healthModule returns the mapping of tamtam-health. The rows of daemons are written once per second, even if
// unchanged, and vanish with the daemon. The rows of alarms are written on change.
func healthModule() tree.Module {
	state := func(name, field string) tree.Leaf { return leaf("state/"+name, readOnly(text(field))) }
	return tree.Module{Name: "tamtam-health", Groups: []tree.Group{
		{Path: "/health/daemons/daemon", Rows: []tree.Row{
			{
				DB: swss.StateDB, Table: schema.StateHealth, Key: "{name}", Entry: true, Counter: true,
				Leaves: []tree.Leaf{
					leaf("state/ready", readOnly(words("state", "", "true", "ready", "false", "waiting"))),
					state("reason", "reason"), state("since", "since"),
				},
			},
			{
				DB: swss.StateDB, Table: drift.Table, Key: "{name}", Counter: true,
				Leaves: []tree.Leaf{
					state("consistency", drift.FieldState), state("differences", drift.FieldReason),
					state("objects", drift.FieldObjects), state("last-pass", drift.FieldPass), state("open", drift.FieldOpen),
					state("drift", drift.FieldDrift), state("healed", drift.FieldHealed),
				},
			},
		}},
		{Path: "/health/alarms/alarm", Rows: []tree.Row{
			{
				DB: swss.StateDB, Table: schema.StateAlarm, Key: "{id}", Entry: true,
				Leaves: alarmLeaves(),
			},
		}},
	}}
}

// alarmLeaves returns the leaves of an alarm.
func alarmLeaves() (leaves []tree.Leaf) {
	for _, f := range []string{
		schema.AlarmResource, schema.AlarmText, schema.AlarmCreated, schema.AlarmSeverity, schema.AlarmType,
	} {
		leaves = append(leaves, leaf("state/"+f, readOnly(text(f))))
	}
	return leaves
}

// outputsModule returns the mapping of tamtam-outputs. Its rows are written once per second, and vanish with mgmtd.
func outputsModule() tree.Module {
	row := tree.Row{DB: swss.StateDB, Table: schema.StateOutput, Key: "{name}", Entry: true, Counter: true}
	for _, f := range []string{
		schema.OutputKind, schema.OutputTo, schema.OutputStatus, schema.OutputReason, schema.OutputSince, schema.OutputBegan,
		schema.OutputSent, schema.OutputSentBytes, schema.OutputFailures, schema.OutputWaiting, schema.OutputWaitingBytes,
		schema.OutputOldest,
	} {
		row.Leaves = append(row.Leaves, leaf("state/"+f, readOnly(text(f))))
	}
	for _, l := range schema.OutputLosses {
		f := schema.OutputDropped + l.Name
		row.Leaves = append(row.Leaves, leaf("state/"+f, readOnly(text(f))))
	}
	return tree.Module{Name: "tamtam-outputs", Groups: []tree.Group{{Path: "/outputs/output", Rows: []tree.Row{row}}}}
}
