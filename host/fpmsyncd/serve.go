package fpmsyncd

import (
	"context"
	"errors"
	"net"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"tamtam/host/fpm"
)

// Address is where zebra looks for a forwarding plane manager, if nothing else is said.
const Address = "127.0.0.1:2620"

// batch is how many frames are taken in one turn of the daemon, if they are there.
const batch = 1024

// Serve listens to zebra until ctx ends; do calls a function in the daemon's turn. One zebra at a time is listened to:
// others are refused. While the daemon cannot write what zebra says, zebra waits.
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

// listen takes what one zebra says until it goes. What is no FPM ends the connection: nothing behind it can be read,
// and zebra connects again and tells all.
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
				if s.Take(frame); n == batch || !r.Whole() {
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

// ended drops an error that only says that ctx has ended.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}
