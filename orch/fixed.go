package orch

import (
	"context"
	"maps"
	"slices"

	"tamtam/swss"
	"tamtam/swss/drift"
)

// fixed holds rows of STATE_DB that describe the ASIC, such as its capabilities. They do not change while the daemon
// runs.
type fixed map[string]fixedRow

type fixedRow struct {
	table  *swss.Table
	key    string
	fields swss.FieldValues
}

// Fix adds fields to a row of STATE_DB, now and whenever another client has removed them.
func (d *Daemon) Fix(ctx context.Context, table, key string, fields swss.FieldValues) error {
	if d.fixed == nil {
		d.fixed = fixed{}
		d.watch.Add(d.fixed.stage(d.redis.DB(swss.StateDB)))
	}
	t := swss.NewTable(d.redis.DB(swss.StateDB), table)
	name := table + "|" + key
	row, ok := d.fixed[name]
	if !ok {
		row = fixedRow{table: t, key: key, fields: swss.FieldValues{}}
	}
	maps.Copy(row.fields, fields)
	d.fixed[name] = row
	return t.Set(ctx, key, fields)
}

// stage compares the rows.
func (f fixed) stage(db *swss.DB) drift.Stage {
	return drift.Stage{
		Name: "STATE_DB, what the ASIC can do",
		List: func(context.Context, drift.Keys) ([]string, error) { return slices.Sorted(maps.Keys(f)), nil },
		Look: func(ctx context.Context, names []string) (found []drift.Finding, err error) {
			err = db.ReadRows(ctx, names, func(i int, row swss.FieldValues, _ int64) {
				sum := []string{}
				for _, field := range slices.Sorted(maps.Keys(f[names[i]].fields)) {
					if is, ok := row[field]; !ok || is != f[names[i]].fields[field] {
						sum = append(sum, field, is)
					}
				}
				if len(sum) > 0 {
					found = append(found, drift.Finding{Key: names[i], What: "lacks fields, or has others", Sum: drift.SumOf(sum...)})
				}
			})
			return found, err
		},
		Heal: func(ctx context.Context, drifted []drift.Finding) error {
			for _, x := range drifted {
				if row, ok := f[x.Key]; ok {
					if err := row.table.Set(ctx, row.key, row.fields); err != nil {
						return err
					}
				}
			}
			return nil
		},
	}
}
