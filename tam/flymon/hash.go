package flymon

import "math/bits"

// polynomials of hash units: IEEE 802.3, Castagnoli, Koopman, aviation (Q),
// AUTOSAR, D.
var polynomials = [...]uint32{0x04c11db7, 0x1edc6f41, 0x741b8cd7, 0x814141ab, 0xf4acfb13, 0xa833982b}

// Poly returns the polynomial of a hash unit: 32 bits, without the highest term. It differs between the units of a
// group, and between the same units of adjacent groups and of groups four apart.
func Poly(group, unit int) uint32 { return polynomials[PolyNumber(group, unit)] }

// PolyNumber returns the number of that polynomial, 0 to 5.
func PolyNumber(group, unit int) int { return (3*(group&1) + unit + group>>2) % len(polynomials) }

// Compress returns the compressed key of a masked vector. It is the slow reference definition.
func Compress(poly uint32, v Vector) uint32 { return mix(crc(poly, v)) }

// mix applies a bijection of 32 bits in which every bit depends on all (lowbias32, by C. Wellons). A CRC alone is
// linear: consecutive addresses would hardly ever share a bucket. Where empty buckets are counted, the 3,000 addresses
// of a network would count as 3,700. mix also makes parts of one compressed key practically independent.
func mix(x uint32) uint32 {
	x ^= x >> 16
	x *= 0x7feb352d
	x ^= x >> 15
	x *= 0x846ca68b
	return x ^ x>>16
}

// crc returns the CRC-32 of a vector.
func crc(poly uint32, v Vector) uint32 {
	r := ^uint32(0)
	for _, w := range v {
		for b := 63; b >= 0; b-- {
			top := r >> 31
			r <<= 1
			if uint64(top) != w>>b&1 {
				r ^= poly
			}
		}
	}
	return r
}

// A Compressor computes [Compress] of vectors under one mask, by all polynomials. It is safe for concurrent use.
type Compressor struct {
	start [pairs]uint64 // CRCs of the zero vector
	// Parts of the masked vector: halves of its words, or single bytes if the mask has only one byte of a half. The first
	// narrow halves and all bytes suffice for vectors with zeros in the words of IPv6, where wide is the mask.
	halves []half
	bytes  []oneByte
	narrow int
	wide   [4]uint64
}

// pairs is the number of words that hold CRCs by all polynomials. Each word holds two, the first one low.
const pairs = (len(polynomials) + 1) / 2

// A half is a half of a word. Its tables hold the contribution of each byte, last byte first.
type half struct {
	tables [pairs]*[4][256]uint64
	word   uint8
	shift  uint8
	mask   uint32
}

type oneByte struct {
	tables [pairs]*[256]uint64
	word   uint8
	shift  uint8
	mask   uint8
}

// NewCompressor computes the tables for a mask.
func NewCompressor(mask Key) *Compressor {
	// Words 1 and 3, and the low halves of 0 and 2, are zero without IPv6.
	c := &Compressor{wide: [4]uint64{mask[0] & (1<<32 - 1), mask[1], mask[2] & (1<<32 - 1), mask[3]}}
	var narrow, wide []half
	var last [pairs]uint64 // contributions of the last bit
	for i, poly := range polynomials {
		c.start[i/2] |= uint64(crc(poly, Vector{})) << (32 * (i & 1))
		last[i/2] |= uint64(poly) << (32 * (i & 1))
	}
	bit := last
	for h := 2*Words - 1; h >= 0; h-- {
		word, shift := uint8(h/2), uint8(32*(1-h%2))
		x := half{word: word, shift: shift, mask: uint32(mask[word] >> shift)}
		for i := range x.tables {
			x.tables[i] = contributions(&bit[i], last[i])
		}
		low := bits.TrailingZeros32(x.mask) / 8 & 3
		switch {
		case x.mask == 0:
		case x.mask>>(8*low) < 256:
			b := oneByte{word: word, shift: shift + uint8(8*low), mask: uint8(x.mask >> (8 * low))}
			for i, t := range x.tables {
				b.tables[i] = &t[low]
			}
			c.bytes = append(c.bytes, b)
		case word < 4 && uint32(c.wide[word]>>shift) != 0:
			wide = append(wide, x)
		default:
			narrow = append(narrow, x)
		}
	}
	c.narrow, c.halves = len(narrow), append(narrow, wide...)
	return c
}

