package feature_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/orch"
	"tamtam/orch/feature"
	"tamtam/orch/feature/featuretest"
	"tamtam/orch/orchtest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A flow is a row of the test's feature: its flow group, a note, and whether it asks for no capacity.
type flow struct {
	rule  schema.ACLRuleKey
	note  string
	draft bool
	later bool // true if the session must be handled again once it is in the ASIC
}

type session = feature.Session[flow, struct{}]

// rules are the existing flow groups and their users.
type rules struct {
	watch  orch.Topic[[]schema.ACLRuleKey]
	there  map[string]bool
	room   int               // number of sessions for which the flow groups have capacity
	users  map[string]string // name of the flow group that each session uses
	sticky map[string]bool   // sessions whose use of a flow group cannot be ended
	calls  []string          // "bind s1", "unbind s1"

	refusal error // the switch's error for the sessions in refused
	refused []string
}

func (r *rules) Usable(rule schema.ACLRuleKey) error {
	if !r.there[rule.Rule] {
		return orch.Wait("ACL rule", rule.Rule, "no ACL rule %s", rule.Rule)
	}
	return nil
}

func (r *rules) UnbindMany(_ context.Context, _ string, list []schema.ACLRuleKey, users []string) []error {
	errs := make([]error, len(list))
	for i, user := range users {
		r.calls = append(r.calls, "unbind "+user)
		if r.sticky[user] {
			errs[i] = sai.StatusFailure
			continue
		}
		delete(r.users, user)
	}
	return errs
}

func (r *rules) bind(_ context.Context, _ string, list []schema.ACLRuleKey, users []string) []error {
	errs := make([]error, len(list))
	for i, user := range users {
		r.calls = append(r.calls, "bind "+user)
		if r.refusal != nil && slices.Contains(r.refused, user) {
			errs[i] = r.refusal
			continue
		}
		if len(r.users) == r.room {
			errs[i] = sai.StatusTableFull
			continue
		}
		r.users[user] = list[i].Rule
	}
	return errs
}

func (r *rules) Watch() *orch.Topic[[]schema.ACLRuleKey] { return &r.watch }

// A bench is a feature whose flow groups have one session each.
type bench struct {
	*orchtest.Bench
	rules   *rules
	feature *feature.Feature[flow, struct{}]
}

// logic is the logic of the feature.
type logic struct{ *bench }

func (logic) Parse(_ string, row swss.FieldValues) (flow, error) {
	if row["rule"] == "" {
		return flow{}, errors.New("no rule")
	}
	rule := schema.ACLRuleKey{Table: "TAM", Rule: row["rule"]}
	return flow{rule, row["note"], row["draft"] == "yes", row["later"] == "yes"}, nil
}

func (logic) Rule(f *flow) schema.ACLRuleKey { return f.rule }

func (b logic) Wanted(_ context.Context, s *session) error { return b.feature.FlowGroup(s) }

func (b logic) Lost(s *session) bool { return b.rules.users[s.Name] == "" }

func (logic) Stays(_ context.Context, s *session) bool { return s.RowInASIC == s.Row }

func (b logic) Deploy(ctx context.Context, wanted []*session) {
	var list []*session
	for _, s := range wanted {
		s.Draft = s.Row.draft
		if s.Row.note != "" {
			s.Note = s.Row.note
		}
		if s.InASIC == nil {
			if s.Row.later {
				b.feature.Later(s)
			}
			s.InASIC, list = new(struct{}), append(list, s)
		}
	}
	b.feature.Bind(ctx, list, b.rules.bind)
}

func newBench(t *testing.T, unsupported string) *bench {
	b := &bench{Bench: orchtest.Started(t, saitest.Options{}), rules: &rules{
		room: 2, there: map[string]bool{}, users: map[string]string{}, sticky: map[string]bool{},
	}}
	b.feature = &feature.Feature[flow, struct{}]{
		Kind: feature.Kind{
			Name: schema.FeatureTailStamping, Table: schema.AppTAMTailStamp, State: schema.StateTAMTailStamp,
			What: "sessions", Again: "there is room", OnePerRule: "testing", Meanwhile: "; it is as it was",
		},
		Logic: logic{b},
		Rules: b.rules, Unsupported: unsupported,
	}
	features := orch.NewFeatures(b.Daemon)
	cfg := feature.Config{SAI: b.Rec, Daemon: b.Daemon, Redis: b.Redis, Features: features}
	if err := b.feature.Start(b.Ctx, cfg); err != nil {
		t.Fatal(err)
	}
	b.turn("ACTIVE")
	b.rule("web", true)
	b.rule("dns", true)
	b.rule("ntp", true)
	return b
}

