package dial

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"

	"tamtam/collector/marks"
	"tamtam/tam/altmark"
)

// A fakeSwitch is a gNMI server that sends the notifications of a test.
type fakeSwitch struct {
	gpb.UnimplementedGNMIServer
	addr string
	grpc *grpc.Server

	mu      sync.Mutex
	history []*gpb.Notification // sent to every new subscriber
	streams []chan *gpb.Notification
	asked   [][]string
}

func startSwitch(t *testing.T, addr string) *fakeSwitch {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	s := &fakeSwitch{addr: l.Addr().String(), grpc: grpc.NewServer()}
	gpb.RegisterGNMIServer(s.grpc, s)
	go func() { _ = s.grpc.Serve(l) }()
	t.Cleanup(s.grpc.Stop)
	return s
}

func (s *fakeSwitch) Subscribe(rpc gpb.GNMI_SubscribeServer) error {
	req, err := rpc.Recv()
	if err != nil {
		return err
	}
	ch := make(chan *gpb.Notification, 100)
	s.mu.Lock()
	var asked []string
	for _, sub := range req.GetSubscribe().GetSubscription() {
		asked = append(asked, text(sub.GetPath().GetElem())+" "+sub.GetMode().String())
	}
	s.asked = append(s.asked, asked)
	for _, n := range s.history {
		ch <- n
	}
	ch <- nil
	s.streams = append(s.streams, ch)
	s.mu.Unlock()
	for {
		select {
		case <-rpc.Context().Done():
			return nil
		case n := <-ch:
			r := &gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_Update{Update: n}}
			if n == nil {
				r = &gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_SyncResponse{SyncResponse: true}}
			}
			if err := rpc.Send(r); err != nil {
				return err
			}
		}
	}
}

// say sends notifications to all subscribers, now and later.
func (s *fakeSwitch) say(ns ...*gpb.Notification) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history = append(s.history, ns...)
	for _, ch := range s.streams {
		for _, n := range ns {
			ch <- n
		}
	}
}

// note returns a notification with leaves below a session. Each leaf is "path value", with the value in JSON.
func note(session, below string, leaves ...string) *gpb.Notification {
	n := &gpb.Notification{Prefix: &gpb.Path{Origin: "openconfig"}}
	for _, l := range leaves {
		name, value, _ := strings.Cut(l, " ")
		p := sessionPath(session)
		for e := range strings.SplitSeq(below, "/") {
			elem, number, ok := strings.Cut(e, "#")
			pe := &gpb.PathElem{Name: elem}
			if ok {
				pe.Key = map[string]string{"number": number}
			}
			p.Elem = append(p.Elem, pe)
		}
		p.Elem = append(p.Elem, &gpb.PathElem{Name: name})
		n.Update = append(n.Update, &gpb.Update{Path: p, Val: &gpb.TypedValue{
			Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: []byte(value)}}})
	}
	return n
}

func configNote(role string) *gpb.Notification {
	return note("s", "config", `name "s"`, `flowgroup "web"`, fmt.Sprintf("role %q", role), `method "double"`,
		"interval 8", `mark "dscp0"`, `mark2 "dscp1"`, `delay-max "20000000"`)
}

func periodNote(k uint64, packets int, more ...string) *gpb.Notification {
	leaves := append([]string{fmt.Sprintf("number %q", fmt.Sprint(k)), fmt.Sprintf("packets %q", fmt.Sprint(packets)),
		`octets "6400"`, "captures 1", "digest 7", `out-of-window "0"`,
		fmt.Sprintf(`timestamp "%d005000000"`, k), fmt.Sprintf(`read-at "%d500000000"`, k+1)}, more...)
	return note("s", fmt.Sprintf("periods/period#%d/state", k), leaves...)
}

