package sairedis

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tamtam/sai"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// memory sets the memory limit of a real Redis. A tiny limit makes it refuse writes.
func memory(t *testing.T, r *swss.Redis, room string) {
	t.Helper()
	noError(t, r.DB(swss.ASICDB).Client().ConfigSet(context.Background(), "maxmemory", room).Err())
}

// A filling is a backend during whose first call Redis runs out of memory.
type filling struct {
	sai.API
	fill func()
}

func (f *filling) Create(ctx context.Context, t sai.ObjectType, attrs []sai.Attr) (sai.OID, error) {
	f.fill()
	return f.API.Create(ctx, t, attrs)
}

// If Redis refuses writes when syncd starts, the chip stays unchanged, the reason is reported in words, and syncd
// starts later by itself. If Redis becomes full half-way, the same chip is not used again.
func TestReplayIntoFullRedis(t *testing.T) {
	ctx := context.Background()
	r := swsstest.StartServer(t).Open()
	g := newRig(t, r, newFake(), ServerOptions{TempView: true})
	g.createSwitch()
	g.create(sai.ObjectTypeACLTable, aTable)
	before, view := backendText(g.fake), g.view()
	g.stop()
	g.stop = func() {}

	memory(t, r, "1")
	fresh := newFake()
	s := NewServer(r, fresh, ServerOptions{TempView: true})
	for range 3 {
		err := s.Load(ctx)
		if !strings.HasPrefix(swss.Why(err), "Redis is out of memory") {
			t.Fatalf("load into a full Redis: %v", err)
		}
		if errors.Is(err, swss.ErrReset) || len(fresh.Created()) > 0 {
			t.Fatalf("load into a full Redis touches the chip: %v, %v", err, fresh.Created())
		}
	}
	memory(t, r, "0")
	half := NewServer(r, &filling{newFake(), func() { memory(t, r, "1") }}, ServerOptions{TempView: true})
	for range 3 {
		if err := half.Load(ctx); !errors.Is(err, swss.ErrReset) {
			t.Fatalf("after half a replay: %v, want that a fresh chip is needed", err)
		}
	}
	memory(t, r, "0")
	if err := s.Load(ctx); err != nil {
		t.Fatalf("there is room again: %v", err)
	}
	if got := backendText(fresh); got != before {
		t.Errorf("the chip is\n%s\nwant\n%s", got, before)
	}
	if got := g.view(); got != view {
		t.Errorf("ASIC_STATE is\n%s\nwant\n%s", got, view)
	}
}

// If Redis refuses writes when the outcome of a request is due, the fault and its end are reported.
func TestOutcomeIntoFullRedis(t *testing.T) {
	ctx := context.Background()
	r := swsstest.StartServer(t).Open()
	var reported []string
	s := NewServer(r, &filling{newFake(), func() { memory(t, r, "1") }},
		ServerOptions{TempView: true, Report: func(why string) {
			reported = append(reported, why)
			memory(t, r, "0")
		}})
	noError(t, s.Load(ctx))
	s.report("")
	create := protocol.Message{Key: "SAI_OBJECT_TYPE_SWITCH:" + protocol.SwitchVID.String(), Op: protocol.OpCreate,
		Fields: []swss.Pair{{Field: "SAI_SWITCH_ATTR_INIT_SWITCH", Value: "true"}}}
	noError(t, swss.NewQueue(r.DB(swss.ASICDB), protocol.ASICState).Push(ctx, create.Entry()))
	noError(t, s.drain(ctx))
	if len(reported) != 3 || !strings.HasPrefix(reported[1], "Redis is out of memory") || reported[2] != "" {
		t.Errorf("told %q, want that Redis is full, and that it is not any more", reported)
	}
}

