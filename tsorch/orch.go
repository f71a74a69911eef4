package tsorch

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"time"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/schema"
	"tamtam/swss"
)

const feature = schema.FeatureTailStamping

// Rules is what tail-stamping needs of ACLs; aclorch has it.
type Rules interface {
	// Usable says why a rule cannot be used as a flow group; nil if it can.
	Usable(rule schema.ACLRuleKey) error
	// BindMany has the feature use rules[i] for users[i], with entries that have
	// the actions. Doing so again is no error. One error per rule.
	BindMany(ctx context.Context, feature string, actions []sai.Attr, rules []schema.ACLRuleKey, users []string) []error
	// UnbindMany ends such uses. Ending what is not there is no error.
	UnbindMany(ctx context.Context, feature string, rules []schema.ACLRuleKey, users []string) []error
	// Counter returns the counter of the rule's entry for the feature and its
	// label; false if there is no entry.
	Counter(rule schema.ACLRuleKey, feature string) (oid sai.OID, label string, ok bool)
	// Watch names rules that came or went, whose entries were lost, or for which
	// there may be room now.
	Watch() *orch.Topic[[]schema.ACLRuleKey]
	// PollInterval is how often ACL counters are read; 0 when they are not.
	PollInterval() time.Duration
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

// An Orch owns the TAM INT object of tail-stamping and its sessions. All its
// methods run on the daemon's goroutine.
type Orch struct {
	api    sai.API
	daemon *orch.Daemon
	log    *slog.Logger
	rules  Rules

	unsupported string // why the switch cannot do tail-stamping; "" it can
	inUse       schema.TAMSwitchInUse
	idChanges   orch.Topic[struct{}]
	active      bool
	sessions    map[string]*session
	byRule      map[schema.ACLRuleKey]map[string]*session
	dirty       map[string]*session
	again       map[string]*session // those that may fare better when something changes
	tamInt      *tamInt
	busy        bool
	said        string // of the feature

	counters counters
}

// A session is a row of TAM_TAILSTAMPING_TABLE.
type session struct {
	name  string
	given bool // there is a row
	rule  schema.ACLRuleKey
	bad   error // what is wrong with the row
	on    *tamInt
	bound schema.ACLRuleKey // the rule that it is bound to, while on is not nil
	err   error             // why it is not bound, or not unbound
	said  string
}

// tamInt is the object that entries insert with, and its users.
type tamInt struct {
	oid      sai.OID
	switchID uint32
	sessions int
}

// New asks the ASIC whether it can do tail-stamping, publishes the answer in
// APPL_DB SWITCH_TABLE, and registers the handlers on the daemon, after those of
// the rules.
func New(ctx context.Context, cfg Config) (*Orch, error) {
	o := &Orch{
		api: cfg.SAI, daemon: cfg.Daemon, log: cfg.Daemon.Logger(), rules: cfg.Rules,
		sessions: map[string]*session{}, byRule: map[schema.ACLRuleKey]map[string]*session{}, dirty: map[string]*session{},
		again: map[string]*session{},
	}
	var err error
	if o.unsupported, err = probe(ctx, cfg.SAI, cfg.Switch); err != nil {
		return nil, err
	}
	cfg.Features.Can(feature, o.unsupported)
	if err := o.counters.open(ctx, cfg); err != nil {
		return nil, err
	}
	o.register(cfg)
	return o, nil
}

func (o *Orch) register(cfg Config) {
	appl := cfg.Redis.DB(swss.ApplDB)
	consume := func(table, state string, each func(context.Context, orch.Task)) {
		source := func(l *swss.Listener) swss.Source { return swss.NewConsumerState(l, appl, table) }
		handler := orch.HandlerFunc(func(ctx context.Context, tasks []orch.Task) []error {
			for _, t := range tasks {
				each(ctx, t)
			}
			o.reconcile(ctx)
			errs := make([]error, len(tasks))
			if err := o.counters.flush(ctx); err != nil {
				for i := range errs {
					errs[i] = err
				}
			}
			return errs
		})
		cfg.Daemon.Consume(source, table, handler, orch.Reporting{StateTable: state, Words: orch.Words{Again: orch.SomethingRemoved}, None: true})
	}
	consume(schema.AppTAMSwitch, "", o.switchRow)
	cfg.Features.On(feature, o.featureRow)
	consume(schema.AppTAMTailStamp, schema.StateTAMTailStamp, o.sessionRow)
	cfg.Daemon.Receive(func(l *swss.Listener) swss.Source {
		return swss.NewNotificationConsumer(l, appl, ClearChannel)
	}, o.clearRequest)
	cfg.Daemon.Every(cfg.Rules.PollInterval, func(ctx context.Context, _ time.Time) error { return o.PollCounters(ctx) })
	cfg.Rules.Watch().Subscribe(o.rulesChanged)
}

// switchRow takes the switch id in use. A change makes a new TAM INT object.
func (o *Orch) switchRow(ctx context.Context, t orch.Task) {
	if t.Key != schema.TAMGlobalKey {
		return
	}
	inUse := schema.TAMSwitchInUse{}
	if t.Op == orch.Set {
		var err error
		if inUse, err = schema.ParseTAMSwitchInUse(t.Key, t.Fields); err != nil {
			o.log.Error("switch id", "err", err)
			inUse = schema.TAMSwitchInUse{}
		}
	}
	changed := inUse.SwitchID != o.inUse.SwitchID || inUse.HasSwitchID != o.inUse.HasSwitchID
	o.inUse = inUse
	if changed {
		o.markAll()
		o.idChanges.Publish(ctx, struct{}{})
	}
}

// SwitchID returns the switch id in use; false: there is none.
func (o *Orch) SwitchID() (uint32, bool) { return o.inUse.SwitchID, o.inUse.HasSwitchID }

// IDChanges tells that the switch id may have changed.
func (o *Orch) IDChanges() *orch.Topic[struct{}] { return &o.idChanges }

// featureRow takes whether the feature is active.
func (o *Orch) featureRow(ctx context.Context, active bool) {
	o.said = ""
	if active != o.active {
		o.active = active
		o.markAll()
	}
	o.reconcile(ctx)
	if err := o.counters.flush(ctx); err != nil {
		o.log.Error("COUNTERS_DB is behind", "err", err)
	}
}

func (o *Orch) sessionRow(ctx context.Context, t orch.Task) {
	s := o.sessions[t.Key]
	if s == nil {
		if t.Op == orch.Del {
			o.daemon.Unreport(ctx, schema.StateTAMTailStamp, t.Key)
			return
		}
		s = &session{name: t.Key}
		o.sessions[t.Key] = s
	}
	o.index(s, false)
	s.given, s.said, s.bad, s.rule = t.Op == orch.Set, "", nil, schema.ACLRuleKey{}
	if s.given {
		row, err := schema.ParseTailStampFlow(t.Key, t.Fields)
		s.rule, s.bad = row.Rule, err
		o.index(s, true)
	} else {
		o.daemon.Unreport(ctx, schema.StateTAMTailStamp, t.Key)
	}
	o.dirty[s.name] = s
}

// index enters a session in byRule, or takes it out.
func (o *Orch) index(s *session, in bool) {
	users := o.byRule[s.rule]
	switch {
	case in && users == nil:
		o.byRule[s.rule] = map[string]*session{s.name: s}
	case in:
		users[s.name] = s
	default:
		delete(users, s.name)
		if len(users) == 0 {
			delete(o.byRule, s.rule)
		}
	}
}

func (o *Orch) markAll() {
	for name, s := range o.sessions {
		o.dirty[name] = s
	}
}

// rulesChanged looks at the sessions of these rules again.
func (o *Orch) rulesChanged(ctx context.Context, rules []schema.ACLRuleKey) {
	for _, k := range rules {
		for name, s := range o.byRule[k] {
			o.dirty[name] = s
		}
	}
	maps.Copy(o.dirty, o.again)
	o.reconcile(ctx)
	if err := o.counters.flush(ctx); err != nil {
		o.log.Error("COUNTERS_DB is behind", "err", err)
	}
}

// wanted says why a session is not to be bound; nil if it is.
func (o *Orch) wanted(s *session) error {
	switch {
	case !s.given:
		return errors.New("the session is gone")
	case s.bad != nil:
		return s.bad
	case !o.active:
		return orch.Wait("feature", feature, "feature %s is not active", feature)
	case o.unsupported != "":
		return errors.New(o.unsupported)
	case !o.inUse.HasSwitchID:
		return orch.Wait("switch id", schema.TAMGlobalKey, "the switch has no switch-id")
	}
	return o.rules.Usable(s.rule)
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
		if !orch.Retryable(s.err) {
			continue
		}
		n++
		if first == nil || schema.CompareNames(s.name, first.name) < 0 {
			first = s
		}
	}
	return n, first
}
