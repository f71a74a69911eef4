package orch

import (
	"context"
	"fmt"
	"time"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// A former process' outcomes are what STATE_DB says of rows when a daemon begins.
type former struct {
	inForce bool // rows that nobody has tried yet are kept back, too
	known   bool // and those of which nothing was reported
	status  map[string]map[string]verdict
}

// A verdict is what became of a row.
type verdict int

const (
	inForce verdict = iota
	untried         // it was handed over to this daemon
	refused         // or waits for something: for room, or for another row
)

// formerDep is what rows wait for that are kept back.
var formerDep = Dep{Kind: "view", Name: "applied"}

// Hold begins the making of a view of the ASIC: until [Daemon.Release] outcomes are kept back, since it is known what
// will be there, not what is, and rows that a former process could not bring in force are not handed out. With inForce,
// neither are those that it has not tried.
func (d *Daemon) Hold(ctx context.Context, inForce bool) error {
	return d.hold(ctx, &former{inForce: inForce})
}

// HoldUnknown is Hold of all rows but those that a former process had in force: those of which nothing was reported are
// kept back, too.
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
			case row["by"] != d.name: // of a row that the manager refuses, what it said before may be in force
				f.status[table][key] = inForce
			case status == words.Active, status == words.Unknown:
				f.status[table][key] = inForce
			case row["reason"] == HandedOver:
				f.status[table][key] = untried
			default:
				f.status[table][key] = refused
			}
		}
	}
	d.held, d.former = true, f
	return nil
}

// wordsOf returns the words of a report: those of the table of tables, where it has the table.
func (d *Daemon) wordsOf(rep Reporting) Words {
	words := rep.Words
	if t, ok := schema.StatusTable(rep.StateTable); ok {
		words.Field, words.Active, words.Pending, words.Unknown = t.Status, t.Good, t.Waiting, t.Unknown
	}
	return words.withDefaults()
}

// Release ends a Hold; the next step writes the outcomes, and hands out the rows, that were kept back, and then does
// what was put off by AfterHold.
func (d *Daemon) Release() {
	d.held, d.former = false, nil
	d.Resolve(formerDep)
	for _, f := range d.onRelease {
		f()
	}
}

// AfterHold has f called in the step after a Hold has ended, behind the rows that were kept back, until it succeeds:
// what a former process left and nobody has claimed by then is nobody's.
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

// keepsBack reports whether a row waits until the view is applied. Markers, of which nothing is ever reported, do not;
// nor do features, which are said to lack room when one of their sessions does: the others are in force.
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
