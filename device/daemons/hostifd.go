package daemons

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"tamtam/host/cpuport"
	"tamtam/host/hostifd"
	"tamtam/host/lacpd"
	"tamtam/host/lldp"
	"tamtam/host/lldpd"
	"tamtam/host/ping"
	"tamtam/host/reports"
	"tamtam/orch"
	"tamtam/orch/forward"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// RunHostIfd runs the daemon hostifd until ctx ends. It maintains Linux interfaces for those of the switch. syncd makes
// and holds their devices, on request over the CPU port that it serves at a socket. The devices outlive this process.
func RunHostIfd(ctx context.Context, r *swss.Redis, socket string, c Common) error {
	kernel, err := hostifd.NewKernel()
	if err != nil {
		return err
	}
	return RunHostIfdOn(ctx, r, kernel, socket, c)
}

// RunHostIfdOn acts like [RunHostIfd], but uses the given kernel for the host interfaces.
func RunHostIfdOn(ctx context.Context, r *swss.Redis, kernel hostifd.Kernel, socket string, c Common) error {
	log := logOf(c)
	h, host := newHealth("hostifd"), hostifd.NewHost(kernel, log)
	line := cpuLine{socket: socket, log: log, why: "not connected to the chip yet"}
	c.faults = newFaultController(h, r, c)
	for _, advice := range kernel.Advice() {
		log.Warn("a setting of the network may keep host interfaces from working", "setting", advice)
	}
	g, running := errgroup.WithContext(ctx)
	g.Go(func() error { return line.run(running, host) })
	g.Go(func() error {
		live := func(ctx context.Context, h *health, claim *swss.Claim) error {
			return runHostifdOnce(ctx, r, kernel, host, &line, c.of(h, claim))
		}
		return runRepeatedly(running, r, h, log, live, swss.ApplDB, swss.StateDB)
	})
	return errors.Join(ended(g.Wait()), host.Close(), leave(ctx, r, h))
}

func runHostifdOnce(
	ctx context.Context, r *swss.Redis, kernel hostifd.Kernel, host *hostifd.Host, line *cpuLine, c Common,
) error {
	d := orch.NewDaemon("hostifd", r, c.Options())
	s := hostifd.New(hostifd.Config{Daemon: d, Redis: r, Host: host, Fallback: schema.MAC(fallbackMAC())})
	is, err := HostConfig(ctx, r)
	if err != nil {
		return err
	}
	var out reportSockets
	defer out.close()
	run := &hostRun{
		d: d, sync: s, lacp: lacpd.New(lacpd.Config{Daemon: d, Redis: r, MAC: is.MAC}),
		lldp: lldpd.New(lldpd.Config{Daemon: d, Redis: r, System: lldp.System{
			MAC: is.MAC, Name: is.Name, Description: is.Description,
		}}),
		reports: reports.New(reports.Config{Daemon: d, Redis: r, Send: out.send}),
	}
	sockets := &pingSockets{}
	sockets.serve(ctx, d, ping.New(ping.Config{Daemon: d, Redis: r, Network: sockets}))
	defer sockets.close()
	counts := forward.NewOwnRows(d, r.DB(swss.CountersDB), schema.CountersHost)
	d.Every(func() time.Duration { return countPeriod }, func(ctx context.Context, _ time.Time) error {
		row, refused := run.lldp.Counts()
		row["drop-cpu-port"] = strconv.FormatUint(refused, 10)
		return counts.Write(ctx, map[string]swss.FieldValues{"hostifd": row})
	})
	c.health.setLacks(func(context.Context) string { return cmp.Or(line.lacks(), s.Lacks()) })
	c.health.attach(d.Alive, d.Hears, d.Watch())
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return d.Run(ctx) })
	g.Go(func() error { return line.daemonRun.serve(ctx, run) })
	g.Go(func() error {
		for {
			err := kernel.Neighbors(ctx, func(n hostifd.Neighbor) { _ = d.Do(ctx, func() { s.Learned(n) }) })
			if ctx.Err() != nil {
				return nil
			}
			logOf(c).Warn("neighbours of Linux are asked for again", "because", err)
			if err := d.Do(ctx, s.Forget); err != nil {
				return ended(err)
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(minRest):
			}
		}
	})
	g.Go(func() error {
		for {
			err := kernel.Links(ctx, func(name string, index int) {
				_ = d.Do(ctx, func() { s.LinkChanged(name, index) })
			})
			if ctx.Err() != nil {
				return nil
			}
			logOf(c).Warn("interfaces of Linux are listed again", "because", err)
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(minRest):
			}
		}
	})
	return g.Wait()
}

