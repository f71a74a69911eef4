// # Alternate marking
//
// This implements AM-PM's tables 1 to 6 in the scalable form of section 3.5 of the paper. It needs a constant number of
// rules per profile, and two ACL entries per flow. All of it happens in the ingress ACL stage, in one step for each
// packet. T is the chip's time of day at the packet's ingress timestamp point, in whole nanoseconds, as in a tail-stamp
// record. For an interval of 2^n s, Q = floor(4 T / 2^n). The period is Q/4, the time bit is the lowest bit of the
// period, and the slot is Q mod 4.
//
// A packet is eligible for a profile if it has all marks of the profile. dscpN is in IPv4 and IPv6 headers,
// ipv4-reserved (bit 15 of the fragment field) in IPv4 headers, both well-formed. ipv6-altmark-l and -d are in the
// first AltMark option (RFC 9343: type 0x12, 4 bytes: FlowMonID 20 bits, L, D, 10 bits) that is complete in the
// captured part of the packet. The option must be in a hop-by-hop or destination options header that the parser
// reaches. m and m2 are the marks' values as received, whatever a program has written since. The FlowMonID that ACL
// entries match ([config.FieldFlowMonID]) is that of the same option. The chip inserts no option, because a router may
// not (RFC 8200, section 4). It may put a header with an option around packets, see outer.go.
//
//  1. Time lookup. If there is any profile, the metadata that ingress ACL entries
//     match (FIELD_ACL_USER_META) is not the value that a program has set. Bits
//     4*lane to 4*lane+3 of each lane are 0 if the lane has no profile or the packet is not
//     eligible, otherwise 8 + 2*slot + colour. The colour is the time bit at initiators.
//     Elsewhere it is m for step and double, and the time bit for pulse. For muxed it is the
//     time bit in slots 1 and 2 and m in 0 and 3, or always m without slot synchronisation.
//
//  2. Flow lookup. An entry whose SET_ACL_META_DATA is 0xA<<28 + lane<<24 +
//     colour<<23 + index sets no metadata: it is a flow's entry for one colour. If several
//     such entries are hit, one counts, by the rule for every action. Nothing more is done
//     if the lane has no profile, the packet is not eligible, or the chip does not have
//     the index. In the steps below, the colour is that of the time lookup, not the entry's.
//
//  3. Initiator: a packet that arrived with m or m2 = 1 has an unexpected mark. It is counted
//     with its bytes (with FCS) under the time bit. If the profile drops such packets, it
//     is dropped as by an ACL entry, and nothing more is done.
//     Initiator: pulse and double: f = time bit; muxed: f = time bit xor (slot is
//     2). old = Reg[index], Reg[index] = f. It is a pulse if old != f, for muxed only
//     in slot 2.
//
//  4. Initiator: the mark becomes the time bit (step), the pulse (pulse), the time
//     bit xor the pulse (muxed). For double the mark becomes the time bit, the second
//     mark the pulse. A pulse is captured, with the time bit as colour.
//     Elsewhere, these are captured, with the colour of step 1: m = 1 for pulse, m2 = 1 for double,
//     m != time bit in slots 1 and 2 for muxed. Except for pulse, a packet is out of window
//     if the colour is not the time bit, and T is in its period at least the guard after the
//     beginning and more than the early guard before the end.
//     A terminator that clears writes 0 to the marks.
//
//  5. Muxed without slot synchronisation, elsewhere: Reg holds the flow's colour c, the time
//     when it last stepped, and the time when the last packet arrived. At the first packet,
//     c = m, both times are T, and it is a gap. At others it is a gap if T is before the last
//     packet's time or more than L/8 after it. If m != c: at 3L/4 or more after the last
//     step, or at a time before it, it is a step: c = m, stepped at T. Otherwise it is a pulse
//     of colour c: it is captured, and its bytes (with FCS) are added to the pulse bytes. The
//     time of the last packet becomes T. A gap counts as out of window, with colour c. The
//     colour for the window is c. L/8 and 3L/4 are exact, though most are no whole nanoseconds.
//
//  6. A packet of a frame that was given late (Frame.Late, and delays by frames before it on
//     the wire) has an own time O. It is the time of day at the cycle at which its
//     timestamp point would have been. An initiator marks it by T as all others, but makes
//     it no pulse, and its Reg stays. Elsewhere the packet counts in period k. k is the period
//     of T if it has the colour. Otherwise k is the next period if T plus the early guard is
//     in it, or if the packet is out of window, or if there is no period before; else k is the
//     period before. The packet may be of another period if O plus the early guard is before
//     k. For a muxed pulse with slots, this is also so if O is before slot 1 of k. Without
//     slots, it is also so if T - O plus the guard less the early guard is L/8 or more, rounded
//     down. Then the late periods of the index, from first to last, are extended by all from
//     that of O less the guard (k if that is after k) to k. Those that end more than two
//     before k are dropped. None of this applies to pulse marking.
//
//  7. If the profile requests the mean delay, these are kept for an index and colour: the
//     number of packets, the sum of their T (of O of late ones) in ns since 1970, modulo 2^128,
//     and the number of packets at which the clock was not synchronised. All packets count
//     that steps 3 to 6 did not drop, by their colour in step 3, 4 or 5. Without slots that is
//     the flow's colour after this packet.
//
// A capture sets the timestamp of the index and colour to T (to O of a late packet). It also stores whether the clock
// was not synchronised then, and the packet's digest, and it counts. The digest is the same at every switch. It is the
// hash of hash.go, with x = 0 at first. It covers the first 80 bytes of the IP packet as received, as ten words of 64
// bits. If the parser has found IFA, the digest is of the packet without IFA, with its own length and protocol. Bytes
// that the packet does not have, or that a capture cut, count as 0. So do fields that routers change: the traffic class
// (IPv4: type of service), TTL or hop limit, checksum and reserved flag of IPv4, L and D of the AltMark option. In a
// complete TCP header with SYN, the checksum and the options are also 0, because a clamp may change the MSS.
//
// All state of an index begins at 0 when it gets its first entry, enabled or not. An entry that is set to another value
// joins the new index before it leaves the old one. A change of the profile changes none of the state. A chip without
// alternate marking treats 0xA as any metadata.
//
// Marks are written in the egress pipe, after the DSCP of an ACL, in the copies that are forwarded. An egress program
// sees them like that DSCP, except for the option. Copies for the CPU and ingress mirror copies are as received.
package engine

