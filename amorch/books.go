package amorch

import (
	"context"
	"maps"
	"slices"

	"tamtam/schema"
	"tamtam/swss"
)

// books keep the rows of TAM_ALTMARK_COUNTERS and TAM_ALTMARK_HISTORY.
type books struct {
	last, past *swss.Table
	rows       map[string]schema.AltMarkCounters // of bound sessions
	periods    map[string][]string               // fields of their history, the oldest first
	write      map[string]bool                   // rows to be written
	added      map[string]swss.FieldValues       // to the history
	dropped    map[string][]string               // from it
	gone       map[string]bool                   // rows to be deleted
	clocked    map[string]bool                   // rows that had what vouches for the clock
}

// open removes the rows of a former life.
func (b *books) open(ctx context.Context, r *swss.Redis) error {
	db := r.DB(swss.CountersDB)
	*b = books{
		last: swss.NewTable(db, schema.CountersAltMark), past: swss.NewTable(db, schema.CountersAltMarkPast),
		rows: map[string]schema.AltMarkCounters{}, periods: map[string][]string{}, write: map[string]bool{},
		added: map[string]swss.FieldValues{}, dropped: map[string][]string{}, gone: map[string]bool{}, clocked: map[string]bool{},
	}
	for _, t := range []*swss.Table{b.last, b.past} {
		keys, err := t.Keys(ctx)
		if err != nil {
			return err
		}
		if err := t.DelMany(ctx, keys); err != nil {
			return err
		}
	}
	return nil
}

// track has rows for a session from now on.
func (b *books) track(name string, c schema.AltMarkCounters) {
	b.rows[name] = c
	b.write[name] = true
}

// untrack deletes the rows of a session.
func (b *books) untrack(name string) {
	if _, ok := b.rows[name]; !ok {
		return
	}
	delete(b.rows, name)
	delete(b.periods, name)
	delete(b.write, name)
	delete(b.added, name)
	delete(b.dropped, name)
	delete(b.clocked, name)
	b.gone[name] = true
}

// add notes a period of a session.
func (b *books) add(name string, c schema.AltMarkCounters) {
	b.track(name, c)
	field, value := schema.FormatAltMarkPeriod(c.Period)
	if b.added[name] == nil {
		b.added[name] = swss.FieldValues{}
	}
	b.added[name][field] = value
	if !slices.Contains(b.periods[name], field) {
		b.periods[name] = append(b.periods[name], field)
	}
	for len(b.periods[name]) > schema.AltMarkHistory {
		b.dropped[name] = append(b.dropped[name], b.periods[name][0])
		delete(b.added[name], b.periods[name][0])
		b.periods[name] = slices.Delete(b.periods[name], 0, 1)
	}
}

// flush writes what has changed: histories first, so that who sees a new period
// finds it there. What could not be written is tried again with the next.
func (b *books) flush(ctx context.Context) error {
	if len(b.gone) > 0 {
		keys := slices.Sorted(maps.Keys(b.gone))
		for _, t := range []*swss.Table{b.last, b.past} {
			if err := t.DelMany(ctx, keys); err != nil {
				return err
			}
		}
		clear(b.gone)
	}
	if len(b.write) == 0 {
		return nil
	}
	if err := b.past.SetMany(ctx, b.added); err != nil {
		return err
	}
	if err := b.past.HDelMany(ctx, b.dropped); err != nil {
		return err
	}
	rows := make(map[string]swss.FieldValues, len(b.write))
	for name := range b.write {
		f := b.rows[name].Fields()
		if f["TIMESTAMP"] == "" {
			f["TIMESTAMP"], f["DIGEST"] = "", "" // the former period had them
		}
		if _, ok := f["CLOCK"]; ok {
			b.clocked[name] = true
		} else if b.clocked[name] {
			f["CLOCK"], f["KERNEL_CLOCK"], f["KERNEL_CLOCK_OFFSET"], f["KERNEL_CLOCK_ERROR"] = "", "", "", ""
		}
		rows[name] = f
	}
	if err := b.last.SetMany(ctx, rows); err != nil {
		return err
	}
	clear(b.added)
	clear(b.dropped)
	clear(b.write)
	return nil
}