// A cpuLine is the connection to the CPU port. It is reopened after syncd has ended.
type cpuLine struct {
	socket    string
	log       *slog.Logger
	daemonRun runLine

	mu  sync.Mutex
	why string // why there is no connection; "" if there is one
}

func (l *cpuLine) lacks() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.why
}

func (l *cpuLine) report(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why == why {
		return
	}
	if l.why = why; why != "" {
		l.log.Warn("the host interfaces are not connected to the chip", "because", why)
	} else {
		l.log.Info("the host interfaces are connected to the chip", "socket", l.socket)
	}
}

// run keeps the connection until ctx ends. While another client, such as hostd, has the CPU port, it reports that and
// retries.
func (l *cpuLine) run(ctx context.Context, host *hostifd.Host) error {
	for ctx.Err() == nil {
		conn, err := cpuport.DialInterfaces(l.socket, "hostifd", host.Hold)
		if err == nil {
			l.report("")
			host.SetKeeper(conn)
			l.daemonRun.connect(ctx, conn)
			err = l.receive(ctx, conn)
			l.daemonRun.connect(context.WithoutCancel(ctx), nil)
			conn.Close()
		}
		if ctx.Err() != nil {
			break // the devices stay with syncd, their keeper
		}
		host.SetKeeper(nil)
		l.report(fmt.Sprintf("the CPU port at %s: %v", l.socket, err))
		select {
		case <-ctx.Done():
		case <-time.After(maxRest / 4):
		}
	}
	return nil
}

// receive passes on the frames of the CPU port until the connection ends.
func (l *cpuLine) receive(ctx context.Context, conn *cpuport.Conn) error {
	for {
		p, err := conn.Receive(ctx)
		if refused := (*cpuport.Refusal)(nil); errors.As(err, &refused) {
			l.log.Warn("syncd refuses", "because", refused.Reason)
			continue
		}
		if err != nil {
			return err
		}
		l.daemonRun.receive(ctx, p)
	}
}

// A hostRun consumes frames of the CPU port, besides the host interfaces, during one run of the daemon.
type hostRun struct {
	d       *orch.Daemon
	sync    *hostifd.Sync
	lacp    *lacpd.Speaker
	lldp    *lldpd.Speaker
	reports *reports.Sender
}

// A runLine connects the current run of the daemon to the CPU port, which exists only while syncd runs.
type runLine struct {
	mu   sync.Mutex
	conn *cpuport.Conn // nil means that there is none
	run  *hostRun      // nil means that there is none
}

// serve connects this run to the CPU port until ctx ends.
func (l *runLine) serve(ctx context.Context, run *hostRun) error {
	l.mu.Lock()
	l.run = run
	err := l.report(ctx)
	l.mu.Unlock()
	<-ctx.Done()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.run = nil
	return ended(err)
}

// connect sets the connection to the CPU port; nil means that there is none any more.
func (l *runLine) connect(ctx context.Context, conn *cpuport.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn = conn
	_ = l.report(ctx) // an ended run does not need the report
}

func (l *runLine) report(ctx context.Context) error {
	if l.run == nil {
		return nil
	}
	var line lacpd.Sender
	if l.conn != nil {
		line = l.conn
	}
	return l.run.d.Do(ctx, func() {
		l.run.lacp.SetLine(line)
		l.run.lldp.SetLine(line)
		l.run.sync.SetLine(line)
	})
}

// receive passes a frame to its consumer.
func (l *runLine) receive(ctx context.Context, p cpuport.Packet) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.run == nil {
		return
	}
	_ = l.run.d.Do(ctx, func() { // a run that has ended needs no frame
		switch {
		case reports.Is(&p):
			l.run.reports.Receive(p)
		case p.Len != len(p.Data): // truncated
		case lacpd.Is(p.Data):
			l.run.lacp.Receive(p.Port, p.Data)
		case lldpd.Is(p.Data):
			l.run.lldp.Receive(p.Port, p.Data)
		default:
			l.run.sync.Received(&p)
		}
	})
}
