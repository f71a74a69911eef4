package ifa

import "encoding/binary"

// A Packet holds the parts that IFA added to an IP packet.
type Packet struct {
	Header
	Metadata
	Place
	Hops []Hop // the newest first
}

// Decode decodes IFA in an IP packet: the headers, and the hops of a stack of name space 15. For another name space, or
// a stack that is not a multiple of a hop, it returns an error together with the headers.
func Decode(ip []byte) (p Packet, err error) {
	if p.Place, err = Locate(ip); err != nil {
		return Packet{}, err
	}
	p.Header, p.Metadata = ReadHeader(ip[p.Place.Header:]), ReadMetadata(ip[p.Place.Metadata:])
	switch {
	case p.GNS != PerHop:
		return p, ErrOtherLayout
	case p.Length%HopWords != 0:
		return p, ErrNotAligned
	}
	for at := p.Stack; at < p.Payload; at += HopSize {
		p.Hops = append(p.Hops, ReadHop((*[HopSize]byte)(ip[at:])))
	}
	return p, nil
}

// Strip removes IFA from the IP packet at the beginning of b, in place, and returns b without it. The result is the
// packet of the initiating node, except for what forwarding changes. Bytes after the packet are preserved.
func Strip(b []byte) ([]byte, error) {
	p, err := Locate(b)
	if err != nil {
		return b, err
	}
	return p.Strip(b), nil
}

// Strip does the same as the function [Strip], for a packet whose offsets are known. It does not allocate.
func (p Place) Strip(b []byte) []byte {
	relabel(b, b[p.Header+1], -p.Size())
	copy(b[p.Header:], b[p.Transport:p.Metadata])
	end := p.Header + p.Metadata - p.Transport
	return append(b[:end], b[p.Payload:]...)
}

// CopyPlain copies the beginning of the packet without IFA to dst, limited by dst and by the captured part ip. dst must
// have space for the IP header. It does not allocate.
func (p Place) CopyPlain(dst, ip []byte) {
	n := copy(dst, ip[:p.Header])
	n += copy(dst[n:], ip[p.Transport:p.Metadata])
	copy(dst[n:], ip[p.Payload:])
	relabel(dst, ip[p.Header+1], -p.Size())
}

// Size returns the number of bytes of IFA in the packet.
func (p Place) Size() int { return HeaderSize + p.Payload - p.Metadata }

// Insert inserts the IFA headers and one hop into the IP packet at the beginning of b, in front of the TCP or UDP
// header. The IP header ends at offset at and has protocol h.Next, and the TCP or UDP header has n bytes. It does not
// allocate if b has enough capacity.
func Insert(b []byte, at, n int, h Header, m Metadata, hop *Hop) []byte {
	size := len(b)
	for range Overhead {
		b = append(b, 0)
	}
	copy(b[at+Overhead+n:], b[at+n:size])
	copy(b[at+HeaderSize:], b[at:at+n])
	h.Put(b[at:])
	m.Length = HopWords
	m.Put(b[at+HeaderSize+n:])
	hop.Put((*[HopSize]byte)(b[at+2*HeaderSize+n:]))
	relabel(b, Protocol, Overhead)
	return b
}

// Push adds a hop to the stack of the IP packet at the beginning of b, and decrements its hop limit.
func (p Place) Push(b []byte, hop *Hop) []byte {
	size := len(b)
	for range HopSize {
		b = append(b, 0)
	}
	copy(b[p.Stack+HopSize:], b[p.Stack:size])
	hop.Put((*[HopSize]byte)(b[p.Stack:]))
	if m := b[p.Metadata:]; m[2] != NoLimit {
		m[2]--
	}
	b[p.Metadata+3] += HopWords
	relabel(b, Protocol, HopSize)
	return b
}

// relabel sets the protocol of an IP packet and adds longer to its length.
func relabel(ip []byte, proto uint8, longer int) {
	if ip[0]>>4 == 6 {
		binary.BigEndian.PutUint16(ip[4:], uint16(int(binary.BigEndian.Uint16(ip[4:]))+longer))
		ip[6] = proto
		return
	}
	change(ip, 2, uint16(int(binary.BigEndian.Uint16(ip[2:]))+longer))
	change(ip, 8, uint16(ip[8])<<8|uint16(proto))
}

// change sets a word of an IPv4 header and updates the checksum (RFC 1624). A wrong checksum stays wrong.
func change(ip []byte, at int, v uint16) {
	old := binary.BigEndian.Uint16(ip[at:])
	if old == v {
		return
	}
	binary.BigEndian.PutUint16(ip[at:], v)
	sum := uint32(^binary.BigEndian.Uint16(ip[10:])) + uint32(^old) + uint32(v)
	sum = sum&0xffff + sum>>16
	sum = sum&0xffff + sum>>16
	binary.BigEndian.PutUint16(ip[10:], ^uint16(sum))
}