func (b *bench) turn(status string) {
	b.Set(schema.AppTAMFeature, schema.FeatureTailStamping, "status", status)
	b.Step()
}

func (b *bench) rule(name string, there bool) {
	b.rules.there[name] = there
	b.rules.watch.Publish(b.Ctx, []schema.ACLRuleKey{{Table: "TAM", Rule: name}})
	b.Step()
}

func (b *bench) session(name, rule string, fields ...string) {
	b.Set(schema.AppTAMTailStamp, name, append(fields, "rule", rule)...)
	b.Step()
}

func (b *bench) gone(name string) {
	b.Del(schema.AppTAMTailStamp, name)
	b.Step()
}

func (b *bench) wantFeature(status string) {
	b.T.Helper()
	b.WantStatus(schema.StateTAMFeature, schema.FeatureTailStamping, status)
}

func (b *bench) want(session, status string) {
	b.T.Helper()
	featuretest.Whole(b.Bench, b.feature)
	b.WantStatus(schema.StateTAMTailStamp, session, status)
	s, rule := b.feature.Sessions[session], b.rules.users[session]
	active := strings.HasPrefix(status, "active")
	if on := s != nil && s.InASIC != nil; active != on || on != (rule != "") || on && rule != s.Row.rule.Rule {
		b.T.Errorf("session %s is %q, in the ASIC: %v, and uses flow group %q", session, status, on, rule)
	}
}

// A session is in the ASIC while its row is valid, the feature is active, and its flow group exists and has no other
// session.
func TestSession(t *testing.T) {
	b := newBench(t, "")
	b.session("s1", "web")
	b.want("s1", "active")
	b.rule("web", false)
	b.want("s1", "pending: no ACL rule web")
	b.rule("web", true)
	b.want("s1", "active")
	b.turn("INACTIVE")
	b.want("s1", "pending: feature TAILSTAMPING is not active")
	b.turn("ACTIVE")
	b.session("s1", "")
	b.want("s1", "failed: no rule")
	b.session("s1", "ntp")
	b.want("s1", "active")
	b.session("s1", "dns")
	b.want("s1", "active")
	b.session("s0", "dns")
	b.want("s0", "active")
	b.want("s1", "pending: flow group dns has the session s0 already: a flow group has one session of testing")
	b.gone("s0")
	b.want("s0", "")
	b.want("s1", "active")
	b.gone("s1")
	featuretest.Empty(b.Bench, b.feature)
}

// A removed session frees capacity for another in the same Reconcile, without another event.
func TestRoom(t *testing.T) {
	b := newBench(t, "")
	b.session("s1", "web")
	b.session("s2", "dns")
	b.rule("nfs", true)
	b.session("s4", "nfs")
	b.session("s3", "ntp")
	b.want("s3", "pending: the switch has no room for it (SAI_STATUS_TABLE_FULL); tried again when there is room")
	b.wantFeature("INSUFFICIENT_RESOURCES: 2 of 4 sessions do not fit into the switch, the first is s3: ")
	b.gone("s1")
	b.want("s3", "active")
	b.wantFeature("INSUFFICIENT_RESOURCES: 1 of 3 sessions do not fit into the switch, the first is s4: ")
	b.session("s4", "nfs", "draft", "yes")
	b.want("s4", "pending: the switch has no room for it (SAI_STATUS_TABLE_FULL); tried again when there is room")
	b.wantFeature("ACTIVE")
	b.rules.room = 3
	b.rule("another", true)
	b.want("s4", "active")
	if again := b.feature.Snapshot().Again; len(again) > 0 {
		t.Errorf("%v are still tried again", again)
	}
}

