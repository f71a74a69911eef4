package tamorch

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
)

// Config is what the orch of any TAM feature works with.
type Config struct {
	SAI    sai.API
	Daemon *orch.Daemon
	Redis  *swss.Redis
	Switch sai.OID
	// Features tells whether the feature is active, and the managers what the switch can do.
	Features *orch.Features
}

// Rules is what every feature with flow groups needs of ACLs; aclorch has it.
type Rules interface {
	// Usable says why a rule cannot be used as a flow group; nil if it can.
	Usable(rule schema.ACLRuleKey) error
	// UnbindMany ends uses of rules[i] for users[i]. Ending what is not there is no error.
	UnbindMany(ctx context.Context, feature string, rules []schema.ACLRuleKey, users []string) []error
	// Watch names rules that came or went or match something else, whose entries were lost, or for
	// which there may be room now.
	Watch() *orch.Topic[[]schema.ACLRuleKey]
}

// A Session is a row of a feature's table, and what became of it. R is the row, B what the session
// is in the ASIC.
type Session[R, B any] struct {
	Name       string
	Configured bool  // there is a row; without, the session is here until it is out of the ASIC
	Row        R     // as it was read
	ParseErr   error // what is wrong with the row

	On  *B    // what the session has in the ASIC; nil: nothing
	As  R     // the row that the ASIC has, while On is not nil
	Err error // why the ASIC does not have the session as the row says

	Note  string // what there is to say of it where nothing is wrong; a new row has none
	Draft bool   // it asks the switch for no room, so that the lack of it is not the feature's

	reported string
}

// Compare orders sessions by name.
func (s *Session[R, B]) Compare(other *Session[R, B]) int {
	return schema.CompareNames(s.Name, other.Name)
}

// A Kind is what a feature is called.
type Kind struct {
	Name         string // its row of TAM_APPL_FEATURES_TABLE
	Table, State string // with its sessions, of APPL_DB and of STATE_DB
	What         string // what these are called: sessions, tasks
	Again        string // when sessions are tried again that found no room
	OnePerRule   string // of what a flow group has one session at most; "": any number
	Meanwhile    string // said behind why a session cannot be changed
}

// Logic is what only the feature knows. Parse, Wanted, Stays and Deploy are always asked, and Left where
// there is a Rule; of the others what is nil has nothing to say.
type Logic[R, B any] struct {
	Parse func(key string, row swss.FieldValues) (R, error)
	// Rule is the flow group of a row; nil: rows have none.
	Rule func(row *R) schema.ACLRuleKey

	// Ready says whether sessions can be looked at yet; it may look for what that takes.
	Ready func(ctx context.Context) bool
	// Wanted says why a session is not to be in the ASIC; nil if it is. What holds for all features
	// it need not ask: there is a row, it can be read, the feature is active and supported.
	Wanted func(ctx context.Context, s *Session[R, B]) error
	// Lost says whether what a session had in the ASIC went by itself.
	Lost func(s *Session[R, B]) bool
	// Stays says whether a session that is wanted can stay in the ASIC; it may change what is there.
	Stays func(ctx context.Context, s *Session[R, B]) bool
	// Withdraw takes sessions out of the ASIC: what it cannot take out has an Err then, the others no
	// On. nil: the uses of their rules end.
	Withdraw func(ctx context.Context, sessions []*Session[R, B])
	// Left takes note that a session has left the ASIC, by the end of its rule's use or by itself.
	Left func(s *Session[R, B])
	// Deploy brings the wanted sessions into the ASIC that are not there, or not as they should be:
	// what it cannot bring has an Err then. It is called in every pass, also with none.
	Deploy func(ctx context.Context, wanted []*Session[R, B])
	// Settled is told of every session that was looked at.
	Settled func(s *Session[R, B])
	// Done is called when all sessions are settled.
	Done func(ctx context.Context)
}

// A Feature is a TAM feature of orchagent as one value: its sessions, and what keeps them in the
// ASIC as their rows, their flow groups and the feature's own row have it. All its methods run on
// the daemon's goroutine.
type Feature[R, B any] struct {
	Kind
	Logic[R, B]
	Rules       Rules   // nil for a feature without flow groups
	Counters    []*Rows // in the order in which they are written
	Unsupported string  // why the switch cannot do it; "" it can

	SAI      sai.API
	Daemon   *orch.Daemon
	Log      *slog.Logger
	Windows  *Windows
	Sessions map[string]*Session[R, B]
	Active   bool
	Running  bool // the first view is applied: there is a chip to ask

	byRule   map[schema.ACLRuleKey]map[string]*Session[R, B]
	dirty    map[string]*Session[R, B]
	again    map[string]*Session[R, B] // those that may fare better when something changes
	busy     bool
	stuck    map[string]*Session[R, B] // those that could not be taken out of the ASIC
	retryAt  time.Time                 // when it is tried again; zero: there are none
	reported string                    // of the feature
}

