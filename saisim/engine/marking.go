// # Alternate marking
//
// AM-PM's tables 1 to 6 in the scalable form of section 3.5 of the paper: a few
// rules per profile, two ACL entries per flow. All of it is done in the ingress ACL
// stage, for one packet at once. T is the chip's time of day at the packet's
// ingress timestamp point, in whole nanoseconds as a tail-stamp record has it. For
// an interval of 2^n s, Q = floor(4 T / 2^n), the period is Q/4, the time bit its
// lowest bit, the slot Q mod 4.
//
// A packet is eligible for a profile if it has all its marks: dscpN is in IPv4 and
// IPv6 headers, ipv4-reserved (bit 15 of the fragment field) in IPv4 headers, both
// well-formed; ipv6-altmark-l and -d in the first AltMark option (RFC 9343: type
// 0x12, 4 bytes: FlowMonID 20 bits, L, D, 10 bits) that is whole in what was
// captured, in a hop-by-hop or destination options header that the parser reaches.
// m and m2 are the marks' values as the packet came in, whatever a program has
// written since. The FlowMonID that ACL entries match ([config.FieldFlowMonID]) is that of the same option. The chip
// inserts no option (RFC 8200, section 4: a router does not), but may put a header with one around packets: see
// outer.go.
//
//  1. Time lookup. If there is any profile, the metadata that ingress ACL entries
//     match (FIELD_ACL_USER_META) is not what a program has set, but has in bits
//     4*lane to 4*lane+3 of each lane 0 if it has no profile or the packet is not
//     eligible, else 8 + 2*slot + colour. The colour is the time bit at initiators;
//     elsewhere m for step and double, the time bit for pulse; for muxed the time bit
//     in slots 1 and 2 and m in 0 and 3, or always m without slot synchronisation.
//
//  2. Flow lookup. An entry whose SET_ACL_META_DATA is 0xA<<28 + lane<<24 +
//     colour<<23 + index sets no metadata: it is a flow's entry for one colour. Of
//     several such, one counts as for every action. Without a profile in the lane, for
//     a packet that is not eligible, or an index that the chip has not, nothing more
//     is done. Below, the colour is that of the time lookup, not the entry's.
//
//  3. Initiator: a packet that came with m or m2 = 1 is one with a foreign mark, counted
//     with its bytes (with FCS) under the time bit. If the profile drops such packets it
//     is dropped as an ACL entry drops, and nothing more is done.
//     Initiator: pulse and double: f = time bit; muxed: f = time bit xor (slot is
//     2). old = Reg[index], Reg[index] = f. It is a pulse if old != f, for muxed only
//     in slot 2.
//
//  4. Initiator: the mark becomes the time bit (step), the pulse (pulse), the time
//     bit xor the pulse (muxed); for double the mark becomes the time bit, the second
//     mark the pulse. A pulse is captured, with the time bit as colour.
//     Elsewhere: captured is, with the colour of 1, m = 1 for pulse, m2 = 1 for double,
//     m != time bit in slots 1 and 2 for muxed. Out of window, except for pulse: the
//     colour is not the time bit, and T is in its period at least the guard behind the
//     beginning and more than the early guard before the end.
//     A terminator that clears writes 0 to the marks.
//
//  5. Muxed without slot synchronisation, elsewhere: Reg has the flow's colour c, when
//     it last stepped, and when the last packet came. The first packet: c = m, both
//     times T, and it is a gap. Else it is a gap if T is before the last packet's time or
//     more than L/8 behind it. If m != c: at 3L/4 or more behind the last step, or at a
//     time before it, it is a step: c = m, stepped at T; else it is a pulse of colour c:
//     captured, and its bytes (with FCS) are added to the pulse bytes. The time of the
//     last packet becomes T. A gap is one out of window of colour c; the colour for the
//     window is c. L/8 and 3L/4 are exact, though most are no whole nanoseconds.
//
//  6. A packet of a frame that was given late (Frame.Late, and what frames before it on
//     the wire were late by) has an own time O, the time of day at the cycle at which its
//     timestamp point would have been. An initiator marks it by T as all others, but makes
//     it no pulse, and its Reg stays. Elsewhere the period that it counts in is k: that of T
//     if it has the colour; else the next one if T plus the early guard is in it, or if the
//     packet is out of window, or there is none before; else the one before. It may be of
//     another period if O plus the early guard is before k; of a muxed pulse with slots also
//     if O is before slot 1 of k; without slots also if T - O plus the guard less the early
//     guard is L/8 or more, rounded down. Then the late periods of the index, from first to
//     last, get all from that of O less the guard (k if that is behind k) to k; those that
//     end more than two before k are forgotten. Not for pulse marking.
//
//  7. If the profile asks for the mean delay, an index and colour have how many packets came, the sum
//     of their T (of O of late ones) in ns since 1970, modulo 2^128, and at how many of them the clock
//     was not synchronised: of all packets that steps 3 to 6 did not drop, by the colour that step 3, 4
//     or 5 has of them. Without slots that is the flow's colour behind the packet.
//
// A capture sets the timestamp of the index and colour to T (to O of a late one), with it
// whether the clock was not synchronised then and the packet's digest, and counts. The digest is the
// same at every switch: the hash of hash.go, x = 0 at first, of the first 80 bytes of
// the IP packet as it came in, but without IFA where the parser has looked through that
// (length and protocol are then those of the packet without), as ten words of 64 bits,
// with 0 for what the packet does not have, or a capture cut, and for what changes on the
// way: the traffic class (IPv4: type of service), TTL or hop limit, the IPv4 header's
// checksum and reserved flag, L and D of the AltMark option, and of a whole TCP header
// with SYN the checksum and the options, of which a clamp may change the MSS. All that is kept for an index begins at 0
// when it gets its first entry, enabled or not; an entry that is set to another
// value is of the new index before it is none of the old one's. A change of the
// profile changes none of it. A chip without alternate marking takes 0xA as any
// metadata.
//
// Marks are written in the egress pipe, after the DSCP of an ACL, in the copies
// that are forwarded; an egress program sees them as it sees that DSCP (except the
// option). Copies for the CPU and ingress mirror copies are as they came in.
package engine

