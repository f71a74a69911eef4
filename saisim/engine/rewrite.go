package engine

import (
	"encoding/binary"
	"math/bits"

	"tamtam/tam/altmark"
)

// edited returns a copy's frame as it leaves, and its length. If own is true, the
// frame is in c.scratch.
func (c *egressPipe) edited(cp *copyOf, own bool) ([]byte, int) {
	cp.pk.whole()
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
func (c *egressPipe) unwrapped(cp *copyOf, own bool) ([]byte, int) {
	pk, t, b := cp.pk, cp.tag, c.scratch[:0]
	edits := !cp.raw && (pk.edited || cp.head != nil) || cp.ce
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
	case own || edits || cp.ifa != nil:
		b = append(b, pk.data...)
	default:
		return pk.data, length
	}
	switch v4 := pk.h.flags&flagIPv4 != 0; {
	case cp.head != nil:
		cp.head.apply(b, l3, pk.h.flags)
		pk.edit.marks.applyOption(b[l3:], pk.h.altMark)
		pk.edit.mss.apply(b[l3:])
	case edits:
		pk.edit.apply(b, l3, v4, pk.h.altMark)
		if cp.ce {
			markCE(b[l3:], v4)
		}
	}
	if cp.ifa != nil {
		b = c.putIFA(b, l3, cp)
		length += cp.ifa.longer
	}
	return b, length
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
	e.mss.apply(b[l3:])
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

// write notes what a mark is to be.
func (e *edit) write(m altmark.Mark, bit uint8) {
	var option uint8
	switch m {
	case altmark.NoMark:
		return
	case altmark.IPv4Reserved:
		e.marks.reservedMask, e.marks.reserved = true, bit == 1
	case altmark.IPv6Loss:
		option = optionLoss
	case altmark.IPv6Delay:
		option = optionDelay
	default:
		e.marks.dscpMask |= m.DSCPBit()
		e.marks.dscp = e.marks.dscp&^m.DSCPBit() | m.DSCPBit()*bit
	}
	if option != 0 {
		e.marks.optionMask |= option
		e.marks.option = e.marks.option&^option | option*bit
	}
}

// apply writes the marks to an IP header.
func (m *marks) apply(ip []byte, v4 bool) {
	switch {
	case !v4 && m.dscpMask != 0:
		word := binary.BigEndian.Uint16(ip)
		tos := m.tos(uint8(word >> 4))
		binary.BigEndian.PutUint16(ip, word&0xf00f|uint16(tos)<<4)
	case v4 && m.dscpMask != 0:
		changeWord(ip, 0, uint16(ip[0])<<8|uint16(m.tos(ip[1])))
	}
	if v4 && m.reservedMask {
		frag := binary.BigEndian.Uint16(ip[6:]) &^ 0x8000
		if m.reserved {
			frag |= 0x8000
		}
		changeWord(ip, 6, frag)
	}
}

// applyOption writes the marks to the AltMark option at offset at of the IPv6
// header.
func (m *marks) applyOption(ip []byte, at uint16) {
	if m.optionMask != 0 && at != 0 {
		ip[at] = ip[at]&^m.optionMask | m.option
	}
}

// apply writes the MSS into an IP packet. The checksum of TCP stays as right or wrong as it was.
func (m *mssEdit) apply(ip []byte) {
	if m.value == 0 {
		return
	}
	old, now := binary.BigEndian.Uint16(ip[m.at:]), m.value
	binary.BigEndian.PutUint16(ip[m.at:], now)
	if (m.at-m.tcp)&1 != 0 { // it is in two words of the sum
		old, now = bits.ReverseBytes16(old), bits.ReverseBytes16(now)
	}
	fixSum(ip[m.tcp+16:], old, now)
}
