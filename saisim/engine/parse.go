package engine

import (
	"encoding/binary"

	"tamtam/saisim/config"
	"tamtam/saisim/tailstamp"
	"tamtam/tam/ifa"
)

// The parser's results, one bit each. They are matched like any other field. For example, a match on L4 ports requires
// flagL4.
const (
	flagIP         = 1 << iota // IPv4 or IPv6
	flagIPv4                   // a complete IPv4 header
	flagIPv6                   // a complete IPv6 header
	flagARP                    // EtherType ARP
	flagARPRequest             // ARP with operation 1
	flagARPReply               // ARP with operation 2
	flagL4                     // there are TCP, UDP, UDP-Lite, SCTP or DCCP ports
	flagTCP                    // there is a complete TCP header
	flagICMP                   // there are ICMP type and code
	flagICMPv6                 // there are ICMPv6 type and code
	flagFragment               // any fragment
	flagHead                   // the first fragment of several
	flagTail                   // a later fragment
	flagTagged                 // at least one VLAN tag
	flagTwoTags                // at least two VLAN tags
	flagEthernet2              // EtherType, not an 802.3 length field
	flagTailstamp              // carries a tail-stamp record
	flagNoLength               // the IP header's length cannot be right: see knowLength
)

// Protocol numbers and EtherTypes.
const (
	protoICMP, protoTCP, protoUDP, protoDCCP   = 1, 6, 17, 33
	protoICMPv6, protoSCTP, protoUDPLite       = 58, 132, 136
	hopByHop, routing, fragment, authenticated = 0, 43, 44, 51
	destOptions, mobility, hip, shim6          = 60, 135, 139, 140
	noNextHeader                               = 59

	etherIPv4, etherARP, etherIPv6 = 0x0800, 0x0806, 0x86dd
	etherVLAN, etherSVLAN          = 0x8100, 0x88a8
)

// tcpSYN is a TCP flag.
const tcpSYN = 1 << 1

// headers holds the fields that the parser extracts. Fields that a frame does not have are zero.
type headers struct {
	dmac, smac uint64 // 48 bits
	src, dst   [2]uint64
	flags      uint32
	flowLabel  uint32
	etherType  uint16    // EtherType after the tags; zero for 802.3
	tci        [2]uint16 // outer, inner
	ipLen      uint32    // length of the IP packet, its header included; with flagNoLength up to the frame's end
	l4src      uint16
	l4dst      uint16
	ipID       uint16
	l3         uint16 // offset of the first byte after the tags and the EtherType
	proto      uint8  // protocol after IPv6 extension headers
	tos        uint8  // traffic class
	ttl        uint8  // hop limit
	ipFlags    uint8  // IPv4: reserved, DF, MF
	tcpFlags   uint8
	icmpType   uint8
	icmpCode   uint8
	altFlags   uint8  // L and D of the AltMark option
	altMark    uint16 // offset of altFlags from the IPv6 header; zero without an option
	ifa        uint16 // offset of the IFA header from the IP header; zero if the parser found none
	outerC     bool   // the outer tag is a C-tag (0x8100)
}

func mac48(b []byte) uint64 {
	return uint64(binary.BigEndian.Uint16(b))<<32 | uint64(binary.BigEndian.Uint32(b[2:]))
}

// parse fills h, which must be zero, from a frame of at least 14 bytes. length is the frame's length before a capture
// cut it. Fields of malformed headers stay zero.
func (h *headers) parse(data []byte, length int) {
	if usualIPv4(data, length) {
		h.usual(data)
		return
	}
	h.addresses(data)
	h.walk(data, length)
}

// addresses fills in the MAC addresses.
func (h *headers) addresses(data []byte) {
	_ = data[13]
	h.dmac, h.smac = binary.BigEndian.Uint64(data)>>16, binary.BigEndian.Uint64(data[6:])>>16
}

