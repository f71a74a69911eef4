package models

import (
	"fmt"
	"strconv"
	"strings"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// flyMonModule returns the mapping of tamtam-flymon. Results are events, one of each per epoch, and no counters. They
// are sent on change.
func flyMonModule() tree.Module {
	const tasks, task = "/tam/flymon-tasks/flymon-task", "{name}"
	tasksTable, query := schema.TableOf(schema.CfgTAMFlyMonTask), schema.TableOf(schema.CfgTAMFlyMonQuery)
	answer := measuredRow(schema.CountersFlyMonAnswer, "{name}", "state/answer", nil)
	answer.JSON, answer.Leaves = "ESTIMATE", append(answer.Leaves, estimateLeaves("state/answer")...)
	group := measuredRow(schema.CountersFlyMonGroup, "{number}", "state", map[string]tree.Codec{
		"hash-units": numbered("KEYS", ";"), "free-buckets": numbered("FREE_BUCKETS", ","),
		"largest-free": numbered("LARGEST_FREE", ",")})
	group.Entry = true
	// of returns a list of estimates that are the fields of a task's row.
	of := func(path, table, key string, more ...tree.Leaf) tree.Group {
		return tree.Group{Path: tasks + path, Rows: []tree.Row{
			{DB: swss.CountersDB, Table: table, Key: task, Each: key, Entry: true,
				Leaves: append(append(estimateLeaves("state"), leaf("state/flags", list("flags"))), more...)},
		}}
	}
	return tree.Module{Name: "tamtam-flymon", Groups: []tree.Group{
		{Path: tasks, Rows: []tree.Row{
			configRow(tasksTable, task), appliedRow(tasksTable, task, wantedTask),
			measuredRow(schema.CountersFlyMonPlace, task, "state/placement", nil),
			measuredRow(schema.CountersFlyMonResult, task, "state/last-epoch", nil),
		}},
		of("/metrics/metric", schema.CountersFlyMonResult, "quantity"), // its other fields are not quantities
		of("/flows/flow", schema.CountersFlyMonFlows, "flow"),
		of("/changes/change", schema.CountersFlyMonChange, "flow",
			leaf("state/before", text("before")), leaf("state/after", text("after"))),
		of("/distribution/bin", schema.CountersFlyMonSizes, "size"),
		{Path: "/tam/flymon-queries/flymon-query", Finish: queryFits, Rows: []tree.Row{
			configRow(query, "{name}"),
			appliedRow(query, "{name}",
				wanted(schema.CfgTAMFlyMonQuery, schema.ParseFlyMonQuery, schema.FlyMonQuery.Fields)),
			answer,
		}},
		{Path: "/tam/flymon-groups/flymon-group", Rows: []tree.Row{group}},
	}}
}

// queryFits refuses a flow without the fields of the task's key. The existence of the task, and the validity of its
// row, are checked elsewhere.
func queryFits(c tree.Change) error {
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

// wantedTask returns the target state of a task as the manager forwards it. It contains the filter of the flow group
// that is in force. The group's own state shows whether that filter is up to date.
func wantedTask(c tree.Configured) (map[string]string, error) {
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

// estimateLeaves returns the leaves for the members of an estimate's JSON (schema.FormatFlyMonEstimate).
func estimateLeaves(at string) []tree.Leaf {
	return []tree.Leaf{
		leaf(at+"/estimate", text("estimate")), leaf(at+"/lower", bounded("lower")), leaf(at+"/upper", bounded("upper")),
		leaf(at+"/confidence", bounded("confidence")), leaf(at+"/bound", text("bound")), leaf(at+"/exact", text("exact")),
		leaf(at+"/saturated", tree.Codec{Get: func(r tree.Record) []string {
			if r.Field("estimate") == "" {
				return nil
			}
			return tree.One(strconv.FormatBool(r.Field("saturated") == "true"))
		}}),
	}
}

// bounded returns the codec of a field that is omitted if no bound is known.
func bounded(field string) tree.Codec {
	return tree.Codec{Get: func(r tree.Record) []string {
		if c, err := strconv.ParseFloat(r.Field("confidence"), 64); err != nil || c == 0 {
			return nil
		}
		return tree.One(r.Field(field))
	}}
}

// parted returns the codec of a field whose parts are divided by any of the separators.
func parted(field, separator string) tree.Codec {
	return tree.Codec{Get: func(r tree.Record) []string {
		return strings.FieldsFunc(r.Field(field), func(c rune) bool { return strings.ContainsRune(separator, c) })
	}}
}

// numbered returns the codec of a field that consists of parts. It puts the position before each part, as in 0=part.
func numbered(field, separator string) tree.Codec {
	return tree.Codec{Get: func(r tree.Record) []string {
		parts := parted(field, separator).Get(r)
		for i, p := range parts {
			parts[i] = strconv.Itoa(i) + "=" + p
		}
		return parts
	}}
}
