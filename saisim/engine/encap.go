package engine

import (
	"encoding/binary"

	"tamtam/saisim/config"
	"tamtam/tam/record"
)

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
	report           *stream     // it is a report of a drop; nil: it is not
}

const (
	greHeader     = 4
	udpHeader     = 8
	erspanHeaders = 12 // sequence number and ERSPAN II header
)

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

// A recordCopy is what the mirror copy of a recorded packet is wrapped in.
type recordCopy struct {
	mirrorEncap
	trailer  [8 + record.MaxIdentities + record.TailLen]byte
	counts   *RecordCounts
	n        int
	datagram [80]byte // headers of UDP
}

// A recordTunnel says from whom to whom a session of type SFLOW sends.
type recordTunnel struct {
	macs     [12]byte // destination, source
	tos      uint8
	src, dst []byte // 4 or 16 bytes
}

// headers writes what is before the frame, with lengths that are 0, and says in e
// where they are.
func (t *recordTunnel) headers(b []byte, e *mirrorEncap) []byte {
	const udp, dontFragment = 17, 0x40
	b = append(b, t.macs[:]...)
	if e.tagged {
		b = append(b, e.tag[:]...)
	}
	e.v4 = len(t.src) == 4
	if e.v4 {
		b = append(b, etherIPv4>>8, etherIPv4&0xff)
		e.l3 = len(b)
		b = append(b, 0x45, t.tos, 0, 0, 0, 0, dontFragment, 0, e.ttl, udp, 0, 0)
	} else {
		b = append(b, etherIPv6>>8, etherIPv6&0xff)
		e.l3 = len(b)
		b = append(b, 0x60|t.tos>>4, t.tos<<4, 0, 0, 0, 0, udp, e.ttl)
	}
	b = append(append(b, t.src...), t.dst...)
	b = binary.BigEndian.AppendUint16(b, e.srcPort)
	b = binary.BigEndian.AppendUint16(b, e.dstPort)
	return append(b, 0, 0, 0, 0)
}
