package engine

import (
	"encoding/binary"
	"math/bits"

	"tamtam/tam/altmark"
)

// apply edits a frame with its IP header at l3. altMark is the offset of the AltMark option's flags in the header.
func (e *edit) apply(b []byte, l3 int, v4 bool, altMark uint16) {
	if e.routed {
		e.route(b, l3, v4)
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

// route does apply for routing alone.
func (e *edit) route(b []byte, l3 int, v4 bool) {
	binary.BigEndian.PutUint64(b, e.dmac<<16|e.smac>>32)
	binary.BigEndian.PutUint32(b[8:], uint32(e.smac))
	if v4 {
		decrementTTL(b[l3:])
	} else {
		b[l3+7]--
	}
}

// markCE sets congestion experienced in an IP header (RFC 3168).
func markCE(b []byte, v4 bool) {
	if !v4 {
		b[1] |= 3 << 4
		return
	}
	old := binary.BigEndian.Uint16(b)
	b[1] |= 3
	fixChecksum(b, old, binary.BigEndian.Uint16(b))
}

// write notes a mark's new value.
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

// applyOption writes the marks to the AltMark option at offset at from the IPv6 header.
func (m *marks) applyOption(ip []byte, at uint16) {
	if m.optionMask != 0 && at != 0 {
		ip[at] = ip[at]&^m.optionMask | m.option
	}
}

// apply writes the MSS into an IP packet. A wrong TCP checksum stays wrong.
func (m *mssEdit) apply(ip []byte) {
	if m.value == 0 {
		return
	}
	old, now := binary.BigEndian.Uint16(ip[m.at:]), m.value
	binary.BigEndian.PutUint16(ip[m.at:], now)
	if (m.at-m.tcp)&1 != 0 { // the MSS spans two words of the sum
		old, now = bits.ReverseBytes16(old), bits.ReverseBytes16(now)
	}
	fixSum(ip[m.tcp+16:], old, now)
}
