package amorch

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/schema"
	"tamtam/swss"
	"tamtam/tam/altmark"
)

const feature = schema.FeatureAltMark

// Rules is what alternate marking needs of ACLs; aclorch has it.
type Rules interface {
	// Usable says why a rule cannot be used as a flow group; nil if it can.
	Usable(rule schema.ACLRuleKey) error
	// ReserveVariants says beforehand what variants of a feature may match and do.
	ReserveVariants(feature string, samples []orch.ACLVariant)
	// BindVariants has the feature use rules[i] for users[i], with the entries
	// variants[i]. One error per rule.
	BindVariants(ctx context.Context, feature string, rules []schema.ACLRuleKey, users []string, variants [][]orch.ACLVariant) []error
	// UnbindMany ends such uses. Ending what is not there is no error.
	UnbindMany(ctx context.Context, feature string, rules []schema.ACLRuleKey, users []string) []error
	// VariantCounter returns the counter of an entry; false if there is no entry.
	VariantCounter(rule schema.ACLRuleKey, feature, variant string) (oid sai.OID, label string, ok bool)
	// SetVariantActive has an entry match packets, or not, by one call of SAI.
	SetVariantActive(ctx context.Context, rule schema.ACLRuleKey, feature, variant string, on bool) error
	// MatchOf returns what a rule matches in a field of an entry; false: all.
	MatchOf(rule schema.ACLRuleKey, field sai.AttrID) (sai.Field, bool)
	// Watch names rules that came or went or match something else, whose entries were lost, or for which
	// there may be room now.
	Watch() *orch.Topic[[]schema.ACLRuleKey]
}

// Config is what an [Orch] works with.
type Config struct {
	SAI    sai.API
	Daemon *orch.Daemon
	Redis  *swss.Redis
	Rules  Rules
	Switch sai.OID
	// Features tells whether the feature is active.
	Features *orch.Features
}

// An Orch owns the profiles of alternate marking and its sessions. All its
// methods run on the daemon's goroutine.
type Orch struct {
	api    sai.API
	daemon *orch.Daemon
	log    *slog.Logger
	rules  Rules

	engine      string // schema.AltMarkByChip, schema.AltMarkByOrchestrator, or "" if unsupported
	unsupported string
	lanes       []*profile // by lane; nil: free
	windows     []sai.OID  // that are there: one while flows are read, or such as stay
	indices     indices
	bound       int // sessions with a binding

	active   bool
	sessions map[string]*session
	byRule   map[schema.ACLRuleKey]map[string]*session
	dirty    map[string]*session
	again    map[string]*session // those that may fare better when something changes
	busy     bool
	said     string // of the feature

	classes map[altmark.Interval]*class
	running bool          // the first view is applied: there is something to read
	skew    time.Duration // the chip's time of day ahead of the daemon's
	books   books
}

// A session is a row of TAM_ALTMARK_TABLE.
type session struct {
	name  string
	given bool // there is a row
	row   schema.AltMarkFlow
	bad   error // what is wrong with the row
	on    *binding
	err   error // why it is not bound, or not unbound
	said  string
}

// A binding is a session in the ASIC.
type binding struct {
	row     schema.AltMarkFlow
	profile *profile // nil: the orchestrator switches the colour
	index   uint32
	meter   meter
	clock   vouchers
	flip    *flip // of the orchestrator
}

// New asks the ASIC what it can do, notes the answer for APPL_DB SWITCH_TABLE,
// and registers the handlers on the daemon, after those of the rules.
func New(ctx context.Context, cfg Config) (*Orch, error) {
	o := &Orch{
		api: cfg.SAI, daemon: cfg.Daemon, log: cfg.Daemon.Logger(), rules: cfg.Rules,
		sessions: map[string]*session{}, byRule: map[schema.ACLRuleKey]map[string]*session{}, dirty: map[string]*session{},
		again: map[string]*session{}, classes: map[altmark.Interval]*class{},
	}
	if err := o.probe(ctx, cfg.Switch); err != nil {
		return nil, err
	}
	cfg.Features.Can(feature, o.unsupported)
	if err := o.books.open(ctx, cfg.Redis); err != nil {
		return nil, err
	}
	appl := cfg.Redis.DB(swss.ApplDB)
	source := func(l *swss.Listener) swss.Source { return swss.NewConsumerState(l, appl, schema.AppTAMAltMark) }
	cfg.Features.On(feature, o.featureRow)
	cfg.Daemon.Consume(source, schema.AppTAMAltMark, orch.HandlerFunc(o.handle),
		orch.Reporting{StateTable: schema.StateTAMAltMark, Words: orch.Words{Again: orch.SomethingRemoved}, None: true})
	cfg.Daemon.At(o.nextTimer, o.timers)
	cfg.Rules.Watch().Subscribe(o.rulesChanged)
	if o.engine != "" {
		cfg.Rules.ReserveVariants(feature, o.samples())
	}
	return o, nil
}

// ViewApplied says that the ASIC is as the first view has it: from now on there
// are counters to read.
func (o *Orch) ViewApplied() { o.running = true }

