package fetch

import (
	"context"
	"maps"
	"slices"
	"strings"

	"tamtam/mgmt/rights"
	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// An Object is a row of CONFIG_DB that is not, or only partly, in force, or a table that the switch does not have.
type Object struct {
	Name   string // TABLE|key, or the table's name
	Word   string // the status as STATE_DB contains it; "" if only Unapplied is to be reported
	Status string // one of [schema.Failed], [schema.Pending] and [schema.Unknown]; "" if Word is ""
	Reason string
	Since  string // in the format of RFC 3339; "" if Word is ""
	// Unapplied are the parts that no daemon applies, as KIND: REASON.
	Unapplied []string
}

// NotInForce returns all configuration that is not in force according to STATE_DB. Tables are in the order of
// [schema.StatusTables]. Objects whose only fault is that no daemon applies some of their parts come last.
func NotInForce(ctx context.Context, r *swss.Redis) (list []Object, err error) {
	from := r.Reading(ctx)
	parts := from.Dump(swss.StateDB, schema.StateUnapplied)
	for _, t := range schema.StatusTables() {
		rows := from.Dump(swss.StateDB, t.State)
		for _, key := range slices.Sorted(maps.Keys(rows)) {
			row := rows[key]
			status := t.Class(row[t.Status], row[schema.FieldReason])
			if status == "" {
				continue
			}
			o := Object{Name: t.Object(key), Word: row[t.Status], Status: status, Reason: row[schema.FieldReason],
				Since: row[schema.FieldSince], Unapplied: schema.UnappliedTexts(parts[t.Object(key)])}
			delete(parts, o.Name)
			list = append(list, o)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		list = append(list, Object{Name: name, Unapplied: schema.UnappliedTexts(parts[name])})
	}
	if from.Err() != nil {
		return nil, from.Err()
	}
	return list, nil
}

// NotInForceRows returns the objects of NotInForce as rows.
func (r Reader) NotInForceRows(ctx context.Context, _ string) (map[string]map[string]string, error) {
	list, err := NotInForce(ctx, r.Redis)
	if err != nil {
		return nil, tree.Unavailable(err)
	}
	out := make(map[string]map[string]string, len(list))
	for _, o := range list {
		row := map[string]string{}
		for f, v := range map[string]string{"status": o.Status, "reason": o.Reason, "since": o.Since,
			"unapplied": strings.Join(o.Unapplied, "\x00")} {
			if v != "" {
				row[f] = v
			}
		}
		name := o.Name
		if !strings.Contains(name, "|") {
			name += "|" + rights.AllRows
		}
		out[name] = row
	}
	return out, nil
}
