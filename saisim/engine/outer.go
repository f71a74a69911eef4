// # AltMark options that the chip puts around packets
//
// A router must not insert an option into packets that it forwards (RFC 8200, section 4). So an initiator puts an IPv6
// header of its own around them (RFC 9343, section 5, and RFC 2473), and a terminator removes it. An index may have
// such a header ([config.AltMarkOuter]). All of it happens in the ingress ACL stage. All later functions see the packet
// in its new form, with or without the header: routes, the MTU of interfaces, counters and copies.
//
// A profile with Encap is for packets that the chip would route. No program runs, and no trap removes the packet at
// admission. The packet is to the router's MAC address and its IP header is fit to be routed. Its TTL is more than 1,
// and its addresses are not link-local. It is at most 65527 bytes long, and the longest prefix of its destination leads
// neither to the CPU nor nowhere. Its marks are 0 as received. If such a packet's index has a header that does not end
// here:
//
//  1. TTL or hop limit are decremented, as at each router.
//  2. In front of the IP header come 48 bytes. In the IPv6 header, these are the traffic class (the packet's own), flow
//     label 0, the length, next header 60 (or 0, hop-by-hop), the hop limit and the addresses. The hop limit is the one
//     that leaves plus the one that routing subtracts. In the options header, these are the next header, 4 or 41,
//     length 0, and one AltMark option with the FlowMonID, L and D being 0. The frame's bytes after the datagram stay.
//  3. The packet is parsed again, and is then marked as in steps 3 and 4 of alternate marking. The digest is that of
//     the packet with the header. The packet is routed by that header. If it is too long for the router interface or
//     the egress port, it is dropped like any other packet, and counted.
//
// If the index's header ends here, a terminator removes it after reading the marks, under these conditions. No program
// runs, and no trap removes the packet. The packet is to the router's MAC address and has exactly these addresses. Its
// next header is 0 or 60, with options that include the one that was read. The next header there is 4 or 41. The packet
// after it has a complete header and ends where the outer one does. Congestion experienced outside becomes so inside,
// and ECT(1) turns ECT(0) into ECT(1) (RFC 6040, section 4.2). If the inner header has no ECT and the outer one has CE,
// the header is not removed. Marks are not written then.
//
// A packet whose route leads to the CPU may then still have an address where a header ends. It is dropped (decap) if
// the parser has reached protocol 4 or 41, or not got beyond a header of options. It counts as damaged if a terminator
// has not removed its header.
package engine

import (
	"encoding/binary"
	"net/netip"

	"tamtam/saisim/config"
	"tamtam/tam/altmark"
)

// newOuter compiles a row to a header.
func newOuter(r *config.AltMarkOuter) *outer {
	o := &outer{ends: r.Ends, src: wordsOf(r.Src), dst: wordsOf(r.Dst), id: r.FlowMonID}
	h := o.header[:]
	h[0], h[6], h[7] = 6<<4, destOptions, r.HopLimit+1
	if r.HopByHop {
		h[6] = hopByHop
	}
	src, dst := r.Src.As16(), r.Dst.As16()
	copy(h[8:], src[:])
	copy(h[24:], dst[:])
	h[outerIPv6+2], h[outerIPv6+3] = altMarkOption, 4
	binary.BigEndian.PutUint32(h[outerIPv6+4:], r.FlowMonID<<12)
	return o
}

func wordsOf(a netip.Addr) [2]uint64 {
	b := a.As16()
	return [2]uint64{binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:])}
}

// outers holds the headers of indexes.
type outers struct {
	*core
	router   *router
	programs *programs
	of       []*outer // by index; nil if the index has none
	ends     int      // number of indexes whose outer header ends at this switch
}

// apply sets or removes the header of an index.
func (m *outers) apply(r config.AltMarkOuter, gone bool) {
	if more := int(r.Index) + 1 - len(m.of); more > 0 {
		m.of = append(m.of, make([]*outer, more)...)
	}
	if old := m.of[r.Index]; old != nil && old.ends {
		m.ends--
		if m.router.decaps[old.dst]--; m.router.decaps[old.dst] == 0 {
			delete(m.router.decaps, old.dst)
		}
	}
	if m.of[r.Index] = nil; gone {
		return
	}
	o := newOuter(&r)
	if m.of[r.Index] = o; o.ends {
		m.ends++
		m.router.decaps[o.dst]++
	}
}

// outerOf returns the outer header of a flow index, or nil if the index has none.
func (m *outers) outerOf(index int) *outer {
	if index < len(m.of) {
		return m.of[index]
	}
	return nil
}

// wrapped adds the outer header of a flow index to a packet. It returns false if no header was added.
func (m *outers) wrapped(pk *packet, index int, counts *altmark.OuterCounts) bool {
	o := m.outerOf(index)
	if o == nil || o.ends {
		return false
	}
	m.wrap(pk, o, counts)
	return true
}

// unwrapped removes the outer header of a flow index from a packet at a terminator. It returns false if the header is
// still there.
func (m *outers) unwrapped(role altmark.Role, pk *packet, index int, counts *altmark.OuterCounts) bool {
	if m.ends == 0 || role != altmark.Terminator {
		return false
	}
	o := m.outerOf(index)
	return o != nil && o.ends && m.unwrap(pk, o, counts)
}