func watchAll(t *testing.T, target string) <-chan Event {
	ctx, cancel := context.WithCancel(t.Context())
	events, done := make(chan Event, 1000), make(chan struct{})
	go func() {
		defer close(done)
		if err := Watch(ctx, target, []string{"s", "other"}, Options{Insecure: true},
			func(e Event) { events <- e }); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return events
}

// next waits for an event of a kind, and skips lost connections unless that is the kind.
func next(t *testing.T, events <-chan Event, kind EventKind) Event {
	t.Helper()
	for {
		select {
		case e := <-events:
			if e.Kind == kind {
				return e
			}
			if e.Kind != Lost {
				t.Fatalf("event %+v, want kind %d", e, kind)
			}
		case <-time.After(time.Minute):
			t.Fatalf("no event of kind %d", kind)
		}
	}
}

// A watch reports settings with their defaults, periods as a whole, and after a lost connection everything that the
// switch still has.
func TestWatch(t *testing.T) {
	s := startSwitch(t, "127.0.0.1:0")
	s.say(configNote("initiator"), periodNote(10, 64, `flags ["first","late-read"]`))
	events := watchAll(t, s.addr)
	want := altmark.Session{Role: altmark.Initiator, Method: altmark.Double, Mark: altmark.DSCP0, Mark2: altmark.DSCP1,
		SlotSync: true,
		Interval: 8, ClockError: 4 * time.Second, MaxDelay: 20 * time.Millisecond}
	if e := next(t, events, Settings); e.Session != "s" || e.Settings != want {
		t.Errorf("%+v, want %+v", e.Settings, want)
	}
	period := altmark.Period{Number: 10, Packets: 64, Bytes: 6400, Captures: 1,
		Timestamp: altmark.Time{Seconds: 10, Nanoseconds: 5e6}, Digest: 7,
		ReadAt: altmark.Time{Seconds: 11, Nanoseconds: 5e8}, Flags: altmark.First | altmark.LateRead}
	if e := next(t, events, Period); e.Session != "s" || e.Period != period || !e.Arrived.IsZero() {
		t.Errorf("%+v came at %v, want %+v, of which nobody knows when it came", e.Period, e.Arrived, period)
	}
	if e := next(t, events, Settings); e.Session != "other" || e.Settings != (altmark.Session{}) {
		t.Errorf("%+v, want that there is no other session", e)
	}
	next(t, events, Synced)
	if asked := s.asked[0]; len(asked) != 4 ||
		asked[1] != "/tam/alt-mark-sessions/alt-mark-session[name=s]/periods ON_CHANGE" {
		t.Errorf("subscribed to %q", asked)
	}
	s.say(periodNote(11, 60, `arrivals "60"`, `arrival-sum "-18446744073709551617"`))
	if e := next(t, events, Period); e.Period.Number != 11 || e.Period.Colour != 1 || e.Period.Flags != 0 ||
		e.Arrived.IsZero() ||
		e.Period.Arrivals != (altmark.Arrivals{Summed: true, Packets: 60, Sum: altmark.Sum{Hi: 1<<64 - 2, Lo: 1<<64 - 1}}) {
		t.Errorf("%+v came at %v", e.Period, e.Arrived)
	}

	s.grpc.Stop()
	next(t, events, Lost)
	again := startSwitch(t, s.addr)
	again.say(configNote("terminator"), periodNote(11, 60), periodNote(12, 61))
	if e := next(t, events, Settings); e.Settings.Role != altmark.Terminator {
		t.Errorf("%+v", e)
	}
	for _, k := range []uint64{11, 12} {
		if e := next(t, events, Period); e.Period.Number != k || !e.Arrived.IsZero() {
			t.Errorf("%+v, want period %d, of which nobody knows when it came", e, k)
		}
	}
	next(t, events, Settings)
	next(t, events, Synced)
	again.say(&gpb.Notification{Delete: []*gpb.Path{sessionPath("s")}})
	if e := next(t, events, Settings); e.Session != "s" || e.Settings != (altmark.Session{}) {
		t.Errorf("%+v, want that the session is gone", e)
	}
}

// An invalid message is an event, and not a report.
func TestWatchBad(t *testing.T) {
	s := startSwitch(t, "127.0.0.1:0")
	events := watchAll(t, s.addr)
	next(t, events, Settings)
	next(t, events, Settings)
	next(t, events, Synced)
	for want, n := range map[string]*gpb.Notification{
		`session s, period 12: packets is "", want a number`: note("s",
			"periods/period#12/state", "captures 0", `octets "1"`, `out-of-window "0"`, `read-at "5"`),
		`session s, period 15: arrivals is "", want a number`: periodNote(15, 5,
			`arrival-sum "1"`),
		`session s, period 16: arrival-sum is "", want a`: periodNote(16, 5,
			`arrivals "1"`),
		`session s, period 17: captures is "4294967297", want a number of at most 4294967295`: periodNote(17, 5,
			`captures "4294967297"`),
		`session s, period 18: digest is "4294967303", want a number of at most`: periodNote(18, 5,
			`digest "4294967303"`),
		`session s, period 13: flag "strange"`: periodNote(13, 5,
			`flags ["strange"]`),
		`session s, period 14x: number is "14x"`: note("s",
			"periods/period#14x/state", "captures 0", `octets "1"`, `packets "1"`, `out-of-window "0"`, `read-at "5"`),
		"/alt-mark-session[name=s]/config/role: the server's": note("s", "config", "role {"),
	} {
		s.say(n)
		if e := next(t, events, Bad); !strings.Contains(e.Err.Error(), want) {
			t.Errorf("%v, want %q", e.Err, want)
		}
	}
}

// Impossible settings are refused: some of them would give a period no length.
func TestSettingsRefused(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"interval", "9", `session s: interval is "9", want -10 to 8`},
		{"interval", "100", `session s: interval is "100", want -10 to 8`},
		{"interval", "-128", `session s: interval is "-128", want -10 to 8`},
		{"interval", "300", `session s: interval is "300", want -10 to 8`},
		{"interval", "-10", ""},
		{"flow-mon-id", "1048576", `session s: flow-mon-id is "1048576", want a number of at most 1048575`},
		{"flow-mon-id", "0", ""},
	} {
		s := newSession("s")
		s.config = map[string][]string{"role": {"transit"}, "method": {"step"}, "mark": {"dscp0"}, c.name: {c.value}}
		got, err := s.settings()
		switch {
		case c.want != "" && (err == nil || err.Error() != c.want || got != altmark.Session{}):
			t.Errorf("%s %s: %+v, %v: want %s", c.name, c.value, got, err, c.want)
		case c.want == "" && (err != nil || got.Interval.String() == "1s" != got.FlowMonID.Given):
			t.Errorf("%s %s: %+v, %v", c.name, c.value, got, err)
		}
	}
}

