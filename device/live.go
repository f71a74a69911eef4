package device

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"tamtam/mgmt"
	"tamtam/sai"
	"tamtam/sairedis"
	"tamtam/saisim"
	"tamtam/swss"
)

// UpConfig says what switch to bring up.
type UpConfig struct {
	Common
	Redis   string // "embedded", HOST:PORT, or unix:PATH
	Config  ConfigDB
	Profile saisim.Profile
	Wires   map[string]string // port -> live interface
	Mgmt    mgmt.Config
	// Ready, if set, is called once all daemons run, with the addresses to use.
	Ready func(redis, gnmi string)
}

// Up runs a whole switch on wall time until ctx ends.
func Up(ctx context.Context, cfg UpConfig) error {
	r, err := swss.Open(ctx, cfg.Redis)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := cfg.Config.Load(ctx, r); err != nil {
		return err
	}
	cfg.Mgmt.Redis = r
	northbound, err := mgmt.NewServer(cfg.Mgmt)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return RunSyncd(ctx, r, cfg.Profile, cfg.Wires, cfg.Common) })
	g.Go(func() error { return RunManagers(ctx, r, cfg.Common) })
	g.Go(func() error { return RunOrchagent(ctx, r, cfg.Common) })
	g.Go(func() error { return northbound.Serve(ctx) })
	if cfg.Ready != nil {
		cfg.Ready(r.Addr(), northbound.Addr())
	}
	return ended(g.Wait())
}

// ended drops the error that only says that the caller's context has ended.
func ended(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// RunOrchagent runs the daemon orchagent until ctx ends. When syncd is gone or
// does not answer, the state of the ASIC is unknown: orchagent then starts anew
// and builds its view again, as SONiC restarts it.
func RunOrchagent(ctx context.Context, r *swss.Redis, c Common) error {
	for {
		err := runOrchagentOnce(ctx, r, c)
		if ctx.Err() != nil {
			return nil
		}
		if !errors.Is(err, sairedis.ErrUnknown) && !errors.Is(err, swss.ErrUnavailable) {
			return err
		}
		logOf(c).Warn("orchagent starts anew", "because", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}

func runOrchagentOnce(ctx context.Context, r *swss.Redis, c Common) error {
	o, err := NewOrchagent(ctx, r, c)
	if err != nil {
		return err
	}
	defer o.Close()
	if err := o.Start(ctx, time.Now()); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return o.Daemon.Run(ctx) })
	g.Go(func() error { return o.client.Lost(ctx) })
	g.Go(func() error {
		return beat(ctx, r, "orchagent", func(ctx context.Context) error { return o.Daemon.Do(ctx, func() {}) })
	})
	return g.Wait()
}

// RunSyncd runs the daemon syncd with a simulated chip whose time follows the
// wall clock, wired to live interfaces.
func RunSyncd(ctx context.Context, r *swss.Redis, profile saisim.Profile, wires map[string]string, c Common) error {
	notes := make(chan sai.Notification, 1024)
	chip, err := saisim.New(saisim.Config{Profile: profile, Start: time.Now().UTC(), Notify: func(n sai.Notification) {
		select {
		case notes <- n:
		default: // a flood of events while Redis is slow: the oldest are enough
		}
	}})
	if err != nil {
		return err
	}
	syncd := NewSyncd(r, c.backend(chip), c)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return syncd.Serve(ctx) })
	g.Go(func() error { syncd.RunTimers(ctx); return nil })
	g.Go(func() error { return beat(ctx, r, "syncd", nil) })
	g.Go(func() error {
		for {
			select {
			case <-ctx.Done():
				return nil
			case n := <-notes:
				syncd.Notify(ctx, n)
			}
		}
	})
	g.Go(func() error { return runWires(ctx, chip, wires, logOf(c)) })
	return ended(g.Wait())
}

func logOf(c Common) *slog.Logger {
	if c.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Log
}

// A wired frame is one that came in from a live interface.
type wired struct {
	port string
	data []byte
}

// runWires moves frames between the live interfaces and the chip, and the
// chip's time on with the wall clock.
func runWires(ctx context.Context, chip *saisim.Chip, wires map[string]string, log *slog.Logger) error {
	raw := map[string]*rawPort{}
	defer func() {
		for _, p := range raw {
			p.close()
		}
	}()
	for _, port := range SortedKeys(wires) {
		p, err := openRawPort(wires[port])
		if err != nil {
			return fmt.Errorf("port %s: %w", port, err)
		}
		raw[port] = p
	}
	frames := make(chan wired, 256)
	g, ctx := errgroup.WithContext(ctx)
	for port, p := range raw {
		g.Go(func() error { return readWire(ctx, port, p, frames) })
	}
	g.Go(func() error { return pump(ctx, chip, raw, frames, log) })
	return g.Wait()
}

func readWire(ctx context.Context, port string, p *rawPort, frames chan<- wired) error {
	for ctx.Err() == nil {
		frame, err := p.read()
		if err != nil {
			return err
		}
		if frame == nil {
			continue
		}
		select {
		case frames <- wired{port, slices.Clone(frame)}:
		case <-ctx.Done():
		}
	}
	return nil
}

// pump is the only goroutine that moves the chip's time: to the wall clock when
// a frame comes in, and to the chip's next event when there is one.
func pump(ctx context.Context, chip *saisim.Chip, raw map[string]*rawPort, frames <-chan wired, log *slog.Logger) error {
	byID := map[saisim.PortID]*rawPort{}
	chip.SetOutput(func(o saisim.Out) {
		if p := byID[o.Port]; p != nil {
			if err := p.write(o.Data); err != nil {
				log.Debug("frame lost", "interface", p.name, "error", err)
			}
		}
	})
	start, timer := time.Now(), time.NewTimer(0)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
			// Ports come and go with the configuration.
			clear(byID)
			for name, p := range raw {
				if id, ok := chip.PortByName(name); ok {
					byID[id] = p
				}
			}
		case f := <-frames:
			id, ok := chip.PortByName(f.port)
			if !ok {
				continue // not configured yet, or no more: nobody listens
			}
			now := chip.CycleAt(time.Since(start))
			chip.Advance(now)
			if err := chip.Receive(id, now, saisim.Frame{Data: f.data, Len: len(f.data)}); err != nil {
				log.Debug("frame refused", "port", f.port, "error", err)
			}
		}
		chip.Advance(chip.CycleAt(time.Since(start)))
		timer.Reset(untilNext(chip, start))
	}
}

// untilNext returns how long the chip has nothing to do, bounded, since a SAI
// call can give it something to do.
func untilNext(chip *saisim.Chip, start time.Time) time.Duration {
	const idle = 100 * time.Millisecond
	at, ok := chip.NextEvent()
	if !ok {
		return idle
	}
	return min(idle, max(0, chip.TrueTime(at).Sub(chip.TrueTime(0))-time.Since(start)))
}
