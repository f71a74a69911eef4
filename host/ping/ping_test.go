package ping

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"tamtam/host"
	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// A bench is a service in simulated time, on a network that answers as a test prescribes.
type bench struct {
	*testing.T
	redis   *swss.Redis
	d       *orch.Daemon
	service *Service
	now     time.Time
	sent    []host.Echo
	answer  func(host.Echo) []host.Message // answers, which come a millisecond later
	coming  []host.Message
	hears   bool
	drops   uint64
	refuse  error // error of Source
	full    error // error of Send
}

func newBench(t *testing.T) *bench {
	b := &bench{T: t, redis: swsstest.Start(t), now: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)}
	b.d = orch.NewDaemon("hostd", b.redis, orch.Options{})
	t.Cleanup(func() { b.d.Close() })
	b.service = New(Config{Daemon: b.d, Redis: b.redis, Network: b})
	b.answer = b.reply
	b.step()
	return b
}

func (b *bench) Hear(on bool) error { b.hears = on; return nil }

func (b *bench) Source(p *schema.Ping) (netip.Addr, error) {
	if p.Destination.Is6() {
		return netip.MustParseAddr("2001:db8::1"), b.refuse
	}
	return netip.MustParseAddr("10.0.0.1"), b.refuse
}

func (b *bench) Send(e host.Echo) error {
	if b.full != nil {
		return b.full
	}
	b.sent = append(b.sent, e)
	b.coming = append(b.coming, b.answer(e)...)
	return nil
}

func (b *bench) Hints(*schema.Ping) []string { return []string{"a hint"} }

func (b *bench) Drops() uint64 { return b.drops }

// reply returns the echo reply to a request.
func (b *bench) reply(e host.Echo) []host.Message {
	kind := byte(typeReply4)
	if e.To.Is6() {
		kind = typeReply6
	}
	return []host.Message{{From: e.To, To: e.From, TTL: 63, Data: echo(kind, &e)}}
}

// echo returns an echo request or reply.
func echo(kind byte, e *host.Echo) []byte {
	m := []byte{kind, 0, 0, 0}
	m = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(m, e.Ident), e.Sequence)
	return append(m, e.Payload...)
}

// failure returns an ICMP error about a request.
func failure(from string, kind, code byte, e *host.Echo) host.Message {
	m := []byte{kind, code, 0, 0, 0, 0, 0, 0}
	s, d := e.From.As4(), e.To.As4()
	m = append(m, 0x45, 0, 0, 84, 0, 1, 0, 0, 1, protoICMP, 0, 0)
	m = append(append(append(m, s[:]...), d[:]...), echo(typeRequest4, e)...)
	return host.Message{From: netip.MustParseAddr(from), To: e.From, TTL: 60, Data: m}
}

func (b *bench) step() {
	b.Helper()
	for again := true; again; {
		var err error
		if again, err = b.d.Step(b.Context(), b.now); err != nil {
			b.Fatal(err)
		}
	}
}

// pass lets time pass. Answers arrive one millisecond after their request.
func (b *bench) pass(d time.Duration) {
	b.Helper()
	for end := b.now.Add(d); b.now.Before(end); {
		coming := b.coming
		b.coming = nil
		next, ok := b.d.NextTimer()
		switch {
		case len(coming) > 0:
			b.now = b.now.Add(time.Millisecond)
		case ok && next.Before(end) && next.After(b.now):
			b.now = next
		default:
			b.now = end
		}
		b.step()
		b.deliver(coming)
	}
}

func (b *bench) deliver(coming []host.Message) {
	b.Helper()
	if err := b.d.Do(b.Context(), func() {
		for _, m := range coming {
			b.service.Received(m)
		}
	}); err != nil {
		b.Fatal(err)
	}
	b.step()
}

// ask sends a request, and steps the service.
func (b *bench) ask(op, name, input string) {
	b.Helper()
	if _, err := swss.NewNotificationProducer(b.redis.DB(swss.StateDB), schema.PingChannel).Send(b.Context(), op,
		schema.PacketTraceAnswers+name, []swss.Pair{{Field: schema.PacketTraceRequest, Value: input}}); err != nil {
		b.Fatal(err)
	}
	b.step()
}

func (b *bench) read(name string) *Answer {
	b.Helper()
	row, _, err := swss.NewTable(b.redis.DB(swss.StateDB), schema.StatePacketTrace).Get(b.Context(), name)
	if err != nil {
		b.Fatal(err)
	}
	var a Answer
	if err := json.Unmarshal([]byte(row[schema.PacketTraceJSON]), &a); err != nil {
		b.Fatalf("%q: %v", row, err)
	}
	return &a
}

