package device

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"tamtam/cpuport"
	"tamtam/hoststack/sflow"
	"tamtam/orch"
	"tamtam/swss"
)

// SamplesAtSocket attaches to the samples that a syncd serves at a socket.
func SamplesAtSocket(path string) func() (CPULine, error) {
	return func() (CPULine, error) {
		c, err := cpuport.Dial(path, "sflowd")
		if err != nil {
			return nil, err
		}
		return c, nil
	}
}

func samplesAtHub(hub *cpuport.Hub) attach {
	return func() (CPULine, error) {
		l, err := hub.Attach("sflowd, in this process")
		if err != nil {
			return nil, err
		}
		return l, nil
	}
}

// RunSFlowd runs the daemon sflowd until ctx ends: the switch's sFlow agent. It waits for the chip's samples, and takes
// them again when they were lost.
func RunSFlowd(ctx context.Context, r *swss.Redis, line func() (CPULine, error), c Common) error {
	c = c.named("sflowd")
	h := newHealth("sflowd")
	c.faults = newDesk(h, r, c)
	err := runLives(ctx, r, h, logOf(c), func(ctx context.Context, h *health, claim *swss.Claim) error {
		return sflowdLife(ctx, r, line, c.of(h, claim))
	}, swss.ApplDB, swss.CountersDB)
	return errors.Join(err, leave(ctx, r, h))
}

func sflowdLife(ctx context.Context, r *swss.Redis, line attach, c Common) error {
	var to senders
	defer to.close()
	s := &samplesLine{log: logOf(c).Warn}
	s.lacks.Store(new("there have been no samples to have yet"))
	d := orch.NewDaemon("sflowd", r, c.daemon())
	agent := sflow.New(sflow.Config{Daemon: d, Redis: r, Send: to.send, Lost: func() (uint64, bool) {
		n := s.counts.Load()
		if n == nil {
			return 0, false
		}
		return n.Full, true
	}})
	c.health.setLacks(func(context.Context) string { return *s.lacks.Load() })
	c.health.lives(func(ctx context.Context) error { return d.Do(ctx, func() {}) }, d.Hears, d.Watch())
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return d.Run(ctx) })
	g.Go(func() error {
		return s.run(ctx, line, func(p cpuport.Packet) error { return d.Do(ctx, func() { agent.Packet(&p) }) })
	})
	return g.Wait()
}

// A samplesLine has the chip's samples, and takes them again when they were lost.
type samplesLine struct {
	log    func(msg string, args ...any)
	lacks  atomic.Pointer[string]         // why there are none to have; "": there are
	counts atomic.Pointer[cpuport.Counts] // as last asked for
}

// run hands over what comes, until ctx ends.
func (s *samplesLine) run(ctx context.Context, line attach, take func(cpuport.Packet) error) error {
	for {
		l, err := line()
		if err == nil {
			s.lacks.Store(new(""))
			err = s.serve(ctx, l, take)
		}
		if ctx.Err() != nil {
			return nil
		}
		why := fmt.Sprintf("no samples: %v", err)
		if was := s.lacks.Swap(&why); *was != why {
			s.log("sflowd waits", "because", why)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(attachPeriod):
		}
	}
}

func (s *samplesLine) serve(ctx context.Context, l CPULine, take func(cpuport.Packet) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		for {
			p, err := l.Receive(ctx)
			if err == nil {
				err = take(p)
			}
			if err != nil {
				return err
			}
		}
	})
	g.Go(func() error {
		tick := time.NewTicker(countPeriod)
		defer tick.Stop()
		for {
			c, err := l.Counts(ctx)
			if err != nil {
				return err
			}
			s.counts.Store(&c)
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
			}
		}
	})
	return errors.Join(g.Wait(), l.Close())
}

// senders are the sockets that datagrams leave by, one for each family, opened when they are needed.
type senders struct{ v4, v6 *net.UDPConn }

// sendTime is how long the kernel may keep a datagram waiting for room.
const sendTime = 10 * time.Millisecond

// send sends a datagram by the host's own routes.
func (s *senders) send(to netip.AddrPort, b []byte) error {
	at, network := &s.v4, "udp4"
	if to.Addr().Is6() {
		at, network = &s.v6, "udp6"
	}
	if *at == nil {
		c, err := net.ListenUDP(network, nil)
		if err != nil {
			return err
		}
		*at = c
	}
	if err := (*at).SetWriteDeadline(time.Now().Add(sendTime)); err != nil {
		return err
	}
	_, err := (*at).WriteToUDPAddrPort(b, to)
	return err
}

func (s *senders) close() {
	for _, c := range []*net.UDPConn{s.v4, s.v6} {
		if c != nil {
			_ = c.Close() // nothing is read
		}
	}
}
