package sairedis

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
	"tamtam/sai/redis/asicview"
	"tamtam/sai/redis/flex"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// foreign adds an object of an unknown type that came with the switch, as SONiC's syncd does.
func (g *rig) foreign(key string, cold bool) {
	g.Helper()
	asic := g.redis.DB(swss.ASICDB).Client()
	_, vid, _ := strings.Cut(key, ":")
	g.must("row", asic.HSet(g.Context(), protocol.ASICState+":"+key, "NULL", "NULL").Err())
	g.must("id", asic.HSet(g.Context(), protocol.KeyVIDToRID, vid, "oid:0x1c0000000f").Err())
	if cold {
		g.must("cold", asic.HSet(g.Context(), protocol.KeyColdVIDs, vid, vid).Err())
	}
}

// Objects of types without metadata that came with the switch or with a port are adopted too, and do not count as
// drift.
func TestObjectsOfUnknownTypes(t *testing.T) {
	g := newRig(t, swsstest.Start(t), newFake(), ServerOptions{TempView: true})
	g.restartAgent()
	g.must("INIT_VIEW", g.agent.InitView(t.Context()))
	g.createSwitch()
	g.must("APPLY_VIEW", g.agent.ApplyView(t.Context()))
	g.foreign("SAI_OBJECT_TYPE_HASH:oid:0x1c00000000000f", true)
	g.foreign("SAI_OBJECT_TYPE_PORT_SERDES:oid:0x5700000000000f", false)
	g.restartAgent()
	g.must("INIT_VIEW", g.agent.InitView(t.Context()))
	if why := g.agent.RebuildReason(); why != "" {
		t.Fatalf("not adopted: %s", why)
	}
	g.createSwitch()
	g.must("APPLY_VIEW", g.agent.ApplyView(t.Context()))
	stage := g.agent.Compared(nil)
	names, err := stage.List(t.Context(), nil)
	g.must("list", err)
	found, err := stage.Look(t.Context(), names)
	g.must("look", err)
	if len(found) > 0 || !slices.Contains(names, "ASIC_STATE:SAI_OBJECT_TYPE_HASH:oid:0x1c00000000000f") {
		t.Errorf("drift %v among %d rows", found, len(names))
	}
}

// Objects that come with a port are removed with it, even if the port and these objects were adopted.
func TestChildrenOfAdoptedPort(t *testing.T) {
	port, queue := sai.Obj(sai.ObjectTypePort, 0x1000000000002), sai.Obj(sai.ObjectTypeQueue, 0x15000000000003)
	now := asicview.NewGraph()
	now.Add(port, true)
	now.Add(queue, true).Attrs[sai.QueueAttrType] = sai.QueueTypeAll
	g := newGuard()
	g.know(now)
	for range 2 { // the attribute is read repeatedly
		g.named(port, queue.OID)
	}
	g.Removed(port)
	if _, left := g.expected[queue]; left || !g.lacks(queue.OID) {
		t.Errorf("the queue is left: %v", g.expected)
	}
}

// begin makes the client begin a view.
func (o *oddSyncd) begin() (began chan error) {
	began = make(chan error, 1)
	go func() { began <- o.client.InitView(context.Background()) }()
	return began
}

// Between INIT_VIEW and APPLY_VIEW nothing is flushed: SONiC's syncd would stop.
func TestNoFlushInView(t *testing.T) {
	o := startOdd(t, ClientOptions{})
	began := o.begin()
	o.answer(protocol.OpNotify)
	noError(t, <-began)
	made := make(chan error, 1)
	go func() {
		_, err := o.client.Create(context.Background(), sai.ObjectTypeSwitch, attrs(sai.SwitchAttrInitSwitch, sai.Bool(true)))
		made <- errors.Join(err, o.client.FlushFDB(context.Background(), nil))
	}()
	o.answer(protocol.OpCreate)
	within(t, soon, "a flush", func() {
		if err := <-made; err != nil {
			t.Error(err)
		}
	})
}

