package mgmt

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tamtam/mgmt/tree"
	"tamtam/swss/swsstest"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// A handClock is a clock that a test moves.
type handClock struct {
	mu     sync.Mutex
	t      time.Time
	timers []handTimer
	set    chan time.Duration // receives the duration of every timer that is set, except stallLimit
}

type handTimer struct {
	at time.Time
	c  chan time.Time
}

func newHandClock() *handClock {
	return &handClock{t: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), set: make(chan time.Duration, 1000)}
}

func (c *handClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *handClock) after(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := handTimer{c.t.Add(d), make(chan time.Time, 1)}
	if d <= 0 {
		t.c <- c.t
	} else {
		c.timers = append(c.timers, t)
	}
	if d != stallLimit {
		c.set <- d
	}
	return t.c
}

// advance waits until a timer is set, and then moves the clock.
func (c *handClock) advance(d time.Duration) {
	<-c.set
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
	c.timers = slices.DeleteFunc(c.timers, func(t handTimer) bool {
		if t.at.After(c.t) {
			return false
		}
		t.c <- c.t
		return true
	})
}

// A sub is a Subscribe RPC.
type sub struct {
	t   testing.TB
	rpc gpb.GNMI_SubscribeClient
}

func (b *bed) subscribe(list *gpb.SubscriptionList) *sub {
	b.t.Helper()
	rpc, err := b.client.Subscribe(b.ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := rpc.Send(&gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{Subscribe: list}}); err != nil {
		b.t.Fatal(err)
	}
	return &sub{b.t, rpc}
}

// lines returns a message as lines: "U path value", "D path", "S".
func lines(m *gpb.SubscribeResponse) []string {
	if m.GetSyncResponse() {
		return []string{"S"}
	}
	var out []string
	n := m.GetUpdate()
	for _, d := range n.GetDelete() {
		out = append(out, "D "+fullPath(n, d))
	}
	for _, u := range n.GetUpdate() {
		dup := ""
		if u.GetDuplicates() > 0 {
			dup = fmt.Sprintf(" +%d", u.GetDuplicates())
		}
		out = append(out, "U "+fullPath(n, u.GetPath())+" "+string(u.GetVal().GetJsonIetfVal())+dup)
	}
	return out
}

// fullPath returns a path of a Notification, with the prefix.
func fullPath(n *gpb.Notification, p *gpb.Path) string {
	return tree.PathText(&gpb.Path{Elem: slices.Concat(n.GetPrefix().GetElem(), p.GetElem())})
}

// next returns the lines of the next message.
func (s *sub) next() []string {
	s.t.Helper()
	m, err := s.rpc.Recv()
	if err != nil {
		s.t.Fatalf("Recv: %v", err)
	}
	if n := m.GetUpdate(); n != nil && n.GetTimestamp() <= 0 {
		s.t.Error("a Notification without timestamp")
	}
	return lines(m)
}

// want checks the next messages, one line of text per line of theirs.
func (s *sub) want(text ...string) {
	s.t.Helper()
	var got []string
	for len(got) < len(text) {
		got = append(got, s.next()...)
	}
	if !slices.Equal(got, text) {
		s.t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(text, "\n"))
	}
}

// wantInAnyOrder checks the next messages, in any order.
func (s *sub) wantInAnyOrder(text ...string) {
	s.t.Helper()
	var got []string
	for len(got) < len(text) {
		got = append(got, s.next()...)
	}
	slices.Sort(got)
	slices.Sort(text)
	if !slices.Equal(got, text) {
		s.t.Fatalf("got, sorted\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(text, "\n"))
	}
}

// wantEnd checks how the RPC ends.
func (s *sub) wantEnd(code string, words ...string) {
	s.t.Helper()
	m, err := s.rpc.Recv()
	if err == nil {
		s.t.Fatalf("a message instead of the end: %v", lines(m))
	}
	if err == io.EOF {
		err = nil
	}
	wantErr(s.t, err, code, words...)
}

func (s *sub) poll() {
	s.t.Helper()
	if err := s.rpc.Send(&gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Poll{Poll: &gpb.Poll{}}}); err != nil {
		s.t.Fatal(err)
	}
}

