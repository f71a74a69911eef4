package daemons

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"tamtam/device/packettrace"
	"tamtam/device/wire"
	"tamtam/host/cpuport"
	"tamtam/host/netdev"
	"tamtam/sai"
	sairedis "tamtam/sai/redis"
	"tamtam/sai/redis/zmq"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/drift"
	"tamtam/tam/altmark"
)

// ChipConfig describes the chip of a live switch.
type ChipConfig struct {
	Profile profile.Profile
	Wires   map[string]string // port -> live interface
	// KeepLinks means that interfaces that the process has set up stay up when it ends, for a restart that no peer
	// should notice.
	KeepLinks bool
	links     *wire.Links
	// Oracle is the number of flows per sketch task and bank that the chip counts exactly; 0 means none.
	Oracle int
	// CPU is the chip's CPU port, for a client in this process. CPUPort is the path of a socket that serves it to a
	// client in another process. Without either, punted packets are lost.
	CPU     *cpuport.Hub
	CPUPort string
	// Samples and SamplePort are likewise for packets that are sampled or dropped.
	Samples    *cpuport.Hub
	SamplePort string
	// ZMQ serves requests by ZeroMQ too; nil means that it does not.
	ZMQ *ZMQEndpoints
	// Record receives the requests and answers of the client; nil records nothing.
	Record io.Writer
	// Streams are the readers of high-frequency telemetry.
	Streams []StreamReader
	// Drive advances the chip's time with the wall clock since start, and moves its frames, until ctx ends. nil means
	// that the wires do so.
	Drive func(ctx context.Context, chip *saisim.Chip, start time.Time) error
	// HostInterfaces makes the host interfaces of ports from the start, for SONiC's orchagent and managers. Otherwise a
	// client of the CPU port such as hostifd requests them.
	HostInterfaces bool
	// Devices makes the host interfaces; nil means those of this host.
	Devices netdev.Kernel
	netdevs *netdevs
	// Kernel returns the state of the kernel's clock, which the chip's clock follows; nil means that this host's
	// kernel is read. Its field Ahead is ignored.
	Kernel func() altmark.KernelClock
}

// ZMQEndpoints are the endpoints of ZeroMQ at which syncd receives requests, and the client notifications.
type ZMQEndpoints struct{ Requests, Notifications string }

// ClientModes are the modes of syncd's client, in SONiC's words.
const ClientModes = "redis_sync, redis_async, zmq_sync or zmq_sync=REQUESTS,NOTIFICATIONS with ZeroMQ's endpoints, " +
	"as in zmq_sync=" + zmq.Requests + "," + zmq.Notifications

// ParseClientMode parses the mode in which the client of syncd makes requests.
func ParseClientMode(mode string) (endpoints *ZMQEndpoints, async bool, err error) {
	name, at, given := strings.Cut(mode, "=")
	switch {
	case mode == "redis_sync":
		return nil, false, nil
	case mode == "redis_async":
		return nil, true, nil
	case name == "zmq_sync":
		if !given {
			at = zmq.Requests + "," + zmq.Notifications
		}
		requests, notes, ok := strings.Cut(at, ",")
		if ok && zmq.CheckEndpoint(requests) == nil && zmq.CheckEndpoint(notes) == nil {
			return &ZMQEndpoints{requests, notes}, false, nil
		}
	}
	return nil, false, fmt.Errorf("%q: want %s; an endpoint is ipc://PATH or tcp://HOST:PORT", mode, ClientModes)
}

// RunSyncd runs the daemon syncd with a simulated chip that is wired to live interfaces. The chip's time follows the
// wall clock. Chip and ASIC_DB belong together. When they no longer match, syncd starts again with a new chip.
func RunSyncd(ctx context.Context, r *swss.Redis, cfg ChipConfig, c Common) error {
	c = c.Named("syncd")
	c.Renew = backoff(time.Now)
	h := newHealth("syncd")
	c.faults = newFaultController(h, r, c)
	live := func(ctx context.Context, h *health, claim *swss.Claim) error {
		return runSyncdOnce(ctx, r, cfg, c.of(h, claim))
	}
	run := func(ctx context.Context) error {
		// without ASIC_DB, which has a journal instead
		return runRepeatedly(ctx, r, h, logOf(c), live, swss.CountersDB, swss.FlexCounterDB)
	}
	g, ctx := errgroup.WithContext(ctx)
	cfg.netdevs = newNetdevs(cfg.Devices, c.Log)
	if cfg.HostInterfaces {
		if cfg.CPU == nil {
			cfg.CPU = cpuport.New()
		}
		cfg.CPU.Keep(cfg.netdevs)
		if err := cfg.CPU.BeginInterfaces(); err != nil {
			return err
		}
	}
	for _, at := range []struct {
		hub  **cpuport.Hub
		path string
	}{{&cfg.CPU, cfg.CPUPort}, {&cfg.Samples, cfg.SamplePort}} {
		if at.path == "" {
			continue
		}
		if *at.hub == nil {
			*at.hub = cpuport.New()
		}
		l, err := cpuport.Listen(at.path)
		if err != nil {
			return err
		}
		hub := *at.hub
		if at.hub == &cfg.CPU {
			hub.Keep(cfg.netdevs)
		}
		g.Go(func() error { return serveCPU(ctx, hub, l, logOf(c)) })
	}
	cfg.links = wire.NewLinks()
	g.Go(func() error { return run(ctx) })
	if at := cfg.ZMQ; at != nil {
		relay := &zmq.Relay{Redis: r, Requests: at.Requests, Notifications: at.Notifications, Logger: logOf(c)}
		g.Go(func() error { return relay.Run(ctx) })
	}
	g.Go(func() error { return cfg.netdevs.run(ctx, cfg.KeepLinks) })
	err := g.Wait()
	return errors.Join(err, cfg.links.Close(cfg.KeepLinks))
}

