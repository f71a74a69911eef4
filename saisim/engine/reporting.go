package engine

import (
	"math"
	"net/netip"

	"tamtam/saisim/config"
	"tamtam/tam/dropreport"
)

// applyTAM compiles a TAM object. derive does everything that depends on several rows.
func (c *reporter) applyTAM(r config.TAM, gone bool) {
	c.stale = true
	if x := at[*tamSet](c.core, r.ID); x != nil && !gone {
		x.row = r
	} else if !gone {
		c.ids[r.ID] = &tamSet{row: r}
	} else {
		delete(c.ids, r.ID)
	}
}

func (c *reporter) applyEvent(r config.TAMEvent, gone bool) {
	c.stale = true
	x := at[*tamEvent](c.core, r.ID)
	if gone {
		c.forget(x)
		delete(c.ids, r.ID)
		return
	}
	if x == nil {
		c.age++
		c.born[r.Index] = c.age
		x = new(tamEvent)
		c.ids[r.ID], c.events[r.Index] = x, x
	}
	x.row, x.layout, x.every = r, newReportLayout(&r), c.clock.Load().CycleAt(r.Templates)
	if r.Aging > 0 {
		if x.table == nil {
			x.table = newFlowTable()
		}
		x.table.aging = c.clock.Load().CycleAt(r.Aging)
	}
}

// limitOf returns the configuration of the policer of an event's reports.
func limitOf(r *config.TAMEvent) config.Policer {
	return config.Policer{
		Mode: config.StormControl, CIR: r.Rate, CBS: r.Burst, Drop: [config.NumColours]bool{config.Red: true},
	}
}

// forget discards the pending reports of a removed event.
func (c *reporter) forget(x *tamEvent) {
	c.events[x.row.Index] = nil
	c.born[x.row.Index] = math.MaxUint32
	if x.table != nil {
		c.flows -= x.table.n
	}
	for i := range c.lists {
		for j := range c.lists[i].Len() {
			c.lists[i].At(j).events &^= 1 << x.row.Index
		}
	}
}

func (c *reporter) applyCollector(r config.TAMCollector, gone bool) {
	c.stale = true
	if gone {
		delete(c.ids, r.ID)
		return
	}
	x := at[*tamCollector](c.core, r.ID)
	if x == nil {
		x = new(tamCollector)
		c.ids[r.ID] = x
	}
	x.row = r
}

// derive updates the events and the receivers of their reports.
func (c *reporter) derive() {
	on := false
	for _, s := range c.ids {
		if t, ok := s.(*tamSet); ok {
			t.set = 0
			for _, id := range t.row.Events {
				if e := at[*tamEvent](c.core, id); e != nil {
					t.set |= 1 << e.row.Index
				}
			}
		}
	}
	for _, s := range c.streams {
		s.used = false
	}
	for _, e := range c.events {
		on = on || e != nil
	}
	for _, e := range c.reportingEvents() {
		c.deriveEvent(e)
	}
	for k, s := range c.streams {
		if !s.used {
			delete(c.streams, k)
		}
	}
	c.always = c.setOf(c.toReport.tams)
	for _, p := range c.ports {
		p.events = c.setOf(p.tams)
		p.watchFill(on, len(c.byID)+1)
	}
	c.ensureListeners().reports = on
	c.releaseListeners()
}

func (c *core) setOf(tams []config.ID) (set eventSet) {
	for _, id := range tams {
		if t := at[*tamSet](c, id); t != nil {
			set |= t.set
		}
	}
	return set
}

// domainOf returns the domain of the first TAM object that has an event.
func (c *reporter) domainOf(e *tamEvent) (domain uint32) {
	first := config.None
	for id, s := range c.ids {
		if t, ok := s.(*tamSet); ok && t.set>>e.row.Index&1 != 0 && (first == config.None || id < first) {
			first, domain = id, t.row.Domain
		}
	}
	return domain
}

// deriveEvent updates the event's domain, its collectors, and its limit.
func (c *reporter) deriveEvent(e *tamEvent) {
	if e.row.Layout != config.ReportIFA { // the domain of IFA reports is the device
		e.domain = c.domainOf(e)
	}
	switch r := &e.row; {
	case r.Rate == 0:
		e.limiter = nil
	case e.limiter == nil:
		e.limiter = newPolicer(limitOf(r), c.prof.ClockHz, c.now)
	default:
		e.limiter.change(limitOf(r), c.now)
	}
	had := e.to
	e.to = make([]*sending, 0, len(e.row.Collectors))
	for _, id := range e.row.Collectors {
		if to := at[*tamCollector](c.core, id); to != nil {
			x := c.sendTo(e, to, had)
			e.to, had = append(e.to, x), append(had, x) // a collector that is named twice gets one sending
		}
	}
}

// sendTo returns the sending of an event's reports to a collector. It reuses a sending of had if one fits.
func (c *reporter) sendTo(e *tamEvent, to *tamCollector, had []*sending) *sending {
	r := &to.row
	k := streamKey{netip.AddrPortFrom(r.Src, r.SrcPort), netip.AddrPortFrom(r.Dst, r.DstPort), e.domain}
	s := c.streams[k]
	if s == nil {
		s = new(stream)
		c.streams[k] = s
	}
	s.used = true
	x := &sending{of: to, layout: e.row.Layout, enterprise: e.row.Enterprise, encap: mirrorEncap{report: s}}
	for _, old := range had {
		if old.of == to && old.encap.report == s && old.layout == x.layout && old.enterprise == x.enterprise {
			x = old
		}
	}
	x.row, x.policer = *r, at[*policer](c.core, r.Policer)
	x.port, x.lag = at[*port](c.core, r.To), at[*lag](c.core, r.To)
	x.unknown = !r.Local && (x.port == nil && x.lag == nil || r.DMAC == config.MAC{})
	x.compose(c.switchMAC, e.row.DSCP)
	return x
}

// watchFill starts or stops counting the bytes in the port's queues by ingress port.
func (p *port) watchFill(on bool, lanes int) {
	if on == (p.contents != nil && p.contents.fill != nil) {
		return
	}
	if !on {
		p.contents.fill = nil
		p.settleContents()
		return
	}
	x := p.followContents()
	x.fill = make([]fill, p.queues.Queues())
	for i := range x.fill {
		x.fill[i] = make(fill, lanes)
		p.queues.Queue(i).Each(func(cp *copyOf) { x.fill[i].add(cp, int64(cp.buffered())) })
	}
}

// countsOf returns the counters of a stream of reports, and false if there is none.
func (c *reporter) countsOf(src, dst netip.AddrPort) (n [dropreport.NumWords]uint64, ok bool) {
	for k, s := range c.streams {
		if k.src != src || k.dst != dst {
			continue
		}
		ok = true
		for i := dropreport.WordSent; i < dropreport.NumWords; i++ {
			n[i] += s.counts[i]
		}
	}
	for _, e := range c.reportingEvents() {
		for _, x := range e.to {
			r := &x.row
			if netip.AddrPortFrom(r.Src, r.SrcPort) == src && netip.AddrPortFrom(r.Dst, r.DstPort) == dst {
				for i, v := range e.counts {
					n[i] += v
				}
				break
			}
		}
	}
	return n, ok
}
