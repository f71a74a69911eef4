package forward

import (
	"context"
	"slices"

	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/drift"
	"tamtam/swss/schema"
)

// CompareReported adds a comparison to the daemon which checks that every row of CONFIG_DB has a status: either it is
// in force, or the status contains the reason.
func CompareReported(d *orch.Daemon, r *swss.Redis) {
	t := newReported(r)
	d.Watch().Add(drift.Stage{Name: string(swss.ConfigDB), List: t.list, Look: t.look})
}

func newReported(r *swss.Redis) reported {
	t := reported{config: r.DB(swss.ConfigDB), state: r.DB(swss.StateDB), tables: map[string][]schema.Table{}}
	for _, table := range schema.Tables() {
		if table.Config != "" && table.State != "" && table.Status != "" {
			t.tables[table.Config] = append(t.tables[table.Config], table)
		}
	}
	return t
}

type reported struct {
	config, state *swss.DB
	tables        map[string][]schema.Table // by name in CONFIG_DB; several if a table's statuses are in several tables
}

func (t reported) list(ctx context.Context, keysOf drift.Keys) ([]string, error) {
	all, err := keysOf(ctx, t.config)
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, name := range all {
		if _, watched := t.tables[rowAt(t.config, name).Table]; watched {
			keys = append(keys, name)
		}
	}
	slices.Sort(keys)
	return keys, nil
}

func (t reported) look(ctx context.Context, names []string) (found []drift.Finding, err error) {
	type place struct {
		of    int // index in names
		table schema.Table
	}
	var rows []string
	var places []place
	for i, name := range names {
		r := rowAt(t.config, name)
		for _, table := range t.tables[r.Table] {
			rows = append(rows, table.State+t.state.Separator()+schema.StatusKey(r.Table, r.Key))
			places = append(places, place{i, table})
		}
	}
	said := make([]string, len(names)) // description of the missing status of each row; "" if the row has a status
	for i := range said {
		said[i] = "has no status: whether it is in force is not reported"
	}
	if err := t.state.ReadRows(ctx, rows, func(i int, row swss.FieldValues, _ int64) {
		p := places[i]
		switch status, reason := row[p.table.Status], row[schema.FieldReason]; {
		case status == "":
		case reason == "" && !p.table.OK(status, reason):
			said[p.of] = "is " + status + ", and no reason is reported"
		default:
			said[p.of] = ""
		}
	}); err != nil {
		return nil, err
	}
	var without, what []string
	for i, missing := range said {
		if missing != "" {
			without, what = append(without, names[i]), append(what, missing)
		}
	}
	if len(without) == 0 {
		return nil, nil
	}
	err = t.config.ReadRows(ctx, without, func(i int, row swss.FieldValues, size int64) {
		if row != nil || size > 0 { // a row that is gone by now needs no status
			found = append(found, drift.Finding{Key: without[i], What: what[i], Sum: drift.Sum(row), Late: true})
		}
	})
	return found, err
}
