package daemons

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"tamtam/host/cpuport"
	"tamtam/swss/tick"
)

// A CPULine is a client's connection to a CPU port, in this process or over a socket.
type CPULine interface {
	Receive(ctx context.Context) (cpuport.Packet, error)
	Send(f cpuport.Frame) error
	Counts(ctx context.Context) (cpuport.Counts, error)
	Close() error
}

// An attach function makes its caller the client of a CPU port.
type attach func() (CPULine, error)

// AtSocket returns a function that attaches to a syncd's CPU port, or its samples, at a socket. client is the name
// under which it attaches.
func AtSocket(path, client string) func() (CPULine, error) {
	return func() (CPULine, error) {
		c, err := cpuport.Dial(path, client)
		if err != nil {
			return nil, err
		}
		return c, nil
	}
}

// AtHub returns a function that attaches to a CPU port in this process.
func AtHub(hub *cpuport.Hub, client string) func() (CPULine, error) {
	return func() (CPULine, error) {
		l, err := hub.Attach(client + ", in this process")
		if err != nil {
			return nil, err
		}
		return l, nil
	}
}

// A heldLine is a connection that is attached again after it was lost.
type heldLine struct {
	client, what string // the client's name, and what it is connected to
	log          *slog.Logger
	lacks        atomic.Pointer[string]         // why there is no connection; "" if there is one
	counts       atomic.Pointer[cpuport.Counts] // last read counters
}

func newHeldLine(client, what string, log *slog.Logger) *heldLine {
	h := &heldLine{client: client, what: what, log: log}
	h.lacks.Store(new(fmt.Sprintf("there has been no %s yet", what)))
	return h
}

// lack returns why there is no connection, "" if there is one.
func (h *heldLine) lack(context.Context) string { return *h.lacks.Load() }

// counted returns the line's counters. It returns false if they are unknown.
func (h *heldLine) counted() (cpuport.Counts, bool) {
	c := h.counts.Load()
	if c == nil {
		return cpuport.Counts{}, false
	}
	return *c, true
}

// Waits between attempts to attach, and between reads of the counters.
const (
	attachPeriod = 500 * time.Millisecond
	countPeriod  = 2 * time.Second
)

// run attaches, repeatedly, and serves until ctx ends.
func (h *heldLine) run(ctx context.Context, line attach, serve func(context.Context, CPULine) error) error {
	for {
		l, err := line()
		if err == nil {
			h.log.Info(h.client + " has the " + h.what)
			h.lacks.Store(new(""))
			err = h.serve(ctx, l, serve)
		}
		if ctx.Err() != nil {
			return nil
		}
		why := fmt.Sprintf("no %s: %v", h.what, err)
		if was := h.lacks.Swap(&why); *was != why {
			h.log.Warn(h.client+" waits", "because", why)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(attachPeriod):
		}
	}
}

func (h *heldLine) serve(ctx context.Context, l CPULine, serve func(context.Context, CPULine) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return serve(ctx, l) })
	g.Go(func() error { return h.ask(ctx, l) })
	return errors.Join(g.Wait(), l.Close())
}

// ask reads the line's counters periodically.
func (h *heldLine) ask(ctx context.Context, l CPULine) error {
	for {
		c, err := l.Counts(ctx)
		if err != nil {
			return err
		}
		h.counts.Store(&c)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.After(countPeriod):
		}
	}
}
