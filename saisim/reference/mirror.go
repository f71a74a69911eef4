package reference

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"tamtam/saisim/config"
	"tamtam/saisim/drop"
	"tamtam/saisim/tailstamp"
	"tamtam/tam/ifa"
)

// sessionsOf returns the indexes of mirror sessions.
func (conf *settings) sessionsOf(oids []config.ID) (set []int) {
	for _, m := range conf.Mirrors {
		if slices.Contains(oids, m.ID) {
			set = append(set, m.Index)
		}
	}
	return set
}

// mirroring returns the sessions to which the ACLs mirror: the sessions of the deciding hit among the hits that name
// sessions.
func (conf *settings) mirroring(hits []hit, kind config.ACLActionKind) []int {
	var naming []hit
	for _, h := range hits {
		if len(conf.sessionsOf(h.entry.Of(kind))) > 0 {
			naming = append(naming, h)
		}
	}
	a, _ := action(naming, kind)
	if a == nil {
		return nil
	}
	return conf.sessionsOf(a.Of)
}

// mirror queues a mirrored copy of o for each of the given sessions, in the order of their indexes. It uses the
// configuration of this cycle.
func (c *Chip) mirror(set []int, o outgoing) {
	for _, m := range c.conf.mirrorsByIndex {
		noTunnel := m.Kind == config.MirrorSFlow
		if !slices.Contains(set, m.Index) || noTunnel || records(m) {
			continue
		}
		c.mirrorTo(&m, o)
	}
}

// mirrorTo queues a copy of a copy for a session.
func (c *Chip) mirrorTo(m *config.Mirror, o outgoing) {
	c.frameCounts.Copies++
	if o.job != nil {
		o.job.count(ifa.Reported)
	}
	o.mirror, o.asked, o.queue, o.depth, o.own, o.behind = m, false, 0, 0, nil, false
	to, ok := m.Monitor, true
	if _, lag := c.conf.lags[to]; lag {
		to, ok = c.conf.chooseMember(to, o.packet)
	}
	if !ok {
		c.lose(c.portAt(o.in), &o, drop.NoLAGMember)
		return
	}
	c.enqueue(c.portWith(to), &o)
}

// noRecording returns the sessions of a set that make copies.
func (conf *settings) noRecording(set []int) []int {
	return slices.DeleteFunc(set, func(i int) bool {
		return slices.ContainsFunc(conf.Mirrors, func(m config.Mirror) bool { return m.Index == i && records(m) })
	})
}

// mirroredLength returns the length of a session's copy of a frame of n bytes, including the trailer.
func mirroredLength(o *outgoing, n int) int {
	m, trailer := o.mirror, o.trailer
	if m.Truncate != 0 {
		n = min(n, m.Truncate)
	}
	n += len(trailer)
	switch m.Kind {
	case config.MirrorRemote:
		return n + 4
	case config.MirrorERSPAN:
		gre := 4
		switch m.Tunnel.ERSPAN { // length of the sequence number and of the ERSPAN header
		case 2:
			gre += 4 + 8
		case 3:
			gre += 4 + 12
		}
		return n + outerLength(m, m.Tunnel.Src) + gre
	case config.MirrorSFlow:
		return n + outerLength(m, o.recorder.Tunnel.Src) + 8
	}
	return n
}

// mirrored makes a session's copy of a frame that had length bytes before a capture cut it, with the trailer after the
// frame. sequence counts the copies of the session as they leave. received is the time of the frame's arrival.
func mirrored(o *outgoing, frame []byte, length int, sequence uint32, received tailstamp.Timestamp) []byte {
	m, trailer := o.mirror, o.trailer
	cut := m.Truncate != 0 && length > m.Truncate
	if cut {
		frame, length = frame[:min(len(frame), m.Truncate)], m.Truncate
	}
	switch m.Kind {
	case config.MirrorRemote:
		tagged := append([]byte{}, frame[:12]...)
		tagged = binary.BigEndian.AppendUint16(tagged, m.TPID)
		tagged = binary.BigEndian.AppendUint16(tagged, m.TCI)
		return slices.Concat(tagged, frame[12:], trailer)
	case config.MirrorERSPAN:
		says := copyHeader{cut: cut, sequence: sequence, received: received, leaves: !o.raw}
		return slices.Concat(erspan(m, length+len(trailer), frame, says), frame, trailer)
	case config.MirrorSFlow:
		return slices.Concat(overUDP(m, o.recorder.Tunnel, length+len(trailer)), frame, trailer)
	}
	return slices.Concat(frame, trailer)
}

