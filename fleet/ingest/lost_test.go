package ingest

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tamtam/collector/capture"
	"tamtam/collector/result"
	"tamtam/fleet/dial"
	"tamtam/fleet/event"
	"tamtam/fleet/join"
	"tamtam/fleet/stream"
	"tamtam/tam/sflow"
)

func after(n float64) time.Time { return start.Add(time.Duration(n * float64(time.Second))) }

// An agentSaid is a datagram of an sFlow agent, with a notification.
type agentSaid struct {
	second           int
	from, agent      string
	number, uptime   uint32
	source, leftOuts uint32
}

func (x *agentSaid) give(t *testing.T, r *Reports) {
	t.Helper()
	d := sflow.Datagram{Sequence: x.number, Uptime: x.uptime, Samples: []sflow.Sample{
		&sflow.Discarded{Source: sflow.Source{Index: x.source}, Drops: x.leftOuts, Input: 3, Reason: sflow.ACL}}}
	if x.agent != "" {
		d.Agent = netip.MustParseAddr(x.agent)
	}
	if err := r.SFlow(t.Context(), netip.MustParseAddrPort(x.from), d.Append(nil), after(float64(x.second))); err != nil {
		t.Fatal(err)
	}
}

// everySecond calls give each second, and joins the events that the source sends meanwhile.
func everySecond(t *testing.T, kind result.Kind, begin func(*Sender), give func(second int)) (all result.Batch) {
	t.Helper()
	log, now := stream.NewMemory(0), start
	s, err := NewSender(log, kind, options("eth0", 1, &now))
	if err != nil {
		t.Fatal(err)
	}
	begin(s)
	for second := range 50 {
		give(second)
		now = after(float64(second) + 0.5)
		if err := s.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, b := range joined(t, log, kind, 1) {
		all.Drops, all.Hops = append(all.Drops, b.Drops...), append(all.Hops, b.Hops...)
	}
	return all
}

// If the numbers of a rarely sending agent show that a datagram is missing, it was sent after the agent's last one. All
// windows since then are flagged, though other agents continue and the watermark has advanced. The same holds if an
// agent reports that it left notifications out, if it restarts without its uptime, and if several agents have one
// address.
func TestLostSince(t *testing.T) {
	const host, agent = "192.0.2.1:5000", "192.0.2.1"
	for name, said := range map[string][]agentSaid{
		"a datagram": {{2, host, agent, 1, 100, 1, 0}, {34, host, agent, 3, 200, 1, 0}},
		"left out":   {{2, host, agent, 1, 100, 1, 0}, {34, host, agent, 2, 200, 1, 7}},
		"left out by a source that was not heard": {
			{2, host, agent, 1, 100, 1, 0}, {34, host, agent, 2, 200, 2, 7}},
		"began anew, with the uptime of the device": {
			{1, host, agent, 500, 100_000, 1, 0}, {2, host, agent, 1, 100_100, 1, 0}, {34, host, agent, 3, 100_200, 1, 0}},
		"of two with one address": {{1, host, agent, 500, 100_000, 1, 0}, {2, "192.0.2.3:5000", agent, 5, 100_000, 1, 0},
			{34, "192.0.2.3:5000", agent, 7, 100_200, 1, 0}, {35, host, agent, 501, 100_200, 1, 0}},
		"of two without an address": {{1, host, "", 500, 100_000, 1, 0}, {2, "192.0.2.3:5000", "", 5, 100_000, 1, 0},
			{34, "192.0.2.3:5000", "", 7, 100_200, 1, 0}, {35, host, "", 501, 100_200, 1, 0}},
	} {
		var r *Reports
		rows := everySecond(t, result.Drops, func(s *Sender) { r = NewReports(s, nil) }, func(second int) {
			other := agentSaid{second, "192.0.2.2:5000", "192.0.2.2", uint32(second), 1000 * uint32(second), 1, 0}
			other.give(t, r)
			for i := range said {
				if said[i].second == second {
					said[i].give(t, r)
				}
			}
		}).Drops
		flags := map[int64]result.Flags{}
		for _, row := range rows {
			flags[(row.Window.Start-start.UnixNano())/row.Window.Length] |= row.Flags
			if strings.Contains(row.Switch, "invalid") {
				t.Errorf("%s: %+v: want the address that it came from", name, row)
			}
		}
		for window := range int64(5) {
			if got, want := flags[window], result.Gap*result.Flags(min(1, max(0, 4-window))); got != want {
				t.Errorf("%s: window %d has the flags %d, want %d", name, window, got, want)
			}
		}
	}
}

// The same holds for ERSPAN copies, also of a session that restarted.
func TestCopiesLostSince(t *testing.T) {
	for _, numbers := range [][2]uint32{{1, 3}, {5000, 100}} {
		var tap Tap
		give := func(session uint16, number uint32, second int) {
			f := ipOf(47, inERSPAN(session, number, stamped(false)))
			if err := tap.Frame(t.Context(), f, len(f), after(float64(second))); err != nil {
				t.Fatal(err)
			}
		}
		for _, h := range everySecond(t, result.Stamps, func(s *Sender) { tap.Stamps = s }, func(second int) {
			give(6, uint32(second), second)
			if i := slices.Index([]int{2, 34}, second); i >= 0 {
				give(5, numbers[i], second)
			}
		}).Hops {
			if window := (h.Window.Start - start.UnixNano()) / h.Window.Length; (h.Flags&result.Gap != 0) != (window < 4) {
				t.Errorf("%v: window %d has the flags %d, want a gap up to the fourth", numbers, window, h.Flags)
			}
		}
	}
}

// Numbers of a restarted IPFIX exporter count as late until the restart is certain; losses meanwhile flag its windows.
func TestIPFIXAnew(t *testing.T) {
	c := &clocked{at: exporterAt}
	x := &clocksTest{window: time.Second, exporters: []*clocked{c}}
	for second := range 60 {
		if second%30 == 0 {
			c.exports(t, 1)
		}
		at := after(float64(second) + 1)
		x.observe(t, 0, at)
		if c.encoder.Flush(); second != 33 {
			x.messages = append(x.messages, clockedMessage{at.Add(time.Second / 10), c.at, c.out})
		}
	}
	rows := rowsByFlow(x.hear(t), x.window)
	for second, want := range map[float64]bool{20: false, 34: true, 55: false} {
		if got := rows.incomplete(rows.start(after(second))); got != want {
			t.Errorf("the window of second %v has a flag: %v, want %v", second, got, want)
		}
	}
}

// A clock that is far behind does not hold the windows of others: its reports get their arrival time, with a flag.
func TestClockBehind(t *testing.T) {
	log, now := stream.NewMemory(0), start.Add(2*wrongClock)
	o := options("ipfix", 1, &now)
	o.Live = true
	s, err := NewSender(log, result.Drops, o)
	if err != nil {
		t.Fatal(err)
	}
	r := NewReports(s, nil)
	if err := r.IPFIX(t.Context(), exporterAt, drops(t, 1)[0], now); err != nil {
		t.Fatal(err)
	}
	if got := s.watermark(); got != now.Add(-DefaultDisorder).UnixNano() {
		t.Errorf("it promises %v, want a second before %v", time.Unix(0, got), now)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, b := range joined(t, log, result.Drops, 1) {
		for _, d := range b.Drops {
			if d.First != now.UnixNano() || d.Flags&result.Unsynchronised == 0 {
				t.Errorf("%+v: want the drop when it was told, unsynchronised", d)
			}
		}
	}
}

// A switch that reports an epoch of years holds no windows.
func TestLongEpoch(t *testing.T) {
	log, now := stream.NewMemory(0), start
	s, err := NewSender(log, result.Sketches, options("leaf1", 1, &now))
	if err != nil {
		t.Fatal(err)
	}
	r := &sketchingReader{reported: map[answerKey]int64{}, Sketching: &Sketching{Switch: "leaf1", To: s}}
	for _, began := range []int64{0, start.UnixNano() + 1} {
		if err := r.answer(t.Context(), dial.Answer{Task: "heavy", Start: began, End: start.UnixNano()}); err != nil {
			t.Fatal(err)
		}
	}
	if s.disorder() != DefaultDisorder || s.Stats().Events != 0 || s.Stats().Lost != 2 {
		t.Errorf("%+v, disorder %v: want two answers lost", s.Stats(), s.disorder())
	}
}

// An invalid event is missing in its window.
func TestRefused(t *testing.T) {
	log, now := stream.NewMemory(0), start
	s, err := NewSender(log, result.Stamps, options("eth0", 1, &now))
	if err != nil {
		t.Fatal(err)
	}
	for _, hops := range []int{1, event.MaxHops, event.MaxHops + 1} {
		f := event.Frame{Time: start.UnixNano(), Hops: make([]event.Hop, hops)}
		if err := s.Frame(t.Context(), &f); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, b := range joined(t, log, result.Stamps, 1) {
		if len(b.Hops) != 1+event.MaxHops || b.Hops[0].Flags&result.Gap == 0 {
			t.Errorf("%d rows, the first %+v: want those of two frames, with a gap", len(b.Hops), b.Hops[0])
		}
	}
}

// blocked is a log in which a topic is full for a while.
type blocked struct {
	*stream.Memory
	topic    string
	from, to time.Time
}

func (b *blocked) Append(ctx context.Context, topic, id string, data []byte) (uint64, error) {
	if now := time.Now(); topic == b.topic && now.After(b.from) && now.Before(b.to) {
		<-time.After(b.to.Sub(now))
	}
	return b.Memory.Append(ctx, topic, id, data)
}

// losing is an interface that returns no frames, and whose kernel loses one at some time.
type losing struct{ at time.Time }

func (*losing) Next(ctx context.Context) (capture.Packet, error) {
	<-ctx.Done()
	return capture.Packet{}, ctx.Err()
}

func (l *losing) Lost() (uint64, error) {
	if l.at.IsZero() || time.Now().Before(l.at) {
		return 0, nil
	}
	l.at = time.Time{}
	return 1, nil
}

// A source that waits for the log in one partition does not advance the watermark of another past the last check of
// kernel losses: the windows of that time are flagged.
func TestLostWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		log := &blocked{stream.NewMemory(0), result.Records.Partition(0), began.Add(5 * time.Second),
			began.Add(30 * time.Second)}
		var senders []*Sender
		for _, kind := range []result.Kind{result.Records, result.Drops} {
			s, err := NewSender(log, kind, Options{Source: "eth0", Live: true, Stamped: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Begin(t.Context(), began); err != nil {
				t.Fatal(err)
			}
			senders = append(senders, s)
		}
		tap := &Tap{Records: NewRecords(senders[0]), Reports: NewReports(senders[1], nil)}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := Watch(ctx, &losing{began.Add(10 * time.Second)}, tap); err != nil {
			t.Fatal(err)
		}
		if err := senders[1].Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		p := join.New("drop-0", join.Options{Window: time.Second}, result.Position{}, began)
		entries, err := log.Read(t.Context(), result.Drops.Partition(0), 1, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if err := p.Consume(e.Seq, e.Data, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		lost := began.Add(10 * time.Second).UnixNano()
		if b := p.Cut(time.Now(), true); !slices.ContainsFunc(append(b.Gaps, b.Amends...), func(a result.Amend) bool {
			return a.From <= lost && a.To >= lost
		}) {
			t.Errorf("gaps %+v, amended %+v: want the time of second 10 among them", b.Gaps, b.Amends)
		}
	})
}