// describe describes an answer in a line: its counts that are not 0.
func (a *Answer) describe() string {
	s := fmt.Sprint(a.Sent, " sent")
	for _, c := range []struct {
		n    int
		text string
	}{
		{a.Received, "received"}, {a.Errors, "errors"}, {a.NoReply, "no reply"}, {a.Waiting, "waiting"},
		{a.NotSent, "not sent"}, {a.Duplicates, "duplicates"}, {a.Strange, "strange"},
	} {
		if c.n != 0 {
			s += fmt.Sprintf(", %d %s", c.n, c.text)
		}
	}
	if a.Done {
		s += ", done"
	}
	return s
}

func (e *Event) describe() string {
	s := fmt.Sprintf("%d %s", e.Sequence, e.Kind)
	if e.From != "" {
		s += fmt.Sprintf(" %s %v", e.From, time.Duration(*e.RTT))
	}
	if e.Text != "" {
		s += " " + e.Text
	}
	if e.Late {
		s += " late"
	}
	if e.Duplicate {
		s += " duplicate"
	}
	return s
}

func describeEvents(events []Event) string {
	var all []string
	for _, e := range events {
		all = append(all, e.describe())
	}
	return strings.Join(all, "; ")
}

func (b *bench) want(got, want string) {
	b.Helper()
	if got != want {
		b.Errorf("\n got %q\nwant %q", got, want)
	}
}

// A ping sends its requests at its interval, and ends with the last reply.
func TestPing(t *testing.T) {
	for _, to := range []string{"10.0.0.5", "2001:db8::5"} {
		b := newBench(t)
		b.ask(schema.PingAsk, "a", `{"destination":"`+to+`","count":3,"size":10,"ttl":7}`)
		if !b.hears || len(b.sent) != 1 {
			t.Errorf("listening %v, %d requests", b.hears, len(b.sent))
		}
		b.want(b.read("a").describe(), "0 sent")
		b.pass(time.Second - 1)
		b.want(b.read("a").describe(), "1 sent, 1 received")
		b.pass(5 * time.Second)
		a := b.read("a")
		b.want(a.describe(), "3 sent, 3 received, done")
		b.want(describeEvents(a.Events), fmt.Sprintf("1 reply %[1]s 1ms; 2 reply %[1]s 1ms; 3 reply %[1]s 1ms", to))
		if *a.RTT != (RTT{1e6, 1e6, 1e6}) || a.Notes != nil || b.hears {
			t.Errorf("%+v, notes %q, listening %v", *a.RTT, a.Notes, b.hears)
		}
		if e := b.sent[0]; e.TTL != 7 || len(e.Payload) != 10 || e.Ident != b.sent[2].Ident || b.sent[2].Sequence != 3 {
			t.Errorf("sent %+v", b.sent)
		}
	}
}

