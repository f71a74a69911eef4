// # Clamps of the MSS
//
// A clamp examines TCP segments with SYN and without IFA that arrived at a port. It runs after the ingress ACL, in the
// same stage and whatever the ACL decided. The segment must have a complete TCP header there and match the clamp's
// filter as received. The clamp counts each such segment under its outcome, the first of these that holds:
//
//   - cut: the frame was cut by a capture, or is a fragment. An IPv6 fragment header
//     with offset 0 and no more fragments does not count as one
//   - malformed: the header is shorter than 20 bytes or longer than the segment; an
//     option is shorter than 2 bytes or ends after the header; an MSS is not 4 bytes
//     long, or occurs twice. Options end at the header's end or with kind 0
//   - without: there is no MSS (kind 2)
//   - small: the MSS is at most the limit. It is the length of the longest frame, with FCS, that the
//     port accepts with a record, less 18 bytes, 4 for each tag that the parser found, 40 or
//     with IPv6 60, and 32 for each of the clamp's records
//   - no room: the limit is less than 216
//   - clamped
//
// In the copies that are forwarded, a clamped segment leaves with the smallest limit of all clamps that clamped it.
// Egress programs and ACLs see the original segment. A change of the checksum keeps the sum of the segment's words (RFC
// 1624).
package engine

import (
	"encoding/binary"
	"slices"

	"tamtam/saisim/config"
	"tamtam/saisim/tailstamp"
	"tamtam/tam/flymon"
)

// clamping lowers the MSS in TCP segments with SYN, after the ACL. Segments of the reverse direction leave by the port
// where the SYN arrives, and must leave space for tail-stamp records there.
type clamping struct {
	*core
	list []*mssClamp
}

// An mssClamp is a configured clamp with its counts.
type mssClamp struct {
	config.MSSClamp
	counts SYNCounts
}

// SYNCounts holds a clamp's counts of segments with SYN, by [tailstamp.SYNCount].
type SYNCounts [tailstamp.NumSYNCounts]uint64

func (c *clamping) reset() { *c = clamping{core: c.core} }

// apply compiles a clamp. An existing clamp keeps its counts.
func (c *clamping) apply(r config.MSSClamp, gone bool) {
	x := at[*mssClamp](c.core, r.ID)
	switch {
	case gone:
		delete(c.ids, r.ID)
		c.list = slices.DeleteFunc(c.list, func(y *mssClamp) bool { return y == x })
	case x != nil:
		x.MSSClamp = r
	default:
		x = &mssClamp{MSSClamp: r}
		c.ids[r.ID], c.list = x, append(c.list, x)
	}
}

// wants reports whether a frame that usualIPv4 accepted must be passed to see.
func (c *clamping) wants(data []byte) bool {
	return len(c.list) > 0 && data[ethernetHeader+9] == protoTCP && data[ethernetHeader+20+13]&tcpSYN != 0
}

// see passes a packet to the clamps if it is a TCP segment with SYN. If several clamps match, the one with the lowest
// limit applies. Each clamp has its own counts.
func (c *clamping) see(p *port, pk *packet) {
	h := &pk.h
	if h.flags&flagTCP == 0 || h.tcpFlags&tcpSYN == 0 || h.ifa != 0 {
		return
	}
	var v flymon.Vector
	h.candidate(&v)
	var found mssOption
	looked := false
	for _, x := range c.list {
		if !x.Filter.Matches(&v, true) {
			continue
		}
		if !looked {
			found, looked = pk.findMSS(), true
		}
		became := found.became
		if became == tailstamp.SYNClamped {
			became = pk.lower(&found, h.mssRoom(int(p.stampMTU), x.Records))
		}
		x.counts[tailstamp.SYNSeen]++
		x.counts[became]++
	}
}

// mssRoom returns the greatest MSS with which a full segment fits into limit bytes, FCS included. The segment leaves
// with h's headers without options, and with the given number of records.
func (h *headers) mssRoom(limit, records int) int {
	headers := 20 + 20
	if h.flags&flagIPv6 != 0 {
		headers = 40 + 20
	}
	return limit - fcsLen - int(h.l3) - headers - records*tailstamp.Size
}

// lower lowers the MSS to room, and returns the outcome.
func (pk *packet) lower(o *mssOption, room int) tailstamp.SYNCount {
	switch {
	case int(o.mss) <= room:
		return tailstamp.SYNSmall
	case room < tailstamp.MinMSS:
		return tailstamp.SYNNoRoom
	}
	if e := &pk.edit.mss; e.value == 0 || room < int(e.value) {
		*e, pk.edited = mssEdit{value: uint16(room), at: o.at, tcp: o.tcp}, true
	}
	return tailstamp.SYNClamped
}

// An mssOption describes the MSS option of a segment with SYN.
type mssOption struct {
	became  tailstamp.SYNCount // SYNClamped if there is an MSS that may be lowered
	mss     uint16
	at, tcp uint16 // offsets of the MSS value and of the TCP header from the IP header
}

// findMSS returns the MSS option (RFC 9293, section 3.2) of a packet with a complete TCP header. A segment that is not
// well-formed is not changed.
func (pk *packet) findMSS() (o mssOption) {
	if pk.endUnknown() || pk.h.flags&flagFragment != 0 {
		return mssOption{became: tailstamp.SYNCut}
	}
	ip := pk.data[pk.h.l3:][:pk.h.ipLen]
	tcp := tcpHeader(ip, pk.h.flags&flagIPv4 != 0)
	options := tcp + 20
	end := tcp + int(ip[tcp+12]>>4)*4
	if end < options || end > len(ip) {
		return mssOption{became: tailstamp.SYNMalformed}
	}
	o.became = tailstamp.SYNWithout
	for at := options; at < end && ip[at] != 0; {
		if ip[at] == 1 { // the TCP option no-operation
			at++
			continue
		}
		if at+2 > end || ip[at+1] < 2 || at+int(ip[at+1]) > end {
			return mssOption{became: tailstamp.SYNMalformed}
		}
		if ip[at] == 2 {
			if ip[at+1] != 4 || o.became != tailstamp.SYNWithout {
				return mssOption{became: tailstamp.SYNMalformed}
			}
			o = mssOption{tailstamp.SYNClamped, binary.BigEndian.Uint16(ip[at+2:]), uint16(at + 2), uint16(tcp)}
		}
		at += int(ip[at+1])
	}
	return o
}
