package engine

import (
	"tamtam/saisim/config"
	"tamtam/saisim/describe"
	"tamtam/saisim/drop"
	"tamtam/tam/record"
)

// fates are what becomes of packets: they end here, and nowhere else.
type fates struct {
	*core
	watch     *watch
	programs  *programs
	recording *recording
	endPath   path // of what is being kept
}

// drop ends a packet of which there are no copies, counted at port p (nil: only
// in the books).
func (c *fates) drop(p *port, pk *packet, why drop.Reason) {
	trail := Trail{}
	if c.observer != nil {
		trail = c.recording.trailOf(&copyOf{pk: pk})
	}
	c.dropWith(p, &copyOf{pk: pk}, why, trail)
}

// dropCopy ends one copy of a packet.
func (c *fates) dropCopy(p *port, cp *copyOf, why drop.Reason) {
	trail := Trail{}
	if c.observer != nil {
		trail = c.recording.trailOf(cp)
	}
	c.dropWith(p, cp, why, trail)
	c.freeCopy(cp)
}

// dropSent ends a copy behind the egress pipe.
func (c *fates) dropSent(p *port, cp *copyOf, why drop.Reason) {
	if c.takers != nil {
		c.takers.behind = true
	}
	trail := Trail{}
	if cp.watched {
		trail = p.watched()
	}
	c.dropWith(p, cp, why, trail)
	c.freeCopy(cp)
}

// dropWith ends a copy whose trail is known; the copy itself is the caller's.
func (c *fates) dropWith(p *port, cp *copyOf, why drop.Reason, trail Trail) {
	pk := cp.pk
	if c.observer != nil {
		c.watch.sawDrop(p, cp, why, trail)
	}
	if c.takers != nil {
		c.tell(p, cp, why, false)
	}
	if cp.mirror != nil {
		c.recording.lose(cp.mirror)
	}
	c.books.Dropped[why]++
	if c.ledger != nil {
		c.ledger.Dropped(pk.id, why)
	}
	if p != nil {
		p.totals.Dropped[why]++
	}
	c.release(pk)
}

// tell tells the takers of a drop at a port, nil if no port counts it. It is called only where there are takers.
func (c *fates) tell(p *port, cp *copyOf, why drop.Reason, punted bool) {
	t, pk := c.takers, cp.pk
	d := &t.now
	*d = Drop{
		At: c.now, ID: pk.id, Number: pk.number, Copy: uint32(cp.number), In: pk.in, Port: CPUPort, Why: why, Punted: punted,
		Mirror: cp.mirror != nil, Data: pk.data, Len: pk.length,
	}
	if p != nil {
		d.Port = p.id
	}
	if cp.asked {
		d.Queued, d.Queue, d.Depth = true, cp.queue, cp.depth
	}
	if d.Trap = pk.trapOf(why); punted {
		d.Trap = pk.trap
	}
	if t.sample {
		t.sample, d.Trap = false, config.TrapSample
	}
	if t.ring != nil && !punted {
		c.notePath(cp, d)
		data, length := d.Data, d.Len
		d.Data, d.Len = pk.received()
		t.ring.keep(MomentDropped, d, &t.path)
		d.Data, d.Len = data, length
	}
	t.inside, t.behind = false, false
	for _, told := range t.told {
		(*told)(d)
	}
	if t.reports {
		c.note(d, p, cp)
	}
}

// notePath writes down what a copy has met that ends as d says.
func (c *fates) notePath(cp *copyOf, d *Drop) {
	t := c.takers
	t.path.note(cp.pk, &c.doors, c.names)
	var egress *egressMet
	if t.inside {
		egress = &c.egressMet
	}
	t.path.noteCopy(cp, d, egress, c.names)
	if t.behind {
		t.path.unkept |= UnkeptEgress
	}
}

// keepEnd keeps a copy of a watched packet that leaves by a port, or goes to the CPU (nil); alone: it goes nowhere
// else, for the reason why.
func (c *fates) keepEnd(p *port, cp *copyOf, alone bool, why drop.Reason) {
	if c.watching == nil || cp.mirror != nil {
		return
	}
	pk := cp.pk
	d := Drop{
		At: c.now, ID: pk.id, Number: pk.number, Copy: uint32(cp.number), In: pk.in, Port: CPUPort, Punted: p == nil && alone,
	}
	d.Data, d.Len = pk.received()
	if d.Punted {
		d.Why = why
	}
	what := MomentPunted
	if p != nil {
		what, d.Port = MomentSent, p.id
		d.Queued, d.Queue, d.Depth = cp.asked, cp.queue, cp.depth
	} else {
		d.Trap = pk.trap
	}
	c.endPath.note(pk, &c.doors, c.names)
	if p == nil && pk.noted&notedPolicer != 0 {
		c.endPath.add(note{table: notePolicer, flags: flagHit, b: uint64(pk.met.policer)})
	}
	c.endPath.noteCopy(cp, &d, cp.met, c.names)
	if p != nil && cp.met == nil {
		c.endPath.unkept |= UnkeptEgress
	}
	c.watching.ends.keep(what, &d, &c.endPath)
}

// ended notes where a copy ends. It is for packets with a graph only.
func (c *fates) ended(cp *copyOf, t taken) {
	c.recording.countPath(cp.pk, &t.passed)
	if cp.pk.record != nil {
		c.recording.take(cp, t)
	}
}

// dropBefore drops a copy that has not come to the egress pipe.
func (c *fates) dropBefore(p *port, cp *copyOf, why drop.Reason) {
	if cp.pk.graph != nil && cp.mirror == nil {
		c.ended(cp, cp.endsAt(p, cp.pk.sofar(), why))
	}
	c.dropCopy(p, cp, why)
}

// dropInside drops a copy in the egress pipe.
func (c *fates) dropInside(p *port, cp *copyOf, fixed describe.Marks, runs bool, why drop.Reason) {
	if c.takers != nil {
		c.takers.inside = true
	}
	if cp.pk.graph == nil || cp.mirror != nil {
		c.dropCopy(p, cp, why)
		return
	}
	was := c.recording.through(cp, fixed, runs)
	t := cp.endsAt(p, was, why)
	t.inside = true
	c.ended(cp, t)
	c.dropWith(p, cp, why, was.trail(cp.pk.graph))
	c.freeCopy(cp)
}

// dropPoliced drops a copy for the CPU, counted at the port p where the frame came in (nil: it is gone).
func (c *fates) dropPoliced(p *port, cp *copyOf, alone bool) {
	if cp.pk.graph != nil {
		c.ended(cp, cp.pk.atCPU(record.NoQueue, drop.Policer))
	}
	if p != nil && !alone {
		p.totals.PolicedCopies++
	}
	c.dropCopy(p, cp, drop.Policer)
}

// release gives up one use of the packet.
func (c *fates) release(pk *packet) {
	if pk.refs--; pk.refs <= 0 {
		if pk.run != nil {
			c.programs.alight(pk)
		}
		if pk.graph != nil && pk.record != nil {
			c.recording.spareChoices = append(c.recording.spareChoices, pk.record)
			pk.record = nil
		}
		c.free(pk)
	}
}
