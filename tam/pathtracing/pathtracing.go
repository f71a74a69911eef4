// Package pathtracing decodes the hop-by-hop option of path tracing (draft-filsfils-ippm-path-tracing) in frames of
// IPv6. The source of a probe makes a list of zeros. Each node on the path shifts the list by one place, so that the
// oldest hop falls off when it is full, and puts its hop in front.
//
//	option type  8 bits, 0x32: to be skipped if unknown, may change on the way
//	length       8 bits, of the list in bytes
//	list         3 bytes for each hop, the newest first:
//	             interface 12 bits: the id of the egress interface, 1..4095; 0: an unused place
//	             load       4 bits: how full the egress interface was
//	             time       8 bits of the nanoseconds of the departure; which bits depends on the interface's template
//
// What belongs here: the bytes. What does not: which interface has which id.
package pathtracing

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

const (
	// Option is the type of the option.
	Option = 0x32
	// HopSize is the size of a hop in bytes.
	HopSize = 3
)

// A Hop is what a node has written.
type Hop struct {
	Interface uint16 // 12 bits
	Load      uint8  // 4 bits
	Time      uint8
}

// Bytes returns the hop as in a list.
func (h Hop) Bytes() [HopSize]byte {
	return [HopSize]byte{byte(h.Interface >> 4), byte(h.Interface<<4) | h.Load&15, h.Time}
}

// A List is the decoded list of a frame.
type List struct {
	Hops   []Hop // in the order of the path: the oldest first
	Places int   // number of hops for which there is room
}

// Full reports whether all places are used. Older hops may then have fallen off.
func (l List) Full() bool { return len(l.Hops) == l.Places }

// Decode returns the list of an Ethernet frame. found is false if there is no such option, as in most frames. Damage up
// to the end of the option is an error.
func Decode(frame []byte) (l List, found bool, err error) {
	packet := ipv6(frame)
	if packet == nil {
		return List{}, false, nil
	}
	const fixed = 40
	if len(packet) < fixed+8 {
		return List{}, false, fmt.Errorf("the hop-by-hop header is cut: %d bytes behind the IPv6 header", len(packet)-fixed)
	}
	options := packet[fixed:]
	size := 8 * (int(options[1]) + 1)
	if payload := int(binary.BigEndian.Uint16(packet[4:])); size > min(len(options), payload) {
		return List{}, false, fmt.Errorf("the hop-by-hop header has %d bytes, the packet %d", size,
			min(len(options), payload))
	}
	data, err := find(options[2:size])
	if data == nil || err != nil {
		return List{}, false, err
	}
	l, err = decode(data)
	return l, err == nil, err
}

// ipv6 returns the IPv6 packet of a frame if a hop-by-hop header follows its fixed header, or nil.
func ipv6(frame []byte) []byte {
	const tag, typeIPv6 = 4, 0x86dd
	at := 12
	for at+2 <= len(frame) {
		switch binary.BigEndian.Uint16(frame[at:]) {
		case 0x8100, 0x88a8:
			at += tag
			continue
		case typeIPv6:
			if p := frame[at+2:]; len(p) >= 40 && p[0]>>4 == 6 && p[6] == 0 {
				return p
			}
		}
		return nil
	}
	return nil
}

// find returns the data of the option, or nil if it is not there.
func find(options []byte) ([]byte, error) {
	for len(options) > 0 {
		if options[0] == 0 { // a pad of one byte has no length
			options = options[1:]
			continue
		}
		if len(options) < 2 || 2+int(options[1]) > len(options) {
			return nil, fmt.Errorf("option 0x%02x is longer than the hop-by-hop header", options[0])
		}
		data := options[2 : 2+options[1]]
		if options[0] == Option {
			return data[:len(data):len(data)], nil
		}
		options = options[2+len(data):]
	}
	return nil, nil
}

// decode decodes the data of the option.
func decode(data []byte) (List, error) {
	if len(data) == 0 || len(data)%HopSize != 0 {
		return List{}, fmt.Errorf("the list has %d bytes, want a multiple of %d", len(data), HopSize)
	}
	l := List{Places: len(data) / HopSize}
	for i := l.Places - 1; i >= 0; i-- {
		b := data[HopSize*i:]
		h := Hop{uint16(b[0])<<4 | uint16(b[1]>>4), b[1] & 15, b[2]}
		switch {
		case h == Hop{} && len(l.Hops) == 0: // unused places are behind all hops
		case h.Interface == 0:
			return List{}, fmt.Errorf("place %d has no interface, though it is not unused", i+1)
		default:
			l.Hops = append(l.Hops, h)
		}
	}
	return l, nil
}

// Addresses returns the addresses of a frame for which [Decode] returned a list or an error.
func Addresses(frame []byte) (src, dst netip.Addr) {
	if p := ipv6(frame); p != nil {
		src, dst = netip.AddrFrom16([16]byte(p[8:])), netip.AddrFrom16([16]byte(p[24:]))
	}
	return src, dst
}
