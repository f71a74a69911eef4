package device

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"tamtam/cpuport"
	"tamtam/hoststack"
	"tamtam/hoststack/hostd"
	"tamtam/hoststack/reports"
	"tamtam/orch"
	"tamtam/schema"
	"tamtam/swss"
)

// A CPULine is a client's line to a CPU port, in this process or over a socket.
type CPULine interface {
	Receive(ctx context.Context) (cpuport.Packet, error)
	Send(f cpuport.Frame) error
	Counts(ctx context.Context) (cpuport.Counts, error)
	Close() error
}

// An attach function makes its caller the client of a CPU port.
type attach func() (CPULine, error)

// AtSocket attaches to the CPU port that a syncd serves at a socket.
func AtSocket(path string) func() (CPULine, error) {
	return func() (CPULine, error) {
		c, err := cpuport.Dial(path, "hostd")
		if err != nil {
			return nil, err
		}
		return c, nil
	}
}

// atHub attaches to a CPU port in this process.
func atHub(hub *cpuport.Hub) attach {
	return func() (CPULine, error) {
		l, err := hub.Attach("hostd, in this process")
		if err != nil {
			return nil, err
		}
		return l, nil
	}
}

// RunHostd runs the daemon hostd until ctx ends: the switch as a host at its router interfaces. It waits for a CPU
// port, and takes it again when it was lost.
func RunHostd(ctx context.Context, r *swss.Redis, line func() (CPULine, error), c Common) error {
	c = c.named("hostd")
	h := newHealth("hostd")
	c.faults = newDesk(h, r, c)
	err := runLives(ctx, r, h, logOf(c), func(ctx context.Context, h *health, claim *swss.Claim) error {
		return hostdLife(ctx, r, line, c.of(h, claim))
	}, swss.ApplDB, swss.StateDB)
	return errors.Join(err, leave(ctx, r, h))
}

func hostdLife(ctx context.Context, r *swss.Redis, line attach, c Common) error {
	cfg, err := hostConfig(ctx, r)
	if err != nil {
		return err
	}
	d := orch.NewDaemon("hostd", r, c.daemon())
	cfg.Daemon = d
	var out reportSockets
	defer out.close()
	cpu := &hostCPU{
		d: d, log: logOf(c), host: hostd.New(cfg),
		reports: reports.New(reports.Config{Daemon: d, Redis: r, Send: out.send}),
	}
	cpu.lacks.Store(new("there has been no CPU port yet"))
	c.health.setLacks(func(context.Context) string { return *cpu.lacks.Load() })
	c.health.lives(func(ctx context.Context) error { return d.Do(ctx, func() {}) }, d.Hears, d.Watch())
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return d.Run(ctx) })
	g.Go(func() error { return cpu.run(ctx, line) })
	return g.Wait()
}

// hostConfig is what hostd is made with, except for its daemon.
func hostConfig(ctx context.Context, r *swss.Redis) (hostd.Config, error) {
	mac, err := switchMAC(ctx, r)
	if err != nil {
		return hostd.Config{}, err
	}
	row, _, err := swss.NewTable(r.DB(swss.ConfigDB), schema.CfgDeviceMetadata).Get(ctx, "localhost")
	return hostd.Config{
		Redis: r, Stack: hoststack.DefaultConfig(), MAC: hoststack.MAC(mac),
		Name: cmp.Or(row["hostname"], "tamtam"), Description: "tamtam, a switch in software",
	}, err
}

// A hostCPU brings a host to a CPU port, and keeps it there.
type hostCPU struct {
	d       *orch.Daemon
	host    *hostd.Host
	reports *reports.Sender
	log     *slog.Logger
	lacks   atomic.Pointer[string]         // why there is no CPU port; "": there is
	count   atomic.Pointer[cpuport.Counts] // as last asked for
}

// Waits of a host for its CPU port, and how often what that has counted is asked for.
const (
	attachPeriod = 500 * time.Millisecond
	countPeriod  = 2 * time.Second
)

// run attaches, again and again, and hands over what is punted, until ctx ends.
func (h *hostCPU) run(ctx context.Context, line attach) error {
	for {
		l, err := line()
		if err == nil {
			h.log.Info("hostd has the CPU port")
			err = h.serve(ctx, l)
		}
		if ctx.Err() != nil {
			return nil
		}
		why := fmt.Sprintf("no CPU port: %v", err)
		if was := h.lacks.Swap(&why); *was != why {
			h.log.Warn("hostd waits", "because", why)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(attachPeriod):
		}
	}
}

// serve hands over what is punted until the line ends.
func (h *hostCPU) serve(ctx context.Context, l CPULine) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	counts := func() (cpuport.Counts, bool) {
		c := h.count.Load()
		if c == nil {
			return cpuport.Counts{}, false
		}
		return *c, true
	}
	if err := h.d.Do(ctx, func() { h.host.SetLine(l, counts) }); err != nil {
		return errors.Join(err, l.Close())
	}
	h.lacks.Store(new(""))
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return h.receive(ctx, l) })
	g.Go(func() error { return h.ask(ctx, l) })
	err = g.Wait()
	after := context.WithoutCancel(ctx)
	return errors.Join(err, l.Close(), h.d.Do(after, func() { h.host.SetLine(nil, counts) }))
}

func (h *hostCPU) receive(ctx context.Context, l CPULine) error {
	for {
		p, err := l.Receive(ctx)
		var refused *cpuport.Refusal
		switch {
		case errors.As(err, &refused):
			h.log.Warn("the chip did not send a frame", "because", refused.Reason)
			continue
		case err != nil:
			return err
		}
		take := h.host.Receive
		if reports.Is(&p) {
			take = h.reports.Receive
		}
		if err := h.d.Do(ctx, func() { take(p) }); err != nil {
			return err
		}
	}
}

// ask asks now and then what the CPU port has counted.
func (h *hostCPU) ask(ctx context.Context, l CPULine) error {
	tick := time.NewTicker(countPeriod)
	defer tick.Stop()
	for {
		c, err := l.Counts(ctx)
		if err != nil {
			return err
		}
		h.count.Store(&c)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
