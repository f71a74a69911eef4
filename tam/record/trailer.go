package record

import (
	"encoding/binary"
	"fmt"
)

// A Record is the end of a mirrored frame, after the part of the frame that the mirror session keeps,
// without FCS. Big-endian:
//
//	bytes  field
//	n      the containers in order, each most significant byte first
//	4      switch id
//	4      id of the plan
//	10     ingress time: 48-bit seconds, 32-bit nanoseconds (IEEE 1588)
//	10     time at which the record was taken, likewise
//	2      ingress port: N of EthernetN; 65535 none
//	2      egress port, likewise; 65535: the CPU, or none if it was dropped
//	4      length of the frame as received, without FCS
//	1      drop reason; 0: forwarded. Graph.Reasons names them
//	1      n
//	1      0x5C
//	1      version 1 in the high nibble, flags in the low: bit 0 clock not
//	       synchronised, others zero and ignored
//
// IP and transport lengths of the mirrored frame do not cover it; those of the
// tunnel do.
type Record struct {
	Bits   []byte // the n bytes of the containers
	Switch uint32
	Plan   uint32
	// Times since 1970, in seconds and nanoseconds.
	In, At         Time
	InPort         uint16
	OutPort        uint16
	Length         uint32
	Why            uint8
	Unsynchronised bool
}

// A Time is a time of day as IEEE 1588 writes it: seconds since 1970, of which 48 bits are on the wire,
// and nanoseconds below 10^9.
type Time struct {
	Seconds     uint64
	Nanoseconds uint32
}

// NoPort is the number of a port that is not one of the front panel.
const NoPort = 65535

const (
	tailLen = 40
	mark    = 0x5c
	version = 1
)

// Len is the length in bytes of a record with n bytes of containers.
func Len(n int) int { return n + tailLen }

// Append appends the record to b.
func (r *Record) Append(b []byte) []byte { return r.AppendTail(append(b, r.Bits...)) }

// AppendTail appends what follows the bits to b.
func (r *Record) AppendTail(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, r.Switch)
	b = binary.BigEndian.AppendUint32(b, r.Plan)
	b = r.In.append(b)
	b = r.At.append(b)
	b = binary.BigEndian.AppendUint16(b, r.InPort)
	b = binary.BigEndian.AppendUint16(b, r.OutPort)
	b = binary.BigEndian.AppendUint32(b, r.Length)
	flags := byte(version << 4)
	if r.Unsynchronised {
		flags |= 1
	}
	return append(b, r.Why, byte(len(r.Bits)), mark, flags)
}

func (t Time) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(t.Seconds>>32))
	b = binary.BigEndian.AppendUint32(b, uint32(t.Seconds))
	return binary.BigEndian.AppendUint32(b, t.Nanoseconds)
}

// Decode splits the record from the end of a mirrored frame, which is without FCS. Bits and frame share
// memory with b. An error says why b does not end with a record; frame is then all of b.
func Decode(b []byte) (r Record, frame []byte, err error) {
	if len(b) < tailLen {
		return r, b, fmt.Errorf("%d bytes, want at least the %d of a record", len(b), tailLen)
	}
	t := b[len(b)-tailLen:]
	n := int(t[37])
	switch {
	case t[38] != mark || t[39]>>4 != version:
		return r, b, fmt.Errorf("ends with %02x%02x, want %02x%x. as a record of version %d does",
			t[38], t[39], mark, version, version)
	case n == 0 || n > MaxBits/8 || n+tailLen > len(b):
		return r, b, fmt.Errorf("a record of %d bytes in a frame of %d", n, len(b))
	}
	r = Record{
		Bits:   b[len(b)-tailLen-n : len(b)-tailLen],
		Switch: binary.BigEndian.Uint32(t), Plan: binary.BigEndian.Uint32(t[4:]),
		In: readTime(t[8:]), At: readTime(t[18:]),
		InPort: binary.BigEndian.Uint16(t[28:]), OutPort: binary.BigEndian.Uint16(t[30:]),
		Length: binary.BigEndian.Uint32(t[32:]), Why: t[36], Unsynchronised: t[39]&1 != 0,
	}
	if r.In.Nanoseconds >= 1e9 || r.At.Nanoseconds >= 1e9 {
		return Record{}, b, fmt.Errorf("a time of %d and %d nanoseconds, want less than 10^9",
			r.In.Nanoseconds, r.At.Nanoseconds)
	}
	return r, b[:len(b)-tailLen-n], nil
}

func readTime(b []byte) Time {
	return Time{
		Seconds:     uint64(binary.BigEndian.Uint16(b))<<32 | uint64(binary.BigEndian.Uint32(b[2:])),
		Nanoseconds: binary.BigEndian.Uint32(b[6:]),
	}
}

// Put writes record word w, whose bit 0 is bit 0 of container 0, as bytes: each
// container most significant byte first. dst has c.Bytes() bytes; c has at most 64
// bits.
func (c Containers) Put(dst []byte, w uint64) {
	for _, width := range c {
		n := int(width / 8)
		for i := range n {
			dst[i] = byte(w >> (8 * (n - 1 - i)))
		}
		w >>= width
		dst = dst[n:]
	}
}

// Bit returns bit i of a record, counted as [Mark] does. A bit beyond the containers, or beyond what
// bits has, is not set.
func (c Containers) Bit(bits []byte, i int) bool {
	at := 0
	for _, width := range c {
		if i < int(width) {
			at += int(width)/8 - 1 - i/8
			return at < len(bits) && bits[at]>>(i%8)&1 != 0
		}
		i -= int(width)
		at += int(width) / 8
	}
	return false
}
