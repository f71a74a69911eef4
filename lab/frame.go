package lab

import (
	"encoding/binary"
	"net/netip"
)

const (
	ethernetHeader = 14
	fcsLen         = 4
	preambleSFD    = 8
	gap            = 12
	minFrame       = 64 // minimum length of a frame with FCS, in bytes
	maxFrameSize   = 9416

	typeIPv4 = 0x0800
	typeARP  = 0x0806
	typeVLAN = 0x8100
	typeIPv6 = 0x86dd

	protoICMP   = 1
	protoTCP    = 6
	protoUDP    = 17
	protoICMPv6 = 58

	protoOptions = 60 // destination options
)

// wireBytes returns how many byte times a frame of n bytes without FCS occupies on the wire.
func wireBytes(n int) uint64 { return uint64(max(n+fcsLen, minFrame) + preambleSFD + gap) }

// A header holds the headers of a traffic source's frames.
type header struct {
	dstMAC, srcMAC   MAC
	vlan             uint16
	pcp              uint8
	src, dst         netip.Addr
	proto            uint8
	srcPort, dstPort uint16
	tos, ttl         uint8
	altMark          bool   // true if the frames are IPv6 with an AltMark option
	flowMonID        uint32 // FlowMonID of that option
}

// length returns the minimum length of a frame, without FCS.
func (h *header) length() int {
	n := ethernetHeader + 20 + 8
	if h.vlan > 0 {
		n += 4
	}
	if h.src.Is6() {
		n += 20
		if h.altMark {
			n += altMarkHeader
		}
	}
	if h.proto == protoTCP {
		n += 12
	}
	return n
}

// frame writes the frame of one flow, size bytes without FCS, into b. If it fits, the payload begins with number, so
// that all frames of a sender differ. The rest is zero. b must have the capacity.
func (h *header) frame(b []byte, flow, size int, number uint32) []byte {
	b = append(b[:0], h.dstMAC[:]...)
	b = append(b, h.srcMAC[:]...)
	if h.vlan > 0 {
		b = binary.BigEndian.AppendUint16(b, typeVLAN)
		b = binary.BigEndian.AppendUint16(b, uint16(h.pcp)<<13|h.vlan)
	}
	ports := 65536 - int(h.srcPort)
	src, port := h.src, h.srcPort+uint16(flow%ports)
	if n := flow / ports; n > 0 {
		src = later(src, uint64(n))
	}
	if h.src.Is4() {
		b = h.ipv4(binary.BigEndian.AppendUint16(b, typeIPv4), src, size)
	} else {
		b = h.ipv6(binary.BigEndian.AppendUint16(b, typeIPv6), src, size)
	}
	l4 := len(b)
	b = binary.BigEndian.AppendUint16(b, port)
	b = binary.BigEndian.AppendUint16(b, h.dstPort)
	if h.proto == protoTCP {
		b = append(b, 0, 0, 0, 1, 0, 0, 0, 1, 5<<4, 0x10, 0xff, 0xff, 0, 0, 0, 0)
	} else {
		b = binary.BigEndian.AppendUint16(b, uint16(size-l4))
		b = append(b, 0, 0)
	}
	if size-len(b) >= 4 {
		b = binary.BigEndian.AppendUint32(b, number)
	}
	sum := h.pseudo(src, size-l4)
	for i := l4; i < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	at := l4 + 6
	if h.proto == protoTCP {
		at = l4 + 16
	}
	check := ^fold(sum)
	if check == 0 && h.proto == protoUDP {
		check = 0xffff
	}
	binary.BigEndian.PutUint16(b[at:], check)
	n := len(b)
	b = b[:size]
	clear(b[n:])
	return b
}

func (h *header) ipv4(b []byte, src netip.Addr, size int) []byte {
	at := len(b)
	b = append(b, 0x45, h.tos)
	b = binary.BigEndian.AppendUint16(b, uint16(size-at))
	b = append(b, 0, 0, 0x40, 0, h.ttl, h.proto, 0, 0)
	s, d := src.As4(), h.dst.As4()
	b = append(b, s[:]...)
	b = append(b, d[:]...)
	var sum uint32
	for i := at; i < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	binary.BigEndian.PutUint16(b[at+10:], ^fold(sum))
	return b
}

func (h *header) ipv6(b []byte, src netip.Addr, size int) []byte {
	b = append(b, 0x60|h.tos>>4, h.tos<<4, 0, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(size-len(b)-36)) // 4 of the 40 bytes are already written
	next := h.proto
	if h.altMark {
		next = protoOptions
	}
	b = append(b, next, h.ttl)
	s, d := src.As16(), h.dst.As16()
	b = append(b, s[:]...)
	b = append(b, d[:]...)
	if h.altMark {
		b = append(b, h.proto, 0, altMarkType, altMarkSize)
		b = binary.BigEndian.AppendUint32(b, h.flowMonID<<12)
	}
	return b
}

// A destination options header (RFC 8200 section 4.6) with nothing but an AltMark option: 20 bits FlowMonID, L, D and
// 10 reserved bits.
const (
	altMarkHeader = 8
	altMarkType   = 0x12
	altMarkSize   = 4
	maxFlowMonID  = 1<<20 - 1
)

// pseudo returns the sum of the pseudo header (RFC 9293 section 3.1, RFC 8200 section 8.1). An IPv4 address has the
// same sum in 4 bytes as in 16.
func (h *header) pseudo(src netip.Addr, length int) uint32 {
	return addressSum(src) + addressSum(h.dst) + uint32(h.proto) + uint32(length)
}

func addressSum(a netip.Addr) (sum uint32) {
	if a.Is4() {
		b := a.As4()
		return uint32(binary.BigEndian.Uint16(b[:])) + uint32(binary.BigEndian.Uint16(b[2:]))
	}
	b := a.As16()
	for i := 0; i < 16; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	return sum
}

func fold(sum uint32) uint16 {
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return uint16(sum)
}

// later returns the n-th address after a.
func later(a netip.Addr, n uint64) netip.Addr {
	if a.Is4() {
		b := a.As4()
		binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(b[:])+uint32(n))
		return netip.AddrFrom4(b)
	}
	b := a.As16()
	binary.BigEndian.PutUint64(b[8:], binary.BigEndian.Uint64(b[8:])+n)
	return netip.AddrFrom16(b)
}
