package daemons

import (
	"cmp"
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"tamtam/host"
	"tamtam/host/cpuport"
	"tamtam/host/hostd"
	"tamtam/host/reports"
	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// RunHostd runs the daemon hostd until ctx ends. It makes the switch act as a host at its router interfaces. It waits
// for a CPU port, and attaches again after it was lost.
func RunHostd(ctx context.Context, r *swss.Redis, line func() (CPULine, error), c Common) error {
	return runBeside(ctx, "hostd", r, c, func(ctx context.Context, c Common) error {
		return runHostdOnce(ctx, r, line, c)
	}, swss.ApplDB, swss.StateDB)
}

func runHostdOnce(ctx context.Context, r *swss.Redis, line attach, c Common) error {
	cfg, err := HostConfig(ctx, r)
	if err != nil {
		return err
	}
	d := orch.NewDaemon("hostd", r, c.Options())
	cfg.Daemon = d
	var out reportSockets
	defer out.close()
	cpu := &hostCPU{
		heldLine: newHeldLine("hostd", "CPU port", logOf(c)), d: d, host: hostd.New(cfg),
		reports: reports.New(reports.Config{Daemon: d, Redis: r, Send: out.send}),
	}
	c.health.setLacks(cpu.lack)
	c.health.attach(d.Alive, d.Hears, d.Watch())
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return d.Run(ctx) })
	g.Go(func() error { return cpu.run(ctx, line, cpu.receive) })
	return g.Wait()
}

// HostConfig returns the configuration of hostd, except for its daemon.
func HostConfig(ctx context.Context, r *swss.Redis) (hostd.Config, error) {
	mac, err := switchMAC(ctx, r)
	if err != nil {
		return hostd.Config{}, err
	}
	row, _, err := swss.NewTable(r.DB(swss.ConfigDB), schema.CfgDeviceMetadata).Get(ctx, "localhost")
	meta, _ := schema.ParseDeviceMetadata(schema.MetadataKey, row) // a field that is not valid is as if it were missing
	return hostd.Config{
		Redis: r, Stack: host.DefaultConfig(), MAC: host.MAC(mac),
		Name: cmp.Or(meta.Hostname, "tamtam"), Description: schema.LLDPDescription,
	}, err
}

// A hostCPU connects a host to a CPU port, and reconnects it after a loss.
type hostCPU struct {
	*heldLine
	d       *orch.Daemon
	host    *hostd.Host
	reports *reports.Sender
}

// receive passes punted packets to the host until the line ends.
func (h *hostCPU) receive(ctx context.Context, l CPULine) (err error) {
	if err := h.d.Do(ctx, func() { h.host.SetLine(l, h.counted) }); err != nil {
		return err
	}
	after := context.WithoutCancel(ctx)
	defer func() { err = errors.Join(err, h.d.Do(after, func() { h.host.SetLine(nil, h.counted) })) }()
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
		receive := h.host.Receive
		if reports.Is(&p) {
			receive = h.reports.Receive
		}
		if err := h.d.Do(ctx, func() { receive(p) }); err != nil {
			return err
		}
	}
}
