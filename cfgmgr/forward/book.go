// Package forward brings what a manager decided into the databases: rows of
// APPL_DB and the status rows of STATE_DB. A manager says what it wants there;
// the Book writes the differences to what is there, which it reads at the start
// and again whenever Redis went away, so that neither the order of changes nor
// restarts can matter.
//
// What may enter: what all managers share. No table's meaning.
package forward

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tamtam/orch"
	"tamtam/schema"
	"tamtam/swss"
)

// A Table is a table of APPL_DB that the book owns, STATE_DB's table with the
// outcomes, or both.
type Table struct {
	Appl  string // table of APPL_DB; empty: none
	State string // table of STATE_DB; empty: none
	// Fields lists the fields of APPL_DB that are the book's, where other
	// daemons write fields into the same rows; nil: all.
	Fields []string
	// Mark is a field that all rows of the book in APPL_DB have, where other
	// daemons write rows of their own, without it, into the same table; "": all
	// rows are the book's.
	Mark string
}

// TableOf is the book's table of the rows of a table of CONFIG_DB, as the table of tables has it.
func TableOf(config string) Table {
	t := schema.TableOf(config)
	return Table{Appl: t.Appl, State: t.State}
}

// A Row names a row of a table.
type Row struct{ Table, Key string }

// A Book holds what should be in the tables and what is. It belongs to one
// goroutine.
type Book struct {
	d      *orch.Daemon
	r      *swss.Redis
	tables []Table
	loaded bool
	server string // Redis' run id when it was loaded
	appl   map[Row]*applRow
	state  map[Row]*stateRow
	dirtyA map[Row]struct{}
	dirtyS map[Row]struct{}
}

type applRow struct {
	have, want swss.FieldValues // nil: no row
	state      Row              // where orchagent tells the outcome; zero: nowhere
}

type stateRow struct {
	have, want outcome
}

// An outcome without by stands for a row that is not there.
type outcome struct{ status, reason, by string }

// New returns a book of the tables, which are written in their order and
// emptied in the opposite one.
func New(d *orch.Daemon, r *swss.Redis, tables ...Table) *Book {
	b := &Book{
		d: d, r: r, tables: tables,
		appl: map[Row]*applRow{}, state: map[Row]*stateRow{},
		dirtyA: map[Row]struct{}{}, dirtyS: map[Row]struct{}{},
	}
	for _, t := range tables {
		if t.State != "" {
			d.Tells(t.State)
		}
	}
	d.OnFlush(func() { b.loaded = false })
	return b
}

func (b *Book) applRow(r Row) *applRow {
	e := b.appl[r]
	if e == nil {
		e = &applRow{}
		b.appl[r] = e
	}
	b.dirtyA[r] = struct{}{}
	return e
}

func (b *Book) stateRow(r Row) *stateRow {
	e := b.state[r]
	if e == nil {
		e = &stateRow{}
		b.state[r] = e
	}
	b.dirtyS[r] = struct{}{}
	return e
}

// Forward wants the row in APPL_DB; orchagent then tells its outcome in state.
func (b *Book) Forward(appl Row, fields swss.FieldValues, state Row) {
	e := b.applRow(appl)
	e.want, e.state = fields, state
	b.stateRow(state).want = outcome{by: orch.Orchagent}
}

// Keep wants the row in APPL_DB; its outcome is told by [Book.Tell] or not at
// all.
func (b *Book) Keep(appl Row, fields swss.FieldValues) {
	e := b.applRow(appl)
	e.want, e.state = fields, Row{}
}

// Drop wants no such row in APPL_DB.
func (b *Book) Drop(appl Row) {
	if _, ok := b.appl[appl]; ok {
		b.applRow(appl).want = nil
	}
}

// Tell wants the status row to say this on the manager's account.
func (b *Book) Tell(state Row, status, reason string) {
	b.stateRow(state).want = outcome{status, reason, b.d.Name()}
}

// Forget wants no such status row.
func (b *Book) Forget(state Row) {
	if _, ok := b.state[state]; ok {
		b.stateRow(state).want = outcome{}
	}
}

// Clear wants no row at all; what is then wanted is said anew.
func (b *Book) Clear() {
	for r := range b.appl {
		b.Drop(r)
	}
	for r := range b.state {
		b.Forget(r)
	}
}

// Have returns the row as it was last written, nil if there is none. It is
// known after [Book.Load].
func (b *Book) Have(appl Row) swss.FieldValues {
	if e := b.appl[appl]; e != nil {
		return e.have
	}
	return nil
}

// Load reads what is in the tables, if that is not known: at the start, after
// a failure, when a database was emptied, and when Redis is not the process it
// was.
func (b *Book) Load(ctx context.Context) error {
	server, err := b.runID(ctx)
	if err != nil {
		return err
	}
	if b.loaded && server == b.server {
		return nil
	}
	for r, e := range b.appl {
		e.have = nil
		b.dirtyA[r] = struct{}{}
	}
	for r, e := range b.state {
		e.have = outcome{}
		b.dirtyS[r] = struct{}{}
	}
	for _, t := range b.tables {
		if err := b.loadAppl(ctx, t); err != nil {
			return fmt.Errorf("reading what was forwarded: %w", err)
		}
		if err := b.loadState(ctx, t); err != nil {
			return fmt.Errorf("reading what was told: %w", err)
		}
	}
	b.loaded, b.server = true, server
	return nil
}

