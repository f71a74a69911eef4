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

// Config is the environment of the orch of any TAM feature.
type Config struct {
	SAI    sai.API
	Daemon *orch.Daemon
	Redis  *swss.Redis
	Switch sai.OID
	// Chip reads and commands the chip, even while a view is being made; nil means SAI.
	Chip sai.API
	// Run identifies the syncd whose chip counts, see sairedis.Run; "" if unknown.
	Run string
	// Features reports whether the feature is active, and publishes the capabilities of the switch to the managers.
	Features *orch.Features
}

// Rules are the methods of ACLs that every feature with flow groups needs. aclorch implements them.
type Rules interface {
	// Usable returns why a rule cannot be used as a flow group, or nil if it can.
	Usable(rule schema.ACLRuleKey) error
	// UnbindMany ends the use of rules[i] by users[i]. Ending a use that does not exist is not an error.
	UnbindMany(ctx context.Context, feature string, rules []schema.ACLRuleKey, users []string) []error
	// Watch publishes rules that were added, removed, or given another match. It also publishes rules that lost their
	// entries, or that may now get capacity.
	Watch() *orch.Topic[[]schema.ACLRuleKey]
}

// VariantRules are the methods of ACLs for a feature whose entries are variants. aclorch implements them.
type VariantRules interface {
	Rules
	// ReserveVariants announces the matches and actions that entries of a feature may have.
	ReserveVariants(feature string, samples []orch.ACLVariant)
	// BindVariants makes the feature use rules[i] for users[i], with the entries variants[i]. It returns one error
	// per rule.
	BindVariants(
		ctx context.Context, feature string, rules []schema.ACLRuleKey, users []string, variants [][]orch.ACLVariant,
	) []error
	// VariantCounter returns the counter of an entry, or false if there is no entry.
	VariantCounter(rule schema.ACLRuleKey, feature, variant string) (oid sai.OID, label string, ok bool)
}

// Identity provides the ids of the switch; tsorch implements it.
type Identity interface {
	// InUse returns the ids in use.
	InUse() schema.TAMSwitchInUse
	// IDChanges signals that the ids may have changed.
	IDChanges() *orch.Topic[struct{}]
}

// A Session is a row of a feature's table, and its state. R is the type of the row, B the feature's data for a
// session in the ASIC.
type Session[R, B any] struct {
	Name       string
	Configured bool  // true if there is a row; a session without a row remains until it is removed from the ASIC
	Row        R     // the parsed row
	ParseErr   error // error of parsing the row

	InASIC    *B    // the session's data in the ASIC; nil if it is not there
	RowInASIC R     // the row that is in the ASIC, if InASIC is not nil
	Err       error // reason why the session in the ASIC does not match the row

	Note  string // a remark that is not an error; cleared by a new row
	Idle  bool   // true if the session has no effect in the ASIC, for the reason in Note; cleared likewise
	Draft bool   // true if a lack of capacity for the session does not degrade the feature

	Steps   Steps // steps by which [Feature.BringUp] created the session
	Leaving bool  // true if some steps were undone and the session must be removed

	unread   string // why the session's counters cannot be read; "" if they can
	stepwise bool   // true if the session was created by steps
	reported string
	later    bool // true if [Feature.Later] was called since the session was last handled
}

// Compare orders sessions by name.
func (s *Session[R, B]) Compare(other *Session[R, B]) int {
	return schema.CompareNames(s.Name, other.Name)
}

// A Kind holds the names of a feature.
type Kind struct {
	Name         string // key of the feature's row in TAM_APPL_FEATURES_TABLE
	Table, State string // tables of the feature's sessions, in APPL_DB and in STATE_DB
	What         string // word for sessions in texts, such as sessions or tasks
	Again        string // when sessions without capacity are retried, in words
	OnePerRule   string // name of the feature in errors if a flow group can have one session; "" means no limit
	Meanwhile    string // appended to the reason why a session cannot be changed
}

// Logic is the part of a feature that differs from other features. It may also implement [Grouped], [Preparing],
// [Losing], [Withdrawing], [Leaving], [AfterEach] and [Concluding].
type Logic[R, B any] interface {
	// Parse parses a row of the feature's table.
	Parse(key string, row swss.FieldValues) (R, error)
	// Wanted returns why a session must not be in the ASIC, or nil if it must be. The caller has checked the common
	// conditions: the row exists and is valid, and the feature is active and supported.
	Wanted(ctx context.Context, s *Session[R, B]) error
	// Stays reports whether a wanted session can stay in the ASIC. It may change the session there.
	Stays(ctx context.Context, s *Session[R, B]) bool
	// Deploy creates wanted sessions in the ASIC if they are missing, and updates them if they are out of date. It sets
	// Err of a session if that fails. It is called in every pass, even without sessions.
	Deploy(ctx context.Context, wanted []*Session[R, B])
}

