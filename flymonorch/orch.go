package flymonorch

import (
	"context"
	"errors"
	"time"

	"tamtam/flymonorch/plan"
	"tamtam/orch"
	"tamtam/orch/feature"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/flymon"
)

const featureName = schema.FeatureFlyMon

// Config is the configuration of an [Orch].
type Config = feature.Config

// An Orch manages the tasks of FlyMon. All its methods run on the daemon's goroutine.
type Orch struct {
	*feature.Feature[flymon.Task, deployment]

	pool      *plan.Pool // nil while the geometry is unknown
	unlearned error      // reason why the geometry is unknown
	askAt     time.Time  // time of the next attempt to read the geometry

	plans   map[string]*task // tasks in plan mode, whose placement depends on all other tasks
	changed bool             // true if tasks were added or removed in this pass

	queries  *queries
	reader   *reader
	counters *counters
}

// A task is a row of TAM_FLYMON_TASK_TABLE.
type task = feature.Session[flymon.Task, deployment]

// counters holds the rows of COUNTERS_DB.
type counters struct {
	place, groups, results, flows, changes, sizes, answers feature.Rows

	former feature.Rows // places of tasks, in STATE_DB
}

func newCounters() *counters {
	return &counters{
		place: feature.Rows{Table: schema.CountersFlyMonPlace}, groups: feature.Rows{Table: schema.CountersFlyMonGroup},
		results: feature.Rows{Table: schema.CountersFlyMonResult}, flows: feature.Rows{Table: schema.CountersFlyMonFlows},
		sizes: feature.Rows{Table: schema.CountersFlyMonSizes}, answers: feature.Rows{Table: schema.CountersFlyMonAnswer},
		changes: feature.Rows{Table: schema.CountersFlyMonChange},
		former:  feature.Rows{Table: schema.StateTAMFlyMonPlace, Places: true},
	}
}

// inOrder returns the tables in write order. Answers precede the results of their epoch, so that a reader that sees a
// new epoch finds them.
func (c *counters) inOrder() []*feature.Rows {
	return []*feature.Rows{&c.groups, &c.place, &c.flows, &c.changes, &c.sizes, &c.answers, &c.results, &c.former}
}

// forget deletes the rows of a task.
func (c *counters) forget(task string) {
	for _, rows := range []*feature.Rows{&c.place, &c.results, &c.flows, &c.changes, &c.sizes, &c.former} {
		rows.Drop(task)
	}
}

// New queries the ASIC's capabilities, stores the answer for APPL_DB SWITCH_TABLE, and registers the handlers on the
// daemon.
func New(ctx context.Context, cfg Config) (*Orch, error) {
	rows := newCounters()
	o := &Orch{plans: map[string]*task{}, queries: newQueries(cfg.Daemon, &rows.answers), counters: rows}
	rows.answers.Keep = func(query string) bool {
		q := o.queries.all[query]
		return q != nil && o.InChip(q.row.Task)
	}
	o.Feature = &feature.Feature[flymon.Task, deployment]{
		Kind: feature.Kind{
			Name: featureName, Table: schema.AppTAMFlyMonTask, State: schema.StateTAMFlyMonTask,
			What: "tasks", Again: "a task is removed", Meanwhile: "; it counts on as it was",
		},
		Logic: o, Counters: rows.inOrder(),
	}
	if err := o.probe(ctx, cfg.SAI); err != nil {
		return nil, err
	}
	if err := o.Start(ctx, cfg); err != nil {
		return nil, err
	}
	o.reader = newReader(cfg, o.Windows, rows, o.queries, o.CountersRead)
	o.Consume(cfg, schema.AppTAMFlyMonQuery, schema.StateTAMFlyMonQuery, o.queries.row)
	cfg.Daemon.At(o.nextTimer, o.timers)
	return o, nil
}

// Parse implements [feature.Logic].
func (o *Orch) Parse(key string, fields swss.FieldValues) (flymon.Task, error) {
	row, err := schema.ParseFlyMonFlow(key, fields)
	return row.Task, err
}

// Ready reports whether tasks can be processed, because the geometry is known, or is known to be unavailable.
func (o *Orch) Ready(context.Context) bool {
	return o.pool != nil || o.Unsupported != "" || o.Asked && o.unlearned != nil
}

// Wanted returns the reason why a task must not be in the ASIC. It returns nil if the task must be there, or is only
// planned.
func (o *Orch) Wanted(_ context.Context, t *task) error {
	t.Draft = t.Row.Plan
	if o.unlearned != nil {
		return orch.Wait("switch", "", "%s; asked again in a second", orch.Explain(o.unlearned))
	}
	return nil
}

// Handled drops the plan of a task that is no longer planned, and marks its queries dirty.
func (o *Orch) Handled(t *task) {
	known := t.Configured && t.ParseErr == nil && o.Active && o.Unsupported == "" && o.unlearned == nil
	if !known || !t.Row.Plan {
		o.unplan(t)
	}
	o.queries.mark(t.Name)
}

// Done updates the queries after all tasks were reconciled.
func (o *Orch) Done(ctx context.Context) {
	if o.Ready(ctx) {
		o.queries.report(ctx, o.Sessions)
	}
}

// nextTimer returns the time of the next timer, or zero if there is none.
func (o *Orch) nextTimer() time.Time {
	switch {
	case !o.Asked || o.Unsupported != "":
		return time.Time{}
	case o.pool != nil && !o.Running:
		return time.Time{}
	case o.pool != nil:
		return o.reader.next()
	case o.askAt.IsZero():
		return o.Daemon.Now()
	}
	return o.askAt
}

// timers runs the timers that are due.
func (o *Orch) timers(ctx context.Context, now time.Time) error {
	learned := o.pool != nil
	if !learned {
		if err := o.learn(ctx); err != nil {
			return err
		}
	}
	if !learned {
		if len(o.counters.groups.AllFormer()) > 0 { // groups rows remain even if there are no tasks any more
			o.reportGroups()
		}
		o.MarkAll()
		return o.Reconcile(ctx)
	}
	if err := o.reader.readDue(ctx, now); err != nil {
		return err
	}
	return errors.Join(o.reader.sweepDue(ctx, now), o.Flush(ctx))
}

// PollCounters reads everything that can be read now.
func (o *Orch) PollCounters(ctx context.Context) error {
	if !o.Running || o.pool == nil {
		return nil
	}
	if err := o.reader.readAll(ctx); err != nil {
		return err
	}
	return o.Flush(ctx)
}
