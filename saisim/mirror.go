package saisim

import (
	"encoding/binary"
	"math/bits"
	"strings"

	"tamtam/saisim/config"
	"tamtam/tam/record"
)

// A mirrorSession is a mirror session.
type mirrorSession struct {
	index int // its bit in the sets of sessions; the lowest that was free
	port  *port
	lag   *lag
	encap *mirrorEncap
	seq   uint32 // GRE sequence number of the next copy that leaves
	label string
}

// records reports whether the session is for record copies.
func (m *mirrorSession) records() bool { return strings.HasPrefix(m.label, record.LabelPrefix) }

// A mirrorEncap is what becomes of a frame that is mirrored. It does not change
// once it is made; copies in the chip keep the one they met.
type mirrorEncap struct {
	session  *mirrorSession
	truncate int   // bytes of the frame that are kept; 0: all
	tc       uint8 // traffic class of the copies
	push     bool  // RSPAN: insert tag
	tag      [4]byte
	head     []byte // ERSPAN: what comes before the frame; lengths and the like are 0
	l3       int    // of the IP header in head
	v4, seq  bool   // outer IPv4; GRE sequence number and ERSPAN II header
	// SFLOW: what the session says of the headers, which record copies have.
	udp, tagged      bool
	ttl              uint8
	srcPort, dstPort uint16
	record           *recordCopy // nil: it is no record copy's own
}

const (
	greHeader     = 4
	udpHeader     = 8
	erspanHeaders = 12 // sequence number and ERSPAN II header
)

// applyMirror makes of a session what its row says.
func (c *engine) applyMirror(r config.Mirror, gone bool) {
	if gone {
		c.mirrors[at[*mirrorSession](c, r.ID).index] = nil
		delete(c.ids, r.ID)
	} else {
		m := at[*mirrorSession](c, r.ID)
		if m == nil {
			m = &mirrorSession{index: r.Index}
			c.ids[r.ID], c.mirrors[r.Index] = m, m
		}
		m.port, m.lag, m.label = at[*port](c, r.Monitor), at[*lag](c, r.Monitor), r.Label
		m.encap = newMirrorEncap(m, &r)
	}
	c.bindRecords()
}

func newMirrorEncap(m *mirrorSession, r *config.Mirror) *mirrorEncap {
	e := &mirrorEncap{session: m, truncate: r.Truncate, tc: r.TC}
	binary.BigEndian.PutUint16(e.tag[:], r.TPID)
	binary.BigEndian.PutUint16(e.tag[2:], r.TCI)
	switch r.Kind {
	case config.MirrorRemote:
		e.push = true
	case config.MirrorERSPAN:
		e.tunnel(&r.Tunnel)
	case config.MirrorSFlow:
		e.udp, e.tagged, e.ttl = true, r.Tunnel.Tagged, r.Tunnel.TTL
		e.srcPort, e.dstPort = r.UDPSrc, r.UDPDst
	}
	return e
}

// tunnel makes the headers of an ERSPAN session: Ethernet, IP, GRE and, of type
// II, the sequence number and the ERSPAN header.
func (e *mirrorEncap) tunnel(t *config.MirrorTunnel) {
	b := append(append([]byte{}, t.DMAC[:]...), t.SMAC[:]...)
	if t.Tagged {
		b = append(b, e.tag[:]...)
	}
	e.v4, e.seq = t.Src.Is4(), t.TypeII
	const gre, dontFragment = 47, 0x40
	if e.v4 {
		b = append(b, etherIPv4>>8, etherIPv4&0xff)
		e.l3 = len(b)
		b = append(b, 0x45, t.TOS, 0, 0, 0, 0, dontFragment, 0, t.TTL, gre, 0, 0)
	} else {
		b = append(b, etherIPv6>>8, etherIPv6&0xff)
		e.l3 = len(b)
		b = append(b, 0x60|t.TOS>>4, t.TOS<<4, 0, 0, 0, 0, gre, t.TTL)
	}
	b = append(append(b, t.Src.AsSlice()...), t.Dst.AsSlice()...)
	flags := t.GREFlags
	if e.seq {
		flags |= 0x1000
	}
	b = binary.BigEndian.AppendUint16(b, flags)
	b = binary.BigEndian.AppendUint16(b, t.GREType)
	if e.seq {
		b = append(b, make([]byte, erspanHeaders)...)
		binary.BigEndian.PutUint32(b[len(b)-8:], 1<<28|uint32(t.Session))
	}
	e.head = b
}

// length is that of a copy of a frame of n bytes.
func (e *mirrorEncap) length(n int) int {
	if e.truncate != 0 {
		n = min(n, e.truncate)
	}
	if e.push {
		n += 4
	}
	if e.record != nil {
		n += e.record.n
	}
	return n + len(e.head)
}

