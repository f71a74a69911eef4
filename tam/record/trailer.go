package record

import (
	"encoding/binary"
	"fmt"
)

// A Record is the end of a mirrored frame without FCS, after the part of the frame that the mirror session keeps.
// Big-endian:
//
//	bytes  field
//	n      the containers in order, each most significant byte first
//	m      identities, if the session records them: see [IdentityKind]
//	4      switch id
//	4      id of the plan
//	10     ingress time: 48-bit seconds, 32-bit nanoseconds (IEEE 1588)
//	10     time of the record, in the same format
//	2      ingress port: N of EthernetN; 65535 if none
//	2      egress port: N of EthernetN; 65535 for the CPU, or if it was dropped
//	4      length of the frame as received, without FCS
//	1      drop reason by Graph.Reasons; 0 if forwarded
//	1      trap, by Graph.Traps, that stopped the packet or copied it to the CPU;
//	       0 if none
//	1      queue of the egress port, or of the CPU; 255 if it reached none
//	2      ingress port in the numbers of programs: its first lane
//	2      egress port, also by first lane; 65535 for the CPU, or if it was dropped
//	1      m
//	1      n
//	1      0x5C
//	1      version 2 in the high nibble, flags in the low nibble: bit 0 clock not
//	       synchronised, bit 1 identities left out because they did not fit, bit 2 clock
//	       set between the two times; others zero and ignored
//
// Version 1 has neither identities nor the fields between drop reason and n.
//
// IP and transport lengths of the mirrored frame do not cover it. Those of the tunnel do.
type Record struct {
	Bits       []byte // bytes of the containers, n in the layout above
	Identities []byte // encoded identities, m bytes in the layout above
	Switch     uint32
	Plan       uint32
	// Times since 1970, in seconds and nanoseconds.
	In, At         Time
	InPort         uint16
	OutPort        uint16
	Length         uint32
	Why            uint8
	Unsynchronised bool
	ClockSet       bool // true if the clock was set between In and At, so the two cannot be compared
	// Old means version 1, in which the following fields are unknown.
	Old             bool
	Trap            uint8
	Queue           uint8
	InLane, OutLane uint16
	NoRoom          bool // true if identities were left out because they did not fit
}

// A Time is a time of day in the format of IEEE 1588: seconds since 1970 and nanoseconds below 10^9. 48 bits of the
// seconds are encoded.
type Time struct {
	Seconds     uint64
	Nanoseconds uint32
}

// NoPort is the number of a port that is not on the front panel.
const NoPort = 65535

// NoQueue is the queue number of a packet that reached no queue.
const NoQueue = 255

// TailLen is the length of the part after bits and identities, in bytes.
const TailLen = 47

const (
	oldLen  = 40
	mark    = 0x5c
	version = 2
)

// Flags.
const (
	flagUnsynchronised = 1 << iota
	flagNoRoom
	flagClockSet
)

// Len returns the length in bytes of a record with n bytes of containers and no identities.
func Len(n int) int { return n + TailLen }

// Append appends the record to b.
func (r *Record) Append(b []byte) []byte {
	return r.AppendTail(append(append(b, r.Bits...), r.Identities...))
}

// AppendTail appends the part after bits and identities to b.
func (r *Record) AppendTail(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, r.Switch)
	b = binary.BigEndian.AppendUint32(b, r.Plan)
	b = r.In.append(b)
	b = r.At.append(b)
	b = binary.BigEndian.AppendUint16(b, r.InPort)
	b = binary.BigEndian.AppendUint16(b, r.OutPort)
	b = binary.BigEndian.AppendUint32(b, r.Length)
	flags := byte(0)
	if r.Unsynchronised {
		flags = flagUnsynchronised
	}
	if r.ClockSet {
		flags |= flagClockSet
	}
	if r.Old {
		return append(b, r.Why, byte(len(r.Bits)), mark, 1<<4|flags)
	}
	if r.NoRoom {
		flags |= flagNoRoom
	}
	b = append(b, r.Why, r.Trap, r.Queue)
	b = binary.BigEndian.AppendUint16(b, r.InLane)
	b = binary.BigEndian.AppendUint16(b, r.OutLane)
	return append(b, byte(len(r.Identities)), byte(len(r.Bits)), mark, version<<4|flags)
}

func (t Time) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(t.Seconds>>32))
	b = binary.BigEndian.AppendUint32(b, uint32(t.Seconds))
	return binary.BigEndian.AppendUint32(b, t.Nanoseconds)
}

// Decode splits the record from the end of a mirrored frame without FCS. Bits, identities and frame share memory with
// b. An error explains why b does not end with a record, and frame is then all of b.
func Decode(b []byte) (r Record, frame []byte, err error) {
	if len(b) < oldLen {
		return r, b, fmt.Errorf("%d bytes, want at least the %d of a record", len(b), oldLen)
	}
	end := b[len(b)-3:]
	of, tail, m := end[2]>>4, TailLen, 0
	switch {
	case end[1] != mark || of != version && of != 1:
		return r, b, fmt.Errorf("ends with %02x%02x, want %02x1. or %02x%x. as records of versions 1 and %d do",
			end[1], end[2], mark, mark, version, version)
	case of == 1:
		tail = oldLen
	default:
		m = int(b[len(b)-4])
	}
	n := int(end[0])
	if n == 0 || n > MaxBits/8 || n+m+tail > len(b) {
		return r, b, fmt.Errorf("a record of %d bytes, and %d of identities, in a frame of %d", n, m, len(b))
	}
	t := b[len(b)-tail:]
	at := len(b) - tail - m - n
	r = Record{
		Bits:   b[at : at+n],
		Switch: binary.BigEndian.Uint32(t), Plan: binary.BigEndian.Uint32(t[4:]),
		In: readTime(t[8:]), At: readTime(t[18:]),
		InPort: binary.BigEndian.Uint16(t[28:]), OutPort: binary.BigEndian.Uint16(t[30:]),
		Length: binary.BigEndian.Uint32(t[32:]), Why: t[36], Unsynchronised: end[2]&flagUnsynchronised != 0,
		ClockSet: end[2]&flagClockSet != 0, Old: of == 1,
	}
	if !r.Old {
		r.Trap, r.Queue, r.NoRoom = t[37], t[38], end[2]&flagNoRoom != 0
		r.InLane, r.OutLane = binary.BigEndian.Uint16(t[39:]), binary.BigEndian.Uint16(t[41:])
	}
	if m > 0 {
		r.Identities = b[at+n : at+n+m]
	}
	if r.In.Nanoseconds >= 1e9 || r.At.Nanoseconds >= 1e9 {
		return Record{}, b, fmt.Errorf("a time of %d and %d nanoseconds, want less than 10^9",
			r.In.Nanoseconds, r.At.Nanoseconds)
	}
	return r, b[:at], nil
}

func readTime(b []byte) Time {
	return Time{
		Seconds:     uint64(binary.BigEndian.Uint16(b))<<32 | uint64(binary.BigEndian.Uint32(b[2:])),
		Nanoseconds: binary.BigEndian.Uint32(b[6:]),
	}
}

// Put encodes record word w, whose bit 0 is bit 0 of container 0. Each container is encoded most significant byte
// first. dst has c.Bytes() bytes, and c at most 64 bits.
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

// Bit returns bit i of a record, counted as in [Mark]. A bit beyond the containers or beyond bits is not set.
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