// While the join waits for one switch, another may get other settings. With the new settings, the numbers of periods
// that this switch measured before stand for other times.
func TestSettingsWhileWaiting(t *testing.T) {
	f, err := ReadFile(strings.NewReader(twoPaths))
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Unix(1006, 0)
	j, err := NewJoin(f, begun)
	if err != nil {
		t.Fatal(err)
	}
	settings := func(target string, role altmark.Role, n altmark.Interval) {
		s := altmark.Session{Role: role, Method: altmark.Step, Interval: n, Mark: altmark.DSCP0, SlotSync: true,
			MaxDelay: time.Millisecond}
		j.Apply(Event{Target: target, Session: "s1", Kind: Settings, Settings: s}, begun)
	}
	measured := func(from uint64, n altmark.Interval) {
		for k := from; k < from+5; k++ {
			for i, target := range []string{"10.0.0.1:8080", "10.0.0.2:8080"} {
				read := n.Middle(k + 1)
				j.Apply(Event{Target: target, Session: "s1", Kind: Period, Arrived: read.Std(),
					Period: altmark.Period{Number: k, Colour: uint8(k & 1), Packets: 100 - uint64(i), ReadAt: read}}, begun)
			}
		}
	}
	for n, from := range []uint64{1000, 503} {
		settings("10.0.0.1:8080", altmark.Initiator, altmark.Interval(n))
		settings("10.0.0.2:8080", altmark.Terminator, altmark.Interval(n))
		measured(from, altmark.Interval(n))
	}
	ok := 0
	for _, r := range j.Tick(begun.Add(maxStart)) {
		if r.Start.Seconds < 1006 || r.Start.Seconds > 1015 {
			t.Errorf("%+v: want periods of the last settings", r)
		}
		if r.Status == marks.OK && r.Lost == 1 {
			ok++
		}
	}
	if ok == 0 {
		t.Error("no period is ok")
	}
}

