package mgmt

import (
	"context"
	"fmt"
	"maps"
	"sync/atomic"
	"testing"
	"time"

	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/proto"
)

// A gatedClient is a client of Subscribe that receives what gRPC would send. It accepts messages while its gate is
// open.
type gatedClient struct {
	gpb.GNMI_SubscribeServer
	ctx   context.Context
	list  *gpb.SubscriptionList
	gate  chan struct{} // closed when the gate is open
	first chan struct{} // closed when the first message has arrived
	got   chan []string
	ended chan error
	asked atomic.Bool
	began atomic.Bool
}

// subscribeGated makes a client subscribe. If open is false, its gate stays shut.
func (b *bed) subscribeGated(ctx context.Context, list *gpb.SubscriptionList, open bool) *gatedClient {
	c := &gatedClient{
		ctx: ctx, list: list, gate: make(chan struct{}), first: make(chan struct{}), got: make(chan []string, 16),
		ended: make(chan error, 1),
	}
	if open {
		close(c.gate)
	}
	go func() { c.ended <- wire{Server: b.server, encoded: true}.Subscribe(c) }()
	return c
}

func (c *gatedClient) Context() context.Context { return c.ctx }

func (c *gatedClient) Recv() (*gpb.SubscribeRequest, error) {
	if c.asked.CompareAndSwap(false, true) {
		return &gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{Subscribe: c.list}}, nil
	}
	<-c.ctx.Done()
	return nil, c.ctx.Err()
}

