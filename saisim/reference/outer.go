package reference

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"tamtam/saisim"
	"tamtam/saisim/config"
)

// These constants index the counters of packets of a flow that get an outer header, or from which it is removed.
const (
	outerPut = iota
	outerRemoved
	outerTooLong
	outerDamaged
	outerWords
)

// A wrapping holds the counters for a header that was added to a packet.
type wrapping struct{ counts *[outerWords]uint64 }

func (f *flow) outerCounts() *[outerWords]uint64 {
	if f.outer == nil {
		f.outer = &[outerWords]uint64{}
	}
	return f.outer
}

// OuterWindow returns the register read of a flow index for the outer header. It counts packets that got the header,
// lost it, or were dropped because they were too long with it. The last count is of packets that kept it because
// headers were damaged.
func (c *Chip) OuterWindow(index uint32) []uint64 { return c.flow(index).outerCounts()[:] }

// toRouter reports whether a packet is to the MAC address of its router interface, or of the switch.
func (pk *packet) toRouter() bool {
	r, ok := pk.conf.rifs[pk.router]
	own := mac(pk.conf.Switch.MAC[:])
	return ok && (pk.h.dmac == mac(r.MAC[:]) || own != 0 && pk.h.dmac == own)
}

// ofRouter reports whether only the router handles a packet.
func (pk *packet) ofRouter() bool {
	return pk.passage == nil && !pk.effects.drop && pk.admitted && pk.toRouter() && routable(pk)
}

// mayWrap reports whether a packet can get an outer header.
func (pk *packet) mayWrap() bool {
	ip := pk.h.ip
	if ip == nil || !pk.ofRouter() || ofOneLink(pk) || ip.ttl <= 1 || 8+ip.size > 65535 {
		return false
	}
	dst := netip.AddrFrom16(ip.dst)
	if ip.version == 4 {
		dst = netip.AddrFrom4([4]byte(ip.dst[12:]))
	}
	r, found := pk.conf.longestPrefix(pk.conf.rifs[pk.router].Router, dst)
	return found && r.NextHop != pk.conf.Switch.CPU && !doesOf(r.Action).drop
}

// outerOf returns the outer header of a flow index.
func (conf *settings) outerOf(index uint32) (config.AltMarkOuter, bool) {
	i := slices.IndexFunc(conf.AltMarkOuters, func(r config.AltMarkOuter) bool { return r.Index == index })
	if i < 0 {
		return config.AltMarkOuter{}, false
	}
	return conf.AltMarkOuters[i], true
}

// wrap puts an outer header around a packet.
func (c *Chip) wrap(pk *packet, r config.AltMarkOuter, counts *[outerWords]uint64) {
	ip := pk.h.ip
	frame := slices.Clone(pk.data)
	inner := pk.h.heading()
	inner.ttl--
	inner.apply(frame, ip)
	first, next := byte(60), map[int]byte{4: 4, 6: 41}[ip.version]
	if r.HopByHop {
		first = 0
	}
	src, dst := r.Src.As16(), r.Dst.As16()
	header := binary.BigEndian.AppendUint32(nil, 6<<28|uint32(ip.tos)<<20)
	header = binary.BigEndian.AppendUint16(header, uint16(8+ip.size))
	header = slices.Concat(header, []byte{first, r.HopLimit + 1}, src[:], dst[:], []byte{next, 0, 0x12, 4})
	header = binary.BigEndian.AppendUint32(header, r.FlowMonID<<12)
	pk.reframe(slices.Concat(frame[:ip.at-2], []byte{0x86, 0xdd}, header, frame[ip.at:]))
	pk.wrapping = &wrapping{counts}
	counts[outerPut]++
	pk.findOuter(saisim.TableEncap, r, true)
}

// reframe replaces the frame of a packet. The packet stays truncated by as much as before.
func (pk *packet) reframe(frame []byte) {
	if pk.grew == 0 {
		pk.received = pk.data
	}
	pk.grew += len(frame) - len(pk.data)
	pk.length += len(frame) - len(pk.data)
	pk.data = frame
	pk.h = parse(pk.data, pk.length)
}

