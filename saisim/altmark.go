package saisim

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
// written since. The chip inserts no option (RFC 8200, section 4: a router does not).
//
//  1. Time lookup. If there is any profile, the metadata that ingress ACL entries
//     match (FIELD_ACL_USER_META) is not what a program has set, but has in bits 4*lane to 4*lane+3 of each lane 0 if it
//     has no profile or the packet is not eligible, else 8 + 2*slot + colour. The
//     colour is the time bit at initiators; elsewhere m for step and double, the time
//     bit for pulse; for muxed the time bit in slots 1 and 2 and m in 0 and 3, or
//     always m without slot synchronisation.
//  2. Flow lookup. An entry whose SET_ACL_META_DATA is 0xA<<28 + lane<<24 +
//     colour<<23 + index sets no metadata: it is a flow's entry for one colour. Of
//     several such, one counts as for every action. Without a profile in the lane, for
//     a packet that is not eligible, or an index that the chip has not, nothing more
//     is done. Below, the colour is that of the time lookup, not the entry's.
//  3. Initiator: pulse and double: f = time bit; muxed: f = time bit xor (slot is
//     2). old = Reg[index], Reg[index] = f. It is a pulse if old != f, for muxed only
//     in slot 2.
//  4. Initiator: the mark becomes the time bit (step), the pulse (pulse), the time
//     bit xor the pulse (muxed); for double the mark becomes the time bit, the second
//     mark the pulse. A pulse is captured, with the time bit as colour.
//     Elsewhere: captured is, with the colour of 1, m = 1 for pulse, m2 = 1 for double,
//     m != time bit in slots 1 and 2 for muxed. Out of window, but for pulse: the
//     colour is not the time bit, and T is in its period at least the guard behind the
//     beginning and more than the guard before the end.
//     A terminator that clears writes 0 to the marks.
//  5. Muxed without slot synchronisation, elsewhere: Reg has the flow's colour c, when
//     it last stepped, and when the last packet came. The first packet: c = m, both
//     times T, and it is a gap. Else it is a gap if T is before the last packet's time or
//     more than L/8 behind it. If m != c: at 3L/4 or more behind the last step, or at a
//     time before it, it is a step: c = m, stepped at T; else it is a pulse of colour c:
//     captured, and its bytes (with FCS) are added to the pulse bytes. The time of the
//     last packet becomes T. A gap is one out of window of colour c; the colour for the
//     window is c. L/8 and 3L/4 are exact, though most are no whole nanoseconds.
//
// A capture sets the timestamp of the index and colour to T, with it whether the
// clock was not synchronised, and counts. All that is kept for an index begins at 0
// when it gets its first entry, enabled or not; an entry that is set to another
// value is of the new index before it is none of the old one's. Entries of egress
// tables have no such action. A chip without alternate marking takes 0xA as any metadata.
//
// Marks are written in the egress pipe, after the DSCP of an ACL, in the copies
// that are forwarded; an egress program sees them as it sees that DSCP (but for the
// option). Copies for the CPU and ingress mirror copies are as they came in.
import (
	"encoding/binary"
	"time"

	"tamtam/altmark"
	"tamtam/saisim/tailstamp"
)

// maxMarkLanes are what 32 bits of metadata hold.
const maxMarkLanes = 8

// markEntry is the top of SET_ACL_META_DATA of flow entries.
const markEntry = 0xA

// marking is the state of alternate marking.
type marking struct {
	lanes       [maxMarkLanes]*markProfile
	used        int // lanes that have a profile
	flows       []markFlow
	generations uint64
}

// A markProfile is what one lane's sessions have in common.
type markProfile struct {
	lane  int
	s     altmark.Session
	guard time.Duration
	// Without slots: a packet later than gap after the one before follows a gap; a
	// step comes at least step after the one before.
	gap, step time.Duration
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
	entries          []*aclEntry
	generation       uint64 // another one whenever all is zeroed
	reg              uint8  // Reg of tables 3 and 5
	seen             bool   // without slots: a packet
	colour           uint8  // without slots
	stepped, arrived altmark.Time
	of               [2]markColour
}

// A markColour is what is kept for a colour.
type markColour struct {
	captures, outside, pulseBytes uint64
	at                            altmark.Time
	unsync                        bool
}

// A markTime is when a packet came, for alternate marking.
type markTime struct {
	at     altmark.Time
	unsync bool
}

// markReading returns when a packet came, by the chip's time of day.
func (c *Chip) markReading(pk *packet) markTime {
	t, unsync := c.tod.Load().read(pk.rx)
	return markTime{markTimeOf(t), unsync}
}

// timeLookup is step 1: the nibbles of all lanes.
func (m *marking) timeLookup(pk *packet, t altmark.Time) (meta uint32) {
	for _, p := range m.lanes {
		if p == nil || !p.eligible(pk) {
			continue
		}
		q := p.s.Interval.Quarter(t)
		meta |= (8 | uint32(q&3)<<1 | uint32(p.colour(pk, q))) << (4 * p.lane)
	}
	return meta
}