// runID identifies the Redis process, empty where it does not say.
func (b *Book) runID(ctx context.Context) (string, error) {
	info, err := b.r.DB(swss.ApplDB).Client().Info(ctx, "server").Result()
	if err != nil {
		// The embedded server knows no such section; it cannot restart either.
		return "", b.r.DB(swss.ApplDB).Ping(ctx)
	}
	_, id, _ := strings.Cut(info, "run_id:")
	id, _, _ = strings.Cut(id, "\r")
	return id, nil
}

// loadAppl reads a table of APPL_DB as it will be when its consumer has taken
// what is pending.
func (b *Book) loadAppl(ctx context.Context, t Table) error {
	if t.Appl == "" {
		return nil
	}
	db := b.r.DB(swss.ApplDB)
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
	// Read last: what the consumer takes meanwhile is then seen twice, not never.
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
		if _, ours := fields[t.Mark]; t.Mark != "" && !ours {
			continue
		}
		b.applRow(Row{t.Appl, key}).have = fields
	}
	return nil
}

func (b *Book) loadState(ctx context.Context, t Table) error {
	if t.State == "" {
		return nil
	}
	rows, err := swss.NewTable(b.r.DB(swss.StateDB), t.State).Dump(ctx)
	if err != nil {
		return err
	}
	field := schema.StatusField(t.State)
	for key, f := range rows {
		if f[schema.FieldBy] == "" {
			continue // not a status row
		}
		b.stateRow(Row{t.State, key}).have = outcome{f[field], f[schema.FieldReason], f[schema.FieldBy]}
	}
	return nil
}

// Flush writes what differs. Statuses come first, so that a row is orchagent's
// to tell about before orchagent sees it.
func (b *Book) Flush(ctx context.Context) error {
	if err := b.Load(ctx); err != nil {
		return err
	}
	b.loaded = false // until all is written
	dels, sets := b.changes()
	if err := b.flushState(ctx); err != nil {
		return err
	}
	var errs []error
	for _, t := range slices.Backward(b.tables) {
		if keys := dels[t.Appl]; len(keys) > 0 {
			errs = append(errs, swss.NewProducerState(b.r.DB(swss.ApplDB), t.Appl).DelMany(ctx, keys))
		}
	}
	for _, t := range b.tables {
		if keys := sets[t.Appl]; len(keys) > 0 {
			errs = append(errs, b.set(ctx, t.Appl, keys))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("forwarding: %w", err)
	}
	b.settle()
	return nil
}

// changes lists the keys to delete and to set, by table and sorted. Rows to
// set that are orchagent's to tell about are marked to be handed over.
func (b *Book) changes() (dels, sets map[string][]string) {
	dels, sets = map[string][]string{}, map[string][]string{}
	for r := range b.dirtyA {
		e := b.appl[r]
		switch {
		case e.want == nil && e.have == nil:
		case e.want == nil:
			dels[r.Table] = append(dels[r.Table], r.Key)
		case !maps.Equal(e.want, e.have):
			if !sameButWords(e.want, e.have) {
				b.handOver(e)
			}
			sets[r.Table] = append(sets[r.Table], r.Key)
		case e.state != (Row{}) && b.state[e.state].have.by != orch.Orchagent:
			sets[r.Table] = append(sets[r.Table], r.Key) // orchagent has to tell again
		}
	}
	for _, m := range []map[string][]string{dels, sets} {
		for _, keys := range m {
			slices.Sort(keys)
		}
	}
	return dels, sets
}

// sameButWords says whether two versions of a row differ in nothing but the
// user's words: then the row stays in force, and there is nothing to wait for.
func sameButWords(a, b swss.FieldValues) bool {
	if a == nil || b == nil {
		return false
	}
	plain := func(row swss.FieldValues) swss.FieldValues {
		row = maps.Clone(row)
		maps.DeleteFunc(row, func(field, _ string) bool { return schema.IsDescription(field) })
		return row
	}
	return maps.Equal(plain(a), plain(b))
}

// handOver makes flushState write the row as pending whatever it says now.
func (b *Book) handOver(e *applRow) {
	if e.state != (Row{}) {
		b.stateRow(e.state).have.by = ""
	}
}

// flushState writes the status rows that differ.
func (b *Book) flushState(ctx context.Context) error {
	hand := map[string][]string{}
	for r := range b.dirtyS {
		e := b.state[r]
		switch {
		case e.want == (outcome{}):
			if e.have != (outcome{}) {
				b.d.Unreport(ctx, r.Table, r.Key)
			}
		case e.want.by == orch.Orchagent:
			if e.have.by != orch.Orchagent {
				hand[r.Table] = append(hand[r.Table], r.Key)
			}
		case e.want != e.have:
			b.d.Report(ctx, r.Table, r.Key, e.want.status, e.want.reason)
		}
	}
	tables := slices.Sorted(maps.Keys(hand))
	if len(tables) == 0 {
		tables = []string{""} // writes what was reported
	}
	for _, t := range tables {
		slices.Sort(hand[t])
		if err := b.d.Handover(ctx, t, hand[t]...); err != nil {
			return fmt.Errorf("telling: %w", err)
		}
	}
	return nil
}

// settle takes what was wanted as being there.
func (b *Book) settle() {
	for r := range b.dirtyA {
		e := b.appl[r]
		if e.have = e.want; e.want == nil {
			delete(b.appl, r)
		}
	}
	for r := range b.dirtyS {
		e := b.state[r]
		if e.have = e.want; e.want == (outcome{}) {
			delete(b.state, r)
		}
	}
	clear(b.dirtyA)
	clear(b.dirtyS)
	b.loaded = true
}
