package forward

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/drift"
	"tamtam/swss/schema"
)

// The target rows of an output are compared in the background with the actual rows, and written again if another
// client has changed them.

// compare adds the output's tables to the daemon's comparison.
func (o *Output) compare() {
	appl, state := o.r.DB(swss.ApplDB), o.r.DB(swss.StateDB)
	o.d.Watch().Add(drift.Stage{
		Name: string(swss.ApplDB),
		List: func(ctx context.Context, keys drift.Keys) ([]string, error) {
			return list(ctx, keys, appl, o.appl, func(t Table) string { return t.Appl }, o.tables)
		},
		Look: o.lookAppl, Heal: o.healAppl,
	})
	o.d.Watch().Add(drift.Stage{
		Name: string(swss.StateDB),
		List: func(ctx context.Context, keys drift.Keys) ([]string, error) {
			return list(ctx, keys, state, o.state, func(t Table) string { return t.State }, o.tables)
		},
		Look: o.lookState, Heal: o.healState,
	})
}

// list returns the rows that an output's tables of a database contain, and the rows that they should contain.
func list[E any](
	ctx context.Context, keysOf drift.Keys, db *swss.DB, wanted map[Row]E, name func(Table) string, tables []Table,
) ([]string, error) {
	all, err := keysOf(ctx, db)
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, key := range all {
		r := rowAt(db, key)
		if _, known := wanted[r]; !known && slices.ContainsFunc(tables, func(t Table) bool {
			return name(t) != "" && name(t) == r.Table && !slices.Contains(t.Others, r.Key)
		}) {
			keys = append(keys, key)
		}
	}
	for r := range wanted {
		keys = append(keys, r.Table+db.Separator()+r.Key)
	}
	slices.Sort(keys)
	return keys, nil
}

func rowAt(db *swss.DB, name string) Row {
	table, key, _ := db.Split(name)
	return Row{table, key}
}

// tableOf returns the table with a name in APPL_DB.
func (o *Output) tableOf(appl string) Table {
	return o.tables[slices.IndexFunc(o.tables, func(t Table) bool { return t.Appl == appl })]
}

// ours returns the fields of a row of APPL_DB that belong to the output, or nil if the row does not.
func (t Table) ours(row swss.FieldValues) swss.FieldValues {
	if _, marked := row[t.Mark]; row == nil || t.Mark != "" && !marked {
		return nil
	}
	if t.Fields == nil {
		return row
	}
	own := swss.FieldValues{}
	for _, f := range t.Fields {
		if v, ok := row[f]; ok {
			own[f] = v
		}
	}
	return own
}

// dirty reports whether the output is about to write, or has not read the actual rows.
func (o *Output) dirty() bool { return !o.loaded || len(o.dirtyA)+len(o.dirtyS)+len(o.dirtyD) > 0 }

func (o *Output) lookAppl(ctx context.Context, names []string) (found []drift.Finding, err error) {
	db := o.r.DB(swss.ApplDB)
	busy := o.dirty()
	read := func(i int, row swss.FieldValues, size int64) {
		r := rowAt(db, names[i])
		var want swss.FieldValues
		if e := o.appl[r]; e != nil {
			want = rowOf(e.want)
		}
		is, should := drift.Sum(o.tableOf(r.Table).ours(row))+uint64(size), drift.Sum(want)
		if is == should {
			return
		}
		f := drift.Finding{Key: names[i], What: differs(want, row), Sum: should ^ is<<1, Busy: busy}
		waits, e := db.Client().SIsMember(ctx, r.Table+"_KEY_SET", r.Key).Result()
		if e != nil {
			err = &swss.Error{DB: db.Name(), Op: "look into " + r.Table + "_KEY_SET", Err: e}
		}
		f.Busy = f.Busy || waits
		found = append(found, f)
	}
	if readErr := db.ReadRows(ctx, names, read); readErr != nil {
		return nil, readErr
	}
	return found, err
}

