package orch

import (
	"context"
	"fmt"
	"time"

	"tamtam/schema"
	"tamtam/swss"
)

// A former process' outcomes are what STATE_DB says of rows when a daemon begins.
type former struct {
	inForce bool // rows that waited are kept back, too
	status  map[string]map[string]verdict
}

// A verdict is what became of a row.
type verdict int

const (
	inForce verdict = iota
	waited
	refused
)

// formerDep is what rows wait for that are kept back.
var formerDep = Dep{Kind: "view", Name: "applied"}

// Hold begins the making of a view of the ASIC: until [Daemon.Release] outcomes are kept back, since it is known what
// will be there, not what is, and rows that a former process could not bring in force are not handed out. With inForce,
// neither are those that waited for something.
func (d *Daemon) Hold(ctx context.Context, inForce bool) error {
	f := &former{inForce: inForce, status: map[string]map[string]verdict{}}
	for _, in := range d.inputs {
		table := in.rep.StateTable
		if table == "" || f.status[table] != nil {
			continue
		}
		rows, err := swss.NewTable(d.redis.DB(swss.StateDB), table).Dump(ctx)
		if err != nil {
			return fmt.Errorf("%s: what became of rows before: %w", d.name, err)
		}
		f.status[table] = make(map[string]verdict, len(rows))
		words := d.wordsOf(in.rep)
		for key, row := range rows {
			switch status := row[words.Field]; {
			case row["by"] != d.name: // of a row that the manager refuses, what it said before may be in force
			case status == words.Active:
			case status == words.Failed, status == words.Invalid:
				f.status[table][key] = refused
			default:
				f.status[table][key] = waited
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
		words.Field, words.Active, words.Pending = t.Status, t.Good, t.Waiting
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

// keepsBack reports whether a row waits until the view is applied. A row of which nothing was reported does not.
func (f *former) keepsBack(in *input, t Task) bool {
	if f == nil || in.rep.StateTable == "" {
		return false
	}
	key := in.rep.Key(t.Key)
	if in.rep.RowKey != nil {
		key = in.rep.RowKey(t.Key, t.Fields)
	}
	v := f.status[in.rep.StateTable][key]
	return v == refused || v == waited && f.inForce
}
