package feature

import (
	"context"
	"maps"
	"slices"
	"strings"

	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/drift"
	"tamtam/swss/schema"
)

// Rows are the rows of a table of COUNTERS_DB that a feature writes: as written, and as they should be. [Rows.Flush]
// writes only the differences. Rows of a previous run stay until the first view is applied, so that readers do not
// notice a restart of orchagent. Then the rows of sessions that are not in the ASIC are deleted. Counters of a chip
// that is gone are deleted immediately.
type Rows struct {
	Table string
	// Places means that these are the rows of STATE_DB that store the places of sessions in the chip.
	Places bool
	// Clears means that operators can clear the counters, see [schema.CountersCleared].
	Clears bool
	// Keep reports whether a row of a previous run has its session in the ASIC. nil means that the row has the
	// session's name.
	Keep func(key string) bool

	db        *swss.DB
	table     *swss.Table
	has       map[string]swss.FieldValues // the rows as written
	put       map[string]swss.FieldValues // rows to be written
	gone      map[string]bool             // rows to be deleted
	restarted map[string]bool             // rows whose cleared counters are obsolete

	former map[string]swss.FieldValues // the rows of a previous run
	mine   map[string]bool             // the rows of former that this run has put, too
}

// open reads the rows of a previous run.
func (r *Rows) open(ctx context.Context, cfg Config) error {
	db := swss.CountersDB
	if r.Places {
		db = swss.StateDB
	}
	r.db = cfg.Redis.DB(db)
	r.table = swss.NewTable(r.db, r.Table)
	r.put, r.gone, r.mine = map[string]swss.FieldValues{}, map[string]bool{}, map[string]bool{}
	r.restarted = map[string]bool{}
	cfg.Daemon.OnFlush(r.lost)
	cfg.Daemon.Watch().Add(drift.Stage{Name: string(db), List: r.list, Look: r.look, Heal: r.heal})
	former, err := r.table.Dump(ctx)
	if err != nil {
		return err
	}
	r.former, r.has = former, maps.Clone(former)
	if r.Clears && cfg.Run != "" {
		return r.ofChip(ctx, cfg.Run)
	}
	return nil
}

// ofChip deletes the rows of a previous run if another chip counted them. This chip counts from zero, and may count
// more before its first reading.
func (r *Rows) ofChip(ctx context.Context, run string) error {
	counted := swss.NewTable(r.db, schema.CountersRun)
	if was, _, err := counted.Get(ctx, r.Table); err != nil || was["run"] == run {
		return err
	}
	for key := range r.former {
		r.Drop(key)
	}
	r.former = nil
	if err := r.Flush(ctx); err != nil {
		return err
	}
	return counted.Set(ctx, r.Table, swss.FieldValues{"run": run})
}

// Former returns a row of a previous run. It returns nil if there was none or the first view was applied.
func (r *Rows) Former(key string) swss.FieldValues { return r.former[key] }

// AllFormer returns the rows of a previous run, by key. The caller must not change them.
func (r *Rows) AllFormer() map[string]swss.FieldValues { return r.former }

// forgetFormer drops the rows of a previous run, except those of sessions that this run has too.
func (r *Rows) forgetFormer(inASIC func(session string) bool) {
	keep := r.Keep
	if keep == nil {
		keep = inASIC
	}
	for key := range r.former {
		if !r.mine[key] && !keep(key) {
			r.Drop(key)
		}
	}
	r.former, r.mine = nil, nil
}

// lost makes the next Flush write all rows again, after a database was emptied.
func (r *Rows) lost() {
	for key, row := range r.has {
		if _, newer := r.put[key]; !newer && !r.gone[key] {
			r.put[key] = row
		}
	}
	clear(r.has)
}

// list returns the names of the rows that the table contains or that were written.
func (r *Rows) list(ctx context.Context, keys drift.Keys) ([]string, error) {
	names, err := keys(ctx, r.db)
	if err != nil {
		return nil, err
	}
	all, prefix := map[string]bool{}, r.Table+r.db.Separator()
	for _, name := range names {
		if strings.HasPrefix(name, prefix) {
			all[name] = true
		}
	}
	for key := range r.has {
		all[prefix+key] = true
	}
	return slices.Sorted(maps.Keys(all)), nil
}