// walk does parse for any frame, after the MAC addresses.
func (h *headers) walk(data []byte, length int) {
	typ := binary.BigEndian.Uint16(data[12:])
	off := 14
	for n := 0; (typ == etherVLAN || typ == etherSVLAN) && n < tailstamp.MaxTags && len(data) >= off+4; n++ {
		switch n {
		case 0:
			h.tci[0] = binary.BigEndian.Uint16(data[off:])
			h.outerC = typ == etherVLAN
			h.flags |= flagTagged
		case 1:
			h.tci[1] = binary.BigEndian.Uint16(data[off:])
			h.flags |= flagTwoTags
		}
		typ = binary.BigEndian.Uint16(data[off+2:])
		off += 4
	}
	h.l3 = uint16(off)
	if typ < 0x0600 {
		return
	}
	h.flags |= flagEthernet2
	h.etherType = typ
	rest, left := data[off:], length-off
	switch typ {
	case etherIPv4:
		h.parseIPv4(rest, left)
	case etherIPv6:
		h.parseIPv6(rest, left)
	case etherARP:
		h.flags |= flagARP
		if len(rest) >= 8 {
			switch binary.BigEndian.Uint16(rest[6:]) {
			case 1:
				h.flags |= flagARPRequest
			case 2:
				h.flags |= flagARPReply
			}
		}
	}
	if h.proto == ifa.Protocol && h.flags&flagNoLength == 0 {
		h.throughIFA(data)
	}
}

// usualIPv4 reports whether an untagged frame has a usual IPv4 packet: without options, not fragmented, TCP or UDP,
// captured completely. The rest of the frame must be too short for a tail-stamp record.
func usualIPv4(data []byte, length int) bool {
	if len(data) < ethernetHeader+20+20 || binary.BigEndian.Uint16(data[12:]) != etherIPv4 {
		return false
	}
	b := data[ethernetHeader:]
	total, proto := int(binary.BigEndian.Uint16(b[2:])), b[9]
	return b[0] == 0x45 && binary.BigEndian.Uint16(b[6:])&0x3fff == 0 && (proto == protoUDP || proto == protoTCP) &&
		total >= 20+20 && total <= len(b) && length-ethernetHeader-total < tailstamp.Size
}

// usual fills h from a frame that usualIPv4 accepted.
func (h *headers) usual(data []byte) {
	h.addresses(data)
	b := data[ethernetHeader:]
	total, proto := int(binary.BigEndian.Uint16(b[2:])), b[9]
	h.flags = flagEthernet2 | flagIP | flagIPv4 | flagL4
	if proto == protoTCP {
		h.flags |= flagTCP
		h.tcpFlags = b[33]
	}
	h.l3, h.etherType, h.ipLen = ethernetHeader, etherIPv4, uint32(total)
	h.tos, h.ttl, h.proto = b[1], b[8], proto
	h.ipID, h.ipFlags = binary.BigEndian.Uint16(b[4:]), b[6]>>5
	h.src[1], h.dst[1] = uint64(binary.BigEndian.Uint32(b[12:])), uint64(binary.BigEndian.Uint32(b[16:]))
	h.l4src, h.l4dst = binary.BigEndian.Uint16(b[20:]), binary.BigEndian.Uint16(b[22:])
}

// usualWord returns the fields of such a frame's IP packet that are beside each other in keys and vectors: source port
// 16, destination port 16, protocol 8, TOS 8, TTL 8, TCP flags 8. It also returns the parser's flags.
func usualWord(ip []byte) (word, flags uint64) {
	_ = ip[33]
	word = uint64(binary.BigEndian.Uint32(ip[20:]))<<32 | uint64(ip[9])<<24 | uint64(ip[1])<<16 | uint64(ip[8])<<8
	if ip[9] == protoTCP {
		return word | uint64(ip[33]), flagEthernet2 | flagIP | flagIPv4 | flagL4 | flagTCP
	}
	return word, flagEthernet2 | flagIP | flagIPv4 | flagL4
}

func (h *headers) parseIPv4(b []byte, left int) {
	if len(b) < 20 || b[0]>>4 != 4 {
		return
	}
	head, total := int(b[0]&15)*4, int(binary.BigEndian.Uint16(b[2:]))
	if head < 20 || head > len(b) {
		return
	}
	h.flags |= flagIP | flagIPv4
	total = h.knowLength(total, head, left)
	h.tos, h.ttl, h.proto = b[1], b[8], b[9]
	h.ipID = binary.BigEndian.Uint16(b[4:])
	frag := binary.BigEndian.Uint16(b[6:])
	h.ipFlags = uint8(frag >> 13)
	h.src[1] = uint64(binary.BigEndian.Uint32(b[12:]))
	h.dst[1] = uint64(binary.BigEndian.Uint32(b[16:]))
	h.tailstamp(b, left, total)
	if frag&0x1fff != 0 {
		h.flags |= flagFragment | flagTail
		return
	}
	if frag&0x2000 != 0 {
		h.flags |= flagFragment | flagHead
	}
	h.parseL4(b[head:min(total, len(b))])
}

