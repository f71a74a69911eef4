package ifa

import "encoding/binary"

// A Packet is what IFA has added to an IP packet.
type Packet struct {
	Header
	Metadata
	Place
	Hops []Hop // the newest first
}

// Decode reads IFA in an IP packet: headers, and the hops of a stack of name space 15. A stack of another, or that is
// no whole number of hops, is an error, and the packet has its headers.
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

// Strip takes IFA out of the IP packet at the beginning of b, in place, and returns b without it: the packet that the
// initiating node had, but for what nodes change in any packet on its way, and all that stands behind it.
func Strip(b []byte) ([]byte, error) {
	p, err := Locate(b)
	if err != nil {
		return b, err
	}
	return p.Strip(b), nil
}

// Strip is the function [Strip] for a packet whose parts are known. It allocates nothing.
func (p Place) Strip(b []byte) []byte {
	relabel(b, b[p.Header+1], -p.Size())
	copy(b[p.Header:], b[p.Transport:p.Metadata])
	end := p.Header + p.Metadata - p.Transport
	return append(b[:end], b[p.Payload:]...)
}

// CopyPlain copies the beginning of the packet without IFA to dst, as far as dst has room and ip was captured. dst has
// room for the IP header. It allocates nothing.
func (p Place) CopyPlain(dst, ip []byte) {
	n := copy(dst, ip[:p.Header])
	n += copy(dst[n:], ip[p.Transport:p.Metadata])
	copy(dst[n:], ip[p.Payload:])
	relabel(dst, ip[p.Header+1], -p.Size())
}

// Size is how many bytes IFA takes.
func (p Place) Size() int { return HeaderSize + p.Payload - p.Metadata }

// Insert puts the headers of IFA and one hop into the IP packet at the beginning of b, whose header ends at at and has
// protocol h.Next, in front of the header of TCP or UDP, which is n bytes long. Where b has room, it allocates nothing.
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

// Push puts one more hop on the stack of the IP packet at the beginning of b, and lowers its hop limit.
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

// relabel changes the protocol and the length of an IP packet.
func relabel(ip []byte, proto uint8, longer int) {
	if ip[0]>>4 == 6 {
		binary.BigEndian.PutUint16(ip[4:], uint16(int(binary.BigEndian.Uint16(ip[4:]))+longer))
		ip[6] = proto
		return
	}
	change(ip, 2, uint16(int(binary.BigEndian.Uint16(ip[2:]))+longer))
	change(ip, 8, uint16(ip[8])<<8|uint16(proto))
}

// change changes a word of an IPv4 header, with the checksum (RFC 1624), which stays as right or wrong as it was.
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
