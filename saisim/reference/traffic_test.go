package reference_test

import (
	"encoding/binary"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/tailstamp"
)

var ownMAC = sai.MAC{2, 0, 0, 0, 0, 0xaa}

// host returns the address of one of a small set of hosts.
func (g *gen) host() [6]byte { return [6]byte{2, 0, 0, 0, 0, byte(1 + g.IntN(8))} }

func (g *gen) ip4() [4]byte { return [4]byte{10, 0, 0, byte(1 + g.IntN(4))} }

func (g *gen) ip6() [16]byte {
	return [16]byte{0x20, 1, 0xd, 0xb8, 15: byte(1 + g.IntN(4))}
}

func (g *gen) port() uint16 {
	if g.chance(8) {
		return uint16(pick(g, 22, 67, 68, 123, 161, 179, 546, 547, 646, 3784, 6784, 9339, 9559))
	}
	return uint16(pick(g, 1000, 1001, 2000, 443))
}

// dst returns a destination address: mostly a host, sometimes a group, the switch, or an address that bridges do not
// forward.
func (g *gen) dst() [6]byte {
	switch n := g.IntN(100); {
	case n < 52:
		return g.host()
	case n < 70 && g.routes:
		return ownMAC
	case n < 70:
		return g.host()
	case n < 80:
		return [6]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	case n < 88:
		return [6]byte{1, 0, 0x5e, 0, 0, 1}
	case n < 90:
		return ownMAC
	case n < 91:
		return [6]byte{2, 0, 0, 0, 0, 0xab}
	case n < 92:
		return pick(g, [6]byte{1, 0, 0xc, 0xcc, 0xcc, 0xcc}, [6]byte{1, 0, 0xc, 0xcc, 0xcc, 0xcd},
			[6]byte{1, 0x80, 0xc2, 0, 0, 0x14}, [6]byte{9, 0, 0x2b, 0, 0, 5})
	case n < 96:
		return [6]byte{1, 0x80, 0xc2, 0, 0, pick[byte](g, 0, 2, 3, 0xe, 5)}
	}
	return [6]byte{2, 0, 0, 0, 1, byte(g.IntN(256))}
}

// usualFrame returns a frame from a host at the i-th port to a host at another port: untagged TCP or UDP over IPv4.
func (g *gen) usualFrame(b []byte, i, ports int) saisim.Frame {
	dst, src := g.host(), g.host()
	src[5] = byte(1 + i)
	dst[5] = byte(1 + g.IntN(ports))
	if g.short && dst == src { // most hosts send to others
		dst[5] = byte(1 + g.IntN(ports))
	}
	if g.chance(3) {
		dst[0] |= 1
	}
	b = append(append(b[:0], dst[:]...), src[:]...)
	ip4, ip4dst, size := g.ip4(), g.ip4(), g.size()
	if g.short { // long enough for the short parse
		size = max(size, 12)
	}
	at, proto := len(b)+2, pick[byte](g, 6, 17, 17)
	b = append(b, 0x08, 0x00, 0x45, g.dscp()<<2|pick[byte](g, 0, 0, 1, 2, 3), 0, 0, 0, byte(g.IntN(4)),
		pick[byte](g, 0, 0x40), 0, 64, proto, 0, 0)
	b = append(append(b, ip4[:]...), ip4dst[:]...)
	b = g.l4(b, proto, size)
	binary.BigEndian.PutUint16(b[at+2:], uint16(len(b)-at))
	binary.BigEndian.PutUint16(b[at+10:], checksum(b[at:at+20]))
	for len(b) < 60 {
		b = append(b, 0)
	}
	return saisim.Frame{Data: b, ID: g.Uint64()}
}

// frameAt returns a random frame for the i-th of some ports.
func (g *gen) frameAt(b []byte, i, ports int) saisim.Frame {
	if g.routed && !g.chance(10) {
		return g.routedFrame(b, i)
	}
	if g.usual && !g.chance(g.unusual()) {
		return g.usualFrame(b, i, ports)
	}
	return g.frame(b)
}

// unusual returns how many frames of a hundred are not usual in cases where most are.
func (g *gen) unusual() int {
	if g.short {
		return 4
	}
	return 15
}

