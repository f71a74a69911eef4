package flymon

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"net/netip"
	"strconv"
	"strings"
)

// Words is the length of a [Vector] in words.
const Words = 6

// A Vector is a candidate key: addresses in words 0 to 3, ports, protocol and version in word 4, the time in word 5.
type Vector [Words]uint64

// A Key is a mask of the candidate key: the bits that distinguish flows.
type Key Vector

const versionMask = 0xff << 16

// A part is a field of the candidate key.
type part struct {
	name        string
	word, shift uint8
	width       uint8 // number of bits; addresses have 128, in two words
}

func parts() []part {
	return []part{
		{"src-ip", 0, 0, 128}, {"dst-ip", 2, 0, 128}, {"src-port", 4, 48, 16}, {"dst-port", 4, 32, 16},
		{"protocol", 4, 24, 8}, {"timestamp", 5, 0, 64},
	}
}

// shorthands returns abbreviations for common keys.
func shorthands() map[string]string {
	return map[string]string{"ip-pair": "src-ip,dst-ip", "5-tuple": "src-ip,dst-ip,src-port,dst-port,protocol"}
}

// KeyWords describes the syntax of a key.
const KeyWords = `"none", "5-tuple", "ip-pair", or fields with commas between: ` +
	`src-ip, dst-ip, src-port, dst-port, protocol, timestamp, ` +
	`each whole, with a prefix (src-ip/24) or with a mask (src-port&0xff00)`

// Make returns the vector of a packet. ns is the time of day in nanoseconds since 1970. An invalid address means that
// the packet has none. The IP version is that of src. An IPv4 address must not have the form ::ffff:a.b.c.d.
func Make(src, dst netip.Addr, sport, dport uint16, protocol uint8, ns uint64) Vector {
	v := Vector{4: uint64(sport)<<48 | uint64(dport)<<32 | uint64(protocol)<<24, 5: ns}
	v[0], v[1] = address(src)
	v[2], v[3] = address(dst)
	switch {
	case src.Is4():
		v[4] |= 4 << 16
	case src.Is6():
		v[4] |= 6 << 16
	}
	return v
}

func address(a netip.Addr) (hi, lo uint64) {
	switch {
	case a.Is4():
		b := a.As4()
		return uint64(binary.BigEndian.Uint32(b[:])) << 32, 0
	case a.Is6():
		b := a.As16()
		return binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:])
	}
	return 0, 0
}

// Version returns the IP version: 4, 6, or 0 for a packet without IP.
func (v *Vector) Version() uint8 { return uint8(v[4] >> 16) }

// And returns the vector's bits that are in the key.
func (v Vector) And(k Key) Vector {
	for i := range v {
		v[i] &= k[i]
	}
	return v
}

// Or returns the union of both keys' bits.
func (k Key) Or(o Key) Key {
	for i := range k {
		k[i] |= o[i]
	}
	return k
}

// Xor returns the bits that are in exactly one of the keys.
func (k Key) Xor(o Key) Key {
	for i := range k {
		k[i] ^= o[i]
	}
	return k
}

// IsZero reports whether the key is empty, so that all packets are one flow.
func (k Key) IsZero() bool { return k == Key{} }

// ParseKey parses a key in the syntax of [KeyWords]. The key "none" is zero. An error names the field and what would be
// valid. A field may occur only once.
func ParseKey(s string) (Key, error) {
	if long, ok := shorthands()[s]; ok {
		s = long
	}
	var k Key
	if s == "none" {
		return k, nil
	}
	for item := range strings.SplitSeq(s, ",") {
		one, err := parseItem(strings.TrimSpace(item))
		if err != nil {
			return Key{}, err
		}
		for i := range k {
			if k[i]&one[i]&^versionMask != 0 || i != 4 && k[i]&one[i] != 0 {
				return Key{}, fmt.Errorf("key %q has a field twice", s)
			}
		}
		k = k.Or(one)
	}
	return k, nil
}

func parseItem(item string) (k Key, err error) {
	end := strings.IndexAny(item, "/&")
	name := item
	if end >= 0 {
		name = item[:end]
	}
	for _, p := range parts() {
		if p.name != name {
			continue
		}
		mask := [2]uint64{^uint64(0), ^uint64(0)} // left-aligned
		switch {
		case end < 0:
		case item[end] == '/':
			n, err := strconv.ParseUint(item[end+1:], 10, 8)
			if err != nil || n == 0 || n > uint64(p.width) {
				return k, fmt.Errorf("%q: prefix %q, want 1 to %d", item, item[end+1:], p.width)
			}
			mask = prefix(uint8(n))
		default:
			if mask, err = parseMask(p, item[end+1:]); err != nil {
				return k, fmt.Errorf("%q: %w", item, err)
			}
		}
		k.put(p, mask)
		return k, nil
	}
	return k, fmt.Errorf("key field %q, want %s", item, KeyWords)
}

// put sets a field of the key to a left-aligned mask.
func (k *Key) put(p part, mask [2]uint64) {
	if p.width == 128 {
		k[p.word], k[p.word+1] = mask[0], mask[1]
		if mask != ([2]uint64{}) {
			k[4] |= versionMask
		}
		return
	}
	k[p.word] |= mask[0] >> (64 - p.width) << p.shift
}

