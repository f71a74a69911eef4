package tsorch

import (
	"context"
	"fmt"
	"testing"

	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// quick answers calls for ACL entries and counters without checks, and counts calls. So a benchmark measures the orchs
// and not the fake ASIC.
type quick struct {
	sai.API
	next  sai.OID
	calls map[string]int
}

func newQuick(next sai.API) sai.API { return &quick{API: next, calls: map[string]int{}} }

func (q *quick) own(t sai.ObjectType) bool {
	return t == sai.ObjectTypeACLEntry || t == sai.ObjectTypeACLCounter
}

func (q *quick) Create(ctx context.Context, t sai.ObjectType, attrs []sai.Attr) (sai.OID, error) {
	if q.own(t) {
		q.calls["create "+t.String()]++
		q.next++
		return sai.OID(t)<<48 | q.next, nil
	}
	return q.API.Create(ctx, t, attrs)
}

func (q *quick) BulkCreate(ctx context.Context, t sai.ObjectType, objs [][]sai.Attr) ([]sai.OID, []error) {
	if !q.own(t) {
		return q.API.BulkCreate(ctx, t, objs)
	}
	q.calls["bulk create "+t.String()]++
	oids := make([]sai.OID, len(objs))
	for i := range oids {
		q.next++
		oids[i] = sai.OID(t)<<48 | q.next
	}
	return oids, make([]error, len(objs))
}

func (q *quick) Remove(ctx context.Context, k sai.Key) error {
	if q.own(k.Type) {
		q.calls["remove "+k.Type.String()]++
		return nil
	}
	return q.API.Remove(ctx, k)
}

func (q *quick) BulkRemove(ctx context.Context, keys []sai.Key) []error {
	if !q.own(keys[0].Type) {
		return q.API.BulkRemove(ctx, keys)
	}
	q.calls["bulk remove "+keys[0].Type.String()]++
	return make([]error, len(keys))
}

// bulk is the number of objects that aclorch creates in one call.
const bulk = 1000

// many writes n flow groups and one session on each.
func (b *bench) many(n int) {
	b.T.Helper()
	rules, sessions := make([]swss.Row, n), make([]swss.Row, n)
	for i := range n {
		rules[i] = swss.Row{Key: fmt.Sprintf("TAM:flow%d", i), Fields: []swss.Pair{
			{Field: "PRIORITY", Value: "100"}, {Field: "SRC_IP", Value: fmt.Sprintf("10.%d.%d.1/32", i/250, i%250)},
			{Field: "DST_IP", Value: "20.0.0.0/8"}, {Field: "L4_DST_PORT", Value: "80"}, {Field: "IP_PROTOCOL", Value: "6"},
		}}
		sessions[i] = swss.Row{Key: fmt.Sprintf("s%d", i), Fields: []swss.Pair{
			{Field: "acl-table-name", Value: "TAM"}, {Field: "acl-rule-name", Value: fmt.Sprintf("flow%d", i)},
		}}
	}
	db := b.Redis.DB(swss.ApplDB)
	if err := swss.NewProducerState(db, schema.AppACLRule).SetMany(b.Ctx, rules); err != nil {
		b.T.Fatal(err)
	}
	if err := swss.NewProducerState(db, schema.AppTAMTailStamp).SetMany(b.Ctx, sessions); err != nil {
		b.T.Fatal(err)
	}
}

// Ten thousand flow groups with sessions go from APPL_DB to SAI calls in a limited number of calls.
func TestManySessions(t *testing.T) {
	n := 10000
	if testing.Short() {
		n = 2000
	}
	var q *quick
	b := newBenchOn(t, saitest.Options{}, func(next sai.API) sai.API { q = newQuick(next).(*quick); return q })
	b.activate()
	b.tamTable()
	b.many(n)
	b.Step()
	b.wantSession(fmt.Sprintf("s%d", n-1), "active")
	for what, want := range map[string]int{
		"bulk create SAI_OBJECT_TYPE_ACL_COUNTER": n / bulk, "bulk create SAI_OBJECT_TYPE_ACL_ENTRY": n / bulk,
		"create SAI_OBJECT_TYPE_ACL_COUNTER": 0, "create SAI_OBJECT_TYPE_ACL_ENTRY": 0,
	} {
		if q.calls[what] != want {
			t.Errorf("%s: %d calls, want %d", what, q.calls[what], want)
		}
	}
	b.Del(schema.AppTAMFeature, featureName)
	b.Step()
	b.wantSession("s5", "pending: feature TAILSTAMPING is not active")
	if q.calls["bulk remove SAI_OBJECT_TYPE_ACL_ENTRY"] != n/bulk {
		t.Errorf("calls: %v", q.calls)
	}
	if len(b.Rec.LiveOf(sai.ObjectTypeACLEntry))+len(b.Rec.LiveOf(sai.ObjectTypeACLCounter))+
		len(b.Rec.LiveOf(sai.ObjectTypeTAMInt)) > 0 {
		t.Error("objects were left behind")
	}
}

// BenchmarkSessions applies 10,000 flow groups with sessions that are in APPL_DB. The time includes the embedded Redis.
func BenchmarkSessions(b *testing.B) {
	const n = 10000
	for b.Loop() {
		b.StopTimer()
		bench := newBenchOn(b, saitest.Options{}, newQuick)
		bench.activate()
		bench.tamTable()
		bench.many(n)
		b.StartTimer()
		bench.Step()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/n, "µs/session")
}

// BenchmarkOneChange changes one of 10,000 flow groups.
func BenchmarkOneChange(b *testing.B) {
	bench := newBenchOn(b, saitest.Options{}, newQuick)
	bench.activate()
	bench.tamTable()
	bench.many(10000)
	bench.Step()
	i := 0
	for b.Loop() {
		i++
		bench.rule("new", "SRC_IP", fmt.Sprintf("11.0.%d.%d", i/250%250, i%250))
		bench.session("new", "new")
		bench.Step()
		bench.Del(schema.AppTAMTailStamp, "new")
		bench.Del(schema.AppACLRule, "TAM:new")
		bench.Step()
	}
}
