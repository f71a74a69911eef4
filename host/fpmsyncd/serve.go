package fpmsyncd

import (
	"context"
	"errors"
	"net"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"tamtam/host/fpm"
)

// Address is zebra's default address of a forwarding plane manager.
const Address = "127.0.0.1:2620"

// batch is the maximum number of frames that are processed in one call of the daemon.
const batch = 1024

// Serve accepts connections of zebra until ctx ends; do calls a function on the daemon's goroutine. It serves one zebra
// at a time and refuses others. While the daemon cannot write the rows, zebra waits.
func (s *Sync) Serve(ctx context.Context, ln net.Listener, do func(context.Context, func()) error) error {
	defer context.AfterFunc(ctx, func() { ln.Close() })()
	g, ctx := errgroup.WithContext(ctx)
	var busy atomic.Bool
	g.Go(func() error {
		for {
			conn, err := ln.Accept()
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
			if !busy.CompareAndSwap(false, true) {
				s.log.Warn("a client of FPM is refused: another is connected", "peer", conn.RemoteAddr())
				conn.Close()
				continue
			}
			g.Go(func() error {
				defer busy.Store(false)
				return s.listen(ctx, conn, do)
			})
		}
	})
	return g.Wait()
}

// listen processes the messages of one zebra until it disconnects. Invalid FPM ends the connection: nothing after it
// can be read, and zebra reconnects and sends everything.
func (s *Sync) listen(ctx context.Context, conn net.Conn, do func(context.Context, func()) error) error {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	out, stop, stopped := outbox{ready: make(chan struct{}, 1)}, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		out.write(conn, stop)
	}()
	defer func() {
		close(stop)
		conn.Close()
		<-stopped
	}()
	if err := do(ctx, func() { s.Connected(conn.RemoteAddr().String(), out.put) }); err != nil {
		return ended(ctx, err)
	}
	r := fpm.NewReader(conn)
	for {
		frame, failed := r.Next()
		err := do(ctx, func() {
			for n := 0; failed == nil; n++ {
				if s.Receive(frame); n == batch || !r.Whole() {
					return
				}
				frame, failed = r.Next()
			}
			s.Disconnected(failed)
		})
		if err != nil || failed != nil {
			return ended(ctx, err)
		}
	}
}

// ended returns nil for an error that is only the end of ctx.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}