// frame returns a random frame. It uses b for its data.
func (g *gen) frame(b []byte) saisim.Frame {
	dst, src := g.dst(), g.host()
	if g.routed && g.chance(75) {
		dst = ownMAC
	}
	if g.chance(1) {
		src[0] |= 1
	}
	if g.chance(1) {
		src = [6]byte{}
	}
	b = append(append(b[:0], dst[:]...), src[:]...)
	for n := pick(g, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 3, 5); n > 0; n-- {
		b = binary.BigEndian.AppendUint16(b, uint16(pick(g, 0x8100, 0x8100, 0x8100, 0x8100, 0x8100, 0x8100, 0x8100, 0x8100,
			0x88a8)))
		b = binary.BigEndian.AppendUint16(b, uint16(g.IntN(16)<<12)|uint16(
			pick(g, 0, 1, 1, 1, 2, 2, 2, 3, 3, 100, 100, 7, 4095)))
	}
	size := g.size()
	switch g.IntN(12) {
	case 0, 1, 2, 3, 4:
		b = g.ipv4(b, size)
	case 5, 6, 7, 8:
		b = g.ipv6(b, size)
	case 9:
		b = g.arp(b)
	case 10:
		b = append(g.garbage(append(b, 0x88, 0xb5), g.IntN(60)), 1)
	default:
		b = g.garbage(binary.BigEndian.AppendUint16(b, uint16(g.IntN(0x700))), g.IntN(80)) // 802.3, sometimes
	}
	if g.chance(70) {
		for len(b) < 60 {
			b = append(b, 0)
		}
	}
	if g.chance(3) {
		b = tailstamp.V1{}.Append(b, tailstamp.Record{SwitchID: 1})
	}
	b = g.outerFrame(g.withIFA(b))
	f := saisim.Frame{Data: b, ID: g.Uint64()}
	switch g.IntN(60) {
	case 0: // damaged
		b[g.IntN(len(b))] ^= byte(1 << g.IntN(8))
	case 1: // truncated on the wire
		f.Data = b[:g.IntN(len(b)+1)]
	case 2: // truncated by a capture
		f.Len = len(b)
		f.Data = b[:g.IntN(len(b)+1)]
	case 3:
		f.Len = len(b) + g.IntN(9000)
	case 4, 5:
		g.otherLength(b)
	}
	return f
}

// otherLength gives the IP header of a frame, if it has one, another length: 0, or a random one.
func (g *gen) otherLength(b []byte) {
	at := 12
	for at+4 <= len(b) && (b[at] == 0x81 || b[at] == 0x88 && b[at+1] == 0xa8) {
		at += 4
	}
	ip := b[min(at+2, len(b)):]
	if len(ip) < 40 {
		return
	}
	length := uint16(pick(g, 0, 0, g.IntN(60), len(ip), len(ip)+1, len(ip)+g.IntN(100), g.IntN(1<<16)))
	if ip[0]>>4 == 4 {
		binary.BigEndian.PutUint16(ip[2:], length)
		head := min(int(ip[0]&15)*4, len(ip))
		if head >= 20 && g.chance(80) {
			binary.BigEndian.PutUint16(ip[10:], 0)
			binary.BigEndian.PutUint16(ip[10:], checksum(ip[:head]))
		}
	} else if ip[0]>>4 == 6 {
		binary.BigEndian.PutUint16(ip[4:], length)
	}
}

// size returns a length of payload.
func (g *gen) size() int {
	if g.trims != nil && g.trims.IntN(2) == 0 {
		return g.trims.IntN(1000)
	}
	switch n := g.IntN(100); {
	case n < 60:
		return g.IntN(30)
	case n < 80:
		return g.IntN(200)
	case n < 95:
		return g.IntN(600)
	}
	return g.IntN(1600)
}

func (g *gen) garbage(b []byte, n int) []byte {
	for range n {
		b = append(b, byte(g.Uint32()))
	}
	return b
}

func (g *gen) ipv4(b []byte, size int) []byte {
	at := len(b) + 2
	proto := pick[byte](g, 1, 6, 6, 6, 17, 17, 17, 17, 17, 33, 132, 136, 47, 58, 89, 103, 112)
	options := 0
	if g.chance(5) {
		options = g.IntN(11)
	}
	fragment := uint16(0)
	if g.marking && g.chance(20) {
		fragment = 0x8000
	} else if g.chance(10) {
		fragment = pick[uint16](g, 0x4000, 0x2000, 0x2001, 1, 0x1fff, 0x8000)
	}
	src, dst := g.ip4(), g.ip4()
	if g.chance(4) {
		dst = pick(g, [4]byte{224, 0, 0, 5}, [4]byte{255, 255, 255, 255}, [4]byte{127, 0, 0, 1}, [4]byte{},
			[4]byte{0, 0, 0, 9})
	}
	if g.chance(1) {
		src = pick(g, [4]byte{224, 0, 0, 5}, [4]byte{255, 255, 255, 255}, [4]byte{127, 0, 0, 1}, [4]byte{},
			[4]byte{0, 0, 0, 9})
	}
	b = append(b, 0x08, 0x00, byte(0x45+options), g.dscp()<<2|pick[byte](g, 0, 0, 0, 1, 2, 3), 0, 0, 0, byte(g.IntN(2)),
		byte(fragment>>8), byte(fragment),
		pick[byte](g, 64, 64, 64, 64, 64, 64, 64, 1, 0, 2), proto, 0, 0)
	b = append(append(b, src[:]...), dst[:]...)
	b = g.garbage(b, 4*options)
	b = g.l4(b, proto, size)
	binary.BigEndian.PutUint16(b[at+2:], uint16(len(b)-at))
	if g.chance(3) {
		binary.BigEndian.PutUint16(b[at+2:], uint16(len(b)-at)+uint16(g.IntN(8))-4)
	}
	binary.BigEndian.PutUint16(b[at+10:], checksum(b[at:at+20+4*options]))
	if g.chance(2) {
		b[at+10] ^= 0x40
	}
	return b
}