// Start notes for the managers whether the switch can do the feature, removes what a former life
// left in COUNTERS_DB, and registers the handlers on the daemon, after those of the rules.
func (f *Feature[R, B]) Start(ctx context.Context, cfg Config) error {
	f.SAI, f.Daemon, f.Log, f.Windows = cfg.SAI, cfg.Daemon, cfg.Daemon.Logger(), NewWindows(cfg)
	f.Sessions, f.byRule = map[string]*Session[R, B]{}, map[schema.ACLRuleKey]map[string]*Session[R, B]{}
	f.dirty, f.again, f.stuck = map[string]*Session[R, B]{}, map[string]*Session[R, B]{}, map[string]*Session[R, B]{}
	cfg.Features.Can(f.Name, f.Unsupported)
	for _, rows := range f.Counters {
		if err := rows.open(ctx, cfg); err != nil {
			return err
		}
	}
	cfg.Features.On(f.Name, f.featureRow)
	f.Consume(cfg, f.Table, f.State, f.sessionRow)
	cfg.Daemon.At(func() time.Time { return f.retryAt }, f.retry)
	if f.Rules != nil {
		f.Rules.Watch().Subscribe(f.rulesChanged)
	}
	return nil
}

// Consume has each hand on the rows of a table of APPL_DB, and settles what they change. state is
// the table of STATE_DB that tells what became of them; "": none does.
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
	reporting := orch.Reporting{StateTable: state, Words: orch.Words{Again: f.Again}, None: true}
	cfg.Daemon.Consume(source, table, handler, reporting)
}

// ViewApplied says that the ASIC is as the first view has it: from now on there is a chip to ask
// and to read.
func (f *Feature[R, B]) ViewApplied() { f.Running = true }

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
	s.Configured, s.Row, s.ParseErr, s.Note, s.reported = t.Op == orch.Set, none, nil, "", ""
	if s.Configured {
		s.Row, s.ParseErr = f.Parse(t.Key, t.Fields)
		f.index(s, true)
	} else {
		f.Daemon.Unreport(ctx, f.State, t.Key)
	}
	f.dirty[s.Name] = s
}