const (
	onChange = gpb.SubscriptionMode_ON_CHANGE
	sample   = gpb.SubscriptionMode_SAMPLE
)

func listOf(mode gpb.SubscriptionList_Mode, subs ...*gpb.Subscription) *gpb.SubscriptionList {
	return &gpb.SubscriptionList{Mode: mode, Encoding: gpb.Encoding_JSON_IETF, Subscription: subs}
}

func streamOf(subs ...*gpb.Subscription) *gpb.SubscriptionList {
	return listOf(gpb.SubscriptionList_STREAM, subs...)
}

func subOf(mode gpb.SubscriptionMode, p string) *gpb.Subscription {
	return &gpb.Subscription{Mode: mode, Path: path(p)}
}

const (
	rateA    = "/tam/samplers/sampler[name=a]/config/sampling-rate"
	rateB    = "/tam/samplers/sampler[name=b]/config/sampling-rate"
	rates    = "/tam/samplers/sampler[name=*]/config/sampling-rate"
	matched  = "/tam/tailstamping-sessions/tailstamping-session[name=s1]/state/counters/matched-packets"
	stamped  = "/tam/tailstamping-sessions/tailstamping-session[name=s1]/state/counters/stamped-packets"
	sessionS = "/tam/tailstamping-sessions/tailstamping-session[name=s1]"
)

func samplers(a, b string) map[string]string {
	rows := map[string]string{}
	for k, v := range map[string]string{"a": a, "b": b} {
		rows["CONFIG_DB TAM_SAMPLINGRATE_TABLE|"+k] = ""
		if v != "" {
			rows["CONFIG_DB TAM_SAMPLINGRATE_TABLE|"+k] = "sampling-rate=" + v
		}
	}
	return rows
}

func counters(m, s string) map[string]string {
	return map[string]string{"COUNTERS_DB TAM_TAILSTAMPING_COUNTERS:s1": "MATCHED_PACKETS=" + m + " STAMPED_PACKETS=" + s,
		"CONFIG_DB TAM_TAILSTAMPING_TABLE|s1": "flowgroup=f1",
		"CONFIG_DB FLEX_COUNTER_TABLE|ACL":    "POLL_INTERVAL=1000"}
}

func TestOnce(t *testing.T) {
	b := newBed(t, nil)
	s := b.subscribe(listOf(gpb.SubscriptionList_ONCE, subOf(onChange, rates)))
	s.want("S")
	s.wantEnd("OK")
	b.rows(samplers("1", "2"))
	s = b.subscribe(listOf(gpb.SubscriptionList_ONCE, subOf(0, rates)))
	s.want("U "+rateA+" 1", "U "+rateB+" 2", "S")
	s.wantEnd("OK")
	only := listOf(gpb.SubscriptionList_ONCE, subOf(0, rates))
	only.UpdatesOnly = true
	s = b.subscribe(only)
	s.want("S")
	s.wantEnd("OK")
	// With prefix, target and PROTO.
	proto := listOf(gpb.SubscriptionList_ONCE, subOf(0, "/config/sampling-rate"))
	proto.Prefix, proto.Encoding = path("/tam/samplers/sampler[name=a]"), gpb.Encoding_PROTO
	proto.Prefix.Target = "sw1"
	s = b.subscribe(proto)
	m, err := s.rpc.Recv()
	if err != nil {
		t.Fatal(err)
	}
	n := m.GetUpdate()
	if n.GetPrefix().GetTarget() != "sw1" || n.GetUpdate()[0].GetVal().GetUintVal() != 1 ||
		tree.PathText(n.GetUpdate()[0].GetPath()) != rateA {
		t.Error(n)
	}
}