// If ASIC_DB no longer matches the chip, syncd does nothing more with this chip, and reports the reason.
func TestDatabaseIsNotTheChips(t *testing.T) {
	for name, change := range map[string]func(ctx context.Context, r *swss.Redis) error{
		"emptied": func(ctx context.Context, r *swss.Redis) error {
			return r.DB(swss.ASICDB).Client().FlushDB(ctx).Err()
		},
		"another syncd": func(ctx context.Context, r *swss.Redis) error {
			return newJournal(r.DB(swss.ASICDB), "2").begin(ctx)
		},
		"an older state": func(ctx context.Context, r *swss.Redis) error {
			return r.DB(swss.ASICDB).Client().HSet(ctx, KeySyncd, fieldOutcomes, 0).Err()
		},
		"a newer state": func(ctx context.Context, r *swss.Redis) error {
			return r.DB(swss.ASICDB).Client().HSet(ctx, KeySyncd, fieldOutcomes, 99).Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			r := swsstest.Start(t)
			fake := newFake()
			s := NewServer(r, fake, ServerOptions{TempView: true, Run: "1"})
			noError(t, s.Load(ctx))
			queue := swss.NewQueue(r.DB(swss.ASICDB), protocol.ASICState)
			create := protocol.Message{Key: "SAI_OBJECT_TYPE_SWITCH:" + protocol.SwitchVID.String(), Op: protocol.OpCreate,
				Fields: []swss.Pair{{Field: "SAI_SWITCH_ATTR_INIT_SWITCH", Value: "true"}}}
			push := func() {
				noError(t, queue.Push(ctx, create.Entry()))
			}
			push()
			noError(t, s.drain(ctx))
			noError(t, change(ctx, r))
			push()
			if err := s.drain(ctx); !errors.Is(err, swss.ErrReset) {
				t.Errorf("%v, want that syncd must start anew", err)
			}
			if n, err := queue.Len(ctx); n != 1 || err != nil {
				t.Errorf("%d requests are left for the next syncd, %v; want 1", n, err)
			}
			var taken *swss.ClaimedError
			if err := s.drain(ctx); errors.As(err, &taken) != (name == "another syncd") {
				t.Errorf("told as taken by another: %v", err)
			}
		})
	}
}

// If the connection is cut before or after Redis receives the outcome, the answer still arrives, once.
func TestOutcomeIsNotLost(t *testing.T) {
	ctx := context.Background()
	redis := swsstest.StartServer(t)
	cut := &scissors{redis: redis.Addr}
	theirs := need(swss.Open(ctx, cut.start(t)))(t)
	defer theirs.Close()
	g := newRig(t, theirs, newFake(), ServerOptions{})
	g.redis = redis.Open()
	g.restartClient()
	g.createSwitch()
	for i := range 4 {
		cut.before.Store(i%2 == 0)
		cut.cutAfter("exec")
		table := g.create(sai.ObjectTypeACLTable, aTable)
		if n := len(g.fake.Created()); n != 1 || cut.word.Load() != nil {
			t.Fatalf("%d objects in the backend, want 1; cut: %t", n, cut.word.Load() == nil)
		}
		g.must("remove", g.client.Remove(ctx, sai.Obj(sai.ObjectTypeACLTable, table)))
	}
	for _, list := range []string{requestList, responseList} {
		if n := g.redis.DB(swss.ASICDB).Client().LLen(ctx, list).Val(); n != 0 {
			t.Errorf("%d elements are left in %s", n, list)
		}
	}
}

// A syncd dequeues a request and never answers it, but answers later ones. The client sends a query, and does not
// wait for its time limit.
func TestLostAnswerIsAskedAbout(t *testing.T) {
	ctx := context.Background()
	r := swsstest.Start(t)
	g := newRig(t, r, newFake(), ServerOptions{TempView: true})
	c, err := NewClient(ctx, r, ClientOptions{Timeout: time.Hour, Patience: time.Millisecond})
	g.must("client", err)
	g.client = c
	g.must("INIT_VIEW", c.InitView(ctx))
	g.createSwitch()
	g.must("APPLY_VIEW", c.ApplyView(ctx)) // late answers are accepted, whether or not a query was sent
	g.stop()
	g.stop = func() {}
	answering, end := context.WithCancel(ctx)
	defer end()
	requests := slowly(answering, r)
	go func() {
		answers := swss.NewQueue(r.DB(swss.ASICDB), protocol.GetResponse)
		for e := range requests {
			if strings.HasPrefix(e.Op, "S"+protocol.OpAttrQuery) {
				_ = answers.Push(ctx, swss.Entry{Key: "SAI_STATUS_SUCCESS", Body: "[]",
					Op: "S" + protocol.AnswerOp(protocol.OpAttrQuery)})
			}
		}
	}()
	within(t, soon, "create", func() { _, err = c.Create(ctx, sai.ObjectTypeACLTable, aTable) })
	unknownState(t, "create", err)
	lostBy(t, c)
}