func (o *Orch) handle(ctx context.Context, tasks []orch.Task) []error {
	for _, t := range tasks {
		o.sessionRow(ctx, t)
	}
	errs := make([]error, len(tasks))
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
		maps.Copy(o.dirty, o.sessions)
	}
	if err := o.settleAll(ctx); err != nil {
		o.log.Error("COUNTERS_DB is behind", "err", err)
	}
}

func (o *Orch) sessionRow(ctx context.Context, t orch.Task) {
	s := o.sessions[t.Key]
	if s == nil {
		if t.Op == orch.Del {
			o.daemon.Unreport(ctx, schema.StateTAMAltMark, t.Key)
			return
		}
		s = &session{name: t.Key}
		o.sessions[t.Key] = s
	}
	o.index(s, false)
	s.given, s.said, s.bad, s.row = t.Op == orch.Set, "", nil, schema.AltMarkFlow{}
	if s.given {
		s.row, s.bad = schema.ParseAltMarkFlow(t.Key, t.Fields)
		o.index(s, true)
	} else {
		o.daemon.Unreport(ctx, schema.StateTAMAltMark, t.Key)
	}
	o.dirty[s.name] = s
}

// index enters a session in byRule, or takes it out. Others of its rule may have
// waited for it.
func (o *Orch) index(s *session, in bool) {
	users := o.byRule[s.row.Rule]
	switch {
	case in && users == nil:
		users = map[string]*session{s.name: s}
		o.byRule[s.row.Rule] = users
	case in:
		users[s.name] = s
	default:
		delete(users, s.name)
		if len(users) == 0 {
			delete(o.byRule, s.row.Rule)
		}
	}
	maps.Copy(o.dirty, users)
}

// rulesChanged looks at the sessions of these rules again.
func (o *Orch) rulesChanged(ctx context.Context, rules []schema.ACLRuleKey) {
	for _, k := range rules {
		maps.Copy(o.dirty, o.byRule[k])
	}
	maps.Copy(o.dirty, o.again)
	if err := o.settleAll(ctx); err != nil {
		o.log.Error("COUNTERS_DB is behind", "err", err)
	}
}

// settleAll brings the dirty sessions to where they belong. Rules that change
// while it runs only mark sessions.
func (o *Orch) settleAll(ctx context.Context) error {
	if o.busy {
		return nil
	}
	o.busy = true
	defer func() { o.busy = false }()
	for len(o.dirty) > 0 {
		sessions := slices.SortedFunc(maps.Values(o.dirty), byName)
		clear(o.dirty)
		o.pass(ctx, sessions)
	}
	o.reportFeature(ctx)
	return o.books.flush(ctx)
}

func byName(a, b *session) int { return schema.CompareNames(a.name, b.name) }

// wanted says why a session is not to be bound; nil if it is.
func (o *Orch) wanted(s *session) error {
	switch {
	case !s.given:
		return errors.New("the session is gone")
	case s.bad != nil:
		return s.bad
	case !o.active:
		return orch.Wait("feature", feature, "feature %s is not active", feature)
	case o.engine == "":
		return errors.New(o.unsupported)
	case o.engine == schema.AltMarkByOrchestrator:
		if err := o.canSchedule(s.row); err != nil {
			return err
		}
	}
	if first := slices.MinFunc(slices.Collect(maps.Values(o.byRule[s.row.Rule])), byName); first != s {
		return orch.Wait("session", first.name, "flow group %s has the session %s already: a flow group has one session of alternate marking", s.row.Rule.Rule, first.name)
	}
	return o.rules.Usable(s.row.Rule)
}

// settle reports what became of a session and forgets it if it is gone.
func (o *Orch) settle(ctx context.Context, s *session) {
	if orch.Retryable(s.err) || s.on != nil && s.err != nil {
		o.again[s.name] = s
	} else {
		delete(o.again, s.name)
	}
	if !s.given {
		if s.on == nil {
			delete(o.sessions, s.name)
			delete(o.again, s.name)
		}
		return
	}
	status, reason := o.daemon.Verdict(schema.StateTAMAltMark, s.err)
	if said := status + ": " + reason; s.said != said {
		o.daemon.Report(ctx, schema.StateTAMAltMark, s.name, status, reason)
		s.said = said
	}
}

// reportFeature writes op-status of the feature, if it has changed.
func (o *Orch) reportFeature(ctx context.Context) {
	if !o.active {
		return
	}
	refused := orch.Refused{All: len(o.sessions), What: "sessions"}
	if n, first := o.refused(); n > 0 {
		refused.N, refused.First, refused.Err = n, first.name, first.err
	}
	status, reason := orch.FeatureOutcome(o.unsupported, refused)
	if said := status + ": " + reason; said != o.said {
		o.daemon.Report(ctx, schema.StateTAMFeature, feature, status, reason)
		o.said = said
	}
}

// refused counts the sessions that the switch had no room for, and returns the
// first by name.
func (o *Orch) refused() (n int, first *session) {
	for _, s := range o.again {
		if orch.Retryable(s.err) {
			if n++; first == nil || byName(s, first) < 0 {
				first = s
			}
		}
	}
	return n, first
}
