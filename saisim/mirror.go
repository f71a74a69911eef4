package saisim

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
	"slices"
	"strings"
	"tamtam/saisim/profile"

	"tamtam/sai"
	"tamtam/tam/record"
)

// A mirrorSession is a MIRROR_SESSION object.
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

func (c *store) mirrorKind() *kind {
	return &kind{
		max: min(c.prof.MirrorSessions, profile.MaxMirrors),
		attrs: []sai.AttrID{
			sai.MirrorSessionAttrType, sai.MirrorSessionAttrMonitorPort, sai.MirrorSessionAttrTruncateSize,
			sai.MirrorSessionAttrTC, sai.MirrorSessionAttrVLANTpid, sai.MirrorSessionAttrVLANID, sai.MirrorSessionAttrVLANPri,
			sai.MirrorSessionAttrVLANCfi, sai.MirrorSessionAttrVLANHeaderValid, sai.MirrorSessionAttrErspanEncapsulationType,
			sai.MirrorSessionAttrIphdrVersion, sai.MirrorSessionAttrTOS, sai.MirrorSessionAttrTTL,
			sai.MirrorSessionAttrSrcIPAddress, sai.MirrorSessionAttrDstIPAddress, sai.MirrorSessionAttrSrcMACAddress,
			sai.MirrorSessionAttrDstMACAddress, sai.MirrorSessionAttrGREProtocolType, sai.MirrorSessionAttrErspanSessionID,
			sai.MirrorSessionAttrGREHeaderFirst16bit, sai.MirrorSessionAttrLabel,
			sai.MirrorSessionAttrUDPSrcPort, sai.MirrorSessionAttrUDPDstPort,
		},
		enums: map[sai.AttrID][]sai.Enum{
			sai.MirrorSessionAttrType: {sai.MirrorSessionTypeLocal, sai.MirrorSessionTypeRemote,
				sai.MirrorSessionTypeEnhancedRemote, sai.MirrorSessionTypeSflow},
			sai.MirrorSessionAttrErspanEncapsulationType: {
				sai.ErspanEncapsulationTypeMirrorL3GRETunnel, sai.ErspanEncapsulationTypeIi},
		},
		create: func(o *object) error {
			m := &mirrorSession{index: slices.Index(c.mirrors, nil)}
			if err := c.settleMirror(m, o); err != nil {
				return err
			}
			c.mirrors[m.index] = m
			o.self = m
			c.bindRecords()
			return nil
		},
		set: func(o *object, a sai.Attr) error {
			next := &object{key: o.key, attrs: slices.Clone(o.attrs)}
			next.put(a)
			err := c.settleMirror(o.self.(*mirrorSession), next)
			c.bindRecords()
			return err
		},
		remove: func(o *object) error {
			c.mirrors[o.self.(*mirrorSession).index] = nil
			c.bindRecords()
			return nil
		},
	}
}

// settleMirror makes of a session what its attributes say; it changes nothing
// if they are wrong.
func (c *store) settleMirror(m *mirrorSession, o *object) error {
	bad := func(id sai.AttrID, format string, args ...any) error {
		return refuse("create", sai.ObjectTypeMirrorSession, id, sai.StatusInvalidParameter, format, args...)
	}
	e := &mirrorEncap{
		session: m, truncate: int(o.number(sai.MirrorSessionAttrTruncateSize)), tc: uint8(o.number(sai.MirrorSessionAttrTC)),
	}
	if e.truncate != 0 && e.truncate < ethernetHeader+4 {
		return bad(sai.MirrorSessionAttrTruncateSize, "%d, want 0 or at least %d", e.truncate, ethernetHeader+4)
	}
	vid, pri, cfi := o.number(sai.MirrorSessionAttrVLANID), o.number(sai.MirrorSessionAttrVLANPri), o.number(sai.MirrorSessionAttrVLANCfi)
	if vid > 4094 || pri > 7 || cfi > 1 {
		return bad(sai.MirrorSessionAttrVLANID, "VLAN %d, priority %d, CFI %d; want at most 4094, 7 and 1", vid, pri, cfi)
	}
	binary.BigEndian.PutUint16(e.tag[:], uint16(o.number(sai.MirrorSessionAttrVLANTpid)))
	binary.BigEndian.PutUint16(e.tag[2:], uint16(pri<<13|cfi<<12|vid))
	switch o.enum(sai.MirrorSessionAttrType) {
	case sai.MirrorSessionTypeRemote:
		e.push = true
	case sai.MirrorSessionTypeEnhancedRemote:
		if err := e.tunnel(o, bad); err != nil {
			return err
		}
	case sai.MirrorSessionTypeSflow:
		e.udp, e.tagged, e.ttl = true, o.flag(sai.MirrorSessionAttrVLANHeaderValid), uint8(o.number(sai.MirrorSessionAttrTTL))
		e.srcPort, e.dstPort = uint16(o.number(sai.MirrorSessionAttrUDPSrcPort)), uint16(o.number(sai.MirrorSessionAttrUDPDstPort))
	}
	oid := o.ref(sai.MirrorSessionAttrMonitorPort)
	p, okp := self[*port](c, oid)
	l, okl := self[*lag](c, oid)
	if !okp && !okl {
		return bad(sai.MirrorSessionAttrMonitorPort, "want a front-panel port or a LAG")
	}
	label, _ := o.attr(sai.MirrorSessionAttrLabel).(sai.Text)
	m.port, m.lag, m.encap, m.label = p, l, e, string(label)
	return nil
}

