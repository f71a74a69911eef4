package daemons

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"tamtam/host/cpuport"
	"tamtam/host/netdev"
	"tamtam/saisim"
)

// A netdevs holds the host interfaces of the chips of a process. It makes them when a client of the CPU port first
// requests them. They stay until the process ends, or until a client of the CPU port requests the frames itself.
type netdevs struct {
	kernel netdev.Kernel
	log    *slog.Logger
	begun  chan *cpuport.Line
	moved  chan struct{}                          // receives a value when the chip's HOSTIF objects have changed
	ports  atomic.Pointer[[]saisim.HostInterface] // the HOSTIF objects; nil means that the chip had none yet

	mu   sync.Mutex
	host *netdev.Host // nil means that there are no host interfaces
}

func newNetdevs(kernel netdev.Kernel, log *slog.Logger) *netdevs {
	if kernel == nil {
		kernel = netdev.NewKernel()
	}
	return &netdevs{kernel: kernel, log: log, begun: make(chan *cpuport.Line, 1), moved: make(chan struct{}, 1)}
}

// changed accepts the HOSTIF objects of ports. It may be called with the chip locked.
func (n *netdevs) changed(list []saisim.HostInterface) {
	n.ports.Store(&list)
	n.wake()
}

func (n *netdevs) wake() {
	select {
	case n.moved <- struct{}{}:
	default:
	}
}

// reset prepares for another chip, whose HOSTIF objects do not exist yet, or for no chip.
func (n *netdevs) reset() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ports.Store(nil)
	if n.host != nil {
		n.host.SetPorts(nil, true)
	}
}

// Begin implements [cpuport.Keeper].
func (n *netdevs) Begin(l *cpuport.Line) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.host != nil {
		return errors.New("the host interfaces that there were have not ended yet")
	}
	n.host = netdev.NewHost(n.kernel, n.log, l.Hold)
	n.begun <- l
	n.wake()
	return nil
}

// Set implements [cpuport.Keeper].
func (n *netdevs) Set(i cpuport.Interface) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.host == nil {
		return fmt.Errorf("interface %s: there are no host interfaces", i.Name)
	}
	return n.host.Set(i)
}

// look updates the devices of ports to match the HOSTIF objects.
func (n *netdevs) look() {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.ports.Load()
	if list == nil || n.host == nil {
		return
	}
	ports := make([]netdev.Port, len(*list))
	for i, p := range *list {
		ports[i] = netdev.Port(p)
	}
	n.host.SetPorts(ports, false)
}

// lacks returns which devices are not as they should be, "" if all are.
func (n *netdevs) lacks() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.host == nil {
		return ""
	}
	return n.host.Trouble()
}

// Waits between checks of the devices, which another program may have removed, and between reports of lost frames.
const (
	netdevPeriod = 2 * time.Second
	lostPeriod   = 10 * time.Second
)

// run serves host interfaces until ctx ends. Then it removes them, unless keep leaves them for the next process.
func (n *netdevs) run(ctx context.Context, keep bool) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case l := <-n.begun:
			err := n.serve(ctx, l, keep)
			if ctx.Err() != nil {
				return err
			}
			n.log.Info("the host interfaces end, since the CPU port has another client", "err", err)
		}
	}
}

func (n *netdevs) serve(ctx context.Context, l *cpuport.Line, keep bool) error {
	n.mu.Lock()
	host := n.host
	n.mu.Unlock()
	g, running := errgroup.WithContext(ctx)
	g.Go(func() error { return host.Serve(running, l) })
	g.Go(func() error { n.follow(running, host); return nil })
	_ = g.Wait() // the line or ctx has ended
	err := l.Close()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.host = nil
	return errors.Join(err, host.Close(keep && ctx.Err() != nil))
}

// follow checks the HOSTIF objects whenever they have changed, and periodically.
func (n *netdevs) follow(ctx context.Context, host *netdev.Host) {
	looks, losses := time.NewTicker(netdevPeriod), time.NewTicker(lostPeriod)
	defer looks.Stop()
	defer losses.Stop()
	lost := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.moved:
			n.look()
		case <-looks.C:
			n.look()
		case <-losses.C:
			if now := host.Lost(); now != lost {
				lost = now
				n.log.Warn("frames were lost at the host interfaces, in all", "frames", strings.TrimSpace(now))
			}
		}
	}
}
