package journey

import (
	"encoding/binary"
	"errors"
	"slices"

	"tamtam/saisim/tailstamp"
	"tamtam/tam/ifa"
)

// A Key holds the parts of a packet that are constant on its path. Switches rewrite MAC addresses, VLAN tags, DSCP,
// marks, TTL or hop limit, checksums and options before the payload, and append records. Packets with the same key may
// be copies of one packet, or different equal packets.
type Key string

// The number of bytes in a key of the payload, and of packets other than IP.
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

// KeyOf returns the key of an Ethernet II frame without FCS, which may be truncated. It returns false if the key needs
// more than is available. For IP, the key consists of:
//
//   - addresses, protocol, identification and fragment offset
//   - ports or the bytes in their place, and TCP's sequence and acknowledgement numbers and flags
//   - the first 24 bytes of the payload
//
// IFA is ignored. For other frames, the key is the EtherType and 46 bytes. Zeros fill up shorter frames, because a
// switch may or may not pad a frame from which it removed a tag.
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

// withoutIFA returns an IP packet without IFA. It returns false if the packet is truncated within IFA.
func withoutIFA(ip []byte) ([]byte, bool) {
	switch p, err := ifa.Locate(ip); {
	case err == nil:
		return p.Strip(slices.Clone(ip)), true
	case errors.Is(err, ifa.ErrCut):
		return nil, false
	}
	return ip, true
}

// cut returns the first n bytes, or fewer if whole is true and b is shorter.
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

// transport appends the key's part after the IP header.
func transport(k []byte, protocol byte, b []byte, later, whole bool) (Key, bool) {
	switch {
	case later:
	case protocol == udp && len(b) >= 8:
		k = append(k, b[:4]...) // all but the checksum
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
