package orch

import (
	"context"
	"fmt"
	"slices"

	"tamtam/swss"
	"tamtam/swss/drift"
	"tamtam/swss/schema"
)

// The daemon compares the status rows that it has written with the actual rows, in the background. If another process
// has deleted or changed a row, it is written again.

// compareOutcomes adds the outcomes that the daemon has written to its comparison.
func compareOutcomes(d *Daemon) {
	if d.written == nil {
		return
	}
	w := writtenRows{d.outcomes, d.redis.DB(swss.StateDB)}
	d.watch.Add(drift.Stage{Name: string(swss.StateDB), After: Manager, List: w.list, Look: w.look, Heal: w.heal})
}

// writtenRows compares the status rows that the daemon has written.
type writtenRows struct {
	*outcomes
	db *swss.DB
}

func (w writtenRows) list(context.Context, drift.Keys) ([]string, error) {
	names := make([]string, 0, len(w.written))
	for k := range w.written {
		names = append(names, k.table+w.db.Separator()+k.key)
	}
	slices.Sort(names)
	return names, nil
}

// keyOf converts the name of a row in STATE_DB to its key.
func (w writtenRows) keyOf(name string) stateKey {
	table, key, _ := w.db.Split(name)
	return stateKey{table, key}
}

// look returns the rows that differ from their last written version. It skips rows that a manager reports on, or has
// handed over again. It skips rows whose ASIC state is unknown, because their outcome is stored in another field.
func (w writtenRows) look(ctx context.Context, names []string) (found []drift.Finding, err error) {
	err = w.db.ReadRows(ctx, names, func(i int, row swss.FieldValues, _ int64) {
		k := w.keyOf(names[i])
		should, known := w.written[k]
		status, reason, by := row[should.field], row[schema.FieldReason], row[schema.FieldBy]
		_, uncertain := row[fieldWas]
		f := drift.Finding{Key: names[i], Sum: drift.SumOf(status, reason, by, should.status, should.reason, should.by)}
		switch {
		case !known, uncertain:
			return
		case status == "" || by == "":
			f.What = "is missing: the row's status is not reported"
		case by != should.by, reason == HandedOver, status == should.status && reason == should.reason:
			return
		default:
			f.What = fmt.Sprintf("contains %.40q (%.80q), which its author has not written", status, reason)
		}
		_, f.Busy = w.rows[k]
		f.Busy = f.Busy || w.held || w.asicUnknown != nil && w.asicUnknown()
		found = append(found, f)
	})
	return found, err
}

// heal writes the rows again.
func (w writtenRows) heal(_ context.Context, drifted []drift.Finding) error {
	for _, f := range drifted {
		if row, known := w.written[w.keyOf(f.Key)]; known {
			w.report(row)
		}
	}
	return nil
}

// fieldWas holds the former reason of a row while the state of its ASIC is unknown; see unknown.lua.
const fieldWas = "was"