// A comparison of views has no time limit while there is a syncd. Meanwhile the delay is reported, and no query is
// sent.
func TestLongComparison(t *testing.T) {
	o := startOdd(t, ClientOptions{Late: time.Nanosecond, Idle: time.Hour, View: time.Nanosecond})
	began := o.begin()
	o.answer(protocol.OpNotify)
	noError(t, <-began)
	o.drain()
	o.client.turn <- struct{}{}
	o.client.timeout = time.Nanosecond
	<-o.client.turn
	applied := make(chan error, 1)
	go func() { applied <- o.client.ApplyView(context.Background()) }()
	op := o.receive()
	o.says("syncd has been comparing views for")
	o.give(op)
	if err := <-applied; err != nil {
		t.Error(err)
	}
}

// drain discards the reported reasons.
func (o *oddSyncd) drain() {
	for len(o.unknowns) > 0 {
		<-o.unknowns
	}
}

// idleQueue returns a client on an ASIC_DB with a switch, whose syncd dequeues nothing yet.
func idleQueue(t *testing.T) (q *swss.Queue, c *Client, unknowns chan string) {
	r := swsstest.Start(t)
	asic := r.DB(swss.ASICDB)
	if err := asic.Client().HSet(t.Context(), protocol.KeyVIDToRID, protocol.SwitchVID.String(),
		"oid:0x21000000000000").Err(); err != nil {
		t.Fatal(err)
	}
	unknowns = make(chan string, 100)
	c, err := NewClient(t.Context(), r, ClientOptions{
		Patience: 10 * time.Millisecond, Late: time.Nanosecond,
		Sign: func(context.Context) Sign { return Sign{Says: true} }, ASICUnknown: func(why string) { unknowns <- why },
	})
	if err != nil {
		t.Fatal(err)
	}
	return swss.NewQueue(asic, protocol.ASICState), c, unknowns
}

