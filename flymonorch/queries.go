package flymonorch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"tamtam/orch"
	"tamtam/orch/feature"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/flymon"
)

// A query is a row of TAM_FLYMON_QUERY_TABLE. It is answered whenever its task is read.
type query struct {
	row      schema.FlyMonQuery
	name     string
	parseErr error // error of the row
	reported string
}

// queries holds all queries, and the names of dirty queries.
type queries struct {
	daemon *orch.Daemon
	rows   *feature.Rows // rows of the answers
	all    map[string]*query
	byTask map[string]map[string]*query
	dirty  map[string]*query
}

func newQueries(daemon *orch.Daemon, rows *feature.Rows) *queries {
	return &queries{
		daemon: daemon, rows: rows,
		all: map[string]*query{}, byTask: map[string]map[string]*query{}, dirty: map[string]*query{},
	}
}

// row applies a row of the table.
func (qs *queries) row(ctx context.Context, row orch.Task) {
	q := qs.all[row.Key]
	if q != nil {
		delete(qs.byTask[q.row.Task], q.name)
		if len(qs.byTask[q.row.Task]) == 0 {
			delete(qs.byTask, q.row.Task)
		}
	}
	if row.Op == orch.Del {
		qs.daemon.Unreport(ctx, schema.StateTAMFlyMonQuery, row.Key)
		qs.rows.Drop(row.Key)
		delete(qs.all, row.Key)
		delete(qs.dirty, row.Key)
		return
	}
	was := q
	q = &query{name: row.Key}
	q.row, q.parseErr = schema.ParseFlyMonQuery(row.Key, row.Fields)
	if was != nil && was.row != q.row {
		qs.rows.Drop(row.Key) // the answer is that of another flow
	}
	qs.all[q.name] = q
	if qs.byTask[q.row.Task] == nil {
		qs.byTask[q.row.Task] = map[string]*query{}
	}
	qs.byTask[q.row.Task][q.name] = q
	qs.dirty[q.name] = q
}

// mark marks the queries of a task dirty.
func (qs *queries) mark(task string) {
	for name, q := range qs.byTask[task] {
		qs.dirty[name] = q
	}
}

// report updates the status of queries whose task or row has changed.
func (qs *queries) report(ctx context.Context, tasks map[string]*task) {
	for _, name := range slices.SortedFunc(maps.Keys(qs.dirty), schema.CompareNames) {
		q := qs.dirty[name]
		err := qs.answerable(q, tasks)
		if err != nil {
			qs.rows.Drop(name)
		}
		status, reason := qs.daemon.Verdict(schema.StateTAMFlyMonQuery, err)
		if now := status + ": " + reason; q.reported != now {
			qs.daemon.Report(ctx, schema.StateTAMFlyMonQuery, name, status, reason)
			q.reported = now
		}
	}
	clear(qs.dirty)
}

// answerable returns the reason why a query has no answers, or nil if it has answers.
func (qs *queries) answerable(q *query, tasks map[string]*task) error {
	if q.parseErr != nil {
		return q.parseErr
	}
	t := tasks[q.row.Task]
	if t == nil || !t.Configured {
		return orch.Wait("task", q.row.Task, "there is no task %s", q.row.Task)
	}
	if t.ParseErr == nil {
		if _, err := flowOf(t.Row, q.row.Flow); err != nil {
			return err
		}
	}
	switch {
	case t.InASIC == nil && t.Err == nil && t.Row.Plan:
		return orch.Wait("task", t.Name, "task %s is planned, not deployed", t.Name)
	case t.InASIC == nil && t.Err != nil:
		_, why := qs.daemon.Verdict(schema.StateTAMFlyMonTask, t.Err)
		return orch.Wait("task", t.Name, "task %s does not count: %s", t.Name, why)
	}
	return nil
}

// asks returns the key with which a task is queried for flows. It is the empty key if the task has no answers for
// flows.
func asks(row flymon.Task) flymon.Key {
	if row.Key.IsZero() && row.Attribute.Kind == flymon.Existence {
		return row.Attribute.Of
	}
	return row.Key
}

// flowOf parses the flow of a query to a task.
func flowOf(row flymon.Task, text string) (flymon.Vector, error) {
	k := asks(row)
	if k.IsZero() {
		return flymon.Vector{}, fmt.Errorf("flow %q: the task measures %s of all packets together, "+
			"want a task with a key, or none: its answers are in %s", text, row.Attribute, schema.CountersFlyMonResult)
	}
	return k.Flow(text)
}

// asked returns the flows of a task's queries, in order.
func (qs *queries) asked(t *task, row flymon.Task) []flymon.Vector {
	var flows []flymon.Vector
	for _, name := range slices.SortedFunc(maps.Keys(qs.byTask[t.Name]), schema.CompareNames) {
		q := qs.all[name]
		if v, err := flowOf(row, q.row.Flow); err == nil && q.parseErr == nil {
			flows = append(flows, v)
		}
	}
	return flows
}

// answer writes the rows of a task's queries.
func (qs *queries) answer(t *task, d *deployment, e epoch, got *readout) {
	for name, q := range qs.byTask[t.Name] {
		v, err := flowOf(d.row, q.row.Flow)
		if err != nil || q.parseErr != nil {
			continue
		}
		estimate := got.withExact(v, got.reading.Flow(v))
		estimate.Flags |= e.flags
		qs.rows.Put(name, swss.FieldValues{
			"TASK": t.Name, "FLOW": asks(d.row).Format(v), "EPOCH": strconv.FormatUint(e.number, 10),
			"START": strconv.FormatUint(e.start, 10), "END": strconv.FormatUint(e.end, 10), "FLAGS": e.flags.String(),
			"ESTIMATE": schema.FormatFlyMonEstimate(estimate),
		})
	}
}
