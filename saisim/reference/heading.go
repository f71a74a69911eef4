package reference

import (
	"encoding/binary"

	"tamtam/saisim"
	"tamtam/saisim/tailstamp"
)

// A heading holds the header fields that the chip can change.
type heading struct {
	dmac, smac uint64
	tos, ttl   uint8
	reserved   bool // IPv4 flag
}

func (h *headers) heading() heading {
	f := heading{dmac: h.dmac, smac: h.smac}
	if h.ip != nil {
		f.tos, f.ttl, f.reserved = h.ip.tos, h.ip.ttl, h.ip.flags&4 != 0
	}
	return f
}

// with returns the headers with the fields of f, as far as the frame has these fields.
func (h headers) with(f heading) headers {
	h.dmac, h.smac = f.dmac, f.smac
	if h.ip != nil {
		ip := *h.ip
		ip.tos, ip.ttl = f.tos, f.ttl
		if ip.version == 4 {
			ip.flags &= 3
			if f.reserved {
				ip.flags |= 4
			}
		}
		h.ip = &ip
	}
	return h
}

// edit applies the edits of routing, ACLs and the queue to a copy.
func (f heading) edit(o *outgoing) heading {
	if o.raw {
		return f
	}
	if o.routed != nil {
		f.dmac, f.smac = mac(o.routed.dmac[:]), mac(o.routed.smac[:])
		f.ttl--
	}
	if o.dscp != nil {
		f.tos = *o.dscp<<2 | f.tos&3
	}
	for _, m := range o.marks {
		m.inHeading(&f)
	}
	if o.ce {
		f.tos |= 3
	}
	return f
}

// apply writes the fields to a frame, including its IP header if it has one. The checksum of an IPv4 header is
// recomputed. A wrong checksum stays wrong by the same difference.
func (f heading) apply(frame []byte, ip *ipHeader) {
	putMAC(frame[0:], f.dmac)
	putMAC(frame[6:], f.smac)
	switch {
	case ip == nil:
	case ip.version == 6:
		word := binary.BigEndian.Uint16(frame[ip.at:])
		binary.BigEndian.PutUint16(frame[ip.at:], word&0xf00f|uint16(f.tos)<<4)
		frame[ip.at+7] = f.ttl
	default:
		header := frame[ip.at : ip.at+ip.head]
		before := [3]uint16{word(header, 0), word(header, 6), word(header, 8)}
		right := word(header, 10) == checksum(header)
		header[1], header[8] = f.tos, f.ttl
		if header[6] &= 0x7f; f.reserved {
			header[6] |= 0x80
		}
		after := [3]uint16{word(header, 0), word(header, 6), word(header, 8)}
		switch {
		case before == after:
		case right:
			binary.BigEndian.PutUint16(header[10:], checksum(header))
		default: // a wrong checksum: update it as in RFC 1624
			sum := uint32(^word(header, 10))
			for i := range before {
				if before[i] != after[i] {
					sum += uint32(^before[i]) + uint32(after[i])
				}
			}
			binary.BigEndian.PutUint16(header[10:], ^uint16(fold(sum)))
		}
	}
}

func word(b []byte, at int) uint16 { return binary.BigEndian.Uint16(b[at:]) }

func putMAC(b []byte, m uint64) {
	for i := range 6 {
		b[i] = byte(m >> (40 - 8*i))
	}
}