// knowLength notes the length of the IP packet, and returns it. The length is unknown if the header's value is below
// least or exceeds the rest of the frame. Then the parser continues up to the frame's end. Captures of offloading
// network cards have packets with length 0. So have jumbograms (RFC 2675), which are longer than any frame of this
// chip.
func (h *headers) knowLength(says, least, left int) int {
	if says < least || says > left {
		h.flags |= flagNoLength
		says = left
	}
	h.ipLen = uint32(says)
	return says
}

func (h *headers) parseIPv6(b []byte, left int) {
	if len(b) < 40 || b[0]>>4 != 6 {
		return
	}
	total, least := 40+int(binary.BigEndian.Uint16(b[4:])), 40
	if b[6] != noNextHeader {
		least++
	}
	h.flags |= flagIP | flagIPv6
	total = h.knowLength(total, least, left)
	word := binary.BigEndian.Uint32(b)
	h.tos, h.flowLabel = uint8(word>>20), word&0xfffff
	h.proto, h.ttl = b[6], b[7]
	h.src = [2]uint64{binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:])}
	h.dst = [2]uint64{binary.BigEndian.Uint64(b[24:]), binary.BigEndian.Uint64(b[32:])}
	h.tailstamp(b, left, total)
	h.extensions(b[:min(total, len(b))])
}

// extensions walks the IPv6 extension headers. If they are damaged or cut, the protocol stays that of the header that
// cannot be read.
func (h *headers) extensions(packet []byte) {
	b := packet[40:]
	for {
		size := 8
		switch h.proto {
		default:
			h.parseL4(b)
			return
		case hopByHop, routing, destOptions, mobility, hip, shim6:
			if len(b) >= 2 {
				size = (int(b[1]) + 1) * 8
			}
		case authenticated:
			if len(b) >= 2 {
				size = (int(b[1]) + 2) * 4
			}
		case fragment:
			if len(b) < 8 {
				return
			}
			frag := binary.BigEndian.Uint16(b[2:])
			if frag&0xfff8 != 0 {
				h.flags |= flagFragment | flagTail
				h.proto = b[0]
				return
			}
			if frag&1 != 0 {
				h.flags |= flagFragment | flagHead
			}
		}
		if len(b) < size {
			return
		}
		if h.altMark == 0 && (h.proto == hopByHop || h.proto == destOptions) {
			h.findAltMark(b[:size], len(packet)-len(b))
		}
		h.proto, b = b[0], b[size:]
	}
}

func (h *headers) parseL4(b []byte) {
	switch h.proto {
	case protoTCP:
		if len(b) >= 20 {
			h.flags |= flagTCP
			h.tcpFlags = b[13]
		}
		fallthrough
	case protoUDP, protoSCTP, protoDCCP, protoUDPLite:
		if len(b) >= 4 {
			h.flags |= flagL4
			h.l4src, h.l4dst = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
		}
	case protoICMP:
		if len(b) >= 2 && h.flags&flagIPv4 != 0 {
			h.flags |= flagICMP
			h.icmpType, h.icmpCode = b[0], b[1]
		}
	case protoICMPv6:
		if len(b) >= 2 && h.flags&flagIPv6 != 0 {
			h.flags |= flagICMPv6
			h.icmpType, h.icmpCode = b[0], b[1]
		}
	}
}

// throughIFA skips an IFA header, if there is one.
func (h *headers) throughIFA(data []byte) {
	ip := h.datagram(data)
	p, err := ifa.Locate(ip)
	if err == nil {
		h.ifa, h.proto = uint16(p.Header), ip[p.Header+1]
		h.parseL4(ip[p.Transport:])
	}
}

