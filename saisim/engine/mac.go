package engine

import (
	"encoding/binary"

	"tamtam/saisim/drop"
)

// macs holds the MACs of the ports.
type macs struct {
	*core
	watch     *watch
	programs  *programs
	recording *recording
	fates     *fates
	queues    *queues
	wires     *wires
	ingress   *ingressPipe
	entered   Cycle // first cycle at which the ingress pipe is free; never reset
}

// receive puts a frame on the wire of the ingress MAC.
func (c *macs) receive(p *port, at Cycle, f *Frame, n int) {
	if len(f.Data) >= leastPause && f.Data[0] == 1 && c.receivePause(p, at, f, n) {
		return
	}
	c.frameCounts.Received++
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

// late returns the number of cycles by which a timestamp point is delayed because this frame or earlier ones were given
// late. A late frame delays the frames after it on the wire. A frame that is late itself, and arrived before the
// previously given frame, counts as if the wire had been free.
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

// received accepts a complete frame from the ingress MAC. It returns false if the frame was dropped.
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

// refuse drops a frame that arrived at a port that is down, or without a complete header.
func (c *macs) refuse(p *port, pk *packet) {
	p.totals.ReceivedBytes += uint64(pk.length + fcsLen)
	why := drop.Runt
	if !p.up {
		why = drop.PortDown
	}
	c.fates.drop(p, pk, why)
}

// enters returns the cycle at which a now complete frame enters the ingress pipe. The pipe accepts one frame per cycle.
func (c *macs) enters(now Cycle) Cycle {
	at := max(c.entered, now)
	c.entered = at + 1
	return at
}

// wholeHeader reports whether the frame has its Ethernet header, including the tag by which it is bridged. Without the
// tag its VLAN is unknown.
func wholeHeader(data []byte) bool {
	return len(data) >= ethernetHeader+4 ||
		len(data) >= ethernetHeader && binary.BigEndian.Uint16(data[12:]) != etherVLAN
}
