package reference

import (
	"encoding/binary"

	"tamtam/saisim"
	"tamtam/saisim/drop"
	"tamtam/tam/altmark"
)

// A trimmed describes how a copy was trimmed. It follows the text of saisim/engine/trim.go.
type trimmed struct {
	by   *queue // the queue that did not admit the copy
	kept int    // bytes of the packet as received that are left
	dscp int    // new DSCP, -1 if it does not change
}

// trims reports whether a queue that refuses a copy for a reason trims it.
func (c *Chip) trims(q *queue, o *outgoing, why drop.Reason) bool {
	unicast := o.data[0]%2 == 0 && o.kind != toVLAN
	return q.Trim && why != drop.WRED && o.trimmed == nil && !o.made() && o.h.ip != nil && unicast && !o.noTrim
}

// trim trims a copy and offers it to the queue for trimmed packets.
func (c *Chip) trim(p *port, q *queue, o *outgoing) {
	to := c.conf.Switch.Trim
	q.Trimmed++
	t := &trimmed{by: q, kept: o.length, dscp: int(to.DSCP)}
	if leaves := o.length + o.tag.shift(); leaves > to.Size {
		t.kept -= leaves - to.Size
	}
	tc := p.QoS.DefaultTC
	switch {
	case to.FromTC:
		tc, t.dscp = to.TC, -1
		if m := p.QoS.TrimDSCP; m != nil && m[to.TC][o.packet.colour] < 64 {
			t.dscp = int(m[to.TC][o.packet.colour])
		}
	case p.QoS.DSCP != nil:
		tc = p.QoS.DSCP[to.DSCP]
	}
	o.trimmed = t
	c.chargeLess(o.packet, t.kept)
	number := min(int(to.Queue), len(p.queues)-1)
	if to.Dynamic {
		number = queueOf(p.QoS, tc, len(p.queues))
	}
	c.Queueing("trimmed")
	if t.kept < o.length {
		c.Queueing("trimmed to fewer bytes")
	}
	if !c.offer(p, p.queues[number], o) {
		c.Queueing("a trimmed packet is dropped")
		c.dropCopy(p, o, drop.TrimQueue)
	}
}

// shortened reports whether a copy has lost bytes.
func (o *outgoing) shortened() bool { return o.trimmed != nil && o.trimmed.kept < o.length }

// stored returns the bytes of the packet as received that a copy has.
func (o *outgoing) stored() int {
	if o.trimmed != nil {
		return o.trimmed.kept
	}
	return o.length
}

// cut returns the frame of a copy, which is complete but for IFA, as trimming leaves it.
func (o *outgoing) cut(frame []byte) []byte {
	t := o.trimmed
	if t == nil {
		return frame
	}
	length, at := t.kept+o.tag.shift(), o.h.ip.at+o.tag.shift()
	frame = frame[:min(len(frame), length)]
	ip, datagram := frame[at:], length-at
	was := o.h.ip.version == 4 && word(ip, 10) == checksum(ip[:o.h.ip.head])
	change := func(offset int, v uint16) {
		old := word(ip, offset)
		binary.BigEndian.PutUint16(ip[offset:], v)
		switch {
		case o.h.ip.version == 6 || old == v:
		case was:
			binary.BigEndian.PutUint16(ip[10:], checksum(ip[:o.h.ip.head]))
		default: // it stays wrong
			binary.BigEndian.PutUint16(ip[10:], ^uint16(fold(uint32(^word(ip, 10))+uint32(^old)+uint32(v))))
		}
	}
	if t.dscp >= 0 {
		shift := map[int]int{4: 0, 6: 4}[o.h.ip.version]
		tos := uint8(word(ip, 0) >> shift)
		tos = tos&(3|o.marked) | uint8(t.dscp)<<2&^o.marked
		change(0, word(ip, 0)&^(0xff<<shift)|uint16(tos)<<shift)
	}
	if t.kept == o.length {
		return frame
	}
	if o.h.ip.version == 4 {
		change(2, uint16(min(int(word(ip, 2)), datagram)))
	} else {
		change(4, uint16(min(int(word(ip, 4)), datagram-40)))
	}
	return frame
}

// keepMarks notes the bits of the traffic class that carry marks of a profile.
func (pk *packet) keepMarks(p laneProfile) {
	for _, m := range []altmark.Mark{p.Mark, p.Mark2} {
		if m >= altmark.DSCP0 && m <= altmark.DSCP5 {
			pk.marked |= 1 << dscpBit(m)
		}
	}
}

// trimEnded counts the end of a trimmed copy.
func (c *Chip) trimEnded(o *outgoing, sent bool) {
	switch {
	case o.trimmed == nil || o.made():
	case sent:
		o.trimmed.by.TrimSent++
		c.trimTotals.Sent++
	default:
		o.trimmed.by.TrimDropped++
		c.trimTotals.Dropped++
	}
}

// TrimTotals returns the counts of trimmed packets of all ports.
func (c *Chip) TrimTotals() saisim.TrimTotals { return c.trimTotals }
