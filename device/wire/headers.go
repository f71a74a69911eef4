package wire

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

const (
	protoTCP, protoUDP = 6, 17
	protoSCTP          = 132

	// Protocols that enclose a packet (IP in IP, GRE), and extension headers between IPv6 and its payload.
	protoIP4, protoIP6, protoGRE = 4, 41, 47
	hopByHop, destinationOptions = 0, 60

	ip6Header      = 40
	tcpSum, udpSum = 16, 6 // offset of the checksum in the header
	sctpSum        = 8

	tcpFIN, tcpPSH, tcpCWR = 1, 8, 0x80
)

// headers holds the positions of the headers in a frame of TCP or UDP over IPv4 or IPv6.
type headers struct {
	ip, l4, payload, end int // offsets; after end there may be padding, or a trailer
	v6                   bool
	proto                byte
}

var errHeaders = errors.New("not a whole packet of TCP or UDP over IP")

// parseHeaders finds the headers after up to two VLAN tags. It returns an error for fragments, and for packets with
// extension headers of IPv6.
func parseHeaders(b []byte) (headers, error) {
	h, err := parseIP(b)
	if err == nil {
		err = h.parseTransport(b)
	}
	return h, err
}

// parseIP finds the packet, and where the next header after its IP header begins.
func parseIP(b []byte) (headers, error) {
	at, kind := 12, uint16(0)
	for range 3 {
		if len(b) < at+2 {
			return headers{}, errHeaders
		}
		if kind = binary.BigEndian.Uint16(b[at:]); kind != 0x8100 && kind != 0x88a8 {
			break
		}
		at += 4
	}
	h, ok := headers{}, false
	switch kind {
	case 0x0800:
		h, ok = parseIP4(b, at+2)
	case 0x86dd:
		h, ok = parseIP6(b, at+2)
	}
	if !ok || h.end > len(b) {
		return h, errHeaders
	}
	return h, nil
}

func parseIP4(b []byte, at int) (headers, bool) {
	ip := b[min(at, len(b)):]
	if len(ip) < 20 || ip[0]>>4 != 4 {
		return headers{}, false
	}
	n, fragment := int(ip[0]&15)*4, binary.BigEndian.Uint16(ip[6:])&0x3fff
	h := headers{ip: at, l4: at + n, end: at + int(binary.BigEndian.Uint16(ip[2:])), proto: ip[9]}
	return h, n >= 20 && fragment == 0
}

func parseIP6(b []byte, at int) (headers, bool) {
	ip := b[min(at, len(b)):]
	if len(ip) < ip6Header || ip[0]>>4 != 6 {
		return headers{}, false
	}
	l4 := at + ip6Header
	return headers{ip: at, l4: l4, end: l4 + int(binary.BigEndian.Uint16(ip[4:])), v6: true, proto: ip[6]}, true
}

// parseTransport finds the payload of TCP or UDP.
func (h *headers) parseTransport(b []byte) error {
	switch {
	case h.proto == protoUDP && h.l4+8 <= h.end:
		h.payload = h.l4 + 8
	case h.proto == protoTCP && h.l4+20 <= h.end:
		h.payload = h.l4 + int(b[h.l4+12]>>4)*4
	}
	if h.payload < h.l4+8 || h.payload > h.end || h.proto == protoTCP && h.payload < h.l4+20 {
		return errHeaders
	}
	return nil
}

// parseInner finds the packet of TCP or UDP whose header begins at l4, inside the packet of h or after h's extension
// headers. In the latter case it is h's own packet, with the same IP offset. Headers between the two packets, such as
// VXLAN and Ethernet, need not be parsed: the inner IP header is found backwards from l4.
func (h *headers) parseInner(b []byte, l4 int) (headers, error) {
	for in := *h; in.v6 && in.l4 <= l4 && l4+8 <= h.end; {
		if in.l4 == l4 {
			err := in.parseTransport(b)
			return in, err
		}
		if in.proto != hopByHop && in.proto != destinationOptions {
			break
		}
		in.proto, in.l4 = b[in.l4], in.l4+8*(1+int(b[in.l4+1]))
	}
	switch h.proto {
	case protoUDP, protoIP4, protoIP6:
	case protoGRE:
		if h.l4+4 > h.end || b[h.l4]&0x90 != 0 { // its checksum and sequence number would differ in each piece
			return headers{}, errHeaders
		}
	default:
		return headers{}, errHeaders
	}
	for at := l4 - 20; at >= max(h.l4, l4-60); at -= 4 {
		in, ok := parseIP4(b[:h.end], at)
		if at == l4-ip6Header && !ok {
			in, ok = parseIP6(b[:h.end], at)
		}
		if ok && in.l4 == l4 && in.end == h.end && in.parseTransport(b) == nil {
			return in, nil
		}
	}
	return headers{}, errHeaders
}