// tunnel makes the headers of an ERSPAN session: Ethernet, IP, GRE and, of type
// II, the sequence number and the ERSPAN header.
func (e *mirrorEncap) tunnel(o *object, bad func(sai.AttrID, string, ...any) error) error {
	src, _ := o.attr(sai.MirrorSessionAttrSrcIPAddress).(sai.IP)
	dst, _ := o.attr(sai.MirrorSessionAttrDstIPAddress).(sai.IP)
	version := o.number(sai.MirrorSessionAttrIphdrVersion)
	for _, ip := range []netip.Addr{src.Addr, dst.Addr} {
		if version == 4 && !ip.Is4() || version == 6 && !ip.Is6() || version != 4 && version != 6 {
			return bad(sai.MirrorSessionAttrIphdrVersion, "version %d with %s to %s, want 4 or 6 and addresses of that", version, src, dst)
		}
	}
	dmac, _ := o.attr(sai.MirrorSessionAttrDstMACAddress).(sai.MAC)
	smac, _ := o.attr(sai.MirrorSessionAttrSrcMACAddress).(sai.MAC)
	b := append(append([]byte{}, dmac[:]...), smac[:]...)
	if o.flag(sai.MirrorSessionAttrVLANHeaderValid) {
		b = append(b, e.tag[:]...)
	}
	tos, ttl := byte(o.number(sai.MirrorSessionAttrTOS)), byte(o.number(sai.MirrorSessionAttrTTL))
	e.v4 = version == 4
	const gre, dontFragment = 47, 0x40
	if e.v4 {
		b = append(b, etherIPv4>>8, etherIPv4&0xff)
		e.l3 = len(b)
		b = append(b, 0x45, tos, 0, 0, 0, 0, dontFragment, 0, ttl, gre, 0, 0)
	} else {
		b = append(b, etherIPv6>>8, etherIPv6&0xff)
		e.l3 = len(b)
		b = append(b, 0x60|tos>>4, tos<<4, 0, 0, 0, 0, gre, ttl)
	}
	b = append(append(b, src.AsSlice()...), dst.AsSlice()...)
	flags := uint16(o.number(sai.MirrorSessionAttrGREHeaderFirst16bit))
	e.seq = o.enum(sai.MirrorSessionAttrErspanEncapsulationType) == sai.ErspanEncapsulationTypeIi
	if e.seq {
		flags |= 0x1000
	} else if flags&0xb000 != 0 { // fields that would be missing
		return bad(sai.MirrorSessionAttrGREHeaderFirst16bit, "%#04x, want no checksum, key or sequence number", flags)
	}
	b = binary.BigEndian.AppendUint16(b, flags)
	b = binary.BigEndian.AppendUint16(b, uint16(o.number(sai.MirrorSessionAttrGREProtocolType)))
	if e.seq {
		id := o.number(sai.MirrorSessionAttrErspanSessionID)
		if id > 1023 {
			return bad(sai.MirrorSessionAttrErspanSessionID, "session %d, want 0 to 1023", id)
		}
		b = append(b, make([]byte, erspanHeaders)...)
		binary.BigEndian.PutUint32(b[len(b)-8:], 1<<28|uint32(id))
	}
	e.head = b
	return nil
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

// mirrorSet returns the sessions of a list, as bits.
func (c *store) mirrorSet(oids sai.OIDs) (set uint64) {
	for _, oid := range oids {
		if m, ok := self[*mirrorSession](c, oid); ok {
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
