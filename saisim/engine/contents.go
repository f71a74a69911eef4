package engine

// contents follows what the queues of a port hold.
type contents struct {
	fill   []fill        // fill of each queue, by ingress port, for drop reports; nil if not tracked
	bursts []*queueBurst // by queue; nil without limits
}

// follows reports whether bursts of a queue are recorded.
func (x *contents) follows() bool { return x != nil && x.bursts != nil }

// followContents returns the port's contents. The caller sets a part of them.
func (p *port) followContents() *contents {
	if p.contents == nil {
		p.contents = new(contents)
	}
	return p.contents
}

// settleContents ends the following of contents of which no part is left.
func (p *port) settleContents() {
	if p.contents.fill == nil && p.contents.bursts == nil {
		p.contents = nil
	}
}

// holds notes a copy that has entered its queue.
func (c *queues) holds(p *port, cp *copyOf) {
	x := p.contents
	if x.fill != nil {
		x.fill[cp.queue].add(cp, int64(cp.buffered()))
	}
	if x.bursts != nil && x.bursts[cp.queue] != nil {
		c.grown(p, cp)
	}
}

// released notes a copy that has left its queue.
func (c *queues) released(p *port, cp *copyOf) {
	x := p.contents
	if x.fill != nil {
		x.fill[cp.queue].add(cp, -int64(cp.buffered()))
	}
	if x.bursts != nil && x.bursts[cp.queue] != nil {
		c.shrunk(p, int(cp.queue))
	}
}
