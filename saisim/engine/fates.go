package engine

import (
	"tamtam/saisim/config"
	"tamtam/saisim/describe"
	"tamtam/saisim/drop"
	"tamtam/tam/record"
)

// fates ends all packets, and counts how they ended.
type fates struct {
	*core
	watch     *watch
	programs  *programs
	recording *recording
	endPath   path // path of the packet that is being kept
}

// drop ends a packet without copies. Port p counts the drop; if p is nil, only [FrameCounts] does.
func (c *fates) drop(p *port, pk *packet, why drop.Reason) {
	trail := Trail{}
	if c.observer != nil {
		trail = c.recording.trailOf(&copyOf{pk: pk})
	}
	c.dropWith(p, &copyOf{pk: pk}, why, trail)
}

// dropCopy drops one copy of a packet, and frees the copy.
func (c *fates) dropCopy(p *port, cp *copyOf, why drop.Reason) {
	trail := Trail{}
	if c.observer != nil {
		trail = c.recording.trailOf(cp)
	}
	c.dropWith(p, cp, why, trail)
	c.freeCopy(cp)
}

// dropSent ends a copy after the egress pipe.
func (c *fates) dropSent(p *port, cp *copyOf, why drop.Reason) {
	if c.listeners != nil {
		c.listeners.behind = true
	}
	trail := Trail{}
	if cp.watched {
		trail = p.watched()
	}
	c.dropWith(p, cp, why, trail)
	c.freeCopy(cp)
}

// dropWith ends a copy whose trail is known. The caller still owns the copy.
func (c *fates) dropWith(p *port, cp *copyOf, why drop.Reason, trail Trail) {
	pk := cp.pk
	if c.observer != nil {
		c.watch.sawDrop(p, cp, why, trail)
	}
	if c.listeners != nil {
		c.report(p, cp, why, false)
	}
	if cp.mirror != nil {
		c.recording.lose(cp.mirror)
	}
	if cp.trimmed {
		c.trimDropped(p, cp)
	}
	c.frameCounts.Dropped[why]++
	if c.ledger != nil {
		c.ledger.Dropped(pk.id, why)
	}
	if p != nil {
		p.totals.Dropped[why]++
	}
	c.release(pk)
}

// report reports a drop to all listeners. p is the port that counts it, nil if none does. There must be a listener.
func (c *fates) report(p *port, cp *copyOf, why drop.Reason, punted bool) {
	t, pk := c.listeners, cp.pk
	d := &t.now
	*d = Drop{
		At: c.now, ID: pk.id, Number: pk.number, Copy: uint32(cp.number), In: pk.in, Port: CPUPort, Why: why, Punted: punted,
		Mirror: cp.mirror != nil, Data: pk.data, Len: pk.length,
	}
	if p != nil {
		d.Port = p.id
	}
	if cp.asked {
		d.Queued, d.Queue, d.Depth, d.QueuedAt = true, cp.queue, cp.depth, cp.queued
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
	for _, listener := range t.reported {
		(*listener)(d)
	}
	if t.reports {
		c.note(d, p, cp)
	}
}

// notePath notes the path of a copy that ends with the drop d.
func (c *fates) notePath(cp *copyOf, d *Drop) {
	t := c.listeners
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

// keepEnd keeps the end of a watched packet's copy, which leaves by port p, or for the CPU if p is nil. alone means
// that no other copy was forwarded, for the reason why.
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
		if d.Queued, d.Queue, d.Depth = cp.asked, cp.queue, cp.depth; cp.asked {
			d.QueuedAt = cp.queued
		}
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

// ended notes where a copy ends. The packet must have a graph.
func (c *fates) ended(cp *copyOf, t recordEnd) {
	c.recording.countPath(cp.pk, &t.passed)
	if cp.pk.record != nil {
		c.recording.scheduleCopies(cp, t)
	}
}

// dropBefore drops a copy that has not reached the egress pipe.
func (c *fates) dropBefore(p *port, cp *copyOf, why drop.Reason) {
	if cp.pk.graph != nil && cp.mirror == nil {
		c.ended(cp, cp.endsAt(p, cp.pk.sofar(), why))
	}
	c.dropCopy(p, cp, why)
}

// dropInside drops a copy in the egress pipe.
func (c *fates) dropInside(p *port, cp *copyOf, fixed describe.Marks, runs bool, why drop.Reason) {
	if c.listeners != nil {
		c.listeners.inside = true
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

// dropPoliced drops a copy for the CPU. Port p, where the frame arrived, counts it; p is nil if that port was removed.
func (c *fates) dropPoliced(p *port, cp *copyOf, alone bool) {
	if cp.pk.graph != nil {
		c.ended(cp, cp.pk.atCPU(record.NoQueue, drop.Policer))
	}
	if p != nil && !alone {
		p.totals.PolicedCopies++
	}
	c.dropCopy(p, cp, drop.Policer)
}

// release gives up one reference to the packet. The last one frees the packet.
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
