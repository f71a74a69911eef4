package models

import (
	"slices"
	"strings"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// statusModule returns the mapping of tamtam-status: the outcome of each row. A list whose entries are rows of a table
// of CONFIG_DB gets that table's status rows, under the same keys.
func statusModule(modules []tree.Module) tree.Module {
	features := stateRow(schema.StateTAMFeature, "{feature-ref}", "state")
	features.Leaves = features.Leaves[2:] // op-status is openconfig-tam's
	features.Entry = true
	groups := []tree.Group{
		{Path: "/", Rows: []tree.Row{
			stateRow(schema.StateTAMSwitch, schema.TAMGlobalKey, "tam/switch/state"),
			stateRow(schema.StateSwitch, schema.SwitchKey, "fdb/state"),
		}},
		{Path: "/config-tables/table", Rows: []tree.Row{
			{DB: swss.StateDB, Source: SourceTables, Key: "{name}", Entry: true, Counter: true,
				Leaves: []tree.Leaf{leaf("state/rows", text("rows"))}},
		}},
		{Path: "/tam/features-state/feature", Rows: []tree.Row{features}},
	}
	for _, m := range modules {
		for _, g := range m.Groups {
			if g.View != "" {
				continue
			}
			groups = append(groups, tree.Group{Path: g.Path, Rows: statusRows(g.Rows)})
		}
	}
	return tree.Module{Name: "tamtam-status", Groups: groups}
}

// statusRows returns the status rows of entries that consist of these rows and have none yet.
func statusRows(rows []tree.Row) (list []tree.Row) {
	for _, r := range rows {
		if r.DB != swss.ConfigDB || !r.Entry {
			continue
		}
		t := schema.TableOf(r.Table)
		reports := func(o tree.Row) bool {
			return o.DB == swss.StateDB && (o.Table == t.State || says(o, "state/status"))
		}
		if t.Status != schema.FieldStatus || slices.ContainsFunc(rows, reports) {
			continue
		}
		same := func(o tree.Row) bool { return o.Table == t.State && o.Key == r.Key }
		if i := slices.IndexFunc(list, same); i >= 0 { // one status table for rows of several tables
			before := list[i]
			list[i].Fits = func(keys []string) bool { return before.Has(keys) || strings.HasPrefix(keys[0], r.Only) }
			list[i].Only = ""
			continue
		}
		row := stateRow(t.State, r.Key, "state")
		row.Only = r.Only
		list = append(list, row)
	}
	return list
}

// says reports whether a leaf is in the row.
func says(r tree.Row, leaf string) bool {
	return slices.ContainsFunc(r.Leaves, func(l tree.Leaf) bool { return l.Path == leaf })
}

func stateRow(table, key, at string) tree.Row {
	return tree.Row{DB: swss.StateDB, Table: table, Key: key, Leaves: []tree.Leaf{
		leaf(at+"/status", text(schema.FieldStatus)),
		leaf(at+"/status-number", statusNumber()),
		leaf(at+"/reason", text(schema.FieldReason)),
		leaf(at+"/since", text(schema.FieldSince)),
	}}
}

// statusNumber returns the codec of a status as a number.
func statusNumber() tree.Codec {
	return words(schema.FieldStatus, "", "1", schema.StatusActive, "2", schema.StatusPending, "3", schema.StatusFailed,
		"4", schema.StatusUnknown, "2", schema.ACLPendingCreation, "2", "Pending removal", "3", "Inactive")
}
