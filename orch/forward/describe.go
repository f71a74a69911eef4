package forward

import (
	"context"
	"maps"
	"slices"

	"tamtam/swss"
)

// What a status row says of what the configured row is, besides what became of that, is the output's to say at all
// times, whoever is the author of the outcome.

// A saidRow is what a status row says so; nil: nothing.
type saidRow struct{ have, want swss.FieldValues }

// Describe requests fields, of the Says of the row's table, in a status row; nil: none of them. With the status row
// they go, too.
func (o *Output) Describe(state Row, fields swss.FieldValues) {
	if o.said[state] == nil {
		o.said[state] = &saidRow{}
	}
	o.said[state].want = fields
	o.dirtyD[state] = struct{}{}
}

// says are the fields of a row that Describe is about.
func (t Table) says(row swss.FieldValues) swss.FieldValues {
	is := swss.FieldValues{}
	for _, f := range t.Says {
		if v := row[f]; v != "" {
			is[f] = v
		}
	}
	return is
}

// notSaid are the fields of a row that are not as they should be.
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

// loadSaid notes what status rows of a table say of what they are.
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

// flushSaid writes what differs. A row without an outcome says nothing.
func (o *Output) flushSaid(ctx context.Context) error {
	for r := range o.dirtyD {
		e, t := o.said[r], o.stateTable(r.Table)
		if e == nil {
			continue // a flush before has said all, and has not come to its end
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

// saysRight reports whether a status row says what it is.
func (o *Output) saysRight(r Row, row swss.FieldValues) bool {
	e := o.said[r]
	if e == nil {
		e = &saidRow{}
	}
	set, del := o.stateTable(r.Table).notSaid(e.want, row)
	return len(set) == 0 && len(del) == 0
}

// forgetSaid has a row say anew what it is.
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

// stateTable returns the table of STATE_DB.
func (o *Output) stateTable(state string) Table {
	return o.tables[slices.IndexFunc(o.tables, func(t Table) bool { return t.State == state })]
}
