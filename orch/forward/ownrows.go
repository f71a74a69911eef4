package forward

import (
	"context"
	"maps"
	"slices"
	"time"

	"tamtam/orch"
	"tamtam/swss"
)

// readPeriod is the longest time for which [OwnRows] relies on the rows as it wrote them. A row that another client
// deleted or changed is written again within this time.
const readPeriod = time.Minute

// OwnRows manages the rows of a table that only this daemon writes. They include the rows of a former run of the
// daemon. All methods run on the daemon's goroutine.
type OwnRows struct {
	d     *orch.Daemon
	table *swss.Table
	there map[string]swss.FieldValues // rows in the database; nil if they have not been read
	read  time.Time                   // time of the last read
}

// NewOwnRows returns the rows of a table. They are read at the first write.
func NewOwnRows(d *orch.Daemon, db *swss.DB, table string) *OwnRows {
	o := &OwnRows{d: d, table: swss.NewTable(db, table)}
	d.OnFlush(o.Forget)
	return o
}

// Read returns the rows in the database. The caller must not change them.
func (o *OwnRows) Read(ctx context.Context) (map[string]swss.FieldValues, error) {
	if o.Stale() {
		rows, err := o.table.Dump(ctx)
		if err != nil {
			return nil, err
		}
		o.there, o.read = rows, o.d.Now()
	}
	return o.there, nil
}

// Differs reports whether a row differs from its state as written. Fields that were not written do not count.
func (o *OwnRows) Differs(key string, fields swss.FieldValues) bool {
	row := o.there[key]
	for name, value := range row {
		if fields[name] != value {
			return true
		}
	}
	return (row == nil) != (fields == nil)
}

// Stale reports whether the rows must be read again before the next write.
func (o *OwnRows) Stale() bool { return o.there == nil || o.d.Now().Sub(o.read) >= readPeriod }

// Forget discards the known rows: they are read again before the next write.
func (o *OwnRows) Forget() { o.there = nil }

// Add writes some of the rows, and leaves the others unchanged.
func (o *OwnRows) Add(ctx context.Context, rows map[string]swss.FieldValues) error {
	if err := o.table.SetMany(ctx, rows); err != nil {
		return err
	}
	if o.there != nil {
		maps.Copy(o.there, rows)
	}
	return nil
}

// Write makes the table equal to want: it writes the rows that differ, and deletes the rows and fields that are not in
// want. The caller must not change want afterwards.
func (o *OwnRows) Write(ctx context.Context, want map[string]swss.FieldValues) error {
	there, err := o.Read(ctx)
	if err != nil {
		return err
	}
	set, gone, less := map[string]swss.FieldValues{}, []string{}, map[string][]string{}
	for name, row := range want {
		if !maps.Equal(there[name], row) {
			set[name] = row
		}
	}
	for name, row := range there {
		if want[name] == nil {
			gone = append(gone, name)
			continue
		}
		for field := range row {
			if _, ok := want[name][field]; !ok {
				less[name] = append(less[name], field)
			}
		}
	}
	slices.Sort(gone)
	if err := o.table.SetMany(ctx, set); err != nil {
		return err
	}
	if err := o.table.HDelMany(ctx, less); err != nil {
		return err
	}
	if err := o.table.DelMany(ctx, gone); err != nil {
		return err
	}
	o.there = want
	return nil
}
