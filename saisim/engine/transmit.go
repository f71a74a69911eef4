package engine

import "tamtam/saisim/drop"

// wires are the egress MACs.
type wires struct {
	*core
	watch     *watch
	programs  *programs
	recording *recording
	fates     *fates
	egress    *egressPipe
	leaving   wheel // what is on its way to an egress MAC, by its timestamp point
}

// run gives every frame whose timestamp point is at or before a cycle to the output, in the order of
// time and port.
func (c *wires) run(to Cycle) {
	for cp := c.leaving.pop(to); cp != nil; cp = c.leaving.pop(to) {
		c.now = cp.at
		c.transmit(c.byID[cp.lane], cp)
	}
}

// transmit gives a frame to the output.
func (c *wires) transmit(p *port, cp *copyOf) {
	pk := cp.pk
	if !p.up() {
		c.programs.freeHeading(cp)
		c.fates.dropSent(p, cp, drop.EgressDown)
		return
	}
	stamped := cp.session != nil && cp.result == stampDone
	data, length := c.egress.edited(cp, stamped)
	if cp.session != nil {
		cp.session.count(cp.result)
	}
	if stamped {
		data = c.appendRecord(data, cp.session, pk, p.number, c.now)
		length = len(data)
	}
	p.totals.Sent++
	p.totals.SentBytes += uint64(length + fcsLen)
	p.stats.out.count(data, length+fcsLen)
	c.books.Sent++
	if c.observer != nil || cp.watched {
		c.watch.sawSent(p, cp, data, length)
	}
	c.out(Out{Port: p.id, In: pk.in, At: c.now, Data: data, Len: length, Stamped: stamped, ID: pk.id})
	c.programs.freeHeading(cp)
	if cp.mirror != nil {
		c.recording.free(cp.mirror)
	}
	c.freeCopy(cp)
	c.fates.release(pk)
}