// trailer is the record of a record copy.
func (e *mirrorEncap) trailer() []byte {
	if e.record == nil {
		return nil
	}
	return e.record.trailer[:e.record.n]
}

// wrap makes the copy of a frame of n bytes, of which there is data, in dst.
func (e *mirrorEncap) wrap(dst, data []byte, n int) []byte {
	cut := e.truncate != 0 && n > e.truncate
	if cut {
		data = data[:min(len(data), e.truncate)]
	}
	switch {
	case e.push:
		dst = append(append(dst, data[:12]...), e.tag[:]...)
		return append(append(dst, data[12:]...), e.trailer()...)
	case len(e.head) == 0:
		return append(append(dst, data...), e.trailer()...)
	}
	length := e.length(n)
	b := append(append(append(dst, e.head...), data...), e.trailer()...)
	ip := b[e.l3:]
	if e.udp {
		binary.BigEndian.PutUint16(b[len(e.head)-4:], uint16(length-len(e.head)+udpHeader))
	}
	if e.v4 {
		binary.BigEndian.PutUint16(ip[2:], uint16(length-e.l3))
		binary.BigEndian.PutUint16(ip[10:], checksum(ip[:20]))
	} else {
		binary.BigEndian.PutUint16(ip[4:], uint16(length-e.l3-40))
	}
	if e.seq {
		h := b[len(e.head)-erspanHeaders:]
		binary.BigEndian.PutUint32(h, e.session.seq)
		e.session.seq++
		word := binary.BigEndian.Uint32(h[4:])
		if binary.BigEndian.Uint16(data[12:]) == etherVLAN && len(data) >= ethernetHeader+2 {
			tci := uint32(binary.BigEndian.Uint16(data[14:]))
			word |= tci&0xfff<<16 | tci>>13<<13 | 3<<11 // VLAN, COS; the tag is in the frame
		}
		if cut {
			word |= 1 << 10
		}
		binary.BigEndian.PutUint32(h[4:], word)
	}
	return b
}

// mirrorSet returns sessions as bits.
func (c *engine) mirrorSet(ids []config.ID) (set uint64) {
	for _, id := range ids {
		if m := at[*mirrorSession](c, id); m != nil {
			set |= 1 << m.index
		}
	}
	return set
}

// mirror queues a copy for each session in a set, in the order of their
// indexes. Sessions that are gone meanwhile take none.
func (c *engine) mirror(set uint64, cp copyOf) {
	pk := cp.pk
	for ; set != 0; set &= set - 1 {
		m := c.mirrors[bits.TrailingZeros64(set)]
		if m == nil || m.records() || m.encap.udp {
			continue
		}
		n := pk.copy(cp.tag)
		n.raw, n.ce, n.mirror, n.head = cp.raw, cp.ce, m.encap, c.copyHeading(cp.head)
		c.queueMirror(m, pk, &n)
	}
}

// queueMirror queues a copy for a session.
func (c *engine) queueMirror(m *mirrorSession, pk *packet, n *copyOf) {
	to := m.port
	if m.lag != nil {
		to = c.member(m.lag, pk)
	}
	c.books.Copies++
	if c.observer != nil {
		port := CPUPort
		if to != nil {
			port = to.id
		}
		c.saw(MomentMirrored, pk, n.number, port)
	}
	if to == nil {
		c.dropCopy(c.port(pk.in), *n, DropNoLAGMember)
		return
	}
	c.enqueue(to, n)
}

// A mirroring is a copy in the egress pipe of which mirror sessions take copies
// at its end, or one of which there are record copies.
type mirroring struct {
	at    Cycle
	set   uint64
	copy  copyOf
	taken *taken // record copies; nil: mirror copies
}

// mirrorAtEnd has a copy mirrored when it is through the egress pipe.
func (c *engine) mirrorAtEnd(set uint64, cp copyOf) {
	cp.head = c.copyHeading(cp.head)
	c.leave(mirroring{set: set, copy: cp})
}

// leave has copies made of what enters the egress pipe now, when it is through.
func (c *engine) leave(m mirroring) {
	m.copy.pk.refs++
	m.at = c.now + c.egressCycles
	c.leaving.Push(m)
	if c.leaving.Len() == 1 {
		c.agenda.push(c.now, event{m.at, eventKey(classMirror, 0)})
	}
}

// mirrorLeaving makes the mirror copies of the copy that is now through.
func (c *engine) mirrorLeaving() {
	if c.stale {
		c.compile()
	}
	m := *c.leaving.First()
	c.leaving.Pop()
	if c.leaving.Len() > 0 {
		c.agenda.push(c.now, event{c.leaving.First().at, eventKey(classMirror, 0)})
	}
	if m.taken != nil {
		c.recordCopies(m.copy.pk, m.taken)
		c.recording.spareTaken = append(c.recording.spareTaken, m.taken)
	} else {
		c.mirror(m.set, m.copy)
	}
	c.release(m.copy.pk)
}