// runSyncdOnce runs syncd with one chip.
func runSyncdOnce(ctx context.Context, r *swss.Redis, cfg ChipConfig, c Common) error {
	var syncd *sairedis.Server // set before the chip works
	start := time.Now()
	chip, err := saisim.New(saisim.Config{
		Profile: cfg.Profile, Oracle: cfg.Oracle, Start: start.UTC(),
		Notify: func(n sai.Notification) { syncd.Notifier.Add(n, c.faults.Notified(n)) },
		Kernel: disturbed(c.faults, followed(start, cfg.Kernel)), Wired: wired(cfg.Wires),
		HostInterfaces: cfg.netdevs.changed,
	})
	if err != nil {
		return err
	}
	syncd = NewSyncd(r, c.Layered(chip), c)
	syncd.Record = cfg.Record
	if err := c.faults.Drive(chip); err != nil {
		return err
	}
	defer cfg.netdevs.reset()
	alive := func(context.Context) error { chip.Now(); return nil } // chip.Now blocks while a call hangs in the chip
	c.health.attach(alive, nil, syncd.Watch)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return serve(ctx, syncd) })
	g.Go(func() error { syncd.Notifier.Run(ctx); return nil })
	g.Go(func() error { return packettrace.Serve(ctx, r, chip, logOf(c)) })
	streams := newStreaming(chip, cfg.Streams, logOf(c))
	if cfg.Drive != nil {
		g.Go(func() error { return streams.run(ctx, r) })
	}
	g.Go(func() error {
		if cfg.Drive != nil {
			return cfg.Drive(ctx, chip, start)
		}
		return runWires(ctx, r, chip, start, cfg, newCPUSide(chip, cfg.CPU, cfg.Samples), streams, c)
	})
	return g.Wait()
}

// serve runs syncd's request loop, comparison and polling until ctx ends.
func serve(ctx context.Context, syncd *sairedis.Server) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return syncd.Serve(ctx) })
	g.Go(func() error { return syncd.Compare(ctx) })
	g.Go(func() error { syncd.Counters.Run(ctx); return nil })
	return g.Wait()
}

// RunSyncdOn acts like [RunSyncd], with an ASIC that the caller owns, drives, and receives notifications from. It has
// only one run, since the next would need a new ASIC. Where RunSyncd starts again, it returns an error.
func RunSyncdOn(ctx context.Context, r *swss.Redis, asic sai.API, c Common) error {
	c = c.Named("syncd")
	h, used := newHealth("syncd"), false
	c.faults = newFaultController(h, r, c)
	live := func(ctx context.Context, h *health, claim *swss.Claim) error {
		if used {
			return errors.New("syncd cannot start again, because its ASIC is no longer in its initial state")
		}
		used = true
		c := c.of(h, claim)
		syncd := NewSyncd(r, c.Layered(asic), c)
		h.attach(nil, nil, syncd.Watch)
		return serve(ctx, syncd)
	}
	return runRepeatedly(ctx, r, h, logOf(c), live, swss.CountersDB, swss.FlexCounterDB)
}

// NewSyncd returns the daemon syncd for an ASIC.
func NewSyncd(r *swss.Redis, asic sai.API, c Common) *sairedis.Server {
	opts := sairedis.ServerOptions{TempView: true, Async: c.Async, Renew: c.Renew, Logger: c.Log, Now: c.Now}
	if c.health != nil {
		opts.Run, opts.Report = c.health.owner, c.health.report
	}
	s := sairedis.NewServer(r, asic, opts)
	alone := 0
	s.Watch.Author = func(ctx context.Context, daemon string) (int, bool) {
		if !s.Refused() {
			return drift.Author(ctx, r, daemon)
		}
		alone += 2 // orchagent's objects were rejected, so syncd does not wait for orchagent
		return alone, true
	}
	return s
}
