package engine

import (
	"encoding/binary"

	"tamtam/saisim/profile"
	"tamtam/saisim/tailstamp"
	"tamtam/tam/altmark"
	"tamtam/tam/ifa"
)

// A markTime is the arrival time of a packet, as alternate marking uses it.
type markTime struct {
	at     altmark.Time
	unsync bool
}

// markReading returns when a packet arrived, by the chip's time of day.
func (c *marking) markReading(pk *packet) markTime { return c.markReadingAt(pk.rx) }

func (c *marking) markReadingAt(at Cycle) markTime {
	t, unsync := c.timeOfDay(at)
	return markTime{markTimeOf(t), unsync}
}

// timeLookup does step 1 of alternate marking: it returns the nibbles of all lanes.
func (m *marking) timeLookup(pk *packet, t altmark.Time) (meta uint32) {
	left := m.used
	for i := 0; left > 0; i++ {
		p := m.lanes[i]
		if p == nil {
			continue
		}
		if left--; !m.eligible(p, pk) {
			continue
		}
		q := p.s.Interval.Quarter(t)
		meta |= (8 | uint32(q&3)<<1 | uint32(p.colour(pk, q))) << (4 * p.lane)
	}
	return meta
}

func (m *marking) eligible(p *markProfile, pk *packet) bool {
	if p.encap {
		return m.outers.mayWrap(pk)
	}
	return pk.hasMark(p.s.Mark) && (p.s.Mark2 == altmark.NoMark || pk.hasMark(p.s.Mark2))
}

// colour returns the colour of a packet that arrived in the quarter q.
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

// hasMark reports whether the packet has the header bit that carries the mark.
func (pk *packet) hasMark(m altmark.Mark) bool {
	switch {
	case m == altmark.IPv4Reserved:
		return pk.h.flags&flagIPv4 != 0
	case m.DSCPBit() != 0:
		return pk.h.flags&flagIP != 0
	}
	return pk.h.altMark != 0
}

// markBit returns the mark's bit as received. It reads the packet because a program may have changed pk.h.
func (pk *packet) markBit(m altmark.Mark) uint8 {
	var set bool
	ip := pk.data[pk.h.l3:]
	switch m {
	case altmark.IPv4Reserved:
		set = ip[6]&0x80 != 0
	case altmark.IPv6Loss:
		set = pk.h.altFlags&optionLoss != 0
	case altmark.IPv6Delay:
		set = pk.h.altFlags&optionDelay != 0
	default:
		tos := ip[1]
		if pk.h.flags&flagIPv6 != 0 {
			tos = uint8(binary.BigEndian.Uint16(ip) >> 4)
		}
		set = tos>>2&m.DSCPBit() != 0
	}
	if set {
		return 1
	}
	return 0
}

// marked reports whether a packet arrived with a mark of the profile.
func (pk *packet) marked(p *markProfile) bool {
	return pk.markBit(p.s.Mark) == 1 || p.s.Mark2 != altmark.NoMark && pk.markBit(p.s.Mark2) == 1
}

// mark does steps 3 to 5 for a packet that hit a flow's entry.
func (c *marking) mark(pk *packet, entry uint32, t markTime) {
	p := c.lanes[entry>>24&(profile.MarkLanes-1)]
	index := int(entry & (1<<23 - 1))
	if p == nil || entry>>24&0xf >= profile.MarkLanes || index >= len(c.flows) || !c.eligible(p, pk) {
		return
	}
	f := &c.flows[index]
	if p.encap && !c.outers.wrapped(pk, index, f.outer) {
		return
	}
	q := p.s.Interval.Quarter(t.at)
	switch {
	case p.s.Role == altmark.Initiator:
		if pk.marked(p) {
			x := &f.of[q>>2&1]
			x.foreign, x.foreignBytes = x.foreign+1, x.foreignBytes+uint64(pk.length+fcsLen)
			if p.s.Foreign == altmark.DropForeign {
				pk.aclDrop, pk.act = true, pk.act|actDrop
				return
			}
		}
		f.initiate(p, pk, q, t, &c.regs[index])
		pk.edit.dscpKept = p.dscp
		if p.s.MeanDelay {
			c.sumUp(p, pk, index, q, t)
		}
		return
	case pk.late:
		f.followLate(p, pk, q, t, c.markReadingAt(pk.rx-pk.lateBy))
	case p.s.Method == altmark.Muxed && !p.s.SlotSync:
		f.followSteps(p, pk, q, t)
	default:
		f.follow(p, pk, q, t)
	}
	if p.s.MeanDelay {
		c.sumUp(p, pk, index, q, t)
	}
	if c.outers.unwrapped(p.s.Role, pk, index, f.outer) {
		return
	}
	if p.s.Clear {
		pk.edit.write(p.s.Mark, 0)
		pk.edit.write(p.s.Mark2, 0)
		return
	}
	pk.edit.dscpKept = p.dscp
}