// JSON of a whole container is split into its leaves.
func TestLeavesOfContainer(t *testing.T) {
	leaves, err := leavesOf(sessionPath("s").GetElem(), &gpb.TypedValue{
		Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: []byte(
			`{"name": "s", "config": {"role": "transit"}, "tamtam-altmark:periods": {"period": [{"number": "7", "state": ` +
				`{"packets": "5", "flags": ["first", "late-read"]}}]}}`)}})
	var got []string
	for _, l := range leaves {
		got = append(got, fmt.Sprint(l))
	}
	slices.Sort(got)
	if want := []string{"{s  role [transit]}", "{s 7 flags [first late-read]}", "{s 7 packets [5]}"}; err != nil ||
		!slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

func FuzzLeaves(f *testing.F) {
	f.Add("config", `{"role": "transit"}`)
	f.Add("periods", `{"period": [{"number": "7", "state": {"flags": ["first"]}}]}`)
	f.Fuzz(func(t *testing.T, below, value string) {
		s := newSession("s")
		leaves, err := leavesOf(sessionPath("s", below).GetElem(), &gpb.TypedValue{
			Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: []byte(value)}})
		if err != nil {
			return
		}
		c := &changes{periods: map[string]bool{}}
		for _, l := range leaves {
			s.set(l, c)
		}
		if x, err := s.settings(); err == nil && x.Role == 0 && len(s.config) > 0 {
			t.Errorf("%v are settings without a role", s.config)
		}
		for k := range c.periods {
			if p, err := s.period(k); err == nil && uint64(p.Colour) != p.Number&1 {
				t.Errorf("%+v", p)
			}
		}
	})
}

// Two switches are disconnected for some periods. No report that a switch remembers is lost; the other reports are
// missing. A remembered report counts only if a later one shows that the clock still agrees with the other switch's,
// and no report is missing in between.
func TestRun(t *testing.T) {
	a, b := startSwitch(t, "127.0.0.1:0"), startSwitch(t, "127.0.0.1:0")
	a.say(configNote("initiator"))
	b.say(configNote("terminator"))
	for k := uint64(10); k < 14; k++ {
		a.say(periodNote(k, 100))
		b.say(periodNote(k, 90))
	}
	f := File{Paths: []Path{{Name: "p", Points: []Point{{"a", a.addr, "s"}, {"b", b.addr, "s"}}}}}
	ctx, cancel := context.WithCancel(t.Context())
	results, synced := make(chan marks.Result, 1000), make(chan string, 1000)
	done := make(chan error, 1)
	go func() {
		report := func(e Event) {
			if e.Kind == Synced {
				synced <- e.Target
			}
		}
		done <- Run(ctx, f, Options{Insecure: true}, report, func(rs []marks.Result) error {
			for _, r := range rs {
				results <- r
			}
			return nil
		})
	}()
	last := map[uint64]marks.Status{}
	want := func(all map[uint64]marks.Status) {
		t.Helper()
		for !maps.Equal(last, all) {
			select {
			case r := <-results:
				if r.LossValid && r.Lost != 10 || r.LossValid != (r.Status == marks.OK) {
					t.Errorf("%+v", r)
				}
				last[r.Period] = r.Status
			case <-time.After(time.Minute):
				t.Fatalf("periods are %v, want %v", last, all)
			}
		}
	}
	const ok = marks.OK
	<-synced
	<-synced
	for _, s := range []*fakeSwitch{a, b} {
		s.say(periodNote(14, map[*fakeSwitch]int{a: 100, b: 90}[s]))
	}
	want(map[uint64]marks.Status{10: ok, 11: ok, 12: ok})
	a.grpc.Stop()
	b.grpc.Stop()
	a, b = startSwitch(t, a.addr), startSwitch(t, b.addr)
	a.say(configNote("initiator"))
	b.say(configNote("terminator"))
	for k := uint64(14); k < 23; k++ {
		a.say(periodNote(k, 100))
		if k != 16 {
			b.say(periodNote(k, 90))
		}
	}
	<-synced
	<-synced
	for k := uint64(23); k < 28; k++ {
		a.say(periodNote(k, 100))
		b.say(periodNote(k, 90))
	}
	// The report of period 16 would have shown late packets of period 14.
	all := map[uint64]marks.Status{14: marks.Flagged, 15: marks.Flagged, 16: marks.Missing}
	for _, k := range []uint64{10, 11, 12, 13, 17, 18, 19, 20, 21, 22, 23, 24, 25} {
		all[k] = ok
	}
	want(all)
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
