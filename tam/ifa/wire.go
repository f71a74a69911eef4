package ifa

import (
	"encoding/binary"
	"errors"
)

// Protocol is the IP protocol number of IFA, one of the numbers for experiments (RFC 3692).
const Protocol = 253

const protoTCP, protoUDP = 6, 17

// Sizes in bytes, except for HopWords.
const (
	HeaderSize = 4  // size of the IFA header, and of the metadata header
	HopSize    = 32 // size of a hop of name space 15
	HopWords   = HopSize / 4
	Overhead   = 2*HeaderSize + HopSize // bytes that an initiating node adds
)

const (
	version = 2
	// PerHop is the global name space in which each hop names its own layout.
	PerHop = 15
	// LNS is the local name space of hops that [Hop.Put] writes.
	LNS = 5
)

// NoLimit is the hop limit that is neither checked nor decremented.
const NoLimit = 255

// Flags of the IFA header.
type Flags uint8

// The flags of version 2.
const (
	Checksummed Flags = 1 << iota // a checksum header follows the metadata header
	TurnAround                    // the receiver must send the packet back
	Inband                        // the packet is the original, which continues to its receiver
	TailStamp                     // the metadata is at the packet's end
	Fragmented                    // the metadata comes in fragments
)

// A Header is the IFA header.
type Header struct {
	GNS       uint8 // global name space, 4 bits
	Next      uint8 // protocol after the IFA header
	Flags     Flags
	MaxLength uint8 // maximum length of the stack in words
}

// Put writes the header.
func (h Header) Put(b []byte) {
	b[0], b[1], b[2], b[3] = version<<4|h.GNS&15, h.Next, byte(h.Flags), h.MaxLength
}

// A Metadata is the metadata header.
type Metadata struct {
	Request, Action uint8 // request vector and action vector
	HopLimit        uint8
	Length          uint8 // length of the stack in words
}

// Put writes the header.
func (m Metadata) Put(b []byte) { b[0], b[1], b[2], b[3] = m.Request, m.Action, m.HopLimit, m.Length }

// The reasons why [Locate] finds no IFA packet of a supported form.
var (
	ErrNotIP       = errors.New("no whole IP header")
	ErrProtocol    = errors.New("not protocol 253 (of IPv6: next header) right behind the IP header")
	ErrFragment    = errors.New("a fragment")
	ErrCut         = errors.New("cut off: headers and stack are longer than the datagram")
	ErrVersion     = errors.New("not version 2")
	ErrFlags       = errors.New("checksum header, tail stamp or metadata fragment")
	ErrNext        = errors.New("neither TCP nor UDP behind the IFA header")
	ErrNotAligned  = errors.New("the stack is no whole number of hops")
	ErrOtherLayout = errors.New("no hops of name space 15")
)

// A Place holds the offsets of the parts of an IFA packet from the begin of its IP header.
type Place struct {
	Header, Transport, Metadata, Stack, Payload int
}

// Locate finds the parts of IFA in an IP packet. ip is the captured part of the packet. It does not allocate.
func Locate(ip []byte) (Place, error) {
	at, total, h, err := begin(ip)
	if err != nil {
		return Place{}, err
	}
	ip = ip[:min(total, len(ip))]
	p := Place{Header: at, Transport: at + HeaderSize}
	n, err := TransportSize(h.Next, ip[p.Transport:])
	if err != nil {
		return Place{}, err
	}
	p.Metadata = p.Transport + n
	p.Stack = p.Metadata + HeaderSize
	if len(ip) < p.Stack {
		return Place{}, ErrCut
	}
	if p.Payload = p.Stack + 4*int(ip[p.Stack-1]); len(ip) < p.Payload {
		return Place{}, ErrCut
	}
	return p, nil
}

// Behind returns the protocol of the transport header after an IFA header, and its offset in the IP packet. It returns
// false if there is none. Unlike [Locate] it does not need the rest of the packet.
func Behind(ip []byte) (proto uint8, at int, ok bool) {
	at, total, h, err := begin(ip)
	if at += HeaderSize; err != nil || at > min(total, len(ip)) {
		return 0, 0, false
	}
	if h.Next != protoTCP && h.Next != protoUDP {
		return 0, 0, false
	}
	return h.Next, at, true
}

// begin decodes the IFA header of an IP packet. It returns the header's offset, the length of the datagram, and the
// header.
func begin(ip []byte) (at, total int, h Header, err error) {
	if at, total, err = network(ip); err != nil {
		return 0, 0, h, err
	}
	if min(total, len(ip)) < at+HeaderSize {
		return 0, 0, h, ErrCut
	}
	h = ReadHeader(ip[at:])
	switch {
	case ip[at]>>4 != version:
		err = ErrVersion
	case h.Flags&(Checksummed|TailStamp|Fragmented) != 0:
		err = ErrFlags
	}
	return at, total, h, err
}

// network decodes the IP header of an IFA packet. It returns the header's length and the length of the datagram.
func network(ip []byte) (at, total int, err error) {
	switch {
	case len(ip) >= 20 && ip[0]>>4 == 4:
		at, total = int(ip[0]&15)*4, int(binary.BigEndian.Uint16(ip[2:]))
		if at < 20 || total < at {
			return 0, 0, ErrNotIP
		}
		if ip[9] != Protocol {
			return 0, 0, ErrProtocol
		}
		if binary.BigEndian.Uint16(ip[6:])&0x3fff != 0 {
			return 0, 0, ErrFragment
		}
		return at, total, nil
	case len(ip) >= 40 && ip[0]>>4 == 6:
		if ip[6] != Protocol {
			return 0, 0, ErrProtocol
		}
		return 40, 40 + int(binary.BigEndian.Uint16(ip[4:])), nil
	}
	return 0, 0, ErrNotIP
}

// TransportSize returns the length of the TCP or UDP header at the beginning of b.
func TransportSize(proto uint8, b []byte) (int, error) {
	switch proto {
	case protoUDP:
		if len(b) >= 8 {
			return 8, nil
		}
	case protoTCP:
		if len(b) >= 20 {
			if n := int(b[12]>>4) * 4; n >= 20 && n <= len(b) {
				return n, nil
			}
		}
	default:
		return 0, ErrNext
	}
	return 0, ErrCut
}

// ReadHeader decodes the IFA header.
func ReadHeader(b []byte) Header {
	return Header{GNS: b[0] & 15, Next: b[1], Flags: Flags(b[2]), MaxLength: b[3]}
}

// ReadMetadata decodes the metadata header.
func ReadMetadata(b []byte) Metadata {
	return Metadata{Request: b[0], Action: b[1], HopLimit: b[2], Length: b[3]}
}
