// # Packet trimming
//
// A queue that has Trim set trims a copy that it does not admit for lack of space, by the verdict Buffer or Tail. The
// copy must be of a unicast IPv4 or IPv6 packet: its destination address is no group address as received, and it is not
// flooded. Copies of mirror sessions, and packets that hit an entry with the action of no trimming, are not trimmed.
// WRED's drops are not trimmed either. The queue counts the copy as dropped and as trimmed.
//
// A trimmed copy keeps the first bytes of the packet as received, so many that it leaves with Trim.Size bytes, or all
// bytes if there are fewer. The ingress priority group holds the cells of these bytes only. The copy is then offered
// to the queue for trimmed packets of the same port, with that queue's own admission. If that queue does not admit it,
// it is dropped, for the reason TrimQueue.
//
// It leaves as it would have left, with all edits, and then:
//
//   - cut to its length
//   - with the DSCP of Trim.DSCP, or of TC and the packet's colour in the map of its port. Bits that carry marks of
//     alternate marking, of a flow of this chip, keep the values of the marks
//   - with a length in the IP header that does not go beyond the frame, if the frame was shortened. The checksum of an
//     IPv4 header follows by the difference; a wrong one stays wrong
//
// Nothing is appended to a frame that was shortened, or inserted into it: the result of a stamp or of IFA is that it is
// cut. Its headers beyond that of IP stay as they are.
//
// The queue that has trimmed the copy counts it as sent when it leaves the port, and as dropped wherever else it ends.
package engine

import (
	"encoding/binary"

	"tamtam/saisim/config"
	"tamtam/saisim/drop"
	"tamtam/saisim/tm"
)

// A trimming describes the only trimmed copy of a packet. It is valid if the copy is trimmed.
type trimming struct {
	kept  int32  // bytes of the packet that the copy has
	depth uint32 // bytes in the queue that trimmed the copy, at that time
	queue uint8  // that queue
	dscp  uint8  // new DSCP; config.KeepDSCP means none
}

// TrimTotals counts the trimmed packets of all ports, including removed ones.
type TrimTotals struct{ Sent, Dropped uint64 }

// refused ends a copy that its queue has not admitted, or trims it.
func (c *queues) refused(p *port, cp *copyOf, v tm.Verdict) {
	switch {
	case cp.trimmed && cp.mirror == nil:
		c.fates.dropBefore(p, cp, drop.TrimQueue)
	case c.trims(p, cp, v):
		c.trimCopy(p, cp)
	default:
		c.fates.dropBefore(p, cp, verdictDrops[v])
	}
}

// trims reports whether a queue trims a copy after its verdict.
func (c *queues) trims(p *port, cp *copyOf, v tm.Verdict) bool {
	pk := cp.pk
	if v == tm.WREDDrop || !p.queues.Queue(int(cp.queue)).Trim || cp.mirror != nil || pk.data[0]&1 != 0 {
		return false
	}
	pk.whole()
	return pk.h.flags&flagIP != 0 && pk.verdict.kind != toVLAN && !pk.noTrim
}

// trimCopy trims a copy, and offers it to the queue for trimmed packets.
func (c *queues) trimCopy(p *port, cp *copyOf) {
	pk, t := cp.pk, &cp.pk.met.trim
	q := p.queues.Queue(int(cp.queue))
	q.Trimmed++
	kept := pk.length
	if n := c.trim.Size - (cp.taggedLen() - pk.length); n < kept {
		kept = n
	}
	*t = trimming{int32(kept), uint32(min(q.Bytes(), 1<<32-1)), cp.queue, c.trimDSCP(p, pk)}
	cp.trimmed, pk.plain = true, false
	if pk.held > 0 {
		c.shrink(pk, kept)
	}
	if c.observer != nil {
		c.watch.sawQueue(MomentTrimmed, cp, p.id)
	}
	c.enqueue(p, cp)
}

// trimDSCP returns the DSCP of a trimmed packet at a port.
func (c *queues) trimDSCP(p *port, pk *packet) uint8 {
	switch {
	case !c.trim.FromTC:
		return c.trim.DSCP
	case p.class.trimDSCP != nil:
		return p.class.trimDSCP[c.trim.TC][pk.colour]
	}
	return config.KeepDSCP
}

// trimQueue returns the queue for trimmed packets of a port.
func (c *queues) trimQueue(p *port) uint8 {
	tc := c.trim.TC
	switch {
	case !c.trim.Dynamic:
		return min(c.trim.Queue, uint8(p.queues.Queues()-1))
	case c.trim.FromTC:
	case p.class.dscp != nil:
		tc = p.class.dscp[c.trim.DSCP]
	default:
		tc = p.class.defaultTC
	}
	return p.class.queueOf(tc, p.queues.Queues())
}

// stored returns the number of bytes of the packet, as received, that a copy has.
func (cp *copyOf) stored() int {
	if cp.trimmed {
		return int(cp.pk.met.trim.kept)
	}
	return cp.pk.length
}

// shortened reports whether trimming has removed bytes of a copy.
func (cp *copyOf) shortened() bool { return cp.trimmed && cp.stored() < cp.pk.length }

// trim changes the frame of a trimmed copy, which has all other edits. The IP header is at l3.
func (cp *copyOf) trim(b []byte, l3 int) []byte {
	pk, t, n := cp.pk, &cp.pk.met.trim, cp.taggedLen()
	b = b[:min(len(b), n)]
	ip, v4 := b[l3:], pk.h.flags&flagIPv4 != 0
	if t.dscp != config.KeepDSCP {
		m := marks{dscpMask: 63 &^ pk.edit.dscpKept, dscp: t.dscp &^ pk.edit.dscpKept}
		m.apply(ip, v4)
	}
	if !cp.shortened() {
		return b
	}
	if v4 {
		changeWord(ip, 2, min(binary.BigEndian.Uint16(ip[2:]), uint16(n-l3)))
	} else {
		binary.BigEndian.PutUint16(ip[4:], min(binary.BigEndian.Uint16(ip[4:]), uint16(n-l3-outerIPv6)))
	}
	return b
}

// trimSent counts a trimmed copy that has left by its port.
func (c *core) trimSent(p *port, cp *copyOf) {
	if cp.mirror == nil {
		p.queues.Queue(int(cp.pk.met.trim.queue)).TrimSent++
		c.trimTotals.Sent++
	}
}

// trimDropped counts a trimmed copy that was dropped at its port.
func (c *core) trimDropped(p *port, cp *copyOf) {
	if cp.mirror == nil {
		p.queues.Queue(int(cp.pk.met.trim.queue)).TrimDropped++
		c.trimTotals.Dropped++
	}
}

// TrimTotals returns the counts of trimmed packets since the switch was created.
func (c *Engine) TrimTotals() TrimTotals { return c.trimTotals }
