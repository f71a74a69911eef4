package engine

import "tamtam/saisim/drop"

// watch calls an observer.
type watch struct {
	*core
}

// The functions below are called only if there is an observer. Without an observer, the packet path only makes a
// comparison.

func (c *watch) saw(what What, pk *packet, copy uint16, port PortID) {
	c.observer(c.moment(what, pk, copy, port))
}

func (c *watch) sawQueue(what What, cp *copyOf, port PortID) {
	m := c.moment(what, cp.pk, cp.number, port)
	if m.Queue = cp.queue; cp.trimmed {
		m.Data, m.Len = m.Data[:min(len(m.Data), cp.stored())], cp.stored()
	}
	c.observer(m)
}

func (c *watch) moment(what What, pk *packet, copy uint16, port PortID) Moment {
	m := Moment{
		What: what, At: c.now, ID: pk.id, Number: pk.number, Copy: uint32(copy), In: pk.in, Port: port,
		Data: pk.data, Len: pk.length,
	}
	if pk.late {
		m.Late = pk.lateBy
	}
	return m
}

// sawOnWire reports an event of a MAC at an exact time.
func (c *watch) sawOnWire(m Moment, t instant, r *lineRate) {
	m.At, m.Byte = t.ceil(), ByteTime{r.num, r.den}
	if t.frac > 0 {
		m.Early = r.den - t.frac
	}
	c.observer(m)
}

func (c *watch) sawDrop(p *port, cp *copyOf, why drop.Reason, trail Trail) {
	m := c.moment(MomentDropped, cp.pk, cp.number, cp.pk.in)
	m.Trail = trail
	if p != nil {
		m.Port = p.id
	}
	m.Why, m.Trap = why, cp.pk.trapOf(why)
	c.observer(m)
}

func (c *watch) sawReplicated(pk *packet) {
	m := c.moment(MomentReplicated, pk, 0, pk.in)
	m.Copies = uint32(pk.copies)
	c.observer(m)
}

// sawSent reports a frame that leaves while there is, or was, an observer.
func (c *watch) sawSent(p *port, cp *copyOf, data []byte, length int) {
	m := c.moment(MomentSent, cp.pk, cp.number, p.id)
	m.Data, m.Len = data, length
	if cp.watched {
		m.Trail = p.watched()
	}
	if c.observer != nil {
		c.sawOnWire(m, cp.sfd(), &p.rate)
	}
}