func (c *gatedClient) Send(m *gpb.SubscribeResponse) error {
	if c.began.CompareAndSwap(false, true) {
		close(c.first)
	}
	raw, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	seen := &gpb.SubscribeResponse{}
	if err := proto.Unmarshal(raw, seen); err != nil {
		return err
	}
	select {
	case <-c.gate:
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
	select {
	case c.got <- lines(seen):
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
	return nil
}

// want checks the next messages, of one line each.
func (b *bed) want(what string, c *gatedClient, text ...string) {
	b.t.Helper()
	for _, w := range text {
		select {
		case got := <-c.got:
			if fmt.Sprint(got) != fmt.Sprint([]string{w}) {
				b.t.Fatalf("%s got %q, want %q", what, got, w)
			}
		case err := <-c.ended:
			b.t.Fatalf("%s ended instead of %q: %v", what, w, err)
		case <-b.ctx.Done():
			b.t.Fatalf("%s got nothing, want %q", what, w)
		}
	}
}

// waiting returns, per row, the number of changes that a client has not been notified of.
func (b *bed) waiting(c *gatedClient) map[string]int {
	b.t.Helper()
	if err := b.server.hub.Step(b.ctx); err != nil { // mark everything that was written so far
		b.t.Fatal(err)
	}
	rows := map[string]int{}
	for _, user := range b.server.hub.Subscribers(tree.TableID{DB: "CONFIG_DB", Table: "TAM_SAMPLINGRATE_TABLE"}) {
		if st := user.(*stream); st.rpc == gpb.GNMI_SubscribeServer(c) {
			st.mu.Lock()
			for id, m := range st.dirty {
				rows[id.Key] = int(m.n)
			}
			st.mu.Unlock()
		}
	}
	return rows
}

// The size of the audience: equally many subscribers on change and of samples, and how far their clock runs.
const (
	ofEach     = 50
	sampleEach = 10 * time.Second
	showTime   = 10 * time.Minute
	slowTime   = 4 * time.Minute
)

// An audience is a bed with one subscriber that accepts nothing, one that pauses for a while, and others that accept
// all.
type audience struct {
	*bed
	clock   *handClock
	stalls  chan struct{} // receives a value when a message waits for a client to accept it
	rates   map[string]int
	marks   map[string]int // changes that the two slow subscribers were not notified of
	stalled *gatedClient
	slow    *gatedClient
	changes []*gatedClient
	samples []*gatedClient
}

func newAudience(t *testing.T) *audience {
	c := &audience{clock: newHandClock(), stalls: make(chan struct{}, 100_000), rates: map[string]int{},
		marks: map[string]int{}}
	c.bed = newBed(t, func(conf *Config) {
		conf.Clock = c.clock.now
		conf.After = func(d time.Duration) <-chan time.Time {
			timer := c.clock.after(d)
			if d == stallLimit {
				c.stalls <- struct{}{}
			}
			return timer
		}
	})
	c.stalled = c.stall("a")
	c.slow = c.stall("b")
	for range ofEach {
		c.changes = append(c.changes, c.subscribeGated(c.ctx, streamOf(subOf(onChange, rates)), true))
		list := streamOf(subOf(sample, rateA))
		list.Subscription[0].SampleInterval = uint64(sampleEach)
		c.samples = append(c.samples, c.subscribeGated(c.ctx, list, true))
	}
	for i := range ofEach {
		c.want("a subscriber", c.changes[i], c.line(rateA, "a"), c.line(rateB, "b"), "S")
		c.want("a subscriber of samples", c.samples[i], c.line(rateA, "a"), "S")
	}
	return c
}

// stall subscribes as a client that accepts nothing, not even the sync_response. It returns when an update of the named
// row waits for that client.
func (c *audience) stall(name string) *gatedClient {
	list := streamOf(subOf(onChange, rates))
	list.UpdatesOnly = true
	x := c.subscribeGated(c.ctx, list, false)
	<-x.first
	for len(c.stalls) > 0 { // handing over the sync_response may have waited, too; it no longer does
		<-c.stalls
	}
	c.change(name)
	<-c.stalls
	return x
}

// change changes a rate.
func (c *audience) change(name string) {
	c.rates[name]++
	c.rows(map[string]string{"CONFIG_DB TAM_SAMPLINGRATE_TABLE|" + name: fmt.Sprintf("sampling-rate=%d", c.rates[name])})
}

func (c *audience) line(path, name string) string { return fmt.Sprintf("U %s %d", path, c.rates[name]) }

// tick changes a rate, advances the clock to the next sample, and checks that the other clients are notified.
func (c *audience) tick(step int) {
	c.t.Helper()
	name, path := "a", rateA
	if step%2 == 0 {
		name, path = "b", rateB
	}
	c.change(name)
	c.marks[name]++
	for _, x := range c.changes {
		c.want("a subscriber", x, c.line(path, name))
	}
	for range ofEach - 1 { // each sets a timer, and advance waits for the last
		<-c.clock.set
	}
	c.clock.advance(sampleEach)
	for _, x := range c.samples {
		c.want("a subscriber of samples", x, c.line(rateA, "a"))
	}
}

// One of 102 subscribers accepts nothing for ten minutes. It is disconnected at the limit, and until then holds no more
// than the entries that changed. Another pauses for a while, and then gets the newest values with the number of missed
// ones. The others miss nothing, and get each change immediately and each sample when it is due.
func TestStalledAmongMany(t *testing.T) {
	c := newAudience(t)
	clear(c.marks)
	c.marks["b"] = 1 // for the change that the slow subscriber waits with
	begin := c.clock.now()
	for step := 1; c.clock.now().Sub(begin) < showTime; step++ {
		c.tick(step)
		switch at := c.clock.now().Sub(begin); {
		case at < stallLimit:
			c.checkWaiting(at)
		case at == stallLimit:
			select {
			case err := <-c.stalled.ended:
				wantErr(t, err, "ResourceExhausted", "took nothing for 5m")
			case <-c.ctx.Done():
				t.Fatal("the stalled subscriber is still there")
			}
			if got := c.waiting(c.stalled); len(got) > 0 || len(c.stalled.got) > 0 {
				t.Fatalf("of the stalled subscriber %v and %d messages are left", got, len(c.stalled.got))
			}
		}
		if c.clock.now().Sub(begin) == slowTime {
			c.goOn()
		}
	}
	for _, x := range append(c.changes, c.samples...) {
		if len(x.got) > 0 || len(x.ended) > 0 {
			t.Fatalf("%d messages were sent to a subscriber besides, or it ended", len(x.got))
		}
	}
}

// checkWaiting checks the changes that wait for the stalled subscriber.
func (c *audience) checkWaiting(at time.Duration) {
	c.t.Helper()
	if got := c.waiting(c.stalled); !maps.Equal(got, c.marks) {
		c.t.Fatalf("after %s %v wait for the stalled subscriber, want %v", at, got, c.marks)
	}
	if len(c.stalled.ended) > 0 {
		c.t.Fatalf("the stalled subscriber ended after %s: %v", at, <-c.stalled.ended)
	}
}

// goOn lets the slow subscriber accept the waiting messages: first the interrupted ones, and then each new value once.
func (c *audience) goOn() {
	c.t.Helper()
	missed := c.waiting(c.slow)
	close(c.slow.gate)
	c.want("the slow one", c.slow, "S", "U "+rateB+" 1",
		fmt.Sprintf("%s +%d", c.line(rateA, "a"), missed["a"]-1), fmt.Sprintf("%s +%d", c.line(rateB, "b"), missed["b"]-1))
	if missed["a"]+missed["b"] != int(slowTime/sampleEach) {
		c.t.Errorf("it missed %v", missed)
	}
	c.changes = append(c.changes, c.slow)
}

// A client whose context has ended receives nothing, though the sender would accept it.
func TestNothingIsHandedAfterTheEnd(t *testing.T) {
	b := newBed(t, nil)
	c := &gatedClient{ctx: b.ctx, gate: make(chan struct{}), first: make(chan struct{}), got: make(chan []string, 100)}
	close(c.gate)
	st := newStream(b.server, c, streamOf(), nil)
	ctx, end := context.WithCancelCause(b.ctx)
	end(errRawDepth)
	for range 100 {
		if err := st.hand(ctx, []*gpb.SubscribeResponse{{}}); err != errRawDepth {
			t.Fatalf("handed: %v", err)
		}
	}
	st.close(nil)
	if len(c.got) > 0 {
		t.Errorf("%d messages were sent", len(c.got))
	}
}

// Rows written before the first values are read are part of these, and not a duplicate in the next update.
func TestFirstValuesAreNoDuplicates(t *testing.T) {
	b := newBed(t, nil)
	list := streamOf(subOf(onChange, rates))
	c := &gatedClient{ctx: b.ctx, gate: make(chan struct{}), first: make(chan struct{}), got: make(chan []string, 100)}
	close(c.gate)
	feeds, err := b.server.feeds(nil, list, 0)
	if err != nil {
		t.Fatal(err)
	}
	st := newStream(b.server, c, list, feeds)
	defer st.close(nil)
	if err := b.server.hub.Join(b.ctx, st, tables(feeds)); err != nil {
		t.Fatal(err)
	}
	b.rows(samplers("1", ""))
	if n := b.waiting(c)["a"]; n != 1 {
		t.Fatalf("the row is marked %d times, want 1", n)
	}
	if err := st.atOnce(b.ctx, func() error { return st.everything(b.ctx, false, true) }); err != nil {
		t.Fatal(err)
	}
	b.rows(samplers("2", ""))
	if n := b.waiting(c)["a"]; n != 1 {
		t.Fatalf("the row is marked %d times, want 1", n)
	}
	if err := st.changed(b.ctx); err != nil {
		t.Fatal(err)
	}
	b.want("it", c, "U "+rateA+" 1", "S", "U "+rateA+" 2")
}
