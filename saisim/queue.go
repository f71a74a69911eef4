package saisim

import "tamtam/saisim/tm"

// A qosClass says how a port sorts frames: what comes in into traffic classes,
// what goes out into queues. A nil map is not configured.
type qosClass struct {
	dscp      *[64]uint8 // traffic class of IP packets
	dot1p     *[8]uint8  // of tagged frames
	defaultTC uint8      // of the rest
	queue     *[16]uint8 // of each traffic class
}

// trafficClass sorts a frame that came in: by DSCP if it is IP and there is such a
// map, else by its tag if it has one and there is such a map.
func (q *qosClass) trafficClass(h *headers) uint8 {
	switch {
	case q.dscp != nil && h.flags&flagIP != 0:
		return q.dscp[h.tos>>2]
	case q.dot1p != nil && h.flags&flagTagged != 0:
		return q.dot1p[h.tci[0]>>13]
	}
	return q.defaultTC
}

// queueOf returns the queue of a traffic class, where there are n.
func (q *qosClass) queueOf(tc uint8, n int) uint8 {
	if q.queue != nil && int(tc) < len(q.queue) {
		tc = q.queue[tc]
	}
	return min(tc, uint8(n-1))
}

var verdictDrops = [...]DropReason{tm.Full: DropBuffer, tm.Tail: DropQueueLimit, tm.WREDDrop: DropWRED}

// enqueue puts one copy into a queue of a port.
func (c *engine) enqueue(p *port, cp *copyOf) {
	if !p.up() {
		c.dropBefore(p, cp, DropEgressDown)
		return
	}
	cp.queued = c.now
	tc := cp.pk.tc
	if cp.mirror != nil {
		tc = cp.mirror.tc
	}
	cp.queue = p.class.queueOf(tc, p.queues.Queues())
	cp.depth = uint32(min(p.queues.Queue(int(cp.queue)).Bytes(), 1<<32-1))
	ecn := !cp.raw && cp.mirror == nil && cp.pk.h.flags&flagIP != 0 && cp.pk.h.tos&3 != 0
	if p.queues.Len() == 0 && c.egressFree <= c.now && p.txFree.cycle <= c.now+c.egressCycles {
		c.pass(p, cp, ecn)
		return
	}
	switch v := p.queues.Enqueue(int(cp.queue), *cp, uint32(cp.buffered()), ecn); v {
	case tm.Admitted:
	case tm.Marked:
		p.queues.Queue(int(cp.queue)).Last().ce = true
	default:
		c.dropBefore(p, cp, verdictDrops[v])
		return
	}
	if c.observer != nil {
		c.sawQueue(MomentQueued, *cp, p.id)
	}
	if !p.paced {
		c.offer(p)
	}
}

// pass sends a copy straight on: nothing is queued at the port, its scheduler is
// free, and so is the egress pipe.
func (c *engine) pass(p *port, cp *copyOf, ecn bool) {
	v := p.queues.Pass(int(cp.queue), uint32(cp.buffered()), ecn)
	if v > tm.Marked {
		c.dropBefore(p, cp, verdictDrops[v])
		return
	}
	cp.ce = cp.ce || v == tm.Marked
	if c.observer != nil {
		c.sawQueue(MomentQueued, *cp, p.id)
	}
	c.launch(p, cp)
}

// offer is called for a port that holds frames and whose scheduler will not come
// back by itself.
func (c *engine) offer(p *port) {
	switch {
	case p.txFree.cycle > c.now+c.egressCycles:
		// Just in time for the MAC to send frame after frame without a pause.
		p.paced = true
		c.agenda.push(c.now, event{p.txFree.cycle - c.egressCycles, eventKey(classDequeue, p.id)})
	case c.egressFree <= c.now:
		c.dequeue(p) // no port waits, or it would have had this cycle
	default:
		c.wait(p)
	}
}

// wait notes that a port could send, had it the egress pipe.
func (c *engine) wait(p *port) {
	p.paced = true
	c.waiting.add(p.id)
	c.waitingN++
}

func (c *engine) stopWaiting(p *port) {
	p.paced = false
	c.waiting.remove(p.id)
	c.waitingN--
}

// due is called when the scheduler of a port comes back.
func (c *engine) due(p *port) {
	if p.txFree.cycle > c.now+c.egressCycles { // the port's speed was changed meanwhile
		c.offer(p)
		return
	}
	c.wait(p)
}

// serve gives the egress pipe to the port whose turn it is: the next, by number,
// of those that wait.
func (c *engine) serve() {
	p := c.byID[c.waiting.after(c.served)]
	c.stopWaiting(p)
	c.served = p.id
	c.dequeue(p)
}

// dequeue sends one frame of a port through the egress pipe to its MAC.
func (c *engine) dequeue(p *port) {
	p.paced = false
	cp, _ := p.queues.Dequeue()
	c.launch(p, &cp)
	if p.queues.Len() > 0 {
		c.offer(p)
	}
}

// launch sends a copy through the egress pipe to the MAC.
func (c *engine) launch(p *port, cp *copyOf) {
	c.egressFree = c.now + 1
	if c.observer != nil {
		c.sawQueue(MomentDequeued, *cp, p.id)
	}
	t := p.tx.Add()
	t.copyOf = *cp
	length, ok := c.egress(p, t)
	if !ok {
		p.tx.Cut()
		return
	}
	pre := instant{cycle: c.now + c.egressCycles}
	if pre.before(p.txFree) {
		pre = p.txFree
	}
	t.sfd = p.rate.after(pre, preambleSFD)
	p.txFree = p.rate.after(t.sfd, wireLen(length)+gap)
	if p.tx.Len() == 1 {
		c.agenda.push(c.now, event{t.sfd.ceil(), eventKey(classSent, p.id)})
	}
}

// A QueueState is what a queue holds and has counted.
type QueueState struct {
	Packets, Bytes, Cells uint64
	tm.Counts
}

// QueueState returns the state of a port's queue, false if there is none.
func (c *Chip) QueueState(id PortID, queue int) (QueueState, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.port(id)
	if p == nil || queue < 0 || queue >= p.queues.Queues() {
		return QueueState{}, false
	}
	return p.queueState(queue), true
}

func (p *port) queueState(i int) QueueState {
	q := p.queues.Queue(i)
	return QueueState{uint64(q.Len()), q.Bytes(), q.Cells(), q.Counts}
}