// A new client waits for the requests of a dead one, however long they need, and does not mistake their answers for
// its own.
func TestRequestsOfADeadClient(t *testing.T) {
	q, c, unknowns := idleQueue(t)
	ctx := t.Context()
	dead := protocol.Message{Key: protocol.ApplyView, Op: protocol.OpNotify}
	noError(t, q.Push(ctx, dead.Entry()))
	began := make(chan error, 1)
	go func() { began <- c.InitView(context.Background()) }()
	for range 20 { // wait at least twenty times as long as the client's patience
		select {
		case why := <-unknowns:
			if !strings.Contains(why, "syncd has been busy for") {
				t.Fatalf("the doubt is %q", why)
			}
		case err := <-began:
			t.Fatalf("it did not wait: %v", err)
		case <-time.After(c.patience):
		}
	}
	if n, err := q.Len(ctx); n != 2 || err != nil {
		t.Fatalf("%d requests wait (%v), want the dead client's and one question", n, err)
	}
	// Each request is answered before it leaves the queue, so that the duration does not matter.
	answers, asked := swss.NewQueue(q.DB(), protocol.GetResponse), []string(nil)
	for len(began) == 0 {
		var peek swss.Peek
		_, err := q.DB().Client().Pipelined(ctx, func(p redis.Pipeliner) error { peek = q.PeekIn(ctx, p); return nil })
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range peek.Entries() {
			op := strings.TrimPrefix(e.Op, "S")
			status := "SAI_STATUS_SUCCESS"
			if asked = append(asked, op); len(asked) == 1 {
				status = "SAI_STATUS_FAILURE" // the request of the dead client fails
			}
			err := answers.Push(ctx, swss.Entry{Key: status, Body: "[]", Op: "S" + protocol.AnswerOp(op)})
			if err != nil {
				t.Fatal(err)
			}
			_, err = q.DB().Client().Pipelined(ctx, func(p redis.Pipeliner) error { q.DropIn(ctx, p, e); return nil })
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := <-began; err != nil {
		t.Error(err)
	}
	if want := []string{protocol.OpNotify, protocol.OpEnumQuery, protocol.OpStatsQuery,
		protocol.OpNotify}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
}

// A syncd that dequeues requests and answers none has stopped. So has one that refuses every view.
func TestStoppedSyncd(t *testing.T) {
	t.Run("mute", func(t *testing.T) {
		q, c, _ := idleQueue(t)
		ctx, cancel := context.WithCancel(t.Context())
		mute := make(chan struct{})
		go func() {
			defer close(mute)
			for ctx.Err() == nil {
				_, _ = q.Pop(ctx)
			}
		}()
		err := c.InitView(ctx)
		cancel()
		<-mute
		if unknownState(t, "INIT_VIEW", err); !errors.Is(err, ErrStopped) {
			t.Error(err)
		}
	})
	t.Run("refuses", func(t *testing.T) {
		o := startOdd(t, ClientOptions{})
		began := o.begin()
		op := o.receive()
		failure := swss.Entry{Key: "SAI_STATUS_FAILURE", Body: "[]", Op: "S" + protocol.AnswerOp(op)}
		noError(t, swss.NewQueue(o.redis.DB(swss.ASICDB), protocol.GetResponse).Push(t.Context(), failure))
		err := <-began
		if unknownState(t, "INIT_VIEW", err); !errors.Is(err, ErrStopped) {
			t.Error(err)
		}
	})
}

// A syncd without an id is marked in the map of ids. The mark stays while objects come and go, and disappears with the
// map, which the next syncd writes again. The next syncd has neither the view nor the polls.
func TestNamelessSyncdIsMarked(t *testing.T) {
	redises(t, func(t *testing.T, r *swss.Redis) {
		ctx := t.Context()
		asic := r.DB(swss.ASICDB).Client()
		c, err := NewClient(ctx, r, ClientOptions{})
		if err != nil {
			t.Fatal(err)
		}
		c.syncd.nameless = true
		is := func(what string, want bool) {
			t.Helper()
			if knows, err := Knows(ctx, r); knows != want || err != nil {
				t.Errorf("%s: it knows what to poll: %t (%v), want %t", what, knows, err, want)
			}
		}
		do := func(errs ...error) {
			t.Helper()
			noError(t, errors.Join(errs...))
		}
		do(c.syncd.know(ctx))
		is("no map", false)
		do(asic.HSet(ctx, protocol.KeyVIDToRID, "oid:0x1", "oid:0x2").Err(), c.syncd.know(ctx))
		is("not met", false)
		do(c.syncd.meet(ctx))
		is("met", false)
		do(c.syncd.know(ctx), asic.HSet(ctx, protocol.KeyVIDToRID, "oid:0x3", "oid:0x4").Err(),
			asic.HDel(ctx, protocol.KeyVIDToRID, "oid:0x1").Err())
		is("told", true)
		if anew, err := c.syncd.meetAgain(ctx); anew || err != nil {
			t.Errorf("it is to be told again (%v)", err)
		}
		do(asic.Del(ctx, protocol.KeyVIDToRID).Err(), asic.HSet(ctx, protocol.KeyVIDToRID, "oid:0x3", "oid:0x4").Err(),
			c.syncd.know(ctx))
		is("another", false)
		c.inView, c.syncd.met = true, true
		err = c.ApplyView(ctx)
		if unknownState(t, "APPLY_VIEW", err); !strings.Contains(err.Error(), "another syncd has begun") {
			t.Error(err)
		}
	})
}

// Polls of a syncd that may not load them are requested again, even if FLEX_COUNTER_DB contains them.
func TestPollsAreAskedForAgain(t *testing.T) {
	ctx := t.Context()
	g := newRig(t, swsstest.Start(t), newFake(), ServerOptions{})
	g.createSwitch()
	vid, _ := g.counter()
	wanted := []heldPoll{{aclGroup, []swss.Pair{{Field: flex.FieldACLCounters, Value: strings.Join(aclField, ",")}},
		[]sai.OID{vid}}}
	g.must("first", g.client.pollOnly(ctx, wanted, false))
	for _, anew := range []bool{false, true} {
		g.server.mu.Lock()
		g.server.Counters.Groups.Drop(vid) // as after a restart of syncd
		g.server.mu.Unlock()
		g.must("again", g.client.pollOnly(ctx, wanted, anew))
		g.server.mu.Lock()
		_, polled := g.server.Counters.Groups.Group(aclGroup).Counters[vid]
		g.server.mu.Unlock()
		if polled != anew {
			t.Errorf("asked for anew: %t, polled: %t", anew, polled)
		}
	}
}

// Attributes that only the ASIC changes are in a row of SONiC's syncd with the value at the time of a read. The
// object is adopted nevertheless, and a change of the attribute is not drift.
func TestReadOnlyAttributesInRows(t *testing.T) {
	g := newRig(t, swsstest.Start(t), newFake(), ServerOptions{TempView: true})
	make := func() sai.OID {
		g.restartAgent()
		g.must("INIT_VIEW", g.agent.InitView(t.Context()))
		g.createSwitch()
		table := g.create(sai.ObjectTypeACLTable, aTable)
		g.must("APPLY_VIEW", g.agent.ApplyView(t.Context()))
		public, _ := g.agent.Public(table)
		return public
	}
	table := make()
	row := protocol.ASICState + ":" + sai.FormatKey(sai.Obj(sai.ObjectTypeACLTable, table))
	read := func(n int) {
		t.Helper()
		field := sai.ACLTableAttrAvailableACLEntry.String()
		g.must("row", g.redis.DB(swss.ASICDB).Client().HSet(t.Context(), row, field, n).Err())
	}
	read(1000)
	if again := make(); again != table {
		t.Errorf("the table was %s, and is %s", table, again)
	}
	read(999)
	found, err := g.agent.Compared(nil).Look(t.Context(), []string{row})
	if g.must("look", err); len(found) > 0 {
		t.Errorf("drift: %v", found)
	}
}

// SONiC's syncd writes the map of ids id by id when it starts, and dequeues requests afterwards. A client that starts
// meanwhile waits for that, and adopts.
func TestMapIsBeingWritten(t *testing.T) {
	ctx := t.Context()
	g := newRig(t, swsstest.Start(t), newFake(), ServerOptions{TempView: true})
	g.restartAgent()
	g.must("INIT_VIEW", g.agent.InitView(ctx))
	g.createSwitch()
	g.create(sai.ObjectTypeACLTable, aTable)
	g.must("APPLY_VIEW", g.agent.ApplyView(ctx))

	g.restartAgent()
	asic := g.redis.DB(swss.ASICDB).Client()
	ids, err := asic.HGetAll(ctx, protocol.KeyVIDToRID).Result()
	g.must("map", err)
	g.must("map", asic.Del(ctx, protocol.KeyVIDToRID).Err())
	g.server.mu.Lock() // the server does not answer yet
	requests := swss.NewQueue(g.redis.DB(swss.ASICDB), protocol.ASICState)
	heard := g.redis.DB(swss.ASICDB).Subscribe(ctx, requests.Channel())
	defer heard.Close()
	_, err = heard.Receive(ctx)
	g.must("subscribe", err)
	began := make(chan error, 1)
	go func() { began <- g.agent.InitView(context.Background()) }()
	_, err = heard.ReceiveTimeout(ctx, soon)
	g.must("a request", err)
	g.must("map", asic.HSet(ctx, protocol.KeyVIDToRID, ids).Err())
	g.server.mu.Unlock()
	g.must("INIT_VIEW", <-began)
	if why := g.agent.RebuildReason(); why != "" {
		t.Errorf("not adopted: %s", why)
	}

	g.restartAgent()
	g.must("map", asic.HDel(ctx, protocol.KeyVIDToRID, protocol.SwitchVID.String()).Err())
	g.must("INIT_VIEW", g.agent.InitView(ctx))
	if why := g.agent.RebuildReason(); why != "the ASIC has no switch" {
		t.Errorf("where the map lacks the switch for good: %q", why)
	}
}
