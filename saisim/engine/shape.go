package engine

// This file has what the queues do differently at a port with a shaper, of its own or of a queue. Such a port takes no
// shortcut past its queues. While its shapers hold all of its frames, it waits for the cycle [port.wakes].

// mayLeave returns the first cycle at which a port's shapers and its MAC let one of its frames enter the egress pipe.
func (c *queues) mayLeave(p *port) Cycle {
	p.queues.Fill(uint64(c.now))
	at := c.now + Cycle(p.queues.Wait())
	if free := p.txFree.cycle; free > at+c.egressCycles {
		return free - c.egressCycles
	}
	return at
}

// wake schedules a port.
func (c *queues) wake(p *port, at Cycle) {
	p.paced, p.wakes = true, at
	c.agenda.push(c.now, event{at, eventKey(classDequeue, p.id)})
}

// hasten serves a port that waits for its shapers earlier than planned, if a frame that has arrived lets it. The port
// may have lost its shapers in this cycle.
func (c *queues) hasten(p *port) {
	if !c.waiting.has(p.id) && c.mayLeave(p) < p.wakes {
		c.agenda.cancel(event{p.wakes, eventKey(classDequeue, p.id)})
		c.offer(p)
	}
}

// reshape plans again when a port is served, after a change of its shapers. Its frames leave from the next cycle on, or
// in this cycle if another frame arrives after the change.
func (c *queues) reshape(p *port) {
	was := p.shaped
	p.shaped = p.queues.Shaped()
	p.queued = p.shaped || p.contents.follows()
	if !p.paced || !was && !p.shaped {
		return
	}
	if c.waiting.has(p.id) {
		c.stopWaiting(p)
	} else {
		c.agenda.remove(eventKey(classDequeue, p.id))
	}
	c.wake(p, max(c.mayLeave(p), c.now+1))
}
