package ipfix

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"net/netip"
	"time"
)

// A Kind is a kind of record: its fields in the order of the wire.
type Kind struct {
	Name   string
	Scope  int // how many of the first fields are scope: not 0 for records of options
	Fields []Field
}

// maxGroups bounds the groups of a kind, which has a template for each set of groups that comes.
const maxGroups = 10

// A Field is one of a kind.
type Field struct {
	*Element
	// Group is 0 for what every record has. Fields with the same other number, up to maxGroups, are known together
	// or not.
	Group uint8
	// Length is that on the wire, in bytes, where it is less than the type's (RFC 7011, section 6.2); 0: the type's.
	Length uint16
}

// width is the length of the field in its template.
func (f *Field) width() uint16 {
	if f.Length > 0 {
		return f.Length
	}
	return f.Size()
}

// groups is the greatest group of the kind.
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

// A Value is that of a field. The zero one is zero, or empty.
type Value struct {
	n, m  uint64 // m: the second half of an IPv6 address
	text  string
	bytes []byte
}

// Uint is an unsigned integer, or a time as 64 bits.
func Uint(v uint64) Value { return Value{n: v} }

// Int is a signed integer.
func Int(v int64) Value { return Value{n: uint64(v)} }

// Bool is a boolean.
func Bool(v bool) Value {
	if v {
		return Value{n: 1}
	}
	return Value{n: 2}
}

// Text is a string.
func Text(s string) Value { return Value{text: s} }

// Bytes are octets; they are read when the record is added, and not kept.
func Bytes(b []byte) Value { return Value{bytes: b} }

// Addr is an address of IPv4, or of IPv6 without its zone.
func Addr(a netip.Addr) Value {
	if a.Is4() {
		b := a.As4()
		return Value{n: uint64(binary.BigEndian.Uint32(b[:]))}
	}
	b := a.As16()
	return Value{n: binary.BigEndian.Uint64(b[:8]), m: binary.BigEndian.Uint64(b[8:])}
}

// A Record is one of a kind. It can be filled again for the next.
type Record struct {
	known  uint16 // groups, bit 0 is group 1
	values []Value
}

// NewRecord returns a record of a kind, of which nothing is known.
func (k *Kind) NewRecord() *Record { return &Record{values: make([]Value, len(k.Fields))} }

// Clear forgets everything.
func (r *Record) Clear() {
	r.known = 0
	clear(r.values)
}

// Set sets field i.
func (r *Record) Set(i int, v Value) { r.values[i] = v }

// Know says that the fields of a group are known.
func (r *Record) Know(group uint8) { r.known |= 1 << (group - 1) }

// has reports whether a record with these groups has the field.
func (f *Field) has(known uint16) bool { return f.Group == 0 || known>>(f.Group-1)&1 != 0 }

// size is how many bytes a value of a field takes.
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

// put appends a value, whose size is as the template says.
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

// invalid says what is wrong with a value: it is cut by its field, or none of its type. "": nothing.
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

// Milli is a time in milliseconds since 1970, as dateTimeMilliseconds is on the wire; false for one before 1970.
func Milli(t time.Time) (Value, bool) {
	ms := t.UnixMilli()
	return Uint(uint64(ms)), ms >= 0
}
