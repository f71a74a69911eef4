package engine

import (
	"tamtam/saisim/config"
	"tamtam/tam/dropreport"
	"tamtam/tam/ipfix"
)

func (c *reporter) reset() {
	for i := range c.lists {
		for l := &c.lists[i]; l.Len() > 0; l.Pop() {
			c.fates.release(l.First().pk)
		}
	}
	c.toReport = toReport{during: whenControlled, age: c.age, wait: wheelSpan/2 + c.ingressCycles, lists: c.lists}
	c.reporting = reporting{streams: map[streamKey]*stream{}}
	c.frame = make([]byte, 0, maxReport)
	c.ensureListeners().reports = false
	c.releaseListeners()
}

// due returns the cycle of the next drop to report. If flows is true, it includes the end of a flow's interval.
func (c *reporter) due(flows bool) Cycle {
	at := never
	if l := c.firstNoted(); l != nil {
		at = l.First().at + c.wait
	}
	if !flows || c.flows == 0 {
		return at
	}
	for _, e := range c.events {
		if e != nil && e.table != nil && e.table.n > 0 {
			at = min(at, max(e.table.flows[e.table.soonest()].until, c.now))
		}
	}
	return at
}

// run makes the reports that are due now: drops, then flows.
func (c *reporter) run() {
	for l := c.firstNoted(); l != nil && l.First().at+c.wait <= c.now; l = c.firstNoted() {
		x := *l.First()
		l.Pop()
		c.noted--
		c.report(&x)
		c.fates.release(x.pk)
	}
	for _, e := range c.events {
		for e != nil && e.table != nil && e.table.n > 0 {
			i := e.table.soonest()
			if e.table.flows[i].until > c.now {
				break
			}
			c.intervalEnds(e, i)
		}
	}
}

// report reports a drop for each event that has selected it.
func (c *reporter) report(x *notedDrop) {
	c.h = headers{}
	if pk := x.pk; len(pk.data) >= ethernetHeader {
		c.h.parse(pk.data, pk.length)
	}
	at, timing := c.ntp(x.at)
	for i, e := range c.events {
		if x.events>>i&1 == 0 || e == nil {
			continue
		}
		if x.flags&dropreport.FlagPunted != 0 {
			e.counts[dropreport.WordPunted]++
		} else {
			e.counts[dropreport.WordDrops]++
		}
		e.seen++
		if e.row.Sample > 1 && (e.seen-1)%uint64(e.row.Sample) != 0 {
			e.counts[dropreport.WordSampledOut]++
			continue
		}
		if e.row.Aging > 0 {
			c.flowDrop(e, x, at, timing)
			continue
		}
		r := &c.record
		*r = reportRecord{event: dropreport.EventPacket, at: at, delta: 1, key: c.keyOf(x), pk: x.pk}
		r.key.flags |= timing
		r.queue, r.queued, r.depth, r.fillers = x.queue, x.queued, x.depth, x.fillers
		r.key.mask &^= 1 << dropreport.MAC
		if c.passes(e) {
			c.sendRecord(e, r)
		}
	}
}

// passes reports whether an event may send another report, and counts it.
func (c *reporter) passes(e *tamEvent) bool {
	if e.limiter != nil && !e.limiter.passes(c.now, 0) {
		e.counts[dropreport.WordRateLimited]++
		return false
	}
	e.counts[dropreport.WordReports]++
	return true
}

// ntp returns the clock's NTP time at a cycle, and the flags that qualify it.
func (c *core) ntp(at Cycle) (uint64, uint8) {
	t, unsync := c.timeOfDay(at)
	flags := uint8(0)
	if unsync {
		flags = dropreport.FlagUnsynchronised
	}
	v, ok := ipfix.NTP(t.Seconds, t.Nanoseconds)
	if !ok {
		flags |= dropreport.FlagNoTime
	}
	return v, flags
}

// keyOf returns the flow of a drop, by the headers of its frame.
func (c *reporter) keyOf(x *notedDrop) flowKey {
	h := &c.h
	k := flowKey{in: x.in, out: x.out, why: x.why, stage: x.stage, flags: x.flags}
	mask := func(g dropreport.Group) { k.mask |= 1 << g }
	if x.in != 0 {
		mask(dropreport.In)
	}
	if x.out != 0 {
		mask(dropreport.Out)
	}
	switch {
	case h.flags&flagIP != 0:
		k.src, k.dst, k.proto = h.src, h.dst, h.proto
		if h.flags&flagIPv4 != 0 {
			mask(dropreport.IPv4)
		} else {
			mask(dropreport.IPv6)
		}
		if h.flags&flagL4 != 0 {
			mask(dropreport.L4)
			k.l4src, k.l4dst = h.l4src, h.l4dst
		}
	case len(x.pk.data) >= ethernetHeader:
		mask(dropreport.MAC)
		k.dmac, k.smac, k.etherType = h.dmac, h.smac, h.etherType
	}
	return k
}

// flowDrop handles a drop of an event with a threshold.
func (c *reporter) flowDrop(e *tamEvent, x *notedDrop, at uint64, timing uint8) {
	t, k := e.table, c.keyOf(x)
	if i := t.find(&k); i != 0 {
		f := &t.flows[i]
		f.last, f.timing = at, f.timing|timing
		f.total++
		f.pending++
		f.more = true
		t.unlinkUse(i)
		t.lately(i)
		return
	}
	if t.n == config.DropFlows {
		i := t.stalest()
		e.counts[dropreport.WordFlowsEvicted]++
		c.flowReport(e, i, dropreport.EventEvicted, nil)
		c.end(e, i)
	}
	i := t.add(&k, c.now)
	c.flows++
	e.counts[dropreport.WordFlowsBegun]++
	f := &t.flows[i]
	f.first, f.last, f.timing, f.total, f.pending = at, at, timing, 1, 1
	f.queue, f.queued, f.depth, f.fillers = x.queue, x.queued, x.depth, x.fillers
	c.flowReport(e, i, dropreport.EventBegun, x.pk)
}

func (c *reporter) end(e *tamEvent, i int32) {
	e.table.remove(i)
	c.flows--
}

// intervalEnds ends a flow's interval. The flow continues if there were drops in the interval, otherwise it ends.
func (c *reporter) intervalEnds(e *tamEvent, i int32) {
	t := e.table
	f := &t.flows[i]
	over := f.until
	if f.more {
		f.more = false
		c.flowReport(e, i, dropreport.EventGoesOn, nil)
		t.unlinkTime(i)
		t.begin(i, over)
		return
	}
	e.counts[dropreport.WordFlowsEnded]++
	c.flowReport(e, i, dropreport.EventEnded, nil)
	c.end(e, i)
}

// flowReport reports a flow. pk is the flow's first packet, nil for later reports.
func (c *reporter) flowReport(e *tamEvent, i int32, why dropreport.Event, pk *packet) {
	if !c.passes(e) {
		return
	}
	f, r := &e.table.flows[i], &c.record
	*r = reportRecord{
		event: why, at: f.last, delta: f.pending, key: f.key, pk: pk, first: f.first, last: f.last, total: f.total,
		queue: f.queue, queued: f.queued && pk != nil, depth: f.depth, fillers: f.fillers,
	}
	r.key.flags |= f.timing
	r.key.mask |= 1 << dropreport.Flow
	f.pending = 0
	c.sendRecord(e, r)
}
