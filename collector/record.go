package collector

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"

	"tamtam/tam/record"
	"tamtam/tam/recordplan"
)

// A RecordedPacket is a mirrored frame with a record of table recording at its end.
type RecordedPacket struct {
	record.Record
	// Exporter is the source of the tunnel.
	Exporter netip.Addr
	// Encapsulation is "udp" or "erspan".
	Encapsulation string
	// Frame is what the mirror session kept of the recorded frame. It shares memory
	// with the mirrored one.
	Frame []byte
}

// maxVLANTags bounds the tags before the outer IP header.
const maxVLANTags = 4

// GRE protocols of ERSPAN: types I and II, and III.
const (
	protocolGRE     = 47
	greERSPAN       = 0x88be
	greERSPAN3      = 0x22eb
	erspanHeaderLen = 8
)

// FindRecord looks for a record at the end of what a mirrored frame carries: in UDP to any port, or
// in GRE as ERSPAN of type I, II or III, over IPv4 or IPv6 behind any VLAN tags. Frame is without
// FCS; padding behind the IP packet is ignored.
func FindRecord(frame []byte) (RecordedPacket, bool) {
	for at, tags := 12, 0; len(frame) >= at+2 && tags <= maxVLANTags; at, tags = at+4, tags+1 {
		switch binary.BigEndian.Uint16(frame[at:]) {
		case etherCTag, etherSTag:
		case etherIPv4:
			return findIPv4(frame[at+2:])
		case etherIPv6:
			return findIPv6(frame[at+2:])
		default:
			return RecordedPacket{}, false
		}
	}
	return RecordedPacket{}, false
}

func findIPv4(b []byte) (RecordedPacket, bool) {
	if len(b) < 20 || b[0]>>4 != 4 {
		return RecordedPacket{}, false
	}
	header, length := int(b[0]&15)*4, int(binary.BigEndian.Uint16(b[2:]))
	const fragments = 0x3fff // more fragments, or an offset
	if header < 20 || length < header || length > len(b) || binary.BigEndian.Uint16(b[6:])&fragments != 0 {
		return RecordedPacket{}, false
	}
	return findTunnel(b[9], netip.AddrFrom4([4]byte(b[12:])), b[header:length])
}

func findIPv6(b []byte) (RecordedPacket, bool) {
	if len(b) < 40 || b[0]>>4 != 6 {
		return RecordedPacket{}, false
	}
	length := 40 + int(binary.BigEndian.Uint16(b[4:]))
	if length > len(b) {
		return RecordedPacket{}, false
	}
	return findTunnel(b[6], netip.AddrFrom16([16]byte(b[8:])), b[40:length])
}

func findTunnel(protocol uint8, from netip.Addr, b []byte) (RecordedPacket, bool) {
	p := RecordedPacket{Exporter: from}
	var payload []byte
	switch protocol {
	case protocolUDP:
		if len(b) < 8 || int(binary.BigEndian.Uint16(b[4:])) != len(b) {
			return p, false
		}
		p.Encapsulation, payload = "udp", b[8:]
	case protocolGRE:
		var ok bool
		if payload, ok = erspanPayload(b); !ok {
			return p, false
		}
		p.Encapsulation = "erspan"
	default:
		return p, false
	}
	return p.read(payload)
}

// read splits the record off what a tunnel carries.
func (p RecordedPacket) read(payload []byte) (RecordedPacket, bool) {
	r, frame, err := record.Decode(payload)
	if err != nil {
		return RecordedPacket{}, false
	}
	p.Record, p.Frame = r, frame
	return p, true
}

// erspanPayload returns what follows a GRE header and its ERSPAN header.
func erspanPayload(b []byte) ([]byte, bool) {
	if len(b) < 4 {
		return nil, false
	}
	flags, protocol := binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	const checksum, key, sequence, version = 0x8000, 0x2000, 0x1000, 7
	if flags&version != 0 || protocol != greERSPAN && protocol != greERSPAN3 {
		return nil, false
	}
	n := 4
	for _, field := range []uint16{checksum, key, sequence} {
		if flags&field != 0 {
			n += 4
		}
	}
	switch {
	case protocol == greERSPAN3:
		const optional = 12 // bytes; the last bit of the header says that 8 more follow
		if len(b) < n+optional {
			return nil, false
		}
		if n += optional; b[n-1]&1 != 0 {
			n += 8
		}
	case flags&sequence != 0: // type II; type I has no header
		n += erspanHeaderLen
	}
	if len(b) < n {
		return nil, false
	}
	return b[n:], true
}

// Latency is how long the packet was in the switch: from its arrival until the record
// was taken. It is false if the times cannot be compared.
func (p *RecordedPacket) Latency() (time.Duration, bool) {
	const most = 1 << 32 // seconds
	in, at := p.In, p.At
	if in == (record.Time{}) || at == (record.Time{}) || max(in.Seconds, at.Seconds)-min(in.Seconds, at.Seconds) >= most {
		return 0, false
	}
	seconds := int64(at.Seconds) - int64(in.Seconds)
	return time.Duration(seconds*1e9 + int64(at.Nanoseconds) - int64(in.Nanoseconds)), true
}

// Flow is the five-tuple of the recorded packet. It is false for what is not IP, or is
// cut before the addresses.
func (p *RecordedPacket) Flow() (Flow, bool) { return ParseFlow(p.Frame) }

// A DecodedPacket is a recorded packet with what its record says.
type DecodedPacket struct {
	RecordedPacket
	Answer recordplan.Answer
	// New: the first with this path, or set of paths, but for those of [Records.Know].
	New  bool
	told recordplan.Told
}

// Fate says what became of the packet: the port that it left at, "CPU", or
// "dropped: REASON".
func (p *DecodedPacket) Fate() string {
	switch {
	case p.Why != 0:
		return "dropped: " + p.told.End
	case p.OutPort == record.NoPort:
		return "CPU"
	}
	return portName(p.OutPort, "CPU")
}

// Path writes the path, or how many there may be and the likeliest.
func (p *DecodedPacket) Path() string { return pathText(&p.Answer) }

func pathText(a *recordplan.Answer) string {
	switch {
	case a.Impossible:
		return "impossible: " + a.Why
	case a.Exact:
		return a.Paths[0].String()
	}
	return fmt.Sprintf("one of %s, with %.3g %s", a.Total, a.Paths[0].P, a.Paths[0].String())
}
