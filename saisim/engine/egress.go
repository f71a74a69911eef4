package engine

import (
	"encoding/binary"

	"tamtam/saisim/describe"
	"tamtam/saisim/drop"
)

// egressPipe is the egress pipe with its fixed functions.
type egressPipe struct {
	*core
	programs  *programs
	recording *recording
	fates     *fates
	acl       *acl
	sketch    *sketching
	ifa       analysing
	wrapped   []byte // buffer for a mirrored frame
}

// run runs the egress pipe for a copy, and notes which session stamps it and whether it can be stamped. It returns the
// length with which the copy leaves, and false if it was dropped.
func (c *egressPipe) run(p *port, cp *copyOf) (length int, ok bool) {
	pk := cp.pk
	pk.whole()
	c.egressMet.empty()
	fixed := pk.fixed
	if cp.mirror == nil {
		fixed |= c.sketch.count(cp)
	}
	runs := pk.run != nil && !cp.raw && cp.mirror == nil
	if runs && !c.programs.runEgress(p, cp) {
		c.fates.dropInside(p, cp, fixed, runs, drop.EgressProgram)
		return 0, false
	}
	c.ifa.decideIFA(p, cp)
	length = cp.leavingLen()
	fixed |= describe.MTU.Ran()
	if uint32(length)+fcsLen > p.mtu {
		cp.tooLong()
		c.fates.dropInside(p, cp, fixed, runs, drop.EgressMTU)
		return 0, false
	}
	if cp.mirror != nil {
		return length, true
	}
	fixed |= describe.MTU.Hit()
	cp.session = pk.stamp
	mirrors, due := p.mirror[stageEgress], (*sampleDue)(nil)
	if len(p.tables[stageEgress]) > 0 || c.acl.vlanACLs[stageEgress] {
		var hit hits
		if runs {
			c.lookupRewritten(p, cp, &hit)
		} else {
			c.acl.lookupEgress(p, cp, &hit)
		}
		fixed |= hit.marks
		if hit.does&doesSample != 0 {
			due = c.chosen(nil, &hit.samples, stageEgress)
		}
		if hit.act&actDrop != 0 {
			c.sampledDrop(due, p, cp, drop.EgressACL)
			c.fates.dropInside(p, cp, fixed, runs, drop.EgressACL)
			return 0, false
		}
		if hit.stamp.entry != nil {
			cp.session = hit.stamp.entry.stamp
		}
		if hit.mirror.entry != nil {
			mirrors |= hit.mirror.entry.mirrors
		}
	}
	if runs && !c.programs.finishEgress(p, cp) {
		c.sampledDrop(due, p, cp, drop.EgressProgram)
		c.fates.dropInside(p, cp, fixed, runs, drop.EgressProgram)
		return 0, false
	}
	mirrors &^= c.recorders
	if x := p.sampled[stageEgress]; x != nil && x.chooses() {
		due = c.due(x, due)
	}
	if mirrors != 0 || due != nil {
		c.copiedAtEnd(mirroring{set: mirrors, due: due, copy: *cp}, p) // a copy of its own, because cp leaves earlier
	}
	if cp.session != nil {
		fixed |= describe.Stamp.Ran()
		if cp.result = cp.stampResult(p, length); cp.result == stampDone {
			fixed |= describe.Stamp.Hit()
			length = stampedLen(length)
		}
	}
	if pk.graph != nil {
		c.letThrough(p, cp, fixed, runs)
	}
	if pk.chosen {
		cp.met = c.spares.met.get()
		*cp.met = c.egressMet
	}
	return length, true
}

// stampResult returns whether a copy that leaves with a length can be stamped.
func (cp *copyOf) stampResult(p *port, length int) stampResult {
	if cp.shortened() {
		return stampCut
	}
	return stampable(cp.pk, length, p.stampMTU)
}

// lookupRewritten does lookupEgress for a copy, with the headers that the program has left so far.
func (c *egressPipe) lookupRewritten(p *port, cp *copyOf, hit *hits) {
	pk := cp.pk
	if pk.run.program.Writes(true)&headerWords == 0 {
		c.acl.lookupEgress(p, cp, hit)
		return
	}
	old := pk.heading()
	h := headingOf(c.programs.phv, alone)
	h.into(pk)
	c.acl.lookupEgress(p, cp, hit)
	old.into(pk) // other copies share the packet's headers
}