// With or without a request, the client does not wait for a syncd that is gone. It waits for a syncd that may be
// running.
func TestSyncdThatIsGoneIsNotWaitedFor(t *testing.T) {
	ctx := t.Context()
	var gone atomic.Bool
	opts := ClientOptions{Timeout: time.Hour, Patience: time.Millisecond, Sign: func(context.Context) Sign {
		if gone.Load() {
			return Sign{Gone: "syncd is gone"}
		}
		return Sign{Says: true}
	}}
	for name, wait := range map[string]func(c *Client) error{
		"a request": func(c *Client) error { return c.InitView(ctx) },
		"none":      func(c *Client) error { return c.Lost(ctx) },
	} {
		gone.Store(false)
		c, err := NewClient(ctx, swsstest.Start(t), opts)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- wait(c) }()
		select {
		case err := <-done:
			t.Fatalf("%s: ended with %v while syncd may be there", name, err)
		case <-time.After(5 * time.Millisecond): // if it ends later, the code below notices
		}
		gone.Store(true)
		within(t, soon, name, func() { err = <-done })
		if !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "syncd is gone") {
			t.Errorf("%s: %v", name, err)
		}
		lostBy(t, c)
	}
}

// A syncd that another one has replaced will not return: the client gives it up immediately, however patient it is.
func TestReplacedSyncdIsGivenUpAtOnce(t *testing.T) {
	ctx := t.Context()
	for name, wait := range map[string]func(c *Client) error{
		"a request": func(c *Client) error { return c.InitView(ctx) },
		"none":      func(c *Client) error { return c.Lost(ctx) },
	} {
		opts := ClientOptions{Timeout: time.Hour, Patience: time.Hour, Sign: func(context.Context) Sign {
			return Sign{Gone: "another syncd has begun", Replaced: true}
		}}
		c, err := NewClient(ctx, swsstest.Start(t), opts)
		if err != nil {
			t.Fatal(err)
		}
		within(t, soon, name, func() { err = wait(c) })
		if !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "another syncd has begun") {
			t.Errorf("%s: %v", name, err)
		}
		lostBy(t, c)
	}
}

// If another client applies a view without a switch, the ASIC stays unchanged, and the next view works as usual.
func TestViewWithoutASwitchIsNotApplied(t *testing.T) {
	ctx := t.Context()
	g := newRig(t, swsstest.Start(t), newFake(), ServerOptions{TempView: true})
	g.must("INIT_VIEW", g.client.InitView(ctx))
	lags(g, 1, 2)
	g.must("APPLY_VIEW", g.client.ApplyView(ctx))
	before := g.view()
	g.restartClient()
	g.must("INIT_VIEW", g.client.InitView(ctx))
	if err := g.client.ApplyView(ctx); !errors.Is(err, sai.StatusFailure) {
		t.Errorf("the empty view is applied: %v", err)
	}
	if after := g.view(); after != before {
		t.Errorf("the view is\n%s\nwant\n%s", after, before)
	}
	g.restartClient()
	g.must("INIT_VIEW", g.client.InitView(ctx))
	lags(g, 1, 2)
	g.must("APPLY_VIEW", g.client.ApplyView(ctx))
}