// contributions returns the tables of a half, by two polynomials. bit holds the contributions of its last bit, and then
// those of the last bit of the half before. The CRC is linear: the contribution of a byte is the sum of those of its
// bits. The contribution of a bit is that of the next bit, shifted one step.
func contributions(bit *uint64, poly uint64) *[4][256]uint64 {
	t := new([4][256]uint64)
	for b := range t {
		for i := range 8 {
			t[b][1<<i] = *bit
			low, high := uint32(*bit), uint32(*bit>>32)
			low = low<<1 ^ uint32(poly)&-(low>>31)
			high = high<<1 ^ uint32(poly>>32)&-(high>>31)
			*bit = uint64(high)<<32 | uint64(low)
		}
		for v := 1; v < 256; v++ {
			t[b][v] = t[b][v&(v-1)] ^ t[b][v&-v]
		}
	}
	return t
}

// Sum returns Compress of the masked vector by the polynomial with a number.
func (c *Compressor) Sum(number int, v *Vector) uint32 {
	var all Sums
	c.pair(v, number/2, &all)
	return all[number]
}

// Sums holds compressed keys, by the number of the polynomial.
type Sums [len(polynomials)]uint32

// Sums sets Compress of the masked vector by the polynomials in a set, bit i for number i. It may set the others too.
func (c *Compressor) Sums(v *Vector, of uint8, to *Sums) {
	if first := bits.TrailingZeros8(of) / 2; of>>(2*first) < 4 {
		c.pair(v, first, to)
	} else {
		c.all(v, to)
	}
}

// needed returns the halves of which at least one may be other than zero in a vector.
func (c *Compressor) needed(v *Vector) []half {
	if w := &c.wide; v[0]&w[0]|v[1]&w[1]|v[2]&w[2]|v[3]&w[3] != 0 {
		return c.halves
	}
	return c.halves[:c.narrow]
}

// pair does Sums for two polynomials.
func (c *Compressor) pair(v *Vector, n int, to *Sums) {
	n %= pairs
	r := c.start[n]
	halves := c.needed(v)
	for i := range halves {
		h := &halves[i]
		x, t := uint32(v[h.word]>>(h.shift&63))&h.mask, h.tables[n]
		r ^= t[0][uint8(x)] ^ t[1][uint8(x>>8)] ^ t[2][uint8(x>>16)] ^ t[3][x>>24]
	}
	for i := range c.bytes {
		h := &c.bytes[i]
		r ^= h.tables[n][uint8(v[h.word]>>(h.shift&63))&h.mask]
	}
	to[2*n], to[2*n+1] = mix(uint32(r)), mix(uint32(r>>32))
}

// all does Sums for all polynomials.
func (c *Compressor) all(v *Vector, to *Sums) {
	r0, r1, r2 := c.start[0], c.start[1], c.start[2]
	halves := c.needed(v)
	for i := range halves {
		h := &halves[i]
		x, t0, t1, t2 := uint32(v[h.word]>>(h.shift&63))&h.mask, h.tables[0], h.tables[1], h.tables[2]
		a, b, c, d := uint8(x), uint8(x>>8), uint8(x>>16), x>>24
		r0 ^= t0[0][a] ^ t0[1][b] ^ t0[2][c] ^ t0[3][d]
		r1 ^= t1[0][a] ^ t1[1][b] ^ t1[2][c] ^ t1[3][d]
		r2 ^= t2[0][a] ^ t2[1][b] ^ t2[2][c] ^ t2[3][d]
	}
	for i := range c.bytes {
		h := &c.bytes[i]
		a := uint8(v[h.word]>>(h.shift&63)) & h.mask
		r0, r1, r2 = r0^h.tables[0][a], r1^h.tables[1][a], r2^h.tables[2][a]
	}
	to[0], to[1] = mix(uint32(r0)), mix(uint32(r0>>32))
	to[2], to[3] = mix(uint32(r1)), mix(uint32(r1>>32))
	to[4], to[5] = mix(uint32(r2)), mix(uint32(r2>>32))
}
