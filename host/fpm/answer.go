package fpm

import (
	"encoding/binary"
	"net/netip"
)

// Offsets and flags in a message about a route: a struct nlmsghdr, followed by a struct rtmsg.
const (
	flagsAt      = 6
	routeFlagsAt = messageHead + 8
	routeHead    = messageHead + 12

	flagRequest   = 1          // NLM_F_REQUEST: zebra ignores messages without it
	offloaded     = 0x4000     // RTM_F_OFFLOAD
	offloadFailed = 0x20000000 // RTM_F_OFFLOAD_FAILED
)

// Offloaded returns the frame that answers a message about a route, [Route.Raw]: the same message with the flag
// RTM_F_OFFLOAD, which means that the route is in the ASIC.
func Offloaded(raw []byte) []byte { return answer(raw, offloaded) }

// OffloadFailed returns the frame that retracts an answer of [Offloaded]. It has the flag RTM_F_OFFLOAD_FAILED instead.
func OffloadFailed(raw []byte) []byte { return answer(raw, offloadFailed) }

func answer(raw []byte, flag uint32) []byte {
	n := headerLen + aligned(len(raw))
	frame := make([]byte, headerLen, n)
	frame[0], frame[1] = version, typeNetlink
	binary.BigEndian.PutUint16(frame[2:], uint16(n))
	frame = append(frame, raw...)[:n]
	m := frame[headerLen:]
	native.PutUint16(m[flagsAt:], native.Uint16(m[flagsAt:])|flagRequest)
	native.PutUint32(m[routeFlagsAt:], native.Uint32(m[routeFlagsAt:])|flag)
	return frame
}

// Named returns a message, as [Route.Raw], that names a route of the default VRF. It equals the result of [Short], but
// needs no message of the route.
func Named(dest netip.Prefix, protocol uint8) []byte {
	addr, family := dest.Addr().AsSlice(), byte(familyIPv4)
	if dest.Addr().Is6() {
		family = familyIPv6
	}
	m := make([]byte, routeHead+4, routeHead+4+len(addr))
	native.PutUint32(m, uint32(cap(m)))
	native.PutUint16(m[4:], newRoute)
	m[messageHead], m[messageHead+1], m[messageHead+5] = family, byte(dest.Bits()), protocol
	m[messageHead+4], m[messageHead+7] = MainTable, Unicast
	native.PutUint16(m[routeHead:], uint16(4+len(addr)))
	native.PutUint16(m[routeHead+2:], rtaDst)
	return append(m, addr...)
}

// MainTable is the kernel's table of the default VRF, RT_TABLE_MAIN.
const MainTable = 254

// Short returns a message about a route, [Route.Raw], with its destination as the only attribute, as in the answers of
// SONiC's fpmsyncd.
func Short(raw []byte) []byte {
	short := append([]byte(nil), raw[:routeHead]...)
	for rest := raw[routeHead:]; len(rest) >= 4; {
		n := int(native.Uint16(rest))
		if n < 4 || n > len(rest) {
			break
		}
		if native.Uint16(rest[2:]) == rtaDst {
			short = append(short, rest[:n]...)
		}
		rest = rest[min(aligned(n), len(rest)):]
	}
	native.PutUint32(short, uint32(len(short)))
	return short
}
