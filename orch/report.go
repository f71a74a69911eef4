package orch

import (
	"cmp"
	"context"
	_ "embed" // the script
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// Manager is the name of the daemon whose reports on a row take precedence. While the field "by" of a STATE_DB row is
// Manager, the writes and deletes of other daemons are ignored.
const Manager = "tammgrd"

// Orchagent is the daemon that programs rows. Managers set it as author when they hand a row over.
const Orchagent = "orchagent"

// HandedOver is the reason of a row's status until orchagent reports on the row.
const HandedOver = "waiting for " + Orchagent

// Words are the status words of a STATE_DB table and the field that holds them. Empty members have defaults: field
// "status", words "active", "pending", "failed", "unknown".
type Words struct {
	Field    string
	Active   string
	Pending  string // the row waits to be applied
	Removing string // the row waits to be removed
	Failed   string
	Invalid  string
	Unknown  string // the row was in force when the state of the ASIC was last known
	// Again describes when rows without capacity are retried, as part of the reason; "" omits it.
	Again string
}

func (w Words) withDefaults() Words {
	w.Field = cmp.Or(w.Field, "status")
	w.Active = cmp.Or(w.Active, "active")
	w.Pending = cmp.Or(w.Pending, "pending")
	w.Removing = cmp.Or(w.Removing, w.Pending)
	w.Failed = cmp.Or(w.Failed, "failed")
	w.Invalid = cmp.Or(w.Invalid, w.Failed)
	w.Unknown = cmp.Or(w.Unknown, "unknown")
	return w
}

// Reporting defines how the outcomes of a table's tasks are reported in STATE_DB.
type Reporting struct {
	StateTable string
	Words      Words
	By         string // author in the state rows; "" means the daemon's name
	// Key converts a task's key to the state row's. nil replaces the separator of the task's database by "|".
	Key func(string) string
	// Forwards means that a finished Set was handed to another daemon (see [Daemon.Handover]), which then reports the
	// outcome.
	Forwards bool
	// None means that nothing is reported.
	None bool
	// Adds reports whether the daemon itself adds a field to the rows that it consumes. nil means that it adds none.
	Adds func(key, field string) bool
	// RowKey, if not nil, replaces Key if the state row's key depends on the row. It returns "" if there is no state
	// row.
	RowKey func(key string, fields swss.FieldValues) string
	// Formerly reports whether a former process had the row in the ASIC although its status is that of a row that
	// waits, such as a session that has no effect there. nil means that no such row exists.
	Formerly func(key string) bool
}

//go:embed report.lua
var reportText string

var reportScript = swss.NewScript(reportText).Natively(reportNatively)

// A stateRow is one outcome to write.
type stateRow struct {
	table, key, by, field, status, reason string
	del                                   bool
	leaving                               bool // true if the removal waits; its author may delete the status
}

type stateKey struct{ table, key string }

// outcomes writes the outcomes of a daemon's rows to STATE_DB.
type outcomes struct {
	name        string // the daemon's name
	redis       *swss.Redis
	clock       *clock
	reports     map[string]Reporting  // by table of STATE_DB
	rows        map[stateKey]stateRow // outcomes not yet written
	written     map[stateKey]stateRow // target rows of STATE_DB; nil if the daemon does not compare them
	held        bool                  // true while outcomes must not be written
	asicUnknown func() bool           // reports whether the state of the ASIC is unknown; nil means never
	// responses are unpublished messages, by table of APPL_DB, that report whether rows are in the ASIC.
	responses map[string][]swss.KeyOpFieldsValues
}

func newOutcomes(name string, r *swss.Redis, c *clock) *outcomes {
	o := &outcomes{
		name: name, redis: r, clock: c,
		reports: map[string]Reporting{}, rows: map[stateKey]stateRow{},
		responses: map[string][]swss.KeyOpFieldsValues{},
	}
	if name != Manager { // the manager compares the requests of its outputs
		o.written = map[stateKey]stateRow{}
	}
	return o
}

// StateTables returns the tables of STATE_DB that the daemon may report to.
func (o *outcomes) StateTables() []string { return slices.Sorted(maps.Keys(o.reports)) }

// ReportsTo declares a table of STATE_DB that the daemon reports to, if no [Reporting] of an input does. Its words
// are those of the table of tables.
func (o *outcomes) ReportsTo(stateTable string) {
	if _, known := o.reports[stateTable]; known {
		return
	}
	var words Words
	if t, ok := schema.StatusTable(stateTable); ok {
		words = Words{Field: t.Status, Active: t.Good, Pending: t.Waiting}
	}
	o.reports[stateTable] = Reporting{Words: words}
}

// Report sets the status of a row, after its task was handled or independently. key is the state row's. The table
// must be one of [Daemon.StateTables], or the daemon's steps fail.
func (o *outcomes) Report(_ context.Context, stateTable, key, status, reason string) {
	rep := o.reports[stateTable]
	o.report(stateRow{
		table: stateTable, key: key, by: cmp.Or(rep.By, o.name), field: rep.Words.withDefaults().Field,
		status: status, reason: reason,
	})
}

// Unreport deletes the state row of a row that is gone.
func (o *outcomes) Unreport(_ context.Context, stateTable, key string) {
	rep := o.reports[stateTable]
	field := rep.Words.withDefaults().Field
	o.report(stateRow{table: stateTable, key: key, by: cmp.Or(rep.By, o.name), field: field, del: true})
}

// Handover makes orchagent the author of rows' outcomes. A manager calls it before it forwards the rows. The author is
// written immediately.
func (o *outcomes) Handover(ctx context.Context, stateTable string, keys ...string) error {
	words := o.reports[stateTable].Words.withDefaults()
	for _, key := range keys {
		o.report(stateRow{
			table: stateTable, key: key, by: Orchagent, field: words.Field,
			status: words.Pending, reason: HandedOver,
		})
	}
	return o.flushState(ctx)
}

// report queues an outcome. If a row has several queued outcomes, the last is written.
func (o *outcomes) report(row stateRow) { o.rows[stateKey{row.table, row.key}] = row }

// Respond queues the message that reports whether a row of APPL_DB is in the ASIC as it is.
func (o *outcomes) Respond(table, key string, fields swss.FieldValues, in bool) {
	op := schema.ResponseSuccess
	if !in {
		op = schema.ResponseUnavailable
	}
	message := swss.KeyOpFieldsValues{
		Op: op, Key: key, Fields: append([]swss.Pair{{Field: schema.FieldErrStr, Value: op}}, swss.Pairs(fields)...),
	}
	o.responses[table] = append(o.responses[table], message)
}

// flushResponses publishes the queued messages.
func (o *outcomes) flushResponses(ctx context.Context) error {
	for table, list := range o.responses {
		p := swss.NewNotificationProducer(o.redis.DB(swss.ApplDB), schema.ResponseChannel(table))
		for chunk := range slices.Chunk(list, stateBatch) {
			if err := p.SendAll(ctx, chunk); err != nil {
				return err // repeated messages are harmless
			}
		}
		delete(o.responses, table)
	}
	return nil
}

// stateBatch is the number of rows that one script writes.
const stateBatch = 256

// flushState writes the queued outcomes in a small number of round trips, and then publishes the queued messages.
func (o *outcomes) flushState(ctx context.Context) error {
	if o.held || o.asicUnknown != nil && o.asicUnknown() {
		return nil
	}
	if err := o.flushRows(ctx); err != nil {
		return err
	}
	return o.flushResponses(ctx)
}

func (o *outcomes) flushRows(ctx context.Context) error {
	if len(o.rows) == 0 {
		return nil
	}
	keys := slices.SortedFunc(maps.Keys(o.rows), func(a, b stateKey) int {
		return cmp.Or(strings.Compare(a.table, b.table), strings.Compare(a.key, b.key))
	})
	for _, k := range keys {
		if _, known := o.reports[k.table]; !known {
			return fmt.Errorf("%s reports to %s, which it has not declared", o.name, k.table)
		}
	}
	db := o.redis.DB(swss.StateDB)
	now := o.clock.ofDay().UTC().Format(time.RFC3339Nano)
	var calls []swss.Call
	for chunk := range slices.Chunk(keys, stateBatch) {
		call := swss.Call{Args: []any{Manager, o.name, now}}
		for _, k := range chunk {
			row, op := o.rows[k], swss.OpSet
			if row.del {
				op = swss.OpDel
			}
			call.Keys = append(call.Keys, row.table+db.Separator()+row.key)
			call.Args = append(call.Args, op, row.field, row.status, row.reason, row.by,
				schema.SONiCStatus(row.table, row.status), schema.SONiCState(row.table, row.status))
		}
		calls = append(calls, call)
	}
	if _, err := db.RunMany(ctx, reportScript, calls); err != nil {
		return &swss.Error{DB: db.Name(), Op: "report status", Err: err}
	}
	if o.written != nil {
		for k, row := range o.rows {
			if row.del || row.leaving {
				delete(o.written, k)
			} else {
				o.written[k] = row
			}
		}
	}
	o.rows = Emptied(o.rows)
	return nil
}
