package mgmt

import (
	"fmt"
	"strconv"
	"strings"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// flyMonModule is tamtam-flymon in the databases. Results are events, one of each per epoch, not
// counters that change with each packet: they are sent on change.
func flyMonModule() Module {
	const tasks, task = "/tam/flymon-tasks/flymon-task", "{name}"
	// of is a list of estimates that are the fields of a task's row.
	of := func(path, table, key string, more ...Leaf) Group {
		return Group{Path: tasks + path, Rows: []Row{
			{DB: swss.CountersDB, Table: table, Key: task, Each: key, Entry: true,
				Leaves: append(append(estimateLeaves("state"), Leaf{"state/flags", list("flags")}), more...)},
		}}
	}
	return Module{Name: "tamtam-flymon", Groups: []Group{
		{Path: tasks, Rows: []Row{
			{
				DB: swss.ConfigDB, Table: schema.CfgTAMFlyMonTask, Key: task, Entry: true,
				Leaves: append(flyMonTaskLeaves("config"), Leaf{"config/flowgroup", text("flowgroup")}),
			},
			{
				DB: swss.ApplDB, Table: schema.AppTAMFlyMonTask, Key: task, Behind: "state/not-in-force", Wanted: wantedTask,
				Leaves: append(flyMonTaskLeaves("state"), Leaf{"state/flowgroup", text("flowgroup")}),
			},
			{DB: swss.CountersDB, Table: schema.CountersFlyMonPlace, Key: task, Leaves: placementLeaves("state/placement")},
			{
				DB: swss.CountersDB, Table: schema.CountersFlyMonResult, Key: task,
				Leaves: append(epochLeaves("state/last-epoch"), Leaf{"state/last-epoch/load", text("LOAD")},
					Leaf{"state/last-epoch/full", text("FULL")}, Leaf{"state/last-epoch/flows-from", text("FLOWS_FROM")},
					Leaf{"state/last-epoch/digests-lost", text("DIGESTS_LOST")},
					Leaf{"state/last-epoch/flows-cut", text("FLOWS_CUT")},
					Leaf{"state/last-epoch/changes-cut", text("CHANGES_CUT")}),
			},
		}},
		of("/metrics/metric", schema.CountersFlyMonResult, "quantity"), // its other fields are not quantities
		of("/flows/flow", schema.CountersFlyMonFlows, "flow"),
		of("/changes/change", schema.CountersFlyMonChange, "flow",
			Leaf{"state/before", text("before")}, Leaf{"state/after", text("after")}),
		of("/distribution/bin", schema.CountersFlyMonSizes, "size"),
		{Path: "/tam/flymon-queries/flymon-query", Finish: queryFits, Rows: []Row{
			{
				DB: swss.ConfigDB, Table: schema.CfgTAMFlyMonQuery, Key: "{name}", Entry: true,
				Leaves: []Leaf{{"config/task", text("task")}, {"config/flow", text("flow")}},
			},
			{
				DB: swss.ApplDB, Table: schema.AppTAMFlyMonQuery, Key: "{name}",
				Behind: "state/not-in-force", Wanted: wanted(schema.CfgTAMFlyMonQuery, schema.ParseFlyMonQuery,
					schema.FlyMonQuery.Fields),
				Leaves: []Leaf{{"state/task", text("task")}, {"state/flow", text("flow")}},
			},
			{
				DB: swss.CountersDB, Table: schema.CountersFlyMonAnswer, Key: "{name}", JSON: "ESTIMATE",
				Leaves: append(append(epochLeaves("state/answer"), estimateLeaves("state/answer")...),
					Leaf{"state/answer/task", text("TASK")}, Leaf{"state/answer/flow", text("FLOW")}),
			},
		}},
		{Path: "/tam/flymon-groups/flymon-group", Rows: []Row{
			{DB: swss.CountersDB, Table: schema.CountersFlyMonGroup, Key: "{number}", Entry: true, Leaves: []Leaf{
				{"state/tasks", text("TASKS")}, {"state/hash-units", numbered("KEYS", ";")},
				{"state/free-buckets", numbered("FREE_BUCKETS", ",")}, {"state/largest-free", numbered("LARGEST_FREE", ",")},
			}},
		}},
	}}
}

// queryFits refuses a flow without the fields of the task's key. That there is such a task, and
// that its row is valid, is checked elsewhere.
func queryFits(c Change) error {
	row := c.Fields(schema.CfgTAMFlyMonQuery)
	if row == nil || row["task"] == "" || row["flow"] == "" {
		return nil
	}
	fields, err := c.Entry("/tam/flymon-tasks/flymon-task", row["task"], schema.CfgTAMFlyMonTask)
	if err != nil || fields == nil {
		return err
	}
	task, err := schema.ParseFlyMonTask(row["task"], fields)
	if err != nil {
		return nil
	}
	key := task.Key
	if key.IsZero() {
		key = task.Attribute.Of
	}
	if _, err := key.Flow(row["flow"]); err != nil {
		return fmt.Errorf("config/flow: %w", err)
	}
	return nil
}

// wantedTask is the task as the manager forwards it. The filter of a flow group is the one in
// force: whether that is the group's match, the group's own state tells.
func wantedTask(c Configured) (map[string]string, error) {
	t, err := schema.ParseFlyMonTask(c.Name(), c.Row(schema.CfgTAMFlyMonTask))
	if err != nil {
		return nil, err
	}
	fields := schema.FlyMonFlow{Name: t.Name, Of: t.FlowGroup, Task: t.Task}.Fields()
	if is := c.InForce()["filter"]; t.FlowGroup != "" && is != "" {
		fields["filter"] = is
	}
	return fields, nil
}

func flyMonTaskLeaves(at string) []Leaf { return fieldLeaves(at, schema.CfgTAMFlyMonTask, "flowgroup") }

func placementLeaves(at string) []Leaf {
	leaves := []Leaf{{at + "/groups", list("GROUPS")}, {at + "/units", list("UNITS")},
		{at + "/hash-units", parted("KEYS", ";")}}
	for leaf, field := range map[string]string{
		"planned": "PLANNED", "algorithm": "ALGORITHM", "rows": "ROWS", "buckets": "BUCKETS", "banks": "BANKS",
		"bytes": "BYTES",
		"rules": "RULES", "tcam-entries": "TCAM_ENTRIES", "expected": "EXPECTED", "translation": "TRANSLATION",
	} {
		leaves = append(leaves, Leaf{at + "/" + leaf, text(field)})
	}
	return leaves
}

func epochLeaves(at string) []Leaf {
	return []Leaf{
		{at + "/epoch", text("EPOCH")}, {at + "/start", text("START")}, {at + "/end", text("END")},
		{at + "/flags", list("FLAGS")},
	}
}

// estimateLeaves are the members of the JSON of an estimate
// (schema.FormatFlyMonEstimate).
func estimateLeaves(at string) []Leaf {
	return []Leaf{
		{at + "/estimate", text("estimate")}, {at + "/lower", bounded("lower")}, {at + "/upper", bounded("upper")},
		{at + "/confidence", bounded("confidence")}, {at + "/bound", text("bound")}, {at + "/exact", text("exact")},
		{at + "/saturated", Codec{Get: func(r Record) []string {
			if r.Field("estimate") == "" {
				return nil
			}
			return one(strconv.FormatBool(r.Field("saturated") == "true"))
		}}},
	}
}

// bounded is a field that is omitted if no bound is known.
func bounded(field string) Codec {
	return Codec{Get: func(r Record) []string {
		if c, err := strconv.ParseFloat(r.Field("confidence"), 64); err != nil || c == 0 {
			return nil
		}
		return one(r.Field(field))
	}}
}

// parted is a field whose parts the separator keeps apart.
func parted(field, separator string) Codec {
	return Codec{Get: func(r Record) []string {
		return strings.FieldsFunc(r.Field(field), func(c rune) bool { return strings.ContainsRune(separator, c) })
	}}
}

// numbered is parted, with the place of each part in front: 0=part.
func numbered(field, separator string) Codec {
	return Codec{Get: func(r Record) []string {
		parts := parted(field, separator).Get(r)
		for i, p := range parts {
			parts[i] = strconv.Itoa(i) + "=" + p
		}
		return parts
	}}
}