func TestPoll(t *testing.T) {
	b := newBed(t, nil)
	b.rows(samplers("1", "2"))
	s := b.subscribe(listOf(gpb.SubscriptionList_POLL, subOf(0, rates)))
	s.want("U "+rateA+" 1", "U "+rateB+" 2", "S")
	s.poll()
	s.want("U "+rateA+" 1", "U "+rateB+" 2", "S")
	b.rows(samplers("3", ""))
	s.poll()
	s.want("U "+rateA+" 3", "S")
	s.rpc.CloseSend()
	s.wantEnd("OK")
	only := listOf(gpb.SubscriptionList_POLL, subOf(0, rates))
	only.UpdatesOnly = true
	s = b.subscribe(only)
	s.want("S")
	s.poll()
	s.want("U "+rateA+" 3", "S")
}

func TestOnChange(t *testing.T) {
	b := newBed(t, nil)
	s := b.subscribe(streamOf(subOf(onChange, rates)))
	s.want("S")
	b.rows(samplers("1", ""))
	s.want("U " + rateA + " 1") // an entry that did not exist when it subscribed
	b.rows(samplers("1", ""))   // unchanged, so nothing is sent
	b.rows(samplers("1", "2"))
	s.want("U " + rateB + " 2")
	if err := s.rpc.CloseSend(); err != nil { // the client then only receives
		t.Fatal(err)
	}
	b.rows(map[string]string{"CONFIG_DB TAM_SAMPLINGRATE_TABLE|a": ""})
	s.want("D " + rateA)
	b.rows(map[string]string{"CONFIG_DB TAM_SAMPLINGRATE_TABLE|b": "sampling-rate=3"})
	s.want("U " + rateB + " 3")
}

func TestOnChangeOfEntries(t *testing.T) {
	b := newBed(t, nil)
	b.rows(map[string]string{"STATE_DB TAM_STATE_SAMPLINGRATE_TABLE|a": "status=pending reason=waiting"})
	b.rows(samplers("1", ""))
	only := streamOf(subOf(onChange, "/tam/samplers"))
	only.UpdatesOnly = true
	s := b.subscribe(only)
	s.want("S")
	at := "/tam/samplers/sampler[name=a]"
	b.rows(map[string]string{"STATE_DB TAM_STATE_SAMPLINGRATE_TABLE|a": "status=active reason="})
	s.want("D "+at+"/state/reason", "U "+at+"/state/status \"active\"", "U "+at+"/state/status-number 1")
	b.mustSet(&gpb.SetRequest{Delete: []*gpb.Path{path("/tam/samplers")}})
	s.want("D "+at+"/config/name", "D "+at+"/config/sampling-rate",
		"U "+at+`/state/not-in-force ["it is deleted, and in force still"]`)
	b.rows(map[string]string{"STATE_DB TAM_STATE_SAMPLINGRATE_TABLE|a": ""}) // the manager has processed the delete
	s.want("D " + at)
}

// A subscriber survives a restart of Redis.
func TestRedisRestart(t *testing.T) {
	real := swsstest.StartServer(t)
	b := newBedOn(t, real.Open(), nil)
	b.rows(samplers("1", "2"))
	s := b.subscribe(streamOf(subOf(onChange, rates)))
	s.want("U "+rateA+" 1", "U "+rateB+" 2", "S")
	real.Stop()
	_, err := b.get(rateA)
	wantErr(t, err, "Unavailable")
	real.Start()
	b.rows(samplers("3", ""))
	got := append(s.next(), s.next()...)
	slices.Sort(got)
	if fmt.Sprint(got) != fmt.Sprint([]string{"D " + rateB, "U " + rateA + " 3"}) {
		t.Error(got)
	}
}

func TestOnChangeHeartbeat(t *testing.T) {
	clock := newHandClock()
	b := newBed(t, func(c *Config) { c.Clock, c.After = clock.now, clock.after })
	b.rows(samplers("1", ""))
	list := streamOf(subOf(onChange, rates))
	list.Subscription[0].HeartbeatInterval = uint64(time.Minute)
	s := b.subscribe(list)
	s.want("U "+rateA+" 1", "S")
	clock.advance(time.Minute)
	s.want("U " + rateA + " 1")
	clock.advance(time.Minute)
	s.want("U " + rateA + " 1")
}

