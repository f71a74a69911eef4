package ingest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"tamtam/collector"
	"tamtam/collector/capture"
	"tamtam/internal/grace"
)

// acceptTimeout is the maximum time, once a source must end, for the log to accept what was read from it.
const acceptTimeout = time.Second

// Watch feeds a tap with the frames of an interface as they come, until ctx ends, and then returns nil. Frames that the
// kernel dropped are counted as lost.
func Watch(ctx context.Context, in collector.Source, t *Tap) error {
	lost := func() error {
		asked := t.now()
		n, err := in.Lost()
		for _, s := range t.senders() {
			s.LostBy(int64(n), asked)
		}
		return err
	}
	return stepping(ctx, lost, t.senders(), func(ctx context.Context) error {
		accepting, done := grace.After(ctx, acceptTimeout)
		defer done()
		for {
			p, err := in.Next(ctx)
			if err != nil {
				return ended(ctx, err)
			}
			if err := t.Frame(accepting, p.Data, p.Len, p.Time); err != nil {
				return ended(ctx, err)
			}
		}
	})
}

// A Datagram processes a datagram that came at a time, as Reports.IPFIX and Reports.SFlow do.
type Datagram func(ctx context.Context, from netip.AddrPort, payload []byte, at time.Time) error

// Serve reads the datagrams that come to a socket, until ctx ends, and then returns nil. Datagrams that the kernel
// dropped are counted as lost. If the kernel does not report the drops of a UDP socket, Serve returns an error without
// reading.
func Serve(ctx context.Context, conn net.PacketConn, datagram Datagram, to *Sender) error {
	lost := func() error { return nil } // if conn is not a socket
	if socket, ok := conn.(syscall.Conn); ok {
		known := uint64(0)
		lost = func() error {
			asked := to.options.Now()
			all, err := capture.DatagramsLost(socket)
			if err == nil {
				to.LostBy(int64(all-known), asked)
				known = all
			}
			return err
		}
	}
	return stepping(ctx, lost, []*Sender{to}, func(ctx context.Context) error {
		stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
		defer stop()
		accepting, done := grace.After(ctx, acceptTimeout)
		defer done()
		buf := make([]byte, 1<<16)
		for {
			length, from, err := conn.ReadFrom(buf)
			if err != nil {
				return ended(ctx, fmt.Errorf("UDP at %s: %w", conn.LocalAddr(), err))
			}
			var at netip.AddrPort
			if u, ok := from.(*net.UDPAddr); ok {
				at = netip.AddrPortFrom(u.AddrPort().Addr().Unmap(), u.AddrPort().Port())
			}
			if err := datagram(accepting, at, buf[:length], to.options.Now()); err != nil {
				return ended(ctx, err)
			}
		}
	})
}

// ended returns nil if ctx has ended, since the end was requested, otherwise err.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// stepping calls read while the senders are stepped. Before each step it calls lost: see LostBy.
func stepping(ctx context.Context, lost func() error, senders []*Sender, read func(context.Context) error) error {
	if err := lost(); err != nil {
		return err
	}
	reading, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var steps sync.WaitGroup
	stepped, end := context.WithCancel(reading)
	steps.Go(func() {
		if err := step(stepped, lost, senders); err != nil {
			stop(err)
		}
	})
	err := read(reading)
	end()
	steps.Wait()
	if cause := context.Cause(reading); cause != nil && ctx.Err() == nil {
		err = errors.Join(err, cause)
	}
	return errors.Join(err, lost())
}

func step(ctx context.Context, lost func() error, senders []*Sender) error {
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
		if err := lost(); err != nil {
			return err
		}
		for _, s := range senders {
			if err := s.Step(ctx); err != nil {
				return ended(ctx, err)
			}
		}
	}
}