// Whatever comes back is reported as what it is: a late reply is no lost one, and a message that does not fit changes
// no count of requests.
func TestOutcomes(t *testing.T) {
	other := func(change func(*host.Echo)) func(host.Echo) []host.Message {
		return func(e host.Echo) []host.Message {
			e.Payload = slices.Clone(e.Payload)
			change(&e)
			return (&bench{}).reply(e)
		}
	}
	none := func(host.Echo) []host.Message { return nil }
	const lost = "2 sent, 2 no reply"
	for _, tt := range []struct {
		name   string
		answer func(host.Echo) []host.Message
		want   string
		events string
	}{
		{"nothing", none, lost + ", done", "1 no-reply; 2 no-reply"},
		{"another identifier", other(func(e *host.Echo) { e.Ident++ }), lost + ", done", "1 no-reply; 2 no-reply"},
		{"another number", other(func(e *host.Echo) { e.Sequence += 9 }), lost + ", 2 strange, done",
			"1 no-reply; 2 no-reply"},
		{"number 0", other(func(e *host.Echo) { e.Sequence = 0 }), lost + ", 2 strange, done", "1 no-reply; 2 no-reply"},
		{"other data", other(func(e *host.Echo) { e.Payload[3] ^= 1 }), lost + ", 2 strange, done", "1 no-reply; 2 no-reply"},
		{"less data", other(func(e *host.Echo) { e.Payload = e.Payload[1:] }), lost + ", 2 strange, done",
			"1 no-reply; 2 no-reply"},
		{"another source", other(func(e *host.Echo) { e.To = netip.MustParseAddr("10.0.0.6") }), lost + ", 2 strange, done",
			"1 no-reply; 2 no-reply"},
		{"twice", func(e host.Echo) []host.Message { return append((&bench{}).reply(e), (&bench{}).reply(e)...) },
			"2 sent, 2 received, 1 duplicates, done",
			"1 reply 10.0.0.5 1ms; 1 reply 10.0.0.5 1ms duplicate; 2 reply 10.0.0.5 1ms"},
		{"TTL exceeded", func(e host.Echo) []host.Message { return []host.Message{failure("10.1.1.1", 11, 0, &e)} },
			"2 sent, 2 errors, done",
			"1 ttl-exceeded 10.1.1.1 1ms Time to live exceeded; 2 ttl-exceeded 10.1.1.1 1ms Time to live exceeded"},
		{"too big", func(e host.Echo) []host.Message {
			m := failure("10.1.1.1", 3, 4, &e)
			m.Data[6], m.Data[7] = 5, 0
			return []host.Message{m}
		}, "2 sent, 2 errors, done", "1 too-big 10.1.1.1 1ms Frag needed and DF set (mtu = 1280); " +
			"2 too-big 10.1.1.1 1ms Frag needed and DF set (mtu = 1280)"},
		{"an error about another host", func(e host.Echo) []host.Message {
			e.To = netip.MustParseAddr("10.0.0.6")
			return []host.Message{failure("10.1.1.1", 3, 1, &e)}
		}, lost + ", 2 strange, done", "1 no-reply; 2 no-reply"},
		{"an error that quotes too little", func(e host.Echo) []host.Message {
			m := failure("10.1.1.1", 3, 1, &e)
			m.Data = m.Data[:8+20+7]
			return []host.Message{m}
		}, lost + ", done", "1 no-reply; 2 no-reply"},
		{"an error about another fragment", func(e host.Echo) []host.Message {
			m := failure("10.1.1.1", 3, 1, &e)
			m.Data[8+7] = 1
			return []host.Message{m}
		}, lost + ", done", "1 no-reply; 2 no-reply"},
		{"a reply and then an error", func(e host.Echo) []host.Message {
			return append((&bench{}).reply(e), failure("10.1.1.1", 3, 1, &e))
		}, "2 sent, 2 received, 1 strange, done",
			"1 reply 10.0.0.5 1ms; 2 reply 10.0.0.5 1ms"},
		{"no neighbour", func(e host.Echo) []host.Message {
			m := failure("10.0.0.1", 3, 1, &e)
			m.Cause = "neighbour 10.0.0.5 does not answer"
			return []host.Message{m}
		}, "2 sent, 2 errors, done",
			"1 no-neighbor 10.0.0.1 1ms neighbour 10.0.0.5 does not answer; 2 no-neighbor 10.0.0.1 1ms neighbour 10.0.0.5 " +
				"does not answer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.answer = tt.answer
			b.ask(schema.PingAsk, "a", `{"destination":"10.0.0.5","count":2}`)
			b.pass(10 * time.Second)
			a := b.read("a")
			b.want(a.describe(), tt.want)
			b.want(describeEvents(a.Events), tt.events)
			if a.RTT != nil && a.Received == 0 {
				t.Errorf("without a reply the round-trip times are %v", a.RTT)
			}
			if a.NoReply > 0 != slices.Contains(a.Notes, "a hint") {
				t.Errorf("notes %q", a.Notes)
			}
		})
	}
}

// A reply after the timeout is late, not lost, as long as the ping runs.
func TestLateReply(t *testing.T) {
	b := newBench(t)
	var held []host.Message
	b.answer = func(e host.Echo) []host.Message {
		if e.Sequence == 1 {
			held = b.reply(e)
			return nil
		}
		return b.reply(e)
	}
	b.ask(schema.PingAsk, "a", `{"destination":"10.0.0.5","count":3,"timeout":500}`)
	b.pass(1500 * time.Millisecond)
	b.want(b.read("a").describe(), "2 sent, 1 received, 1 no reply")
	b.deliver(held)
	b.pass(10 * time.Second)
	a := b.read("a")
	b.want(a.describe(), "3 sent, 3 received, done")
	b.want(describeEvents(a.Events), "1 no-reply; 2 reply 10.0.0.5 1ms; 1 reply 10.0.0.5 1.5s late; 3 reply 10.0.0.5 1ms")
}

// Frames that the CPU port has dropped during a ping may have been replies, and the answer has a note.
func TestDropsAreNoted(t *testing.T) {
	b := newBench(t)
	b.drops = 7
	b.answer = func(host.Echo) []host.Message { b.drops++; return nil }
	b.ask(schema.PingAsk, "a", `{"destination":"10.0.0.5","count":2}`)
	b.pass(10 * time.Second)
	b.want(strings.Join(b.read("a").Notes, "; "),
		"the CPU port dropped 2 frames meanwhile: replies may be among them; a hint")
}