func TestSample(t *testing.T) {
	clock := newHandClock()
	b := newBed(t, func(c *Config) { c.Clock, c.After = clock.now, clock.after })
	b.rows(counters("1", "1"))
	list := streamOf(subOf(sample, sessionS+"/state/counters"))
	list.Subscription[0].SampleInterval = uint64(time.Second)
	s := b.subscribe(list)
	s.want("U "+matched+` "1"`, "U "+stamped+` "1"`, "S")
	clock.advance(time.Second)
	s.want("U "+matched+` "1"`, "U "+stamped+` "1"`)
	b.rows(counters("2", "1"))
	clock.advance(time.Second)
	s.want("U "+matched+` "2"`, "U "+stamped+` "1"`)
	clock.advance(3 * time.Second) // two samples were missed
	s.want("U "+matched+` "2" +2`, "U "+stamped+` "1" +2`)
	b.rows(map[string]string{"CONFIG_DB TAM_TAILSTAMPING_TABLE|s1": ""})
	clock.advance(time.Second)
	s.want("D " + sessionS + "/state/counters")
}

// Samples are at start + k intervals, however much changes in between.
func TestSampleDeadlines(t *testing.T) {
	clock := newHandClock()
	b := newBed(t, func(c *Config) { c.Clock, c.After = clock.now, clock.after })
	b.rows(counters("0", "0"))
	b.rows(samplers("1", ""))
	list := streamOf(subOf(sample, matched), subOf(onChange, rates))
	list.Subscription[0].SampleInterval = uint64(time.Second)
	s := b.subscribe(list)
	s.want("U "+matched+` "0"`, "U "+rateA+" 1", "S")
	for i := range 5 {
		clock.advance(400 * time.Millisecond)
		b.rows(samplers(fmt.Sprint(10+i), "")) // wakes the stream, which sets a new timer
		s.want(fmt.Sprintf("U %s %d", rateA, 10+i))
		clock.advance(600 * time.Millisecond)
		s.want("U " + matched + ` "0"`)
	}
}

func TestSuppressRedundant(t *testing.T) {
	clock := newHandClock()
	b := newBed(t, func(c *Config) { c.Clock, c.After = clock.now, clock.after })
	b.rows(counters("1", "1"))
	list := streamOf(subOf(sample, sessionS+"/state/counters"))
	list.Subscription[0].SampleInterval = uint64(time.Second)
	list.Subscription[0].SuppressRedundant = true
	list.Subscription[0].HeartbeatInterval = uint64(4 * time.Second)
	s := b.subscribe(list)
	s.want("U "+matched+` "1"`, "U "+stamped+` "1"`, "S")
	clock.advance(time.Second) // nothing is sent
	b.rows(counters("2", "1"))
	clock.advance(time.Second)
	s.want("U " + matched + ` "2"`)
	clock.advance(time.Second) // nothing is sent
	clock.advance(time.Second) // the heartbeat
	s.want("U "+matched+` "2"`, "U "+stamped+` "1"`)
	b.rows(map[string]string{"CONFIG_DB TAM_TAILSTAMPING_TABLE|s1": ""})
	clock.advance(time.Second)
	s.want("D " + sessionS + "/state/counters")
}

func TestUpdatesOnlySample(t *testing.T) {
	clock := newHandClock()
	b := newBed(t, func(c *Config) { c.Clock, c.After = clock.now, clock.after })
	b.rows(counters("1", "1"))
	list := streamOf(subOf(sample, matched))
	list.UpdatesOnly = true
	s := b.subscribe(list)
	s.want("S")
	clock.advance(time.Second) // interval 0 means the least interval, that of ACL counters
	s.want("U " + matched + ` "1"`)
}