// letThrough handles a copy that leaves the egress pipe.
func (c *egressPipe) letThrough(p *port, cp *copyOf, fixed describe.Marks, runs bool) {
	was := c.recording.through(cp, fixed, runs)
	t := cp.endsAt(p, was, 0)
	t.inside = true
	c.fates.ended(cp, t)
	if c.observer != nil {
		cp.watched = true
		p.trails.Push(was.trail(cp.pk.graph))
	}
}

// copiedAtEnd schedules mirroring and sampling of a copy for the time when it leaves the egress pipe of a port.
func (c *egressPipe) copiedAtEnd(m mirroring, p *port) {
	cp := &m.copy
	cp.head, cp.lane = c.programs.copyHeading(cp.head), p.id
	cp.ifa, cp.met = nil, nil
	c.leave(m)
}

// sampledDrop does copiedAtEnd for a copy that the pipe drops and that samplers of entries have chosen, if there are
// such samplers.
func (c *egressPipe) sampledDrop(due *sampleDue, p *port, cp *copyOf, why drop.Reason) {
	if due != nil {
		c.copiedAtEnd(mirroring{due: due, copy: *cp, why: why}, p)
	}
}

// edited returns a copy's frame as it leaves, and its length. A mirrored frame is in c.wrapped. Other frames are in
// c.spares.scratch if own is true.
func (c *egressPipe) edited(cp *copyOf, own bool) ([]byte, int) {
	cp.pk.whole()
	if cp.mirror == nil {
		return c.unwrapped(cp, own)
	}
	data, length := c.unwrapped(cp, false)
	received, _ := c.timeOfDay(cp.pk.rx)
	c.wrapped = cp.mirror.wrap(c.wrapped[:0], data, length, received, !cp.raw)
	return c.wrapped, cp.mirror.length(length)
}

// unwrapped returns the frame that leaves, or the one that a mirror session copies. If nothing changes and own is
// false, it is the packet's own data. Otherwise it is in c.spares.scratch.
func (c *egressPipe) unwrapped(cp *copyOf, own bool) ([]byte, int) {
	pk, t, b := cp.pk, cp.tag, c.spares.scratch[:0]
	edits := !cp.raw && (pk.edited || cp.head != nil) || cp.ce
	l3, length := int(pk.h.l3), pk.length
	switch {
	case t.op == tagStrip && len(pk.data) >= ethernetHeader+4:
		b = append(append(b, pk.data[:12]...), pk.data[16:]...)
		l3, length = l3-4, length-4
	case t.op == tagPush:
		b = append(b, pk.data[:12]...)
		b = append(b, etherVLAN>>8, etherVLAN&0xff, byte(t.vid>>8), byte(t.vid))
		b = append(b, pk.data[12:]...)
		l3, length = l3+4, length+4
	case t.op == tagSet && len(pk.data) >= ethernetHeader+2:
		b = append(b, pk.data...)
		tci := binary.BigEndian.Uint16(b[14:])
		binary.BigEndian.PutUint16(b[14:], tci&0xf000|t.vid)
	case own || edits || cp.ifa != nil || cp.trimmed:
		b = append(b, pk.data...)
	default:
		return pk.data, length
	}
	switch v4 := pk.h.flags&flagIPv4 != 0; {
	case cp.head != nil:
		cp.head.apply(b, l3, pk.h.flags)
		pk.edit.marks.applyOption(b[l3:], pk.h.altMark)
		pk.edit.mss.apply(b[l3:])
	case edits:
		pk.edit.apply(b, l3, v4, pk.h.altMark)
		if cp.ce {
			markCE(b[l3:], v4)
		}
	}
	if cp.trimmed {
		b, length = cp.trim(b, l3), cp.taggedLen()
	}
	if cp.ifa != nil {
		b = c.putIFA(b, l3, cp)
		length += cp.ifa.longer
	}
	return b, length
}