// A request that the switch cannot send is an outcome with its cause, and the next one is tried.
func TestNotSent(t *testing.T) {
	b := newBench(t)
	b.full = errors.New("no route to 10.0.0.5")
	b.ask(schema.PingAsk, "a", `{"destination":"10.0.0.5","count":2}`)
	b.full = nil
	b.pass(10 * time.Second)
	a := b.read("a")
	b.want(a.describe(), "1 sent, 1 received, 1 not sent, done")
	b.want(describeEvents(a.Events), "1 not-sent no route to 10.0.0.5; 2 reply 10.0.0.5 1ms")
}

// A traceroute asks hop after hop, up to the destination.
func TestTraceroute(t *testing.T) {
	b := newBench(t)
	b.answer = func(e host.Echo) []host.Message {
		switch {
		case e.TTL == 2: // a router that sends no errors
			return nil
		case e.TTL >= 4:
			return b.reply(e)
		case e.TTL == 3 && e.Sequence%2 == 0:
			return []host.Message{failure("10.3.0.2", 11, 0, &e)} // another path
		}
		return []host.Message{failure(fmt.Sprintf("10.%d.0.1", e.TTL), 11, 0, &e)}
	}
	b.ask(schema.TracerouteAsk, "t", `{"destination":"10.0.0.5","probes":2}`)
	b.pass(time.Minute)
	a := b.read("t")
	var hops []string
	for _, h := range a.Hops {
		if !h.Complete {
			t.Errorf("hop %d is not complete", h.Hop)
		}
		hops = append(hops, fmt.Sprintf("hop %d: %s", h.Hop, describeEvents(h.Probes)))
	}
	got := strings.ReplaceAll(strings.Join(hops, "\n"), " Time to live exceeded", "")
	b.want(got, `hop 1: 1 ttl-exceeded 10.1.0.1 1ms; 2 ttl-exceeded 10.1.0.1 1ms
hop 2: 3 no-reply; 4 no-reply
hop 3: 5 ttl-exceeded 10.3.0.1 1ms; 6 ttl-exceeded 10.3.0.2 1ms
hop 4: 7 reply 10.0.0.5 1ms; 8 reply 10.0.0.5 1ms`)
	b.want(a.describe(), "8 sent, 2 received, 4 errors, 2 no reply, done")

	b.answer = func(e host.Echo) []host.Message { return []host.Message{failure("10.1.0.1", 3, 13, &e)} }
	b.ask(schema.TracerouteAsk, "u", `{"destination":"10.0.0.5","probes":1}`)
	b.pass(time.Second)
	b.want(describeEvents(b.read("u").Hops[0].Probes), "1 unreachable 10.1.0.1 1ms Packet filtered")

	b.answer = func(host.Echo) []host.Message { return nil }
	b.ask(schema.TracerouteAsk, "v", `{"destination":"10.0.0.5","max-hops":3}`)
	b.pass(time.Minute)
	if a := b.read("v"); !a.Done || len(a.Hops) != 3 || a.NoReply != 9 {
		t.Errorf("without any answer: %+v", a)
	}
}

// A client can end a ping. Requests without an outcome then are neither lost nor answered.
func TestCancel(t *testing.T) {
	b := newBench(t)
	b.answer = func(host.Echo) []host.Message { return nil }
	b.ask(schema.PingAsk, "a", `{"destination":"10.0.0.5","count":100}`)
	b.pass(2500 * time.Millisecond)
	b.ask(schema.PingCancel, "a", "")
	a := b.read("a")
	b.want(a.describe(), "3 sent, 1 no reply, 2 waiting, done")
	if !a.Stopped || b.hears || len(b.service.runs) != 0 {
		t.Errorf("stopped %v, listening %v, %d runs", a.Stopped, b.hears, len(b.service.runs))
	}
	b.ask(schema.PingCancel, "nothing", "")
}

