package host

import (
	"encoding/binary"
	"net/netip"
)

const (
	ethHeader = 14
	etherIPv4 = 0x0800
	etherARP  = 0x0806
	etherIPv6 = 0x86dd

	protoHopByHop = 0
	protoICMP     = 1
	protoTCP      = 6
	protoUDP      = 17
	protoRouting  = 43
	protoFragment = 44
	protoICMPv6   = 58
	protoNone     = 59
	protoOptions  = 60
)

// An ipPacket is an IP packet with a valid header.
type ipPacket struct {
	v4       bool
	src, dst netip.Addr
	ttl      byte
	proto    byte // protocol of the payload, after IPv6's extension headers
	// fragmented means that it is a fragment; later means that it is not the first, so that proto's header is not in
	// it.
	fragmented, later bool
	dontFragment      bool
	more              bool   // true if fragments follow this one
	offset            int    // offset of a fragment in the payload of the whole packet
	ident             uint32 // identification of the fragmented packet
	plain             int    // length of the headers that each fragment has, without a fragment header
	part              []byte // payload after these headers
	behind            byte   // type of the header at the start of part
	nextHeader        int    // offset of the field in an IPv6 packet that contains proto
	packet, payload   []byte // packet is cut to the length in its header
}

// parseIP checks the header of an IP packet; if it is invalid, why is the counter of the drop.
func parseIP(b []byte, v4 bool) (p ipPacket, why Counter, ok bool) {
	if v4 {
		return parseIPv4(b)
	}
	return parseIPv6(b)
}

func parseIPv4(b []byte) (p ipPacket, why Counter, ok bool) {
	if len(b) < 20 {
		return p, DropShort, false
	}
	header, length := int(b[0]&15)*4, int(binary.BigEndian.Uint16(b[2:]))
	switch {
	case b[0]>>4 != 4 || header < 20 || length < header:
		return p, DropHeader, false
	case len(b) < length:
		return p, DropShort, false
	case fold(sum(0, b[:header])) != 0xffff:
		return p, DropHeader, false
	}
	fragment := binary.BigEndian.Uint16(b[6:])
	if int(fragment&0x1fff)*8+length > 0xffff { // beyond the maximum packet length
		return p, DropHeader, false
	}
	return ipPacket{
		v4: true, src: netip.AddrFrom4([4]byte(b[12:16])), dst: netip.AddrFrom4([4]byte(b[16:20])),
		ttl: b[8], proto: b[9], dontFragment: fragment&0x4000 != 0,
		fragmented: fragment&0x3fff != 0, later: fragment&0x1fff != 0,
		more: fragment&0x2000 != 0, offset: int(fragment&0x1fff) * 8, ident: uint32(binary.BigEndian.Uint16(b[4:])),
		packet: b[:length], payload: b[header:length], plain: header, part: b[header:length],
	}, 0, true
}

func parseIPv6(b []byte) (p ipPacket, why Counter, ok bool) {
	if len(b) < 40 {
		return p, DropShort, false
	}
	length := 40 + int(binary.BigEndian.Uint16(b[4:]))
	switch {
	case b[0]>>4 != 6:
		return p, DropHeader, false
	case len(b) < length:
		return p, DropShort, false
	}
	p = ipPacket{
		src: netip.AddrFrom16([16]byte(b[8:24])), dst: netip.AddrFrom16([16]byte(b[24:40])),
		ttl: b[7], proto: b[6], nextHeader: 6, packet: b[:length],
	}
	at := 40
	for !p.later && (p.proto == protoHopByHop || p.proto == protoRouting || p.proto == protoOptions ||
		p.proto == protoFragment) {
		if length < at+8 {
			return p, DropShort, false
		}
		n := 8 * (1 + int(b[at+1]))
		if p.proto == protoFragment {
			offset := binary.BigEndian.Uint16(b[at+2:])
			n, p.fragmented, p.later = 8, offset&^6 != 0, offset>>3 != 0
			p.more, p.offset, p.ident, p.plain = offset&1 != 0, int(offset&^7), binary.BigEndian.Uint32(b[at+4:]), at
			p.behind, p.part = b[at], b[at+8:length]
		}
		if length < at+n {
			return p, DropShort, false
		}
		p.proto, p.nextHeader = b[at], at
		at += n
	}
	p.payload = b[at:length]
	return p, 0, true
}

// host reports whether an address in a subnet may belong to a host.
func host(ip netip.Addr, in netip.Prefix) bool {
	if !single(ip) {
		return false
	}
	if !ip.Is4() || in.Bits() > 30 {
		return true
	}
	a, mask := binary.BigEndian.Uint32(ip.AsSlice()), uint32(1)<<(32-in.Bits())-1
	return a&mask != 0 && a&mask != mask
}

// single reports whether an address may belong to a single host.
func single(ip netip.Addr) bool {
	return !ip.IsUnspecified() && !ip.IsMulticast() && !ip.IsLoopback() && !(ip.Is4() && ip.As4()[0] >= 240)
}

