package tamorch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tamtam/orch"
	"tamtam/orch/orchtest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/schema"
	"tamtam/swss"
	"tamtam/tamorch"
)

// A flow is a row of the test's feature: its flow group.
type flow struct{ rule schema.ACLRuleKey }

type session = tamorch.Session[flow, struct{}]

// rules are flow groups that there are, and who uses them.
type rules struct {
	watch  orch.Topic[[]schema.ACLRuleKey]
	there  map[string]bool
	room   int             // sessions that can use any
	users  map[string]bool // that do
	sticky bool            // no use can be ended
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
		if r.sticky {
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
		if len(r.users) == r.room {
			errs[i] = sai.StatusTableFull
			continue
		}
		r.users[user] = true
	}
	return errs
}

func (r *rules) Watch() *orch.Topic[[]schema.ACLRuleKey] { return &r.watch }

// bench is a feature whose flow groups have one session each.
type bench struct {
	*orchtest.Bench
	rules   *rules
	feature *tamorch.Feature[flow, struct{}]
}

func newBench(t *testing.T) *bench {
	b := &bench{Bench: orchtest.Started(t, saitest.Options{}), rules: &rules{room: 2, there: map[string]bool{}, users: map[string]bool{}}}
	b.feature = &tamorch.Feature[flow, struct{}]{
		Kind: tamorch.Kind{
			Name: schema.FeatureTailStamping, Table: schema.AppTAMTailStamp, State: schema.StateTAMTailStamp,
			What: "sessions", Again: "there is room", OnePerRule: "testing",
		},
		Logic: tamorch.Logic[flow, struct{}]{
			Parse: func(_ string, row swss.FieldValues) (flow, error) {
				if row["rule"] == "" {
					return flow{}, errors.New("no rule")
				}
				return flow{schema.ACLRuleKey{Table: "TAM", Rule: row["rule"]}}, nil
			},
			Rule:   func(f *flow) schema.ACLRuleKey { return f.rule },
			Wanted: func(_ context.Context, s *session) error { return b.feature.FlowGroup(s) },
			Stays:  func(_ context.Context, s *session) bool { return s.As == s.Row },
			Left:   func(*session) {},
			Deploy: func(ctx context.Context, wanted []*session) {
				var list []*session
				for _, s := range wanted {
					if s.On == nil {
						s.On, list = new(struct{}), append(list, s)
					}
				}
				b.feature.Bind(ctx, list, b.rules.bind)
			},
		},
		Rules: b.rules,
	}
	features := orch.NewFeatures(b.Daemon)
	cfg := tamorch.Config{SAI: b.Rec, Daemon: b.Daemon, Redis: b.Redis, Features: features}
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

func (b *bench) session(name, rule string) {
	b.Set(schema.AppTAMTailStamp, name, "rule", rule)
	b.Step()
}

func (b *bench) gone(name string) {
	b.Del(schema.AppTAMTailStamp, name)
	b.Step()
}

func (b *bench) want(session, status string) {
	b.T.Helper()
	b.WantStatus(schema.StateTAMTailStamp, session, status)
	if active := status == "active"; active != b.rules.users[session] {
		b.T.Errorf("session %s is %q, and in the ASIC %v", session, status, !active)
	}
}

// A session is in the ASIC while there is a row that can be read, the feature is active, and there
// is its flow group, for it alone.
func TestSession(t *testing.T) {
	b := newBench(t)
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
	b.session("s1", "dns")
	b.want("s1", "active")
	b.session("s0", "dns")
	b.want("s0", "active")
	b.want("s1", "pending: flow group dns has the session s0 already: a flow group has one session of testing")
	b.gone("s0")
	b.want("s0", "")
	b.want("s1", "active")
	b.gone("s1")
	if len(b.feature.Sessions) > 0 || !b.feature.Idle() {
		t.Errorf("sessions %v", b.feature.Sessions)
	}
}

// A session that leaves makes room for another in the same settling, though nobody else says that
// there is room.
func TestRoom(t *testing.T) {
	b := newBench(t)
	b.session("s1", "web")
	b.session("s2", "dns")
	b.session("s3", "ntp")
	b.want("s3", "pending: the switch has no room for it (SAI_STATUS_TABLE_FULL); tried again when there is room")
	b.WantStatus(schema.StateTAMFeature, schema.FeatureTailStamping,
		"INSUFFICIENT_RESOURCES: 1 of 3 sessions do not fit into the switch, the first is s3: ")
	b.gone("s1")
	b.want("s3", "active")
	b.WantStatus(schema.StateTAMFeature, schema.FeatureTailStamping, "ACTIVE")
}

// What could not be taken out of the ASIC is tried again every second, and nothing else is.
func TestStuck(t *testing.T) {
	b := newBench(t)
	b.session("s1", "web")
	b.rules.sticky = true
	b.gone("s1")
	b.Pass(3 * time.Second)
	if !b.rules.users["s1"] || b.feature.Idle() {
		t.Error("the session is forgotten, and in the ASIC")
	}
	b.rules.sticky = false
	b.Pass(time.Second)
	if b.rules.users["s1"] || !b.feature.Idle() {
		t.Error("the session stays in the ASIC")
	}
	if _, waits := b.Daemon.NextTimer(); waits {
		if at, _ := b.Daemon.NextTimer(); at.Sub(b.Now) == tamorch.TryAgain {
			t.Error("something is still tried again")
		}
	}
}

// A database that is emptied has all rows again with the next flush, whole, also those that nobody
// put since; what was to go does not come back.
func TestRowsLost(t *testing.T) {
	b := orchtest.Started(t, saitest.Options{})
	d := orch.NewDaemon("live", b.Redis, orch.Options{}) // on wall time: it looks for emptied databases
	rows := &tamorch.Rows{Table: "T"}
	f := &tamorch.Feature[flow, struct{}]{Counters: []*tamorch.Rows{rows}}
	f.Name, f.Table, f.State = "X", "X_TABLE", "X_STATE"
	cfg := tamorch.Config{SAI: b.Rec, Daemon: d, Redis: b.Redis, Features: orch.NewFeatures(d)}
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
	if err := d.Do(ctx, func() { // before the daemon finds out
		rows.Put("newer", swss.FieldValues{"a": "1", "c": "3"})
		rows.Drop("dropped")
	}); err != nil {
		t.Fatal(err)
	}
	<-lost
	change(func() {})
	for key, want := range map[string]string{"same": "map[a:1 b:2]", "newer": "map[a:1 c:3]", "dropped": "map[]"} {
		if got := fmt.Sprint(map[string]string(b.Row(swss.CountersDB, "T", key))); got != want {
			t.Errorf("row %s is %s, want %s", key, got, want)
		}
	}
}

// Rows of COUNTERS_DB are as they were put last: fields that a row has no more go, rows that are
// dropped go, and what a former life left goes at the start.
func TestRows(t *testing.T) {
	b := orchtest.Started(t, saitest.Options{})
	table := swss.NewTable(b.Redis.DB(swss.CountersDB), "T")
	if err := table.Set(b.Ctx, "old", swss.FieldValues{"a": "1"}); err != nil {
		t.Fatal(err)
	}
	rows := &tamorch.Rows{Table: "T"}
	f := &tamorch.Feature[flow, struct{}]{Counters: []*tamorch.Rows{rows}}
	f.Name, f.Table, f.State = "X", "X_TABLE", "X_STATE"
	if err := f.Start(b.Ctx, tamorch.Config{SAI: b.Rec, Daemon: b.Daemon, Redis: b.Redis, Features: orch.NewFeatures(b.Daemon)}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		change func()
		want   string
	}{
		{func() {}, ""},
		{func() { rows.Put("x", swss.FieldValues{"a": "1", "b": "2"}); rows.Put("y", swss.FieldValues{"a": "1"}) }, "x=map[a:1 b:2] y=map[a:1]"},
		{func() { rows.Put("x", swss.FieldValues{"b": "3"}); rows.Drop("y") }, "x=map[b:3]"},
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
				list = append(list, fmt.Sprintf("%s=%v", key, map[string]string(row)))
			}
		}
		if got := strings.Join(list, " "); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
