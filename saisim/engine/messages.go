package engine

import (
	"encoding/binary"
	"errors"
	"fmt"

	"tamtam/saisim/config"
)

// This file has packets of the switch itself that carry messages to collectors, such as records of statistics. They
// join those of the CPU at a port's egress, or in a VLAN. The messages are made outside the packet path.

// SendTo sends a message to a collector in a packet of UDP. The packet leaves by the collector's port or LAG. If the
// collector has neither, it leaves to the neighbour to which the route of a virtual router leads. An error means that
// no packet was queued, and contains the reason.
func (c *cpu) SendTo(collector, router config.ID, message []byte) error {
	c.refresh()
	to := at[*tamCollector](c.core, collector)
	if to == nil {
		return fmt.Errorf("no collector %d", collector)
	}
	x := sending{row: to.row}
	x.compose(c.switchMAC, 0)
	b := append(x.head, message...)
	if n := len(b) - ethernetHeader; n > x.row.MTU {
		return fmt.Errorf("a packet of %d bytes to %s, want at most %d as the transport's MTU", n, x.row.Dst, x.row.MTU)
	}
	x.finish(b)
	pk := packet{passing: new(passing)}
	pk.in = CPUPort
	pk.h.parse(b, len(b))
	before := c.frameCounts.Dropped
	var err error
	switch r := &x.row; {
	case r.Local:
		err = errors.New("the collector is on the host")
	case r.To == config.None:
		err = c.toNeighbor(&pk, router, b)
	case r.DMAC == config.MAC{}:
		err = errors.New("the collector has a port, but no MAC address")
	default:
		err = c.toPort(&pk, at[*port](c.core, r.To), at[*lag](c.core, r.To), b)
	}
	if err == nil && c.frameCounts.Dropped != before {
		err = errors.New("the port is down, or its queue is full")
	}
	return err
}

// toPort queues a frame with these headers at a port, or at the LAG if that is not nil.
func (c *cpu) toPort(pk *packet, p *port, l *lag, b []byte) error {
	if l != nil {
		p = c.bridge.member(l, pk)
	}
	if p == nil {
		return errors.New("the port is gone, or the LAG has no member that may send")
	}
	return c.Inject(p.id, Frame{Data: b})
}

// toNeighbor sends a frame to the neighbour to which its route leads.
func (c *cpu) toNeighbor(pk *packet, router config.ID, b []byte) error {
	v4 := pk.h.flags&flagIPv4 != 0
	vr := at[*virtualRouter](c.core, router)
	if vr == nil || !vr.up(v4) {
		return errors.New("the virtual router is down")
	}
	var hop *adjacency
	if d := vr.lookup(pk.h.dst, v4); d != nil && d.act&actDrop == 0 {
		switch d.kind {
		case destHop:
			hop = d.hop
		case destGroup:
			hop = d.group.choose(hashOf(&pk.h, CPUPort, &c.router.ecmpHash, saltECMP))
		}
	}
	switch {
	case hop == nil || !hop.known || hop.act&actDrop != 0:
		return errors.New("no route leads to a neighbour")
	case !hop.rif.up(v4):
		return errors.New("the router interface is down")
	case pk.h.ipLen > hop.rif.mtu:
		return fmt.Errorf("a packet of %d bytes, the router interface has an MTU of %d", pk.h.ipLen, hop.rif.mtu)
	}
	r := hop.rif
	dmac, smac := macOf(hop.mac), macOf(r.mac)
	copy(b, append(dmac[:], smac[:]...))
	if r.vlan != nil {
		return c.InjectVLAN(r.vlan.id, Frame{Data: b})
	}
	if r.outer != 0 {
		tag := binary.BigEndian.AppendUint16([]byte{etherVLAN >> 8, etherVLAN & 0xff}, r.outer)
		b = append(b[:12:12], append(tag, b[12:]...)...)
	}
	return c.toPort(pk, r.port, r.lag, b)
}