func (p *markProfile) eligible(pk *packet) bool {
	return pk.hasMark(p.s.Mark) && (p.s.Mark2 == altmark.NoMark || pk.hasMark(p.s.Mark2))
}

// colour returns the colour of a packet in the quarter q.
func (p *markProfile) colour(pk *packet, q uint64) uint8 {
	timeBit, slot := uint8(q>>2&1), q&3
	switch {
	case p.s.Role == altmark.Initiator, p.s.Method == altmark.Pulse:
		return timeBit
	case p.s.Method == altmark.Muxed && p.s.SlotSync && (slot == 1 || slot == 2):
		return timeBit
	}
	return pk.markBit(p.s.Mark)
}

// hasMark says whether the packet has the bit.
func (pk *packet) hasMark(m altmark.Mark) bool {
	switch {
	case m == altmark.IPv4Reserved:
		return pk.h.flags&flagIPv4 != 0
	case m.DSCPBit() != 0:
		return pk.h.flags&flagIP != 0
	}
	return pk.h.altMark != 0
}

// markBit returns the bit as the packet came in.
func (pk *packet) markBit(m altmark.Mark) uint8 {
	var set bool
	switch m {
	case altmark.IPv4Reserved:
		set = pk.h.ipFlags&4 != 0
	case altmark.IPv6Loss:
		set = pk.h.altFlags&optionLoss != 0
	case altmark.IPv6Delay:
		set = pk.h.altFlags&optionDelay != 0
	default:
		set = pk.h.tos>>2&m.DSCPBit() != 0
	}
	if set {
		return 1
	}
	return 0
}

// mark is steps 3 to 5 for a packet that hit a flow's entry.
func (c *Chip) mark(pk *packet, entry uint32, t markTime) {
	p := c.marking.lanes[entry>>24&(maxMarkLanes-1)]
	index := int(entry & (1<<23 - 1))
	if p == nil || entry>>24&0xf >= maxMarkLanes || index >= len(c.marking.flows) || !p.eligible(pk) {
		return
	}
	f := &c.marking.flows[index]
	q := p.s.Interval.Quarter(t.at)
	switch {
	case p.s.Role == altmark.Initiator:
		f.initiate(p, pk, q, t)
		return
	case p.s.Method == altmark.Muxed && !p.s.SlotSync:
		f.followSteps(p, pk, q, t)
	default:
		f.follow(p, pk, q, t)
	}
	if p.s.Clear {
		pk.edit.write(p.s.Mark, 0)
		pk.edit.write(p.s.Mark2, 0)
	}
}

// initiate marks a packet: tables 1, 3 and 5.
func (f *markFlow) initiate(p *markProfile, pk *packet, q uint64, t markTime) {
	timeBit, pulse := uint8(q>>2&1), uint8(0)
	if p.s.Method != altmark.Step {
		next, may := timeBit, true
		if p.s.Method == altmark.Muxed {
			if may = q&3 == 2; may {
				next ^= 1
			}
		}
		old := f.reg
		f.reg = next
		if may && old != next {
			pulse = 1
			f.of[timeBit].capture(t)
		}
	}
	switch p.s.Method {
	case altmark.Pulse:
		pk.edit.write(p.s.Mark, pulse)
	case altmark.Double:
		pk.edit.write(p.s.Mark, timeBit)
		pk.edit.write(p.s.Mark2, pulse)
	default:
		pk.edit.write(p.s.Mark, timeBit^pulse)
	}
}

// follow reads the marks of a packet: tables 2, 4 and 6.
func (f *markFlow) follow(p *markProfile, pk *packet, q uint64, t markTime) {
	timeBit, slot := uint8(q>>2&1), q&3
	colour, m := p.colour(pk, q), pk.markBit(p.s.Mark)
	pulse := false
	switch p.s.Method {
	case altmark.Pulse:
		pulse = m == 1
	case altmark.Double:
		pulse = pk.markBit(p.s.Mark2) == 1
	case altmark.Muxed:
		pulse = (slot == 1 || slot == 2) && m != timeBit
	}
	if pulse {
		f.of[colour].capture(t)
	}
	if p.s.Method != altmark.Pulse {
		f.window(p, colour, timeBit, t)
	}
}

// followSteps tells steps from pulses by the mark alone.
func (f *markFlow) followSteps(p *markProfile, pk *packet, q uint64, t markTime) {
	m := pk.markBit(p.s.Mark)
	gap := !f.seen
	if f.seen {
		since := t.at.Sub(f.arrived)
		gap = since < 0 || since > p.gap
	} else {
		f.seen, f.colour, f.stepped = true, m, t.at
	}
	if m != f.colour {
		if since := t.at.Sub(f.stepped); since < 0 || since >= p.step {
			f.colour, f.stepped = m, t.at
		} else {
			f.of[f.colour].capture(t)
			f.of[f.colour].pulseBytes += uint64(pk.length + fcsLen)
		}
	}
	f.arrived = t.at
	if gap {
		f.of[f.colour].outside++
	}
	f.window(p, f.colour, uint8(q>>2&1), t)
}

