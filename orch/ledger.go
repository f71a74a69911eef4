package orch

import (
	"context"
	"fmt"
	"slices"

	"tamtam/schema"
	"tamtam/swss"
)

// A RowKey names a row of APPL_DB.
type RowKey struct{ Table, Key string }

// A Ledger holds the rows of those tables of APPL_DB that an orch makes objects
// of, and tells what became of each in the table of STATE_DB of the same name.
// For orchs whose objects depend on each other: after every change all rows are
// looked at in one pass.
type Ledger struct {
	Rows map[RowKey]swss.FieldValues
	// Why holds the rows that are not in the ASIC as they are, and why. It is
	// empty when a pass begins.
	Why map[RowKey]error
	// Failed holds what SAI said to rows, until the row changes; what may
	// succeed later is forgotten when the next pass begins.
	Failed map[RowKey]error
	// Notes holds what there is to say of rows that are in the ASIC. It is empty
	// when a pass begins.
	Notes map[RowKey]string

	daemon *Daemon
	tables []string
	pass   func(context.Context) error
	said   map[RowKey]string
}

// NewLedger registers the tables on the daemon, in their order. pass brings the
// ASIC to what the rows ask for; its error means that it has to be done again.
func NewLedger(
	d *Daemon, db *swss.DB, tables []string, words Words, pass func(context.Context) error,
) *Ledger {
	l := &Ledger{
		Rows: map[RowKey]swss.FieldValues{}, Why: map[RowKey]error{}, Failed: map[RowKey]error{}, Notes: map[RowKey]string{},
		daemon: d, tables: tables, pass: pass, said: map[RowKey]string{},
	}
	for _, table := range tables {
		source := func(ls *swss.Listener) swss.Source { return swss.NewConsumerState(ls, db, table) }
		d.Consume(source, table, HandlerFunc(l.handle), Reporting{StateTable: table, Words: words, None: true})
	}
	return l
}

// handle takes a batch of rows of one table.
func (l *Ledger) handle(ctx context.Context, tasks []Task) []error {
	for _, t := range tasks {
		k := RowKey{t.Table, t.Key}
		delete(l.said, k)
		delete(l.Failed, k)
		if t.Op == Del {
			delete(l.Rows, k)
			l.daemon.Unreport(ctx, k.Table, schema.ConfigKey(k.Key))
			continue
		}
		l.Rows[k] = t.Fields
	}
	err := l.Settle(ctx)
	errs := make([]error, len(tasks))
	for i := range errs {
		errs[i] = err
	}
	return errs
}

// Settle does a pass and tells what has changed.
func (l *Ledger) Settle(ctx context.Context) error {
	l.Retry()
	clear(l.Why)
	clear(l.Notes)
	err := l.pass(ctx)
	for _, table := range l.tables {
		for _, key := range l.Keys(table) {
			l.report(ctx, RowKey{table, key})
		}
	}
	return err
}

func (l *Ledger) report(ctx context.Context, k RowKey) {
	err := l.Failed[k]
	if err == nil {
		err = l.Why[k]
	}
	status, reason := l.daemon.Verdict(k.Table, err)
	if err == nil {
		reason = l.Notes[k]
	}
	if said := status + ": " + reason; l.said[k] != said {
		l.daemon.Report(ctx, k.Table, schema.ConfigKey(k.Key), status, reason)
		l.said[k] = said
	}
}

// Retry forgets what may now succeed, and says whether there was any.
func (l *Ledger) Retry() bool {
	any := false
	for k, err := range l.Failed {
		if Retryable(err) {
			delete(l.Failed, k)
			any = true
		}
	}
	return any
}

// Keys returns the keys of a table, sorted.
func (l *Ledger) Keys(table string) []string {
	var keys []string
	for k := range l.Rows {
		if k.Table == table {
			keys = append(keys, k.Key)
		}
	}
	slices.SortFunc(keys, schema.CompareNames)
	return keys
}

// Fail keeps what SAI said to a row.
func (l *Ledger) Fail(k RowKey, what string, err error) {
	l.Failed[k] = fmt.Errorf("%s: %w", what, err)
	l.daemon.log.Error("SAI failed", "row", k.Table+":"+k.Key, "err", l.Failed[k])
}

// Undone takes back the steps before err, and says so if that failed.
func Undone(ctx context.Context, undo *Undo, err error) error {
	if undoErr := undo.Rollback(ctx); undoErr != nil {
		return fmt.Errorf("%w; and undoing the steps before it failed: %w", err, undoErr)
	}
	return err
}
