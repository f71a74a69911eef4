package mgmt

import (
	"tamtam/swss"
	"tamtam/swss/drift"
	"tamtam/swss/schema"
)

// healthModule is tamtam-health in the databases. The rows of daemons are written once per second whether they change
// or not, and go away with the daemon; those of alarms change with what they tell.
func healthModule() Module {
	leaf := func(leaf, field string) Leaf { return Leaf{"state/" + leaf, readOnly(text(field))} }
	return Module{Name: "tamtam-health", Groups: []Group{
		{Path: "/health/daemons/daemon", Rows: []Row{
			{
				DB: swss.StateDB, Table: schema.StateHealth, Key: "{name}", Entry: true, Counter: true,
				Leaves: []Leaf{
					{"state/ready", readOnly(words("state", "", "true", "ready", "false", "waiting"))},
					leaf("reason", "reason"), leaf("since", "since"),
				},
			},
			{
				DB: swss.StateDB, Table: drift.Table, Key: "{name}", Counter: true,
				Leaves: []Leaf{
					leaf("consistency", drift.FieldState), leaf("differences", drift.FieldReason),
					leaf("objects", drift.FieldObjects), leaf("last-pass", drift.FieldPass), leaf("open", drift.FieldOpen),
					leaf("drift", drift.FieldDrift), leaf("healed", drift.FieldHealed),
				},
			},
		}},
		{Path: "/health/alarms/alarm", Rows: []Row{
			{
				DB: swss.StateDB, Table: schema.StateAlarm, Key: "{id}", Entry: true,
				Leaves: alarmLeaves(),
			},
		}},
	}}
}

// alarmLeaves are those of an alarm.
func alarmLeaves() (leaves []Leaf) {
	for _, f := range []string{
		schema.AlarmResource, schema.AlarmText, schema.AlarmCreated, schema.AlarmSeverity, schema.AlarmType,
	} {
		leaves = append(leaves, Leaf{"state/" + f, readOnly(text(f))})
	}
	return leaves
}

// outputsModule is tamtam-outputs in the databases. Its rows are written once per second, and go away with mgmtd.
func outputsModule() Module {
	row := Row{DB: swss.StateDB, Table: schema.StateOutput, Key: "{name}", Entry: true, Counter: true}
	for _, f := range []string{
		schema.OutputKind, schema.OutputTo, schema.OutputStatus, schema.OutputReason, schema.OutputSince, schema.OutputBegan,
		schema.OutputSent, schema.OutputSentBytes, schema.OutputFailures, schema.OutputWaiting, schema.OutputWaitingBytes,
		schema.OutputOldest,
	} {
		row.Leaves = append(row.Leaves, Leaf{"state/" + f, readOnly(text(f))})
	}
	for _, l := range schema.OutputLosses {
		f := schema.OutputDropped + l.Name
		row.Leaves = append(row.Leaves, Leaf{"state/" + f, readOnly(text(f))})
	}
	return Module{Name: "tamtam-outputs", Groups: []Group{{Path: "/outputs/output", Rows: []Row{row}}}}
}
