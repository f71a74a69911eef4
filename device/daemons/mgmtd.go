package daemons

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"tamtam/device/sender"
	"tamtam/device/switchpage"
	"tamtam/mgmt"
	"tamtam/mgmt/hftrecords"
	"tamtam/mgmt/metrics"
	"tamtam/mgmt/restconf"
	"tamtam/swss"
)

// Addresses holds the addresses, HOST:PORT, at which mgmtd listens besides that of gNMI, and the outputs to which it
// sends. "" means that mgmtd does not listen.
type Addresses struct {
	Metrics string // for Prometheus
	// MetricsOpen opens the metrics to every client, even if users are configured.
	MetricsOpen bool
	REST        string // RESTCONF
	Page        string // the switch's page, for browsers
	Send        sender.Flags
	// Streams is the socket at which mgmtd receives high-frequency telemetry from syncd. If it is zero, mgmtd does not,
	// or syncd is in this process.
	Streams StreamReader
	Version string // tamtam's version, as outputs report it
}

// RunMgmt runs the daemon mgmtd until ctx ends.
func RunMgmt(ctx context.Context, cfg mgmt.Config, at Addresses, c Common) error {
	if at.Streams != (StreamReader{}) {
		cfg.Records = hftrecords.New(hftrecords.SessionsOf(cfg.Redis), time.Now)
	}
	s, err := NewMgmt(cfg)
	if err != nil {
		return err
	}
	own, err := OpenPage(s, cfg.Redis, at, c)
	if err == nil {
		err = s.Begin(ctx, "CONFIG_DB, as it was found", false, nil)
	}
	if err != nil {
		s.Close()
		if own != nil {
			own.Close()
		}
		return err
	}
	return ServeMgmt(ctx, cfg.Redis, s, own, at, c)
}

// OpenPage listens for the switch's page. It is called before anything runs, so that an address in use is reported
// early. It returns nil if no page is configured.
func OpenPage(s *mgmt.Server, r *swss.Redis, at Addresses, c Common) (*switchpage.Server, error) {
	if at.Page == "" {
		return nil, nil
	}
	return switchpage.New(switchpage.Config{Engine: s, Redis: r, Addr: at.Page, Log: logOf(c.Named("mgmtd"))})
}

// NewMgmt makes the server, whose log contains the daemon's name.
func NewMgmt(cfg mgmt.Config) (*mgmt.Server, error) {
	if cfg.Logger != nil {
		cfg.Logger = cfg.Logger.With("daemon", "mgmtd")
	}
	return mgmt.NewServer(cfg)
}

// ServeMgmt serves until ctx ends. It rejects clients, with the reason, while the databases are unusable or another
// mgmtd works on them. own is the switch's page. nil means that there is none.
func ServeMgmt(ctx context.Context, r *swss.Redis, s *mgmt.Server, own *switchpage.Server, at Addresses, c Common,
) error {
	c = c.Named("mgmtd")
	h, a := newHealth("mgmtd"), NewAlarms(r)
	newFaultController(h, r, c)
	h.heed = s.Refuse
	a.standby, a.troubles = h.isSilent, s.Troubles
	a.warn = func(text string) { logOf(c).Warn(text) }
	live := func(ctx context.Context, h *health, claim *swss.Claim) error {
		err := s.Live(ctx, claim, h.report)
		if ctx.Err() == nil {
			a.lost(err)
		}
		return err
	}
	known := metrics.New(r, daemons)
	known.AskDrops(func(ctx context.Context) (metrics.Drops, error) { return dropsOf(ctx, s) })
	out := sender.New(sender.Config{
		Flags: at.Send, Redis: r, Metrics: known, From: s, Version: at.Version, Log: logOf(c), Standby: h.isSilent,
	})
	s.AlsoAudit(out.Handler())
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.Serve(ctx) })
	g.Go(func() error { return a.Run(ctx) })
	if at.Metrics != "" {
		g.Go(func() error {
			web, err := mgmt.LooksOf(s).Listen(at.Metrics, at.MetricsOpen, metrics.Server(known))
			if err == nil {
				err = web.Serve(ctx)
			}
			if err != nil {
				return fmt.Errorf("metrics: %w", err)
			}
			return nil
		})
	}
	g.Go(func() error { return out.Run(ctx) })
	if at.Streams != (StreamReader{}) {
		g.Go(func() error { return at.Streams.Listen(ctx, s.Records()) })
	}
	if at.REST != "" {
		g.Go(func() error {
			rest, err := restconf.New(restconf.Config{Engine: s, Addr: at.REST, Log: logOf(c)})
			if err != nil {
				return err
			}
			return rest.Serve(ctx)
		})
	}
	if own != nil {
		g.Go(func() error { return own.Serve(ctx) })
	}
	g.Go(func() error {
		// mgmtd does not read ASIC_DB and FLEX_COUNTER_DB, but raises an alarm when they are emptied.
		return runRepeatedly(ctx, r, h, logOf(c), live, append(mgmt.Databases(), swss.ASICDB, swss.FlexCounterDB)...)
	})
	return ended(g.Wait())
}
