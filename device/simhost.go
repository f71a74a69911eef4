package device

import (
	"context"
	"errors"
	"slices"
	"time"

	"tamtam/device/daemons"
	"tamtam/host/cpuport"
	"tamtam/host/hostd"
	"tamtam/host/reports"
	"tamtam/orch"
	"tamtam/saisim"
)

// A simHost is hostd in simulated time.
type simHost struct {
	sim    *Sim
	d      *orch.Daemon
	host   *hostd.Host
	report *reports.Sender
	punted []puntedFrame // since it last worked
}

type puntedFrame struct {
	in saisim.PortID
	p  cpuport.Packet
}

// errNoManagement is why a switch of a simulation sends nothing by a management interface, unless it is given one.
var errNoManagement = errors.New("the simulation has no management interface")

func (s *Sim) startHost(ctx context.Context, send func(reports.Datagram) error) error {
	if send == nil {
		send = func(reports.Datagram) error { return errNoManagement }
	}
	cfg, err := daemons.HostConfig(ctx, s.Redis)
	if err != nil {
		return err
	}
	h := &simHost{sim: s, d: orch.NewDaemon("hostd", s.Redis, s.common.Options())}
	cfg.Daemon = h.d
	h.host = hostd.New(cfg)
	h.report = reports.New(reports.Config{Daemon: h.d, Redis: s.Redis, Send: send})
	s.host = h
	if _, err := h.d.Step(ctx, s.Now()); err != nil {
		return err
	}
	none := func() (cpuport.Counts, bool) { return cpuport.Counts{}, false }
	return h.d.Do(ctx, func() { h.host.SetLine(h, none) })
}

// HostDue returns the first cycle at which hostd has something to do of its own accord, false if there is no hostd.
func (s *Sim) HostDue() (saisim.Cycle, bool) {
	if s.host == nil {
		return 0, false
	}
	at, ok := s.host.d.NextTimer()
	if !ok {
		return 0, false
	}
	return max(s.Chip.Now(), s.Chip.CycleAt(at.Sub(s.Chip.TrueTime(0)))), true
}

// Punt takes a frame that the chip gives to the CPU; others it leaves alone. It may be called from the chip's output.
func (s *Sim) Punt(o *saisim.Out) {
	if o.Sample.Rate > 0 {
		s.sflow.sampled(o)
		return
	}
	if s.host == nil || o.Port != saisim.CPUPort {
		return
	}
	s.host.punted = append(s.host.punted, puntedFrame{o.In, cpuport.Packet{
		VLAN: o.VLAN, Trap: o.Trap.String(), Time: s.Chip.TrueTime(o.At), Data: slices.Clone(o.Data), Len: o.Len,
	}})
}

// Send has the chip send a frame, now.
func (h *simHost) Send(f cpuport.Frame) error {
	if err := f.Check(); err != nil {
		return err
	}
	return daemons.Inject(h.sim.Chip, &f)
}

// step lets hostd work, first at what is due, then at what was punted.
func (h *simHost) step(ctx context.Context, now time.Time) (worked bool, err error) {
	if worked, err = h.d.Step(ctx, now); err != nil {
		return worked, err
	}
	punted := h.punted
	h.punted = nil
	if len(punted) == 0 {
		return worked, nil
	}
	if err := h.d.Do(ctx, func() {
		for _, x := range punted {
			x.p.Port = h.sim.Chip.PortName(x.in)
			if reports.Is(&x.p) {
				h.report.Receive(x.p)
			} else {
				h.host.Receive(x.p)
			}
		}
	}); err != nil {
		return worked, err
	}
	_, err = h.d.Step(ctx, now)
	return true, err
}

// cpuTick is how long the chip goes on alone, at most, before hostd looks at what was punted.
const cpuTick = 10 * time.Microsecond

// until returns how far the chip may go on alone: to a cycle, or, with frames in it, no further than a tick.
func (h *simHost) until(to saisim.Cycle) saisim.Cycle {
	c := h.sim.Chip
	next, ok := c.NextEvent()
	if !ok {
		return to
	}
	return min(to, max(next, c.Now()+c.CycleAt(cpuTick)))
}
