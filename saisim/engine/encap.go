package engine

import (
	"encoding/binary"

	"tamtam/saisim/config"
	"tamtam/saisim/tailstamp"
	"tamtam/tam/erspan"
	"tamtam/tam/record"
)

// A mirrorEncap describes how a mirrored frame is encapsulated. It never changes after its creation. A copy in the chip
// keeps the mirrorEncap with which it was created.
type mirrorEncap struct {
	session   *mirrorSession
	truncate  int   // bytes of the frame that are kept; zero means all
	tc        uint8 // traffic class of the copies
	push      bool  // true if RSPAN inserts a tag
	tag       [4]byte
	head      []byte // headers of ERSPAN before the frame; lengths and similar fields are 0
	l3        int    // offset of the IP header in head
	v4        bool   // true if the outer header is IPv4
	erspan    uint8  // type of the ERSPAN header, with a sequence number in front; zero if there is none
	sessionID uint16 // session id of the ERSPAN header
	// The next fields are for sessions of type SFLOW: they describe the headers of record copies.
	udp, tagged      bool
	ttl              uint8
	srcPort, dstPort uint16
	record           *recordCopy // set for a record copy; otherwise nil
	report           *stream     // set for a report of a drop; otherwise nil
}

const (
	greHeader = 4
	udpHeader = 8
	sequence  = 4 // length of a GRE sequence number
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

// tunnel makes the headers of an ERSPAN session: Ethernet, IP, GRE and, for types II and III, the sequence number and
// the ERSPAN header.
func (e *mirrorEncap) tunnel(t *config.MirrorTunnel) {
	b := append(append([]byte{}, t.DMAC[:]...), t.SMAC[:]...)
	if t.Tagged {
		b = append(b, e.tag[:]...)
	}
	e.v4, e.erspan, e.sessionID = t.Src.Is4(), t.ERSPAN, t.Session
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
	if e.erspan != 0 {
		flags |= 0x1000
	}
	b = binary.BigEndian.AppendUint16(b, flags)
	b = binary.BigEndian.AppendUint16(b, t.GREType)
	switch e.erspan {
	case 2:
		b = append(b, make([]byte, sequence+erspan.SizeII)...)
	case 3:
		b = append(b, make([]byte, sequence+erspan.SizeIII)...)
	}
	e.head = b
}

// length returns the length of a copy of a frame of n bytes.
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

// trailer returns the record of a record copy, otherwise nil.
func (e *mirrorEncap) trailer() []byte {
	if e.record == nil {
		return nil
	}
	return e.record.trailer[:e.record.n]
}

// wrap writes the copy of a frame of n bytes to dst. data is the available part of the frame. If leaves is true, the
// frame is mirrored as it leaves. Otherwise it is mirrored as it was received at the given time.
func (e *mirrorEncap) wrap(dst, data []byte, n int, received tailstamp.Timestamp, leaves bool) []byte {
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
	if e.erspan != 0 {
		c := erspan.Copy{Session: e.sessionID, Cut: cut, Egress: leaves, Received: hundreds(received)}
		if c.Tagged = binary.BigEndian.Uint16(data[12:]) == etherVLAN && len(data) >= ethernetHeader+2; c.Tagged {
			c.VLAN = binary.BigEndian.Uint16(data[14:])
		}
		e.putERSPAN(b[:len(e.head)], &c)
	}
	return b
}

// putERSPAN writes the next sequence number and the ERSPAN header of a copy to the end of its headers.
func (e *mirrorEncap) putERSPAN(b []byte, c *erspan.Copy) {
	n := len(b) - erspan.SizeII
	if e.erspan == 2 {
		c.PutII((*[erspan.SizeII]byte)(b[n:]))
	} else {
		n = len(b) - erspan.SizeIII
		c.PutIII((*[erspan.SizeIII]byte)(b[n:]))
	}
	binary.BigEndian.PutUint32(b[n-sequence:], e.session.seq)
	e.session.seq++
}

// hundreds returns a time in units of 100 ns, modulo 2^32.
func hundreds(t tailstamp.Timestamp) uint32 { return uint32(t.Seconds*10_000_000) + t.Nanoseconds/100 }

// A recordCopy holds the encapsulation of a recorded packet's mirror copy.
type recordCopy struct {
	mirrorEncap
	trailer  [8 + record.MaxIdentities + record.TailLen]byte
	counts   *RecordCounts
	n        int
	datagram [80]byte // headers of the datagram up to UDP
}

// A recordTunnel holds the addresses between which a session of type SFLOW sends.
type recordTunnel struct {
	macs     [12]byte // destination, source
	tos      uint8
	src, dst []byte // 4 or 16 bytes
}

// headers writes the headers before the frame, with lengths of 0, and stores their places in e.
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