func (s *Stack) receiveIP(f *received, p *ipPacket) {
	x := f.in
	own := s.own[p.dst]
	if own == nil {
		own = x.addrs[p.dst]
	}
	switch {
	case !p.v4 && p.dst.IsMulticast():
		s.receiveGroup(f, p)
	case own.usable():
		s.receiveOwn(f, p)
	case f.dst.isGroup():
		s.counts[DropGroup]++
	case !x.mine(f.dst): // a copy of a packet for other hosts
		s.counts[DropOtherHost]++
	case !single(p.dst) || s.fib.isBroadcast(p.dst):
		s.counts[DropGroup]++
	case own != nil || p.dst.IsLinkLocalUnicast() || !f.undelivered:
		s.counts[DropOtherHost]++
	default:
		s.forward(f, p)
	}
}

// isBroadcast reports whether an address is the broadcast address, or the first, of one of the stack's subnets.
func (t *fib) isBroadcast(ip netip.Addr) bool {
	_, p, ok := t.subnet(ip)
	return ok && !host(ip, p)
}

func (s *Stack) receiveGroup(f *received, p *ipPacket) {
	if p.proto == protoICMPv6 && !p.fragmented && len(p.payload) >= 8 && sum6ok(p) && isND(p.payload[0]) {
		s.receiveND(f, p)
		return
	}
	s.counts[DropGroup]++
}

func isND(t byte) bool { return t >= typeRouterSolicitation && t <= typeRedirect }

// receiveOwn handles a packet for one of the stack's addresses.
func (s *Stack) receiveOwn(f *received, p *ipPacket) {
	if p.fragmented {
		s.collect(f, p)
		return
	}
	switch {
	case p.v4 && p.proto == protoICMP:
		s.receiveICMP(f, p)
	case !p.v4 && p.proto == protoICMPv6:
		s.receiveICMPv6(f, p)
	case p.proto == protoTCP:
		s.counts[DropTCP]++
	case p.proto == protoUDP:
		s.report(f, p, portUnreachable, 0)
	case !p.v4 && p.proto == protoNone:
		s.counts[DropNoAnswer]++
	case p.v4:
		s.report(f, p, protocolUnreachable, 0)
	default:
		s.report(f, p, unknownNextHeader, uint32(p.nextHeader))
	}
}

// forward handles a packet that the chip could not forward.
func (s *Stack) forward(f *received, p *ipPacket) {
	if p.ttl <= 1 {
		s.report(f, p, timeExceeded, 0)
		return
	}
	hop, ok := s.fib.lookup(p.dst)
	if !ok {
		s.report(f, p, netUnreachable, 0)
		return
	}
	out := s.ifs[hop.Interface]
	switch {
	case out == nil || !out.Up || out.MAC == (MAC{}):
		s.report(f, p, netUnreachable, 0)
	case !single(p.src):
		s.counts[DropNoAnswer]++
	case len(p.packet) <= out.MTU:
		s.toNeighbor(neighKey{hop.Interface, hop.Addr}, waiting{packet: clone(p.packet), in: f.in, l2: f.dst})
	case !p.v4:
		s.report(f, p, tooBig, uint32(out.MTU))
	case p.dontFragment:
		s.report(f, p, tooBig, uint32(min(out.MTU, 0xffff)))
	default:
		for _, part := range s.split(p.packet, out.MTU) {
			s.toNeighbor(neighKey{hop.Interface, hop.Addr}, waiting{packet: part, in: f.in, l2: f.dst})
		}
	}
}

// outgoing returns the packet as it is sent: the hop limit of a forwarded packet is decremented.
func (w *waiting) outgoing() []byte {
	if w.in == nil {
		return w.packet
	}
	if w.packet[0]>>4 == 6 {
		w.packet[7]--
		return w.packet
	}
	w.packet[8]--
	fixIPv4(w.packet)
	return w.packet
}

// sendIP sends a packet of the stack's own; a link-local destination is at the interface via.
func (s *Stack) sendIP(via *iface, dst netip.Addr, packet []byte) {
	hop, ok := Hop{via.Name, dst}, true
	if !dst.IsLinkLocalUnicast() {
		hop, ok = s.fib.lookup(dst)
	}
	if !ok {
		s.counts[DropNoRoute]++
		return
	}
	s.toNeighbor(neighKey{hop.Interface, hop.Addr}, waiting{packet: packet})
}

func clone(b []byte) []byte { return append([]byte(nil), b...) }

// sum adds the 16-bit words of b, RFC 1071.
func sum(n uint32, b []byte) uint32 {
	for ; len(b) >= 2; b = b[2:] {
		n += uint32(b[0])<<8 | uint32(b[1])
	}
	if len(b) == 1 {
		n += uint32(b[0]) << 8
	}
	return n
}

func fold(n uint32) uint16 {
	for n > 0xffff {
		n = n>>16 + n&0xffff
	}
	return uint16(n)
}

func fixIPv4(b []byte) {
	b[10], b[11] = 0, 0
	binary.BigEndian.PutUint16(b[10:], ^fold(sum(0, b[:int(b[0]&15)*4])))
}

// sum6 returns the checksum of an IPv6 upper-layer packet whose own checksum field is 0.
func sum6(src, dst [16]byte, proto byte, b []byte) uint16 {
	n := sum(sum(0, src[:]), dst[:])
	return ^fold(sum(n+uint32(len(b))+uint32(proto), b))
}

// sum6ok reports whether ICMPv6 has the right checksum.
func sum6ok(p *ipPacket) bool {
	return sum6(p.src.As16(), p.dst.As16(), protoICMPv6, p.payload) == 0
}
