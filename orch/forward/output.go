// Package forward brings a manager's decisions into the databases: rows of APPL_DB and the status rows of STATE_DB. A
// manager requests its target rows, and the Output writes only the differences from the actual rows. It reads the
// actual rows at the start and whenever Redis was away. So neither the order of changes nor restarts matter.
//
// This package contains the code that all managers share. It interprets no table.
package forward

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A Table is a table of APPL_DB that the output owns, the table of STATE_DB with its outcomes, or both.
type Table struct {
	Appl  string // table of APPL_DB; empty if there is none
	State string // table of STATE_DB; empty if there is none
	// Fields lists the fields of APPL_DB that the output owns, if other daemons write fields into the same rows. nil
	// means all.
	Fields []string
	// Mark is a field that all rows of the output in APPL_DB have, if other daemons write rows without it into the
	// same table. "" means that the output owns all rows.
	Mark string
	// Others lists the keys of rows of APPL_DB that other daemons own.
	Others []string
	// Says lists fields of rows of STATE_DB that the output owns, whatever process is the author of the outcome.
	Says []string
}

// TableOf returns the output's table for a table of CONFIG_DB, from the table of tables.
func TableOf(config string) Table {
	t := schema.TableOf(config)
	return Table{Appl: t.Appl, State: t.State}
}

// A Row identifies a row of a table.
type Row struct{ Table, Key string }

// An Output holds the target rows and the actual rows in the tables of a manager. It belongs to one goroutine.
type Output struct {
	d      *orch.Daemon
	r      *swss.Redis
	tables []Table
	loaded bool
	server string // run id of the Redis server when the rows were loaded
	appl   map[Row]*applRow
	state  map[Row]*stateRow
	dirtyA map[Row]struct{}
	dirtyS map[Row]struct{}
	said   map[Row]*saidRow // the descriptive fields of status rows
	dirtyD map[Row]struct{}
}

type applRow struct {
	have, want []swss.Pair // sorted, which needs a third of a map's memory; nil if there is no row
	state      Row         // status row in which orchagent reports the outcome; zero if there is none
}

type stateRow struct {
	have, want outcome
}

// An outcome is the content of a status row. An outcome whose by is empty means that the row does not exist.
type outcome struct{ status, reason, by string }

// New returns an output of the tables. Tables are written in the given order and emptied in reverse order.
func New(d *orch.Daemon, r *swss.Redis, tables ...Table) *Output {
	o := &Output{
		d: d, r: r, tables: tables,
		appl: map[Row]*applRow{}, state: map[Row]*stateRow{},
		dirtyA: map[Row]struct{}{}, dirtyS: map[Row]struct{}{}, said: map[Row]*saidRow{}, dirtyD: map[Row]struct{}{},
	}
	for _, t := range tables {
		if t.State != "" {
			d.ReportsTo(t.State)
		}
	}
	d.OnFlush(func() { o.loaded = false })
	o.compare()
	return o
}

func (o *Output) applRow(r Row) *applRow {
	e := o.appl[r]
	if e == nil {
		e = &applRow{}
		o.appl[r] = e
	}
	o.dirtyA[r] = struct{}{}
	return e
}

func (o *Output) stateRow(r Row) *stateRow {
	e := o.state[r]
	if e == nil {
		e = &stateRow{}
		o.state[r] = e
	}
	o.dirtyS[r] = struct{}{}
	return e
}

// Forward requests the row in APPL_DB. orchagent then reports its outcome in state.
func (o *Output) Forward(appl Row, fields swss.FieldValues, state Row) {
	e := o.applRow(appl)
	e.want, e.state = pairsOf(fields), state
	o.stateRow(state).want = outcome{by: orch.Orchagent}
}

// Keep requests the row in APPL_DB. Its outcome comes from [Output.Report], if at all.
func (o *Output) Keep(appl Row, fields swss.FieldValues) {
	e := o.applRow(appl)
	e.want, e.state = pairsOf(fields), Row{}
}

// Drop requests that the row is not in APPL_DB.
func (o *Output) Drop(appl Row) {
	if _, ok := o.appl[appl]; ok {
		o.applRow(appl).want = nil
	}
}

// Report requests a status row with the manager as author.
func (o *Output) Report(state Row, status, reason string) {
	o.stateRow(state).want = outcome{status, reason, o.d.Name()}
}

// Unreport requests that a status row does not exist.
func (o *Output) Unreport(state Row) {
	if _, ok := o.state[state]; ok {
		o.stateRow(state).want = outcome{}
	}
	if e := o.said[state]; e != nil {
		e.want, o.dirtyD[state] = nil, struct{}{}
	}
}

