package ingest

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"tamtam/collector/capture"
	"tamtam/collector/result"
	"tamtam/fleet/event"
	"tamtam/fleet/stream"
	"tamtam/internal/randtest"
)

// ending is a log whose calls cancel a context at random, before or after the message is kept.
type ending struct {
	*stream.Memory
	r    *rand.Rand
	end  context.CancelFunc
	odds int // one call in odds cancels; 0 means none
}

func (l *ending) Append(ctx context.Context, topic, id string, data []byte) (uint64, error) {
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	ends := l.odds > 0 && l.r.IntN(l.odds) == 0
	if ends && l.r.IntN(2) == 0 {
		l.end()
		return 0, ctx.Err()
	}
	seq, err := l.Memory.Append(ctx, topic, id, data)
	if ends {
		l.end()
		return 0, ctx.Err()
	}
	return seq, err
}

// A context that ends during an append loses no batch: a later call with another context sends it.
func TestEndedContextLosesNothing(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 20}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 11))
		now := start
		log := &ending{Memory: stream.NewMemory(0), r: r, odds: 2 + r.IntN(4)}
		s, err := NewSender(log, result.Stamps, options("leaf", 1+r.IntN(3), &now))
		if err != nil {
			t.Fatal(err)
		}
		sent := int64(0)
		try := func(call func(ctx context.Context) error) error {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			log.end = cancel
			err := call(ctx)
			if err != nil && ctx.Err() == nil {
				t.Fatal(err)
			}
			return err
		}
		for i := range 20 + r.IntN(200) {
			f := event.Frame{Time: now.UnixNano(), Hops: make([]event.Hop, 1)}
			f.Flow = event.Flow{Form: event.IPv4, Protocol: 17, SourcePort: uint16(i % 7), DestPort: 80}
			if try(func(ctx context.Context) error { return s.Frame(ctx, &f) }) == nil {
				sent++
			}
			now = now.Add(time.Duration(r.IntN(100)) * time.Millisecond)
			switch r.IntN(10) {
			case 0:
				s.Lose(1, now)
			case 1:
				_ = try(s.Flush)
			default:
				_ = try(s.Step)
			}
		}
		log.odds = 0
		if err := try(s.Close); err != nil {
			t.Fatal(err)
		}
		got := int64(0)
		for _, b := range joined(t, log.Memory, result.Stamps, len(s.parts)) {
			for _, h := range b.Hops {
				got += h.Packets
			}
			for _, x := range b.Sources {
				if x.Lost > s.Stats().Lost {
					t.Errorf("%d batches lost, want none but the %d that were noted", x.Lost, s.Stats().Lost)
				}
			}
		}
		if got != sent {
			t.Errorf("%d frames are in the log, want the %d that were sent", got, sent)
		}
	})
}

// A reader of captures that is killed anywhere, and started again under its name, produces the rows of an uninterrupted
// one.
func TestCaptureIsResumed(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 3, Short: 1}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 12))
		path := filepath.Join(t.TempDir(), "long.pcap")
		w, err := capture.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		at := start
		for range 2*flushEvery + r.IntN(2*flushEvery) {
			f := stamped(r.IntN(8) == 0)
			at = at.Add(time.Duration(r.IntN(4)) * time.Millisecond)
			if err := w.Write(at, f, len(f)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		partitions := 1 + r.IntN(3)
		read := func(log stream.Log, ctx context.Context) error {
			now := start
			s, err := NewSender(log, result.Stamps, options("captures@1", partitions, &now))
			if err != nil {
				t.Fatal(err)
			}
			if err := ReadCaptures(ctx, &Tap{Stamps: s}, path); err != nil {
				return err // a killed reader does not close its source
			}
			return s.Close(ctx)
		}
		calm := stream.NewMemory(0)
		if err := read(calm, t.Context()); err != nil {
			t.Fatal(err)
		}
		log := &ending{Memory: stream.NewMemory(0), r: r, odds: 3}
		for range 1 + r.IntN(4) {
			ctx, cancel := context.WithCancel(t.Context())
			log.end = cancel
			_ = read(log, ctx)
			cancel()
		}
		log.odds = 0
		if err := read(log, t.Context()); err != nil {
			t.Fatal(err)
		}
		want, got := joined(t, calm, result.Stamps, partitions), joined(t, log.Memory, result.Stamps, partitions)
		for i := range min(len(want), len(got)) {
			if !reflect.DeepEqual(want[i].Hops, got[i].Hops) {
				t.Errorf("%s: rows differ from those of a reader that was not killed", want[i].Partition)
			}
		}
		if len(want) != len(got) || len(want) != partitions {
			t.Errorf("%d and %d batches, want %d of each", len(want), len(got), partitions)
		}
	})
}

// A capture with a frame from the future is read up to that frame, as if it were damaged there. Otherwise its window
// would stay open until then, and hold the events of all other sources in the log.
func TestCaptureAhead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ahead.pcap")
	w, err := capture.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	f := stamped(false)
	for _, ahead := range []time.Duration{0, event.MaxAhead, 50 * 365 * 24 * time.Hour} {
		if err := w.Write(start.Add(ahead), f, len(f)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, bounded := range []bool{true, false} {
		log, now := stream.NewMemory(0), start
		s, err := NewSender(log, result.Stamps, options("captures", 1, &now))
		if err != nil {
			t.Fatal(err)
		}
		tap, want := &Tap{Stamps: s}, int64(3)
		if bounded {
			tap.Ahead, want = event.MaxAhead, 2
		}
		err = ReadCaptures(t.Context(), tap, path)
		if bounded == (err == nil) || bounded && !strings.Contains(err.Error(), path+": a frame of 2073-") {
			t.Errorf("bounded %v: %v: want the capture and the time", bounded, err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s.Stats().Events != want {
			t.Errorf("bounded %v: %+v: want %d frames", bounded, s.Stats(), want)
		}
		for _, b := range joined(t, log, result.Stamps, 1) {
			for _, h := range b.Hops {
				if late := h.Window.Start > start.UnixNano(); bounded && late && h.Flags&result.Gap == 0 {
					t.Errorf("%+v: want that more may be missing", h)
				}
			}
		}
	}
}
