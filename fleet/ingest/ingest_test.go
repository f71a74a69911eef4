package ingest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tamtam/collector/capture"
	"tamtam/collector/result"
	"tamtam/fleet/event"
	"tamtam/fleet/join"
	"tamtam/fleet/stream"
	"tamtam/internal/randtest"
	"tamtam/saisim/drop"
	"tamtam/saisim/tailstamp"
	"tamtam/tam/dropreport"
	"tamtam/tam/ipfix"
	"tamtam/tam/sflow"
)

var start = time.Unix(1_700_000_000, 0)

// flaky is a log that fails at random, before or after a message is kept.
type flaky struct {
	*stream.Memory
	r *rand.Rand
}

func (f *flaky) Append(ctx context.Context, topic, id string, data []byte) (uint64, error) {
	if f.r.IntN(3) == 0 {
		return 0, errors.New("the log is away")
	}
	seq, err := f.Memory.Append(ctx, topic, id, data)
	if f.r.IntN(3) == 0 {
		return 0, errors.New("the answer is lost")
	}
	return seq, err
}

// away is a log that does not answer.
type away struct{ stream.Memory }

func (*away) Append(ctx context.Context, _, _ string, _ []byte) (uint64, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

// feed feeds a partition with a limited number of messages of a log, at a time, and reports whether there were any.
func feed(t *testing.T, log *stream.Memory, topic string, p *join.Partition, most int, now time.Time) bool {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // reads only what is available, without waiting
	entries, err := log.Read(ctx, topic, p.Next(), most)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if err := p.Consume(e.Seq, e.Data, now); err != nil {
			t.Fatal(err)
		}
	}
	return true
}

// joined joins all messages of a kind in a log, and returns the batches.
func joined(t *testing.T, log *stream.Memory, kind result.Kind, partitions int) (all []*result.Batch) {
	t.Helper()
	for i := range partitions {
		p := join.New(kind.Partition(i), join.Options{}, result.Position{}, start)
		for feed(t, log, kind.Partition(i), p, 10, start) {
		}
		if b := p.Cut(start, true); b != nil {
			all = append(all, b)
		}
	}
	return all
}

func options(source string, partitions int, now *time.Time) Options {
	return Options{Source: source, Partitions: partitions, Retry: 1, Now: func() time.Time { return *now }}
}

// If a sender leaves while its source continues, the window of that time is incomplete and flagged. The windows before
// it are complete, and so are all windows of a source that is closed at its end.
func TestEnd(t *testing.T) {
	for _, leaves := range []bool{true, false} {
		log, now := stream.NewMemory(0), start
		o := options("leaf", 1, &now)
		s, err := NewSender(log, result.Drops, o)
		if err != nil {
			t.Fatal(err)
		}
		for range 25 {
			d := event.Drop{Switch: "leaf", Queue: -1, Packets: 1, Reason: "acl", Source: "ipfix"}
			if err := errors.Join(s.Drop(t.Context(), now.UnixNano(), &d), s.Step(t.Context())); err != nil {
				t.Fatal(err)
			}
			now = now.Add(time.Second)
		}
		end := (*Sender).Close
		if leaves {
			end = (*Sender).Leave
		}
		if err := end(s, t.Context()); err != nil {
			t.Fatal(err)
		}
		var got []result.Flags
		for _, b := range joined(t, log, result.Drops, 1) {
			for _, d := range b.Drops {
				got = append(got, d.Flags)
			}
		}
		want := []result.Flags{0, 0, 0}
		if leaves {
			want[2] = result.Gap
		}
		if !slices.Equal(got, want) {
			t.Errorf("leaves %v: flags of the windows %v, want %v", leaves, got, want)
		}
	}
}

// The time that a source waits for the log is counted while the source still waits.
func TestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := NewSender(&away{}, result.Drops, Options{Source: "leaf"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		ended := make(chan error)
		go func() { ended <- s.Announce(ctx) }()
		<-time.After(time.Minute)
		if got := s.Stats().Waited; got != time.Minute {
			t.Errorf("waited %v after %v", got, time.Minute)
		}
		cancel()
		<-ended
	})
}

