package orch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// A RowKey identifies a row of APPL_DB.
type RowKey struct{ Table, Key string }

// Row returns the key of a row.
func Row(table, key string) RowKey { return RowKey{table, key} }

func (k RowKey) String() string { return k.Table + ":" + k.Key }

// A LedgerTable is a table of APPL_DB in a [Ledger].
type LedgerTable struct {
	Name  string
	State string // the table of STATE_DB with the outcomes; "" means Name
	Words Words
	// StateKey returns the key of a row's outcome. It returns "" if another process owns the row, so its outcome is
	// not reported. A nil StateKey means the row's key in CONFIG_DB.
	StateKey func(key string, fields swss.FieldValues) string
	// Others is the table of STATE_DB that lists a limited number of the rows without StateKey that are not in force.
	// "" means that there is none.
	Others string
	// Responds means that rows of other programs are reported on [schema.ResponseChannel]: each time when a row is
	// added to the ASIC or removed from it.
	Responds bool
	// Adds has the meaning of Adds in [Reporting].
	Adds func(key, field string) bool
}

// A Ledger holds the rows of the tables of APPL_DB from which an orch creates objects, and reports their outcomes in
// STATE_DB. It is for orchs whose objects depend on each other: after every change one pass looks at all rows.
type Ledger struct {
	Rows map[RowKey]swss.FieldValues
	// Changed lists the rows that were added, changed or removed since the last pass.
	Changed []RowKey
	// Why holds, for each row that does not match the ASIC, the reason. It is empty when a pass begins.
	Why map[RowKey]error
	// Failed holds SAI's errors for rows until the row changes. Errors that may be temporary are dropped when the
	// next pass begins.
	Failed map[RowKey]error
	// Notes holds remarks on rows that are in the ASIC. It is empty when a pass begins.
	Notes map[RowKey]string
	// Incremental, if not nil, is an incremental pass. It is tried if only rows have changed since the last pass, which
	// succeeded without errors. It does the work of a pass for the changed rows, at a cost that does not depend on
	// the other rows. It returns the rows whose outcome may have changed, or false if a full pass is needed. Why and
	// Notes are those of the last pass, except for the changed rows.
	Incremental func(context.Context) (touched []RowKey, ok bool)

	daemon   *Daemon
	tables   map[string]LedgerTable
	others   map[string]*others // by table of APPL_DB
	pass     func(context.Context) error
	reported map[RowKey]string // status and reason as last reported
	clean    bool              // true if the last pass succeeded
	again    bool              // true if a pass must be repeated without a change
	freed    bool              // true if capacity may have become available since this pass began
	errors   int               // number of errors, logged or not, since the last outcomes were reported
}

// loggedErrors is the maximum number of logged errors per pass: when syncd ends, all rows fail.
const loggedErrors = 3

// LogError logs an error of a pass. If there are many errors, it logs the first ones, and at the end the number of
// further errors.
func (l *Ledger) LogError(message string, args ...any) {
	if l.errors++; l.errors <= loggedErrors {
		l.daemon.log.Error(message, args...)
	}
}

// logLeftOut logs the number of errors that were not logged.
func (l *Ledger) logLeftOut() {
	if more := l.errors - loggedErrors; more > 0 {
		l.daemon.log.Error("more errors of the same pass are left out of the log", "count", more)
	}
	l.errors = 0
}

// tryAgain is the delay before a pass is repeated, if Redis was away or something stays in the ASIC.
const tryAgain = time.Second

