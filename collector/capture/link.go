package capture

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// The supported link types, by their numbers in the registry of tcpdump.org.
const (
	ethernet     = 1
	rawIP        = 101 // IPv4 or IPv6
	linuxCooked  = 113 // Linux's type for the interface "any"
	rawIPv4      = 228
	rawIPv6      = 229
	linuxCooked2 = 276
)

// linkHeaders holds the lengths of the headers before the network layer, without Ethernet's.
var linkHeaders = map[uint32]int{ethernet: 0, rawIP: 0, rawIPv4: 0, rawIPv6: 0, linuxCooked: 16, linuxCooked2: 20}

// linkHeader returns the length of a supported link type's header before the network layer, without Ethernet's.
func linkHeader(link uint32) int {
	if link == ethernet { // spares most packets the map
		return 0
	}
	return linkHeaders[link]
}

// linkNames holds the names of supported and other common link types.
var linkNames = map[uint32]string{
	0: "NULL", ethernet: "ETHERNET", 8: "SLIP", 9: "PPP", rawIP: "RAW", 104: "C_HDLC", 105: "IEEE802_11",
	linuxCooked: "LINUX_SLL", 127: "IEEE802_11_RADIOTAP", 189: "USB_LINUX", rawIPv4: "IPV4", rawIPv6: "IPV6",
	linuxCooked2: "LINUX_SLL2",
}

// checkLinkType returns an error for an unsupported link type, with its name if it is common.
func checkLinkType(s *source, at int64, link uint32) error {
	if _, ok := linkHeaders[link]; ok {
		return nil
	}
	name, ok := linkNames[link]
	if !ok {
		name = "unknown"
	}
	var read []string
	for n := range linkHeaders {
		read = append(read, fmt.Sprintf("%s (%d)", linkNames[n], n))
	}
	slices.Sort(read)
	return s.fail(at, "link type %d (%s); supported are %s", link, name, strings.Join(read, ", "))
}

// Length of Ethernet's header without tags, and the lowest EtherType: a smaller number is a length (IEEE 802.3).
const (
	ethernetHeader = 14
	leastType      = 0x600
	mostLength     = 1500
)

// Types of Ethernet.
const (
	typeIPv4 = 0x0800
	typeIPv6 = 0x86dd
	typeNone = 0xffff // reserved, so that no reader mistakes the packet for IP
)

// toEthernet converts a packet of a link type to an Ethernet frame. The packet follows ethernetHeader unused bytes in
// b, and had length bytes on the wire. The sender's Ethernet address is copied if the link type has it. Unknown
// addresses are zero.
func toEthernet(b []byte, link uint32, length int) (frame []byte, wire int) {
	if link == ethernet {
		return b[ethernetHeader:], length
	}
	n := linkHeaders[link]
	header, frame := b[ethernetHeader:ethernetHeader+n], b[n:]
	payload := frame[ethernetHeader:]
	wire = length - n + ethernetHeader
	var source [6]byte
	kind := uint16(typeNone)
	switch link {
	case linuxCooked:
		copy(source[:], cookedAddress(header[4:6], header[6:14]))
		kind = cookedType(header[2:4], header[14:16])
	case linuxCooked2:
		copy(source[:], cookedAddress([]byte{0, header[11]}, header[12:20]))
		kind = cookedType(header[8:10], header[:2])
	case rawIPv4:
		kind = typeIPv4
	case rawIPv6:
		kind = typeIPv6
	default:
		kind = rawType(payload)
	}
	if kind < leastType { // Linux's type for frames of IEEE 802.3, whose type is a length
		kind = uint16(min(wire-ethernetHeader, mostLength))
	}
	clear(frame[:6])
	copy(frame[6:], source[:])
	binary.BigEndian.PutUint16(frame[12:], kind)
	return frame, wire
}

// cookedAddress returns the sender's address in a cooked header if its length is that of Ethernet, otherwise nil.
func cookedAddress(length, address []byte) []byte {
	if binary.BigEndian.Uint16(length) != 6 {
		return nil
	}
	return address[:6]
}

// cookedType returns the EtherType of a cooked header. For devices of frame relay, IEEE 802.11 and netlink, given by
// their ARPHRD numbers, the protocol field is not an EtherType.
func cookedType(device, protocol []byte) uint16 {
	switch binary.BigEndian.Uint16(device) {
	case 770, 801, 802, 803, 824:
		return typeNone
	}
	return binary.BigEndian.Uint16(protocol)
}

// rawType returns the EtherType of a packet that begins with its IP header.
func rawType(packet []byte) uint16 {
	switch {
	case len(packet) > 0 && packet[0]>>4 == 4:
		return typeIPv4
	case len(packet) > 0 && packet[0]>>4 == 6:
		return typeIPv6
	}
	return typeNone
}
