package tailstamp

import (
	"encoding/binary"
	"slices"
	"time"
)

// A Timestamp is a time of day as in IEEE 1588: seconds since 1970-01-01 (48 bits are sent) and nanoseconds below 10^9.
// The zero Timestamp means "not taken".
type Timestamp struct {
	Seconds     uint64
	Nanoseconds uint32
}

// At returns the Timestamp of t, which must not be before 1970.
func At(t time.Time) Timestamp {
	return Timestamp{Seconds: uint64(t.Unix()), Nanoseconds: uint32(t.Nanosecond())}
}

// IsZero reports whether the time was not taken.
func (t Timestamp) IsZero() bool { return t == Timestamp{} }

// Time returns the same instant, in UTC.
func (t Timestamp) Time() time.Time { return time.Unix(int64(t.Seconds), int64(t.Nanoseconds)).UTC() }

// Sub returns t-u, for two times less than 292 years apart.
func (t Timestamp) Sub(u Timestamp) time.Duration {
	return time.Duration(int64(t.Seconds)-int64(u.Seconds))*time.Second +
		time.Duration(int64(t.Nanoseconds)-int64(u.Nanoseconds))
}

// Flags qualify a record's times. Unknown bits are zero and ignored.
type Flags uint8

// The flags of version 1.
const (
	NoEgress       Flags = 1 << 0 // the egress time was not taken
	Unsynchronised Flags = 1 << 1 // the switch's clock was not synchronised
	// ClockSet is for a frame that was in the switch when its clock was set. Its times are of different clocks, so that
	// their difference is not a latency.
	ClockSet Flags = 1 << 2

	allFlags = NoEgress | Unsynchronised | ClockSet
)

// Searched is a flag that only decoders set; no record has it on the wire. A decoder sets it after a search for the
// record. Either other bytes than records lie between the padded datagram and the end of the frame, or bytes of other
// records could also be read as this record.
const Searched Flags = 1 << 7

// These are ports that are not an EthernetN.
const (
	NoPort  uint16 = 65535 // no ingress port
	CPUPort uint16 = 65535 // the CPU as egress port
)

// A Record is the record of one hop for a frame.
type Record struct {
	SwitchID        uint32
	Ingress, Egress Timestamp
	InPort, OutPort uint16 // N of EthernetN
	Flags           Flags
}

// Latency returns the time from arrival to departure. It returns false if one of the two times was not taken, or if the
// clock was set between them.
func (r Record) Latency() (time.Duration, bool) {
	if r.Ingress.IsZero() || r.Egress.IsZero() || r.Flags&(NoEgress|ClockSet) != 0 {
		return 0, false
	}
	return r.Egress.Sub(r.Ingress), true
}

// V1 is the default format, described in the package comment.
type V1 struct{}

// Size is the length of a default record in bytes.
const Size = 32

const (
	mark    = 0x5A
	version = 1 << 4
)

// Append appends the record to dst. It allocates only if dst is full.
func (V1) Append(dst []byte, r Record) []byte {
	n := len(dst)
	dst = slices.Grow(dst, Size)[:n+Size]
	r.Put((*[Size]byte)(dst[n:]))
	return dst
}

// Put writes the default record, in four words for speed: a chip does it for every frame.
func (r *Record) Put(b *[Size]byte) {
	in, out := r.Ingress.Seconds, r.Egress.Seconds
	binary.BigEndian.PutUint64(b[0:], uint64(r.SwitchID)<<32|in<<16>>32)
	binary.BigEndian.PutUint64(b[8:], in<<48|uint64(r.Ingress.Nanoseconds)<<16|out<<16>>48)
	binary.BigEndian.PutUint64(b[16:], out<<32|uint64(r.Egress.Nanoseconds))
	ports := uint64(r.InPort)<<48 | uint64(r.OutPort)<<32
	binary.BigEndian.PutUint64(b[24:], ports|mark<<8|version|uint64(r.Flags&allFlags))
}

// second is the number of nanoseconds of a second.
const second = 1_000_000_000

// Decode returns the record in b, which is exactly Size bytes. It returns false if the mark or the version is wrong, if
// a reserved byte is not zero, or if a time has 10^9 nanoseconds or more.
func (V1) Decode(b []byte) (Record, bool) {
	if len(b) != Size || b[28]|b[29] != 0 || b[30] != mark || b[31]&0xf0 != version {
		return Record{}, false
	}
	r := Record{
		SwitchID: binary.BigEndian.Uint32(b),
		Ingress:  readTime(b[4:]),
		Egress:   readTime(b[14:]),
		InPort:   binary.BigEndian.Uint16(b[24:]),
		OutPort:  binary.BigEndian.Uint16(b[26:]),
		Flags:    Flags(b[31]) & allFlags,
	}
	if r.Ingress.Nanoseconds >= second || r.Egress.Nanoseconds >= second {
		return Record{}, false
	}
	return r, true
}

// Chance is the probability that [V1.Decode] accepts 32 random bytes. Two reserved bytes, the mark and the version are
// 28 bits. Each nanoseconds field has 10^9 valid values out of 2^32.
const Chance = second * second / (float64(1<<28) * (1 << 64))

func readTime(b []byte) Timestamp {
	return Timestamp{
		Seconds:     uint64(binary.BigEndian.Uint16(b))<<32 | uint64(binary.BigEndian.Uint32(b[2:])),
		Nanoseconds: binary.BigEndian.Uint32(b[6:]),
	}
}