// A function that the switch lacks is reported for the feature and for every session.
func TestUnsupported(t *testing.T) {
	b := newBench(t, "the switch has no such thing")
	b.session("s1", "web")
	b.want("s1", "failed: the switch has no such thing")
	b.wantFeature("UNSUPPORTED: the switch has no such thing")
}

// A feature is not active if the switch refuses all its sessions, and reports why. If it accepts some, the active
// feature reports the refusals.
func TestRefused(t *testing.T) {
	b := newBench(t, "")
	b.rules.refusal, b.rules.refused = sai.StatusNotSupported, []string{"s1", "s2"}
	b.turn("INACTIVE")
	b.session("s1", "web")
	b.turn("ACTIVE")
	b.want("s1", "failed: the switch does not ")
	b.wantFeature("UNSUPPORTED: 1 of 1 sessions are refused by the switch, the first is s1: the switch does not ")
	b.session("s3", "ntp")
	b.want("s3", "active")
	b.wantFeature("ACTIVE: 1 of 2 sessions are refused by the switch, the first is s1: ")
	b.session("s2", "dns")
	b.wantFeature("ACTIVE: 2 of 3 sessions are refused by the switch, the first is s1: ")
	b.gone("s1")
	b.gone("s3")
	b.wantFeature("UNSUPPORTED: 1 of 1 sessions are refused by the switch, the first is s2: ")
	b.rules.refusal = nil
	b.session("s2", "web")
	b.want("s2", "active")
	b.wantFeature("ACTIVE")
	b.rules.refusal = sai.StatusFailure
	b.session("s2", "ntp")
	b.wantFeature("UNSUPPORTED: 1 of 1 sessions are refused by the switch, the first is s2: ")
	b.gone("s2")
	b.wantFeature("ACTIVE")
	featuretest.Empty(b.Bench, b.feature)
}

// The note of a session is reported until it has another row.
func TestNote(t *testing.T) {
	b := newBench(t, "")
	b.session("s1", "web", "note", "by the way")
	b.want("s1", "active: by the way")
	b.session("s1", "web")
	b.want("s1", "active")
	if got := b.Status(schema.StateTAMTailStamp + "|s1"); got != "active" {
		t.Errorf("status %q", got)
	}
}

// wantCalls checks the calls of the rules since the last time.
func (b *bench) wantCalls(want ...string) {
	b.T.Helper()
	if !slices.Equal(b.rules.calls, want) {
		b.T.Errorf("calls %q, want %q", b.rules.calls, want)
	}
	b.rules.calls = nil
}

// A session for which Later was called is handled once more when something changes. This holds even if Later is
// called before the session itself is reported.
func TestLater(t *testing.T) {
	b := newBench(t, "")
	b.session("s1", "web", "later", "yes")
	b.want("s1", "active")
	if again := b.feature.Snapshot().Again; !slices.Equal(again, []string{"s1"}) {
		t.Errorf("%v are handled later, want s1", again)
	}
	b.rule("another", true)
	if again := b.feature.Snapshot().Again; len(again) > 0 {
		t.Errorf("%v are still handled later", again)
	}
}

// A session that could not be removed from the ASIC is retried every second, whatever happens meanwhile. Nothing else
// is retried then: a session without capacity waits for a change.
func TestStuck(t *testing.T) {
	b := newBench(t, "")
	b.session("s1", "web")
	b.session("s2", "dns")
	b.session("s3", "ntp")
	b.rules.sticky["s1"] = true
	b.rules.calls = nil
	b.gone("s1")
	b.wantCalls("unbind s1")
	for range 3 {
		b.Pass(feature.TryAgain / 2)
		b.session("s4", "") // an added session causes a Reconcile
		b.Pass(feature.TryAgain/2 - time.Millisecond)
		b.wantCalls()
		b.Pass(time.Millisecond)
		b.wantCalls("unbind s1")
		if b.rules.users["s1"] == "" || !slices.Equal(b.feature.Snapshot().Stuck, []string{"s1"}) {
			t.Error("the session is forgotten, and in the ASIC")
		}
		featuretest.Whole(b.Bench, b.feature)
	}
	b.rules.sticky["s1"] = false
	b.Pass(feature.TryAgain)
	b.wantCalls("unbind s1", "bind s3") // there is capacity
	b.want("s3", "active")
	b.Pass(5 * feature.TryAgain)
	b.wantCalls()
	for _, name := range []string{"s2", "s3", "s4"} {
		b.gone(name)
	}
	featuretest.Empty(b.Bench, b.feature)
}

