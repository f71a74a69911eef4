// # Tunnels that end at the chip
//
// A packet of IP in IP ends here if it reaches a router interface, would be routed, and its addresses are those of a
// tunnel end ([config.TunnelEnd]) in the virtual router of the interface. This is decided before its route. Its outer
// header is IPv4 or IPv6, with protocol 4 or 41 directly behind it, and it is no fragment. An end with its source
// precedes one for all sources. With a program, no packet ends here.
//
// The inner packet must have a complete header, and must not be longer than the outer one has room for. Bytes behind it
// stay in the frame. Its TTL and DSCP become those of the outer header, unless the tunnel is a pipe for them. Its ECN
// codepoint becomes that of the outer header, or both are merged (RFC 6040, section 4.2): a packet without ECN whose
// outer header has congestion experienced is dropped. Then the outer header is removed. Packets that cannot be taken
// out of their outer header are dropped (decap).
//
// All later functions see the inner packet. It is routed in the virtual router of the tunnel's overlay interface, and
// may leave by the interface where it arrived. Ingress ACLs, traffic class and colour are those of the outer header.
package engine

import (
	"encoding/binary"
	"net/netip"

	"tamtam/saisim/config"
	"tamtam/saisim/drop"
)

// A tunnel has the interface where its inner packets continue, and how their headers follow from the outer ones.
type tunnel struct {
	overlay                    *rif
	ttlPipe, dscpPipe, copyECN bool
	counts                     Tally
}

// A tunnelEnd is an address where a tunnel ends.
type tunnelEnd struct {
	key    endKey
	dst    netip.Addr
	tunnel *tunnel
}

// An endKey is what a tunnelEnd matches. src is zero if it is for all sources.
type endKey struct {
	vr       *virtualRouter
	v4       bool
	dst, src [2]uint64
}

// applyTunnel sets or removes a tunnel. One that is removed has no ends.
func (c *router) applyTunnel(r config.Tunnel, gone bool) {
	if gone {
		delete(c.ids, r.ID)
		return
	}
	t := at[*tunnel](c.core, r.ID)
	if t == nil {
		t = &tunnel{overlay: at[*rif](c.core, r.Overlay)}
		c.ids[r.ID] = t
	}
	t.ttlPipe, t.dscpPipe, t.copyECN = r.TTLPipe, r.DSCPPipe, r.CopyECN
}

// applyTunnelEnd adds or removes an end, which never changes.
func (c *router) applyTunnelEnd(r config.TunnelEnd, gone bool) {
	if gone {
		delete(c.ends, at[*tunnelEnd](c.core, r.ID).key)
		delete(c.ids, r.ID)
		return
	}
	e := &tunnelEnd{endKey{at[*virtualRouter](c.core, r.Router), r.Dst.Is4(), wordsOfIP(r.Dst), [2]uint64{}}, r.Dst,
		at[*tunnel](c.core, r.Tunnel)}
	if r.Src.IsValid() {
		e.key.src = wordsOfIP(r.Src)
	}
	c.ids[r.ID], c.ends[e.key] = e, e
}

// wordsOfIP returns an address as the parser does.
func wordsOfIP(a netip.Addr) [2]uint64 {
	w := wordsOf(a)
	if a.Is4() {
		w = [2]uint64{0, w[1] & (1<<32 - 1)}
	}
	return w
}

// TunnelCount returns the packets that a tunnel has taken out of their outer header, with their bytes as received.
func (c *core) TunnelCount(id config.ID) Tally { return at[*tunnel](c, id).counts }

// endOf returns the tunnel end of a packet that is fit to be routed, nil if there is none.
func (c *router) endOf(pk *packet, v4 bool) *tunnelEnd {
	h, next := &pk.h, 6 // offset of the protocol
	if v4 {
		next = 9
	}
	if len(c.ends) == 0 || h.proto != protoIPv4 && h.proto != protoIPv6 || h.flags&flagFragment != 0 ||
		pk.data[int(h.l3)+next] != h.proto || c.programs.program != nil {
		return nil
	}
	k := endKey{pk.router.vr, v4, h.dst, h.src}
	if e := c.ends[k]; e != nil {
		return e
	}
	k.src = [2]uint64{}
	return c.ends[k]
}

// end takes a packet out of its outer header, and routes it.
func (c *router) end(pk *packet, e *tunnelEnd) drop.Reason {
	t := e.tunnel
	taken := pk.takeOut(t)
	pk.met.end = e
	if pk.noted |= notedEnd; taken {
		pk.noted |= notedEndDone
	}
	if c.found != nil {
		c.found(pk, Finding{Table: TableTunnel, Hit: taken, Prefix: hostPrefix(e.dst)})
	}
	if !taken {
		return drop.Decap
	}
	t.counts.Packets++
	_, n := pk.received()
	t.counts.Bytes += uint64(n + fcsLen)
	v4 := pk.h.flags&flagIPv4 != 0
	switch o := t.overlay; {
	case !o.up(v4) || !o.vr.up(v4):
		return drop.RouterDown
	case !pk.h.fitToRoute(pk):
		return drop.IPHeader
	default:
		return c.byRoute(pk, o.vr, v4)
	}
}

// takeOut removes the outer header of a packet. It returns false, without any effect, if that is not possible.
func (pk *packet) takeOut(t *tunnel) bool {
	h := &pk.h
	l3, off, v4 := int(h.l3), outerIPv6, h.proto == protoIPv4
	if h.flags&flagIPv4 != 0 {
		off = int(pk.data[l3]&15) * 4
	}
	var x headers
	ip, left, etherType := h.datagram(pk.data)[off:], int(h.ipLen)-off, uint16(etherIPv6)
	if v4 {
		etherType = etherIPv4
		x.parseIPv4(ip, left)
	} else {
		x.parseIPv6(ip, left)
	}
	if x.flags&(flagIP|flagNoLength) != flagIP {
		return false
	}
	pk.keepReceived()
	if !t.copyECN && admitECN(ip, h.tos&3, v4, off) == 0 {
		return false
	}
	x.merge(ip, h, t, v4)
	grown := pk.met.outerGrew - int16(off)
	copy(pk.data[l3:], pk.data[l3+off:])
	binary.BigEndian.PutUint16(pk.data[l3-2:], etherType)
	pk.data, pk.length = pk.data[:len(pk.data)-off], pk.length-off
	pk.h, pk.untaggedIPv4 = headers{}, false
	pk.h.parse(pk.data, pk.length)
	pk.met.outerGrew, pk.edit.marks = grown, marks{} // marks were for the outer header
	return true
}

// merge writes the fields of the outer header h that a tunnel copies into an inner IP header.
func (x *headers) merge(ip []byte, h *headers, t *tunnel, v4 bool) {
	tos, ttl := x.tos, h.ttl
	if !t.dscpPipe {
		tos = h.tos&^3 | tos&3
	}
	if t.copyECN {
		tos = tos&^3 | h.tos&3
	} else if v4 {
		tos = tos&^3 | ip[1]&3 // merged
	} else {
		tos = tos&^3 | ip[1]>>4&3
	}
	if t.ttlPipe {
		ttl = x.ttl
	}
	if v4 {
		changeWord(ip, 0, uint16(ip[0])<<8|uint16(tos))
		changeWord(ip, 8, uint16(ttl)<<8|uint16(ip[9]))
		return
	}
	ip[0], ip[1], ip[7] = ip[0]&0xf0|tos>>4, tos<<4|ip[1]&0xf, ttl
}