// sumAt returns the offset of the checksum of TCP or UDP.
func (h *headers) sumAt() int {
	if h.proto == protoUDP {
		return h.l4 + udpSum
	}
	return h.l4 + tcpSum
}

// pseudo returns the sum over the pseudo-header for a payload of length bytes.
func (h *headers) pseudo(b []byte, length int) uint64 {
	addresses := b[h.ip+12 : h.ip+20]
	if h.v6 {
		addresses = b[h.ip+8 : h.ip+ip6Header]
	}
	return add(number(uint16(h.proto))+number(uint16(length)), addresses)
}

// setIPSum computes the checksum of the IP header, if it has one.
func (h *headers) setIPSum(b []byte) {
	if !h.v6 {
		ip := b[h.ip:h.l4]
		ip[10], ip[11] = 0, 0
		binary.BigEndian.PutUint16(ip[10:], ^fold(add(0, ip)))
	}
}

// setSums computes the checksums of a packet that ends with its frame.
func (h *headers) setSums(b []byte) {
	h.setIPSum(b)
	at := h.sumAt()
	b[at], b[at+1] = 0, 0
	sum := ^fold(add(h.pseudo(b, len(b)-h.l4), b[h.l4:]))
	if sum == 0 && h.proto == protoUDP {
		sum = 0xffff
	}
	binary.BigEndian.PutUint16(b[at:], sum)
}

// sumsRight reports whether the checksums of a packet are present and correct.
func (h *headers) sumsRight(b []byte) bool {
	return (h.v6 || fold(add(0, b[h.ip:h.l4])) == 0xffff) &&
		fold(add(h.pseudo(b, h.end-h.l4), b[h.l4:h.end])) == 0xffff
}

// add adds 16-bit words in the machine's byte order to a sum for fold. The last word may lack a byte. The byte order
// affects only the byte order of the sum (RFC 1071, 2(B)). Words of 64 bits give the same sum, since 2^16 is 1 modulo
// 2^16 - 1.
func add(sum uint64, b []byte) uint64 {
	var carry uint64
	for ; len(b) >= 64; b = b[64:] { // the additions of a block form one carry chain
		w := (*[64]byte)(b)
		sum, carry = bits.Add64(sum, word(w, 0), 0)
		sum, carry = bits.Add64(sum, word(w, 8), carry)
		sum, carry = bits.Add64(sum, word(w, 16), carry)
		sum, carry = bits.Add64(sum, word(w, 24), carry)
		sum, carry = bits.Add64(sum, word(w, 32), carry)
		sum, carry = bits.Add64(sum, word(w, 40), carry)
		sum, carry = bits.Add64(sum, word(w, 48), carry)
		sum, carry = bits.Add64(sum, word(w, 56), carry)
		sum, carry = bits.Add64(sum, 0, carry)
		sum += carry
	}
	for ; len(b) >= 8; b = b[8:] {
		sum, carry = bits.Add64(sum, binary.NativeEndian.Uint64(b), 0)
		sum += carry
	}
	if len(b) > 0 {
		var last [8]byte
		copy(last[:], b)
		sum, carry = bits.Add64(sum, binary.NativeEndian.Uint64(last[:]), 0)
		sum += carry
	}
	return sum
}

func word(b *[64]byte, at int) uint64 { return binary.NativeEndian.Uint64(b[at : at+8]) }

// number returns a 16-bit number as a summand of add.
func number(n uint16) uint64 {
	var b [2]byte
	binary.BigEndian.PutUint16(b[:], n)
	return uint64(binary.NativeEndian.Uint16(b[:]))
}

// fold reduces a sum to 16 bits in network byte order.
func fold(sum uint64) uint16 {
	sum = sum>>32 + sum&0xffffffff
	sum = sum>>32 + sum&0xffffffff
	sum = sum>>16 + sum&0xffff
	sum = sum>>16 + sum&0xffff
	sum = sum>>16 + sum&0xffff
	var b [2]byte
	binary.NativeEndian.PutUint16(b[:], uint16(sum))
	return binary.BigEndian.Uint16(b[:])
}
