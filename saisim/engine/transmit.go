package engine

import "tamtam/saisim/drop"

// wires holds the egress MACs.
type wires struct {
	*core
	watch     *watch
	programs  *programs
	recording *recording
	fates     *fates
	egress    *egressPipe
	leaving   wheel // copies that an egress MAC will send, by timestamp point
	pauses    int   // frames of flow control in leaving: copies without a packet
	frame     Out   // the frame that leaves
}

// run passes every frame whose timestamp point is at or before a cycle to the output, in the order of time and port.
func (c *wires) run(to Cycle) {
	was := c.during
	c.during = whenSent
	c.runTo(to)
	c.during = was
}

func (c *wires) runTo(to Cycle) {
	for c.leaving.n > 0 {
		cp := c.leaving.removeDue(to)
		if cp == nil {
			return
		}
		for cp != nil {
			next := cp.next
			c.now = cp.at
			c.leaving.n--
			if p := c.byID[cp.lane]; cp.same && (c.off|p.off)&cutMAC == 0 {
				c.pass(p, cp)
			} else {
				c.transmit(p, cp)
			}
			cp = next
		}
	}
}

// transmit completes a frame and passes it to the output. If the port is down, it drops the frame.
func (c *wires) transmit(p *port, cp *copyOf) {
	pk := cp.pk
	if pk == nil {
		c.sendPause(p, cp)
		return
	}
	if !p.up {
		c.programs.freeHeading(cp)
		c.fates.dropSent(p, cp, drop.EgressDown)
		return
	}
	stamped := false
	if cp.session != nil {
		cp.session.count(cp.result)
		stamped = cp.result == stampDone
	}
	if cp.ifa != nil && cp.mirror == nil {
		cp.ifa.count()
	}
	data, length := pk.data, pk.length
	if stamped || cp.changes() {
		data, length = c.egress.edited(cp, stamped)
	}
	if stamped {
		data = c.appendRecord(data, cp.session, pk, p.number, c.now)
		length = len(data)
	}
	if c.observer != nil || cp.watched {
		c.watch.sawSent(p, cp, data, length)
	}
	if pk.chosen {
		c.fates.keepEnd(p, cp, false, 0)
	}
	if cp.trimmed {
		c.trimSent(p, cp)
	}
	c.output(p, pk, data, length, stamped)
	if cp.head != nil {
		c.programs.freeHeading(cp)
	}
	if cp.mirror != nil {
		c.recording.free(cp.mirror)
	}
	c.freeCopy(cp)
	c.fates.release(pk)
}

// output counts a frame and passes it to the output.
func (c *wires) output(p *port, pk *packet, data []byte, length int, stamped bool) {
	if n := length + fcsLen; n <= 64 && data[0]&1 == 0 {
		p.stats.out.countShort(n)
	} else {
		p.stats.out.count(data, n)
	}
	c.frameCounts.Sent++
	o := &c.frame
	o.Port, o.In, o.At, o.Data, o.Len, o.Stamped, o.ID = p.id, pk.in, c.now, data, length, stamped, pk.id
	c.out(o)
}
