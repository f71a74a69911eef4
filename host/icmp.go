package host

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// An icmpError holds the type and code of an error in both protocols: RFC 792, RFC 4443.
type icmpError struct{ type4, code4, type6, code6 byte }

var (
	netUnreachable      = icmpError{3, 0, 1, 0}
	hostUnreachable     = icmpError{3, 1, 1, 3}
	protocolUnreachable = icmpError{type4: 3, code4: 2}
	portUnreachable     = icmpError{3, 3, 1, 4}
	tooBig              = icmpError{3, 4, 2, 0} // fragmentation needed
	timeExceeded        = icmpError{11, 0, 3, 0}
	unknownNextHeader   = icmpError{type6: 4, code6: 1}
)

// Maximum lengths of a packet with an error, RFC 1812 section 4.3.2.3 and RFC 4443 section 2.4.
const (
	maxError4 = 576
	maxError6 = 1280
	ttl       = 64
	// control is the traffic class of errors: precedence 6, RFC 1812 section 4.3.2.5.
	control = 0xc0
)

const (
	typeEchoReply    = 0
	typeEchoRequest  = 8
	typeEchoRequest6 = 128
	typeEchoReply6   = 129
)

func (s *Stack) receiveICMP(f *received, p *ipPacket) {
	b := p.payload
	switch {
	case len(b) < 8:
		s.counts[DropShort]++
	case fold(sum(0, b)) != 0xffff:
		s.counts[DropHeader]++
	case answers(true, b[0]) && single(p.src) && f.in.mine(f.dst):
		s.keep(Message{From: p.src, To: p.dst, TTL: p.ttl, Data: b})
	case b[0] != typeEchoRequest || b[1] != 0 || !single(p.src) || !f.in.mine(f.dst):
		s.counts[DropICMP]++
	default:
		s.counts[EchoRequests]++
		s.counts[SentEchoReplies]++
		reply := clone(b)
		reply[0], reply[2], reply[3] = typeEchoReply, 0, 0
		binary.BigEndian.PutUint16(reply[2:], ^fold(sum(0, reply)))
		s.sendIP(f.in, p.src, s.buildIPv4(p.dst, p.src, p.packet[1], reply))
	}
}

// receiveICMPv6 handles ICMPv6 for one of the stack's addresses.
func (s *Stack) receiveICMPv6(f *received, p *ipPacket) {
	b := p.payload
	switch {
	case len(b) < 8:
		s.counts[DropShort]++
	case !sum6ok(p):
		s.counts[DropHeader]++
	case isND(b[0]):
		s.receiveND(f, p)
	case answers(false, b[0]) && single(p.src) && f.in.mine(f.dst):
		s.keep(Message{From: p.src, To: p.dst, TTL: p.ttl, Data: b})
	case b[0] != typeEchoRequest6 || b[1] != 0 || !single(p.src) || !f.in.mine(f.dst):
		s.counts[DropICMP]++
	default:
		s.counts[EchoRequests6]++
		s.counts[SentEchoReplies6]++
		reply := clone(b)
		reply[0] = typeEchoReply6
		s.sendIP(f.in, p.src, buildIPv6(p.dst, p.src, ttl, reply))
	}
}

// buildIPv4 returns an IPv4 packet of the stack's own with an ICMP message.
func (s *sender) buildIPv4(from, dst netip.Addr, tos byte, icmp []byte) []byte {
	s.ident++
	n := 20 + len(icmp)
	a, z := from.As4(), dst.As4()
	b := make([]byte, 0, n)
	b = append(b, 0x45, tos, byte(n>>8), byte(n), byte(s.ident>>8), byte(s.ident), 0, 0, ttl, protoICMP, 0, 0)
	b = append(append(append(b, a[:]...), z[:]...), icmp...)
	fixIPv4(b)
	return b
}

// report sends an error to the sender of a packet; word is the second word of the message.
func (s *Stack) report(f *received, p *ipPacket, e icmpError, word uint32) {
	s.sendError(f.in, f.dst, p, e, word)
}