// State is sent on change and counters are sampled. There is one sync_response for all.
func TestTargetDefined(t *testing.T) {
	clock := newHandClock()
	b := newBed(t, func(c *Config) { c.Clock, c.After = clock.now, clock.after })
	b.rows(counters("1", "1"))
	list := streamOf(subOf(gpb.SubscriptionMode_TARGET_DEFINED, sessionS), subOf(onChange, rates))
	s := b.subscribe(list)
	s.want("U "+sessionS+`/name "s1"`, "U "+sessionS+`/config/flowgroup "f1"`, "U "+sessionS+`/config/name "s1"`,
		"U "+sessionS+`/state/name "s1"`,
		"U "+sessionS+`/state/not-in-force ["nothing of it is in force yet"]`, "U "+matched+` "1"`, "U "+stamped+` "1"`, "S")
	b.rows(counters("2", "1"))
	b.rows(map[string]string{"STATE_DB TAM_STATE_TAILSTAMPING_TABLE|s1": "status=active"})
	s.want("U "+sessionS+`/state/status "active"`, "U "+sessionS+`/state/status-number 1`)
	<-clock.set // wait for the timer that was set before the change
	clock.advance(definedSample)
	s.want("U "+matched+` "2"`, "U "+stamped+` "1"`)
}

func TestSubscribeRefused(t *testing.T) {
	b := newBed(t, nil)
	b.rows(someSwitch())
	withInterval := func(sub *gpb.Subscription, interval, beat time.Duration) *gpb.SubscriptionList {
		sub.SampleInterval, sub.HeartbeatInterval = uint64(interval), uint64(beat)
		return streamOf(sub)
	}
	bad := func(f func(*gpb.SubscriptionList)) *gpb.SubscriptionList {
		l := streamOf(subOf(onChange, rates))
		f(l)
		return l
	}
	for _, c := range []struct {
		name  string
		list  *gpb.SubscriptionList
		code  string
		words []string
	}{
		{"no subscription", streamOf(), "InvalidArgument", []string{"1 to"}},
		{"unknown paths", streamOf(subOf(onChange, "/tam/colectors"), subOf(onChange, rates), subOf(onChange, "/tan")),
			"Unimplemented", []string{"colectors", "\n/tan"}},
		{"interval", withInterval(subOf(sample, matched), time.Millisecond, 0), "InvalidArgument",
			[]string{matched, "sample_interval 1ms", "10s", "FLEX_COUNTER_TABLE|ACL"}},
		{"heartbeat", withInterval(subOf(onChange, rates), 0, time.Millisecond), "InvalidArgument",
			[]string{"heartbeat_interval", "1s"}},
		{"unknown mode", streamOf(subOf(9, rates)), "InvalidArgument", []string{"mode 9"}},
		{"unknown list mode", bad(func(l *gpb.SubscriptionList) { l.Mode = 9 }), "InvalidArgument", []string{"mode 9"}},
		{"encoding", bad(func(l *gpb.SubscriptionList) { l.Encoding = gpb.Encoding_ASCII }), "Unimplemented",
			[]string{"ASCII"}},
		{"model", bad(func(l *gpb.SubscriptionList) { l.UseModels = []*gpb.ModelData{{Name: "nope"}} }), "InvalidArgument",
			[]string{"nope"}},
		{"origins", bad(func(l *gpb.SubscriptionList) {
			l.Prefix = &gpb.Path{Origin: "openconfig"}
			l.Subscription[0].Path.Origin = "cli"
		}), "InvalidArgument", []string{"openconfig", "cli"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := b.subscribe(c.list)
			s.t = t
			s.wantEnd(c.code, c.words...)
		})
	}
	t.Run("Poll first", func(t *testing.T) {
		rpc, err := b.client.Subscribe(b.ctx)
		if err != nil {
			t.Fatal(err)
		}
		s := &sub{t, rpc}
		s.poll()
		s.wantEnd("InvalidArgument", "SubscriptionList")
	})
	t.Run("Poll on a STREAM", func(t *testing.T) {
		s := b.subscribe(streamOf(subOf(onChange, rates)))
		s.want("S")
		s.poll()
		s.wantEnd("InvalidArgument", "Poll")
	})
	t.Run("two lists", func(t *testing.T) {
		for _, mode := range []gpb.SubscriptionList_Mode{gpb.SubscriptionList_STREAM, gpb.SubscriptionList_POLL} {
			s := b.subscribe(listOf(mode, subOf(onChange, rates)))
			s.want("S")
			if err := s.rpc.Send(&gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{
				Subscribe: streamOf(subOf(onChange, rates))}}); err != nil {
				t.Fatal(err)
			}
			s.wantEnd("InvalidArgument")
		}
	})
}
