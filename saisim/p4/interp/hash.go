package interp

import (
	"math/bits"

	"tamtam/saisim/p4"
)

// A CRC is the parameters of a cyclic redundancy check.
type CRC struct {
	Polynomial, Initial, Final    uint32
	ReflectData, ReflectRemainder bool
}

// The parameters that the algorithms have until the control plane changes them.
var (
	crc16 = CRC{0x8005, 0, 0, true, true}
	crc32 = CRC{0x04c11db7, 0xffffffff, 0xffffffff, true, true}
	ccitt = CRC{0x1021, 0xffff, 0, false, false}
)

// sum computes the check over data, for a width of 16 or 32 bits.
func (c CRC) sum(data []byte, width int) uint64 {
	top := uint32(1) << (width - 1)
	all := uint32(uint64(1)<<width - 1)
	rest := c.Initial & all
	for _, b := range data {
		if c.ReflectData {
			b = bits.Reverse8(b)
		}
		rest ^= uint32(b) << (width - 8)
		for range 8 {
			if rest&top != 0 {
				rest = rest<<1 ^ c.Polynomial
			} else {
				rest <<= 1
			}
		}
		rest &= all
	}
	if c.ReflectRemainder {
		rest = bits.Reverse32(rest) >> (32 - width)
	}
	return uint64((rest ^ c.Final) & all)
}

// words returns data as 16-bit numbers, with a zero byte after an odd length.
func words(data []byte, each func(uint64)) {
	for i := 0; i < len(data); i += 2 {
		v := uint64(data[i]) << 8
		if i+1 < len(data) {
			v |= uint64(data[i+1])
		}
		each(v)
	}
}

// internetSum returns the checksum of RFC 1071.
func internetSum(data []byte) uint64 {
	var sum uint64
	words(data, func(w uint64) { sum += w })
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^sum & 0xffff
}

// hash computes an algorithm over data. custom are the parameters of the custom checks.
func hash(algorithm string, data []byte, custom CRC) uint64 {
	switch algorithm {
	case "crc16":
		return crc16.sum(data, 16)
	case "crc32":
		return crc32.sum(data, 32)
	case "crcCCITT":
		return ccitt.sum(data, 16)
	case "crc16_custom":
		return custom.sum(data, 16)
	case "crc32_custom":
		return custom.sum(data, 32)
	case "csum16", "cksum16":
		return internetSum(data)
	case "xor16":
		var sum uint64
		words(data, func(w uint64) { sum ^= w })
		return sum
	case "identity":
		var v uint64
		for _, b := range data[:min(8, len(data))] {
			v = v<<8 | uint64(b)
		}
		return v
	}
	panic("interp: hash algorithm " + algorithm + " is not one that the reader accepts")
}

// gather joins the inputs of a hash. Fields and headers that are not valid are left out.
func gather(v *vector, inputs []p4.Input, payload []byte) []byte {
	var w bitWriter
	for _, in := range inputs {
		switch {
		case in.Payload:
			w.bytes = append(w.bytes, payload...)
			w.bits = len(w.bytes) * 8
		case in.Header != nil:
			if v.headers[in.Header.Index].valid {
				v.emit(&w, in.Header)
			}
		case in.Constant != nil:
			w.write(in.Constant, in.Width)
		case v.headers[in.Field.Header.Index].valid:
			w.write(v.raw(in.Field.Header, in.Field.Index), v.width(in.Field.Header, in.Field.Index))
		}
	}
	return w.bytes
}

// calculate computes a calculation of the program over a packet.
func (s *Switch) calculate(c *p4.Calculation, v *vector, payload []byte) uint64 {
	return hash(c.Algorithm, gather(v, c.Input, payload), s.custom[c])
}
