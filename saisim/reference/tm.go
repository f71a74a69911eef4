package reference

import (
	"slices"

	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/saisim/drop"
	"tamtam/saisim/tm"
	"tamtam/tam/record"
)

// replicate makes the copies of a packet that leaves the ingress pipe. It uses the configuration of this cycle: members
// of VLANs and LAGs, and their tagging.
func (c *Chip) replicate(pk *packet) {
	if (pk.kind != nowhere || pk.cpu) && !c.admits(pk) {
		c.Queueing("a group refuses a packet")
	}
	defer func() {
		c.asking = nil
		c.left(pk)
	}()
	copies, why, last := 0, pk.why, config.None
	to := func(p config.ID, bp config.ID) {
		copies++
		last = p
		c.enqueue(c.portWith(p), &outgoing{packet: pk, tag: c.conf.tagging(pk, bp)})
	}
	// throughLAG and throughBridge send a copy, or set the reason why there is none.
	throughLAG := func(lag, bp config.ID) {
		if p, ok := c.conf.chooseMember(lag, pk); ok {
			to(p, bp)
		} else {
			why = drop.NoLAGMember
		}
	}
	throughBridge := func(bp config.ID) {
		why = drop.NoDestination
		on := c.conf.bridgePorts[bp].On
		if _, ok := c.conf.lags[on]; ok {
			throughLAG(on, bp)
		} else if on != config.None {
			to(on, bp)
		}
	}
	switch pk.kind {
	case toBridgePort:
		throughBridge(pk.to)
	case toPort:
		to(pk.to, c.conf.bridgePort[pk.to])
	case toLAG:
		throughLAG(pk.to, c.conf.bridgePort[pk.to])
	case toVLAN:
		for _, bp := range c.conf.flooded(pk.to) {
			if bp != pk.source && c.conf.bridgePorts[bp].Admin {
				throughBridge(bp)
			}
		}
		why = drop.NoDestination
	}
	toPorts := copies
	if pk.cpu {
		copies++
		c.toCPU(pk, copies == 1, why)
	}
	c.mirror(pk.mirrors, outgoing{packet: pk, raw: true})
	c.sampledIn(pk, toPorts, last, why)
	if copies == 0 {
		e := fate{why: why, out: record.NoPort, lane: saisim.CPUPort, queue: record.NoQueue, trap: pk.trapBehind(why)}
		if len(pk.recordings) > 0 {
			e.identities, e.left = c.identities(&outgoing{packet: pk})
		}
		c.makeRecords(pk, pk.tables, e)
		c.countPath(pk, pk.tables)
		c.dropPacket(c.portAt(pk.in), pk, c.now, why)
		return
	}
	c.frameCounts.Copies += uint64(copies - 1)
}

// enqueue requests buffer space for a copy at a port. A nil port has been removed.
func (c *Chip) enqueue(p *port, o *outgoing) {
	if p == nil || !up(p.Port) {
		c.dropCopy(p, o, drop.EgressDown)
		return
	}
	c.offer(p, p.queues[queueOf(p.QoS, o.class(), len(p.queues))], o)
}

// offer requests space in a queue for a copy. It reports whether a trimmed copy has got it. Any other copy is handled
// in both cases.
func (c *Chip) offer(p *port, q *queue, o *outgoing) bool {
	held := q.bytes()
	o.asked, o.queue, o.depth, o.queued = true, uint8(slices.Index(p.queues, q)), held, c.now
	mark, why, ok := c.ask(q, o, !o.made() && o.h.ip != nil && o.h.ip.tos&3 != 0)
	n := len(*o.heard)
	f := saisim.Finding{Table: "queue", Port: p.Port.Port, Queue: o.queue, Bytes: uint32(held), Hit: ok}
	again := o.trimmed != nil && !o.made()
	if again {
		f.Table, f.Number = "trim", uint32(o.stored())
	}
	o.find(f)
	o.own = append(o.own, o.aside(n)...)
	if !ok {
		q.DroppedBytes += uint64(o.bufferBytes())
		q.droppedInBurst(o)
		c.pool(q.Pool).dropped++
		q.count(o, func(n *tm.ColourCounts) {
			n.Dropped++
			n.DroppedBytes += uint64(o.bufferBytes())
		})
		switch {
		case again:
		case c.trims(q, o, why):
			c.trim(p, q, o)
		default:
			c.dropCopy(p, o, why)
		}
		return false
	}
	o.ce = o.ce || mark
	q.items = append(q.items, o)
	q.Enqueued++
	q.EnqueuedBytes += uint64(o.bufferBytes())
	q.MaxBytes, q.MaxCells = max(q.MaxBytes, uint64(q.bytes())), max(q.MaxCells, uint64(q.cells(c.prof)))
	c.followBurst(p, int(o.queue), o)
	c.seePool(q.Pool)
	if !c.egressBusy && c.mayServe(p) {
		c.dequeue(p)
	}
	return true
}

// schedulerFree returns the cycle from which a port's scheduler is free. A frame sent then reaches the egress MAC just
// in time.
func (c *Chip) schedulerFree(p *port) saisim.Cycle {
	free, depth := floor(p.tx.free), saisim.Cycle(len(c.egress))
	if free < depth {
		return 0
	}
	return free - depth
}

// schedule gives the egress pipe, which accepts one frame per cycle, to a port that could have sent before. Ports take
// turns by their numbers. If there is no such port, the first copy queued in this cycle at a free port may use the
// pipe.
func (c *Chip) schedule() {
	c.egressBusy = false
	for _, behind := range []bool{true, false} {
		for _, p := range c.ports {
			if (p.Port.Port > c.served) == behind && c.mayServe(p) {
				c.served = p.Port.Port
				c.dequeue(p)
				return
			}
		}
	}
}

// dequeue sends a frame of a port into the egress pipe. Its time at the MAC depends on whether it is stamped or
// dropped, so the scheduler needs the pipe's decision at once. Frames pass the pipe in the order in which they leave
// the queues. So the decision equals the one that the stages would make cycle by cycle.
func (c *Chip) dequeue(p *port) {
	c.egressBusy = true
	q := p.choose(c.now)
	o := q.dequeue()
	c.followBurst(p, slices.Index(p.queues, q), nil)
	p.spend(q, o, c.now)
	if !o.made() {
		c.left(o.packet)
	}
	t, length, ok := c.egressPipe(p, o)
	if !ok {
		return
	}
	sfd, _ := p.tx.put(cycle(c.now+saisim.Cycle(len(c.egress))), length)
	t.at = ceil(sfd)
	plain := t.outgoing
	plain.job = nil
	c.later(func() {
		c.mirror(t.mirrors, plain)
		c.sampledOut(t.port, t.samples, plain, 0)
	})
	c.recordCopy(&t.outgoing, p, 0)
	if t.job != nil && !t.made() {
		t.job.leaves = t.at
		c.report(t)
	}
	if !t.made() {
		c.countPath(t.packet, t.path())
	}
	c.egress[0] = append(c.egress[0], t)
}

// moveEgress moves the egress pipe on by one cycle. Frames that leave it are at the MAC.
func (c *Chip) moveEgress() {
	last := len(c.egress) - 1
	for _, t := range c.egress[last] {
		if !t.purged {
			t.port.leaving = append(t.port.leaving, t)
		}
	}
	copy(c.egress[1:], c.egress[:last])
	c.egress[0] = nil
}