// tcpHeader returns the offset of the TCP header in an IP packet in which the parser has found one.
func tcpHeader(ip []byte, v4 bool) int {
	if v4 {
		return int(ip[0]&15) * 4
	}
	at, next := 40, ip[6]
	for next != protoTCP {
		size := (int(ip[at+1]) + 1) * 8
		switch next {
		case authenticated:
			size = (int(ip[at+1]) + 2) * 4
		case fragment:
			size = 8
		}
		next, at = ip[at], at+size
	}
	return at
}

// tailstamp notes whether a record follows the datagram b[:total] in a frame that is not cut.
func (h *headers) tailstamp(b []byte, left, total int) {
	if len(b) == left && left-total >= tailstamp.Size {
		if _, ok := (tailstamp.V1{}).Decode(b[left-tailstamp.Size:]); ok {
			h.flags |= flagTailstamp
		}
	}
}

// stampable reports whether the frame is TCP or UDP over IP in Ethernet II. A fragment counts by its IP protocol.
func (h *headers) stampable() bool {
	return h.flags&flagIP != 0 && (h.proto == protoTCP || h.proto == protoUDP)
}

// ecn reports whether the IP header has an ECN codepoint other than 0.
func (h *headers) ecn() bool { return h.flags&flagIP != 0 && h.tos&3 != 0 }

// Bits of the third byte of an AltMark option's data: FlowMonID 20 bits, L, D.
const (
	altMarkOption = 0x12
	optionLoss    = 1 << 3
	optionDelay   = 1 << 2
)

// findAltMark searches an options header (RFC 8200, section 4.2) for an AltMark option. The header begins at offset off
// from the IPv6 header.
func (h *headers) findAltMark(b []byte, off int) {
	for i := 2; i < len(b) && h.altMark == 0; {
		if b[i] == 0 { // Pad1
			i++
			continue
		}
		if i+2 > len(b) {
			return
		}
		n := int(b[i+1])
		if i+2+n > len(b) {
			return
		}
		if b[i] == altMarkOption && n == 4 {
			h.altMark, h.altFlags = uint16(off+i+4), b[i+4]&(optionLoss|optionDelay)
		}
		i += 2 + n
	}
}

// group reports whether an IP packet is to a group address.
func (h *headers) group() bool {
	if h.flags&flagIPv4 != 0 {
		return h.dst[1]>>28 == 0xe
	}
	return h.dst[0]>>56 == 0xff
}

func (h *headers) byVersion(t4, t6 config.Trap) config.Trap {
	if h.flags&flagIPv4 != 0 {
		return t4
	}
	return t6
}

// Sizes and protocols of encapsulated packets.
const (
	protoIPv4, protoIPv6 = 4, 41
	mostInner            = 1<<16 - 1 - outerOptions // maximum bytes of a datagram to which a header is added
	outerIPv6            = 40
	outerOptions         = 8
	outerSize            = outerIPv6 + outerOptions
)

// inner returns the offset of an inner IP packet and its protocol. The inner packet follows one options header with the
// AltMark option that was found. The offset is 0 if there is none with a complete header, or if its length is wrong.
func (h *headers) inner(data []byte) (off int, next byte) {
	ip := h.datagram(data)
	if ip[6] != hopByHop && ip[6] != destOptions || len(ip) < outerSize {
		return 0, 0
	}
	next, off = ip[outerIPv6], outerIPv6+(int(ip[outerIPv6+1])+1)*8
	if int(h.altMark) < outerIPv6 || int(h.altMark) >= off || len(ip) < off {
		return 0, 0
	}
	var x headers
	left := int(h.ipLen) - off
	switch next {
	case protoIPv4:
		x.parseIPv4(ip[off:], left)
	case protoIPv6:
		x.parseIPv6(ip[off:], left)
	}
	if x.flags&(flagIP|flagNoLength) != flagIP || int(x.ipLen) != left {
		return 0, 0
	}
	return off, next
}

// encapsulated reports whether an IPv6 packet contains another packet, or a damaged header of options.
func (h *headers) encapsulated() bool {
	switch h.proto {
	case protoIPv4, protoIPv6, hopByHop, destOptions:
		return h.flags&flagIPv6 != 0
	}
	return false
}

// datagram returns the captured part of an IP packet.
func (h *headers) datagram(data []byte) []byte {
	ip := data[h.l3:]
	return ip[:min(len(ip), int(h.ipLen))]
}
