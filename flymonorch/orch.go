package flymonorch

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"tamtam/flymonorch/plan"
	"tamtam/orch"
	"tamtam/sai"
	"tamtam/schema"
	"tamtam/swss"
	"tamtam/tam/flymon"
)

const feature = schema.FeatureFlyMon

// Config is what an [Orch] works with.
type Config struct {
	SAI    sai.API
	Daemon *orch.Daemon
	Redis  *swss.Redis
	// Features tells whether the feature is active.
	Features *orch.Features
}

// An Orch owns the tasks of FlyMon. All its methods run on the daemon's goroutine.
type Orch struct {
	api    sai.API
	daemon *orch.Daemon
	log    *slog.Logger

	unsupported string
	geo         flymon.Geometry
	pool        *plan.Pool // nil: the geometry is not known yet
	unlearned   error      // why not
	askAt       time.Time  // when to ask for it again
	windows     []sai.OID  // that are there: some while the chip is read, or such as stay
	dropAt      time.Time  // when it is tried again to remove those

	active   bool
	tasks    map[string]*task
	dirty    map[string]*task
	again    map[string]*task // those that may fare better when something changes
	plans    map[string]*task // of plan mode: what they say depends on all others
	deployed int
	said     string // of the feature

	queries      map[string]*query
	byTask       map[string]map[string]*query
	dirtyQueries map[string]*query

	classes map[time.Duration]*class
	sweeps  map[string]*task // with readout live
	running bool             // the first view is applied
	skew    time.Duration    // the chip's time of day ahead of the daemon's
	books   books
	groups  map[string]swss.FieldValues // rows of TAM_FLYMON_GROUPS as they are
}

// A task is a row of TAM_FLYMON_TASK_TABLE.
type task struct {
	name  string
	given bool // there is a row
	row   flymon.Task
	bad   error // what is wrong with the row
	on    *deployment
	plan  bool   // in plan mode, and there is a plan
	would string // what else that plan takes, in words
	moved string // by whom, and where to, since the row came
	err   error  // why it is not in the ASIC as the row says
	said  string
}

// New asks the ASIC what it can do, notes the answer for APPL_DB SWITCH_TABLE,
// and registers the handlers on the daemon.
func New(ctx context.Context, cfg Config) (*Orch, error) {
	o := &Orch{
		api: cfg.SAI, daemon: cfg.Daemon, log: cfg.Daemon.Logger(),
		tasks: map[string]*task{}, dirty: map[string]*task{}, again: map[string]*task{}, plans: map[string]*task{},
		queries: map[string]*query{}, byTask: map[string]map[string]*query{}, dirtyQueries: map[string]*query{},
		classes: map[time.Duration]*class{}, sweeps: map[string]*task{}, groups: map[string]swss.FieldValues{},
	}
	if err := o.probe(ctx); err != nil {
		return nil, err
	}
	cfg.Features.Can(feature, o.unsupported)
	if err := o.books.open(ctx, cfg.Redis); err != nil {
		return nil, err
	}
	appl := cfg.Redis.DB(swss.ApplDB)
	source := func(table string) func(*swss.Listener) swss.Source {
		return func(l *swss.Listener) swss.Source { return swss.NewConsumerState(l, appl, table) }
	}
	cfg.Features.On(feature, o.featureRow)
	cfg.Daemon.Consume(source(schema.AppTAMFlyMonTask), schema.AppTAMFlyMonTask, orch.HandlerFunc(o.handleTasks),
		orch.Reporting{StateTable: schema.StateTAMFlyMonTask, Words: orch.Words{Again: "a task is removed"}, None: true})
	cfg.Daemon.Consume(source(schema.AppTAMFlyMonQuery), schema.AppTAMFlyMonQuery, orch.HandlerFunc(o.handleQueries),
		orch.Reporting{StateTable: schema.StateTAMFlyMonQuery, None: true})
	cfg.Daemon.At(o.nextTimer, o.timers)
	return o, nil
}

// ViewApplied says that the ASIC is as the first view has it: from now on there is
// a chip to ask and to read.
func (o *Orch) ViewApplied() { o.running = true }

func (o *Orch) handleTasks(ctx context.Context, tasks []orch.Task) []error {
	for _, t := range tasks {
		o.taskRow(ctx, t)
	}
	return o.settled(ctx, len(tasks))
}

func (o *Orch) handleQueries(ctx context.Context, tasks []orch.Task) []error {
	for _, t := range tasks {
		o.queryRow(ctx, t)
	}
	return o.settled(ctx, len(tasks))
}

