package feature_test

import (
	"context"
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

// entries are flow groups whose use is a sampler in the ASIC instead of an entry.
type entries struct {
	*rules
	api sai.API
	is  map[schema.ACLRuleKey]sai.OID
}

func (e *entries) ReserveVariants(string, []orch.ACLVariant) {}

func (e *entries) BindVariants(
	ctx context.Context, _ string, list []schema.ACLRuleKey, _ []string, _ [][]orch.ACLVariant,
) []error {
	errs := make([]error, len(list))
	for i, rule := range list {
		e.is[rule], errs[i] = e.api.Create(ctx, sai.ObjectTypeSamplepacket, rate(99))
		if errs[i] != nil {
			delete(e.is, rule)
		}
	}
	return errs
}

func (e *entries) UnbindMany(ctx context.Context, _ string, list []schema.ACLRuleKey, _ []string) []error {
	errs := make([]error, len(list))
	for i, rule := range list {
		if oid, ok := e.is[rule]; ok {
			if errs[i] = e.api.Remove(ctx, sai.Obj(sai.ObjectTypeSamplepacket, oid)); errs[i] == nil {
				delete(e.is, rule)
			}
		}
	}
	return errs
}

func (e *entries) VariantCounter(rule schema.ACLRuleKey, _, _ string) (sai.OID, string, bool) {
	oid, ok := e.is[rule]
	return oid, "", ok
}

func rate(n uint64) []sai.Attr {
	return []sai.Attr{{ID: sai.SamplepacketAttrSampleRate, Value: sai.Uint(n)}}
}

// A stepwise is a feature whose sessions consist of a sampler, an extension object and the use of a flow group.
type stepwise struct {
	*orchtest.Bench
	entries  *entries
	counters *feature.Rows
	feature  *feature.Feature[flow, sai.OID]
	reads    int
	failing  error // error that reads return
}

type stepped = feature.Session[flow, sai.OID]

func (b *stepwise) Parse(key string, row swss.FieldValues) (flow, error) {
	return logic{}.Parse(key, row)
}

func (b *stepwise) rules(s *stepped) []schema.ACLRuleKey { return []schema.ACLRuleKey{s.Row.rule} }

func (b *stepwise) Wanted(_ context.Context, s *stepped) error {
	return feature.Usable(b.entries, b.rules(s))
}

func (b *stepwise) Stays(_ context.Context, s *stepped) bool {
	return s.RowInASIC == s.Row && !s.Leaving && b.feature.Attached(b.entries, b.rules(s))
}

func (b *stepwise) Deploy(ctx context.Context, wanted []*stepped) {
	for _, s := range wanted {
		if s.InASIC == nil {
			s.Err = b.feature.BringUp(ctx, s, new(sai.OID), b.steps)
		}
	}
}

func (b *stepwise) steps(ctx context.Context, s *stepped) (err error) {
	if *s.InASIC, err = s.Steps.Create(ctx, b.Rec, "sampler", sai.ObjectTypeSamplepacket, rate(7)...); err != nil {
		return err
	}
	label := feature.Object{Name: "left", Attr: "label"}
	s.Steps.Add("forget the label", func(ctx context.Context) error { return label.Remove(ctx, b.Rec) })
	if err := label.Put(ctx, b.Rec, s.Name); err != nil {
		return err
	}
	return b.feature.Attach(ctx, s, b.entries, b.rules(s), []orch.ACLVariant{{Name: "all"}})
}

func (b *stepwise) Left(s *stepped) { b.counters.Drop(s.Name) }

func (b *stepwise) read(context.Context) error {
	b.reads++
	for _, s := range b.feature.Sessions {
		if s.InASIC != nil {
			b.counters.Put(s.Name, swss.FieldValues{"READS": fmt.Sprint(b.reads)})
		}
	}
	return b.failing
}

// newStepwise returns a feature with the sessions s1 and s2, whose flow groups exist and which are not handled yet.
func newStepwise(t *testing.T) *stepwise {
	b := &stepwise{Bench: orchtest.Started(t, saitest.Options{Extensions: []string{"left"}})}
	b.CreateSwitch()
	b.entries = &entries{
		rules: &rules{there: map[string]bool{"web": true, "dns": true}}, api: b.Rec, is: map[schema.ACLRuleKey]sai.OID{},
	}
	b.counters = &feature.Rows{Table: "T"}
	b.feature = &feature.Feature[flow, sai.OID]{
		Kind: feature.Kind{
			Name: schema.FeatureIFA, Table: schema.AppTAMIFA, State: schema.StateTAMIFA, What: "sessions",
			Again: "there is room", Meanwhile: "; it is as it was",
		},
		Logic: b, Rules: b.entries, Counters: []*feature.Rows{b.counters},
	}
	cfg := feature.Config{SAI: b.Rec, Daemon: b.Daemon, Redis: b.Redis, Features: orch.NewFeatures(b.Daemon)}
	if err := b.feature.Start(b.Ctx, cfg); err != nil {
		t.Fatal(err)
	}
	b.feature.ReadCounters(func() bool {
		return slices.ContainsFunc([]string{"s1", "s2"}, b.feature.InChip)
	}, b.read)
	b.Set(schema.AppTAMFeature, schema.FeatureIFA, "status", "ACTIVE")
	b.Step()
	b.Rec.Reset()
	b.Set(schema.AppTAMIFA, "s1", "rule", "web")
	b.Set(schema.AppTAMIFA, "s2", "rule", "dns")
	return b
}

// want checks the number of objects, and the invariants of the sessions.
func (b *stepwise) want(what string, objects int) {
	b.T.Helper()
	featuretest.Whole(b.Bench, b.feature)
	n := len(b.Rec.LiveOf(sai.ObjectTypeSamplepacket)) + len(b.Rec.LiveOf(sai.ObjectTypeGenericProgrammable))
	if n != objects {
		b.T.Errorf("%s: %d objects in the ASIC, want %d", what, n, objects)
	}
}

// gone deletes all rows.
func (b *stepwise) gone() {
	b.T.Helper()
	for _, name := range []string{"s1", "s2"} {
		b.Del(schema.AppTAMIFA, name)
	}
	b.Step()
	b.Pass(2 * feature.TryAgain)
	featuretest.Empty(b.Bench, b.feature)
	b.want("without rows", 0)
}

// The steps of a session are made in order and undone in reverse. A new row causes both.
func TestStepwise(t *testing.T) {
	b := newStepwise(t)
	order := func() (got string) {
		for _, c := range b.Calls() {
			op, object, _ := strings.Cut(c, "|")
			object, _, _ = strings.Cut(object, ":")
			got += op + " " + object + "; "
		}
		return got
	}
	const (
		up   = "c SAMPLEPACKET; c GENERIC_PROGRAMMABLE; c SAMPLEPACKET; "
		down = "r SAMPLEPACKET; r GENERIC_PROGRAMMABLE; r SAMPLEPACKET; "
	)
	b.Step()
	b.want("both", 6)
	if got := order(); got != up+up {
		t.Error(got)
	}
	b.Set(schema.AppTAMIFA, "s1", "rule", "web", "note", "another row")
	b.Step()
	b.want("another row", 6)
	if got := order(); got != down+up {
		t.Error(got)
	}
	b.entries.there["dns"] = false
	b.entries.watch.Publish(b.Ctx, []schema.ACLRuleKey{{Table: "TAM", Rule: "dns"}})
	b.feature.LookAgain(b.Ctx)
	b.Step()
	b.WantStatus(schema.StateTAMIFA, "s2", "pending: no ACL rule dns")
	b.want("without a rule", 3)
	if got := order(); got != down {
		t.Error(got)
	}
	b.gone()
}

// Whichever call fails, when a session is added or removed, the session is in the ASIC completely or not at all.
// Otherwise its status reports the remaining steps, and it is retried. If its row is written again, the session is
// there completely. If the row is deleted, nothing is left.
func TestStepwiseEveryCallFails(t *testing.T) {
	for n := 1; ; n++ {
		b := newStepwise(t)
		b.Rec.FailAt(n, sai.StatusFailure)
		b.Step()
		failed := b.Rec.Changes() >= n
		if failed {
			b.want(fmt.Sprintf("call %d", n), 3)
			whole := 0
			for _, name := range []string{"s1", "s2"} {
				if status := b.Status(schema.StateTAMIFA + "|" + name); status == "active" {
					whole++
				} else if !strings.Contains(status, "SAI_STATUS_FAILURE") {
					t.Errorf("call %d: %s is %q", n, name, status)
				}
			}
			if whole != 1 {
				t.Errorf("call %d: %d sessions are active", n, whole)
			}
		}
		b.Set(schema.AppTAMIFA, "s1", "rule", "web", "note", "another row") // the session leaves the ASIC and returns
		b.Set(schema.AppTAMIFA, "s2", "rule", "dns", "note", "another row")
		b.Step()
		failed = b.Rec.Changes() >= n
		b.Pass(2 * feature.TryAgain)
		for _, name := range []string{"s1", "s2"} {
			b.Set(schema.AppTAMIFA, name, "rule", map[string]string{"s1": "web", "s2": "dns"}[name])
		}
		b.Step()
		b.want(fmt.Sprintf("call %d, rows anew", n), 6)
		b.Rec.FailAt(0, 0)
		b.gone()
		if !failed {
			return
		}
	}
}

// If undoing a failed session fails, it is retried from that step.
func TestStepwiseUndoFails(t *testing.T) {
	b := newStepwise(t)
	b.Del(schema.AppTAMIFA, "s2")
	b.Rec.FailAt(3, sai.StatusFailure) // using the flow group fails
	again := true
	b.entries.api = failingOnce{b.Rec, func() {
		if again {
			again = false
			b.Rec.FailAt(1, sai.StatusFailure) // then removing the label fails
		}
	}}
	b.Step()
	b.WantStatus(schema.StateTAMIFA, "s1", "and undoing the steps before it failed: forget the label: remove the label: ")
	b.want("undoing failed", 2)
	b.Set(schema.AppTAMIFA, "s1", "rule", "web")
	b.Step()
	b.WantStatus(schema.StateTAMIFA, "s1", "active")
	b.want("again", 3)
	b.gone()
}

// A failingOnce calls failed after each Create that fails.
type failingOnce struct {
	sai.API
	failed func()
}

func (f failingOnce) Create(ctx context.Context, t sai.ObjectType, attrs []sai.Attr) (sai.OID, error) {
	oid, err := f.API.Create(ctx, t, attrs)
	if err != nil {
		f.failed()
	}
	return oid, err
}

// Counters are read once a second while a session is there, and once more on request. A failed read is logged; if
// Redis was away, it is an error.
func TestReadCounters(t *testing.T) {
	b := newStepwise(t)
	b.Pass(5 * time.Second)
	b.Step()
	if b.reads == 0 {
		t.Error("not read as soon as a session is there")
	}
	before := b.reads
	b.Pass(3 * feature.TryAgain)
	if got := b.Row(swss.CountersDB, "T", "s1")["READS"]; b.reads != before+3 || got != fmt.Sprint(b.reads) {
		t.Errorf("%d reads in three seconds, the row has %q", b.reads-before, got)
	}
	b.failing = sai.StatusFailure
	logged := len(b.Logged)
	if err := b.feature.PollCounters(b.Ctx); err != nil || len(b.Logged) != logged+1 || b.reads != before+4 {
		t.Errorf("%v, logged %v", err, b.Logged[logged:])
	}
	b.failing = fmt.Errorf("read: %w", swss.ErrUnavailable)
	if err := b.feature.PollCounters(b.Ctx); err == nil {
		t.Error("Redis was away, and nothing says so")
	}
	b.failing = nil
	b.gone()
	before = b.reads
	b.Pass(3 * feature.TryAgain)
	if err := b.feature.PollCounters(b.Ctx); err != nil || b.reads != before {
		t.Errorf("%v, read %d times without a session", err, b.reads-before)
	}
}

// The TAM objects of a switch share one attribute. Each is added and removed separately, and once.
func TestSwitchTAM(t *testing.T) {
	b := orchtest.Started(t, saitest.Options{})
	sw, _ := b.CreateSwitch()
	tam := func() sai.OID {
		oid, err := b.Fake.Create(b.Ctx, sai.ObjectTypeTAM, []sai.Attr{
			{ID: sai.TAMAttrTAMBindPointTypeList, Value: sai.Enums{sai.TAMBindPointTypeSwitch}}})
		if err != nil {
			t.Fatal(err)
		}
		return oid
	}
	first, second := tam(), tam()
	x := feature.SwitchTAM{SAI: b.Rec, Switch: sw}
	b.Rec.Reset()
	for _, step := range []struct {
		do    func(context.Context, sai.OID) error
		oid   sai.OID
		fail  bool
		bound sai.OIDs
		calls int
	}{
		{x.Add, second, true, nil, 2}, {x.Add, second, false, sai.OIDs{second}, 1},
		{x.Add, second, false, sai.OIDs{second}, 0},
		{x.Add, first, false, sai.OIDs{first, second}, 1}, {x.Remove, second, true, sai.OIDs{first, second}, 2},
		{x.Remove, second, false, sai.OIDs{first}, 1}, {x.Remove, second, false, sai.OIDs{first}, 0},
		{x.Remove, first, false, nil, 1},
	} {
		if step.fail {
			b.Rec.FailAt(1, sai.StatusFailure)
		}
		err := step.do(b.Ctx, step.oid)
		bound, _ := b.Attr(sai.Obj(sai.ObjectTypeSwitch, sw), sai.SwitchAttrTAMObjectID).(sai.OIDs)
		if calls := b.Calls(); (err != nil) != step.fail || !slices.Equal(bound, step.bound) || len(calls) != step.calls {
			t.Errorf("%v, bound %v by %q, want %+v", err, bound, calls, step)
		}
	}
}
