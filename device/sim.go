package device

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	sflowmgr "tamtam/cfgmgr/sflow"
	"tamtam/device/daemons"
	"tamtam/host/reports"
	"tamtam/orch"
	"tamtam/sai"
	sairedis "tamtam/sai/redis"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/swss"
)

// A Sim is a whole switch in simulated time. Nothing in it runs by itself: [Sim.RunUntilIdle] runs the daemons until
// they have no work left, and [Sim.Advance] lets time pass. Only syncd's request loop has a goroutine, because an orch
// waits for its answers. It works only while an orch does.
type Sim struct {
	Redis     *swss.Redis
	Chip      *saisim.Chip
	Managers  *orch.Daemon
	Orchagent *daemons.Orchagent
	Syncd     *sairedis.Server
	// AfterWork, if not nil, is called whenever the daemons have done all work of an instant.
	AfterWork func(context.Context) error

	host      *simHost  // nil means that hostd does not run
	sflow     *simSFlow // nil means that sflowd does not run
	common    daemons.Common
	chip      saisim.Config
	attach    func(*saisim.Chip)
	streams   func(*Sim, saisim.StreamMessage) error
	streaming bool // the chip streams, and streams wants it
	notes     []sai.Notification
	nextPoll  time.Time
	calm      saisim.Cycle // cycle before which no timer is due; 0 means unknown
	handed    uint64       // number of frames received from captures
	stopSyncd func() error
	ownRedis  bool
}

// SimConfig describes the switch to simulate.
type SimConfig struct {
	daemons.Common
	Profile profile.Profile
	// Start is the time of day at cycle 0; the zero time means 1970.
	Start time.Time
	// Redis is the server to use; nil starts an embedded one.
	Redis *swss.Redis
	// Config is loaded into CONFIG_DB before anything starts.
	Config ConfigDB
	// Oracle is the number of flows per sketch task and bank that the chip counts exactly; 0 means none.
	Oracle int
	// Host runs hostd: the switch is a host at its router interfaces. The consumer of the chip's output must pass
	// frames for the CPU to [Sim.Punt].
	Host bool
	// SFlow, if not nil, runs sflowd and receives each of its datagrams. The bytes are valid during the call only.
	// The consumer of the chip's output must pass frames for the CPU to [Sim.Punt].
	SFlow func(to netip.AddrPort, datagram []byte) error
	// Reports, with Host, receives each drop report that leaves by the management interface. Its bytes are valid
	// during the call only.
	Reports func(reports.Datagram) error
	// Streams, if not nil, receives each message of high-frequency telemetry.
	Streams func(*Sim, saisim.StreamMessage) error
	// Attach, if not nil, is called with every new chip, also after a restart of syncd.
	Attach func(*saisim.Chip)
}

// NewSim assembles and starts a switch. [Sim.RunUntilIdle] applies its configuration, and later writes to CONFIG_DB.
func NewSim(ctx context.Context, cfg SimConfig) (*Sim, error) {
	s := &Sim{Redis: cfg.Redis, common: cfg.Common, attach: cfg.Attach, streams: cfg.Streams, ownRedis: cfg.Redis == nil}
	if err := s.start(ctx, cfg); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Sim) start(ctx context.Context, cfg SimConfig) (err error) {
	s.common.StaticLAGs = s.common.StaticLAGs || !cfg.Host
	s.common.SFlowAgent = func(context.Context) (a sflowmgr.Agent, _ error) {
		if cfg.SFlow == nil {
			a.Away = "there is no sflowd, which sends, in this simulation"
		}
		return a, nil
	}
	if s.Redis == nil {
		if s.Redis, err = swss.Open(ctx, "embedded"); err != nil {
			return err
		}
	}
	if err := cfg.Config.Load(ctx, s.Redis); err != nil {
		return err
	}
	if cfg.Start.IsZero() {
		cfg.Start = time.Unix(0, 0).UTC()
	}
	s.chip = saisim.Config{
		Profile: cfg.Profile, Start: cfg.Start, Oracle: cfg.Oracle,
		Notify: func(n sai.Notification) { s.notes = append(s.notes, n) },
	}
	if err := s.startSyncd(ctx); err != nil {
		return err
	}
	s.Managers = daemons.NewManagers(s.Redis, s.common.Named("tammgrd"))
	if err := s.startOrchagent(ctx); err != nil {
		return err
	}
	if cfg.SFlow != nil {
		s.startSFlow(cfg.SFlow)
	}
	if !cfg.Host {
		return nil
	}
	return s.startHost(ctx, cfg.Reports)
}

