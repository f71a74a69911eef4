package reference

import (
	"encoding/binary"
	"net/netip"

	"tamtam/saisim/config"
	"tamtam/saisim/tailstamp"
	"tamtam/tam/flymon"
)

// SYNCounts holds a clamp's counts, by [tailstamp.SYNCount].
type SYNCounts = [tailstamp.NumSYNCounts]uint64

// SYNCounts returns the counts of each clamp, by object id.
func (c *Chip) SYNCounts() map[config.ID]SYNCounts {
	all := map[config.ID]SYNCounts{}
	for _, x := range c.conf.MSSClamps {
		all[x.ID] = c.syns[x.ID]
	}
	return all
}

// A lowered is an MSS with which a segment leaves, with the places of its two bytes and of the segment in the frame.
type lowered struct {
	mss      int
	at       int
	from, to int // range of the segment
}

// clampMSS passes a packet to the clamps.
func (c *Chip) clampMSS(pk *packet) {
	l4 := pk.h.l4
	if l4 == nil || !l4.tcp || l4.tcpFlags&2 == 0 || pk.h.ifa != nil {
		return
	}
	p := pk.conf.ports[pk.inPort]
	limit := int(p.MTU)
	if p.StampMTU != 0 {
		limit = min(limit, int(p.StampMTU))
	}
	for _, x := range pk.conf.MSSClamps {
		if !inFilter(x.Filter, pk.h) {
			continue
		}
		headers := 18 + 4*len(pk.h.tags) // Ethernet header, tags and FCS
		if headers += 40; pk.h.ip.version == 6 {
			headers += 20
		}
		said, became := pk.maximumSegment()
		room := limit - headers - x.Records*tailstamp.Size
		switch {
		case became != tailstamp.SYNClamped:
		case said.mss <= room:
			became = tailstamp.SYNSmall
		case room < tailstamp.MinMSS:
			became = tailstamp.SYNNoRoom
		case pk.lowered == nil || room < pk.lowered.mss:
			said.mss = room
			pk.lowered = &said
		}
		n := c.syns[x.ID]
		n[tailstamp.SYNSeen]++
		n[became]++
		c.syns[x.ID] = n
	}
}

// maximumSegment returns the MSS of a segment with its offset, and SYNClamped. If no MSS can be lowered, it returns the
// reason.
func (pk *packet) maximumSegment() (lowered, tailstamp.SYNCount) {
	ip := pk.h.ip
	if ip.fragment && (ip.first || ip.later) || pk.endUnknown() {
		return lowered{}, tailstamp.SYNCut
	}
	segment := pk.data[pk.h.l4.at : ip.at+ip.size]
	head := int(segment[12]>>4) * 4
	if head < 20 || head > len(segment) {
		return lowered{}, tailstamp.SYNMalformed
	}
	var found []lowered
	for rest := segment[20:head]; len(rest) > 0 && rest[0] != 0; {
		if rest[0] == 1 {
			rest = rest[1:]
			continue
		}
		if len(rest) < 2 || rest[1] < 2 || int(rest[1]) > len(rest) || rest[0] == 2 && rest[1] != 4 {
			return lowered{}, tailstamp.SYNMalformed
		}
		if rest[0] == 2 {
			found = append(found, lowered{
				mss: int(binary.BigEndian.Uint16(rest[2:])), at: pk.h.l4.at + head - len(rest) + 2,
				from: pk.h.l4.at, to: ip.at + ip.size,
			})
		}
		rest = rest[rest[1]:]
	}
	switch len(found) {
	case 0:
		return lowered{}, tailstamp.SYNWithout
	case 1:
		return found[0], tailstamp.SYNClamped
	}
	return lowered{}, tailstamp.SYNMalformed
}

// inFrame writes the MSS. The new checksum, a number below 0xffff, keeps the sum of the segment as it was, right or
// wrong.
func (l *lowered) inFrame(frame []byte) {
	segment := frame[l.from:l.to]
	before := sumOf(segment)
	binary.BigEndian.PutUint16(frame[l.at:], uint16(l.mss))
	binary.BigEndian.PutUint16(segment[16:], 0)
	binary.BigEndian.PutUint16(segment[16:], uint16((before+0xffff-sumOf(segment))%0xffff))
}

// sumOf returns the sum of the words of b modulo 0xffff.
func sumOf(b []byte) (sum uint64) {
	for i, x := range b {
		if i%2 == 0 {
			sum += uint64(x) << 8
		} else {
			sum += uint64(x)
		}
	}
	return sum % 0xffff
}

// inFilter reports whether a TCP segment matches a filter.
func inFilter(f flymon.Filter, h headers) bool {
	src, dst := netip.AddrFrom16(h.ip.src), netip.AddrFrom16(h.ip.dst)
	if h.ip.version == 4 {
		src, dst = netip.AddrFrom4([4]byte(h.ip.src[12:])), netip.AddrFrom4([4]byte(h.ip.dst[12:]))
	}
	ported := func(r flymon.Ports, port uint16) bool { return !r.Has || r.Lo <= port && port <= r.Hi }
	return (!f.SrcIP.IsValid() || f.SrcIP.Contains(src)) && (!f.DstIP.IsValid() || f.DstIP.Contains(dst)) &&
		(f.Version == 0 || int(f.Version) == h.ip.version) && (!f.HasProtocol || f.Protocol == 6) &&
		ported(f.SrcPort, h.l4.src) && ported(f.DstPort, h.l4.dst)
}
