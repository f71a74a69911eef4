package reference

import (
	"encoding/binary"
	"slices"

	"tamtam/sai"
	"tamtam/saisim"
)

// sessionsOf returns the indexes of mirror sessions.
func (conf *config) sessionsOf(oids []sai.OID) (set []int) {
	for _, m := range conf.Mirrors {
		if slices.Contains(oids, m.OID) {
			set = append(set, m.Index)
		}
	}
	return set
}

// mirroring returns the sessions that the ACLs mirror to: those of the hit that
// decides among the hits that name any.
func (conf *config) mirroring(hits []hit, id sai.AttrID) []int {
	var naming []hit
	for _, h := range hits {
		if v, _ := action([]hit{h}, id); v != nil && len(conf.sessionsOf(v.(sai.OIDs))) > 0 {
			naming = append(naming, h)
		}
	}
	v, _ := action(naming, id)
	if v == nil {
		return nil
	}
	return conf.sessionsOf(v.(sai.OIDs))
}

// mirror queues a copy of a copy for each of some sessions, in the order of their
// indexes, by the configuration of this cycle.
func (c *Chip) mirror(set []int, o outgoing) {
	sessions := slices.Clone(c.conf.Mirrors)
	slices.SortFunc(sessions, func(a, b saisim.MirrorRow) int { return a.Index - b.Index })
	for _, m := range sessions {
		if !slices.Contains(set, m.Index) {
			continue
		}
		c.books.Copies++
		copied := o
		copied.mirror = &m
		to, ok := m.Monitor, true
		if _, lag := c.conf.lags[to]; lag {
			to, ok = c.conf.chooseMember(to, o.h)
		}
		if !ok {
			c.drop(c.portAt(o.in), saisim.DropNoLAGMember)
			continue
		}
		c.enqueue(c.portWith(to), &copied)
	}
}

// mirroredLength is the length of a session's copy of a frame of n bytes.
func mirroredLength(m *saisim.MirrorRow, n int) int {
	if m.Truncate != 0 {
		n = min(n, m.Truncate)
	}
	switch m.Type {
	case sai.MirrorSessionTypeRemote:
		return n + 4
	case sai.MirrorSessionTypeEnhancedRemote:
		return n + len(erspan(m, n, false, nil, 0))
	}
	return n
}

// mirrored makes a session's copy of a frame that had length bytes before a
// capture cut it; sequence counts the copies of the session as they leave.
func mirrored(m *saisim.MirrorRow, frame []byte, length int, sequence uint32) []byte {
	cut := m.Truncate != 0 && length > m.Truncate
	if cut {
		frame, length = frame[:min(len(frame), m.Truncate)], m.Truncate
	}
	switch m.Type {
	case sai.MirrorSessionTypeRemote:
		tagged := append([]byte{}, frame[:12]...)
		tagged = binary.BigEndian.AppendUint16(tagged, m.TPID)
		tagged = binary.BigEndian.AppendUint16(tagged, m.TCI)
		return append(tagged, frame[12:]...)
	case sai.MirrorSessionTypeEnhancedRemote:
		return append(erspan(m, length, cut, frame, sequence), frame...)
	}
	return frame
}

// erspan makes what comes before a mirrored frame of n bytes: Ethernet, IP, GRE
// and, of type II, the sequence number and the ERSPAN header.
func erspan(m *saisim.MirrorRow, n int, cut bool, frame []byte, sequence uint32) []byte {
	u16, u32 := binary.BigEndian.AppendUint16, binary.BigEndian.AppendUint32
	typeII := m.Encap == sai.ErspanEncapsulationTypeIi
	gre := u16(nil, m.GREFlags)
	if typeII {
		gre = u16(nil, m.GREFlags|0x1000) // sequence number present
	}
	gre = u16(gre, m.GREType)
	if typeII {
		word := 1<<28 | uint32(m.Session)
		if len(frame) >= 16 && binary.BigEndian.Uint16(frame[12:]) == 0x8100 {
			tci := uint32(binary.BigEndian.Uint16(frame[14:]))
			word |= tci & 0xfff << 16 // VLAN
			word |= tci >> 13 << 13   // class of service
			word |= 3 << 11           // the tag is in the frame
		}
		if cut {
			word |= 1 << 10
		}
		gre = u32(u32(u32(gre, sequence), word), 0)
	}
	b := append(append([]byte{}, m.DMAC[:]...), m.SMAC[:]...)
	if m.Tagged {
		b = u16(u16(b, m.TPID), m.TCI)
	}
	if m.Src.Is4() {
		ip := []byte{0x45, m.TOS}
		ip = u16(ip, uint16(20+len(gre)+n))
		ip = append(ip, 0, 0, 0x40, 0, m.TTL, 47, 0, 0)
		ip = append(append(ip, m.Src.AsSlice()...), m.Dst.AsSlice()...)
		binary.BigEndian.PutUint16(ip[10:], checksum(ip))
		return append(append(u16(b, 0x0800), ip...), gre...)
	}
	ip := []byte{0x60 | m.TOS>>4, m.TOS << 4, 0, 0}
	ip = append(u16(ip, uint16(len(gre)+n)), 47, m.TTL)
	ip = append(append(ip, m.Src.AsSlice()...), m.Dst.AsSlice()...)
	return append(append(u16(b, 0x86dd), ip...), gre...)
}
