package device

import (
	"context"
	"net/netip"
	"slices"

	"tamtam/device/daemons"
	"tamtam/host/cpuport"
	"tamtam/host/sflow"
	"tamtam/orch"
	"tamtam/saisim"
)

// A simSFlow is sflowd in simulated time; nil means that sflowd does not run.
type simSFlow struct {
	sim   *Sim
	d     *orch.Daemon
	agent *sflow.Daemon
	came  []sampledFrame // samples that arrived since the last step
	lost  uint64         // samples lost for lack of space in came
}

// A simSocket passes a collector's datagrams to the creator of the simulation.
type simSocket struct {
	to   netip.AddrPort
	send func(netip.AddrPort, []byte) error
}

func (s simSocket) Send(b []byte) error { return s.send(s.to, b) }
func (s simSocket) Local() netip.Addr   { return netip.Addr{} }
func (s simSocket) Refused() error      { return nil }
func (s simSocket) Close() error        { return nil }

type sampledFrame struct {
	in, out saisim.PortID
	p       cpuport.Packet
}

func (s *Sim) startSFlow(send func(netip.AddrPort, []byte) error) {
	x := &simSFlow{sim: s, d: orch.NewDaemon("sflowd", s.Redis, s.common.Options())}
	x.agent = sflow.New(sflow.Config{Daemon: x.d, Redis: s.Redis, Lost: func() (uint64, bool) { return x.lost, true },
		Dial: func(to netip.AddrPort) (sflow.Socket, error) { return simSocket{to, send}, nil }})
	s.sflow = x
	x.watch()
}

// watch registers for the chip's drops.
func (x *simSFlow) watch() {
	if x == nil {
		return
	}
	x.sim.Chip.OnDrop(x.dropped)
}

// dropped accepts a drop, if it is one that collectors are notified of.
func (x *simSFlow) dropped(d *saisim.Drop) {
	if daemons.IsDrop(d) {
		x.enqueue(daemons.DropPacket(x.sim.Chip.TrueTime(d.At), d), d.In, d.Port)
	}
}

// sampled accepts a sample. The chip's output may call it.
func (x *simSFlow) sampled(o *saisim.Out) {
	if x != nil {
		x.enqueue(daemons.SamplePacket(x.sim.Chip, o), o.In, o.Sample.Port)
	}
}

func (x *simSFlow) enqueue(p cpuport.Packet, in, out saisim.PortID) {
	if len(x.came) == cpuport.Queue {
		x.lost++
		return
	}
	p.Data = slices.Clone(p.Data)
	x.came = append(x.came, sampledFrame{in, out, p})
}

// daemon hands all new samples to the daemon and returns it.
func (x *simSFlow) daemon(ctx context.Context) []*orch.Daemon {
	if x == nil {
		return nil
	}
	came := x.came
	x.came = nil
	_ = x.d.Do(ctx, func() { // fails only when ctx ends, and then the step does too
		for _, f := range came {
			f.p.Port, f.p.Sample.Out = x.sim.Chip.PortName(f.in), x.sim.Chip.PortName(f.out)
			x.agent.Packet(&f.p)
		}
	})
	return []*orch.Daemon{x.d}
}