// fill writes a packet's fields that are known in both pipes to a program's PHV. now is the cycle at which the packet
// entered the pipe. in and at are the clock's readings at that time for its arrival and for now.
func (v *program) fill(p phv, pk *packet, conf *settings, now saisim.Cycle, in, at tailstamp.Timestamp) {
	h := &pk.h
	flag := map[bool]uint64{true: 1}
	set := func(name string, x uint64) { v.set(p, name, x) }
	set("eth.dst", h.dmac)
	set("eth.src", h.smac)
	set("eth.type", uint64(h.etherType))
	if ip := h.ip; ip != nil {
		v4 := ip.version == 4
		set("ip.src.hi", binary.BigEndian.Uint64(ip.src[:8]))
		set("ip.src.lo", binary.BigEndian.Uint64(ip.src[8:]))
		set("ipv4.src", binary.BigEndian.Uint64(ip.src[8:]))
		set("ip.dst.hi", binary.BigEndian.Uint64(ip.dst[:8]))
		set("ip.dst.lo", binary.BigEndian.Uint64(ip.dst[8:]))
		set("ipv4.dst", binary.BigEndian.Uint64(ip.dst[8:]))
		set("ip.id", uint64(ip.id))
		set("ip.ttl", uint64(ip.ttl))
		set("ip.ecn", uint64(ip.tos&3))
		set("ip.dscp", uint64(ip.tos>>2))
		set("ip.proto", uint64(ip.protocol))
		set("ip.flow", uint64(ip.flowLabel))
		set("ip.mf", uint64(ip.flags&1))
		set("ip.df", uint64(ip.flags>>1&1))
		set("ip.reserved", uint64(ip.flags>>2&1))
		set("is.ip", 1)
		set("is.ipv4", flag[v4])
		set("is.ipv6", flag[!v4])
		set("is.fragment", flag[ip.fragment])
		set("is.tail", flag[ip.later])
	}
	if l4 := h.l4; l4 != nil {
		set("is.l4", 1)
		set("l4.src", uint64(l4.src))
		set("l4.dst", uint64(l4.dst))
		set("is.tcp", flag[l4.tcp])
		set("tcp.flags", uint64(l4.tcpFlags))
	}
	if icmp := h.icmp; icmp != nil {
		set("is.icmp", flag[h.ip.version == 4])
		set("is.icmpv6", flag[h.ip.version == 6])
		set("icmp.type", uint64(icmp.typ))
		set("icmp.code", uint64(icmp.code))
	}
	set("is.arp", flag[h.arp])
	set("is.tagged", flag[len(h.tags) > 0])
	set("is.twotags", flag[len(h.tags) > 1])
	for i, name := range []string{"vlan.outer", "vlan.inner"} {
		if i < len(h.tags) {
			set(name, uint64(h.tags[i].tci))
		}
	}
	set("vlan.id", uint64(pk.vid))
	set("pkt.length", uint64(pk.length))
	set("pkt.tc", uint64(pk.tc))
	set("acl.meta", uint64(pk.meta))
	set("in.port", uint64(pk.in))
	set("out.port", 65535)
	set("ctl.port", 65535)
	set("flow.hash", uint64(hashWords(h.flow(uint64(conf.Switch.LAGHash.Seed)<<32))))
	v.setTime(p, "rx", pk.rx, in)
	v.setTime(p, "now", now, at)
}

// setTime sets the fields of a time.
func (v *program) setTime(p phv, name string, at saisim.Cycle, t tailstamp.Timestamp) {
	v.set(p, name+".cycle", uint64(at))
	v.set(p, name+".seconds", t.Seconds)
	v.set(p, name+".nanos", uint64(t.Nanoseconds))
	v.set(p, name+".fraction", uint64(t.Nanoseconds)<<32/1_000_000_000)
	v.set(p, name+".ns", t.Seconds*1_000_000_000+uint64(t.Nanoseconds))
}

// heading returns the header fields that a program has written.
func (v *program) heading(p phv) heading {
	return heading{
		dmac: v.get(p, "eth.dst"), smac: v.get(p, "eth.src"), ttl: uint8(v.get(p, "ip.ttl")),
		tos: uint8(v.get(p, "ip.dscp")<<2 | v.get(p, "ip.ecn")), reserved: v.get(p, "ip.reserved") == 1,
	}
}

// setHeading sets a program's fields to the values that a fixed function has left.
func (v *program) setHeading(p phv, f heading) {
	v.set(p, "eth.dst", f.dmac)
	v.set(p, "eth.src", f.smac)
	v.set(p, "ip.ttl", uint64(f.ttl))
	v.set(p, "ip.dscp", uint64(f.tos>>2))
	v.set(p, "ip.ecn", uint64(f.tos&3))
	v.set(p, "ip.reserved", map[bool]uint64{true: 1}[f.reserved])
}
