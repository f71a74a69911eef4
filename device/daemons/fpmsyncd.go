package daemons

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sync/errgroup"

	"tamtam/host/fpmsyncd"
	"tamtam/orch"
	"tamtam/swss"
)

// FPMConfig configures how fpmsyncd listens to zebra.
type FPMConfig struct {
	Listen  string        // HOST:PORT; "" means fpmsyncd.Address
	Restart time.Duration // time for which routes stay if zebra does not send them again; 0 means fpmsyncd.RestartTime
	// Listening, if set, is called with the address whenever zebra can connect.
	Listening func(net.Addr)
}

// RunFPMSyncd runs the daemon fpmsyncd until ctx ends. It writes the routes of FRR's zebra to APPL_DB.
func RunFPMSyncd(ctx context.Context, r *swss.Redis, cfg FPMConfig, c Common) error {
	if cfg.Listen == "" {
		cfg.Listen = fpmsyncd.Address
	}
	h := newHealth("fpmsyncd")
	c.faults = newFaultController(h, r, c)
	live := func(ctx context.Context, h *health, claim *swss.Claim) error {
		return runFpmsyncdOnce(ctx, r, cfg, c.of(h, claim))
	}
	err := runRepeatedly(ctx, r, h, logOf(c), live, swss.ApplDB, swss.StateDB)
	return errors.Join(err, leave(ctx, r, h))
}

// runFpmsyncdOnce runs fpmsyncd once. It starts with the content of ROUTE_TABLE. zebra has to connect again and then
// sends all routes.
func runFpmsyncdOnce(ctx context.Context, r *swss.Redis, cfg FPMConfig, c Common) error {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.Listen)
	if err != nil {
		return fmt.Errorf("listen for zebra: %w", err)
	}
	defer ln.Close()
	d := orch.NewDaemon("fpmsyncd", r, c.Options())
	var links linkNames
	s := fpmsyncd.New(fpmsyncd.Config{Daemon: d, Redis: r, Name: links.name, Restart: cfg.Restart})
	c.health.setLacks(func(context.Context) string { return s.Lacks() })
	c.health.attach(d.Alive, d.Hears, d.Watch())
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return d.Run(ctx) })
	g.Go(func() error { return s.Serve(ctx, ln, d.Do) })
	if cfg.Listening != nil {
		cfg.Listening(ln.Addr())
	}
	return g.Wait()
}

// linkNames caches the names of the host's interfaces by index. It belongs to one goroutine.
type linkNames struct {
	byIndex map[uint32]string
	read    time.Time
}

// Minimum waits between two reads of all interfaces: for an unknown index, and for a known one, which may have been
// renamed.
const (
	unknownAfter = 20 * time.Millisecond
	knownAfter   = time.Second
)

// name returns the name of an interface, "" if there is none.
func (l *linkNames) name(index uint32) string {
	name, known := l.byIndex[index]
	age := time.Since(l.read)
	if known && age < knownAfter || !known && age < unknownAfter {
		return name
	}
	all, err := net.Interfaces()
	if err != nil {
		return name
	}
	l.read, l.byIndex = time.Now(), make(map[uint32]string, len(all))
	for _, i := range all {
		l.byIndex[uint32(i.Index)] = i.Name
	}
	return l.byIndex[index]
}
