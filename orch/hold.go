package orch

import (
	"context"
	"fmt"
	"time"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// A former holds the outcomes of a former process: the statuses in STATE_DB when a daemon begins.
type former struct {
	inForce bool // true if rows that were not tried yet are delayed too
	known   bool // true if rows without a status are delayed too
	status  map[string]map[string]verdict
}

// A verdict classifies the outcome of a row.
type verdict int

const (
	inForce verdict = iota
	untried         // the row was handed over to this daemon, but not tried yet
	refused         // the row was refused, or waits for capacity or another row
)

// formerDep is the dependency of rows that are delayed until the view is applied.
var formerDep = Dep{Kind: "view", Name: "applied"}

// Hold begins a view of the ASIC. Until [Daemon.Release], outcomes are not written, because only the future state of
// the ASIC is known, not the actual one. Rows that a former process could not bring in force are not handled. With
// inForce, rows that it has not tried are not handled either.
func (d *Daemon) Hold(ctx context.Context, inForce bool) error {
	return d.hold(ctx, &former{inForce: inForce})
}

// HoldUnknown does the same as Hold, for all rows that a former process did not have in force. Rows without a status
// are delayed too.
func (d *Daemon) HoldUnknown(ctx context.Context) error {
	return d.hold(ctx, &former{inForce: true, known: true})
}

func (d *Daemon) hold(ctx context.Context, f *former) error {
	f.status = map[string]map[string]verdict{}
	for _, in := range d.inputs {
		table := in.rep.StateTable
		if table == "" || f.status[table] != nil {
			continue
		}
		rows, err := swss.NewTable(d.redis.DB(swss.StateDB), table).Dump(ctx)
		if err != nil {
			return fmt.Errorf("%s: reading the earlier status of rows: %w", d.name, err)
		}
		f.status[table] = make(map[string]verdict, len(rows))
		words := d.wordsOf(in.rep)
		for key, row := range rows {
			switch status := schema.StatusIn(table, row); {
			case row["by"] != d.name: // if the manager refuses the row, its former version may be in force
				f.status[table][key] = inForce
			case status == words.Active, status == words.Unknown:
				f.status[table][key] = inForce
			case row["reason"] == HandedOver:
				f.status[table][key] = untried
			case status == words.Pending && in.rep.Formerly != nil && in.rep.Formerly(key):
				f.status[table][key] = inForce
			default:
				f.status[table][key] = refused
			}
		}
	}
	d.held, d.former = true, f
	return nil
}

// wordsOf returns the status words of a report. Those in the table of tables, if it has the table, take precedence.
func (d *Daemon) wordsOf(rep Reporting) Words {
	words := rep.Words
	if t, ok := schema.StatusTable(rep.StateTable); ok {
		words.Field, words.Active, words.Pending, words.Unknown = t.Status, t.Good, t.Waiting, t.Unknown
	}
	return words.withDefaults()
}

// Release ends a Hold. The next step writes the outcomes and handles the delayed rows. Then it calls the functions of
// AfterHold.
func (d *Daemon) Release() {
	d.held, d.former = false, nil
	d.Resolve(formerDep)
	for _, f := range d.onRelease {
		f()
	}
}

// AfterHold registers f for the step after a Hold has ended. It is called after the delayed rows were handled, and
// again until it succeeds. Objects of a former process that are not claimed when f is called are surplus.
func (d *Daemon) AfterHold(f func(context.Context) error) {
	due := false
	d.onRelease = append(d.onRelease, func() { due = true })
	at := func() time.Time {
		if due {
			return d.Now()
		}
		return time.Time{}
	}
	d.At(at, func(ctx context.Context, _ time.Time) error {
		err := f(ctx)
		due = err != nil
		return err
	})
}

// keepsBack reports whether a row waits until the view is applied. Markers, which never have a status, do not wait.
// Features do not wait either: a feature lacks resources if one session does, but its other sessions are in force.
func (f *former) keepsBack(in *input, t Task) bool {
	if f == nil || in.rep.StateTable == "" || in.rep.StateTable == schema.StateTAMFeature {
		return false
	}
	key := in.rep.Key(t.Key)
	if in.rep.RowKey != nil {
		key = in.rep.RowKey(t.Key, t.Fields)
	}
	v, reported := f.status[in.rep.StateTable][key]
	if !reported {
		return f.known && t.Key != schema.PortConfigDone && t.Key != schema.PortInitDone
	}
	return v == refused || v == untried && f.inForce
}