import (
	"time"

	"tamtam/saisim/config"
	"tamtam/saisim/profile"
	"tamtam/tam/altmark"
)

// markEntry is the top of SET_ACL_META_DATA of flow entries.
const markEntry = 0xA

// marking is the state of alternate marking.
type marking struct {
	*core
	outers outers
	lanes  [profile.MarkLanes]*markProfile // nil: free
	used   int                             // lanes that have a profile
	flows  []markFlow
	regs   []uint8 // Reg of tables 3 and 5, by index: of most packets' flows an initiator needs nothing else
	// arrivals are what step 7 sums up, by index and colour: apart, for few sessions ask for it.
	arrivals    [][2]altmark.ChipArrivals
	generations uint64
}

func (m *marking) reset() {
	m.outers.of, m.outers.ends = nil, 0
	m.lanes, m.used, m.flows, m.regs, m.generations = [profile.MarkLanes]*markProfile{}, 0, nil, nil, 0
	m.arrivals = nil
}

// A markProfile is what one lane's sessions have in common.
type markProfile struct {
	lane         int
	s            altmark.Session
	encap        bool          // it marks the header that it puts around packets
	guard, early time.Duration // at the beginning and at the end of a period
	// Without slots: a packet later than gap after the one before follows a gap; a
	// step comes at least step after the one before.
	gap, step time.Duration
}

// applyAltMark gives a lane a profile. No packet holds one.
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

// A markFlow is what is kept for one index.
type markFlow struct {
	seen             bool  // without slots: a packet
	colour           uint8 // without slots
	stepped, arrived altmark.Time
	of               [2]markColour
	late             altmark.LatePeriods
	generation       uint64 // another one whenever all is zeroed
	outer            *altmark.OuterCounts
	entries          []*aclEntry
}

// A markColour is what is kept for a colour.
type markColour struct {
	captures, outside, pulseBytes uint64
	foreign, foreignBytes         uint64
	digest                        uint32 // of the last captured
	at                            altmark.Time
	unsync                        bool
}

// enterFlow takes an entry into its flow, leaveFlow out of it.
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

// counts returns packets and bytes of a flow's entries for a colour. Entries may
// share a counter.
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
