package host

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"time"
)

// Fragmented packets for the stack itself are reassembled (RFC 791 section 3.2, RFC 8200 section 4.5), within these
// limits of number and time.
const (
	maxDatagrams = 16
	maxDatagram  = 0xffff
	maxParts     = 64
	partsTime    = 30 * time.Second
)

type datagramKey struct {
	src, dst netip.Addr
	ident    uint32
	proto    byte // protocol; used for IPv4 only
}

// A datagram is a packet of which at least one fragment has arrived.
type datagram struct {
	parts  []ipPacket // copies, which own their payloads
	end    int        // end of the payload; 0 if unknown
	bytes  int
	expire time.Time
}

// collect adds a fragment of a packet, and handles the packet once it is complete.
func (s *Stack) collect(f *received, p *ipPacket) {
	s.dropOld()
	k := datagramKey{src: p.src, dst: p.dst, ident: p.ident}
	if p.v4 {
		k.proto = p.proto
	}
	d := s.datagrams[k]
	if d == nil {
		if len(s.datagrams) >= maxDatagrams {
			s.counts[DropFragment]++
			return
		}
		d = &datagram{expire: s.now.Add(partsTime)}
		s.datagrams[k] = d
	}
	if !d.add(p) {
		s.counts[DropFragment] += uint64(len(d.parts) + 1)
		delete(s.datagrams, k)
		return
	}
	whole, done := d.whole()
	if !done {
		return
	}
	delete(s.datagrams, k)
	switch q, why, ok := parseIP(whole, p.v4); {
	case !ok:
		s.counts[why]++
	case q.fragmented:
		s.counts[DropFragment] += uint64(len(d.parts))
	default:
		s.receiveOwn(f, &q)
	}
}

// dropOld drops the packets whose fragments have not come in time.
func (s *Stack) dropOld() {
	for k, d := range s.datagrams {
		if !d.expire.After(s.now) {
			s.counts[DropFragment] += uint64(len(d.parts))
			delete(s.datagrams, k)
		}
	}
}

// add adds a fragment. It returns false if the packet is invalid: fragments overlap (RFC 5722), are too many or too
// long, or a fragment other than the last has a length that is no multiple of eight.
func (d *datagram) add(p *ipPacket) bool {
	part := *p
	part.packet, part.part = clone(p.packet), clone(p.part)
	end := p.offset + len(p.part)
	switch {
	case len(d.parts) >= maxParts, end > maxDatagram, len(p.part) == 0, p.more && len(p.part)%8 != 0:
		return false
	case !p.more && d.end != 0, d.end != 0 && end > d.end:
		return false
	}
	for i := range d.parts {
		if x := &d.parts[i]; p.offset < x.offset+len(x.part) && x.offset < end || !p.more && x.offset >= end {
			return false
		}
	}
	if !p.more {
		d.end = end
	}
	d.parts = append(d.parts, part)
	d.bytes += len(p.part)
	return true
}

// whole returns the packet, if all of its fragments are there.
func (d *datagram) whole() ([]byte, bool) {
	if d.end == 0 || d.bytes != d.end {
		return nil, false
	}
	slices.SortFunc(d.parts, func(a, b ipPacket) int { return a.offset - b.offset })
	first := &d.parts[0]
	head := first.plain
	if head+d.end > maxDatagram {
		return nil, false
	}
	b := append(make([]byte, 0, head+d.end), first.packet[:head]...)
	for i := range d.parts {
		b = append(b, d.parts[i].part...)
	}
	if first.v4 {
		binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
		b[6], b[7] = 0, 0
		fixIPv4(b)
		return b, true
	}
	binary.BigEndian.PutUint16(b[4:], uint16(len(b)-40))
	b[linkTo(b, head)] = first.behind
	return b, true
}

// linkTo returns the offset of the field that contains the type of the header at an offset of an IPv6 packet.
func linkTo(b []byte, at int) int {
	link, next := 6, 40
	for next < at {
		link, next = next, next+8*(1+int(b[next+1]))
	}
	return link
}

// split fragments a packet to fit an MTU. Each IPv4 fragment has the whole header, including options that only the
// first one needs. IPv6 fragments have a fragment header after the first header. Only the stack's own IPv6 packets are
// split.
func (s *Stack) split(packet []byte, mtu int) (parts [][]byte) {
	v4 := packet[0]>>4 == 4
	head, extra := 40, 8
	if v4 {
		head, extra = int(packet[0]&15)*4, 0
	}
	payload := packet[head:]
	most := (mtu - head - extra) &^ 7
	if most < 8 {
		s.counts[DropNoRoute]++
		return nil
	}
	s.fragments++
	for at := 0; at < len(payload); at += most {
		n := min(most, len(payload)-at)
		more := at+n < len(payload)
		b := clone(packet[:head])
		if v4 {
			word := binary.BigEndian.Uint16(packet[6:]) + uint16(at/8)
			if more {
				word |= 0x2000
			}
			b = append(b, payload[at:at+n]...)
			binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
			binary.BigEndian.PutUint16(b[6:], word)
			fixIPv4(b)
		} else {
			word := uint16(at)
			if more {
				word |= 1
			}
			b = append(b, packet[6], 0)
			b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, word), s.fragments)
			b = append(b, payload[at:at+n]...)
			b[6] = protoFragment
			binary.BigEndian.PutUint16(b[4:], uint16(len(b)-40))
		}
		parts = append(parts, b)
	}
	return parts
}
