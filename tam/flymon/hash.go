package flymon

// polynomials of hash units: IEEE 802.3, Castagnoli, Koopman, aviation (Q),
// AUTOSAR, D.
var polynomials = [...]uint32{0x04c11db7, 0x1edc6f41, 0x741b8cd7, 0x814141ab, 0xf4acfb13, 0xa833982b}

// Poly returns the polynomial of a hash unit: 32 bits, without the highest term. It differs between the units of a
// group, and between the same units of adjacent groups and of groups four apart.
func Poly(group, unit int) uint32 {
	return polynomials[(3*(group&1)+unit+group>>2)%len(polynomials)]
}

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

// A Compressor computes [Compress] of vectors under one mask. It is safe for concurrent use.
type Compressor struct {
	mask   Key
	start  uint32                     // CRC of the zero vector
	tables [2 * Words]*[4][256]uint32 // per half word with a mask, the contribution of each byte, last byte first
}

// NewCompressor computes the tables of a polynomial for a mask.
func NewCompressor(poly uint32, mask Key) *Compressor {
	c := &Compressor{mask: mask, start: crc(poly, Vector{})}
	// The CRC is linear: the contribution of a byte is the sum of the contributions of its bits. The contribution of a
	// bit is that of the next bit, shifted one step.
	bit := poly // contribution of the last bit
	for half := len(c.tables) - 1; half >= 0; half-- {
		t := new([4][256]uint32)
		for b := range t {
			for i := range 8 {
				t[b][1<<i] = bit
				bit = bit<<1 ^ poly&-(bit>>31)
			}
		}
		if uint32(mask[half/2]>>(32*(1-half%2))) == 0 {
			continue
		}
		for b := range t {
			for x := 1; x < 256; x++ {
				t[b][x] = t[b][x&(x-1)] ^ t[b][x&-x]
			}
		}
		c.tables[half] = t
	}
	return c
}

// Sum returns Compress of the masked vector.
func (c *Compressor) Sum(v *Vector) uint32 {
	r := c.start
	for i := range v {
		w := v[i] & c.mask[i]
		if w == 0 {
			continue
		}
		if x := uint32(w >> 32); x != 0 {
			t := c.tables[2*i]
			r ^= t[0][uint8(x)] ^ t[1][uint8(x>>8)] ^ t[2][uint8(x>>16)] ^ t[3][x>>24]
		}
		if x := uint32(w); x != 0 {
			t := c.tables[2*i+1]
			r ^= t[0][uint8(x)] ^ t[1][uint8(x>>8)] ^ t[2][uint8(x>>16)] ^ t[3][x>>24]
		}
	}
	return mix(r)
}