// window counts a packet that came where only packets of the other colour may.
func (f *markFlow) window(p *markProfile, colour, timeBit uint8, t markTime) {
	if colour != timeBit && p.s.Interval.Within(t.at, p.guard) {
		f.of[colour].outside++
	}
}

func (x *markColour) capture(t markTime) {
	x.captures++
	x.at = t.at
	x.unsync = t.unsync
}

// enterFlow takes an entry into its flow, leaveFlow out of it.
func (m *marking) enterFlow(e *aclEntry, most uint32) {
	index := e.mark & (1<<23 - 1)
	if e.mark == 0 || index >= most {
		return
	}
	if int(index) >= len(m.flows) {
		m.flows = append(m.flows, make([]markFlow, int(index)+1-len(m.flows))...)
	}
	f := &m.flows[index]
	if len(f.entries) == 0 {
		m.generations++
		*f = markFlow{generation: m.generations}
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

// Bits of the third byte of an AltMark option's data: FlowMonID 20 bits, L, D.
const (
	altMarkOption = 0x12
	optionLoss    = 1 << 3
	optionDelay   = 1 << 2
)

// findAltMark looks for an AltMark option in an options header (RFC 8200, section
// 4.2), which begins at off behind the IPv6 header's begin.
func (h *headers) findAltMark(b []byte, off int) {
	for i := 2; i < len(b) && h.altMark == 0; {
		if b[i] == 0 { // Pad1
			i++
			continue
		}
		if i+2 > len(b) {
			return
		}
		n := int(b[i+1])
		if i+2+n > len(b) {
			return
		}
		if b[i] == altMarkOption && n == 4 {
			h.altMark, h.altFlags = uint16(off+i+4), b[i+4]&(optionLoss|optionDelay)
		}
		i += 2 + n
	}
}

// marks are the bits that a copy leaves with: those in the masks.
type marks struct {
	dscpMask, dscp         uint8
	reservedMask, reserved bool
	optionMask, option     uint8
}

// write notes what a mark is to be.
func (e *edit) write(m altmark.Mark, bit uint8) {
	var option uint8
	switch m {
	case altmark.NoMark:
		return
	case altmark.IPv4Reserved:
		e.marks.reservedMask, e.marks.reserved = true, bit == 1
	case altmark.IPv6Loss:
		option = optionLoss
	case altmark.IPv6Delay:
		option = optionDelay
	default:
		e.marks.dscpMask |= m.DSCPBit()
		e.marks.dscp = e.marks.dscp&^m.DSCPBit() | m.DSCPBit()*bit
	}
	if option != 0 {
		e.marks.optionMask |= option
		e.marks.option = e.marks.option&^option | option*bit
	}
}

// tos returns a traffic class with the marks in its DSCP.
func (m *marks) tos(tos uint8) uint8 { return tos&^(m.dscpMask<<2) | m.dscp<<2 }

// apply writes the marks to an IP header.
func (m *marks) apply(ip []byte, v4 bool) {
	switch {
	case !v4 && m.dscpMask != 0:
		word := binary.BigEndian.Uint16(ip)
		tos := m.tos(uint8(word >> 4))
		binary.BigEndian.PutUint16(ip, word&0xf00f|uint16(tos)<<4)
	case v4 && m.dscpMask != 0:
		changeWord(ip, 0, uint16(ip[0])<<8|uint16(m.tos(ip[1])))
	}
	if v4 && m.reservedMask {
		frag := binary.BigEndian.Uint16(ip[6:]) &^ 0x8000
		if m.reserved {
			frag |= 0x8000
		}
		changeWord(ip, 6, frag)
	}
}

// applyOption writes the marks to the AltMark option at offset at of the IPv6
// header.
func (m *marks) applyOption(ip []byte, at uint16) {
	if m.optionMask != 0 && at != 0 {
		ip[at] = ip[at]&^m.optionMask | m.option
	}
}

// changeWord changes a word of an IPv4 header; one that stays leaves the checksum
// alone, right or wrong.
func changeWord(ip []byte, at int, v uint16) {
	if old := binary.BigEndian.Uint16(ip[at:]); old != v {
		binary.BigEndian.PutUint16(ip[at:], v)
		fixChecksum(ip, old, v)
	}
}

// markTimeOf is a timestamp as alternate marking has it.
func markTimeOf(t tailstamp.Timestamp) altmark.Time {
	return altmark.Time{Seconds: t.Seconds, Nanoseconds: t.Nanoseconds}
}
