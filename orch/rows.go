package orch

import (
	"context"
	"maps"
	"slices"

	"tamtam/swss"
)

// A rows is a Subscriber that can look for rows that are gone: Redis publishes no event for the rows that FLUSHDB,
// FLUSHALL and SWAPDB delete.
type rows struct {
	*swss.Subscriber
	table *swss.Table
	known map[string]struct{} // rows that were delivered and not deleted
	look  bool
}

func newRows(s *swss.Subscriber) *rows {
	return &rows{Subscriber: s, table: swss.NewTable(s.DB(), s.Name()), known: map[string]struct{}{}}
}

// Pops implements [swss.Source].
func (r *rows) Pops(ctx context.Context) ([]swss.KeyOpFieldsValues, error) {
	items, err := r.Subscriber.Pops(ctx)
	if err != nil {
		return nil, err
	}
	for _, i := range items {
		if i.Op == swss.OpDel {
			delete(r.known, i.Key)
		} else {
			r.known[i.Key] = struct{}{}
		}
	}
	if !r.look {
		return items, nil
	}
	gone, err := r.gone(ctx)
	r.look = err != nil
	// A failure is retried later. The received rows must be handled, and before those that are gone by now.
	return append(items, gone...), nil
}

// gone returns a delete for each row that no longer exists.
func (r *rows) gone(ctx context.Context) ([]swss.KeyOpFieldsValues, error) {
	keys, err := r.table.Keys(ctx)
	if err != nil {
		return nil, err
	}
	left := make(map[string]struct{}, len(keys))
	for _, k := range keys {
		left[k] = struct{}{}
	}
	var out []swss.KeyOpFieldsValues
	for _, k := range slices.Sorted(maps.Keys(r.known)) {
		if _, ok := left[k]; !ok {
			delete(r.known, k)
			out = append(out, swss.KeyOpFieldsValues{Key: k, Op: swss.OpDel})
		}
	}
	return out, nil
}

// OnFlush calls f when a database may have been emptied while the daemon runs.
func (d *Daemon) OnFlush(f func()) { d.onFlush = append(d.onFlush, f) }

// watchFlush checks whether a database was emptied since the last call.
func (d *Daemon) watchFlush(ctx context.Context, p *swss.Pulse) error {
	emptied := d.checked && p.Emptied != d.flushCount
	d.checked, d.flushCount = true, p.Emptied
	if !emptied {
		var err error
		if emptied, err = d.lacksRows(ctx, p); err != nil || !emptied {
			return err
		}
	}
	d.log.Warn("a database was emptied: everything is looked at again")
	for _, in := range d.inputs {
		if r, ok := in.source.(*rows); ok {
			r.look = true
		}
	}
	for _, f := range d.onFlush {
		f()
	}
	return nil
}

// consumed returns the databases from which the daemon consumes rows.
func (d *Daemon) consumed() (names []swss.DBName) {
	for db := range d.compared {
		names = append(names, db.Name())
	}
	return names
}

// lacksRows reports whether a database lacks rows without an event for their deletion. It checks this only if the
// database holds fewer keys than the daemon has received rows. Fewer keys prove nothing: rows may have been deleted one
// by one, by events that the daemon has not handled yet.
func (d *Daemon) lacksRows(ctx context.Context, p *swss.Pulse) (bool, error) {
	type table struct {
		db   *swss.DB
		name string
	}
	seen, known := map[table]bool{}, map[*swss.DB]int64{}
	for _, in := range d.inputs {
		r, ok := in.source.(*rows)
		if !ok || r.look || seen[table{r.DB(), r.Name()}] {
			continue // if a table has two handlers, both count the same rows
		}
		seen[table{r.DB(), r.Name()}] = true
		known[r.DB()] += int64(len(r.known))
	}
	for db, n := range known {
		if p.DBs[db.Name()].Rows >= n {
			continue
		}
		if lacks, err := lacksUnheard(ctx, d, db); err != nil || lacks {
			return lacks, err
		}
	}
	return false, nil
}

// lacksUnheard reports whether a delivered row is gone from a database without an event.
func lacksUnheard(ctx context.Context, d *Daemon, db *swss.DB) (bool, error) {
	left := map[*rows]map[string]struct{}{}
	for _, in := range d.inputs {
		r, ok := in.source.(*rows)
		if !ok || r.look || r.DB() != db {
			continue
		}
		keys, err := r.table.Keys(ctx)
		if err != nil {
			return false, err
		}
		left[r] = make(map[string]struct{}, len(keys))
		for _, key := range keys {
			left[r][key] = struct{}{}
		}
	}
	if err := d.listener.Sync(ctx); err != nil { // after Sync the events of all rows deleted so far have arrived
		return false, err
	}
	for r, there := range left {
		for key := range r.known {
			if _, ok := there[key]; !ok && !r.Received(key) {
				return true, nil
			}
		}
	}
	return false, nil
}
