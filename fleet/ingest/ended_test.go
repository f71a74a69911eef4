package ingest

import (
	"context"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
	"time"

	"tamtam/collector/capture"
	"tamtam/collector/result"
	"tamtam/fleet/event"
	"tamtam/fleet/stream"
	"tamtam/internal/randtest"
)

// endingSource returns frames or datagrams. When it returns the last one, the context ends.
type endingSource struct {
	net.PacketConn
	end         context.CancelFunc
	left, given int
	data        []byte
}

func (s *endingSource) next() bool {
	if s.left == 0 {
		return false
	}
	if s.left--; s.left == 0 {
		s.end()
	}
	s.given++
	return true
}

func (s *endingSource) Next(ctx context.Context) (capture.Packet, error) {
	if !s.next() {
		return capture.Packet{}, ctx.Err()
	}
	return capture.Packet{Time: start, Data: s.data, Len: len(s.data)}, nil
}

func (s *endingSource) Lost() (uint64, error) { return 0, nil }

func (s *endingSource) ReadFrom(b []byte) (int, net.Addr, error) {
	if !s.next() {
		return 0, nil, context.Canceled
	}
	return copy(b, s.data), nil, nil
}

func (s *endingSource) SetReadDeadline(time.Time) error { return nil }

func (s *endingSource) LocalAddr() net.Addr { return &net.UDPAddr{} }

// A context that ends during any call of a source loses nothing that was read from it: frames, copies, and datagrams of
// several records.
func TestEndedContextKeepsWhatWasRead(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 40}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 13))
		log := stream.NewMemory(0)
		s, err := NewSender(log, result.Stamps, Options{Source: "leaf", Partitions: 1 + r.IntN(3), Live: true,
			Every: time.Hour, Now: func() time.Time { return start }})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		in := &endingSource{end: cancel, left: 1 + r.IntN(30), data: stamped(r.IntN(2) == 0)}
		records := 1 + r.IntN(4)
		if r.IntN(2) == 0 {
			records, err = 1, Watch(ctx, in, &Tap{Stamps: s})
		} else {
			err = Serve(ctx, in, func(ctx context.Context, _ netip.AddrPort, payload []byte, at time.Time) error {
				for range records {
					f := event.Frame{Time: at.UnixNano(), Hops: make([]event.Hop, 1)}
					f.Flow = event.Flow{Form: event.IPv4, Protocol: 17, DestPort: 80}
					if err := s.Frame(ctx, &f); err != nil {
						return err
					}
					if err := s.Flush(ctx); err != nil {
						return err
					}
				}
				return nil
			}, s)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := int64(0)
		for _, b := range joined(t, log, result.Stamps, len(s.parts)) {
			for _, h := range b.Hops {
				got += h.Packets
			}
		}
		if want := int64(in.given * records); got != want {
			t.Errorf("%d frames are in the log, want the %d that were read", got, want)
		}
	})
}
