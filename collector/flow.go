package collector

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"tamtam/saisim/tailstamp"
	"tamtam/tam/ifa"
)

// Flow is the five-tuple of a TCP or UDP packet.
type Flow struct {
	Protocol             uint8 // 6 is TCP, 17 UDP, others as assigned by IANA
	Source, Destination  netip.Addr
	SourcePort, DestPort uint16
	LaterFragment        bool // a fragment other than the first, whose ports are unknown and zero here
}

// String returns text such as "TCP 192.0.2.1:1234 > 192.0.2.2:80".
func (f Flow) String() string {
	if f.LaterFragment {
		return fmt.Sprintf("%s %s > %s (later fragments)", protocolName(f.Protocol), f.Source, f.Destination)
	}
	return fmt.Sprintf("%s %s > %s", protocolName(f.Protocol),
		netip.AddrPortFrom(f.Source, f.SourcePort), netip.AddrPortFrom(f.Destination, f.DestPort))
}

// FlowFromText parses the text that [Flow.String] returns. It returns false for every other text.
func FlowFromText(text string) (f Flow, ok bool) {
	protocol, rest, _ := strings.Cut(text, " ")
	switch number, other := strings.CutPrefix(protocol, "IP-"); {
	case protocol == "TCP":
		f.Protocol = protocolTCP
	case protocol == "UDP":
		f.Protocol = protocolUDP
	case other:
		n, err := strconv.ParseUint(number, 10, 8)
		if err != nil {
			return Flow{}, false
		}
		f.Protocol = uint8(n)
	}
	rest, f.LaterFragment = strings.CutSuffix(rest, " (later fragments)")
	from, to, _ := strings.Cut(rest, " > ")
	var errs [2]error
	if f.LaterFragment {
		f.Source, errs[0] = netip.ParseAddr(from)
		f.Destination, errs[1] = netip.ParseAddr(to)
	} else {
		var source, destination netip.AddrPort
		source, errs[0] = netip.ParseAddrPort(from)
		destination, errs[1] = netip.ParseAddrPort(to)
		f.Source, f.SourcePort = source.Addr(), source.Port()
		f.Destination, f.DestPort = destination.Addr(), destination.Port()
	}
	if errs[0] != nil || errs[1] != nil || f.String() != text {
		return Flow{}, false
	}
	return f, true
}

func protocolName(p uint8) string {
	switch p {
	case protocolTCP:
		return "TCP"
	case protocolUDP:
		return "UDP"
	}
	return fmt.Sprintf("IP-%d", p)
}

func (f Flow) compare(g Flow) int {
	later := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(f.Protocol, g.Protocol), f.Source.Compare(g.Source), f.Destination.Compare(g.Destination),
		cmp.Compare(f.SourcePort, g.SourcePort), cmp.Compare(f.DestPort, g.DestPort),
		cmp.Compare(later(f.LaterFragment), later(g.LaterFragment)))
}

// EtherTypes, IP protocol numbers and IPv6 extension headers that are evaluated.
const (
	etherIPv4, etherIPv6, etherCTag, etherSTag = 0x0800, 0x86dd, 0x8100, 0x88a8

	protocolTCP, protocolUDP                      = 6, 17
	extHopByHop, extRouting, extFragment, extAuth = 0, 43, 44, 51
	extDestination, extMobility, extHIP, extShim6 = 60, 135, 139, 140
)

// ParseFlow parses the five-tuple of an Ethernet II frame, after VLAN tags and IPv6 extension headers. It returns false
// if the frame is not IP or ends before the addresses. gopacket decodes no ports in first fragments, although first
// fragments contain them. A packet with IFA has the same flow as without it.
func ParseFlow(frame []byte) (Flow, bool) {
	if end, ok := tailstamp.DatagramEnd(frame); ok {
		frame = frame[:end] // without padding and records
	}
	for at, tags := 12, 0; len(frame) >= at+2 && tags <= tailstamp.MaxTags; at, tags = at+4, tags+1 {
		switch binary.BigEndian.Uint16(frame[at:]) {
		case etherCTag, etherSTag:
		case etherIPv4:
			f, ok := flowIPv4(frame[at+2:])
			return f.throughIFA(frame[at+2:]), ok
		case etherIPv6:
			f, ok := flowIPv6(frame[at+2:])
			return f.throughIFA(frame[at+2:]), ok
		default:
			return Flow{}, false
		}
	}
	return Flow{}, false
}

// throughIFA returns the flow of an IFA packet, with the ports that follow IFA.
func (f Flow) throughIFA(ip []byte) Flow {
	if f.Protocol != ifa.Protocol {
		return f
	}
	if proto, at, ok := ifa.Behind(ip); ok {
		f.Protocol = proto
		f.ports(ip[at:])
	}
	return f
}

func flowIPv4(b []byte) (Flow, bool) {
	if len(b) < 20 || b[0]>>4 != 4 {
		return Flow{}, false
	}
	header := int(b[0]&15) * 4
	if header < 20 || header > len(b) {
		return Flow{}, false
	}
	f := Flow{Protocol: b[9], Source: netip.AddrFrom4([4]byte(b[12:])), Destination: netip.AddrFrom4([4]byte(b[16:]))}
	f.LaterFragment = binary.BigEndian.Uint16(b[6:])&0x1fff != 0
	f.ports(b[header:])
	return f, true
}

func flowIPv6(b []byte) (Flow, bool) {
	if len(b) < 40 || b[0]>>4 != 6 {
		return Flow{}, false
	}
	f := Flow{Protocol: b[6], Source: netip.AddrFrom16([16]byte(b[8:])), Destination: netip.AddrFrom16([16]byte(b[24:]))}
	for b = b[40:]; len(b) >= 8; {
		size := 8
		switch f.Protocol {
		case extHopByHop, extRouting, extDestination, extMobility, extHIP, extShim6:
			size = 8 + 8*int(b[1])
		case extAuth:
			size = 8 + 4*int(b[1])
		case extFragment:
			f.LaterFragment = binary.BigEndian.Uint16(b[2:])&0xfff8 != 0
		default:
			f.ports(b)
			return f, true
		}
		f.Protocol = b[0]
		if f.LaterFragment || size > len(b) {
			return f, true
		}
		b = b[size:]
	}
	f.ports(b)
	return f, true
}

func (f *Flow) ports(b []byte) {
	if (f.Protocol == protocolTCP || f.Protocol == protocolUDP) && !f.LaterFragment && len(b) >= 4 {
		f.SourcePort, f.DestPort = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	}
}