// A session that could not be removed stays in the ASIC if the same row is written again.
func TestStuckAndBack(t *testing.T) {
	b := newBench(t, "")
	b.session("s1", "web")
	b.rules.sticky["s1"] = true
	b.turn("INACTIVE")
	got := b.Status(schema.StateTAMTailStamp + "|s1")
	if !strings.HasPrefix(got, "failed: detach from ACL rule TAM|web: ") || !strings.HasSuffix(got, "; it is as it was") {
		t.Errorf("status %q", got)
	}
	b.rules.calls = nil
	b.turn("ACTIVE")
	b.want("s1", "active")
	b.Pass(5 * feature.TryAgain)
	b.wantCalls()
	b.gone("s1")
	b.WantStatus(schema.StateTAMTailStamp, "s1", "")
	b.session("s1", "web")
	b.want("s1", "active")
}

// If the entry of a session disappeared by itself, the session is added again when its rule reports that.
func TestLost(t *testing.T) {
	b := newBench(t, "")
	b.session("s1", "web")
	delete(b.rules.users, "s1")
	b.rules.calls = nil
	b.rule("web", true)
	b.want("s1", "active")
	b.wantCalls("bind s1")
}

// After a database was emptied, the next flush writes all rows again, with all fields, including rows that were not
// put since. Deleted rows do not return.
func TestRowsLost(t *testing.T) {
	b := orchtest.Started(t, saitest.Options{})
	d := orch.NewDaemon("live", b.Redis, orch.Options{}) // on wall time: it looks for emptied databases
	rows := &feature.Rows{Table: "T"}
	f := &feature.Feature[flow, struct{}]{Counters: []*feature.Rows{rows}}
	f.Name, f.Table, f.State = "X", "X_TABLE", "X_STATE"
	cfg := feature.Config{SAI: b.Rec, Daemon: d, Redis: b.Redis, Features: orch.NewFeatures(d)}
	if err := f.Start(b.Ctx, cfg); err != nil {
		t.Fatal(err)
	}
	known, lost := make(chan struct{}, 10), make(chan struct{}, 10)
	d.Consume(func(l *swss.Listener) swss.Source {
		return swss.NewSubscriber(l, b.Redis.DB(swss.ConfigDB), "KNOWN")
	}, "KNOWN", orch.Each(func(context.Context, orch.Task) error { known <- struct{}{}; return nil }),
		orch.Reporting{StateTable: "S"})
	d.OnFlush(func() { lost <- struct{}{} })
	if err := swss.NewTable(b.Redis.DB(swss.ConfigDB), "KNOWN").Set(b.Ctx, "row", nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Ctx)
	done := make(chan error)
	go func() { done <- d.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	change := func(change func()) {
		t.Helper()
		var err error
		if doErr := d.Do(ctx, func() { change(); err = f.Flush(ctx) }); doErr != nil || err != nil {
			t.Fatal(doErr, err)
		}
	}
	change(func() {
		for _, key := range []string{"same", "newer", "dropped"} {
			rows.Put(key, swss.FieldValues{"a": "1", "b": "2"})
		}
	})
	<-known
	if err := b.Redis.DB(swss.CountersDB).Client().FlushAll(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	if err := d.Do(ctx, func() { // before the daemon detects that the database was emptied
		rows.Put("newer", swss.FieldValues{"a": "1", "c": "3"})
		rows.Drop("dropped")
	}); err != nil {
		t.Fatal(err)
	}
	<-lost
	change(func() {})
	for key, want := range map[string]string{"same": "map[a:1 b:2]", "newer": "map[a:1 c:3]", "dropped": "map[]"} {
		if got := fmt.Sprint(b.Row(swss.CountersDB, "T", key)); got != want {
			t.Errorf("row %s is %s, want %s", key, got, want)
		}
	}
}

// Rows of COUNTERS_DB have the content of the last Put. Obsolete fields and dropped rows are deleted. Rows of a
// previous run are deleted when the first view has been applied.
func TestRows(t *testing.T) {
	b := orchtest.Started(t, saitest.Options{})
	table := swss.NewTable(b.Redis.DB(swss.CountersDB), "T")
	if err := table.Set(b.Ctx, "old", swss.FieldValues{"a": "1"}); err != nil {
		t.Fatal(err)
	}
	rows := &feature.Rows{Table: "T"}
	f := &feature.Feature[flow, struct{}]{Counters: []*feature.Rows{rows}}
	f.Name, f.Table, f.State = "X", "X_TABLE", "X_STATE"
	if err := f.Start(b.Ctx, feature.Config{SAI: b.Rec, Daemon: b.Daemon, Redis: b.Redis,
		Features: orch.NewFeatures(b.Daemon)}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		change func()
		want   string
	}{
		{func() {}, "old=map[a:1]"},
		{func() { rows.Put("x", swss.FieldValues{"a": "1", "b": "2"}); rows.Put("y", swss.FieldValues{"a": "1"}) },
			"old=map[a:1] x=map[a:1 b:2] y=map[a:1]"},
		{func() { rows.Put("x", swss.FieldValues{"b": "3"}); rows.Drop("y") }, "old=map[a:1] x=map[b:3]"},
		{func() { b.Daemon.Release(); b.Step() }, "x=map[b:3]"},
		{func() { rows.Drop("x"); rows.Put("x", swss.FieldValues{"c": "4"}) }, "x=map[c:4]"},
		{func() { rows.Put("x", swss.FieldValues{"c": "5"}); rows.Drop("x") }, ""},
	} {
		tt.change()
		if err := f.Flush(b.Ctx); err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, key := range []string{"old", "x", "y"} {
			if row := b.Row(swss.CountersDB, "T", key); len(row) > 0 {
				list = append(list, fmt.Sprintf("%s=%v", key, row))
			}
		}
		if got := strings.Join(list, " "); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// When an orch starts, the rows that another syncd's chip counted are deleted, with the record of cleared counters.
// This chip may have counted more before its first reading. Rows of the same chip stay.
func TestRowsOfAnotherChip(t *testing.T) {
	b := orchtest.Started(t, saitest.Options{})
	counters := b.Redis.DB(swss.CountersDB)
	for _, tt := range []struct {
		run  string
		kept bool
	}{{"a", false}, {"a", true}, {"b", false}, {"b", true}, {"", true}, {"a", false}} {
		err := swss.NewTable(counters, "T").Set(b.Ctx, "x", swss.FieldValues{"PACKETS": "9"})
		if err == nil {
			err = counters.Client().HSet(b.Ctx, schema.CountersCleared, "T:x", `{"PACKETS":"4"}`).Err()
		}
		if err != nil {
			t.Fatal(err)
		}
		rows := &feature.Rows{Table: "T", Clears: true}
		f := &feature.Feature[flow, struct{}]{Counters: []*feature.Rows{rows}}
		f.Name, f.Table, f.State = "X", "X_TABLE", "X_STATE"
		d := orch.NewDaemon("d", b.Redis, orch.Options{})
		cfg := feature.Config{SAI: b.Rec, Daemon: d, Redis: b.Redis, Features: orch.NewFeatures(d), Run: tt.run}
		if err := f.Start(b.Ctx, cfg); err != nil {
			t.Fatal(err)
		}
		cleared := counters.Client().HExists(b.Ctx, schema.CountersCleared, "T:x").Val()
		if row := b.Row(swss.CountersDB, "T", "x"); len(row) > 0 != tt.kept || cleared != tt.kept ||
			(rows.Get("x") != nil) != tt.kept {
			t.Errorf("syncd %q: row %v, cleared %v, want both: %v", tt.run, row, cleared, tt.kept)
		}
	}
}
