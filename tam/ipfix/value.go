package ipfix

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"net"
	"net/netip"
	"strconv"
	"time"
	"unicode/utf8"
)

// Raw reports whether the element is known but cannot have this value: the length in the template or the bytes do not
// fit its type. The bytes then have no known meaning, neither as a number nor as text.
func (f *FieldSpec) Raw(b []byte) bool {
	if f.Element == nil {
		return false
	}
	switch t := f.Element.Type; {
	case !t.fits(f.Length):
		return true
	case t == Boolean:
		return b[0] != 1 && b[0] != 2
	case t == String:
		return !utf8.Valid(b)
	}
	return false
}

// Unsigned decodes an unsigned integer. It returns false for more than eight bytes.
func Unsigned(b []byte) (uint64, bool) {
	if len(b) > 8 {
		return 0, false
	}
	v := uint64(0)
	for _, c := range b {
		v = v<<8 | uint64(c)
	}
	return v, true
}

// Signed decodes a signed integer. It returns false for no bytes, or more than eight.
func Signed(b []byte) (int64, bool) {
	v, ok := Unsigned(b)
	if !ok || len(b) == 0 {
		return 0, false
	}
	shift := 64 - 8*len(b)
	return int64(v) << shift >> shift, true
}

// Value returns the value of a field for people and JSON: a number, a bool, or a string. Octets and values of unknown
// elements are hexadecimal digits. A [FieldSpec.Raw] value is written as "0x" and hexadecimal digits. A time is in RFC
// 3339 format, or nil if it is absent.
func (f *FieldSpec) Value(b []byte) any {
	switch {
	case f.Element == nil:
		return hex.EncodeToString(b)
	case f.Raw(b):
		return "0x" + hex.EncodeToString(b)
	}
	switch t := f.Element.Type; t {
	case Unsigned8, Unsigned16, Unsigned32, Unsigned64:
		v, _ := Unsigned(b)
		return v
	case Signed8, Signed16, Signed32, Signed64:
		v, _ := Signed(b)
		return v
	case Float32, Float64:
		return float(b)
	case Boolean:
		return b[0] == 1
	case String:
		return string(b)
	case MACAddress:
		return net.HardwareAddr(b).String()
	case IPv4Address, IPv6Address:
		a, _ := netip.AddrFromSlice(b)
		return a.String()
	case DateTimeSeconds, DateTimeMilliseconds, DateTimeMicroseconds, DateTimeNanoseconds:
		at, ok := readTime(t, b)
		if !ok {
			return nil
		}
		return at.Format(time.RFC3339Nano)
	}
	return hex.EncodeToString(b)
}

// float returns a number, or a string for values that JSON cannot represent.
func float(b []byte) any {
	v := 0.0
	if len(b) == 4 {
		v = float64(math.Float32frombits(binary.BigEndian.Uint32(b)))
	} else {
		v = math.Float64frombits(binary.BigEndian.Uint64(b))
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return v
}

// readTime decodes a time. It returns false for an absent time, or for a time after the year 9999.
func readTime(t Type, b []byte) (time.Time, bool) {
	v, _ := Unsigned(b)
	switch t {
	case DateTimeSeconds:
		return time.Unix(int64(v), 0).UTC(), true
	case DateTimeMilliseconds:
		const most = 253402300799999 // the end of the year 9999
		return time.UnixMilli(int64(v)).UTC(), v <= most
	}
	at, ok := FromNTP(v)
	if t == DateTimeMicroseconds {
		at = at.Round(time.Microsecond)
	}
	return at, ok
}
