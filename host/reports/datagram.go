// Package reports sends the reports that the chip passes to the switch's host: reports of drops for collectors that are
// reached through the management interface (VRF mgmt). The chip makes them as complete frames, trap "tam". The host
// sends their UDP payload in its own datagrams, since the addresses, routes and neighbours of that interface are the
// host's.
//
// What belongs here: the parsing of such frames, and the counters of sent datagrams by destination. Not: sockets, which
// are the caller's, and the contents of reports.
package reports

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"tamtam/host/cpuport"
)

// Trap is the trap of frames that the host must send, as in [cpuport.Packet].
const Trap = "tam"

// Is reports whether a frame is for a [Sender].
func Is(p *cpuport.Packet) bool { return p.Trap == Trap }

// A Datagram is a datagram that the host must send.
type Datagram struct {
	From, To netip.AddrPort
	DSCP     uint8
	Payload  []byte
}

const (
	etherTypeIPv4 = 0x0800
	etherTypeIPv6 = 0x86dd
	etherHeader   = 14
	ipv4Header    = 20
	ipv6Header    = 40
	udpHeader     = 8
	protocolUDP   = 17
)

// Parse parses a frame; the payload is part of it.
func Parse(frame []byte) (d Datagram, err error) {
	if len(frame) < etherHeader {
		return d, fmt.Errorf("a frame of %d bytes, want the %d of Ethernet at least", len(frame), etherHeader)
	}
	var udp []byte
	switch t := binary.BigEndian.Uint16(frame[12:]); t {
	case etherTypeIPv4:
		udp, err = d.ipv4(frame[etherHeader:])
	case etherTypeIPv6:
		udp, err = d.ipv6(frame[etherHeader:])
	default:
		return d, fmt.Errorf("EtherType %#04x, want IPv4 or IPv6", t)
	}
	if err != nil {
		return Datagram{}, err
	}
	if len(udp) < udpHeader || int(binary.BigEndian.Uint16(udp[4:])) != len(udp) {
		return Datagram{}, fmt.Errorf("%d bytes of UDP, want its header and the length in it", len(udp))
	}
	d.From = netip.AddrPortFrom(d.From.Addr(), binary.BigEndian.Uint16(udp))
	d.To = netip.AddrPortFrom(d.To.Addr(), binary.BigEndian.Uint16(udp[2:]))
	d.Payload = udp[udpHeader:]
	return d, nil
}

func (d *Datagram) ipv4(b []byte) (udp []byte, err error) {
	if len(b) < ipv4Header || b[0] != 0x45 || b[9] != protocolUDP || binary.BigEndian.Uint16(b[6:])&0x3fff != 0 {
		return nil, fmt.Errorf("%d bytes of IPv4, want UDP without options in one fragment", len(b))
	}
	n := int(binary.BigEndian.Uint16(b[2:]))
	if n < ipv4Header || n > len(b) {
		return nil, fmt.Errorf("IPv4 of %d bytes in %d, want %d bytes or more, all there", n, len(b), ipv4Header)
	}
	d.DSCP = b[1] >> 2
	d.From = netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[12:16])), 0)
	d.To = netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[16:20])), 0)
	return b[ipv4Header:n], nil
}

func (d *Datagram) ipv6(b []byte) (udp []byte, err error) {
	if len(b) < ipv6Header || b[0]>>4 != 6 || b[6] != protocolUDP {
		return nil, fmt.Errorf("%d bytes of IPv6, want UDP without extension headers", len(b))
	}
	n := ipv6Header + int(binary.BigEndian.Uint16(b[4:]))
	if n > len(b) {
		return nil, fmt.Errorf("IPv6 of %d bytes in %d, want all there", n, len(b))
	}
	d.DSCP = uint8(binary.BigEndian.Uint16(b) >> 6 & 63)
	d.From = netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])), 0)
	d.To = netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[24:40])), 0)
	return b[ipv6Header:n], nil
}