// Now returns the time of day.
func (s *Sim) Now() time.Time { return s.Chip.TrueTime(s.Chip.Now()) }

func (s *Sim) startSyncd(ctx context.Context) error {
	chip, err := saisim.New(s.chip)
	if err != nil {
		return err
	}
	s.Chip, s.calm = chip, 0
	if s.attach != nil {
		s.attach(chip)
	}
	s.sflow.watch()
	c := s.common.Named("syncd")
	c.Now = func() time.Time { return chip.TrueTime(chip.Now()) }
	s.Syncd = daemons.NewSyncd(s.Redis, s.common.Layered(chip), c)
	if err := s.Syncd.Load(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- s.Syncd.Serve(ctx) }()
	s.stopSyncd = func() error {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("syncd: %w", err)
		}
		return nil
	}
	s.nextPoll = time.Time{}
	return nil
}

func (s *Sim) startOrchagent(ctx context.Context) (err error) {
	s.calm = 0
	s.Orchagent, err = daemons.NewOrchagent(ctx, s.Redis, s.common.Named("orchagent"))
	if err != nil {
		return err
	}
	return s.Orchagent.Start(ctx, s.Now())
}

// RunUntilIdle steps all daemons in a fixed order, round after round, until none has work left at this instant.
func (s *Sim) RunUntilIdle(ctx context.Context) error {
	s.calm = 0
	for {
		worked := s.notify(ctx)
		if s.host != nil {
			w, err := s.host.step(ctx, s.Now())
			if err != nil {
				return fmt.Errorf("hostd: %w", err)
			}
			worked = worked || w
		}
		for _, d := range append([]*orch.Daemon{s.Managers, s.Orchagent.Daemon}, s.sflow.daemon(ctx)...) {
			w, err := d.Step(ctx, s.Now())
			if err != nil {
				return fmt.Errorf("%s: %w", d.Name(), err)
			}
			worked = worked || w
		}
		if !worked {
			break
		}
	}
	s.streaming = s.streams != nil && s.Chip.StreamInterval() > 0
	if s.AfterWork != nil {
		return s.AfterWork(ctx)
	}
	return nil
}

// notify passes on the chip's notifications since the last call.
func (s *Sim) notify(ctx context.Context) (worked bool) {
	notes := s.notes
	s.notes = nil
	for _, n := range notes {
		s.Syncd.Notifier.Notify(ctx, n)
	}
	return len(notes) > 0
}

// quiet is how long the daemons' timers keep running while the chip has no frames. After that they would only read
// unchanged state. Time then jumps to the next frame, so that a day without traffic is simulated quickly.
const quiet = 10 * time.Minute

// Advance lets time pass until the cycle. The chip works in the meantime. Every timer of a daemon runs at its own time,
// during which the chip stands still. In a long period without frames, timers are skipped. Timers that are due at its
// end run once.
func (s *Sim) Advance(ctx context.Context, to saisim.Cycle) error {
	if s.host == nil && to < s.calm && !s.streaming { // a short step, as between frames, in which no daemon has work
		s.Chip.Advance(to)
		if len(s.notes) > 0 {
			return s.RunUntilIdle(ctx)
		}
		return nil
	}
	var idle time.Time // time since which the chip has had no frames
	for {
		next, timer := s.nextTimer()
		at := to
		if _, frames := s.Chip.NextEvent(); frames {
			idle = time.Time{}
		} else if idle.IsZero() {
			idle = s.Now()
		}
		if timer && (idle.IsZero() || next.Sub(idle) <= quiet) {
			at = min(to, max(s.Chip.Now(), s.Chip.CycleAt(next.Sub(s.Chip.TrueTime(0)))))
		}
		if err := s.advanceChip(ctx, at); err != nil {
			return err
		}
		if !timer {
			return nil
		}
		if s.Now().Before(next) {
			s.calm = s.Chip.CycleAt(next.Sub(s.Chip.TrueTime(0)))
			return nil
		}
		if err := s.runTimers(ctx); err != nil {
			return err
		}
	}
}