// A bad request, and one too many, is refused with what would be right.
func TestRefusals(t *testing.T) {
	b := newBench(t)
	refused := func(op, name, input string) string {
		t.Helper()
		sub := b.redis.DB(swss.StateDB).Subscribe(t.Context(), schema.PacketTraceAnswers+name)
		defer sub.Close()
		if _, err := sub.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.ask(op, name, input)
		for {
			got, err := sub.Receive(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			m, ok := got.(*redis.Message)
			if !ok {
				continue
			}
			words, err := swss.DecodeFields(m.Payload)
			if err != nil || words[0].Field != schema.PacketTraceRefused {
				t.Fatalf("%q, %v", m.Payload, err)
			}
			return words[0].Value
		}
	}
	b.want(refused(schema.PingAsk, "a", `{"destination":"10.0.0"}`),
		`destination is "10.0.0", want an IPv4 or IPv6 address`)
	b.refuse = errors.New("no route to 192.0.2.1")
	b.want(refused(schema.TracerouteAsk, "a", `{"destination":"192.0.2.1"}`), "no route to 192.0.2.1")
	b.refuse = nil
	b.answer = func(host.Echo) []host.Message { return nil }
	for i := range maxRuns {
		b.ask(schema.PingAsk, fmt.Sprint("run", i), `{"destination":"10.0.0.5"}`)
	}
	b.want(refused(schema.PingAsk, "more", `{"destination":"10.0.0.5"}`),
		"16 pings and traceroutes run already: wait until one ends")
	b.want(refused(schema.PingAsk, "run3", `{"destination":"10.0.0.5"}`),
		`id is "run3": a ping or traceroute with this id runs already`)
	idents := map[uint16]bool{}
	for _, r := range b.service.runs {
		idents[r.ident] = true
	}
	if len(idents) != maxRuns {
		t.Errorf("%d runs have %d identifiers", maxRuns, len(idents))
	}
	b.ask("reboot", "x", "") // no such request, and none that a client can wait for
	b.ask(schema.PingAsk, "a|b", `{"destination":"10.0.0.5"}`)
	if len(b.service.runs) != maxRuns {
		t.Errorf("%d runs", len(b.service.runs))
	}
}

// An answer has the last events, whatever a host sends.
func TestEventsAreBounded(t *testing.T) {
	b := newBench(t)
	b.answer = func(e host.Echo) (all []host.Message) {
		for range 3 * maxEvents {
			all = append(all, b.reply(e)...)
		}
		return all
	}
	b.ask(schema.PingAsk, "a", `{"destination":"10.0.0.5","count":2}`)
	b.pass(100 * time.Millisecond)
	a := b.read("a")
	if len(a.Events) != maxEvents || a.EventsBefore != 2*maxEvents || a.Duplicates != 3*maxEvents-1 ||
		a.Events[0].Number != a.EventsBefore+1 {
		t.Errorf("%d events after %d, %d duplicates", len(a.Events), a.EventsBefore, a.Duplicates)
	}
}

// Whatever arrives, the counts of a run add up, and a request is answered only by its own data or by an error that
// quotes it.
func FuzzReceived(f *testing.F) {
	p, err := schema.ParsePing(schema.PingAsk, []byte(`{"destination":"10.0.0.5","count":3,"size":16}`))
	if err != nil {
		f.Fatal(err)
	}
	six, err := schema.ParsePing(schema.PingAsk, []byte(`{"destination":"2001:db8::5","count":3,"size":16}`))
	if err != nil {
		f.Fatal(err)
	}
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	newRuns := func() map[bool]*run {
		runs := map[bool]*run{
			true:  newRun(p, schema.PingAsk, "a", netip.MustParseAddr("10.0.0.1"), now),
			false: newRun(six, schema.PingAsk, "a", netip.MustParseAddr("2001:db8::1"), now),
		}
		for _, r := range runs {
			r.advance(now, func(host.Echo) error { return nil })
		}
		return runs
	}
	r := newRuns()[true]
	request := host.Echo{From: r.source, To: r.Destination, Ident: r.ident, Sequence: 1, Payload: r.data}
	f.Add(true, echo(typeReply4, &request))
	f.Add(true, failure("10.1.1.1", 11, 0, &request).Data)
	f.Add(false, echo(typeReply6, &request))
	quote := append([]byte{3, 0, 0, 0, 0, 0, 0, 0, 0x60, 0, 0, 0, 0, 32, 44, 1}, make([]byte, 32)...)
	f.Add(false, append(append(quote, protoICMPv6, 0, 0, 1, 0, 0, 0, 1), echo(typeRequest6, &request)...))
	f.Fuzz(func(t *testing.T, four bool, data []byte) {
		r := newRuns()[four]
		h, ok := parse(&host.Message{From: r.Destination, To: r.source, TTL: 9, Data: data})
		if !ok {
			return
		}
		r.receive(now.Add(time.Second), &h, 9)
		a := r.answer()
		if a.Sent != a.Received+a.Errors+a.NoReply+a.Waiting || a.Sent != 1 {
			t.Errorf("the counts do not add up: %s", a.describe())
		}
		if a.Received == 1 && string(h.data) != string(r.data) || a.Errors == 1 && h.quotedTo != r.Destination {
			t.Errorf("%x is taken for an answer", data)
		}
	})
}
