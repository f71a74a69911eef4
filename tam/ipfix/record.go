package ipfix

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"net/netip"
	"time"
)

// A Kind is a record type: its fields in wire order.
type Kind struct {
	Name   string
	Scope  int // the number of leading scope fields; positive for options records
	Fields []Field
}

// maxGroups is the maximum number of groups of a kind, which needs a template for each set of groups that occurs.
const maxGroups = 10

// A Field is a field of a kind.
type Field struct {
	*Element
	// Group is zero for fields that every record has. Fields with the same other number, up to maxGroups, are either
	// all known or all unknown.
	Group uint8
	// Length is the encoded length in bytes if it is less than the type's (RFC 7011, section 6.2). Zero means the
	// type's length.
	Length uint16
}

// width returns the length of the field in its template.
func (f *Field) width() uint16 {
	if f.Length > 0 {
		return f.Length
	}
	return f.Size()
}

// groups returns the greatest group number of the kind.
func (k *Kind) groups() int {
	most := 0
	for _, f := range k.Fields {
		most = max(most, int(f.Group))
	}
	return most
}

func (k *Kind) check() error {
	if len(k.Fields) == 0 || k.Scope > len(k.Fields) || k.Scope < 0 {
		return fmt.Errorf("ipfix: kind %s: %d fields, %d of scope: want one or more, and no more of scope",
			k.Name, len(k.Fields), k.Scope)
	}
	for i, f := range k.Fields {
		if f.Group > maxGroups || i < k.Scope && f.Group != 0 {
			return fmt.Errorf("ipfix: kind %s: %s is in group %d, want 0 to %d, and 0 for scope",
				k.Name, f.Name, f.Group, maxGroups)
		}
	}
	for _, f := range k.Fields {
		if f.Length > 0 && (!f.Type.fits(f.Length) || f.width() > 8) {
			return fmt.Errorf("ipfix: kind %s: %s has a length of %d, want less than its type's, or 0",
				k.Name, f.Name, f.Length)
		}
	}
	if k.Fields[0].Group != 0 {
		return fmt.Errorf("ipfix: kind %s: %s, its first field, is in group %d, want 0: a record has a field",
			k.Name, k.Fields[0].Name, k.Fields[0].Group)
	}
	return nil
}

// A Value is the value of a field. The zero Value is zero, or empty.
type Value struct {
	n, m  uint64 // m is the second half of an IPv6 address
	text  string
	bytes []byte
}

// Uint returns the value of an unsigned integer, or of a time in 64 bits.
func Uint(v uint64) Value { return Value{n: v} }

// Int returns the value of a signed integer.
func Int(v int64) Value { return Value{n: uint64(v)} }

// Bool returns the value of a boolean.
func Bool(v bool) Value {
	if v {
		return Value{n: 1}
	}
	return Value{n: 2}
}

// Text returns the value of a string.
func Text(s string) Value { return Value{text: s} }

// Bytes returns the value of an octet array. The bytes are read when the record is added, and not retained.
func Bytes(b []byte) Value { return Value{bytes: b} }

// Addr returns the value of an IPv4 address, or of an IPv6 address without its zone.
func Addr(a netip.Addr) Value {
	if a.Is4() {
		b := a.As4()
		return Value{n: uint64(binary.BigEndian.Uint32(b[:]))}
	}
	b := a.As16()
	return Value{n: binary.BigEndian.Uint64(b[:8]), m: binary.BigEndian.Uint64(b[8:])}
}

// A Record is a record of a kind. It can be reused.
type Record struct {
	known  uint16 // bit set of known groups; bit 0 is group 1
	values []Value
}

// NewRecord returns a record of the kind with no group known.
func (k *Kind) NewRecord() *Record { return &Record{values: make([]Value, len(k.Fields))} }

// Clear makes all groups unknown and all values zero.
func (r *Record) Clear() {
	r.known = 0
	clear(r.values)
}

// Set sets the value of field i.
func (r *Record) Set(i int, v Value) { r.values[i] = v }

// Know marks the fields of a group as known.
func (r *Record) Know(group uint8) { r.known |= 1 << (group - 1) }

// has reports whether a record with these groups contains the field.
func (f *Field) has(known uint16) bool { return f.Group == 0 || known>>(f.Group-1)&1 != 0 }

// size returns the encoded size of a value of the field in bytes.
func (f *Field) size(v *Value) int {
	if n := f.width(); n != Variable {
		return int(n)
	}
	n := len(v.text) + len(v.bytes)
	if n < 255 {
		return 1 + n
	}
	return 3 + n
}

// put appends a value in the size that the template declares.
func (f *Field) put(b []byte, v *Value) []byte {
	switch n := f.width(); n {
	case Variable:
		return putVariable(b, v)
	case 8:
		return binary.BigEndian.AppendUint64(b, v.n)
	case 16:
		return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, v.n), v.m)
	default:
		for n--; n > 0; n-- {
			b = append(b, byte(v.n>>(8*n)))
		}
		return append(b, byte(v.n))
	}
}

func putVariable(b []byte, v *Value) []byte {
	n := len(v.text) + len(v.bytes)
	if n < 255 {
		b = append(b, byte(n))
	} else {
		b = append(b, 255, byte(n>>8), byte(n))
	}
	return append(append(b, v.text...), v.bytes...)
}

// invalid returns why a value does not fit the field or its type, or "" if it is valid.
func (f *Field) invalid(v *Value) string {
	switch f.Type {
	case Unsigned8, Unsigned16, Unsigned32, Unsigned64, DateTimeSeconds, IPv4Address, MACAddress:
		if width := 8 * int(f.width()); bits.Len64(v.n) > width {
			return fmt.Sprintf("%d, want at most %d bits", v.n, width)
		}
	case Signed8, Signed16, Signed32, Signed64:
		if shift := 64 - 8*int(f.width()); int64(v.n)<<shift>>shift != int64(v.n) {
			return fmt.Sprintf("%d, want a value of %d bytes", int64(v.n), f.width())
		}
	case Boolean:
		if v.n != 1 && v.n != 2 {
			return fmt.Sprintf("%d, want 1 or 2", v.n)
		}
	case OctetArray, String:
		if n := len(v.text) + len(v.bytes); n > math.MaxUint16 {
			return fmt.Sprintf("%d bytes, want at most %d", n, math.MaxUint16)
		}
	}
	return ""
}

// Milli returns a time in milliseconds since 1970, as in dateTimeMilliseconds. It returns false for a time before 1970.
func Milli(t time.Time) (Value, bool) {
	ms := t.UnixMilli()
	return Uint(uint64(ms)), ms >= 0
}
