package flymonorch

import (
	"context"
	"time"

	"tamtam/flymonorch/plan"
	"tamtam/orch"
	"tamtam/schema"
	"tamtam/swss"
	"tamtam/tam/flymon"
	"tamtam/tamorch"
)

const feature = schema.FeatureFlyMon

// Config is what an [Orch] works with.
type Config = tamorch.Config

// An Orch owns the tasks of FlyMon. All its methods run on the daemon's goroutine.
type Orch struct {
	*tamorch.Feature[flymon.Task, deployment]

	geo       flymon.Geometry
	pool      *plan.Pool // nil: the geometry is not known yet
	unlearned error      // why not
	askAt     time.Time  // when to ask for it again

	plans   map[string]*task // of plan mode: what they say depends on all others
	changed bool             // tasks came or went in this pass

	queries      map[string]*query
	byTask       map[string]map[string]*query
	dirtyQueries map[string]*query

	classes  map[time.Duration]*class
	sweeps   map[string]*task // with readout live
	skew     time.Duration    // the chip's time of day ahead of the daemon's
	counters counters
}

// A task is a row of TAM_FLYMON_TASK_TABLE.
type task = tamorch.Session[flymon.Task, deployment]

// counters keep the rows of COUNTERS_DB.
type counters struct {
	place, groups, results, flows, sizes, answers tamorch.Rows
}

func newCounters() counters {
	return counters{
		place: tamorch.Rows{Table: schema.CountersFlyMonPlace}, groups: tamorch.Rows{Table: schema.CountersFlyMonGroup},
		results: tamorch.Rows{Table: schema.CountersFlyMonResult}, flows: tamorch.Rows{Table: schema.CountersFlyMonFlows},
		sizes: tamorch.Rows{Table: schema.CountersFlyMonSizes}, answers: tamorch.Rows{Table: schema.CountersFlyMonAnswer},
	}
}

// inOrder are the tables as they are written: answers before the results of their epoch, so that a
// reader that sees a new epoch finds them there.
func (c *counters) inOrder() []*tamorch.Rows {
	return []*tamorch.Rows{&c.groups, &c.place, &c.flows, &c.sizes, &c.answers, &c.results}
}

// forget deletes the rows of a task.
func (c *counters) forget(task string) {
	for _, rows := range []*tamorch.Rows{&c.place, &c.results, &c.flows, &c.sizes} {
		rows.Drop(task)
	}
}

// New asks the ASIC what it can do, notes the answer for APPL_DB SWITCH_TABLE,
// and registers the handlers on the daemon.
func New(ctx context.Context, cfg Config) (*Orch, error) {
	o := &Orch{
		plans: map[string]*task{}, queries: map[string]*query{}, byTask: map[string]map[string]*query{},
		dirtyQueries: map[string]*query{}, classes: map[time.Duration]*class{}, sweeps: map[string]*task{},
		counters: newCounters(),
	}
	o.Feature = &tamorch.Feature[flymon.Task, deployment]{
		Kind: tamorch.Kind{
			Name: feature, Table: schema.AppTAMFlyMonTask, State: schema.StateTAMFlyMonTask,
			What: "tasks", Again: "a task is removed", Meanwhile: "; it counts on as it was",
		},
		Logic: tamorch.Logic[flymon.Task, deployment]{
			Parse: parse, Ready: func(context.Context) bool { return o.ready() }, Wanted: o.wanted, Stays: stays,
			Withdraw: o.withdrawAll, Deploy: o.deployAll, Settled: o.settled, Done: o.settleQueries,
		},
		Counters: o.counters.inOrder(),
	}
	if err := o.probe(ctx, cfg.SAI); err != nil {
		return nil, err
	}
	if err := o.Start(ctx, cfg); err != nil {
		return nil, err
	}
	o.Consume(cfg, schema.AppTAMFlyMonQuery, schema.StateTAMFlyMonQuery, o.queryRow)
	cfg.Daemon.At(o.nextTimer, o.timers)
	return o, nil
}

func parse(key string, fields swss.FieldValues) (flymon.Task, error) {
	row, err := schema.ParseFlyMonFlow(key, fields)
	return row.Task, err
}

// ready says whether tasks can be looked at: not before the chip said what it is
// like, unless it has nothing to say.
func (o *Orch) ready() bool {
	return o.pool != nil || o.Unsupported != "" || o.Running && o.unlearned != nil
}

// wanted says why a task is not to be in the ASIC; nil if it is, or is to be planned.
func (o *Orch) wanted(_ context.Context, t *task) error {
	t.Draft = t.Row.Plan
	if o.unlearned != nil {
		return orch.Wait("switch", "", "%s; asked again in a second", orch.Explain(o.unlearned))
	}
	return nil
}

// settled takes note that a task is not planned any more, and has its queries looked at.
func (o *Orch) settled(t *task) {
	known := t.Configured && t.ParseErr == nil && o.Active && o.Unsupported == "" && o.unlearned == nil
	if !known || !t.Row.Plan {
		o.unplan(t)
	}
	for name, q := range o.byTask[t.Name] {
		o.dirtyQueries[name] = q
	}
}