// look returns the rows that another client deleted, changed or created. The names of the differing fields identify a
// finding, since the values of counters change with each poll. If a row is larger than [swss.MaxRow], look checks
// only that it exists.
func (r *Rows) look(ctx context.Context, names []string) (found []drift.Finding, err error) {
	err = r.db.ReadRows(ctx, names, func(i int, row swss.FieldValues, size int64) {
		_, key, _ := r.db.Split(names[i])
		changed, foreign := difference(row, r.has[key])
		if len(changed)+len(foreign) == 0 && size == 0 || r.has[key] != nil && size > 0 {
			return
		}
		fields := append(foreign, slices.Collect(maps.Keys(changed))...)
		slices.Sort(fields)
		f := drift.Finding{Key: names[i], Sum: drift.SumOf(fields...)}
		f.Busy = r.former != nil || r.put[key] != nil || r.gone[key]
		switch {
		case r.has[key] == nil:
			f.What = "belongs to no session"
		case row == nil:
			f.What = "is missing"
		default:
			f.What = "contains other values than were written: " + strings.Join(fields[:min(len(fields), 3)], ", ")
		}
		found = append(found, f)
	})
	return found, err
}

// heal corrects the changes of other clients: it writes deleted and changed rows again, and deletes created rows.
func (r *Rows) heal(ctx context.Context, drifted []drift.Finding) error {
	for _, f := range drifted {
		_, key, _ := r.db.Split(f.Key)
		row, there, err := r.table.Get(ctx, key)
		if err != nil {
			return err
		}
		want := r.Get(key)
		if delete(r.has, key); there {
			r.has[key] = row
		}
		if want == nil {
			r.gone[key] = true
		} else if r.put[key] == nil {
			r.put[key] = want
		}
	}
	return r.Flush(ctx)
}

// Put replaces the content of a row. The caller must not change it afterwards.
func (r *Rows) Put(key string, row swss.FieldValues) {
	if delete(r.gone, key); r.former[key] != nil {
		r.mine[key] = true
	}
	if delete(r.put, key); !maps.Equal(r.has[key], row) {
		r.put[key] = row
	}
}

// Drop deletes a row.
func (r *Rows) Drop(key string) {
	delete(r.put, key)
	if r.has[key] != nil {
		r.gone[key] = true
		r.Restart(key)
	}
}

// Restart records that the counters of a row restart from zero, so that an earlier clear by an operator is obsolete.
func (r *Rows) Restart(key string) {
	if r.Clears {
		r.restarted[key] = true
	}
}

// Get returns the target content of a row, or nil if there should be none.
func (r *Rows) Get(key string) swss.FieldValues {
	if row, ok := r.put[key]; ok {
		return row
	}
	if r.gone[key] {
		return nil
	}
	return r.has[key]
}

// Flush writes the changes. The next Flush retries those that failed.
func (r *Rows) Flush(ctx context.Context) error {
	if len(r.gone) > 0 {
		if err := r.table.DelMany(ctx, slices.Sorted(maps.Keys(r.gone))); err != nil {
			return err
		}
		for key := range r.gone {
			delete(r.has, key)
		}
		r.gone = orch.Emptied(r.gone)
	}
	if len(r.restarted) > 0 {
		if err := r.forgetCleared(ctx); err != nil {
			return err
		}
	}
	if len(r.put) == 0 {
		return nil
	}
	fresh, stale := map[string]swss.FieldValues{}, map[string][]string{}
	for key, row := range r.put {
		fresh[key], stale[key] = difference(r.has[key], row)
	}
	maps.DeleteFunc(fresh, func(_ string, changed swss.FieldValues) bool { return len(changed) == 0 })
	maps.DeleteFunc(stale, func(_ string, fields []string) bool { return len(fields) == 0 })
	if err := r.table.SetMany(ctx, fresh); err != nil {
		return err
	}
	for key, changed := range fresh { // the stale fields are still there
		all := swss.FieldValues{}
		maps.Copy(all, r.has[key])
		maps.Copy(all, changed)
		r.has[key] = all
	}
	if err := r.table.HDelMany(ctx, stale); err != nil {
		return err
	}
	for key, row := range r.put {
		if r.has[key] = row; len(row) == 0 {
			delete(r.has, key)
		}
	}
	r.put = orch.Emptied(r.put)
	return nil
}

// forgetCleared deletes the cleared values of rows whose counters restart, so that readers no longer subtract them.
func (r *Rows) forgetCleared(ctx context.Context) error {
	var keys []string
	for key := range r.restarted {
		keys = append(keys, r.Table+r.db.Separator()+key)
	}
	if err := r.db.Client().HDel(ctx, schema.CountersCleared, keys...).Err(); err != nil {
		return &swss.Error{DB: r.db.Name(), Op: "forget cleared counters", Err: err}
	}
	r.restarted = orch.Emptied(r.restarted)
	return nil
}

// difference compares two versions of a row. It returns the fields to set, and the names of the fields to delete.
func difference(was, row swss.FieldValues) (changed swss.FieldValues, stale []string) {
	changed = swss.FieldValues{}
	for field, value := range row {
		if old, ok := was[field]; !ok || old != value {
			changed[field] = value
		}
	}
	for field := range was {
		if _, ok := row[field]; !ok {
			stale = append(stale, field)
		}
	}
	return changed, stale
}
