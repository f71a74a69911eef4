package fpm

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// native is the byte order of netlink: that of the host, which is zebra's, too.
var native = binary.NativeEndian

func aligned(n int) int { return (n + align - 1) &^ (align - 1) }

// messageHead is the length of a struct nlmsghdr.
const messageHead = 16

// nextMessage splits off the first message: its type and the body after its header, a struct nlmsghdr.
func nextMessage(b []byte) (kind uint16, body, rest []byte, err error) {
	const head = messageHead
	if len(b) < head {
		return 0, nil, nil, fmt.Errorf("%d bytes behind the last message, want none, or %d or more", len(b), head)
	}
	n := native.Uint32(b)
	if n < head || n > uint32(len(b)) {
		return 0, nil, nil, fmt.Errorf("a message of %d bytes, want %d to %d", n, head, len(b))
	}
	return native.Uint16(b[4:]), b[head:n], b[min(aligned(int(n)), len(b)):], nil
}

// attributes calls f with each attribute, a struct rtattr, until it fails.
func attributes(b []byte, f func(kind uint16, value []byte) error) error {
	const (
		head  = 4
		flags = 0xc000 // mask: flags nested, and network byte order
	)
	for len(b) >= head {
		n := int(native.Uint16(b))
		kind := native.Uint16(b[2:]) &^ flags
		if n < head || n > len(b) {
			return fmt.Errorf("attribute %d of %d bytes, want %d to %d", kind, n, head, len(b))
		}
		if err := f(kind, b[head:n]); err != nil {
			return err
		}
		b = b[min(aligned(n), len(b)):]
	}
	return nil
}

func number(what string, v []byte) (uint32, error) {
	if len(v) != 4 {
		return 0, fmt.Errorf("%s of %d bytes, want 4", what, len(v))
	}
	return native.Uint32(v), nil
}

func address(what string, family uint8, v []byte) (netip.Addr, error) {
	want := unspecified(family)
	if a, ok := netip.AddrFromSlice(v); ok && a.BitLen() == want.BitLen() {
		return a, nil
	}
	return want, fmt.Errorf("%s of %d bytes, want %d", what, len(v), want.BitLen()/8)
}

// via reads a struct rtvia: a gateway of another family than the route's.
func via(v []byte) (netip.Addr, error) {
	const head = 2
	if len(v) < head {
		return netip.Addr{}, fmt.Errorf("gateway of another family of %d bytes, want %d or more", len(v), head)
	}
	family := native.Uint16(v)
	if family != familyIPv4 && family != familyIPv6 {
		return netip.Addr{}, fmt.Errorf("gateway of family %d, want %d or %d", family, familyIPv4, familyIPv6)
	}
	return address("gateway", uint8(family), v[head:])
}

// unspecified returns the unspecified address of the family, that of IPv6 for an unknown family.
func unspecified(family uint8) netip.Addr {
	if family == familyIPv4 {
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}