// Events of several sources over a failing log are joined once, completely and without a flag. A flow on a path is in
// one partition.
func TestSender(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 40, Short: 10}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 3))
		log := &flaky{stream.NewMemory(0), r}
		partitions, now := 1+r.IntN(4), start
		var senders []*Sender
		for i := range 1 + r.IntN(3) {
			s, err := NewSender(log, result.Stamps, options(fmt.Sprint("leaf", i), partitions, &now))
			if err != nil {
				t.Fatal(err)
			}
			senders = append(senders, s)
		}
		want := map[string]int64{}
		for range r.IntN(400) {
			now = now.Add(time.Duration(r.IntN(100)) * time.Millisecond)
			s := senders[r.IntN(len(senders))]
			f := event.Frame{Time: now.UnixNano() - r.Int64N(int64(DefaultDisorder)), Hops: make([]event.Hop, 1+r.IntN(3))}
			f.Flow = event.Flow{Form: event.IPv4, Protocol: 17, SourcePort: uint16(r.IntN(9)), DestPort: 80}
			for i := range f.Hops {
				// no path is the beginning of another
				f.Hops[i] = event.Hop{Switch: uint32(r.IntN(3)), In: uint16(len(f.Hops)),
					Flags: event.NoArrival | event.NoDeparture}
			}
			want[f.Flow.String()]++
			if err := errors.Join(s.Frame(t.Context(), &f), s.Step(t.Context())); err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range senders {
			if err := s.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		of := map[string]string{}
		for _, b := range joined(t, log.Memory, result.Stamps, partitions) {
			for _, h := range b.Hops {
				if h.Index == 0 {
					want[h.Flow] -= h.Packets
				}
				if before := of[h.Flow+h.Path]; h.Flags != 0 || before != "" && before != b.Partition {
					t.Errorf("%+v: want no flags, and partition %s", h, before)
				}
				of[h.Flow+h.Path] = b.Partition
			}
		}
		for flow, n := range want {
			if n != 0 {
				t.Errorf("%s: %d packets are missing", flow, n)
			}
		}
	})
}

// Answers of sketches that are sent over a failing log arrive once, each unchanged.
func TestSketches(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 4, Short: 2}, func(t *testing.T, seed uint64) {
		now := start
		log := &flaky{stream.NewMemory(0), rand.New(rand.NewPCG(seed, 4))}
		s, err := NewSender(log, result.Sketches, options("leaf1", 3, &now))
		if err != nil {
			t.Fatal(err)
		}
		low := 2.0
		for i := range 100 {
			x := event.Sketch{Switch: "leaf1", Task: "cms", Key: fmt.Sprint(i), Estimate: float64(i), Low: &low}
			if err := s.Sketch(t.Context(), now.UnixNano()+int64(i), &x); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(s.Sketch(t.Context(), 1, &event.Sketch{}), s.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, b := range joined(t, log.Memory, result.Sketches, 3) {
			for _, x := range b.Sketches {
				if seen[x.Key] || fmt.Sprint(x.Estimate) != x.Key || !x.Bounded || x.Low != 2 {
					t.Errorf("%+v: want it once, and at least 2", x)
				}
				seen[x.Key] = true
			}
		}
		if len(seen) != 100 || s.Stats().Refused != 1 {
			t.Errorf("%d answers, %+v: want 100, and one refused", len(seen), s.Stats())
		}
	})
}

