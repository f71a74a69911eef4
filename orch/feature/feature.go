package feature

import (
	"context"
	"log/slog"
	"time"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Config is what the orch of any TAM feature works with.
type Config struct {
	SAI    sai.API
	Daemon *orch.Daemon
	Redis  *swss.Redis
	Switch sai.OID
	// Chip looks into the chip and commands it, also while a view is being made; nil: SAI does.
	Chip sai.API
	// Run names the syncd whose chip counts, see sairedis.Run; "": that is not known.
	Run string
	// Features tells whether the feature is active, and the managers what the switch can do.
	Features *orch.Features
}

// Rules is what every feature with flow groups needs of ACLs; aclorch has it.
type Rules interface {
	// Usable says why a rule cannot be used as a flow group; nil if it can.
	Usable(rule schema.ACLRuleKey) error
	// UnbindMany ends the use of rules[i] by users[i]. Ending a use that does not exist is not an error.
	UnbindMany(ctx context.Context, feature string, rules []schema.ACLRuleKey, users []string) []error
	// Watch publishes rules that came, went or changed their match, that lost their entries, or
	// that may have room now.
	Watch() *orch.Topic[[]schema.ACLRuleKey]
}

// VariantRules is what a feature needs of ACLs whose entries are variants; aclorch has it.
type VariantRules interface {
	Rules
	// ReserveVariants says in advance what entries of a feature may match and do.
	ReserveVariants(feature string, samples []orch.ACLVariant)
	// BindVariants makes the feature use rules[i] for users[i], with the entries variants[i]. One error per rule.
	BindVariants(
		ctx context.Context, feature string, rules []schema.ACLRuleKey, users []string, variants [][]orch.ACLVariant,
	) []error
	// VariantCounter returns the counter of an entry; false if there is no entry.
	VariantCounter(rule schema.ACLRuleKey, feature, variant string) (oid sai.OID, label string, ok bool)
}

// Identity knows the ids of the switch; tsorch does.
type Identity interface {
	// InUse returns the ids in use.
	InUse() schema.TAMSwitchInUse
	// IDChanges signals that they may have changed.
	IDChanges() *orch.Topic[struct{}]
}

// A Session is a row of a feature's table, and what became of it. R is the type of the row, B what
// the feature keeps for a session in the ASIC.
type Session[R, B any] struct {
	Name       string
	Configured bool  // there is a row; a session without one remains until it is out of the ASIC
	Row        R     // as it was parsed
	ParseErr   error // what is wrong with the row

	InASIC    *B    // what the session has in the ASIC; nil: nothing
	RowInASIC R     // the row that the ASIC has, while InASIC is not nil
	Err       error // why the ASIC does not have the session as the row says

	Note  string // a remark where nothing is wrong; cleared by a new row
	Idle  bool   // nothing comes of it though the ASIC has it, as Note says; cleared likewise
	Draft bool   // it asks for no room on the switch, so the lack of room does not degrade the feature

	Steps   Steps // by which [Feature.BringUp] made it
	Leaving bool  // steps were undone: it is to be taken out

	stepwise bool // made by steps
	reported string
	later    bool // [Feature.Later] was called since the session was handled last
}

// Compare orders sessions by name.
func (s *Session[R, B]) Compare(other *Session[R, B]) int {
	return schema.CompareNames(s.Name, other.Name)
}

// A Kind has the names of a feature.
type Kind struct {
	Name         string // its row of TAM_APPL_FEATURES_TABLE
	Table, State string // of its sessions, in APPL_DB and in STATE_DB
	What         string // what its sessions are called: sessions, tasks
	Again        string // in words, when sessions that found no room are tried again
	OnePerRule   string // what a flow group has at most one session of; "": any number
	Meanwhile    string // appended to why a session cannot be changed
}

// Logic is what only the feature knows. It may have more to say: see [Grouped], [Preparing], [Losing], [Withdrawing],
// [Leaving], [Settling] and [Concluding].
type Logic[R, B any] interface {
	// Parse reads a row of the feature's table.
	Parse(key string, row swss.FieldValues) (R, error)
	// Wanted returns why a session must not be in the ASIC, and nil if it must be. The caller has checked what all
	// features need: the row exists and is valid, and the feature is active and supported.
	Wanted(ctx context.Context, s *Session[R, B]) error
	// Stays reports whether a wanted session can stay in the ASIC; it may change what is there.
	Stays(ctx context.Context, s *Session[R, B]) bool
	// Deploy brings those wanted sessions into the ASIC that are missing or out of date: what it
	// cannot bring has an Err then. It is called in every pass, even with no session.
	Deploy(ctx context.Context, wanted []*Session[R, B])
}

// Grouped is the [Logic] of a feature of whose rows each has a flow group of one rule.
type Grouped[R any] interface {
	// Rule returns the flow group of a row.
	Rule(row *R) schema.ACLRuleKey
}

// Preparing is the [Logic] of a feature that must know something before it handles sessions.
type Preparing interface {
	// Ready reports whether sessions can be handled yet; it may fetch what that takes.
	Ready(ctx context.Context) bool
}

// Losing is the [Logic] of a feature whose sessions may lose what they have in the ASIC.
type Losing[R, B any] interface {
	// Lost reports whether what a session had in the ASIC is gone without its doing.
	Lost(s *Session[R, B]) bool
}

// Withdrawing is the [Logic] of a feature that takes its sessions out by itself. Without it, the steps of those are
// undone that were made by [Feature.BringUp], and of the others the uses of their rules end.
type Withdrawing[R, B any] interface {
	// Withdraw takes sessions out of the ASIC: what it cannot take out has an Err then, the others no InASIC.
	Withdraw(ctx context.Context, sessions []*Session[R, B])
}

// Leaving is the [Logic] of a feature that has something to end with a session.
type Leaving[R, B any] interface {
	// Left is called when a session leaves the ASIC, because it was taken out or because it was lost.
	Left(s *Session[R, B])
}

// Settling is the [Logic] of a feature that keeps books on what was handled.
type Settling[R, B any] interface {
	// Settled is called for every session that was handled.
	Settled(s *Session[R, B])
}

// Concluding is the [Logic] of a feature with something to do after each settling.
type Concluding interface {
	// Done is called when all sessions are settled.
	Done(ctx context.Context)
}

// A Feature is a TAM feature of orchagent as one value: its sessions, and what keeps them in the
// ASIC as their rows, their flow groups and the feature's own row demand. All its methods run on
// the daemon's goroutine.
type Feature[R, B any] struct {
	// What its orch says of it, before Start.
	Kind
	Logic       Logic[R, B]
	Rules       Rules   // nil for a feature without flow groups
	Counters    []*Rows // in the order in which they are written
	Unsupported string  // why the switch cannot do it; "" it can

	// What it works with, from Start on.
	SAI     sai.API
	Daemon  *orch.Daemon
	Log     *slog.Logger
	Windows *Windows

	// What the orch may read.
	Sessions map[string]*Session[R, B]
	Active   bool
	Asked    bool // there is a chip to ask what it is like
	Running  bool // the first view was applied: what is wanted is in the chip

	reading  reading
	byRule   map[schema.ACLRuleKey]map[string]*Session[R, B]
	work     worklist[R, B]
	busy     bool   // it is settled just now
	reported string // of the feature
}

// Start tells the managers whether the switch can do the feature, reads what a previous run left
// in COUNTERS_DB, and registers the handlers on the daemon, after those of the rules.
func (f *Feature[R, B]) Start(ctx context.Context, cfg Config) error {
	f.SAI, f.Daemon, f.Log, f.Windows = cfg.SAI, cfg.Daemon, cfg.Daemon.Logger(), NewWindows(cfg)
	f.Sessions, f.byRule = map[string]*Session[R, B]{}, map[schema.ACLRuleKey]map[string]*Session[R, B]{}
	f.work = newWorklist[R, B]()
	cfg.Features.Can(f.Name, f.Unsupported)
	for _, rows := range f.Counters {
		if err := rows.open(ctx, cfg); err != nil {
			return err
		}
	}
	cfg.Daemon.AfterHold(f.forgetFormer)
	cfg.Features.On(f.Name, f.featureRow)
	f.Consume(cfg, f.Table, f.State, f.sessionRow)
	cfg.Daemon.At(func() time.Time { return f.work.retryAt }, f.retry)
	if f.Rules != nil {
		f.Rules.Watch().Subscribe(f.rulesChanged)
	}
	return nil
}

// Consume passes the rows of a table of APPL_DB to each, and settles what they change. state is the
// table of STATE_DB that reports what became of them; "": none.
func (f *Feature[R, B]) Consume(cfg Config, table, state string, each func(context.Context, orch.Task)) {
	source := func(l *swss.Listener) swss.Source {
		return swss.NewConsumerState(l, cfg.Redis.DB(swss.ApplDB), table)
	}
	handler := orch.HandlerFunc(func(ctx context.Context, tasks []orch.Task) []error {
		for _, t := range tasks {
			each(ctx, t)
		}
		errs := make([]error, len(tasks))
		if err := f.Settle(ctx); err != nil {
			for i := range errs {
				errs[i] = err
			}
		}
		return errs
	})
	words := orch.Words{Field: schema.StatusField(state), Again: f.Again}
	reporting := orch.Reporting{StateTable: state, Words: words, None: true}
	cfg.Daemon.Consume(source, table, handler, reporting)
}

// ChipThere says that there is a chip to ask, though the first view has not been applied.
func (f *Feature[R, B]) ChipThere() { f.Asked = true }

// ViewApplied says that the first view was applied: from now on there is a chip to ask and to read.
func (f *Feature[R, B]) ViewApplied() { f.Asked, f.Running = true, true }

// forgetFormer drops the rows of a previous run whose sessions are not in the ASIC.
func (f *Feature[R, B]) forgetFormer(ctx context.Context) error {
	for _, rows := range f.Counters {
		rows.forgetFormer(f.InChip)
	}
	return f.Flush(ctx)
}

// InChip reports whether a session is in the ASIC.
func (f *Feature[R, B]) InChip(session string) bool {
	s := f.Sessions[session]
	return s != nil && s.InASIC != nil
}

func (f *Feature[R, B]) featureRow(ctx context.Context, active bool) {
	f.reported = ""
	if active != f.Active {
		f.Active = active
		f.MarkAll()
	}
	f.SettleNow(ctx)
}

func (f *Feature[R, B]) sessionRow(ctx context.Context, t orch.Task) {
	s := f.Sessions[t.Key]
	if s == nil {
		if t.Op == orch.Del {
			f.Daemon.Unreport(ctx, f.State, t.Key)
			return
		}
		s = &Session[R, B]{Name: t.Key}
		f.Sessions[t.Key] = s
	}
	var none R
	f.index(s, false)
	s.Configured, s.Row, s.ParseErr, s.Note, s.Idle, s.reported = t.Op == orch.Set, none, nil, "", false, ""
	if s.Configured {
		s.Row, s.ParseErr = f.Logic.Parse(t.Key, t.Fields)
		f.index(s, true)
	} else {
		f.Daemon.Unreport(ctx, f.State, t.Key)
	}
	f.work.marked[s.Name] = s
}

// index adds a session to those of its rule, or removes it. Where a rule has only one session,
// others may have waited for that.
func (f *Feature[R, B]) index(s *Session[R, B], in bool) {
	g, ok := f.Logic.(Grouped[R])
	if !ok {
		return
	}
	rule := g.Rule(&s.Row)
	users := f.byRule[rule]
	switch {
	case in && users == nil:
		users = map[string]*Session[R, B]{s.Name: s}
		f.byRule[rule] = users
	case in:
		users[s.Name] = s
	default:
		delete(users, s.Name)
		if len(users) == 0 {
			delete(f.byRule, rule)
		}
	}
	if f.OnePerRule != "" {
		f.Mark(users)
	}
}
