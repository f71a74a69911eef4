package reference

import (
	"net/netip"
	"slices"

	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/saisim/drop"
)

// addresses returns the source and destination of a packet.
func (ip *ipHeader) addresses() (src, dst netip.Addr) {
	src, dst = netip.AddrFrom16(ip.src), netip.AddrFrom16(ip.dst)
	if ip.version == 4 {
		src, dst = netip.AddrFrom4([4]byte(ip.src[12:])), netip.AddrFrom4([4]byte(ip.dst[12:]))
	}
	return src, dst
}

// tunnelEnd returns the end of the tunnel in which a packet arrived, if its tunnel ends here.
func (pk *packet) tunnelEnd(vr config.ID) (end config.TunnelEnd, ok bool) {
	ip := pk.h.ip
	direct := pk.data[ip.at+map[int]int{4: 9, 6: 6}[ip.version]] == ip.protocol
	if pk.passage != nil || ip.fragment || !direct || ip.protocol != 4 && ip.protocol != 41 {
		return end, false
	}
	src, dst := ip.addresses()
	for _, from := range []netip.Addr{src, {}} {
		i := slices.IndexFunc(pk.conf.TunnelEnds, func(e config.TunnelEnd) bool {
			return e.Router == vr && e.Dst == dst && e.Src == from
		})
		if i >= 0 {
			return pk.conf.TunnelEnds[i], true
		}
	}
	return end, false
}

// endTunnel removes the outer header of a packet whose tunnel ends here, and routes the inner packet.
func (c *Chip) endTunnel(pk *packet, end config.TunnelEnd) drop.Reason {
	conf := pk.conf
	i := slices.IndexFunc(conf.Tunnels, func(t config.Tunnel) bool { return t.ID == end.Tunnel })
	t := conf.Tunnels[i]
	frame := pk.takenOut(t)
	pk.find(saisim.Finding{Table: saisim.TableTunnel, Hit: frame != nil,
		Prefix: netip.PrefixFrom(end.Dst, end.Dst.BitLen())})
	if frame == nil {
		c.Routing("damaged in a tunnel")
		return drop.Decap
	}
	if c.tunnels[t.ID] == nil {
		c.tunnels[t.ID] = &[2]uint64{}
	}
	c.tunnels[t.ID][0] += uint64(pk.length - pk.grew + fcs)
	c.tunnels[t.ID][1]++
	pk.reframe(frame)
	pk.marks, pk.decapsulated = nil, true
	c.Routing("out of a tunnel")
	overlay := conf.rifs[t.Overlay]
	vr, v4 := conf.routers[overlay.Router], pk.h.ip.version == 4
	if !rifUp(overlay, v4) || v4 && !vr.Up4 || !v4 && !vr.Up6 {
		return drop.RouterDown
	}
	if !routable(pk) {
		return drop.IPHeader
	}
	return c.routeBy(pk, vr.ID)
}

// takenOut returns the frame without its outer header, or nil if that is not possible.
func (pk *packet) takenOut(t config.Tunnel) []byte {
	ip := pk.h.ip
	from := ip.at + ip.head
	etherType := []byte{0x08, 0x00}
	if ip.protocol == 41 {
		etherType = []byte{0x86, 0xdd}
	}
	// The inner packet must fit in the outer one, whatever follows that in the frame.
	end := ip.at + ip.size
	alone := slices.Concat(pk.data[:ip.at-2], etherType, pk.data[from:min(end, len(pk.data))])
	h := parse(alone, ip.at+end-from)
	if h.ip == nil || h.ip.endless {
		return nil
	}
	inner := h.heading()
	if !t.TTLPipe {
		inner.ttl = ip.ttl
	}
	ecn, outer := inner.tos&3, ip.tos&3
	switch {
	case t.CopyECN:
		ecn = outer
	case outer == 3 && ecn == 0:
		return nil
	case outer == 3, outer == 1 && ecn == 2:
		ecn = outer
	}
	if !t.DSCPPipe {
		inner.tos = ip.tos
	}
	inner.tos = inner.tos&^3 | ecn
	frame := slices.Concat(pk.data[:ip.at-2], etherType, pk.data[from:])
	inner.apply(frame, h.ip)
	return frame
}

// TunnelCount returns the bytes and packets that a tunnel has taken out of their outer header.
func (c *Chip) TunnelCount(id config.ID) (bytes, packets uint64) {
	if n := c.tunnels[id]; n != nil {
		return n[0], n[1]
	}
	return 0, 0
}
