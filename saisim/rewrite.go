package saisim

import "encoding/binary"

// An edit is what the egress pipe does to a packet beside its VLAN tag.
type edit struct {
	dmac, smac uint64 // routed
	routed     bool   // MAC addresses replaced, TTL one less
	setDSCP    bool
	dscp       uint8
	marks      marks // of alternate marking
}

// edited returns a copy's frame as it leaves, and its length. If own is true, the
// frame is in c.scratch.
func (c *engine) edited(cp *copyOf, own bool) ([]byte, int) {
	if cp.mirror == nil {
		return c.unwrapped(cp, own)
	}
	data, length := c.unwrapped(cp, false)
	c.wrapped = cp.mirror.wrap(c.wrapped[:0], data, length)
	return c.wrapped, cp.mirror.length(length)
}

// unwrapped is the frame that leaves, or the one that a mirror session takes. If
// nothing changes and own is false it is the packet's own data, else it is in
// c.scratch.
func (c *engine) unwrapped(cp *copyOf, own bool) ([]byte, int) {
	pk, t, b := cp.pk, cp.tag, c.scratch[:0]
	edits := !cp.raw && (pk.edit.routed || pk.edit.setDSCP || pk.edit.marks != (marks{}) || cp.head != nil) || cp.ce
	l3, length := int(pk.h.l3), pk.length
	switch {
	case t.op == tagStrip && len(pk.data) >= ethernetHeader+4:
		b = append(append(b, pk.data[:12]...), pk.data[16:]...)
		l3, length = l3-4, length-4
	case t.op == tagPush:
		b = append(b, pk.data[:12]...)
		b = append(b, etherVLAN>>8, etherVLAN&0xff, byte(t.vid>>8), byte(t.vid))
		b = append(b, pk.data[12:]...)
		l3, length = l3+4, length+4
	case t.op == tagSet && len(pk.data) >= ethernetHeader+2:
		b = append(b, pk.data...)
		tci := binary.BigEndian.Uint16(b[14:])
		binary.BigEndian.PutUint16(b[14:], tci&0xf000|t.vid)
	case own || edits:
		b = append(b, pk.data...)
	default:
		return pk.data, length
	}
	switch v4 := pk.h.flags&flagIPv4 != 0; {
	case cp.head != nil:
		cp.head.apply(b, l3, pk.h.flags)
		pk.edit.marks.applyOption(b[l3:], pk.h.altMark)
	case edits:
		pk.edit.apply(b, l3, v4, pk.h.altMark)
		if cp.ce {
			markCE(b[l3:], v4)
		}
	}
	return b, length
}

// taggedLen is the length of a copy once its tag is as it shall be.
func (cp *copyOf) taggedLen() int {
	switch cp.tag.op {
	case tagStrip:
		return cp.pk.length - 4
	case tagPush:
		return cp.pk.length + 4
	}
	return cp.pk.length
}

// leavingLen is the length of the frame that leaves, without a record.
func (cp *copyOf) leavingLen() int {
	if cp.mirror != nil {
		return cp.mirror.length(cp.taggedLen())
	}
	return cp.taggedLen()
}

// buffered is what a copy takes of the buffer: its length as it came in, that of
// a mirror copy as it leaves.
func (cp *copyOf) buffered() int {
	if cp.mirror != nil {
		return cp.leavingLen()
	}
	return cp.pk.length
}

// apply edits a frame whose IP header is at l3, with the AltMark option's flags at
// altMark in it.
func (e *edit) apply(b []byte, l3 int, v4 bool, altMark uint16) {
	if e.routed {
		putMAC(b, e.dmac)
		putMAC(b[6:], e.smac)
		if v4 {
			old := binary.BigEndian.Uint16(b[l3+8:])
			b[l3+8]--
			fixChecksum(b[l3:], old, binary.BigEndian.Uint16(b[l3+8:]))
		} else {
			b[l3+7]--
		}
	}
	if e.setDSCP {
		if v4 {
			old := binary.BigEndian.Uint16(b[l3:])
			b[l3+1] = e.dscp<<2 | b[l3+1]&3
			fixChecksum(b[l3:], old, binary.BigEndian.Uint16(b[l3:]))
		} else {
			b[l3] = b[l3]&0xf0 | e.dscp>>2
			b[l3+1] = e.dscp<<6 | b[l3+1]&0x3f
		}
	}
	if e.marks != (marks{}) {
		e.marks.apply(b[l3:], v4)
		e.marks.applyOption(b[l3:], altMark)
	}
}

// markCE says in an IP header that congestion was experienced, RFC 3168.
func markCE(b []byte, v4 bool) {
	if !v4 {
		b[1] |= 3 << 4
		return
	}
	old := binary.BigEndian.Uint16(b)
	b[1] |= 3
	fixChecksum(b, old, binary.BigEndian.Uint16(b))
}

func putMAC(b []byte, m uint64) {
	binary.BigEndian.PutUint16(b, uint16(m>>32))
	binary.BigEndian.PutUint32(b[2:], uint32(m))
}

// fixChecksum updates the checksum of the IPv4 header b where a word of it has
// changed: HC' = ~(~HC + ~m + m'), RFC 1624.
func fixChecksum(b []byte, old, now uint16) {
	sum := uint32(^binary.BigEndian.Uint16(b[10:])) + uint32(^old) + uint32(now)
	sum = sum&0xffff + sum>>16
	sum = sum&0xffff + sum>>16
	binary.BigEndian.PutUint16(b[10:], ^uint16(sum))
}