// advanceChip advances only the chip, and runs the daemons after each notification or punted frame.
func (s *Sim) advanceChip(ctx context.Context, to saisim.Cycle) error {
	for {
		at := to
		if s.host != nil {
			at = s.host.until(to)
		}
		if s.streaming {
			at = min(at, s.Chip.Now()+s.Chip.CycleAt(streamed))
		}
		s.Chip.Advance(at)
		if err := s.stream(); err != nil {
			return err
		}
		if len(s.notes) > 0 || s.host != nil && len(s.host.punted) > 0 {
			if err := s.RunUntilIdle(ctx); err != nil {
				return err
			}
		}
		if at >= to {
			return nil
		}
	}
}

// streamed is the longest time for which records of high-frequency telemetry wait in the chip, which has room for many.
const streamed = 200 * time.Microsecond

// stream passes on what the chip has streamed.
func (s *Sim) stream() error {
	if !s.streaming {
		return nil
	}
	for _, m := range s.Chip.StreamMessages() {
		if err := s.streams(s, m); err != nil {
			return err
		}
	}
	return nil
}

// nextTimer returns the time when the first timer of a daemon is due.
func (s *Sim) nextTimer() (at time.Time, ok bool) {
	all := []*orch.Daemon{s.Managers, s.Orchagent.Daemon}
	if s.host != nil {
		all = append(all, s.host.d)
	}
	if s.sflow != nil {
		all = append(all, s.sflow.d)
	}
	for _, d := range all {
		if t, is := d.NextTimer(); is && (!ok || t.Before(at)) {
			at, ok = t, true
		}
	}
	if !s.nextPoll.IsZero() && (!ok || s.nextPoll.Before(at)) {
		at, ok = s.nextPoll, true
	}
	return at, ok
}

func (s *Sim) runTimers(ctx context.Context) (err error) {
	if s.nextPoll, err = s.Syncd.Counters.Poll(ctx, s.Now()); err != nil {
		return err
	}
	return s.RunUntilIdle(ctx)
}

// Poll reads every counter into COUNTERS_DB now, as at the end of a run.
func (s *Sim) Poll(ctx context.Context) error {
	if err := s.RunUntilIdle(ctx); err != nil {
		return err
	}
	if err := s.Syncd.Counters.PollAll(ctx); err != nil {
		return err
	}
	if err := s.Orchagent.PollCounters(ctx); err != nil {
		return err
	}
	return s.RunUntilIdle(ctx)
}

// RestartManagers restarts tammgrd.
func (s *Sim) RestartManagers(ctx context.Context) error {
	if err := s.Managers.Close(); err != nil {
		return err
	}
	s.Managers = daemons.NewManagers(s.Redis, s.common.Named("tammgrd"))
	return nil
}

// RestartOrchagent restarts orchagent, which builds its view of the ASIC again. syncd then brings the chip from the
// old view to the new one.
func (s *Sim) RestartOrchagent(ctx context.Context) error {
	if err := s.Orchagent.Close(); err != nil {
		return err
	}
	return s.startOrchagent(ctx)
}

// RestartSyncd restarts syncd with its chip: syncd replays ASIC_DB into the new chip. Packets in flight and counters
// are lost, as when a switch loses its ASIC. Time continues.
func (s *Sim) RestartSyncd(ctx context.Context) error {
	now := s.Now()
	if err := s.stopSyncd(); err != nil {
		return err
	}
	s.chip.Start = now
	return s.startSyncd(ctx)
}

// Close ends all daemons that were started and, if NewSim started it, Redis.
func (s *Sim) Close() error {
	var errs []error
	if s.host != nil {
		errs = append(errs, s.host.d.Close())
	}
	if s.sflow != nil {
		errs = append(errs, s.sflow.d.Close())
	}
	if s.Orchagent != nil {
		errs = append(errs, s.Orchagent.Close())
	}
	if s.Managers != nil {
		errs = append(errs, s.Managers.Close())
	}
	if s.stopSyncd != nil {
		errs = append(errs, s.stopSyncd())
	}
	if s.ownRedis && s.Redis != nil {
		errs = append(errs, s.Redis.Close())
	}
	return errors.Join(errs...)
}
