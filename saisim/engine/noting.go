package engine

import (
	"tamtam/saisim/drop"
	"tamtam/saisim/tailstamp"
	"tamtam/saisim/tm"
	"tamtam/tam/dropreport"
)

// note notes a drop for reporting, if an event selects it.
func (c *core) note(d *Drop, p *port, cp *copyOf) {
	pk := cp.pk
	set := c.selected(pk)
	if set == 0 || cp.mirror != nil && cp.mirror.report != nil {
		return
	}
	if d.Punted && d.Why != drop.TTL && d.Why != drop.NoNeighbor && d.Why != drop.L3MTU {
		return // not a drop: the packet was meant for the CPU
	}
	x := notedDrop{at: c.now, pk: pk, events: set, why: d.Why, stage: stageOf(d), flags: flagsOf(d)}
	if x.stage == dropreport.StageMMU {
		x.queued, x.queue, x.depth = true, d.Queue, d.Depth
		if p.contents != nil && p.contents.fill != nil {
			c.fillersOf(&x.fillers, p.contents.fill[d.Queue])
		}
	}
	x.in = c.interfaceAt(d.In)
	if p != nil && x.stage != dropreport.StageIngress && d.Why != drop.PortRemoved {
		x.out = p.ifIndex()
	}
	pk.refs++
	c.lists[c.whenOf(d.Why)].Push(x)
	c.noted++
}

// whenOf returns the part of the cycle's work in which a drop happens now.
func (n *toReport) whenOf(why drop.Reason) when {
	if why == drop.PortDown || why == drop.Runt || why == drop.Oversize {
		return whenReceived
	}
	return n.during
}

// stageOf returns the stage where a packet was dropped.
func stageOf(d *Drop) dropreport.Stage {
	switch {
	case d.Punted || !d.Why.AtEgress():
	case d.Why.AtQueue():
		return dropreport.StageMMU
	case d.Why != drop.PortRemoved || d.Queued:
		return dropreport.StageEgress
	}
	return dropreport.StageIngress
}

func flagsOf(d *Drop) (flags uint8) {
	if d.Punted {
		flags |= dropreport.FlagPunted
	}
	if d.Mirror {
		flags |= dropreport.FlagMirror
	}
	if d.Why == drop.Policer {
		flags |= dropreport.FlagCPU
	}
	return flags
}

// selected returns the events that report a packet's drops.
func (c *core) selected(pk *packet) eventSet {
	set := c.always
	if p := c.port(pk.in); p != nil {
		set |= p.events
	}
	for i := 0; pk.events>>i != 0; i++ {
		if pk.events>>i&1 != 0 && c.born[i] <= pk.eventsOf {
			set |= 1 << i
		}
	}
	return set
}

// interfaceOf returns the interface number of a port with this number: one more, or 0 for NoPort.
func interfaceOf(number uint16) uint32 {
	if number == tailstamp.NoPort {
		return 0
	}
	return uint32(number) + 1
}

// ifIndex returns the interface number of a port, 0 if the port has no number.
func (p *port) ifIndex() uint32 {
	return interfaceOf(p.number)
}

func (c *core) interfaceAt(id PortID) uint32 {
	if p := c.port(id); p != nil {
		return p.ifIndex()
	}
	return 0
}

func (f fill) add(cp *copyOf, n int64) { f[min(int(cp.pk.in), len(f)-1)] += uint64(n) }

// fillersOf returns the interfaces with the most bytes in a queue. If two have equally many, the lower interface number
// is first.
func (c *core) fillersOf(top *[dropreport.Fillers]filler, f fill) {
	others := uint64(0)
	for lane, n := range f {
		if n == 0 {
			continue
		}
		i := uint32(0)
		if lane < len(f)-1 {
			i = c.interfaceAt(PortID(lane))
		}
		if i == 0 {
			others += n
		} else {
			place(top, filler{i, uint32(min(n, 1<<32-1))})
		}
	}
	if others > 0 {
		place(top, filler{dropreport.AnyInterface, uint32(min(others, 1<<32-1))})
	}
}

// place inserts a filler into the sorted list.
func place(top *[dropreport.Fillers]filler, x filler) {
	for i := range top {
		if t := top[i]; x.bytes > t.bytes || x.bytes == t.bytes && x.port < t.port {
			top[i], x = x, t
		}
	}
}

// firstNoted returns the list with the earliest drop, nil if there is no drop.
func (n *toReport) firstNoted() (first *tm.Ring[notedDrop]) {
	for i := range n.lists {
		l := &n.lists[i]
		if l.Len() > 0 && (first == nil || l.First().at < first.First().at) {
			first = l
		}
	}
	return first
}