// checksum returns the Internet checksum (RFC 1071) of b, whose checksum field must be zero.
func checksum(b []byte) uint16 {
	sum := uint32(0)
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(b[i])<<8 | uint32(b[i+1])
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

func (g *gen) ipv6(b []byte, size int) []byte {
	at := len(b) + 2
	src, dst := g.ip6(), g.ip6()
	if g.chance(4) {
		dst = pick(g, [16]byte{0: 0xff, 1: 2, 15: 1}, [16]byte{15: 1}, [16]byte{}, [16]byte{0: 0xfe, 1: 0xbf, 15: 2})
	}
	if g.chance(1) {
		src = pick(g, [16]byte{0: 0xff, 1: 2, 15: 1}, [16]byte{15: 1}, [16]byte{}, [16]byte{0: 0xfe, 1: 0x80, 15: 2})
	}
	tc := g.dscp()<<2 | pick[byte](g, 0, 0, 0, 1, 2, 3)
	b = append(b, 0x86, 0xdd, 0x60|tc>>4, tc<<4, 0, byte(pick(g, 0, 0, 5)), 0, 0, 0,
		pick[byte](g, 64, 64, 64, 64, 64, 64, 255, 1, 0))
	b = append(append(b, src[:]...), dst[:]...)
	next := at + 6 // offset of the next header's number
	if g.marking && g.chance(40) {
		b[next] = pick[byte](g, 0, 60)
		next = len(b)
		b = g.optionsHeader(b)
	}
	for g.chance(20) {
		kind := pick[byte](g, 0, 43, 44, 51, 60, 135)
		b[next] = kind
		next = len(b)
		switch kind {
		case 44:
			b = append(b, 0, 0, 0, pick[byte](g, 0, 1, 8, 9), 0, 0, 0, 1)
		case 51:
			b = g.garbage(append(b, 0, 1), 10)
		default:
			n := g.IntN(2)
			b = g.garbage(append(b, 0, byte(n)), 6+8*n)
		}
	}
	b[next] = pick[byte](g, 58, 58, 6, 6, 17, 17, 17, 17, 33, 132, 136, 1, 59, 89)
	b = g.l4(b, b[next], size)
	binary.BigEndian.PutUint16(b[at+4:], uint16(len(b)-at-40))
	if g.chance(3) {
		binary.BigEndian.PutUint16(b[at+4:], uint16(len(b)-at-40)+uint16(g.IntN(8))-4)
	}
	return b
}

// l4 appends a transport header with its payload.
func (g *gen) l4(b []byte, proto byte, size int) []byte {
	switch proto {
	case 6:
		b = binary.BigEndian.AppendUint16(b, g.port())
		b = binary.BigEndian.AppendUint16(b, g.port())
		b = append(b, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, pick[byte](g, 2, 16, 18, 17), 0xff, 0xff, 0, 0, 0, 0)
		b = g.tcpOptions(b)
	case 1, 58:
		b = append(b, pick[byte](g, 0, 8, 128, 133, 135, 136), byte(g.IntN(2)), 0, 0)
	default:
		b = binary.BigEndian.AppendUint16(b, g.port())
		b = binary.BigEndian.AppendUint16(b, g.port())
		b = append(b, byte((8+size)>>8), byte(8+size), 0, 0)
	}
	return append(b, zeros[:size]...)
}

var zeros [2048]byte

func (g *gen) arp(b []byte) []byte {
	b = append(b, 0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, pick[byte](g, 1, 1, 2, 2, 3))
	return g.garbage(b, 20)
}
