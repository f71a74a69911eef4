package flymonorch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"tamtam/orch"
	"tamtam/schema"
	"tamtam/swss"
	"tamtam/tam/flymon"
)

// A query is a row of TAM_FLYMON_QUERY_TABLE: it is answered whenever its task is
// read.
type query struct {
	row      schema.FlyMonQuery
	name     string
	parseErr error // what is wrong with the row
	reported string
}

func (o *Orch) queryRow(ctx context.Context, row orch.Task) {
	q := o.queries[row.Key]
	if q != nil {
		delete(o.byTask[q.row.Task], q.name)
		if len(o.byTask[q.row.Task]) == 0 {
			delete(o.byTask, q.row.Task)
		}
	}
	if row.Op == orch.Del {
		o.Daemon.Unreport(ctx, schema.StateTAMFlyMonQuery, row.Key)
		o.counters.answers.Drop(row.Key)
		delete(o.queries, row.Key)
		delete(o.dirtyQueries, row.Key)
		return
	}
	q = &query{name: row.Key}
	q.row, q.parseErr = schema.ParseFlyMonQuery(row.Key, row.Fields)
	o.queries[q.name] = q
	if o.byTask[q.row.Task] == nil {
		o.byTask[q.row.Task] = map[string]*query{}
	}
	o.byTask[q.row.Task][q.name] = q
	o.dirtyQueries[q.name] = q
}

// settleQueries tells the status of queries whose task or row has changed.
func (o *Orch) settleQueries(ctx context.Context) {
	if !o.ready() {
		return
	}
	for _, name := range slices.SortedFunc(maps.Keys(o.dirtyQueries), schema.CompareNames) {
		q := o.dirtyQueries[name]
		err := o.answerable(q)
		if err != nil {
			o.counters.answers.Drop(name)
		}
		status, reason := o.Daemon.Verdict(schema.StateTAMFlyMonQuery, err)
		if now := status + ": " + reason; q.reported != now {
			o.Daemon.Report(ctx, schema.StateTAMFlyMonQuery, name, status, reason)
			q.reported = now
		}
	}
	clear(o.dirtyQueries)
}

// answerable says why a query has no answers; nil if it has.
func (o *Orch) answerable(q *query) error {
	if q.parseErr != nil {
		return q.parseErr
	}
	t := o.Sessions[q.row.Task]
	if t == nil || !t.Configured {
		return orch.Wait("task", q.row.Task, "there is no task %s", q.row.Task)
	}
	if t.ParseErr == nil {
		if _, err := flowOf(t.Row, q.row.Flow); err != nil {
			return err
		}
	}
	switch {
	case t.On == nil && t.Err == nil && t.Row.Plan:
		return orch.Wait("task", t.Name, "task %s is planned, not deployed", t.Name)
	case t.On == nil && t.Err != nil:
		_, why := o.Daemon.Verdict(schema.StateTAMFlyMonTask, t.Err)
		return orch.Wait("task", t.Name, "task %s does not count: %s", t.Name, why)
	}
	return nil
}

// asks is the key that a task is asked for by flow; none for one that has nothing
// to say of a flow.
func asks(row flymon.Task) flymon.Key {
	if row.Key.IsZero() && row.Attribute.Kind == flymon.Existence {
		return row.Attribute.Of
	}
	return row.Key
}

// flowOf reads the flow of a query to a task.
func flowOf(row flymon.Task, text string) (flymon.Vector, error) {
	k := asks(row)
	if k.IsZero() {
		return flymon.Vector{}, fmt.Errorf("flow %q: the task measures %s of all packets together, "+
			"want a task with a key, or none: its answers are in %s", text, row.Attribute, schema.CountersFlyMonResult)
	}
	return k.Flow(text)
}

// flowsAsked are the flows of a task's queries, in their order.
func (o *Orch) flowsAsked(t *task, row flymon.Task) []flymon.Vector {
	var flows []flymon.Vector
	for _, name := range slices.SortedFunc(maps.Keys(o.byTask[t.Name]), schema.CompareNames) {
		q := o.queries[name]
		if v, err := flowOf(row, q.row.Flow); err == nil && q.parseErr == nil {
			flows = append(flows, v)
		}
	}
	return flows
}

// answerQueries makes the rows of a task's queries.
func (o *Orch) answerQueries(t *task, d *deployment, e epoch, got *taken) {
	for name, q := range o.byTask[t.Name] {
		v, err := flowOf(d.row, q.row.Flow)
		if err != nil || q.parseErr != nil {
			continue
		}
		estimate := got.withExact(v, got.reading.Flow(v))
		o.counters.answers.Put(name, swss.FieldValues{
			"TASK": t.Name, "FLOW": asks(d.row).Format(v), "EPOCH": strconv.FormatUint(e.number, 10),
			"START": strconv.FormatUint(e.start, 10), "END": strconv.FormatUint(e.end, 10), "FLAGS": e.flags.String(),
			"ESTIMATE": schema.FormatFlyMonEstimate(estimate),
		})
	}
}
