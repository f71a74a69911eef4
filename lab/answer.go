package lab

import (
	"encoding/binary"
	"net/netip"
)

// answer returns a host's answer to a frame, or nil if there is none. It answers ARP requests (RFC 826), neighbour
// solicitations (RFC 4861) and echo requests (RFC 792, RFC 4443) for its own addresses. It allocates, since such frames
// are rare.
func (h *station) answer(f []byte) []byte {
	tag := 0
	if len(f) >= 18 && binary.BigEndian.Uint16(f[12:]) == typeVLAN {
		tag = 4
	}
	if len(f) < ethernetHeader+tag+28 {
		return nil
	}
	body := f[ethernetHeader+tag:]
	switch binary.BigEndian.Uint16(f[12+tag:]) {
	case typeARP:
		return h.answerARP(f, body, tag)
	case typeIPv4:
		if MAC(f[:6]) == h.mac && body[0] == 0x45 && body[9] == protoICMP && body[20] == 8 &&
			h.owns(netip.AddrFrom4([4]byte(body[16:20]))) {
			return h.echo4(f, tag)
		}
	case typeIPv6:
		if len(body) >= 48 && body[6] == protoICMPv6 {
			return h.answer6(f, body, tag)
		}
	}
	return nil
}

func (h *station) owns(a netip.Addr) bool {
	for _, p := range h.host.IPs {
		if p.Addr() == a {
			return true
		}
	}
	return false
}

// back begins the answer to a frame. It swaps the addresses and keeps the tag.
func (h *station) back(f []byte, tag, length int) []byte {
	b := make([]byte, max(length, minFrame-fcsLen))
	copy(b, f[6:12])
	copy(b[6:], h.mac[:])
	copy(b[12:], f[12:ethernetHeader+tag])
	return b
}

func (h *station) answerARP(f, body []byte, tag int) []byte {
	target := netip.AddrFrom4([4]byte(body[24:28]))
	if binary.BigEndian.Uint32(body) != 0x00010800 || binary.BigEndian.Uint16(body[6:]) != 1 || !h.owns(target) {
		return nil
	}
	b := h.back(f, tag, ethernetHeader+tag+28)
	arp := b[ethernetHeader+tag:]
	copy(arp, body[:6])
	arp[7] = 2
	copy(arp[8:], h.mac[:])
	copy(arp[14:], body[24:28])
	copy(arp[18:], body[8:18])
	return b
}

func (h *station) echo4(f []byte, tag int) []byte {
	b := h.back(f, tag, len(f))
	ip := b[ethernetHeader+tag:]
	copy(ip, f[ethernetHeader+tag:])
	copy(ip[12:], f[ethernetHeader+tag+16:ethernetHeader+tag+20])
	copy(ip[16:], f[ethernetHeader+tag+12:ethernetHeader+tag+16])
	ip[20] = 0 // echo reply: the type is 8 lower, and the checksum 8 higher in its high byte
	sum := uint32(^binary.BigEndian.Uint16(ip[22:])) + uint32(^uint16(0x0800))
	binary.BigEndian.PutUint16(ip[22:], ^fold(sum))
	return b
}

func (h *station) answer6(f, body []byte, tag int) []byte {
	icmp := body[40:]
	switch {
	case icmp[0] == 135 && len(icmp) >= 24 && h.owns(netip.AddrFrom16([16]byte(icmp[8:24]))):
		b := h.back(f, tag, ethernetHeader+tag+40+32)
		h.advertise(b[ethernetHeader+tag:], [16]byte(icmp[8:24]), [16]byte(body[8:24]), 0x60)
		return b
	case icmp[0] == 128 && MAC(f[:6]) == h.mac && h.owns(netip.AddrFrom16([16]byte(body[24:40]))):
		b := h.back(f, tag, len(f))
		ip := b[ethernetHeader+tag:]
		copy(ip, body)
		copy(ip[8:], body[24:40])
		copy(ip[24:], body[8:24])
		ip[40] = 129
		sum := uint32(^binary.BigEndian.Uint16(ip[42:])) + 0x0100
		binary.BigEndian.PutUint16(ip[42:], ^fold(sum))
		return b
	}
	return nil
}

// advertise writes a neighbour advertisement into ip, which is zero.
func (h *station) advertise(ip []byte, target, to [16]byte, flags byte) {
	ip[0], ip[5], ip[6], ip[7] = 0x60, 32, protoICMPv6, 255
	copy(ip[8:], target[:])
	copy(ip[24:], to[:])
	icmp := ip[40:72]
	icmp[0], icmp[4] = 136, flags
	copy(icmp[8:], target[:])
	icmp[24], icmp[25] = 2, 1 // target link-layer address
	copy(icmp[26:], h.mac[:])
	sum := addressSum(netip.AddrFrom16(target)) + addressSum(netip.AddrFrom16(to)) + protoICMPv6 + 32
	for i := 0; i < 32; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(icmp[i:]))
	}
	binary.BigEndian.PutUint16(icmp[2:], ^fold(sum))
}

// announce queues a gratuitous ARP (RFC 5227) or an unsolicited neighbour advertisement for each address. So switches
// have learned the host before traffic begins.
func (h *station) announce(vlan uint16) {
	for _, p := range h.host.IPs {
		if b := h.announcement(p.Addr(), vlan); b != nil {
			h.say(0, b)
		}
	}
}

func (h *station) announcement(a netip.Addr, vlan uint16) []byte {
	b := make([]byte, 0, 96)
	if a.Is4() {
		b = append(b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
	} else {
		b = append(b, 0x33, 0x33, 0, 0, 0, 1)
	}
	b = append(b, h.mac[:]...)
	if vlan > 0 {
		b = binary.BigEndian.AppendUint16(b, typeVLAN)
		b = binary.BigEndian.AppendUint16(b, vlan)
	}
	if !a.Is4() {
		b = binary.BigEndian.AppendUint16(b, typeIPv6)
		n := len(b)
		b = b[:n+72]
		h.advertise(b[n:], a.As16(), [16]byte{0: 0xff, 1: 2, 15: 1}, 0x20)
		return b
	}
	b = binary.BigEndian.AppendUint16(b, typeARP)
	ip := a.As4()
	b = append(b, 0, 1, 8, 0, 6, 4, 0, 1)
	b = append(append(b, h.mac[:]...), ip[:]...)
	b = append(append(b, 0, 0, 0, 0, 0, 0), ip[:]...)
	return append(b, make([]byte, max(0, minFrame-fcsLen-len(b)))...)
}
