package daemons

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"tamtam/host/cpuport"
	"tamtam/saisim"
)

// A cpuSide is a chip's side of its CPU port; with a nil hub, no client can be attached.
type cpuSide struct {
	chip    *saisim.Chip
	hub     *cpuport.Hub
	samples *cpuport.Hub // receives only sampled and dropped packets
}

// newCPUSide connects a chip to hubs, which may have belonged to another chip before.
func newCPUSide(chip *saisim.Chip, hub, samples *cpuport.Hub) cpuSide {
	for _, h := range []*cpuport.Hub{hub, samples} {
		if h != nil {
			h.SetNames(func(port uint16) string { return chip.PortName(saisim.PortID(port)) })
		}
	}
	c := cpuSide{chip, hub, samples}
	if samples != nil {
		chip.OnDrop((&droppedSide{cpuSide: c}).dropped)
	}
	return c
}

// punt passes on a frame that the chip sends to the CPU.
func (c cpuSide) punt(o *saisim.Out) {
	if o.Sample.Rate > 0 {
		c.sampled(o)
		return
	}
	c.hub.Punt(cpuport.Packet{
		VLAN: o.VLAN, Trap: o.Trap.String(), Time: c.chip.TrueTime(o.At), Data: o.Data, Len: o.Len,
	}, uint16(o.In))
}

// sampled passes on a sample.
func (c cpuSide) sampled(o *saisim.Out) {
	p := SamplePacket(c.chip, o)
	c.samples.PuntSample(p, uint16(o.In), uint16(o.Sample.Port))
}

// mostOfFrame is the number of bytes of a frame that a sample contains. It exceeds the number that datagrams contain.
const mostOfFrame = 256

// SamplePacket returns a sample as clients of a CPU port receive it, but without names of ports.
func SamplePacket(chip *saisim.Chip, o *saisim.Out) cpuport.Packet {
	s := &o.Sample
	p := cpuport.Packet{
		VLAN: o.VLAN, Trap: o.Trap.String(), Time: chip.TrueTime(o.At),
		Data: o.Data[:min(len(o.Data), mostOfFrame)], Len: o.Len,
		Sample: cpuport.Sample{
			Rate: s.Rate, Egress: s.Egress, Pool: s.Pool, Lost: s.Lost, Copies: s.Copies, OutVLAN: s.VLAN,
			NextHop: s.NextHop, Prefix: s.Prefix, Rule: s.Rule,
		},
	}
	if s.Entry != 0 && s.Rule == "" { // the rule is unknown, but the sample does not come from the port's sampler
		p.Sample.Rule = s.Entry.String()
	}
	if s.Dropped {
		p.Sample.Why = s.Why.String()
	}
	return p
}

// A droppedSide reports packets that the chip drops. Per second of the chip's time, it reports at most mostDrops drops.
type droppedSide struct {
	cpuSide
	second int64
	n      int
	lost   map[saisim.PortID]uint64 // unreported drops by ingress port
}

// mostDrops is the largest limit that an operator can set, in drops per second.
const mostDrops = 500

// dropped passes on a drop, or counts it as lost.
func (c *droppedSide) dropped(d *saisim.Drop) {
	if !IsDrop(d) || !c.samples.Listens() {
		return
	}
	at := c.chip.TrueTime(d.At)
	if s := at.Unix(); s != c.second {
		c.second, c.n = s, 0
	}
	if c.n++; c.n > mostDrops {
		if c.lost == nil {
			c.lost = map[saisim.PortID]uint64{}
		}
		c.lost[d.In]++
		return
	}
	p := DropPacket(at, d)
	p.Sample.Lost = c.lost[d.In]
	c.samples.PuntSample(p, uint16(d.In), uint16(d.Port))
}

// trapSample is SONiC's name for the trap of samples.
const trapSample = "sample_packet"

// IsDrop reports whether a drop is one that collectors are notified of. It returns false for copies for mirror
// sessions, for samples, and for packets that the CPU received.
func IsDrop(d *saisim.Drop) bool { return !d.Mirror && !d.Punted && d.Trap.String() != trapSample }

// DropPacket returns a dropped packet as clients of a CPU port receive it, but without names of ports.
func DropPacket(at time.Time, d *saisim.Drop) cpuport.Packet {
	return cpuport.Packet{
		Time: at, Data: d.Data[:min(len(d.Data), mostOfFrame)], Len: d.Len,
		Sample: cpuport.Sample{Why: d.Why.String(), Queued: d.Queued, Queue: d.Queue, Depth: d.Depth},
	}
}

// frames returns the channel of the frames that a client sends.
func (c cpuSide) frames() <-chan cpuport.Frame { return c.hub.Frames() }

// send makes the chip send a client's frame now, and returns any error to the client.
func (c cpuSide) send(f cpuport.Frame) { c.hub.Done(f, Inject(c.chip, &f)) }

// Inject makes the chip send a frame of the host.
func Inject(chip *saisim.Chip, f *cpuport.Frame) error {
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
