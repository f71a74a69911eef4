package pipe

import (
	"maps"
	"math/bits"
	"slices"
)

type polynomial struct {
	width uint8
	poly  uint32
}

var polynomials = map[string]polynomial{
	"crc32":    {32, 0x04c11db7}, // IEEE 802.3
	"crc32c":   {32, 0x1edc6f41}, // Castagnoli
	"crc32k":   {32, 0x741b8cd7}, // Koopman
	"crc32q":   {32, 0x814141ab}, // aviation
	"crc16":    {16, 0x8005},     // as in USB
	"crc16x25": {16, 0x1021},     // CCITT, as in X.25
	"crc16dnp": {16, 0x3d65},
	"crc16t10": {16, 0x8bb7},
}

// Polynomials returns the names that are valid in Hash.CRC.
func Polynomials() []string { return slices.Sorted(maps.Keys(polynomials)) }

// Polynomial returns the width and the polynomial of a name, and false if there is none.
func Polynomial(name string) (width uint8, poly uint32, ok bool) {
	p, ok := polynomials[name]
	return p.width, p.poly, ok
}

// polynomial returns the polynomial of the hash.
func (h *Hash) polynomial() polynomial {
	if h.CRC != "" {
		return polynomials[h.CRC]
	}
	return polynomial{h.Width, h.Poly}
}

// bits returns the number of bits of the hash's result.
func (h *Hash) bits() uint8 {
	if h.Bits != 0 {
		return h.Bits
	}
	return h.polynomial().width
}

// reversed returns the polynomial with its bits in reverse order.
func (p polynomial) reversed() uint32 { return bits.Reverse32(p.poly) >> (32 - p.width) }

// A crcTable holds a byte's contribution to the register, by the byte's value.
type crcTable [256]uint32

// tables returns n tables. Table d is for a byte that d bytes follow. The CRC is linear: the CRC of a message is the
// sum of the bytes' contributions and a constant. The constant depends on the message's length and the seed.
func (p polynomial) tables(n int) []crcTable {
	t := make([]crcTable, n)
	rev := p.reversed()
	for b := range 256 {
		r := uint32(b)
		for range 8 {
			r = r>>1 ^ rev&-(r&1)
		}
		t[0][b] = r
	}
	for d := 1; d < n; d++ {
		for b := range 256 {
			r := t[d-1][b]
			t[d][b] = r>>8 ^ t[0][r&0xff]
		}
	}
	return t
}

// ofZeros returns the CRC of n zero bytes.
func (p polynomial) ofZeros(n int, seed uint32) uint32 {
	all := uint32(ones(p.width))
	r := ^seed & all
	rev := p.reversed()
	for range n * 8 {
		r = r>>1 ^ rev&-(r&1)
	}
	return ^r & all
}
