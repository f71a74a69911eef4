package packettrace

import (
	"encoding/binary"
	"net/netip"
)

func ipHeader(v4 bool) int {
	if v4 {
		return 20
	}
	return 40
}

// or returns the value of a pointer, or other if the pointer is nil.
func or[T any](p *T, other T) T {
	if p == nil {
		return other
	}
	return *p
}

// transport returns the header of TCP, UDP or ICMP echo; its checksum is filled in later.
func (r *Request) transport(proto uint8) []byte {
	src, dst := or(r.SrcPort, 10000), or(r.DstPort, 20000)
	ports := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, src), dst)
	switch proto {
	case protoTCP:
		return append(ports, 0, 0, 0, 1, 0, 0, 0, 1, 5<<4, or(r.TCPFlags, 0x10), 0xff, 0xff, 0, 0, 0, 0)
	case protoUDP:
		return append(ports, 0, 0, 0, 0)
	case protoICMP:
		return []byte{8, 0, 0, 0, 0, 1, 0, 1}
	case protoICMPv6:
		return []byte{128, 0, 0, 0, 0, 1, 0, 1}
	}
	return nil
}

// network returns the EtherType and the IP packet, with its checksums.
func (r *Request) network(src, dst netip.Addr, proto uint8, payload []byte) []byte {
	sumPayload(src, dst, proto, payload)
	tos, ttl := or(r.DSCP, 0)<<2, or(r.TTL, 64)
	if !dst.Is4() {
		b := []byte{0x86, 0xdd, 6<<4 | tos>>4, tos << 4, 0, 0, byte(len(payload) >> 8), byte(len(payload)), proto, ttl}
		return append(append(append(b, src.AsSlice()...), dst.AsSlice()...), payload...)
	}
	n := 20 + len(payload)
	ip := []byte{0x45, tos, byte(n >> 8), byte(n), 0, 0, 0x40, 0, ttl, proto, 0, 0}
	ip = append(append(ip, src.AsSlice()...), dst.AsSlice()...)
	binary.BigEndian.PutUint16(ip[10:], ^fold(sum(0, ip)))
	return append(append([]byte{8, 0}, ip...), payload...)
}

// sumPayload fills in the length of UDP and the checksum of the header above IP.
func sumPayload(src, dst netip.Addr, proto uint8, b []byte) {
	at := map[uint8]int{protoTCP: 16, protoUDP: 6, protoICMP: 2, protoICMPv6: 2}[proto]
	if at == 0 {
		return
	}
	if proto == protoUDP {
		binary.BigEndian.PutUint16(b[4:], uint16(len(b)))
	}
	s := uint32(0)
	if proto != protoICMP {
		s = sum(sum(uint32(proto)+uint32(len(b)), src.AsSlice()), dst.AsSlice())
	}
	is := ^fold(sum(s, b))
	if is == 0 && proto == protoUDP {
		is = 0xffff
	}
	binary.BigEndian.PutUint16(b[at:], is)
}

func sum(s uint32, b []byte) uint32 {
	for i := 0; i+1 < len(b); i += 2 {
		s += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	if len(b)%2 == 1 {
		s += uint32(b[len(b)-1]) << 8
	}
	return s
}

func fold(s uint32) uint16 {
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return uint16(s)
}