func (pk *packet) findOuter(table string, r config.AltMarkOuter, done bool) {
	pk.find(saisim.Finding{Table: table, Hit: done, Prefix: netip.PrefixFrom(r.Dst, 128), Number: r.FlowMonID})
}

// unwrap removes an outer header that ends at this switch. It returns false if the header is still there.
func (c *Chip) unwrap(pk *packet, r config.AltMarkOuter, counts *[outerWords]uint64) bool {
	ip := pk.h.ip
	if ip.src != r.Src.As16() || ip.dst != r.Dst.As16() || ip.version != 6 || !pk.ofRouter() {
		return false
	}
	from, ok := pk.inner()
	var frame []byte
	if ok {
		frame, ok = pk.without(from)
	}
	if !ok {
		if pk.h.encapsulated() {
			counts[outerDamaged]++
			pk.findOuter(saisim.TableDecap, r, false)
		}
		return false
	}
	pk.reframe(frame)
	counts[outerRemoved]++
	pk.findOuter(saisim.TableDecap, r, true)
	return true
}

// inner returns where in the frame the IP packet inside an IPv6 packet begins.
func (pk *packet) inner() (from int, ok bool) {
	ip := pk.h.ip
	end := min(len(pk.data), ip.at+ip.size)
	b := pk.data[ip.at:end]
	if len(b) < 48 || b[6] != 0 && b[6] != 60 {
		return 0, false
	}
	size := 8 * (1 + int(b[41]))
	if option := ip.altMark - ip.at; option < 40 || option >= 40+size || len(b) < 40+size {
		return 0, false
	}
	rest, whole := b[40+size:], ip.size-40-size
	switch {
	case b[40] == 4 && len(rest) >= 20:
		head, says := 4*int(rest[0]&15), int(word(rest, 2))
		ok = rest[0]>>4 == 4 && head >= 20 && head <= len(rest) && head <= says && says == whole
	case b[40] == 41 && len(rest) >= 40:
		ok = rest[0]>>4 == 6 && 40+int(word(rest, 4)) == whole && (whole > 40 || rest[6] == 59)
	}
	return ip.at + 40 + size, ok
}

// without returns the frame without the header in front of the IP packet that begins at from. It returns false if the
// inner header cannot carry the congestion mark of the outer one.
func (pk *packet) without(from int) ([]byte, bool) {
	ip := pk.h.ip
	etherType := []byte{0x08, 0x00}
	if pk.data[from]>>4 == 6 {
		etherType = []byte{0x86, 0xdd}
	}
	frame := slices.Concat(pk.data[:ip.at-2], etherType, pk.data[from:])
	h := parse(frame, pk.length-(from-ip.at))
	f := h.heading()
	switch outer, inner := ip.tos&3, f.tos&3; {
	case outer == 3 && inner == 0:
		return nil, false
	case outer == 3, outer == 1 && inner == 2:
		f.tos = f.tos&^3 | outer
	}
	f.apply(frame, h.ip)
	return frame, true
}

// encapsulated reports whether a packet contains another packet, or a damaged header.
func (h *headers) encapsulated() bool {
	return h.ip.version == 6 && slices.Contains([]uint8{0, 4, 41, 60}, h.ip.protocol)
}

// endsUntaken reports whether a packet for the CPU still has an outer header that should have been removed.
func (pk *packet) endsUntaken() bool {
	return pk.h.encapsulated() && slices.ContainsFunc(pk.conf.AltMarkOuters, func(r config.AltMarkOuter) bool {
		return r.Ends && r.Dst.As16() == pk.h.ip.dst
	})
}

// tooLong counts a packet that is too long with its outer header.
func (pk *packet) tooLong() {
	if pk.wrapping != nil {
		pk.wrapping.counts[outerTooLong]++
	}
}
