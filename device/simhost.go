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
	punted []puntedFrame // frames punted since the last step
}

type puntedFrame struct {
	in saisim.PortID
	p  cpuport.Packet
}

// errNoManagement is the error for sending by the management interface in a simulation that has none.
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

// HostDue returns the cycle at which hostd's next timer is due. It returns false if there is none, or no hostd.
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

// Punt accepts a frame that the chip sends to the CPU; it ignores other frames. The chip's output may call it.
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

// Send makes the chip send a frame now.
func (h *simHost) Send(f cpuport.Frame) error {
	if err := f.Check(); err != nil {
		return err
	}
	return daemons.Inject(h.sim.Chip, &f)
}

// step runs hostd: first its due work, then the punted frames.
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

// cpuTick is the longest time that the chip advances before hostd receives the punted frames.
const cpuTick = 10 * time.Microsecond

// until returns the cycle up to which the chip may advance without hostd. This is the chip's next event, or a tick from
// now if that is later, but at most to.
func (h *simHost) until(to saisim.Cycle) saisim.Cycle {
	c := h.sim.Chip
	next, ok := c.NextEvent()
	if !ok {
		return to
	}
	return min(to, max(next, c.Now()+c.CycleAt(cpuTick)))
}