func (o *Orch) settled(ctx context.Context, n int) []error {
	errs := make([]error, n)
	if err := o.settleAll(ctx); err != nil {
		for i := range errs {
			errs[i] = err
		}
	}
	return errs
}

func (o *Orch) featureRow(ctx context.Context, active bool) {
	o.said = ""
	if active != o.active {
		o.active = active
		maps.Copy(o.dirty, o.tasks)
	}
	if err := o.settleAll(ctx); err != nil {
		o.log.Error("COUNTERS_DB is behind", "err", err)
	}
}

func (o *Orch) taskRow(ctx context.Context, row orch.Task) {
	t := o.tasks[row.Key]
	if t == nil {
		if row.Op == orch.Del {
			o.daemon.Unreport(ctx, schema.StateTAMFlyMonTask, row.Key)
			return
		}
		t = &task{name: row.Key}
		o.tasks[row.Key] = t
	}
	t.given, t.said, t.moved, t.bad, t.row = row.Op == orch.Set, "", "", nil, flymon.Task{}
	if t.given {
		var parsed schema.FlyMonFlow
		parsed, t.bad = schema.ParseFlyMonFlow(row.Key, row.Fields)
		t.row = parsed.Task
	} else {
		o.daemon.Unreport(ctx, schema.StateTAMFlyMonTask, row.Key)
	}
	o.dirty[t.name] = t
}

// settleAll brings the dirty tasks to where they belong, and tells queries.
func (o *Orch) settleAll(ctx context.Context) error {
	for o.ready() && len(o.dirty) > 0 {
		tasks := slices.SortedFunc(maps.Values(o.dirty), byName)
		clear(o.dirty)
		o.pass(ctx, tasks)
	}
	o.settleQueries(ctx)
	o.reportFeature(ctx)
	return o.books.flush(ctx)
}

// ready says whether tasks can be looked at: not before the chip said what it is
// like, unless it has nothing to say.
func (o *Orch) ready() bool {
	return o.pool != nil || o.unsupported != "" || o.running && o.unlearned != nil
}

func byName(a, b *task) int { return schema.CompareNames(a.name, b.name) }

// wanted says why a task is not to be in the ASIC; nil if it is.
func (o *Orch) wanted(t *task) error {
	switch {
	case !t.given:
		return errors.New("the task is gone")
	case t.bad != nil:
		return t.bad
	case !o.active:
		return orch.Wait("feature", feature, "feature %s is not active", feature)
	case o.unsupported != "":
		return errors.New(o.unsupported)
	case o.unlearned != nil:
		return orch.Wait("switch", "", "%s; asked again in a second", orch.Explain(o.unlearned))
	}
	return nil
}

// settle reports what became of a task and forgets it if it is gone.
func (o *Orch) settle(ctx context.Context, t *task) {
	if orch.Retryable(t.err) || t.on != nil && t.err != nil {
		o.again[t.name] = t
	} else {
		delete(o.again, t.name)
	}
	maps.Copy(o.dirtyQueries, o.byTask[t.name])
	if !t.given {
		if t.on == nil {
			delete(o.tasks, t.name)
			delete(o.again, t.name)
		}
		return
	}
	status, reason := o.daemon.Verdict(schema.StateTAMFlyMonTask, t.err)
	switch {
	case t.err != nil && t.on != nil:
		reason += "; it counts on as it was"
	case t.err == nil && t.plan:
		reason = "planned, not deployed" + t.would
	case t.err == nil && t.on != nil:
		reason = t.moved
	}
	if said := status + ": " + reason; t.said != said {
		o.daemon.Report(ctx, schema.StateTAMFlyMonTask, t.name, status, reason)
		t.said = said
	}
}

// reportFeature writes op-status of the feature, if it has changed.
func (o *Orch) reportFeature(ctx context.Context) {
	if !o.active {
		return
	}
	refused := orch.Refused{All: len(o.tasks), What: "tasks"}
	if n, first := o.refused(); n > 0 {
		refused.N, refused.First, refused.Err = n, first.name, first.err
	}
	status, reason := orch.FeatureOutcome(o.unsupported, refused)
	if said := status + ": " + reason; said != o.said {
		o.daemon.Report(ctx, schema.StateTAMFeature, feature, status, reason)
		o.said = said
	}
}

// refused counts the tasks that the switch has no room for, and returns the first
// by name. Plans do not count.
func (o *Orch) refused() (n int, first *task) {
	for _, t := range o.again {
		if orch.Retryable(t.err) && !t.row.Plan {
			if n++; first == nil || byName(t, first) < 0 {
				first = t
			}
		}
	}
	return n, first
}