// atRouter reports whether the router handles a packet, and nothing else affects it.
func (m *outers) atRouter(pk *packet) bool {
	return m.programs.program == nil && pk.act&actDrop == 0 && !pk.barred && pk.router != nil &&
		(pk.h.dmac == pk.router.mac || pk.h.dmac == m.switchMAC && m.switchMAC != 0)
}

// mayWrap reports whether a header may be put around a packet.
func (m *outers) mayWrap(pk *packet) bool {
	h := &pk.h
	if h.flags&flagIP == 0 || !m.atRouter(pk) || h.ttl <= 1 || h.ipLen > mostInner || !h.fitToRoute(pk) || h.onLink() {
		return false
	}
	d := pk.router.vr.lookup(h.dst, h.flags&flagIPv4 != 0)
	return d != nil && d.kind != destCPU && d.act&actDrop == 0
}

// wrap puts the header of an index around a packet.
func (m *outers) wrap(pk *packet, o *outer, counts *altmark.OuterCounts) {
	h := &pk.h
	l3, n, tos, next := int(h.l3), len(pk.data), h.tos, byte(protoIPv6)
	payload := h.ipLen + outerOptions
	pk.keepReceived()
	if ip := pk.data[l3:]; h.flags&flagIPv4 != 0 {
		next = protoIPv4
		decrementTTL(ip)
	} else {
		ip[7]--
	}
	b := roomFor(pk.data, n+outerSize)
	copy(b[l3+outerSize:], b[l3:n])
	copy(b[l3:], o.header[:])
	ip := b[l3:]
	ip[0], ip[1] = 6<<4|tos>>4, tos<<4
	binary.BigEndian.PutUint16(ip[4:], uint16(payload))
	ip[outerIPv6] = next
	binary.BigEndian.PutUint16(b[l3-2:], etherIPv6)
	pk.data, pk.length = b, pk.length+outerSize
	m.meetOuter(pk, o, counts, outerSize)
	counts.Encapsulated++
}

// keepReceived saves the packet's first bytes. It must be called before a header is added or removed.
func (pk *packet) keepReceived() {
	if pk.noted&(notedOuterDone|notedEndDone) == 0 {
		pk.met.outerGrew = 0
		copy(pk.met.outerCame[:], pk.data)
	}
}

// roomFor returns b with length n. It allocates a new array if the capacity is too small.
func roomFor(b []byte, n int) []byte {
	if n <= cap(b) {
		return b[:n]
	}
	more := make([]byte, n, (n+63)&^63) // the packet keeps the new array for later frames
	copy(more, b)
	return more
}

// meetOuter notes the header that was added or removed, and parses the new packet. grew is the number of bytes by which
// the packet grew; zero means that it did not change.
func (m *outers) meetOuter(pk *packet, o *outer, counts *altmark.OuterCounts, grew int) {
	done := grew != 0
	pk.met.outerGrew += int16(grew)
	if done {
		pk.h, pk.untaggedIPv4 = headers{}, false
		pk.h.parse(pk.data, pk.length)
	}
	pk.met.outer, pk.met.outerCounts = o, counts
	if pk.noted |= notedOuter; done {
		pk.noted |= notedOuterDone
	}
	if m.found != nil {
		m.found(pk, o.finding(done))
	}
}

// unwrap removes an outer header that ends at this switch. It returns false if the header is still there.
func (m *outers) unwrap(pk *packet, o *outer, counts *altmark.OuterCounts) bool {
	h := &pk.h
	if h.dst != o.dst || h.src != o.src || !m.atRouter(pk) || !h.fitToRoute(pk) {
		return false
	}
	pk.keepReceived()
	off, next := h.inner(pk.data)
	if off > 0 {
		off = admitECN(pk.data[int(h.l3)+off:], h.tos&3, next == protoIPv4, off)
	}
	if off == 0 {
		if h.encapsulated() {
			counts.Damaged++
			m.meetOuter(pk, o, counts, 0)
		}
		return false
	}
	l3, n := int(h.l3), len(pk.data)
	copy(pk.data[l3:], pk.data[l3+off:])
	etherType := uint16(etherIPv6)
	if next == protoIPv4 {
		etherType = etherIPv4
	}
	binary.BigEndian.PutUint16(pk.data[l3-2:], etherType)
	pk.data, pk.length = pk.data[:n-off], pk.length-off
	m.meetOuter(pk, o, counts, -off)
	counts.Decapsulated++
	return true
}

// admitECN merges the ECN codepoint of the outer header into an inner IP header, and returns off. It returns 0 if that
// is not possible.
func admitECN(ip []byte, outer uint8, v4 bool, off int) int {
	const ect1, ect0, ce = 1, 2, 3
	inner := ip[1] & 3
	if !v4 {
		inner = ip[1] >> 4 & 3
	}
	now := inner
	switch {
	case outer == ce && inner == 0:
		return 0
	case outer == ce:
		now = ce
	case outer == ect1 && inner == ect0:
		now = ect1
	}
	switch {
	case now == inner:
	case v4:
		changeWord(ip, 0, uint16(ip[0])<<8|uint16(ip[1]&^3|now))
	default:
		ip[1] = ip[1]&^0x30 | now<<4
	}
	return off
}
