package daemons

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sync/errgroup"

	sflowmgr "tamtam/cfgmgr/sflow"
	"tamtam/host/sflow"
	"tamtam/orch"
	"tamtam/swss"
)

// RunSFlowd runs the daemon sflowd until ctx ends: the switch's sFlow agent. It waits for the chip's samples, and
// attaches again after they were lost.
func RunSFlowd(ctx context.Context, r *swss.Redis, line func() (CPULine, error), c Common) error {
	return runBeside(ctx, "sflowd", r, c, func(ctx context.Context, c Common) error {
		return runSflowdOnce(ctx, r, line, c)
	}, swss.ApplDB, swss.StateDB, swss.CountersDB)
}

func runSflowdOnce(ctx context.Context, r *swss.Redis, line attach, c Common) error {
	samples := newHeldLine("sflowd", "samples", logOf(c))
	d := orch.NewDaemon("sflowd", r, c.Options())
	agent := sflow.New(sflow.Config{Daemon: d, Redis: r, Dial: dialCollector, Host: hostIP, Lost: func() (uint64, bool) {
		n, ok := samples.counted()
		return n.Full, ok
	}})
	c.health.setLacks(samples.lack)
	c.health.attach(d.Alive, d.Hears, d.Watch())
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return d.Run(ctx) })
	g.Go(func() error {
		return samples.run(ctx, line, func(ctx context.Context, l CPULine) error {
			for {
				p, err := l.Receive(ctx)
				if err == nil {
					err = d.Do(ctx, func() { agent.Packet(&p) })
				}
				if err != nil {
					return err
				}
			}
		})
	})
	err := g.Wait()
	agent.Close()
	return err
}

// agentOf returns a function that reports the state of sflowd.
func agentOf(r *swss.Redis) func(context.Context) (sflowmgr.Agent, error) {
	return func(ctx context.Context) (a sflowmgr.Agent, err error) {
		switch state, heard, err := ReadState(ctx, r, "sflowd"); {
		case err != nil:
			return a, err
		case !heard:
			a.Away = fmt.Sprintf("sflowd, which sends, has not been heard of for %v", beatTTL)
		case state.State != StateReady:
			a.Lacks = "sflowd is not ready: " + state.Reason
		}
		return a, nil
	}
}

// A collectorSocket sends to a collector by the host's own routes. The host reports on it if the collector rejects
// datagrams.
type collectorSocket struct{ *net.UDPConn }

func dialCollector(to netip.AddrPort) (sflow.Socket, error) {
	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to))
	if err != nil {
		return nil, err
	}
	return collectorSocket{c}, nil
}

// Refused returns the error that the host has recorded for datagrams sent earlier, nil if there is none.
func (s collectorSocket) Refused() error { return pendingError(s.UDPConn) }

// sendTime is how long a datagram may wait for space in the kernel.
const sendTime = 10 * time.Millisecond

func (s collectorSocket) Send(b []byte) error {
	if err := s.SetWriteDeadline(time.Now().Add(sendTime)); err != nil {
		return err
	}
	_, err := s.Write(b)
	return err
}

func (s collectorSocket) Local() netip.Addr {
	if at, ok := s.LocalAddr().(*net.UDPAddr); ok {
		return at.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// hostIP returns the first address of an interface of this host, IPv4 before IPv6. It is invalid if there is none.
func hostIP(name string) (first netip.Addr) {
	at, err := net.InterfaceByName(name)
	if err != nil {
		return first
	}
	all, err := at.Addrs()
	if err != nil {
		return first
	}
	for _, a := range all {
		p, err := netip.ParsePrefix(a.String())
		switch addr := p.Addr(); {
		case err != nil || addr.IsLinkLocalUnicast():
		case !first.IsValid(), first.Is6() && addr.Is4():
			first = addr
		}
	}
	return first
}