// Clear requests that no row exists. The caller then requests all target rows again.
func (o *Output) Clear() {
	for r := range o.appl {
		o.Drop(r)
	}
	for r := range o.state {
		o.Unreport(r)
	}
}

// Written returns the row as last written, or nil if there is none. It is known after [Output.Load].
func (o *Output) Written(appl Row) swss.FieldValues {
	if e := o.appl[appl]; e != nil {
		return rowOf(e.have)
	}
	return nil
}

// Load reads the actual rows if they are unknown: at the start, after a failure, when a database was emptied, and
// when Redis was restarted.
func (o *Output) Load(ctx context.Context) error {
	server, err := o.r.RunID(ctx)
	if err != nil {
		return err
	}
	if o.loaded && server == o.server {
		return nil
	}
	// A failed flush leaves queued outcomes. Written later, they would change the rows that are read here.
	if err := o.d.Handover(ctx, ""); err != nil {
		return fmt.Errorf("telling: %w", err)
	}
	for r, e := range o.appl {
		e.have = nil
		o.dirtyA[r] = struct{}{}
	}
	for r, e := range o.state {
		e.have = outcome{}
		o.dirtyS[r] = struct{}{}
	}
	for r, e := range o.said {
		e.have = nil
		o.dirtyD[r] = struct{}{}
	}
	for _, t := range o.tables {
		if err := o.loadAppl(ctx, t); err != nil {
			return fmt.Errorf("reading what was forwarded: %w", err)
		}
		if err := o.loadState(ctx, t); err != nil {
			return fmt.Errorf("reading the reported status: %w", err)
		}
	}
	o.loaded, o.server = true, server
	return nil
}

// loadAppl reads a table of APPL_DB as it will be when its consumer has accepted the pending rows.
func (o *Output) loadAppl(ctx context.Context, t Table) error {
	if t.Appl == "" {
		return nil
	}
	db := o.r.DB(swss.ApplDB)
	set, err := db.Client().SMembers(ctx, t.Appl+"_KEY_SET").Result()
	if err != nil {
		return &swss.Error{DB: db.Name(), Op: "read " + t.Appl + "_KEY_SET", Err: err}
	}
	del, err := db.Client().SMembers(ctx, t.Appl+"_DEL_SET").Result()
	if err != nil {
		return &swss.Error{DB: db.Name(), Op: "read " + t.Appl + "_DEL_SET", Err: err}
	}
	pending, err := swss.NewTable(db, "_"+t.Appl).Dump(ctx)
	if err != nil {
		return err
	}
	// Read last: a row that the consumer accepts meanwhile is then seen twice, not missed.
	rows, err := swss.NewTable(db, t.Appl).Dump(ctx)
	if err != nil {
		return err
	}
	for _, key := range del {
		delete(rows, key)
	}
	for _, key := range set {
		if fields, ok := pending[key]; ok {
			if rows[key] == nil {
				rows[key] = swss.FieldValues{}
			}
			maps.Copy(rows[key], fields)
		}
	}
	for key, fields := range rows {
		if t.Fields != nil {
			maps.DeleteFunc(fields, func(f, _ string) bool { return !slices.Contains(t.Fields, f) })
		}
		if slices.Contains(t.Others, key) {
			continue
		}
		if _, ours := fields[t.Mark]; t.Mark != "" && !ours {
			continue
		}
		o.applRow(Row{t.Appl, key}).have = swss.Pairs(fields)
	}
	return nil
}

func (o *Output) loadState(ctx context.Context, t Table) error {
	if t.State == "" {
		return nil
	}
	rows, err := swss.NewTable(o.r.DB(swss.StateDB), t.State).Dump(ctx)
	if err != nil {
		return err
	}
	o.loadSaid(t, rows)
	for key, f := range rows {
		if f[schema.FieldBy] == "" {
			continue // not a status row
		}
		o.stateRow(Row{t.State, key}).have = outcome{schema.StatusIn(t.State, f), f[schema.FieldReason], f[schema.FieldBy]}
	}
	return nil
}

