package forward

import (
	"context"
	"maps"
	"slices"

	"tamtam/swss"
)

// Some fields of a status row describe the configured row, in contrast to its outcome. The output is always the
// author of these fields, whatever process is the author of the outcome.

// A saidRow holds the descriptive fields of a status row; nil means none.
type saidRow struct{ have, want swss.FieldValues }

// Describe requests descriptive fields in a status row. Each must be in [Table.Says]. nil requests none. They are
// removed with the status row.
func (o *Output) Describe(state Row, fields swss.FieldValues) {
	if o.said[state] == nil {
		o.said[state] = &saidRow{}
	}
	o.said[state].want = fields
	o.dirtyD[state] = struct{}{}
}

// says returns the descriptive fields of a row.
func (t Table) says(row swss.FieldValues) swss.FieldValues {
	is := swss.FieldValues{}
	for _, f := range t.Says {
		if v := row[f]; v != "" {
			is[f] = v
		}
	}
	return is
}

// notSaid returns the changes that turn the descriptive fields of row into want.
func (t Table) notSaid(want, row swss.FieldValues) (set swss.FieldValues, del []string) {
	set = maps.Clone(want)
	maps.DeleteFunc(set, func(f, v string) bool { return v == "" || row[f] == v })
	for _, f := range t.Says {
		if _, is := row[f]; is && want[f] == "" {
			del = append(del, f)
		}
	}
	return set, del
}

// loadSaid records the descriptive fields of a table's status rows.
func (o *Output) loadSaid(t Table, rows map[string]swss.FieldValues) {
	if t.Says == nil {
		return
	}
	for key, row := range rows {
		r := Row{t.State, key}
		if o.said[r] == nil {
			o.said[r] = &saidRow{}
		}
		o.said[r].have = t.says(row)
		o.dirtyD[r] = struct{}{}
	}
}

// flushSaid writes the differences. A row without an outcome has no descriptive fields.
func (o *Output) flushSaid(ctx context.Context) error {
	for r := range o.dirtyD {
		e, t := o.said[r], o.stateTable(r.Table)
		if e == nil {
			continue // an earlier, unfinished flush has written all fields
		}
		if s := o.state[r]; s == nil || s.want == (outcome{}) {
			e.want = nil
		}
		set, del := t.notSaid(e.want, e.have)
		table := swss.NewTable(o.r.DB(swss.StateDB), r.Table)
		if len(del) > 0 {
			if err := table.HDel(ctx, r.Key, del...); err != nil {
				return err
			}
		}
		if len(set) > 0 {
			if err := table.Set(ctx, r.Key, set); err != nil {
				return err
			}
		}
		if e.have = t.says(e.want); len(e.have) == 0 {
			delete(o.said, r)
		}
	}
	return nil
}

// saysRight reports whether the descriptive fields of a status row are correct.
func (o *Output) saysRight(r Row, row swss.FieldValues) bool {
	e := o.said[r]
	if e == nil {
		e = &saidRow{}
	}
	set, del := o.stateTable(r.Table).notSaid(e.want, row)
	return len(set) == 0 && len(del) == 0
}

// forgetSaid makes the next flush write the descriptive fields of a row again.
func (o *Output) forgetSaid(r Row) {
	e := o.said[r]
	if e == nil {
		e = &saidRow{}
	}
	e.have = swss.FieldValues{}
	for _, f := range o.stateTable(r.Table).Says {
		e.have[f] = "?"
	}
	if len(e.have) > 0 {
		o.said[r], o.dirtyD[r] = e, struct{}{}
	}
}

// stateTable returns the table with a name in STATE_DB.
func (o *Output) stateTable(state string) Table {
	return o.tables[slices.IndexFunc(o.tables, func(t Table) bool { return t.State == state })]
}