// NewLedger registers the tables on the daemon, in their order. pass brings the ASIC to the target state of the rows.
// If it returns an error, it is repeated.
func NewLedger(d *Daemon, db *swss.DB, pass func(context.Context) error, tables ...LedgerTable) *Ledger {
	l := &Ledger{
		Rows: map[RowKey]swss.FieldValues{}, Why: map[RowKey]error{}, Failed: map[RowKey]error{}, Notes: map[RowKey]string{},
		daemon: d, tables: map[string]LedgerTable{}, others: map[string]*others{}, pass: pass,
		reported: map[RowKey]string{},
	}
	d.Every(func() time.Duration {
		if l.again {
			return tryAgain
		}
		return 0
	}, func(ctx context.Context, _ time.Time) error { return l.Reconcile(ctx) })
	for _, t := range tables {
		t.State = cmp.Or(t.State, t.Name)
		if t.StateKey == nil {
			t.StateKey = func(key string, _ swss.FieldValues) string { return schema.ConfigKey(key) }
		}
		l.tables[t.Name] = t
		if t.Others != "" {
			d.ReportsTo(t.Others)
			l.others[t.Name] = &others{
				state: t.Others, lacking: map[string]outcome{}, listed: map[string]outcome{}, changed: true,
			}
		}
		source := func(ls *swss.Listener) swss.Source { return swss.NewConsumerState(ls, db, t.Name) }
		d.Consume(source, t.Name, HandlerFunc(l.handle), Reporting{
			StateTable: t.State, Words: t.Words, None: true, Adds: t.Adds, RowKey: t.StateKey,
		})
	}
	return l
}

// handle applies a batch of changed rows of one table, and does a pass.
func (l *Ledger) handle(ctx context.Context, tasks []Task) []error {
	for _, t := range tasks {
		k := RowKey{t.Table, t.Key}
		delete(l.reported, k) // STATE_DB may contain the status of another process
		delete(l.Failed, k)
		table, was := l.stateKey(k)
		if delete(l.Rows, k); t.Op == Set {
			l.Rows[k] = t.Fields
		}
		_, is := l.stateKey(k)
		if was != "" && (was != is || t.Op == Del) {
			l.daemon.Unreport(ctx, table, was)
		}
		if o := l.others[t.Table]; o != nil && (is != "" || t.Op == Del) {
			o.drop(t.Key)
		}
		l.Changed = append(l.Changed, k)
	}
	var err error
	if !l.reconcileIncremental(ctx) {
		err = l.Reconcile(ctx)
	}
	l.again = l.again || l.away()
	errs := make([]error, len(tasks))
	for i := range errs {
		errs[i] = err
	}
	return errs
}

// Restart starts a pass again with the reasons that a plan has found.
func (l *Ledger) Restart(why map[RowKey]error) {
	clear(l.Why)
	clear(l.Notes)
	maps.Copy(l.Why, why)
}

// Reconcile does a pass and reports the changed outcomes.
func (l *Ledger) Reconcile(ctx context.Context) error {
	l.Retry()
	maps.DeleteFunc(l.Failed, func(k RowKey, _ error) bool { return l.Rows[k] == nil })
	l.Restart(nil)
	l.again = false
	err := l.pass(ctx)
	l.Changed, l.clean = nil, err == nil
	l.again = l.again || err != nil || l.away()
	l.reportAll(ctx, maps.Keys(l.Rows))
	return err
}

// ReconcileNow calls [Ledger.Reconcile] for callers that have no row to retry.
func (l *Ledger) ReconcileNow(ctx context.Context) {
	if err := l.Reconcile(ctx); err != nil {
		l.daemon.log.Error("a database is behind", "err", err)
	}
}

// Passes calls yield, which brings the ASIC to the target state of the rows, until the ASIC refuses no further row. It
// repeats because other rows may succeed after one was refused. Why and Notes are empty when yield begins.
func (l *Ledger) Passes(yield func() bool) {
	retried := false
	for refused := -1; refused != len(l.Failed); {
		refused, l.freed = len(l.Failed), false
		l.Restart(nil)
		if !yield() {
			return
		}
		if l.freed && !retried && l.Retry() {
			retried, refused = true, -1
		}
	}
}

// Again requests another pass soon, although no row has changed. A pass calls it if something stays in the ASIC that no
// row reports.
func (l *Ledger) Again() { l.again = true }

// Freed reports during [Ledger.Passes] that capacity may have become available: rows without capacity are retried
// once.
func (l *Ledger) Freed() { l.freed = true }