// Flush writes the differences. Statuses come first, so that orchagent is the author of a row's status before it sees
// the row.
func (o *Output) Flush(ctx context.Context) error {
	if err := o.Load(ctx); err != nil {
		return err
	}
	o.loaded = false // the rows count as unknown until all is written
	dels, sets := o.changes()
	if err := o.flushState(ctx); err != nil {
		return err
	}
	if err := o.flushSaid(ctx); err != nil {
		return fmt.Errorf("telling: %w", err)
	}
	var errs []error
	for _, t := range slices.Backward(o.tables) {
		if keys := dels[t.Appl]; len(keys) > 0 {
			errs = append(errs, swss.NewProducerState(o.r.DB(swss.ApplDB), t.Appl).DelMany(ctx, keys))
		}
	}
	for _, t := range o.tables {
		if keys := sets[t.Appl]; len(keys) > 0 {
			errs = append(errs, o.set(ctx, t.Appl, keys))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("forwarding: %w", err)
	}
	o.written()
	return nil
}

// changes returns the keys to delete and to set, by table and sorted. Rows to set whose outcome orchagent reports are
// marked for handover.
func (o *Output) changes() (dels, sets map[string][]string) {
	dels, sets = map[string][]string{}, map[string][]string{}
	for r := range o.dirtyA {
		e := o.appl[r]
		switch {
		case e.want == nil && e.have == nil:
		case e.want == nil:
			dels[r.Table] = append(dels[r.Table], r.Key)
		case e.have == nil || !slices.Equal(e.want, e.have): // a row without fields is also a row
			if !sameButWords(e.want, e.have) {
				o.handOver(e)
			}
			sets[r.Table] = append(sets[r.Table], r.Key)
		case e.state != (Row{}) && o.state[e.state].have.by != orch.Orchagent:
			sets[r.Table] = append(sets[r.Table], r.Key) // orchagent must report again
		}
	}
	for _, m := range []map[string][]string{dels, sets} {
		for _, keys := range m {
			slices.Sort(keys)
		}
	}
	return dels, sets
}

// sameButWords reports whether two versions of a row differ only in descriptions. Then the row stays in force, and its
// status does not become pending.
func sameButWords(a, b []swss.Pair) bool {
	if a == nil || b == nil {
		return false
	}
	plain := func(row []swss.Pair) []swss.Pair {
		return slices.DeleteFunc(slices.Clone(row), func(p swss.Pair) bool { return schema.IsDescription(p.Field) })
	}
	return slices.Equal(plain(a), plain(b))
}

// pairsOf returns the fields of a row, or nil if there is none.
func pairsOf(row swss.FieldValues) []swss.Pair {
	if row == nil {
		return nil
	}
	return swss.Pairs(row)
}

// rowOf returns a row as a map, or nil if there is none.
func rowOf(pairs []swss.Pair) swss.FieldValues {
	if pairs == nil {
		return nil
	}
	return swss.ToFieldValues(pairs)
}

// handOver makes flushState write the status of the row as pending, whatever the status is now.
func (o *Output) handOver(e *applRow) {
	if e.state != (Row{}) {
		o.stateRow(e.state).have.by = ""
	}
}

// flushState writes the status rows that differ.
func (o *Output) flushState(ctx context.Context) error {
	hand := map[string][]string{}
	for r := range o.dirtyS {
		e := o.state[r]
		switch {
		case e.want == (outcome{}):
			if e.have != (outcome{}) {
				o.d.Unreport(ctx, r.Table, r.Key)
			}
		case e.want.by == orch.Orchagent:
			if e.have.by != orch.Orchagent {
				hand[r.Table] = append(hand[r.Table], r.Key)
			}
		case e.want != e.have:
			o.d.Report(ctx, r.Table, r.Key, e.want.status, e.want.reason)
		}
	}
	tables := slices.Sorted(maps.Keys(hand))
	if len(tables) == 0 {
		tables = []string{""} // no row is handed over, but the call also writes the reported statuses
	}
	for _, t := range tables {
		slices.Sort(hand[t])
		if err := o.d.Handover(ctx, t, hand[t]...); err != nil {
			return fmt.Errorf("telling: %w", err)
		}
	}
	return nil
}

// written records that the target rows are now the actual rows.
func (o *Output) written() {
	for r := range o.dirtyA {
		e := o.appl[r]
		if e.have = e.want; e.want == nil {
			delete(o.appl, r)
		}
	}
	for r := range o.dirtyS {
		e := o.state[r]
		if e.have = e.want; e.want == (outcome{}) {
			delete(o.state, r)
		}
	}
	o.dirtyA, o.dirtyS, o.dirtyD = orch.Emptied(o.dirtyA), orch.Emptied(o.dirtyS), orch.Emptied(o.dirtyD)
	o.loaded = true
}