import (
	"time"

	"tamtam/saisim/config"
	"tamtam/saisim/profile"
	"tamtam/tam/altmark"
)

// markEntry is the value of the top bits of SET_ACL_META_DATA of flow entries.
const markEntry = 0xA

// marking is the state of alternate marking.
type marking struct {
	*core
	outers outers
	lanes  [profile.MarkLanes]*markProfile // nil means free
	used   int                             // number of lanes that have a profile
	flows  []markFlow
	regs   []uint8 // Reg of tables 3 and 5, by index: for most packets an initiator needs no other state of the flow
	// arrivals holds the sums of step 7, by index and colour. It is separate because only a small set of sessions needs
	// it.
	arrivals    [][2]altmark.ChipArrivals
	generations uint64
}

func (m *marking) reset() {
	m.outers.of, m.outers.ends = nil, 0
	m.lanes, m.used, m.flows, m.regs, m.generations = [profile.MarkLanes]*markProfile{}, 0, nil, nil, 0
	m.arrivals = nil
}

// A markProfile holds the settings that one lane's sessions share.
type markProfile struct {
	lane         int
	s            altmark.Session
	encap        bool          // true if it marks the header that it puts around packets
	guard, early time.Duration // guard at the beginning, early at the end of a period
	// gap and step apply only to sessions without slots. A packet follows a gap if it arrives more than gap after the
	// previous one. Two steps are at least step apart.
	gap, step time.Duration
	dscp      uint8 // bits of the DSCP that are its marks
}

// applyAltMark sets a lane's profile. No packet keeps a reference to the profile.
func (c *marking) applyAltMark(r config.AltMark, gone bool) {
	if c.lanes[r.Lane] != nil {
		c.used--
	}
	c.lanes[r.Lane] = nil
	if !gone {
		c.used++
		c.lanes[r.Lane] = newMarkProfile(&r)
	}
}

func newMarkProfile(r *config.AltMark) *markProfile {
	p := &markProfile{lane: r.Lane, s: r.Session, guard: r.Guard, early: r.Early, encap: r.Encap}
	p.gap, _ = eighths(r.Interval, 1)
	_, p.step = eighths(r.Interval, 6)
	p.dscp = r.Mark.DSCPBit() | r.Mark2.DSCPBit()
	return p
}

// eighths returns n eighths of an interval in nanoseconds, rounded down and up.
func eighths(i altmark.Interval, n uint64) (down, up time.Duration) {
	x, sh := n*nanos, uint(3)
	if i >= 0 {
		x <<= i
	} else {
		sh += uint(-i)
	}
	return time.Duration(x >> sh), time.Duration((x + 1<<sh - 1) >> sh)
}

// A markFlow is the state of one flow index.
type markFlow struct {
	seen             bool  // without slots: true after the first packet
	colour           uint8 // current colour of a flow without slots
	stepped, arrived altmark.Time
	of               [2]markColour
	late             altmark.LatePeriods
	generation       uint64 // changes whenever the state is zeroed
	outer            *altmark.OuterCounts
	entries          []*aclEntry
}

// A markColour is the state of one colour of a flow index.
type markColour struct {
	captures, outside, pulseBytes uint64
	foreign, foreignBytes         uint64
	digest                        uint32 // digest of the last captured packet
	at                            altmark.Time
	unsync                        bool
}

// enterFlow adds an entry to its flow, leaveFlow removes it.
func (m *marking) enterFlow(e *aclEntry, most uint32) {
	index := e.mark & (1<<23 - 1)
	if e.mark == 0 || index >= most {
		return
	}
	if int(index) >= len(m.flows) {
		more := int(index) + 1 - len(m.flows)
		m.flows = append(m.flows, make([]markFlow, more)...)
		m.regs = append(m.regs, make([]uint8, more)...)
		m.arrivals = append(m.arrivals, make([][2]altmark.ChipArrivals, more)...)
	}
	f := &m.flows[index]
	if len(f.entries) == 0 {
		m.generations++
		*f = markFlow{generation: m.generations, outer: new(altmark.OuterCounts)}
		m.regs[index], m.arrivals[index] = 0, [2]altmark.ChipArrivals{}
	}
	f.entries = append(f.entries, e)
}

func (m *marking) leaveFlow(e *aclEntry) {
	index := int(e.mark & (1<<23 - 1))
	if e.mark == 0 || index >= len(m.flows) {
		return
	}
	f := &m.flows[index]
	for i, x := range f.entries {
		if x == e {
			f.entries = append(f.entries[:i:i], f.entries[i+1:]...)
			return
		}
	}
}

// counts returns packets and bytes of a flow's entries for a colour. A counter shared by several entries counts once.
func (f *markFlow) counts(colour uint32) (packets, bytes uint64) {
	seen := map[*aclCounter]bool{}
	for _, e := range f.entries {
		if x := e.counter; e.mark>>23&1 == colour && x != nil && !seen[x] {
			seen[x] = true
			packets, bytes = packets+x.packets, bytes+x.bytes
		}
	}
	return packets, bytes
}