// get returns the left-aligned mask of a field.
func (k *Key) get(p part) [2]uint64 {
	if p.width == 128 {
		return [2]uint64{k[p.word], k[p.word+1]}
	}
	return [2]uint64{k[p.word] >> p.shift << (64 - p.width)}
}

func prefix(n uint8) (m [2]uint64) {
	for i := range m {
		here := min(n, 64)
		if here > 0 {
			m[i] = ^uint64(0) << (64 - here)
		}
		n -= here
	}
	return m
}

// parseMask parses a hexadecimal mask. The mask of an address has 8 digits for its first 32 bits, which is all of IPv4,
// or 32 digits.
func parseMask(p part, s string) (m [2]uint64, err error) {
	digits, ok := strings.CutPrefix(s, "0x")
	want := int(p.width) / 4
	if !ok || len(digits) != want && (p.width != 128 || len(digits) != 8) {
		return m, fmt.Errorf("mask %q, want 0x and %d hexadecimal digits", s, want)
	}
	for i, c := range digits {
		n, err := strconv.ParseUint(string(c), 16, 4)
		if err != nil {
			return m, fmt.Errorf("mask %q, want 0x and %d hexadecimal digits", s, want)
		}
		m[i/16] |= n << (60 - 4*(i%16))
	}
	if m == ([2]uint64{}) {
		return m, errors.New("the mask is 0, want one with bits")
	}
	return m, nil
}

// String returns the key in the syntax of ParseKey.
func (k Key) String() string {
	var items []string
	for _, p := range parts() {
		m := k.get(p)
		if m == ([2]uint64{}) {
			continue
		}
		n := uint8(bits.LeadingZeros64(^m[0]))
		if n == 64 {
			n += uint8(bits.LeadingZeros64(^m[1]))
		}
		switch whole := prefix(n); {
		case whole != m && p.width == 128:
			items = append(items, fmt.Sprintf("%s&0x%016x%016x", p.name, m[0], m[1]))
		case whole != m:
			items = append(items, fmt.Sprintf("%s&0x%0*x", p.name, p.width/4, m[0]>>(64-p.width)))
		case n >= p.width:
			items = append(items, p.name)
		default:
			items = append(items, fmt.Sprintf("%s/%d", p.name, n))
		}
	}
	if len(items) == 0 {
		return "none"
	}
	s := strings.Join(items, ",")
	for short, long := range shorthands() {
		if s == long {
			return short
		}
	}
	return s
}

// MarshalText returns the text of String.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText parses a key as ParseKey does.
func (k *Key) UnmarshalText(b []byte) (err error) {
	*k, err = ParseKey(string(b))
	return err
}

// Flow parses the values of a key's fields, in the order of String and separated by commas. For example, 10.0.0.1,443
// is a flow of the key src-ip,dst-port. A key without addresses may include the IP version, which is ignored. An error
// names the field with a missing or invalid value.
func (k Key) Flow(s string) (Vector, error) {
	values := strings.Split(s, ",")
	var v Vector
	i, version := 0, uint64(0)
	for _, p := range parts() {
		if k.get(p) == ([2]uint64{}) {
			continue
		}
		if i >= len(values) {
			return Vector{}, fmt.Errorf("flow %q, want a value for each of %s", s, k)
		}
		text := strings.TrimSpace(values[i])
		i++
		if p.width == 128 {
			a, err := netip.ParseAddr(text)
			if err != nil || a.Zone() != "" {
				return Vector{}, fmt.Errorf("flow %q: %s %q, want an IP address", s, p.name, text)
			}
			a = a.Unmap()
			v[p.word], v[p.word+1] = address(a)
			this := uint64(4)
			if a.Is6() {
				this = 6
			}
			if version != 0 && version != this {
				return Vector{}, fmt.Errorf("flow %q: addresses of IPv4 and of IPv6, want both of one", s)
			}
			version = this
			continue
		}
		n, err := strconv.ParseUint(text, 0, int(p.width))
		if err != nil {
			return Vector{}, fmt.Errorf("flow %q: %s %q, want a number of %d bits", s, p.name, text, p.width)
		}
		v[p.word] |= n << p.shift
	}
	if i != len(values) || s == "" {
		return Vector{}, fmt.Errorf("flow %q, want a value for each of %s", s, k)
	}
	v[4] |= version << 16
	return v.And(k), nil
}

// Format returns a vector in the syntax of Flow.
func (k Key) Format(v Vector) string {
	var items []string
	v = v.And(k)
	for _, p := range parts() {
		if k.get(p) == ([2]uint64{}) {
			continue
		}
		if p.width != 128 {
			items = append(items, strconv.FormatUint(v[p.word]>>p.shift&(1<<p.width-1), 10))
			continue
		}
		var b [16]byte
		binary.BigEndian.PutUint64(b[:], v[p.word])
		binary.BigEndian.PutUint64(b[8:], v[p.word+1])
		if v.Version() == 6 {
			items = append(items, netip.AddrFrom16(b).String())
		} else {
			items = append(items, netip.AddrFrom4([4]byte(b[:4])).String())
		}
	}
	return strings.Join(items, ",")
}
