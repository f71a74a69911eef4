package interp

import (
	"math/big"

	"tamtam/saisim/p4"
)

// Numbers are never changed after they are made, so they can be shared.
var (
	zero = new(big.Int)
	one  = big.NewInt(1)
)

func number(v uint64) *big.Int { return new(big.Int).SetUint64(v) }

// mask returns a number with the given count of ones.
func mask(bits int) *big.Int {
	m := new(big.Int).Lsh(one, uint(bits))
	return m.Sub(m, one)
}

// store returns the value that a field holds after v was written: cut to the width, or saturated.
func store(f p4.Field, width int, v *big.Int) *big.Int {
	if f.Signed {
		if f.Saturating {
			return saturate(v, width)
		}
		return twosComplement(v, width)
	}
	if f.Saturating {
		return saturateUnsigned(v, width)
	}
	if v.Sign() >= 0 && v.BitLen() <= width {
		return v
	}
	return new(big.Int).And(v, mask(width))
}

// twosComplement returns the signed value of the low bits of v.
func twosComplement(v *big.Int, width int) *big.Int {
	low := new(big.Int).And(v, mask(width))
	if low.Bit(width-1) == 1 {
		low.Sub(low, new(big.Int).Lsh(one, uint(width)))
	}
	return low
}

// saturate returns v within the range of a signed number.
func saturate(v *big.Int, width int) *big.Int {
	high := mask(width - 1)
	low := new(big.Int).Not(high)
	switch {
	case v.Cmp(high) > 0:
		return high
	case v.Cmp(low) < 0:
		return low
	}
	return v
}

// saturateUnsigned returns v within the range of an unsigned number.
func saturateUnsigned(v *big.Int, width int) *big.Int {
	switch {
	case v.Sign() < 0:
		return zero
	case v.BitLen() > width:
		return mask(width)
	}
	return v
}

// maxBits is the largest number of bits of an intermediate value. Only a shift or a product can reach it; the bits
// above are lost. No field is wider.
const maxBits = 1 << 17

// bounded returns v, or its low bits if it has too many.
func bounded(v *big.Int) *big.Int {
	if v.BitLen() <= maxBits {
		return v
	}
	return new(big.Int).And(v, mask(maxBits))
}

// low32 returns the low 32 bits of a count or index.
func low32(v *big.Int) uint64 {
	if v.IsUint64() {
		return v.Uint64() & 0xffffffff
	}
	return new(big.Int).And(v, mask(32)).Uint64()
}

// low64 returns the low 64 bits of a number.
func low64(v *big.Int) uint64 {
	if v.IsUint64() {
		return v.Uint64()
	}
	return new(big.Int).And(v, mask(64)).Uint64()
}

// A bitWriter joins numbers of any width, most significant bit first.
type bitWriter struct {
	bytes []byte
	bits  int
}

// write appends the low bits of a number that is not negative and fits.
func (w *bitWriter) write(v *big.Int, width int) {
	if width == 0 {
		return
	}
	begun := w.bits % 8
	all := new(big.Int).Set(v)
	if begun > 0 {
		last := w.bytes[len(w.bytes)-1] >> (8 - begun)
		w.bytes = w.bytes[:len(w.bytes)-1]
		all.Or(all, new(big.Int).Lsh(big.NewInt(int64(last)), uint(width)))
	}
	total := begun + width
	size := (total + 7) / 8
	all.Lsh(all, uint(size*8-total))
	w.bytes = append(w.bytes, all.FillBytes(make([]byte, size))...)
	w.bits += width
}

// readBits returns bits of data from an offset. Bits after the end are 0.
func readBits(data []byte, offset, width int) *big.Int {
	first, last := offset/8, (offset+width+7)/8
	window := make([]byte, last-first)
	if first < len(data) {
		copy(window, data[first:])
	}
	v := new(big.Int).SetBytes(window)
	v.Rsh(v, uint(last*8-offset-width))
	return v.And(v, mask(width))
}