// sumUp does step 7 for a packet that arrived at t, in the quarter q, with marks that were read.
func (c *marking) sumUp(p *markProfile, pk *packet, index int, q uint64, t markTime) {
	colour := p.colour(pk, q)
	if p.s.Method == altmark.Muxed && !p.s.SlotSync && p.s.Role != altmark.Initiator {
		colour = c.flows[index].colour
	}
	if pk.late {
		t = c.markReadingAt(pk.rx - pk.lateBy)
	}
	c.arrivals[index][colour].Add(t.at, t.unsync)
}

// initiate marks a packet, by tables 1, 3 and 5. reg is the flow's Reg.
func (f *markFlow) initiate(p *markProfile, pk *packet, q uint64, t markTime, reg *uint8) {
	timeBit, pulse := uint8(q>>2&1), uint8(0)
	if p.s.Method != altmark.Step && !pk.late {
		next, may := timeBit, true
		if p.s.Method == altmark.Muxed {
			if may = q&3 == 2; may {
				next ^= 1
			}
		}
		old := *reg
		*reg = next
		if may && old != next {
			pulse = 1
			f.of[timeBit].capture(pk, t)
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

// followLate reads the marks of a packet that was given to the chip late. own is the time of its real arrival.
func (f *markFlow) followLate(p *markProfile, pk *packet, q uint64, t, own markTime) {
	was := [2]uint64{f.of[0].captures, f.of[1].captures}
	slots, pulse := p.s.Method != altmark.Muxed || p.s.SlotSync, false
	if slots {
		f.follow(p, pk, q, t)
	} else {
		f.followSteps(p, pk, q, t)
	}
	for colour := range f.of {
		if x := &f.of[colour]; x.captures != was[colour] {
			x.at, x.unsync, pulse = own.at, own.unsync, true
		}
	}
	switch {
	case p.s.Method == altmark.Pulse:
	case !slots:
		if counts := p.counts(q, f.colour, t.at); t.at.Sub(own.at)+p.guard-p.early >= p.gap || p.before(own.at, counts) {
			f.late.Add(p.since(own.at, counts))
		}
	default:
		counts := p.counts(q, p.colour(pk, q), t.at)
		slot := p.s.Method == altmark.Muxed && pulse && p.s.Interval.Quarter(own.at) <= counts<<2
		if slot || p.before(own.at, counts) {
			f.late.Add(p.since(own.at, counts))
		}
	}
}

// counts returns the period in which a packet of a colour is counted. q is the quarter in which the packet arrives,
// numbered from time 0.
func (p *markProfile) counts(q uint64, colour uint8, t altmark.Time) uint64 {
	n, k := p.s.Interval, q>>2
	switch {
	case uint8(k&1) == colour:
		return k
	case k == 0 || n.Period(t.Add(p.early)) > k || n.Within(t, p.guard, p.early):
		return k + 1
	}
	return k - 1
}

// before reports whether a packet that arrived at t belongs to a period before k.
func (p *markProfile) before(t altmark.Time, k uint64) bool {
	return p.s.Interval.Period(t.Add(p.early)) < k
}

// since returns the periods up to k to which a packet that arrived at t may belong.
func (p *markProfile) since(t altmark.Time, k uint64) altmark.LatePeriods {
	return altmark.LatePeriods{First: min(p.s.Interval.Period(t.Add(-p.guard)), k), Last: k}
}

// follow reads the marks of a packet, by tables 2, 4 and 6.
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
		f.of[colour].capture(pk, t)
	}
	if p.s.Method != altmark.Pulse {
		f.window(p, colour, timeBit, t)
	}
}

// followSteps distinguishes steps from pulses by the mark only.
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
			f.of[f.colour].capture(pk, t)
			f.of[f.colour].pulseBytes += uint64(pk.length + fcsLen)
		}
	}
	f.arrived = t.at
	if gap {
		f.of[f.colour].outside++
	}
	f.window(p, f.colour, uint8(q>>2&1), t)
}