// differs describes how a row differs from the target.
func differs(want, is swss.FieldValues) string {
	switch {
	case is == nil:
		return "is missing"
	case want == nil:
		return "has no owner"
	}
	var fields []string
	for f, v := range want {
		if is[f] != v {
			fields = append(fields, fmt.Sprintf("%s is %.40q, should be %.40q", f, is[f], v))
		}
	}
	slices.Sort(fields)
	if len(fields) == 0 {
		return "has fields that it should not have"
	}
	return strings.Join(fields[:min(len(fields), 3)], ", ")
}

// healAppl writes rows again: they are handed over as if they had changed.
func (o *Output) healAppl(ctx context.Context, drifted []drift.Finding) error {
	db := o.r.DB(swss.ApplDB)
	names := keysOf(drifted)
	if err := db.ReadRows(ctx, names, func(i int, row swss.FieldValues, _ int64) {
		r := rowAt(db, names[i])
		o.applRow(r).have = pairsOf(o.tableOf(r.Table).ours(row))
	}); err != nil {
		return err
	}
	return o.Flush(ctx)
}

func keysOf(list []drift.Finding) []string {
	keys := make([]string, len(list))
	for i, f := range list {
		keys[i] = f.Key
	}
	return keys
}

func (o *Output) lookState(ctx context.Context, names []string) (found []drift.Finding, err error) {
	db := o.r.DB(swss.StateDB)
	busy := o.dirty()
	err = db.ReadRows(ctx, names, func(i int, row swss.FieldValues, _ int64) {
		r := rowAt(db, names[i])
		is := outcome{row[schema.StatusField(r.Table)], row[schema.FieldReason], row[schema.FieldBy]}
		var want outcome
		if e := o.state[r]; e != nil {
			want = e.want
		}
		f := drift.Finding{
			Key: names[i], Busy: busy,
			Sum: drift.SumOf(want.status, want.reason, want.by, is.status, is.reason, is.by),
		}
		saysRight := o.saysRight(r, row)
		switch {
		case want == outcome{} && is.by == "" && row[schema.FieldOperStatus] != "":
			f.What = "is the state of no row"
		case want.by == orch.Orchagent && is.by == orch.Orchagent && is.reason == orch.HandedOver:
			f.What, f.Late = "waits for "+orch.Orchagent, true
		case !saysRight && want != outcome{}:
			f.What = "does not say what it is"
		case want.by == orch.Orchagent && is.by == orch.Orchagent && is.status != "",
			is == want, want == outcome{} && (is.by == "" || is.by == orch.Orchagent && o.sharedState(r.Table)):
			return
		case want == outcome{}:
			f.What = "is a status of no row"
		case is.status == "" || is.by == "":
			f.What = "is missing: the row's status is not reported"
		default:
			f.What = fmt.Sprintf("is %.40q (%.80q, by %.40q), which its author has not reported", is.status, is.reason, is.by)
		}
		found = append(found, f)
	})
	return found, err
}

// sharedState reports whether a table of STATE_DB also has the outcomes of rows that other daemons write to APPL_DB.
func (o *Output) sharedState(state string) bool {
	return slices.ContainsFunc(o.tables, func(t Table) bool { return t.State == state && t.Appl == state && t.Mark != "" })
}

// healState writes a status again if the output is its author. If orchagent is the author, the row is handed over
// again.
func (o *Output) healState(ctx context.Context, drifted []drift.Finding) error {
	lost := map[Row]bool{}
	for _, f := range drifted {
		r := rowAt(o.r.DB(swss.StateDB), f.Key)
		e := o.stateRow(r)
		o.forgetSaid(r)
		if e.have = (outcome{by: "?"}); e.want.by == orch.Orchagent {
			lost[r] = true
		}
	}
	for r, e := range o.appl {
		if lost[e.state] {
			o.dirtyA[r] = struct{}{}
		}
	}
	return o.Flush(ctx)
}