// A copyHeader holds the values of an ERSPAN header for a copy.
type copyHeader struct {
	cut, leaves bool
	sequence    uint32
	received    tailstamp.Timestamp
}

// erspan returns the headers of a mirrored frame of n bytes: Ethernet, IP, GRE and, for types II and III, the sequence
// number and the ERSPAN header.
func erspan(m *config.Mirror, n int, frame []byte, says copyHeader) []byte {
	u16, u32 := binary.BigEndian.AppendUint16, binary.BigEndian.AppendUint32
	version := m.Tunnel.ERSPAN
	gre := u16(nil, m.Tunnel.GREFlags)
	if version != 0 {
		gre = u16(nil, m.Tunnel.GREFlags|0x1000) // sequence number present
	}
	gre = u16(gre, m.Tunnel.GREType)
	word := uint32(m.Tunnel.Session)
	if tagged := len(frame) >= 16 && binary.BigEndian.Uint16(frame[12:]) == 0x8100; tagged {
		tci := uint32(binary.BigEndian.Uint16(frame[14:]))
		word |= tci & 0xfff << 16 // VLAN
		word |= tci >> 13 << 13   // class of service
		if version == 2 {
			word |= 3 << 11 // the tag is in the frame
		}
	}
	if says.cut {
		word |= 1 << 10
	}
	switch version {
	case 2:
		gre = u32(u32(u32(gre, says.sequence), 1<<28|word), 0)
	case 3:
		gre = u32(u32(gre, says.sequence), 2<<28|word)
		gre = u32(gre, uint32((says.received.Seconds*1e9+uint64(says.received.Nanoseconds))/100))
		last := uint32(0x8000 | 2) // a frame of Ethernet, times in units of 100 ns
		if says.leaves {
			last |= 8
		}
		gre = u32(gre, last)
	}
	return append(outer(m, ends{m.Tunnel.Src, m.Tunnel.Dst, m.Tunnel.SMAC, m.Tunnel.DMAC, m.Tunnel.TOS}, 47, len(gre)+n),
		gre...)
}

// overUDP returns the headers of n bytes of a session that sends by UDP.
func overUDP(m *config.Mirror, t *config.RecordTunnel, n int) []byte {
	b := outer(m, ends{t.Src, t.Dst, t.SMAC, t.DMAC, t.TOS}, 17, 8+n)
	for _, x := range []uint16{m.UDPSrc, m.UDPDst, uint16(8 + n), 0} {
		b = binary.BigEndian.AppendUint16(b, x)
	}
	return b
}

// ends holds the addresses of a tunnel.
type ends struct {
	src, dst   netip.Addr
	smac, dmac config.MAC
	tos        uint8
}

// outerLength returns the length of the headers that [outer] makes.
func outerLength(m *config.Mirror, src netip.Addr) int {
	n := 14
	if m.Tunnel.Tagged {
		n += 4
	}
	if src.Is4() {
		return n + 20
	}
	return n + 40
}

// outer returns the Ethernet and IP headers of n bytes of a protocol.
func outer(m *config.Mirror, e ends, protocol byte, n int) []byte {
	u16 := binary.BigEndian.AppendUint16
	b := append(append([]byte{}, e.dmac[:]...), e.smac[:]...)
	if m.Tunnel.Tagged {
		b = u16(u16(b, m.TPID), m.TCI)
	}
	if e.src.Is4() {
		ip := []byte{0x45, e.tos}
		ip = u16(ip, uint16(20+n))
		ip = append(ip, 0, 0, 0x40, 0, m.Tunnel.TTL, protocol, 0, 0)
		ip = append(append(ip, e.src.AsSlice()...), e.dst.AsSlice()...)
		binary.BigEndian.PutUint16(ip[10:], checksum(ip))
		return append(u16(b, 0x0800), ip...)
	}
	ip := []byte{0x60 | e.tos>>4, e.tos << 4, 0, 0}
	ip = append(u16(ip, uint16(n)), protocol, m.Tunnel.TTL)
	ip = append(append(ip, e.src.AsSlice()...), e.dst.AsSlice()...)
	return append(u16(b, 0x86dd), ip...)
}