// window counts a packet that arrived when only packets of the other colour may arrive. It is too late for the previous
// period and too early for the next one.
func (f *markFlow) window(p *markProfile, colour, timeBit uint8, t markTime) {
	if colour != timeBit && p.s.Interval.Within(t.at, p.guard, p.early) {
		f.of[colour].outside++
	}
}

// counted returns a flow's counts. The generation is 0 if the flow has never begun.
func (m *marking) counted(index uint32) (flow altmark.ChipFlow) {
	if int(index) >= len(m.flows) {
		return flow
	}
	f := &m.flows[index]
	flow.Generation, flow.Late = f.generation, f.late
	if f.outer != nil {
		flow.Outer = *f.outer
	}
	for colour := range flow.Of {
		packets, bytes := f.counts(uint32(colour))
		x := &f.of[colour]
		flow.Of[colour] = altmark.ChipCounts{
			Packets: packets, Bytes: bytes, Captures: x.captures, Captured: x.at, Unsynchronised: x.unsync,
			Outside: x.outside, PulseBytes: x.pulseBytes,
			Foreign: x.foreign, ForeignBytes: x.foreignBytes, Digest: x.digest, Arrivals: m.arrivals[index][colour],
		}
	}
	return flow
}

func (x *markColour) capture(pk *packet, t markTime) {
	x.captures++
	x.at = t.at
	x.unsync = t.unsync
	x.digest = pk.digest()
}

// digestBytes is the number of bytes of an IP packet that its digest covers.
const digestBytes = 80

// digest returns a value that identifies a packet. It is the same at every switch on the packet's path. The digest
// excludes the parts that switches change: marks and congestion, TTL, checksums, IFA, and the MSS of a TCP segment with
// SYN.
func (pk *packet) digest() uint32 {
	var b [digestBytes]byte
	var h headers
	h.parse(pk.data, pk.length) // a program may have changed pk.h
	ip, v4 := h.datagram(pk.data), h.flags&flagIPv4 != 0
	if h.ifa == 0 {
		copy(b[:], ip)
	} else {
		p, _ := ifa.Locate(ip)
		p.CopyPlain(b[:], ip)
	}
	if h.flags&flagTCP != 0 && h.tcpFlags&tcpSYN != 0 {
		leaveOutMSS(b[:], ip, int(h.ifa), v4)
	}
	if v4 {
		b[1], b[8], b[10], b[11] = 0, 0, 0, 0
		b[6] &^= 0x80
	} else {
		b[0], b[1], b[7] = b[0]&0xf0, b[1]&0x0f, 0
		if at := int(h.altMark); at > 0 && at < digestBytes {
			b[at] &^= optionLoss | optionDelay
		}
	}
	var x uint64
	for at := 0; at < digestBytes; at += 8 {
		x = mixHash(x, binary.BigEndian.Uint64(b[at:]))
	}
	return endHash(x)
}

// leaveOutMSS zeroes TCP's checksum and options in b. b holds the beginning of ip without IFA. before is the offset of
// the IFA header in ip, 0 if there is none.
func leaveOutMSS(b, ip []byte, before int, v4 bool) {
	at, tcp := before, before+ifa.HeaderSize
	if before == 0 {
		at = tcpHeader(ip, v4)
		tcp = at
	}
	clear(b[min(at+16, len(b)):min(at+18, len(b))])
	clear(b[min(at+20, len(b)):min(at+max(20, int(ip[tcp+12]>>4)*4), len(b))])
}

// markTimeOf converts a timestamp to the form that alternate marking uses.
func markTimeOf(t tailstamp.Timestamp) altmark.Time {
	return altmark.Time{Seconds: t.Seconds, Nanoseconds: t.Nanoseconds}
}