// unreachable sends an error to the sender of a packet that has waited for a neighbour in vain.
func (s *Stack) unreachable(w *waiting, n *neighbor) {
	if w.in == nil {
		s.undeliverable(w.packet, fmt.Sprintf("neighbour %s at %s does not answer %s", n.addr, n.on, solicitedBy(n.addr)))
		return
	}
	if s.ifs[w.in.Name] != w.in {
		return
	}
	if p, _, ok := parseIP(w.packet, w.packet[0]>>4 == 4); ok {
		s.sendError(w.in, w.l2, &p, hostUnreachable, 0)
	}
}

// solicitedBy returns the protocol that resolves an address.
func solicitedBy(ip netip.Addr) string {
	if ip.Is4() {
		return "ARP requests"
	}
	return "neighbour solicitations"
}

func (s *Stack) sendError(x *iface, l2 MAC, p *ipPacket, e icmpError, word uint32) {
	if l2.isGroup() || !mayReport(p) || s.fib.isBroadcast(p.dst) {
		s.counts[DropNoAnswer]++
		return
	}
	from, ok := s.errorSource(x, p)
	if !ok {
		s.counts[DropNoSource]++
		return
	}
	if !s.tokens.allow(s.now) {
		s.counts[DropLimit]++
		return
	}
	b := make([]byte, 8, maxError6)
	if p.v4 {
		b[0], b[1] = e.type4, e.code4
		binary.BigEndian.PutUint32(b[4:], word)
		b = append(b, p.packet[:min(len(p.packet), maxError4-28)]...)
		binary.BigEndian.PutUint16(b[2:], ^fold(sum(0, b)))
		s.counts[SentErrors]++
		s.sendIP(x, p.src, s.buildIPv4(from, p.src, control, b))
		return
	}
	b[0], b[1] = e.type6, e.code6
	binary.BigEndian.PutUint32(b[4:], word)
	b = append(b, p.packet[:min(len(p.packet), maxError6-48)]...)
	s.counts[SentErrors6]++
	s.sendIP(x, p.src, buildIPv6(from, p.src, ttl, b))
}

// mayReport reports whether an error may be sent about a packet: RFC 1812 section 4.3.2.7, RFC 4443 section 2.4 (e).
func mayReport(p *ipPacket) bool {
	if p.later || !single(p.src) || !single(p.dst) {
		return false
	}
	switch {
	case p.v4 && p.proto == protoICMP: // queries only: an unknown type may be an error
		return len(p.payload) > 0 && slices.Contains([]byte{0, 8, 13, 14, 15, 16, 17, 18}, p.payload[0])
	case !p.v4 && p.proto == protoICMPv6:
		return len(p.payload) > 0 && p.payload[0] >= 128 && p.payload[0] != typeRedirect
	}
	return true
}

// errorSource returns the source address of an error. It is the packet's destination if that is an address of the
// stack. Otherwise it is an address of the ingress interface, preferably in the sender's subnet.
func (s *Stack) errorSource(x *iface, p *ipPacket) (netip.Addr, bool) {
	own := s.own[p.dst]
	if own == nil {
		own = x.addrs[p.dst]
	}
	if own.usable() {
		return p.dst, true
	}
	if a := x.subnet(p.src); a.usable() {
		return a.Addr(), true
	}
	best := netip.Addr{}
	for ip, a := range x.addrs {
		if ip.Is4() != p.v4 || !a.usable() {
			continue
		}
		// A global address is preferred to a link-local one. Among equals, the lowest one is chosen.
		if !best.IsValid() || best.IsLinkLocalUnicast() && !ip.IsLinkLocalUnicast() ||
			best.IsLinkLocalUnicast() == ip.IsLinkLocalUnicast() && ip.Less(best) {
			best = ip
		}
	}
	return best, best.IsValid()
}

type bucket struct {
	rate, burst int // tokens per second; capacity
	left        float64
	last        time.Time
}

// allow removes a token, and reports whether there was one.
func (b *bucket) allow(now time.Time) bool {
	if !b.last.IsZero() && now.After(b.last) {
		b.left = min(float64(b.burst), b.left+float64(now.Sub(b.last).Seconds()*float64(b.rate)))
	}
	b.last = now
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}
