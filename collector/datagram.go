package collector

import (
	"encoding/binary"
	"net/netip"

	"tamtam/tam/erspan"
)

// maxVLANTags is the maximum number of tags before the outer IP header.
const maxVLANTags = 4

const protocolGRE = 47

// A datagram is the payload of a complete IP packet.
type datagram struct {
	protocol uint8
	from, to netip.Addr
	payload  []byte
}

// parseDatagram parses the IP packet of an Ethernet II frame, over IPv4 or IPv6 after VLAN tags. It returns false for
// fragments and incomplete packets. Padding after the packet is ignored.
func parseDatagram(frame []byte) (datagram, bool) {
	for at, tags := 12, 0; len(frame) >= at+2 && tags <= maxVLANTags; at, tags = at+4, tags+1 {
		switch binary.BigEndian.Uint16(frame[at:]) {
		case etherCTag, etherSTag:
		case etherIPv4:
			return datagramIPv4(frame[at+2:])
		case etherIPv6:
			return datagramIPv6(frame[at+2:])
		default:
			return datagram{}, false
		}
	}
	return datagram{}, false
}

func datagramIPv4(b []byte) (datagram, bool) {
	if len(b) < 20 || b[0]>>4 != 4 {
		return datagram{}, false
	}
	header, length := int(b[0]&15)*4, int(binary.BigEndian.Uint16(b[2:]))
	const fragments = 0x3fff // mask: more fragments, or an offset
	if header < 20 || length < header || length > len(b) || binary.BigEndian.Uint16(b[6:])&fragments != 0 {
		return datagram{}, false
	}
	return datagram{b[9], netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:])), b[header:length]}, true
}

func datagramIPv6(b []byte) (datagram, bool) {
	if len(b) < 40 || b[0]>>4 != 6 {
		return datagram{}, false
	}
	length := 40 + int(binary.BigEndian.Uint16(b[4:]))
	if length > len(b) {
		return datagram{}, false
	}
	return datagram{b[6], netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:])), b[40:length]}, true
}

// UDP is a UDP datagram in a frame. Its payload shares memory with the frame.
type UDP struct {
	From, To netip.AddrPort
	Payload  []byte
}

// ParseUDP parses the UDP datagram of a frame, over IPv4 or IPv6 after VLAN tags. It returns false if there is no
// complete datagram.
func ParseUDP(frame []byte) (UDP, bool) {
	d, ok := parseDatagram(frame)
	if !ok {
		return UDP{}, false
	}
	return d.udp()
}

func (d *datagram) udp() (UDP, bool) {
	b := d.payload
	if d.protocol != protocolUDP || len(b) < 8 || int(binary.BigEndian.Uint16(b[4:])) != len(b) {
		return UDP{}, false
	}
	return UDP{
		From:    netip.AddrPortFrom(d.from, binary.BigEndian.Uint16(b)),
		To:      netip.AddrPortFrom(d.to, binary.BigEndian.Uint16(b[2:])),
		Payload: b[8:],
	}, true
}

// A MirrorCopy is a frame that a mirror session sent in GRE. It is ERSPAN of type I, II or III, or has a protocol type
// that is not assigned to another protocol, as SONiC's sessions allow. The other fields describe the copy.
type MirrorCopy struct {
	Frame []byte // without FCS; shares memory with the outer frame
	From  netip.Addr
	// Session is its ERSPAN id, or zero if the copy has no header with an id.
	Session uint16
	// Sequence is the number of the copy in its session, from GRE. It is valid if Numbered.
	Sequence uint32
	Numbered bool
}

// Mirrored returns the frame that a mirror session sent in GRE, as in [ReadMirrorCopy], without its FCS. It returns
// false if frame is no such copy. The result shares memory with frame.
func Mirrored(frame []byte) ([]byte, bool) {
	c, ok := ReadMirrorCopy(frame)
	return c.Frame, ok
}

// ReadMirrorCopy returns a mirrored frame with the description of the copy. It returns false if frame is not a mirror
// copy.
func ReadMirrorCopy(frame []byte) (MirrorCopy, bool) {
	d, ok := parseDatagram(frame)
	if !ok {
		return MirrorCopy{}, false
	}
	return d.erspan()
}

// erspan returns the copy after a GRE header and its ERSPAN header.
func (d *datagram) erspan() (MirrorCopy, bool) {
	b := d.payload
	if d.protocol != protocolGRE || len(b) < 4 {
		return MirrorCopy{}, false
	}
	flags, protocol := binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	const checksum, key, sequence, version = 0x8000, 0x2000, 0x1000, 7
	if flags&version != 0 {
		return MirrorCopy{}, false
	}
	c := MirrorCopy{From: d.from, Numbered: flags&sequence != 0}
	n := 4
	for _, field := range []uint16{checksum, key, sequence} {
		if flags&field != 0 {
			n += 4
		}
	}
	if len(b) < n {
		return MirrorCopy{}, false
	}
	if c.Numbered {
		c.Sequence = binary.BigEndian.Uint32(b[n-4:])
	}
	b = b[n:]
	header, ok := erspan.Size(protocol, c.Numbered, b)
	if !ok {
		return MirrorCopy{}, false
	}
	if header > 0 {
		c.Session = erspan.Session(b)
	}
	c.Frame = b[header:]
	return c, true
}
