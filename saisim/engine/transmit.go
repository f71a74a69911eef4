package engine

import "tamtam/saisim/drop"

// sent gives the frame whose timestamp point is now to the output.
func (c *macs) sent(p *port) {
	c.transmit(p, p.tx.First())
	p.tx.Pop()
	if p.tx.Len() > 0 {
		c.agenda.push(c.now, event{p.tx.First().sfd.ceil(), eventKey(classSent, p.id)})
	}
}

func (c *macs) transmit(p *port, t *transmission) {
	pk := t.pk
	if !p.up() {
		c.programs.freeHeading(&t.copyOf)
		c.fates.dropSent(p, t, drop.EgressDown)
		return
	}
	stamped := t.session != nil && t.result == stampDone
	data, length := c.egress.edited(&t.copyOf, stamped)
	if t.session != nil {
		t.session.count(t.result)
	}
	if stamped {
		data = c.appendRecord(data, t.session, pk, p.number, c.now)
		length = len(data)
	}
	p.totals.Sent++
	p.totals.SentBytes += uint64(length + fcsLen)
	p.stats.out.count(data, length+fcsLen)
	c.books.Sent++
	if c.observer != nil || t.watched {
		c.watch.sawSent(p, t, data, length)
	}
	c.out(Out{Port: p.id, In: pk.in, At: c.now, Data: data, Len: length, Stamped: stamped, ID: pk.id})
	c.programs.freeHeading(&t.copyOf)
	if t.mirror != nil {
		c.recording.free(t.mirror)
	}
	c.fates.release(pk)
}
