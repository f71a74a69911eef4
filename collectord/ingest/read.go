package ingest

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"tamtam/collector"
	"tamtam/collector/capture"
)

// lossEvery is after how many frames it is asked again how many were lost.
const lossEvery = 1 << 10

// Watch gives a tap the frames of an interface as they come, until ctx ends: then it returns nil.
func Watch(ctx context.Context, in collector.Source, t *Tap) error {
	for n := 1; ; n++ {
		p, err := in.Next(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if n%lossEvery == 0 {
			lost, err := in.Lost()
			if err != nil {
				return err
			}
			t.lose(int64(lost))
		}
		if err := t.Frame(ctx, p.Data, p.Len, p.Time); err != nil {
			return ended(ctx, err)
		}
	}
}

// A Datagram is what reads a datagram that came at a time, as Reports.IPFIX and Reports.SFlow do.
type Datagram func(ctx context.Context, from netip.AddrPort, payload []byte, at time.Time) error

// Serve reads the datagrams that come to a socket, until ctx ends: then it returns nil. What the kernel had no room for
// is lost to the sender.
func Serve(ctx context.Context, conn net.PacketConn, take Datagram, to *Sender) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	buf := make([]byte, 1<<16)
	var lost uint64
	for n := 0; ; n++ {
		length, from, err := conn.ReadFrom(buf)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("UDP at %s: %w", conn.LocalAddr(), err)
		}
		if socket, ok := conn.(syscall.Conn); ok && n%lossEvery == 0 {
			if all, err := capture.DatagramsLost(socket); err == nil {
				to.Lose(int64(all - lost))
				lost = all
			}
		}
		var at netip.AddrPort
		if u, ok := from.(*net.UDPAddr); ok {
			at = netip.AddrPortFrom(u.AddrPort().Addr().Unmap(), u.AddrPort().Port())
		}
		if err := take(ctx, at, buf[:length], to.options.Now()); err != nil {
			return ended(ctx, err)
		}
	}
}

// ended is nil if ctx has ended: so was it asked to.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// Steps calls Step of senders until ctx ends.
func Steps(ctx context.Context, senders ...*Sender) error {
	if len(senders) == 0 {
		return nil
	}
	tick := time.NewTicker(senders[0].options.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for _, s := range senders {
			if err := s.Step(ctx); err != nil {
				return ended(ctx, err)
			}
		}
	}
}
