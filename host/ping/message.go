package ping

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"tamtam/host"
)

// Kinds of an outcome, as in answers.
const (
	kindReply       = "reply"
	kindTTL         = "ttl-exceeded"
	kindUnreachable = "unreachable"
	kindTooBig      = "too-big"
	kindError       = "error" // another ICMP error
	kindNoNeighbor  = "no-neighbor"
	kindNotSent     = "not-sent"
	kindNoReply     = "no-reply"
)

// A heard is a message that may answer a request.
type heard struct {
	kind       string
	text       string // an error in words
	ident, seq uint16
	data       []byte // data of a reply
	from, to   netip.Addr
	// quotedFrom and quotedTo are the addresses of the request that an error quotes.
	quotedFrom, quotedTo netip.Addr
}

const (
	protoICMP   = 1
	protoICMPv6 = 58

	typeReply4, typeRequest4 = 0, 8
	typeReply6, typeRequest6 = 129, 128
)

// parse reads a message. It returns false if the message is no answer to an echo request, or is too short to be
// assigned to one.
func parse(m *host.Message) (h heard, ok bool) {
	b := m.Data
	if len(b) < 8 {
		return h, false
	}
	h.from, h.to = m.From.Unmap(), m.To.Unmap()
	four := h.from.Is4()
	if four && b[0] == typeReply4 || !four && b[0] == typeReply6 {
		h.kind, h.data = kindReply, b[8:]
		h.ident, h.seq = binary.BigEndian.Uint16(b[4:]), binary.BigEndian.Uint16(b[6:])
		return h, b[1] == 0
	}
	word := binary.BigEndian.Uint32(b[4:])
	var request []byte
	if four {
		h.kind, h.text = errorOf4(b[0], b[1], word)
		request, ok = h.quoted4(b[8:])
	} else {
		h.kind, h.text = errorOf6(b[0], b[1], word)
		request, ok = h.quoted6(b[8:])
	}
	if m.Cause != "" {
		h.kind, h.text = kindNoNeighbor, m.Cause
	}
	if !ok || h.kind == "" {
		return h, false
	}
	h.ident, h.seq = binary.BigEndian.Uint16(request[4:]), binary.BigEndian.Uint16(request[6:])
	return h, true
}

// quoted4 returns the echo request that an IPv4 error quotes.
func (h *heard) quoted4(b []byte) ([]byte, bool) {
	if len(b) < 20 {
		return nil, false
	}
	header := int(b[0]&15) * 4
	later := binary.BigEndian.Uint16(b[6:])&0x1fff != 0
	if b[0]>>4 != 4 || header < 20 || later || b[9] != protoICMP || len(b) < header+8 {
		return nil, false
	}
	h.quotedFrom, h.quotedTo = netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20]))
	return b[header:], b[header] == typeRequest4
}

// quoted6 returns the echo request that an IPv6 error quotes, behind a fragment header if there is one.
func (h *heard) quoted6(b []byte) ([]byte, bool) {
	const fragment = 44
	if len(b) < 48 || b[0]>>4 != 6 {
		return nil, false
	}
	h.quotedFrom, h.quotedTo = netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40]))
	next, rest := b[6], b[40:]
	if next == fragment {
		if binary.BigEndian.Uint16(rest[2:])>>3 != 0 || len(rest) < 16 {
			return nil, false
		}
		next, rest = rest[0], rest[8:]
	}
	return rest, next == protoICMPv6 && rest[0] == typeRequest6
}

// errorOf4 returns the kind of an ICMP error and its text, as ping of iputils has it. The kind is empty if the message
// is no error.
func errorOf4(kind, code byte, word uint32) (string, string) {
	switch kind {
	case 3:
		switch code {
		case 0, 6, 11:
			return kindUnreachable, "Destination Net Unreachable"
		case 1, 7, 12:
			return kindUnreachable, "Destination Host Unreachable"
		case 2:
			return kindUnreachable, "Destination Protocol Unreachable"
		case 3:
			return kindUnreachable, "Destination Port Unreachable"
		case 4:
			return kindTooBig, fmt.Sprintf("Frag needed and DF set (mtu = %d)", word&0xffff)
		case 9, 10, 13:
			return kindUnreachable, "Packet filtered"
		}
		return kindUnreachable, fmt.Sprintf("Destination Unreachable, code %d", code)
	case 11:
		if code == 0 {
			return kindTTL, "Time to live exceeded"
		}
		return kindError, "Frag reassembly time exceeded"
	case 12:
		return kindError, fmt.Sprintf("Parameter problem: byte %d", word>>24)
	}
	return "", ""
}

// errorOf6 returns the kind and text of an ICMPv6 error, as errorOf4 does.
func errorOf6(kind, code byte, word uint32) (string, string) {
	switch kind {
	case 1:
		names := []string{"No route", "Administratively prohibited", "Beyond scope of source address",
			"Address unreachable", "Port unreachable", "Source address failed policy", "Reject route"}
		if int(code) < len(names) {
			return kindUnreachable, "Destination unreachable: " + names[code]
		}
		return kindUnreachable, fmt.Sprintf("Destination unreachable, code %d", code)
	case 2:
		return kindTooBig, fmt.Sprintf("Packet too big: mtu=%d", word)
	case 3:
		if code == 0 {
			return kindTTL, "Time exceeded: Hop limit"
		}
		return kindError, "Time exceeded: Defragmentation"
	case 4:
		return kindError, fmt.Sprintf("Parameter problem: byte %d", word)
	}
	return "", ""
}
