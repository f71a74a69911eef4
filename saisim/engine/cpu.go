package engine

import (
	"encoding/binary"
	"fmt"

	"tamtam/saisim/tailstamp"
)

// cpu accepts frames from the CPU: at a port's egress, or before the ingress pipe.
type cpu struct {
	*core
	watch    *watch
	programs *programs
	fates    *fates
	queues   *queues
	macs     *macs
	bridge   *bridge
	router   *router
	refresh  func() // updates everything derived from several rows
}

// Inject queues a frame at a port's egress, as the CPU does. The frame bypasses the ingress pipe and is queued at the
// current cycle.
func (c *cpu) Inject(id PortID, f Frame) error {
	p := c.port(id)
	if p == nil {
		return fmt.Errorf("inject: no port %d", id)
	}
	if err := f.check(); err != nil {
		return fmt.Errorf("inject on port %d: %w", id, err)
	}
	pk := c.fromCPU(&f, p.id)
	if c.programs.program != nil {
		c.programs.board(pk)
	}
	if c.tracking {
		pk.graph = c.programs.described()
	}
	c.queues.enqueue(p, c.copy(pk, tagAction{}))
	if c.observer != nil {
		c.watch.sawReplicated(pk)
	}
	c.fates.release(pk)
	return nil
}

// InjectVLAN lets an untagged frame enter the ingress pipe in a VLAN, as the CPU does at the VLAN's router interface.
// It enters at the next cycle, or as soon after as the pipe is free. The bridge sends it to the port of its destination
// address, or floods it, with the tags that each port needs. The rest of the ingress pipe is skipped.
func (c *cpu) InjectVLAN(vid uint16, f Frame) error {
	if vid < 1 || vid > 4094 || c.vlans[vid] == nil {
		return fmt.Errorf("inject: no VLAN %d", vid)
	}
	if err := f.check(); err != nil {
		return fmt.Errorf("inject in VLAN %d: %w", vid, err)
	}
	if binary.BigEndian.Uint16(f.Data[12:]) == etherVLAN {
		return fmt.Errorf("inject in VLAN %d: the frame has a tag, want none: the VLAN's members say how it is tagged", vid)
	}
	pk := c.fromCPU(&f, CPUPort)
	pk.vid, pk.own.pk = vid, pk
	c.enter.Push(timed{c.macs.enters(c.now + 1), pk})
	return nil
}

// check validates a frame from the CPU. It replaces a length of 0 with the length of the data.
func (f *Frame) check() error {
	if f.Len == 0 {
		f.Len = len(f.Data)
	}
	if len(f.Data) < ethernetHeader || f.Len < len(f.Data) || f.Len > maxFrame {
		return fmt.Errorf("frame of %d bytes with length %d, want %d to %d", len(f.Data), f.Len, ethernetHeader, maxFrame)
	}
	return nil
}

// fromCPU makes a packet of a frame from the CPU, for a port or for the ingress pipe.
func (c *cpu) fromCPU(f *Frame, to PortID) *packet {
	c.refresh()
	pk := c.newPacket(f, f.Len)
	pk.in, pk.inN, pk.rx, pk.refs = CPUPort, tailstamp.NoPort, c.now, 1
	pk.h.parse(pk.data, pk.length)
	pk.ecn = pk.h.ecn()
	if c.choosing {
		c.choose(pk)
	}
	c.frameCounts.Injected++
	if c.ledger != nil {
		c.ledger.Injected(pk.id)
	}
	if c.observer != nil {
		c.watch.saw(MomentInjected, pk, 0, to)
	}
	return pk
}
