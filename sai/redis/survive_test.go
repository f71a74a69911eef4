package sairedis

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/sai/redis/objectids"
	"tamtam/sai/redis/protocol"
	"tamtam/sai/redis/sairedistest"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// A brittle is a syncd that stops at everything that may stop a stock one. It answers at random, and records the
// first request that it could not have parsed.
type brittle struct {
	*sairedistest.Strict
	rnd   *rand.Rand
	db    *swss.DB
	own   map[string]bool // objects that came with the switch
	made  map[string]bool // objects that were created since INIT_VIEW
	view  bool
	died  error
	count map[string]int // number of requests by op, and by op and type
}

// serve answers until ctx ends.
func (b *brittle) serve(ctx context.Context) {
	sub := b.db.Subscribe(ctx, "ASIC_STATE_CHANNEL@1")
	defer sub.Close()
	defer context.AfterFunc(ctx, func() { sub.Close() })()
	requests, answers := swss.NewQueue(b.db, "ASIC_STATE"), swss.NewQueue(b.db, "GETRESPONSE")
	for ctx.Err() == nil {
		entries, _ := requests.Pop(ctx)
		for _, e := range entries {
			p, err := b.Request(e)
			if err != nil && b.died == nil {
				b.died = fmt.Errorf("%s %s %s: %w", e.Op, e.Key, e.Body, err)
			}
			b.count[p.Op]++
			b.count[p.Op+" "+p.Type]++
			answers.Push(ctx, b.answer(ctx, p))
		}
		if len(entries) == 0 {
			sub.ReceiveTimeout(ctx, 100*time.Millisecond)
		}
	}
}

var someStatuses = []sai.Status{
	sai.StatusFailure, sai.StatusInsufficientResources, sai.StatusObjectInUse, sai.StatusNotSupported,
	sai.StatusTableFull, sai.StatusInvalidParameter, sai.StatusItemNotFound,
}

func (b *brittle) status() sai.Status {
	if b.rnd.IntN(8) == 0 {
		return someStatuses[b.rnd.IntN(len(someStatuses))]
	}
	return sai.StatusSuccess
}

// answer returns a random answer, and applies it.
func (b *brittle) answer(ctx context.Context, p sairedistest.Parsed) swss.Entry {
	status, op := b.status(), protocol.AnswerOp(p.Op)
	var fields []swss.Pair
	switch p.Op {
	case "notify":
		status = sai.StatusSuccess
		b.view = !b.view
		if b.view {
			b.made = map[string]bool{}
		} else {
			maps.DeleteFunc(b.VIDs, func(o string, _ bool) bool { return !b.own[o] && !b.made[o] })
		}
	case "create", "remove":
		if status == sai.StatusSuccess {
			b.did(p, 0)
		}
	case "bulkcreate", "bulkremove", "bulkset":
		for i := range p.IDs {
			s := b.status()
			if s == sai.StatusSuccess {
				b.did(p, i)
			} else {
				status = sai.StatusFailure
			}
			fields = append(fields, swss.Pair{Field: s.String()})
		}
	case "get":
		fields = b.got(ctx, p)
	case "get_stats":
		for _, f := range p.Pairs[0] {
			fields = append(fields, swss.Pair{Field: f[0], Value: "1"})
		}
	}
	return swss.Entry{Key: status.String(), Body: swss.EncodeFields(fields), Op: "S" + op}
}

func (b *brittle) did(p sairedistest.Parsed, i int) {
	b.Answered(p, i)
	if strings.HasSuffix(p.Op, "create") {
		b.made[p.IDs[i]] = true
	}
}

// got returns random values. For object ids it returns some that exist, and sometimes some that are unknown to the
// client.
func (b *brittle) got(ctx context.Context, p sairedistest.Parsed) []swss.Pair {
	var fields []swss.Pair
	for _, f := range p.Pairs[0] {
		id, _ := sai.LookupAttr(f[0])
		m, v := sai.Meta(id), f[1]
		switch {
		case m == nil:
		case m.Form == sai.FormPlain && m.Kind == sai.KindOID:
			v = b.existing1(ctx, m, p.IDs[0])
		case m.Form == sai.FormPlain && m.Kind == sai.KindOIDList:
			v = "1:" + b.existing1(ctx, m, p.IDs[0])
		}
		fields = append(fields, swss.Pair{Field: f[0], Value: v})
	}
	return fields
}

func (b *brittle) existing1(ctx context.Context, m *sai.AttrMeta, of string) string {
	if len(m.Objects) == 0 {
		return "oid:0x0"
	}
	t := m.Objects[b.rnd.IntN(len(m.Objects))]
	if b.rnd.IntN(2) == 0 && t != sai.ObjectTypeSwitch {
		n := b.db.Client().Incr(ctx, protocol.KeyVIDCounter).Val()
		vid := fmt.Sprintf("oid:0x%x", uint64(t)<<48|uint64(n))
		b.VIDs[vid], b.own[vid] = true, true
		if strings.HasPrefix(of, "oid:0x1000000") && objectids.WithPort(t) {
			b.Children[of] = append(b.Children[of], vid)
		}
		return vid
	}
	for _, vid := range slices.Sorted(maps.Keys(b.VIDs)) {
		if strings.HasPrefix(vid, fmt.Sprintf("oid:0x%x0000", uint64(t))) && (!b.view || b.own[vid] || b.made[vid]) {
			return vid
		}
	}
	return "oid:0x0"
}

// Whether the calls are valid or not, the client sends nothing that could stop a stock syncd.
func TestNothingStopsSyncd(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks and one answers, as in the other tests: nothing more for the race detector")
	}
	total, fixed := map[string]int{}, randtest.Cases{Count: 8}
	run := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		ctx, cancel := context.WithCancel(context.Background())
		r := swsstest.Start(t)
		b := &brittle{
			Strict: sairedistest.NewStrict(), rnd: rand.New(rand.NewPCG(seed, 3)), db: r.DB(swss.ASICDB),
			own: map[string]bool{}, made: map[string]bool{}, count: total,
		}
		done := make(chan struct{})
		go func() { defer close(done); b.serve(ctx) }()
		c := need(NewClient(ctx, r, ClientOptions{Timeout: 5 * time.Second}))(t)
		defer c.Close()
		u := &user{Rand: rand.New(rand.NewPCG(seed, 4)), c: c, live: map[sai.ObjectType][]sai.Key{}, types: allTypes()}
		u.createSwitch(ctx)
		for range 3500 {
			u.act(ctx)
		}
		if c.broken != nil {
			t.Errorf("lost: %v", c.broken)
		}
		cancel()
		<-done
		if b.died != nil {
			t.Error(b.died)
		}
	})
	if !run.Whole(fixed) {
		return
	}
	for _, op := range []string{
		"create", "remove", "set", "get", "bulkcreate", "bulkremove", "bulkset", "notify", "get_stats", "clear_stats",
		"flush",
		"attribute_capability_query", "attr_enum_values_capability_query", "stats_capability_query",
		"object_type_get_availability_query", "start_poll", "stop_poll", "set_counter_group", "del_counter_group",
	} {
		if total[op] < 10 {
			t.Errorf("%s was sent %d times: the test says nothing of it", op, total[op])
		}
	}
	for _, tm := range allTypes() {
		if n := total["create "+tm.Name]; n == 0 && tm.Type != sai.ObjectTypeFDBFlush {
			t.Errorf("no %s was created: the test says nothing of it", tm.Name)
		}
	}
}