// A live source advances its watermark while nothing comes, by the time that passes since the last event. Before the
// first event it has no watermark.
func TestQuiet(t *testing.T) {
	log, now := stream.NewMemory(0), start
	o := options("leaf1", 1, &now)
	o.Live = true
	s, err := NewSender(log, result.Stamps, o)
	if err != nil {
		t.Fatal(err)
	}
	step := func(after time.Duration) {
		now = now.Add(after)
		if err := s.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	step(time.Hour)
	f := event.Frame{Time: 100 * int64(time.Second), Hops: make([]event.Hop, 1)} // the switch has another clock
	if err := s.Frame(t.Context(), &f); err != nil {
		t.Fatal(err)
	}
	step(DefaultEvery)
	step(beat / 2)
	step(beat)
	entries, err := log.Read(t.Context(), result.Stamps.Partition(0), 1, 10)
	if err != nil || len(entries) != 2 {
		t.Fatalf("%d messages, %v: want the frame, and a promise later", len(entries), err)
	}
	for i, want := range []time.Duration{99*time.Second + DefaultEvery, 99*time.Second + DefaultEvery + 3*beat/2} {
		var r event.Reader
		if err := r.Open(entries[i].Data); err != nil || r.Watermark != int64(want) {
			t.Errorf("message %d promises %v, %v: want %v", i, time.Duration(r.Watermark), err, want)
		}
	}
}

// A full log makes a source wait until its context ends.
func TestNoRoom(t *testing.T) {
	log, now := stream.NewMemory(200), start
	close := func(ctx context.Context, source string) error {
		s, err := NewSender(log, result.Stamps, options(source, 1, &now))
		if err != nil {
			t.Fatal(err)
		}
		return s.Close(ctx)
	}
	if err := close(t.Context(), "leaf1"); err != nil { // its message fills the log
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := close(ctx, "leaf2"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v: want that the context ended", err)
	}
}

// drops returns IPFIX messages with a report of a drop in each.
func drops(t *testing.T, n int) (messages [][]byte) {
	kind := ipfix.Kind{Name: "drop"}
	for _, e := range append(dropreport.Always(), append(dropreport.In.Fields(), dropreport.IPv4.Fields()...)...) {
		kind.Fields = append(kind.Fields, ipfix.Field{Element: e})
	}
	e, err := ipfix.NewEncoder(
		ipfix.Config{Kinds: []*ipfix.Kind{&kind}, Size: 1400, Domain: 1, Refresh: time.Minute, RefreshMessages: 1000},
		func(m ipfix.Message) { messages = append(messages, slices.Clone(m.Bytes)) })
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		r := kind.NewRecord()
		ntp, _ := ipfix.NTP(uint64(start.Unix())+uint64(i), 0)
		for j, v := range []uint64{ntp, 2, 0, 1, uint64(drop.NoRoute), 1, 0, 5, 17} {
			r.Set(j, ipfix.Uint(v))
		}
		r.Set(9, ipfix.Addr(netip.MustParseAddr("10.0.0.1")))
		r.Set(10, ipfix.Addr(netip.MustParseAddr("10.0.0.2")))
		if err := e.Add(start.Add(time.Duration(i)*time.Second), 0, r); err != nil {
			t.Fatal(err)
		}
		e.Flush()
	}
	return messages
}

// reported joins the events of a reader of reports.
func reported(t *testing.T, give func(*Reports)) (rows []result.Drop, stats Stats, counts ReportCounts) {
	t.Helper()
	log, now := stream.NewMemory(0), start
	s, err := NewSender(log, result.Drops, options("reports", 1, &now))
	if err != nil {
		t.Fatal(err)
	}
	r := NewReports(s, map[netip.Addr]string{exporterAt.Addr(): "leaf1"})
	give(r)
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, b := range joined(t, log, result.Drops, 1) {
		rows = append(rows, b.Drops...)
	}
	return rows, s.Stats(), r.Counts()
}

var exporterAt = netip.MustParseAddrPort("192.0.2.1:5000")

// Reports of drops in IPFIX become rows. Gaps in the sequence numbers are lost messages, and flag the rows.
func TestIPFIX(t *testing.T) {
	for _, lost := range []int{-1, 3} {
		rows, stats, counts := reported(t, func(r *Reports) {
			for i, m := range drops(t, 6) {
				if i == lost {
					continue
				}
				if err := r.IPFIX(t.Context(), exporterAt, m, start.Add(time.Minute)); err != nil {
					t.Fatal(err)
				}
			}
		})
		want := result.Drop{Window: result.Window{Start: start.UnixNano(), Length: int64(join.DefaultWindow)},
			Switch: "leaf1", Port: "Ethernet4", Queue: result.NoQueue, Reason: "no-route", Flow: "UDP 10.0.0.1:0 > 10.0.0.2:0",
			Packets: 12,
			First:   start.UnixNano(), Last: start.Add(5 * time.Second).UnixNano(), Source: "ipfix"}
		if lost >= 0 {
			want.Packets, want.Flags = 10, result.Gap
		}
		if len(rows) == 1 {
			want.Flow = rows[0].Flow // as printed by collector.Flow
		}
		if len(rows) != 1 || rows[0] != want || stats.Lost != int64(min(lost+1, 1)) || counts.Bad != 0 {
			t.Errorf("without message %d: %+v, %+v, %+v; want %+v", lost, rows, stats, counts, want)
		}
	}
}

// Notifications of drops in sFlow become rows. Missing datagrams, and notifications that the agent left out, are lost.
// A late datagram and a restarted agent are not.
func TestSFlow(t *testing.T) {
	datagram := func(number, uptime, unsent uint32) []byte {
		d := sflow.Datagram{Agent: exporterAt.Addr(), Sequence: number, Uptime: uptime, Samples: []sflow.Sample{
			&sflow.Discarded{Sequence: number, Source: sflow.Source{Index: 3}, Drops: unsent, Input: 3, Reason: sflow.ACL}}}
		return d.Append(nil)
	}
	rows, stats, counts := reported(t, func(r *Reports) {
		for _, d := range [][]byte{
			datagram(7, 100, 0), datagram(10, 200, 0), datagram(9, 150, 0), datagram(11, 300, 4), datagram(1, 5, 0), {1, 2},
		} {
			if err := r.SFlow(t.Context(), exporterAt, d, start); err != nil {
				t.Fatal(err)
			}
		}
	})
	if len(rows) != 1 || rows[0].Packets != 5 || rows[0].Switch != "leaf1" || rows[0].Reason != "acl" ||
		rows[0].Flags != result.Gap || stats.Lost != 2+4+1 || counts.Bad != 1 {
		t.Errorf("%+v, %+v, %+v: want 5 packets of one row, 7 lost", rows, stats, counts)
	}
}

// If an sFlow datagram is damaged, the intact notifications count, and the others are lost.
func TestSFlowDamaged(t *testing.T) {
	d := sflow.Datagram{Agent: exporterAt.Addr(), Sequence: 1, Uptime: 5}
	for n := range uint32(4) {
		d.Samples = append(d.Samples, &sflow.Discarded{Sequence: n, Source: sflow.Source{Index: 3}, Input: 3,
			Reason: sflow.ACL})
	}
	whole := d.Append(nil)
	rows, stats, counts := reported(t, func(r *Reports) {
		for _, b := range [][]byte{whole[:len(whole)-41], append(bytes.Clone(whole), 1)} {
			if err := r.SFlow(t.Context(), exporterAt, b, start); err != nil {
				t.Fatal(err)
			}
		}
	})
	if len(rows) != 1 || rows[0].Packets != 2+4 || rows[0].Flags&result.Gap == 0 || stats.Lost != 2+1 || counts.Bad != 2 ||
		counts.Undecoded != 2 {
		t.Errorf("%+v, %+v, %+v: want 6 packets of one row with a gap, 3 lost", rows, stats, counts)
	}
}

// stamped returns a frame with a stamp, as ERSPAN of type I if it is mirrored.
func stamped(mirrored bool) []byte {
	frame := make([]byte, 12, 200)
	ip := func(protocol byte, payload int) {
		b := make([]byte, 22)
		b[0], b[2], b[10], b[11] = 8, 0x45, 64, protocol
		binary.BigEndian.PutUint16(b[4:], uint16(20+payload))
		frame = append(frame, b...)
	}
	const inner = 14 + 20 + 8 + tailstamp.Size
	if mirrored {
		ip(47, 4+inner)
		frame = append(frame, 0, 0, 0x88, 0xbe)
		frame = append(frame, make([]byte, 12)...)
	}
	ip(17, 8)
	frame = append(frame, 0, 1, 0, 2, 0, 8, 0, 0)
	at := tailstamp.Timestamp{Seconds: 1_700_000_000, Nanoseconds: 5}
	return tailstamp.V1{}.Append(frame, tailstamp.Record{SwitchID: 9, InPort: 1, OutPort: 2, Ingress: at, Egress: at})
}

// A tap finds stamps in frames and in copies of them, and reports a loss for a truncated frame.
func TestTap(t *testing.T) {
	for _, cut := range []bool{false, true} {
		log, now := stream.NewMemory(0), start
		s, err := NewSender(log, result.Stamps, options("eth0", 1, &now))
		if err != nil {
			t.Fatal(err)
		}
		tap := Tap{Stamps: s}
		for _, f := range [][]byte{stamped(false), stamped(true), make([]byte, 60)} {
			if err := tap.Frame(t.Context(), f, len(f), start); err != nil {
				t.Fatal(err)
			}
		}
		if f := stamped(false); cut {
			if err := tap.Frame(t.Context(), f[:50], len(f), start); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		batches := joined(t, log, result.Stamps, 1)
		if len(batches) != 1 || len(batches[0].Hops) != 1 {
			t.Fatalf("%+v: want one row", batches)
		}
		h := batches[0].Hops[0]
		want := result.Twice // one is a copy of the other
		if cut {
			want |= result.Gap
		}
		if h.Packets != 2 || h.Switch != 9 || h.Resident.Count != 2 || h.Flags != want {
			t.Errorf("cut %v: %+v: want 2 packets at switch 9, and flags %d", cut, h, want)
		}
	}
}

// A report in a cut frame is lost: without a flag it would seem that nothing was dropped.
func TestCutReports(t *testing.T) {
	for _, x := range []struct {
		port uint16
		left int // bytes of the frame that the capture has
		lost int64
	}{{4739, 60, 1}, {6343, 60, 1}, {53, 60, 0}, {53, 34, 1}, {53, 20, 1}} {
		log, now := stream.NewMemory(0), start
		s, err := NewSender(log, result.Drops, options("eth0", 1, &now))
		if err != nil {
			t.Fatal(err)
		}
		tap := Tap{Reports: NewReports(s, nil), IPFIX: 4739, SFlow: 6343}
		f := ipOf(17, inUDP(x.port, make([]byte, 80)))
		if err := tap.Frame(t.Context(), f[:x.left], len(f), start); err != nil {
			t.Fatal(err)
		}
		if got := s.Stats().Lost; got != x.lost {
			t.Errorf("port %d, %d bytes: %d lost, want %d", x.port, x.left, got, x.lost)
		}
	}
}

// A queue whose number no row can hold is unknown.
func TestDiscardedQueue(t *testing.T) {
	for number, want := range map[uint32]int{3: 3, math.MaxInt32: math.MaxInt32, math.MaxUint32 - 1: result.UnknownQueue} {
		d := discarded(&sflow.Discarded{Packet: sflow.Packet{Queue: &sflow.Queue{Number: number}}})
		if d.Queue != want {
			t.Errorf("queue %d: %d, want %d", number, d.Queue, want)
		}
	}
}

// A record that is found by search, since an undeclared FCS follows it, flags the rows that it is joined to.
func TestTapSearches(t *testing.T) {
	log, now := stream.NewMemory(0), start
	s, err := NewSender(log, result.Stamps, options("eth0", 1, &now))
	if err != nil {
		t.Fatal(err)
	}
	tap := Tap{Stamps: s}
	f := append(stamped(false), 1, 2, 3, 4)
	if err := errors.Join(tap.Frame(t.Context(), f, len(f), start), s.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	batches := joined(t, log, result.Stamps, 1)
	if len(batches) != 1 || len(batches[0].Hops) != 1 || batches[0].Hops[0].Flags != result.Searched {
		t.Errorf("%+v: want one row with flag %d", batches, result.Searched)
	}
	if c := tap.Counts(); c.Skipped != 4 || c.Searched != 1 {
		t.Errorf("%+v: want 4 bytes skipped, 1 record found by search", c)
	}
}

// Whatever arrives as a datagram or a frame, the resulting events can be read.
func FuzzTap(f *testing.F) {
	f.Add(stamped(true))
	f.Add(ipOf(17, inUDP(9070, copyOf(1, 80))))
	f.Add(ipOf(47, inERSPAN(5, 100, copyOf(1, 80))))
	f.Fuzz(func(t *testing.T, data []byte) {
		log, now := stream.NewMemory(0), start
		s, err := NewSender(log, result.Drops, options("reports", 1, &now))
		if err != nil {
			t.Fatal(err)
		}
		stamps, err := NewSender(log, result.Stamps, options("eth0", 1, &now))
		if err != nil {
			t.Fatal(err)
		}
		r := NewReports(s, nil)
		copies, err := NewSender(log, result.Records, options("eth0", 1, &now))
		if err != nil {
			t.Fatal(err)
		}
		tap := Tap{Stamps: stamps, Records: NewRecords(copies), Reports: r, IPFIX: 4739, SFlow: 6343}
		if err := errors.Join(r.IPFIX(t.Context(), exporterAt, data, start), r.SFlow(t.Context(), exporterAt, data, start),
			tap.Frame(t.Context(), data, len(data), start), tap.Records.UDP(t.Context(), exporterAt, data, start),
			s.Close(t.Context()), stamps.Close(t.Context()),
			copies.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
		joined(t, log, result.Drops, 1)
		joined(t, log, result.Stamps, 1)
		if counts, stats := tap.Records.Counts(),
			copies.Stats(); stats.Refused > 0 || stats.Events != counts.Copies-counts.Short {
			t.Errorf("%+v, %+v: want each copy told or counted", counts, stats)
		}
	})
}

// quiet is an interface that returns one frame and then none. The kernel has lost some frames by the second call of
// Lost.
type quiet struct {
	frame []byte
	asked atomic.Int64
	given bool
}

func (q *quiet) Next(ctx context.Context) (capture.Packet, error) {
	if !q.given {
		q.given = true
		return capture.Packet{Data: q.frame, Len: len(q.frame), Time: time.Unix(1000, 0)}, nil
	}
	<-ctx.Done()
	return capture.Packet{}, ctx.Err()
}

func (q *quiet) Lost() (uint64, error) {
	if q.asked.Add(1) == 2 {
		return 3, nil
	}
	return 0, nil
}

// Losses in the kernel are reported though no frame comes any more, before the source's watermark passes them.
func TestLostAtTheEnd(t *testing.T) {
	log := stream.NewMemory(0)
	s, err := NewSender(log, result.Stamps, Options{Source: "eth1", Live: true, Every: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- Watch(ctx, &quiet{frame: stamped(false)}, &Tap{Stamps: s}) }()
	var r event.Reader
	number := uint64(0)
	for seq := uint64(1); ; seq++ {
		entries, err := log.Read(t.Context(), result.Stamps.Partition(0), seq, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Open(entries[0].Data); err != nil {
			t.Fatal(err)
		}
		if r.Number > number+1 {
			break
		}
		number = r.Number
	}
	cancel()
	if err := <-ended; err != nil || s.Stats().Lost != 3 {
		t.Errorf("%v, %d lost: want 3", err, s.Stats().Lost)
	}
}
