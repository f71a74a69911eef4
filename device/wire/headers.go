package wire

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

const (
	protoTCP, protoUDP = 6, 17

	ip6Header      = 40
	tcpSum, udpSum = 16, 6 // where the checksum is in the header

	tcpFIN, tcpPSH, tcpCWR = 1, 8, 0x80
)

// Headers say where things are in a frame of TCP or UDP over IPv4 or IPv6.
type headers struct {
	ip, l4, payload, end int // offsets; behind end there may be padding, or a trailer
	v6                   bool
	proto                byte
}

var errHeaders = errors.New("not a whole packet of TCP or UDP over IP")

// parseHeaders finds the headers behind up to two VLAN tags. Fragments, and packets with extension headers of
// IPv6, are none that it knows.
func parseHeaders(b []byte) (headers, error) {
	var h headers
	at, kind := 12, uint16(0)
	for range 3 {
		if len(b) < at+2 {
			return h, errHeaders
		}
		if kind = binary.BigEndian.Uint16(b[at:]); kind != 0x8100 && kind != 0x88a8 {
			break
		}
		at += 4
	}
	h.ip = at + 2
	ip := b[min(h.ip, len(b)):]
	switch {
	case kind == 0x0800 && len(ip) >= 20 && ip[0]>>4 == 4:
		n := int(ip[0]&15) * 4
		fragment := binary.BigEndian.Uint16(ip[6:]) & 0x3fff
		h.l4, h.end, h.proto = h.ip+n, h.ip+int(binary.BigEndian.Uint16(ip[2:])), ip[9]
		if n < 20 || fragment != 0 {
			return h, errHeaders
		}
	case kind == 0x86dd && len(ip) >= ip6Header && ip[0]>>4 == 6:
		h.v6, h.proto = true, ip[6]
		h.l4, h.end = h.ip+ip6Header, h.ip+ip6Header+int(binary.BigEndian.Uint16(ip[4:]))
	default:
		return h, errHeaders
	}
	if h.end > len(b) {
		return h, errHeaders
	}
	switch {
	case h.proto == protoUDP && h.l4+8 <= h.end:
		h.payload = h.l4 + 8
	case h.proto == protoTCP && h.l4+20 <= h.end:
		h.payload = h.l4 + int(b[h.l4+12]>>4)*4
	}
	if h.payload < h.l4+8 || h.payload > h.end || h.proto == protoTCP && h.payload < h.l4+20 {
		return h, errHeaders
	}
	return h, nil
}

// sumAt is where the checksum of TCP or UDP is.
func (h *headers) sumAt() int {
	if h.proto == protoUDP {
		return h.l4 + udpSum
	}
	return h.l4 + tcpSum
}

// pseudo is the sum over the pseudo-header of what is length bytes long.
func (h *headers) pseudo(b []byte, length int) uint64 {
	addresses := b[h.ip+12 : h.ip+20]
	if h.v6 {
		addresses = b[h.ip+8 : h.ip+ip6Header]
	}
	return add(number(uint16(h.proto))+number(uint16(length)), addresses)
}

// setSums computes the checksums of a packet that ends with its frame.
func (h *headers) setSums(b []byte) {
	if !h.v6 {
		ip := b[h.ip:h.l4]
		ip[10], ip[11] = 0, 0
		binary.BigEndian.PutUint16(ip[10:], ^fold(add(0, ip)))
	}
	at := h.sumAt()
	b[at], b[at+1] = 0, 0
	sum := ^fold(add(h.pseudo(b, len(b)-h.l4), b[h.l4:]))
	if sum == 0 && h.proto == protoUDP {
		sum = 0xffff
	}
	binary.BigEndian.PutUint16(b[at:], sum)
}

// sumsRight says whether the checksums of a packet are there and right.
func (h *headers) sumsRight(b []byte) bool {
	return (h.v6 || fold(add(0, b[h.ip:h.l4])) == 0xffff) &&
		fold(add(h.pseudo(b, h.end-h.l4), b[h.l4:h.end])) == 0xffff
}

// add adds words of 16 bits in the machine's order, of which the last may lack a byte, to a sum as fold takes it.
// The order of the bytes makes no difference but in that of the sum (RFC 1071, 2(B)), and words of 64 bits none at
// all, since 2^16 is 1 modulo 2^16 - 1.
func add(sum uint64, b []byte) uint64 {
	var carry uint64
	for ; len(b) >= 64; b = b[64:] { // one chain of additions with carry
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

// number is a 16-bit number as a summand of add.
func number(n uint16) uint64 {
	var b [2]byte
	binary.BigEndian.PutUint16(b[:], n)
	return uint64(binary.NativeEndian.Uint16(b[:]))
}

// fold brings a sum to 16 bits, as they are written.
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
