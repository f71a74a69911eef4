package engine

import (
	"encoding/binary"

	"tamtam/saisim/drop"
)

// macs are the MACs of the ports.
type macs struct {
	*core
	watch     *watch
	programs  *programs
	recording *recording
	fates     *fates
	queues    *queues
	wires     *wires
	ingress   *ingressPipe
	entered   Cycle // first cycle at which the ingress pipe is free; not reset
}

// receive puts a frame on the wire of the ingress MAC.
func (c *macs) receive(p *port, at Cycle, f *Frame, n int) {
	c.books.Received++
	pk := c.newPacket(f, n)
	sfd := instant{cycle: at}
	if sfd.before(p.rxFree) {
		sfd = p.rxFree
	}
	p.rate.frames(WireLen(n))
	if f.Late > 0 || p.behind {
		if by := p.late(sfd, at-min(at, f.Late), f.Late > 0); by > 0 {
			pk.late, pk.lateBy = true, by
		}
	} else {
		p.came = at
	}
	end := p.rate.after(sfd, p.rate.frame)
	p.rxFree = p.rate.after(end, p.rate.between)
	pk.in, pk.rx, pk.refs = p.id, sfd.ceil(), 1
	if c.observer != nil {
		c.watch.sawOnWire(c.watch.moment(MomentReceived, pk, 0, p.id), sfd, &p.rate)
	}
	pk.own.pk, pk.own.at, pk.own.lane = pk, end.ceil(), p.id
	c.arriving.push(&pk.own)
}

// late returns by how much a timestamp point is later than it would be had this frame, which came at a cycle, and
// those before it been given in time: one that is late keeps the wire from those behind it. One that is late
// itself, and came before the frame that was given before it, had the wire for itself.
func (p *port) late(sfd instant, came Cycle, itself bool) Cycle {
	if !p.behind {
		p.own, p.behind = p.rxFree, true
	}
	if itself && came < p.came {
		return sfd.ceil() - came
	}
	p.came = came
	own := instant{cycle: came}
	if own.before(p.own) {
		own = p.own
	}
	p.behind = own.before(sfd)
	p.own = p.rate.after(p.rate.after(own, p.rate.frame), p.rate.between)
	return sfd.ceil() - own.ceil()
}

// received takes a frame that is now whole from the ingress MAC. False: it goes no further.
func (c *macs) received(p *port, pk *packet) bool {
	if !p.up || !wholeHeader(pk.data) {
		c.refuse(p, pk)
		return false
	}
	if n := pk.length + fcsLen; n <= 64 && pk.data[0]&1 == 0 {
		p.stats.in.countShort(n)
	} else {
		p.stats.in.count(pk.data, n)
	}
	if uint32(pk.length)+fcsLen > p.mtu {
		c.fates.drop(p, pk, drop.Oversize)
		return false
	}
	return true
}

// refuse drops a frame that has come to a port that is down, or without a whole header.
func (c *macs) refuse(p *port, pk *packet) {
	p.totals.ReceivedBytes += uint64(pk.length + fcsLen)
	why := drop.Runt
	if !p.up {
		why = drop.PortDown
	}
	c.fates.drop(p, pk, why)
}

// enters returns when a frame that is now whole enters the ingress pipe, which takes one in a cycle.
func (c *macs) enters(now Cycle) Cycle {
	at := max(c.entered, now)
	c.entered = at + 1
	return at
}

// wholeHeader reports whether the frame has its Ethernet header, the tag by which
// it is bridged included: without, nobody knows its VLAN.
func wholeHeader(data []byte) bool {
	return len(data) >= ethernetHeader+4 ||
		len(data) >= ethernetHeader && binary.BigEndian.Uint16(data[12:]) != etherVLAN
}
