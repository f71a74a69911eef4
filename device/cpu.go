package device

import (
	"context"
	"fmt"
	"log/slog"
	"net"

	"tamtam/cpuport"
	"tamtam/saisim"
)

// A cpuSide is a chip's side of its CPU port; that of a nil hub is one that nobody listens to.
type cpuSide struct {
	chip *saisim.Chip
	hub  *cpuport.Hub
}

// newCPUSide joins a chip to a hub, which may have been another chip's before.
func newCPUSide(chip *saisim.Chip, hub *cpuport.Hub) cpuSide {
	if hub != nil {
		hub.SetNames(func(port uint16) string { return chip.PortName(saisim.PortID(port)) })
	}
	return cpuSide{chip, hub}
}

// punt takes a frame that the chip gives to the CPU.
func (c cpuSide) punt(o *saisim.Out) {
	c.hub.Punt(cpuport.Packet{
		VLAN: o.VLAN, Trap: o.Trap.String(), Time: c.chip.TrueTime(o.At), Data: o.Data, Len: o.Len,
	}, uint16(o.In))
}

// frames is where the frames come from that a client sends.
func (c cpuSide) frames() <-chan cpuport.Frame { return c.hub.Frames() }

// send has the chip send a frame of the client's, now, and lets the client know if it does not.
func (c cpuSide) send(f cpuport.Frame) { c.hub.Done(f, inject(c.chip, &f)) }

func inject(chip *saisim.Chip, f *cpuport.Frame) error {
	frame := saisim.Frame{Data: f.Data}
	if f.Port == "" {
		return chip.InjectVLAN(f.VLAN, frame)
	}
	id, ok := chip.PortByName(f.Port)
	if !ok {
		return fmt.Errorf("inject: no port %s", f.Port)
	}
	return chip.Inject(id, frame)
}

// serveCPU serves a CPU port at a socket until ctx ends.
func serveCPU(ctx context.Context, hub *cpuport.Hub, l *net.UnixListener, log *slog.Logger) error {
	log.Info("the CPU port is served", "socket", l.Addr())
	return hub.Serve(ctx, l)
}
