package engine

import (
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
}

// run runs the egress pipe for a copy, and notes in it which session stamps it and what
// becomes of that. It returns the length with which the copy leaves, false if it was
// dropped.
func (c *egressPipe) run(p *port, cp *copyOf) (length int, ok bool) {
	pk := cp.pk
	pk.whole()
	c.egressMet.empty()
	fixed := pk.fixed
	if cp.mirror == nil {
		c.sketch.copies++
		if c.sketch.on {
			fixed |= describe.FlyMon.Ran()
			c.sketch.measure(cp)
		}
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
		c.fates.dropInside(p, cp, fixed, runs, drop.EgressMTU)
		return 0, false
	}
	if cp.mirror != nil {
		return length, true
	}
	fixed |= describe.MTU.Hit()
	cp.session = pk.stamp
	mirrors := p.mirror[stageEgress]
	if len(p.tables[stageEgress]) > 0 || c.acl.vlanACLs[stageEgress] {
		var hit hits
		if runs {
			c.lookupRewritten(p, cp, &hit)
		} else {
			c.acl.lookupEgress(p, cp, &hit)
		}
		fixed |= hit.marks
		if hit.act&actDrop != 0 {
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
		c.fates.dropInside(p, cp, fixed, runs, drop.EgressProgram)
		return 0, false
	}
	mirrors &^= c.recorders
	if x := p.samplers[stageEgress].choose(stageEgress, &p.sampling[stageEgress]); mirrors != 0 || x.from != nil {
		c.copiedAtEnd(mirrors, x, p, *cp)
	}
	if cp.session != nil {
		fixed |= describe.Stamp.Ran()
		cp.result = stampable(pk, length, p.stampMTU)
		if cp.result == stampDone {
			fixed |= describe.Stamp.Hit()
			length = stampedLen(length)
		}
	}
	if pk.graph != nil {
		c.letThrough(p, cp, fixed, runs)
	}
	if pk.chosen {
		cp.met = c.newEgressMet()
		*cp.met = c.egressMet
	}
	return length, true
}

// lookupRewritten is lookupEgress for a copy with the headers that the program has
// left so far.
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
	old.into(pk) // which other copies share
}

// letThrough is called with copies that leave the egress pipe.
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

// copiedAtEnd has a copy mirrored and sampled when it is through the egress pipe of a port.
func (c *egressPipe) copiedAtEnd(set uint64, x sampleDue, p *port, cp copyOf) { // its own: the copy leaves before
	cp.head, cp.lane = c.programs.copyHeading(cp.head), p.id
	cp.ifa, cp.met = nil, nil
	c.leave(mirroring{set: set, due: x, copy: cp})
}
