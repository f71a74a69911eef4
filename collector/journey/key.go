package journey

import (
	"encoding/binary"
	"errors"
	"slices"

	"tamtam/saisim/tailstamp"
	"tamtam/tam/ifa"
)

// A Key is what a packet has everywhere on its way: switches rewrite MAC addresses, VLAN tags, DSCP and marks, TTL or
// hop limit, checksums and options in front of the payload, and append records to it, but not this. Packets with the
// same key may be copies of one, or alike.
type Key string

// Bytes of the payload that are in a key, and of packets that are not IP.
const (
	keyPayload = 24
	keyOther   = 46
)

// EtherTypes, protocols and IPv6 extension headers.
const (
	etherIPv4, etherIPv6, etherCTag, etherSTag = 0x0800, 0x86dd, 0x8100, 0x88a8

	tcp, udp, icmp, icmpv6                       = 6, 17, 1, 58
	hopByHop, routing, fragment, ah, destination = 0, 43, 44, 51, 60
)

// KeyOf returns the key of an Ethernet II frame without FCS, of which the beginning may have been kept only; false if
// what was kept ends before it. IP has addresses, protocol, identification and fragment offset, ports or what stands
// there, TCP's sequence and acknowledgement numbers and flags, and the first 24 bytes of the payload, all without what
// IFA has put in; others have the EtherType and 46 bytes, with zeros where the frame is shorter: a switch pads a frame
// that it has taken a tag from, or does not.
func KeyOf(frame []byte, length int) (Key, bool) {
	whole := len(frame) >= length
	if end, ok := tailstamp.DatagramEnd(frame); ok {
		frame, whole = frame[:end], true // without padding and records
	}
	at := 12
	for tags := 0; len(frame) >= at+2 && tags <= tailstamp.MaxTags; tags++ {
		t := binary.BigEndian.Uint16(frame[at:])
		at += 2
		switch t {
		case etherCTag, etherSTag:
			at += 2
		case etherIPv4:
			if b, ok := withoutIFA(frame[at:]); ok {
				return ipv4Key(b, whole)
			}
			return "", false
		case etherIPv6:
			if b, ok := withoutIFA(frame[at:]); ok {
				return ipv6Key(b, whole)
			}
			return "", false
		default:
			k, ok := cut(frame[at:], keyOther, whole)
			key := append([]byte{0, byte(t >> 8), byte(t)}, k...)
			return Key(append(key, make([]byte, keyOther-len(k))...)), ok
		}
	}
	return "", false
}

// withoutIFA is an IP packet as it was before IFA; false if what was kept ends in what IFA has put in.
func withoutIFA(ip []byte) ([]byte, bool) {
	switch p, err := ifa.Locate(ip); {
	case err == nil:
		return p.Strip(slices.Clone(ip)), true
	case errors.Is(err, ifa.ErrCut):
		return nil, false
	}
	return ip, true
}

// cut returns the first n bytes; fewer if all of them are there.
func cut(b []byte, n int, whole bool) ([]byte, bool) {
	if len(b) >= n {
		return b[:n], true
	}
	return b, whole
}

func ipv4Key(b []byte, whole bool) (Key, bool) {
	if len(b) < 20 || b[0]>>4 != 4 {
		return "", false
	}
	header := int(b[0]&15) * 4
	if header < 20 || header > len(b) {
		return "", false
	}
	offset := binary.BigEndian.Uint16(b[6:]) & 0x1fff
	k := append([]byte{4, b[9]}, b[12:20]...)
	k = append(k, b[4], b[5], byte(offset>>8), byte(offset))
	return transport(k, b[9], b[header:], offset > 0, whole)
}

func ipv6Key(b []byte, whole bool) (Key, bool) {
	if len(b) < 40 || b[0]>>4 != 6 {
		return "", false
	}
	next, later := b[6], false
	k := append([]byte{6}, b[8:40]...)
	for b = b[40:]; ; {
		size := 8
		switch next {
		case hopByHop, routing, destination:
			if len(b) >= 2 {
				size = 8 + 8*int(b[1])
			}
		case ah:
			if len(b) >= 2 {
				size = 8 + 4*int(b[1])
			}
		case fragment:
			if len(b) >= 8 {
				k = append(k, b[2:8]...)
				later = binary.BigEndian.Uint16(b[2:])&0xfff8 != 0
			}
		default:
			return transport(append(k, next), next, b, later, whole)
		}
		if size > len(b) {
			return "", false
		}
		next, b = b[0], b[size:]
		if later {
			return transport(append(k, next), next, b, later, whole)
		}
	}
}

// transport appends what stands behind the IP header.
func transport(k []byte, protocol byte, b []byte, later, whole bool) (Key, bool) {
	switch {
	case later:
	case protocol == udp && len(b) >= 8:
		k = append(k, b[:4]...) // not the checksum
		b = b[8:]
	case protocol == tcp && len(b) >= 20:
		k = append(k, b[:12]...) // not options, which may be clamped, nor window and checksum
		k = append(k, b[13])
		header := int(b[12]>>4) * 4
		if header < 20 || header > len(b) {
			return "", false
		}
		b = b[header:]
	case (protocol == icmp || protocol == icmpv6) && len(b) >= 8:
		k = append(append(k, b[:2]...), b[4:8]...)
		b = b[8:]
	case !whole && (protocol == udp || protocol == tcp || protocol == icmp || protocol == icmpv6):
		return "", false
	}
	payload, ok := cut(b, keyPayload, whole)
	return Key(append(k, payload...)), ok
}