// If another client makes any request in ASIC_DB, the client no longer trusts its knowledge. The next view removes
// the forged change.
func TestForgedRequest(t *testing.T) {
	for name, forged := range map[string]swss.Entry{
		"an object": {Key: "SAI_OBJECT_TYPE_ACL_TABLE:oid:0x7000000009999",
			Body: `["SAI_ACL_TABLE_ATTR_ACL_STAGE","SAI_ACL_STAGE_INGRESS"]`, Op: "Screate"},
		"a view": {Key: protocol.InitView, Body: "[]", Op: "Snotify"},
		"a question": {Key: protocol.SwitchVID.String(),
			Body: `["OBJECT_TYPE","SAI_OBJECT_TYPE_PORT","ATTR_ID","SAI_PORT_ATTR_MTU"]`, Op: "S" + protocol.OpAttrQuery},
		"nonsense": {Key: "x", Body: "y", Op: "z"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			r := swsstest.Start(t)
			g := newRig(t, r, newFake(), ServerOptions{TempView: true})
			start := func() {
				g.must("INIT_VIEW", g.client.InitView(ctx))
				g.createSwitch()
				g.create(sai.ObjectTypeACLTable, aTable)
				g.must("APPLY_VIEW", g.client.ApplyView(ctx))
			}
			start()
			want := backendText(g.fake)
			g.must("look", g.client.look(ctx))
			g.must("forge", swss.NewQueue(r.DB(swss.ASICDB), protocol.ASICState).Push(ctx, forged))
			var err error
			within(t, soon, "the answer is noticed", func() { // after its message has arrived
				for err == nil {
					err = g.client.look(ctx)
				}
			})
			unknownState(t, "look", err)
			lostBy(t, g.client)
			g.restartClient()
			start()
			if got := backendText(g.fake); got != want {
				t.Errorf("the chip is\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// If another client replaces a key of ASIC_DB with one of another type, or with garbage, syncd deletes it and
// continues. The next view restores the contents, and no id is allocated twice.
func TestGarbageKeys(t *testing.T) {
	redises(t, func(t *testing.T, r *swss.Redis) {
		for _, key := range []string{
			requestList, responseList, protocol.KeyVIDToRID, protocol.KeyRIDToVID, protocol.KeyColdVIDs, protocol.KeyVIDCounter,
			KeySyncd, protocol.KeyHidden, protocol.KeyLanes,
			"a row", "the switch's row", "an entry's row",
		} {
			t.Run(key, func(t *testing.T) {
				ctx := context.Background()
				db := r.DB(swss.ASICDB).Client()
				noError(t, db.FlushDB(ctx).Err())
				g := newRig(t, r, newFake(), ServerOptions{TempView: true})
				var table sai.OID
				start := func() {
					g.must("INIT_VIEW", g.client.InitView(ctx))
					g.createSwitch()
					table = g.create(sai.ObjectTypeACLTable, aTable)
					router := g.get(sai.Obj(sai.ObjectTypeSwitch, protocol.SwitchVID), sai.SwitchAttrDefaultVirtualRouterID).(sai.OID)
					g.must("route", g.client.CreateEntry(ctx, sai.RouteEntry{Switch: protocol.SwitchVID, VR: router,
						Dest: netip.MustParsePrefix("10.0.0.0/8")},
						attrs(sai.RouteEntryAttrPacketAction, sai.PacketActionDrop)))
					g.must("APPLY_VIEW", g.client.ApplyView(ctx))
				}
				start()
				want := backendText(g.fake)
				claim, err := r.Claim(ctx, "orchagent", "1", swss.ASICDB)
				g.must("claim", err)
				name := key
				switch key {
				case "a row":
					name = protocol.ASICState + ":SAI_OBJECT_TYPE_ACL_TABLE:" + table.String()
				case "the switch's row":
					name = protocol.ASICState + ":SAI_OBJECT_TYPE_SWITCH:" + protocol.SwitchVID.String()
				case "an entry's row":
					name = db.Keys(ctx, protocol.ASICState+":SAI_OBJECT_TYPE_ROUTE_ENTRY:*").Val()[0]
				}
				g.must("garbage", db.Set(ctx, name, "garbage", 0).Err())
				// Calls that find the garbage may fail; then orchagent starts again.
				for round := 0; ; round++ {
					if round == 3 {
						t.Fatalf("it does not heal: the chip is\n%s\nwant\n%s", backendText(g.fake), want)
					}
					g.restartClient()
					if err := g.client.InitView(ctx); err != nil {
						_, _ = r.Mend(ctx)
						continue
					}
					_ = claim.Check(ctx)
					g.restartClient()
					start()
					if text := backendText(g.fake); text == want {
						break
					}
				}
				g.fake = newFake()
				g.restartServer(ServerOptions{TempView: true})
				g.restartClient()
				start()
				if text := backendText(g.fake); text != want {
					t.Errorf("after a restart of syncd the chip is\n%s\nwant\n%s", text, want)
				}
			})
		}
	})
}

// A map that is not used before the next start is checked nevertheless, and written again.
func TestGarbageInAMapIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	t.Parallel()
	redises(t, func(t *testing.T, r *swss.Redis) {
		ctx := context.Background()
		g := newRig(t, r, newFake(), ServerOptions{TempView: true})
		g.must("INIT_VIEW", g.client.InitView(ctx))
		g.createSwitch()
		g.must("APPLY_VIEW", g.client.ApplyView(ctx))
		db := r.DB(swss.ASICDB).Client()
		for _, name := range []string{protocol.KeyVIDToRID, protocol.KeyRIDToVID, protocol.KeyColdVIDs, protocol.KeyHidden,
			protocol.KeyLanes} {
			before := db.HGetAll(ctx, name).Val()
			if len(before) == 0 {
				t.Fatalf("%s is empty", name)
			}
			g.must("garbage", db.Set(ctx, name, "garbage", 0).Err())
			within(t, soon, name, func() {
				for !maps.Equal(db.HGetAll(ctx, name).Val(), before) { // despite many requests
					_, err := g.client.AttrCapability(ctx, sai.SwitchAttrPortList)
					g.must("ask", err)
				}
			})
		}
	})
}