// reconcileIncremental does an incremental pass if possible. It returns false if a full pass is still needed.
func (l *Ledger) reconcileIncremental(ctx context.Context) bool {
	if l.Incremental == nil || !l.clean || len(l.Failed) > 0 {
		return false
	}
	for _, k := range l.Changed {
		delete(l.Why, k)
		delete(l.Notes, k)
	}
	touched, ok := l.Incremental(ctx)
	if !ok {
		return false
	}
	l.Changed = nil
	l.reportAll(ctx, slices.Values(touched))
	return true
}

// reportAll writes the changed outcomes of rows.
func (l *Ledger) reportAll(ctx context.Context, rows iter.Seq[RowKey]) {
	l.logLeftOut()
	var lacking []string
	for k := range rows {
		if _, ok := l.Rows[k]; !ok {
			continue
		}
		if reason := l.report(ctx, k); reason != "" {
			lacking = append(lacking, k.String()+": "+reason)
		}
	}
	if len(lacking) > 0 {
		const few = 3
		slices.Sort(lacking)
		l.daemon.log.Info("rows of others are not in the ASIC as they should be", "count", len(lacking),
			"first", strings.Join(lacking[:min(few, len(lacking))], "; "))
	}
	for _, o := range l.others {
		if !o.changed {
			continue
		}
		if err := o.list(ctx, l.daemon); err != nil {
			l.daemon.log.Warn("rows that are not in the ASIC are not listed yet", "err", err)
			l.again = true
		}
	}
}

// stateKey returns the table and key of a row's outcome.
func (l *Ledger) stateKey(k RowKey) (table, key string) {
	t := l.tables[k.Table]
	return t.State, t.StateKey(k.Key, l.Rows[k])
}

// report writes a row's outcome, if it has changed. For a row of another program it returns why it is not in the
// ASIC.
func (l *Ledger) report(ctx context.Context, k RowKey) (ofOthers string) {
	err := l.Failed[k]
	if err == nil {
		err = l.Why[k]
	}
	table, key := l.stateKey(k)
	status, reason := l.daemon.Verdict(table, err)
	if err == nil {
		reason = l.Notes[k]
	}
	outcome := status + ": " + reason
	if l.reported[k] == outcome {
		return ""
	}
	l.reported[k] = outcome
	if key == "" {
		if l.tables[k.Table].Responds {
			l.daemon.Respond(k.Table, k.Key, l.Rows[k], err == nil)
		}
		switch o := l.others[k.Table]; {
		case o == nil:
		case err == nil:
			o.drop(k.Key)
		case !o.note(k.Key, status, reason):
			return "" // this outcome was logged before
		}
		return reason
	}
	l.daemon.Report(ctx, table, key, status, reason)
	return ""
}

// Retry drops the errors of rows that may now succeed, and reports whether there were such errors.
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

// away reports whether a row failed because Redis was away. Without another event, nothing would trigger a pass.
func (l *Ledger) away() bool {
	for _, err := range l.Failed {
		if errors.Is(err, swss.ErrUnavailable) {
			return true
		}
	}
	return false
}

// Refused reports whether SAI refused a row. Such a row must not be retried unless it changes.
func (l *Ledger) Refused(k RowKey) bool { return l.Failed[k] != nil }

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

// WaitView returns the error of rows that wait until the first view is in the ASIC.
func WaitView() error {
	return Wait("switch", "view", "waiting for the ASIC's view to be complete")
}

// Fail records SAI's error for a row. If the row is gone, something of it stays in the ASIC: the pass is repeated.
func (l *Ledger) Fail(k RowKey, what string, err error) {
	l.Failed[k] = fmt.Errorf("%s: %w", what, err)
	l.again = l.again || l.Rows[k] == nil
	l.LogError("SAI failed", "row", k.String(), "err", l.Failed[k])
}

// Undone undoes the steps that preceded err. If an undo step fails, it adds that error to err.
func Undone(ctx context.Context, undo *Undo, err error) error {
	if undoErr := undo.Rollback(ctx); undoErr != nil {
		return fmt.Errorf("%w; and undoing the steps before it failed: %w", err, undoErr)
	}
	return err
}
