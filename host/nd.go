package host

import (
	"encoding/binary"
	"net/netip"
)

// ICMPv6 types of neighbour discovery, RFC 4861.
const (
	typeRouterSolicitation = 133
	typeSolicitation       = 135
	typeAdvertisement      = 136
	typeRedirect           = 137

	optionSource = 1
	optionTarget = 2

	flagRouter    = 0x80
	flagSolicited = 0x40
	flagOverride  = 0x20
)

var (
	allNodes    = netip.MustParseAddr("ff02::1")
	allNodesMAC = MAC{0x33, 0x33, 0, 0, 0, 1}
)

// solicitedNode returns the solicited-node group of an address, RFC 4291 section 2.7.1.
func solicitedNode(a netip.Addr) netip.Addr {
	b := a.As16()
	return netip.AddrFrom16([16]byte{0: 0xff, 1: 2, 11: 1, 12: 0xff, 13: b[13], 14: b[14], 15: b[15]})
}

func solicitedNodeMAC(a netip.Addr) MAC {
	b := a.As16()
	return MAC{0x33, 0x33, 0xff, b[13], b[14], b[15]}
}

// receiveND handles neighbour discovery in valid ICMPv6: p.payload begins with its type.
func (s *Stack) receiveND(f *received, p *ipPacket) {
	b := p.payload
	if p.ttl != 255 || b[1] != 0 {
		s.counts[DropND]++
		return
	}
	if b[0] != typeSolicitation && b[0] != typeAdvertisement {
		s.counts[DropNDOther]++
		return
	}
	if len(b) < 24 {
		s.counts[DropND]++
		return
	}
	target := netip.AddrFrom16([16]byte(b[8:24]))
	option := byte(optionSource)
	if b[0] == typeAdvertisement {
		option = optionTarget
	}
	mac, has, ok := linkOption(b[24:], option)
	switch {
	case !ok || target.IsMulticast() || target.IsUnspecified():
		s.counts[DropND]++
	case b[0] == typeSolicitation:
		s.receiveSolicitation(f, p, target, mac, has)
	default:
		s.receiveAdvertisement(f, p, target, mac, has)
	}
}

// linkOption returns the link-layer address of an option; ok is false if options are damaged.
func linkOption(b []byte, kind byte) (mac MAC, has, ok bool) {
	for len(b) > 0 {
		if len(b) < 8 || b[1] == 0 || len(b) < 8*int(b[1]) {
			return mac, has, false
		}
		if b[0] == kind && !has {
			mac, has = MAC(b[2:8]), true
		}
		b = b[8*int(b[1]):]
	}
	return mac, has, true
}

func (s *Stack) receiveSolicitation(f *received, p *ipPacket, target netip.Addr, mac MAC, has bool) {
	probe := p.src.IsUnspecified() // duplicate address detection by another host
	if probe && (has || p.dst != solicitedNode(target)) || p.src.IsMulticast() {
		s.counts[DropND]++
		return
	}
	s.counts[Solicitations]++
	x := f.in
	own := x.addrs[target]
	switch {
	case has && mac == x.MAC || probe && f.src == x.MAC: // this interface's own frame, looped back
		s.counts[DropNDOther]++
	case own != nil && own.tentative:
		if probe { // another host probes for it, too: neither may have it
			s.conflict(own, f.src)
		}
	case !own.usable():
		s.counts[DropNDOther]++
	case probe:
		s.sendAdvertisement(x, allNodesMAC, target, allNodes, target, false)
	default:
		to := f.src
		if has {
			s.received(neighKey{x.Name, p.src}, mac, false, true)
			to = mac
		}
		if to.isHost() {
			s.sendAdvertisement(x, to, target, p.src, target, true)
		}
	}
}

func (s *Stack) receiveAdvertisement(f *received, p *ipPacket, target netip.Addr, mac MAC, has bool) {
	flags := p.payload[4]
	solicited, override := flags&flagSolicited != 0, flags&flagOverride != 0
	if solicited && p.dst.IsMulticast() {
		s.counts[DropND]++
		return
	}
	s.counts[Advertisements]++
	x := f.in
	if own := x.addrs[target]; own != nil {
		if has && mac != x.MAC || !has && f.src != x.MAC {
			s.conflict(own, f.src)
		}
		return
	}
	s.advertised(neighKey{x.Name, target}, mac, has, solicited, override)
}

// advertised handles an advertisement as in RFC 4861, section 7.2.5.
func (s *Stack) advertised(k neighKey, mac MAC, has, solicited, override bool) {
	n := s.neighs[k]
	switch {
	case n == nil || n.state == Failed:
		s.counts[DropNDOther]++
	case n.state == Incomplete:
		if has {
			s.received(k, mac, solicited, false)
		}
	case !has || mac == n.mac:
		if solicited {
			s.confirm(n)
		}
	case override:
		s.received(k, mac, solicited, false)
	case n.state == Reachable:
		s.stale(n)
	}
}

// sendSolicitation solicits the MAC address of a target; an unspecified from means duplicate address detection.
func (s *sender) sendSolicitation(x *iface, target netip.Addr, to MAC, from, dst netip.Addr) {
	t := target.As16()
	b := append([]byte{typeSolicitation, 0, 0, 0, 0, 0, 0, 0}, t[:]...)
	if !from.IsUnspecified() {
		b = append(append(b, optionSource, 1), x.MAC[:]...)
	}
	s.counts[SentSolicitations]++
	s.send(x, to, etherIPv6, buildIPv6(from, dst, 255, b))
}

// sendAdvertisement announces that a target is the stack's, in an answer or unsolicited.
func (s *sender) sendAdvertisement(x *iface, to MAC, from, dst, target netip.Addr, solicited bool) {
	flags := byte(flagRouter | flagOverride)
	if solicited {
		flags |= flagSolicited
	}
	t := target.As16()
	b := append([]byte{typeAdvertisement, 0, 0, 0, flags, 0, 0, 0}, t[:]...)
	b = append(append(b, optionTarget, 1), x.MAC[:]...)
	s.counts[SentAdvertisements]++
	s.send(x, to, etherIPv6, buildIPv6(from, dst, 255, b))
}

// buildIPv6 returns an ICMPv6 packet, with its checksum.
func buildIPv6(from, dst netip.Addr, hops byte, icmp []byte) []byte {
	a, z := from.As16(), dst.As16()
	b := make([]byte, 0, 40+len(icmp))
	b = append(b, 0x60, 0, 0, 0, byte(len(icmp)>>8), byte(len(icmp)), protoICMPv6, hops)
	b = append(append(append(b, a[:]...), z[:]...), icmp...)
	binary.BigEndian.PutUint16(b[42:], 0)
	binary.BigEndian.PutUint16(b[42:], sum6(a, z, protoICMPv6, b[40:]))
	return b
}