// index enters a session among those of its rule, or takes it out. Where a rule has one session,
// others may have waited for that.
func (f *Feature[R, B]) index(s *Session[R, B], in bool) {
	if f.Rule == nil {
		return
	}
	rule := f.Rule(&s.Row)
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

// Mark has sessions looked at when the feature is settled next.
func (f *Feature[R, B]) Mark(sessions map[string]*Session[R, B]) { maps.Copy(f.dirty, sessions) }

// MarkAll marks all sessions.
func (f *Feature[R, B]) MarkAll() { f.Mark(f.Sessions) }

// MarkRefused marks the sessions that may fare better now that something has changed.
func (f *Feature[R, B]) MarkRefused() { f.Mark(f.again) }

// Later has a session looked at when something changes.
func (f *Feature[R, B]) Later(s *Session[R, B]) { f.again[s.Name] = s }

// retry looks again at the sessions that could not be taken out of the ASIC.
func (f *Feature[R, B]) retry(ctx context.Context, _ time.Time) error {
	f.retryAt = time.Time{}
	f.Mark(f.stuck)
	return f.Settle(ctx)
}

// Idle says whether there is no session that waits to be looked at, or to be tried again.
func (f *Feature[R, B]) Idle() bool { return len(f.dirty)+len(f.again) == 0 }

// rulesChanged looks at the sessions of these rules again.
func (f *Feature[R, B]) rulesChanged(ctx context.Context, rules []schema.ACLRuleKey) {
	for _, k := range rules {
		f.Mark(f.byRule[k])
	}
	f.MarkRefused()
	f.SettleNow(ctx)
}

// Settle brings the marked sessions to where they belong. Whatever changes while it runs only
// marks sessions. An error is of COUNTERS_DB.
func (f *Feature[R, B]) Settle(ctx context.Context) error {
	if f.busy {
		return nil
	}
	f.busy = true
	defer func() { f.busy = false }()
	if f.Ready == nil || f.Ready(ctx) {
		for len(f.dirty) > 0 {
			sessions := slices.SortedFunc(maps.Values(f.dirty), (*Session[R, B]).Compare)
			clear(f.dirty)
			f.pass(ctx, sessions)
		}
	}
	if len(f.stuck) == 0 {
		f.retryAt = time.Time{}
	} else if f.retryAt.IsZero() {
		f.retryAt = f.Daemon.Now().Add(TryAgain)
	}
	if f.Done != nil {
		f.Done(ctx)
	}
	f.reportFeature(ctx)
	return f.Flush(ctx)
}

// SettleNow is [Feature.Settle] where there is no row to try again.
func (f *Feature[R, B]) SettleNow(ctx context.Context) {
	if err := f.Settle(ctx); err != nil {
		f.Log.Error("COUNTERS_DB is behind", "err", err)
	}
}

// Flush writes what has changed of the counters.
func (f *Feature[R, B]) Flush(ctx context.Context) error {
	for _, rows := range f.Counters {
		if err := rows.Flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// pass takes the sessions out of the ASIC that must not be there as they are, and then brings
// those in that must. Where that left room, those that had none are looked at in the next pass.
func (f *Feature[R, B]) pass(ctx context.Context, sessions []*Session[R, B]) {
	before := inASIC(sessions)
	f.takeOut(ctx, sessions)
	if inASIC(sessions) < before {
		f.MarkRefused()
	}
	var in []*Session[R, B]
	for _, s := range sessions {
		if s.Err == nil {
			in = append(in, s)
		}
	}
	f.Deploy(ctx, in)
	for _, s := range sessions {
		f.Report(ctx, s)
	}
}

// inASIC counts the sessions that have something in the ASIC.
func inASIC[R, B any](sessions []*Session[R, B]) (n int) {
	for _, s := range sessions {
		if s.On != nil {
			n++
		}
	}
	return n
}

// takeOut finds which sessions are wanted, and takes those out that must not be there as they are.
func (f *Feature[R, B]) takeOut(ctx context.Context, sessions []*Session[R, B]) {
	var out []*Session[R, B]
	for _, s := range sessions {
		delete(f.stuck, s.Name)
		if s.On != nil && f.Lost != nil && f.Lost(s) {
			f.Leave(s)
		}
		s.Err = f.wanted(ctx, s)
		if s.On != nil && (s.Err != nil || !f.Stays(ctx, s)) {
			out = append(out, s)
		}
	}
	if f.Withdraw != nil {
		f.Withdraw(ctx, out)
	} else {
		f.unbind(ctx, out)
	}
	for _, s := range out {
		if s.On != nil {
			f.stuck[s.Name] = s
		}
	}
}

// wanted says why a session is not to be in the ASIC; nil if it is.
func (f *Feature[R, B]) wanted(ctx context.Context, s *Session[R, B]) error {
	switch {
	case !s.Configured:
		return errors.New("there is no row any more")
	case s.ParseErr != nil:
		return s.ParseErr
	case !f.Active:
		return orch.Wait("feature", f.Name, "feature %s is not active", f.Name)
	case f.Unsupported != "":
		return errors.New(f.Unsupported)
	}
	return f.Wanted(ctx, s)
}

// Report tells what became of a session, and forgets one that is gone.
func (f *Feature[R, B]) Report(ctx context.Context, s *Session[R, B]) {
	if f.Settled != nil {
		f.Settled(s)
	}
	if orch.Retryable(s.Err) || s.On != nil && s.Err != nil {
		f.again[s.Name] = s
	} else {
		delete(f.again, s.Name)
	}
	if !s.Configured {
		if s.On == nil {
			delete(f.Sessions, s.Name)
			delete(f.again, s.Name)
		}
		return
	}
	status, reason := f.Daemon.Verdict(f.State, s.Err)
	switch {
	case s.Err == nil:
		reason = s.Note
	case s.On != nil:
		reason += f.Meanwhile
	}
	if now := status + ": " + reason; s.reported != now {
		f.Daemon.Report(ctx, f.State, s.Name, status, reason)
		s.reported = now
	}
}

// reportFeature tells op-status of the feature, if it has changed.
func (f *Feature[R, B]) reportFeature(ctx context.Context) {
	if !f.Active {
		return
	}
	refused := orch.Refused{All: len(f.Sessions), What: f.What}
	var first *Session[R, B]
	for _, s := range f.again {
		if orch.Retryable(s.Err) && !s.Draft {
			if refused.N++; first == nil || s.Compare(first) < 0 {
				first = s
			}
		}
	}
	if first != nil {
		refused.First, refused.Err = first.Name, first.Err
	}
	status, reason := orch.FeatureOutcome(f.Unsupported, refused)
	if now := status + ": " + reason; f.reported != now {
		f.Daemon.Report(ctx, schema.StateTAMFeature, f.Name, status, reason)
		f.reported = now
	}
}