// Grouped is the [Logic] of a feature each of whose rows has a flow group with one rule.
type Grouped[R any] interface {
	// Rule returns the flow group of a row.
	Rule(row *R) schema.ACLRuleKey
}

// Preparing is the [Logic] of a feature that needs information before it handles sessions.
type Preparing interface {
	// Ready reports whether sessions can be handled yet. It may fetch the missing information.
	Ready(ctx context.Context) bool
}

// Losing is the [Logic] of a feature whose sessions may lose their data in the ASIC.
type Losing[R, B any] interface {
	// Lost reports whether the session's data in the ASIC disappeared by itself.
	Lost(s *Session[R, B]) bool
}

// Withdrawing is the [Logic] of a feature that removes its sessions itself. Without it, sessions that
// [Feature.BringUp] created are removed by undoing their steps, and others by ending the uses of their rules.
type Withdrawing[R, B any] interface {
	// Withdraw removes sessions from the ASIC. It clears InASIC of each removed session, and sets Err of a session that
	// it cannot remove.
	Withdraw(ctx context.Context, sessions []*Session[R, B])
}

// Leaving is the [Logic] of a feature that must clean up at the end of a session.
type Leaving[R, B any] interface {
	// Left is called when a session leaves the ASIC, because it was removed or lost.
	Left(s *Session[R, B])
}

// AfterEach is the [Logic] of a feature that acts after each handled session.
type AfterEach[R, B any] interface {
	// Handled is called for every session that was handled.
	Handled(s *Session[R, B])
}

// Concluding is the [Logic] of a feature that acts after each Reconcile.
type Concluding interface {
	// Done is called when all sessions have been handled.
	Done(ctx context.Context)
}

// A Feature is a TAM feature of orchagent as one value: its sessions, and the code that keeps them in the ASIC
// according to their rows, their flow groups and the feature's own row. All its methods run on the daemon's
// goroutine.
type Feature[R, B any] struct {
	// These fields are set by its orch, before Start.
	Kind
	Logic       Logic[R, B]
	Rules       Rules   // nil for a feature without flow groups
	Counters    []*Rows // the tables in the order in which they are written
	Present     *Rows   // one of Counters, with a row for each session in the ASIC; nil if no session there is ever idle
	Unsupported string  // reason why the switch does not support the feature; "" if it does

	// These fields are set by Start.
	SAI     sai.API
	Daemon  *orch.Daemon
	Log     *slog.Logger
	Windows *Windows

	// These fields may be read by the orch.
	Sessions map[string]*Session[R, B]
	Active   bool
	Asked    bool // true if there is a chip that can be queried
	Running  bool // true if the first view was applied, so that the target state is in the chip

	reading  reading
	byRule   map[schema.ACLRuleKey]map[string]*Session[R, B]
	work     worklist[R, B]
	busy     bool   // true while Reconcile is running
	reported string // op-status of the feature as last reported
}

// Start reports to the managers whether the switch supports the feature, and reads the rows of a previous run from
// COUNTERS_DB. It registers the handlers on the daemon, after those of the rules.
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

// Consume passes the rows of a table of APPL_DB to each, and calls Reconcile. state is the table of STATE_DB for the
// outcomes; "" means none.
func (f *Feature[R, B]) Consume(cfg Config, table, state string, each func(context.Context, orch.Task)) {
	source := func(l *swss.Listener) swss.Source {
		return swss.NewConsumerState(l, cfg.Redis.DB(swss.ApplDB), table)
	}
	handler := orch.HandlerFunc(func(ctx context.Context, tasks []orch.Task) []error {
		for _, t := range tasks {
			each(ctx, t)
		}
		errs := make([]error, len(tasks))
		if err := f.Reconcile(ctx); err != nil {
			for i := range errs {
				errs[i] = err
			}
		}
		return errs
	})
	words := orch.Words{Field: schema.StatusField(state), Again: f.Again}
	reporting := orch.Reporting{StateTable: state, Words: words, None: true}
	if table == f.Table && f.Present != nil {
		reporting.Formerly = func(session string) bool { return f.Present.Former(session) != nil }
	}
	cfg.Daemon.Consume(source, table, handler, reporting)
}

// ChipThere reports that the chip can be queried, although the first view has not been applied.
func (f *Feature[R, B]) ChipThere() { f.Asked = true }

// ViewApplied reports that the first view was applied: from now on the chip can be queried and read.
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
	f.ReconcileNow(ctx)
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

// index adds a session to the sessions of its rule, or removes it. If a rule can have only one session, other sessions
// may have waited for the change.
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
