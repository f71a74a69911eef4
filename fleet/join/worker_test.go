package join

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tamtam/collector/result"
	"tamtam/fleet/event"
	"tamtam/fleet/stream"
)

// A worker joins the messages that arrive, and reports what it leaves out. Its store has the rows as soon as a window
// has closed.
func TestWorker(t *testing.T) {
	log, store := stream.NewMemory(0), result.NewMemory(0)
	w, err := event.NewWriter(result.Drops, "leaf1")
	if err != nil {
		t.Fatal(err)
	}
	drop := event.Drop{Switch: "leaf1", Port: "Ethernet4", Queue: -1, Reason: "NO_ROUTE", Packets: 3, Source: "ipfix"}
	for _, at := range []int64{5 * second, 6 * second} {
		if ok, err := w.AddDrop(at, &drop); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	messages := [][]byte{[]byte("nonsense"), slices.Clone(w.Finish(7 * second)), slices.Clone(w.Finish(20 * second))}
	for _, m := range messages {
		if _, err := log.Append(t.Context(), "drops-0", "", m); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var logged bytes.Buffer
	ended := make(chan error)
	worker := Worker{Log: log, Store: notify{store, cancel}, Logger: slog.New(slog.NewTextHandler(&logged, nil))}
	go func() { ended <- worker.Run(ctx, "drops-0") }()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(logged.String(), "partition drops-0, message 1: a batch of 8 bytes") {
		t.Errorf("told %q, want what is wrong with message 1", logged.String())
	}
	want := result.Drop{
		Window: result.Window{Start: 0, Length: 10 * second}, Switch: "leaf1", Port: "Ethernet4", Queue: -1,
		Reason: "NO_ROUTE", Packets: 6, First: 5 * second, Last: 6 * second, Source: "ipfix",
	}
	err = store.Each(t.Context(), 0, 100*second, func(b *result.Batch) bool {
		if len(b.Drops) != 1 || b.Drops[0] != want || b.Low != 4 || b.Closed != 20*second {
			t.Errorf("%+v", b)
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
}

// notify is a store that calls put after each batch.
type notify struct {
	result.Store
	put func()
}

func (n notify) Put(ctx context.Context, b *result.Batch) (bool, error) {
	defer n.put()
	return n.Store.Put(ctx, b)
}

// A silent source holds the windows of the others for a limited time, and their rows are flagged. Its later events have
// their own rows.
func TestSilent(t *testing.T) {
	now := time.Unix(0, 0)
	p := New("stamps-0", Options{Silence: time.Minute, Expect: []string{"leaf1", "leaf2"}}, result.Position{}, now)
	seq := uint64(0)
	add := func(w *event.Writer, at, watermark int64) {
		t.Helper()
		f := event.Frame{Time: at, Hops: []event.Hop{{Switch: 1, Arrival: at, Departure: at + 100}}}
		w.Stamped(&f)
		seq++
		if err := p.Consume(seq, w.Finish(watermark), now); err != nil {
			t.Fatal(err)
		}
	}
	leaf1, _ := event.NewWriter(result.Stamps, "leaf1")
	leaf2, _ := event.NewWriter(result.Stamps, "leaf2")
	add(leaf1, second, 30*second)
	now = now.Add(59 * time.Second)
	if b := p.Cut(now, false); b != nil {
		t.Fatalf("%+v: a window is closed without leaf2", b)
	}
	add(leaf1, 2*second, 40*second)
	now = now.Add(time.Second)
	b := p.Cut(now, false)
	if b == nil || len(b.Hops) != 1 || b.Hops[0].Packets != 2 || b.Hops[0].Flags != result.Silent {
		t.Fatalf("%+v: want two packets, and that a source was silent", b)
	}
	add(leaf2, 3*second, 40*second)
	b = p.Cut(now, false)
	if b == nil || len(b.Hops) != 1 || b.Hops[0].Packets != 1 || b.Hops[0].Flags != result.Late || b.Sources[1].Late != 1 {
		t.Fatalf("%+v: want one packet more, which is late", b)
	}
}

// away is a log that does not answer for a while, after its first two messages.
type away struct {
	stream.Log
	now   *time.Time
	until time.Time
}

func (a away) Read(ctx context.Context, topic string, from uint64, most int) ([]stream.Entry, error) {
	if from == 1 {
		return a.Log.Read(ctx, topic, from, 2)
	}
	if a.now.Before(a.until) {
		*a.now = a.now.Add(10 * time.Second)
		return nil, fmt.Errorf("%w: %w", context.DeadlineExceeded, stream.ErrAway)
	}
	return a.Log.Read(ctx, topic, from, most)
}

// While the log is away for longer than the allowed silence, no source counts as silent.
func TestAway(t *testing.T) {
	now := time.Unix(0, 0)
	log := stream.NewMemory(0)
	for _, name := range []string{"leaf1", "leaf2"} {
		w, err := event.NewWriter(result.Stamps, name)
		if err != nil {
			t.Fatal(err)
		}
		w.Stamped(&event.Frame{Time: second, Hops: make([]event.Hop, 1)})
		for _, m := range [][]byte{slices.Clone(w.Finish(5 * second)), slices.Clone(w.Finish(20 * second))} {
			if _, err := log.Append(t.Context(), "tailstamp-0", "", m); err != nil {
				t.Fatal(err)
			}
		}
	}
	store := result.NewMemory(0)
	ctx, cancel := context.WithCancel(t.Context())
	worker := Worker{Log: away{log, &now, now.Add(10 * time.Minute)}, Store: notify{store, cancel},
		Options: Options{Silence: time.Minute, Expect: []string{"leaf1", "leaf2"}}, Now: func() time.Time { return now }}
	if err := worker.Run(ctx, "tailstamp-0"); err != nil {
		t.Fatal(err)
	}
	rows := 0
	err := store.Each(t.Context(), 0, 100*second, func(b *result.Batch) bool {
		for _, h := range b.Hops {
			rows++
			if h.Flags != 0 || h.Packets != 2 {
				t.Errorf("%+v: want two packets, and no flag", h)
			}
		}
		return true
	})
	if err != nil || rows != 1 {
		t.Errorf("%d rows, %v: want one", rows, err)
	}
}

// awayStore is away until a time, and counts the calls.
type awayStore struct {
	result.Store
	until time.Time
	asked int
	put   func()
}

func (a *awayStore) Put(ctx context.Context, b *result.Batch) (bool, error) {
	a.asked++
	if a.until.After(time.Now()) {
		return false, fmt.Errorf("the store %w", result.ErrAway)
	}
	kept, err := a.Store.Put(ctx, b)
	if b.Last == 5 {
		a.put()
	}
	return kept, err
}

// smallBatches is a log that returns at most two messages at once, and records the last one that was read.
type smallBatches struct {
	stream.Log
	read atomic.Uint64
}

func (l *smallBatches) Read(ctx context.Context, topic string, from uint64, most int) ([]stream.Entry, error) {
	entries, err := l.Log.Read(ctx, topic, from, min(most, 2))
	if err == nil {
		l.read.Store(from + uint64(len(entries)) - 1)
	}
	return entries, err
}

// While the store is away, a worker reads nothing more and acknowledges nothing. When it is back, the rows equal those
// of a store that was always there. No source counts as silent, though the worker received nothing for longer than the
// allowed silence.
func TestStoreAway(t *testing.T) {
	rows := func(t *testing.T, away time.Duration) (hops []result.Hop, asked int) {
		synctest.Test(t, func(t *testing.T) {
			log := &smallBatches{Log: stream.NewMemory(0)}
			leaf1, _ := event.NewWriter(result.Stamps, "leaf1")
			leaf2, _ := event.NewWriter(result.Stamps, "leaf2")
			for _, m := range []struct {
				from          *event.Writer
				at, watermark int64
			}{{leaf1, 1, 20}, {leaf2, 2, 20}, {leaf1, 21, 30}, {leaf1, 31, 60}, {leaf2, 22, 60}} {
				m.from.Stamped(&event.Frame{Time: m.at * second, Hops: make([]event.Hop, 1)})
				data := slices.Clone(m.from.Finish(m.watermark * second))
				if _, err := log.Append(t.Context(), "tailstamp-0", "", data); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			store := &awayStore{Store: result.NewMemory(0), until: time.Now().Add(away), put: cancel}
			w := Worker{Log: log, Store: store, Options: Options{Silence: time.Minute, Expect: []string{"leaf1", "leaf2"}}}
			ended := make(chan error)
			go func() { ended <- w.Run(ctx, "tailstamp-0") }()
			if away > 0 {
				<-time.After(away / 2) // in the time of this test
				first, err := log.Log.Read(ctx, "tailstamp-0", 1, 1)
				if read := log.read.Load(); read != 2 || err != nil || len(first) != 1 {
					t.Errorf("while the store is away messages up to %d are read, want 2; and the first is there: %v", read, err)
				}
			}
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			asked = store.asked
			err := store.Each(t.Context(), 0, 100*second, func(b *result.Batch) bool {
				hops = append(hops, b.Hops...)
				return true
			})
			if err != nil {
				t.Fatal(err)
			}
		})
		return hops, asked
	}
	want, _ := rows(t, 0)
	got, asked := rows(t, 10*time.Minute)
	if diff := cmp.Diff(want, got); diff != "" || len(want) != 3 {
		t.Errorf("%d rows, and of a store that was away\n%s", len(want), diff)
	}
	if most := int(10*time.Minute/longestPause) + 10; asked < 10 || asked > most {
		t.Errorf("the store was asked %d times in ten minutes, want 10 to %d", asked, most)
	}
}

// A worker whose context ends stops though its store is away; its messages are still in the log.
func TestEndsWhileStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := stream.NewMemory(0)
		w, _ := event.NewWriter(result.Stamps, "leaf1")
		w.Stamped(&event.Frame{Time: second, Hops: make([]event.Hop, 1)})
		if _, err := log.Append(t.Context(), "tailstamp-0", "", w.Finish(event.Ended)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		store := &awayStore{Store: result.NewMemory(0), until: time.Now().Add(time.Hour)}
		if err := (&Worker{Log: log, Store: store}).Run(ctx, "tailstamp-0"); err != nil {
			t.Error(err)
		}
		if got, err := log.Read(t.Context(), "tailstamp-0", 1, 1); err != nil || len(got) != 1 || store.asked < 5 {
			t.Errorf("%d messages, %v, the store was asked %d times: want 1, and 5 or more", len(got), err, store.asked)
		}
	})
}

// The number of open rows is bounded, and the open rows are flagged if others were left out.
func TestOverflow(t *testing.T) {
	now := time.Unix(0, 0)
	p := New("stamps-0", Options{Rows: 10}, result.Position{}, now)
	w, _ := event.NewWriter(result.Stamps, "leaf1")
	for i := range uint16(20) {
		f := event.Frame{Flow: event.Flow{Form: event.IPv4, SourcePort: i}, Hops: make([]event.Hop, 3)}
		w.Stamped(&f)
	}
	if err := p.Consume(1, w.Finish(event.Ended), now); err != nil {
		t.Fatal(err)
	}
	b := p.Cut(now, false)
	if b == nil || len(b.Hops) != 9 {
		t.Fatalf("%+v: want three flows with three hops", b)
	}
	for _, h := range b.Hops {
		if h.Flags != result.Overflow {
			t.Errorf("%+v: want that it overflowed", h)
		}
	}
	if n := b.Sources[0].LeftOut; n != 17 {
		t.Errorf("%d frames are left out, want 17", n)
	}
}

// BenchmarkJoin joins stamps of 100,000 flows in windows of some 20 packets each, log and store in memory.
func BenchmarkJoin(b *testing.B) {
	const flows, hops = 100_000, 4
	w, _ := event.NewWriter(result.Stamps, "leaf1")
	log, store := stream.NewMemory(1<<30), result.NewMemory(1<<30)
	now := time.Unix(0, 0)
	p := New("stamps-0", Options{}, result.Position{}, now)
	f := event.Frame{Flow: event.Flow{Form: event.IPv4, Protocol: 17}, Hops: make([]event.Hop, hops)}
	stamps, at, flow := 0, int64(0), uint32(0)
	for b.Loop() {
		for {
			f.Time, flow = at, (flow+7919)%flows
			f.Flow.SourcePort, f.Flow.DestPort = uint16(flow), uint16(flow>>16)
			for i := range f.Hops {
				f.Hops[i] = event.Hop{Switch: uint32(i) + flow%16, In: 1, Out: 2, Arrival: at,
					Departure: at + 600 + int64(flow%500)}
			}
			if !w.Stamped(&f) {
				break
			}
			stamps += hops
			at += 5_000
		}
		seq, err := log.Append(b.Context(), "stamps-0", "", w.Finish(at))
		if err != nil {
			b.Fatal(err)
		}
		entries, err := log.Read(b.Context(), "stamps-0", seq, 1)
		if err != nil {
			b.Fatal(err)
		}
		if err := p.Consume(seq, entries[0].Data, now); err != nil {
			b.Fatal(err)
		}
		if batch := p.Cut(now, false); batch != nil {
			if _, err := store.Put(b.Context(), batch); err != nil {
				b.Fatal(err)
			}
			if err := log.Acknowledge(b.Context(), "stamps-0", batch.Low-1); err != nil {
				b.Fatal(err)
			}
			store = result.NewMemory(1 << 30)
			if _, err := store.Put(b.Context(), &result.Batch{Partition: "stamps-0", First: 1,
				Position: batch.Position}); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(stamps)/b.Elapsed().Seconds(), "stamps/s")
}
