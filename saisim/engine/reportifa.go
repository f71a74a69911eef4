package engine

import (
	"tamtam/saisim/config"
	"tamtam/tam/dropreport"
	"tamtam/tam/ifa"
)

// applyIFA compiles the part of an object's row that defines how stripped copies are reported.
func (c *reporter) applyIFA(r config.TAMInt) {
	x := at[*ifaInt](c.core, r.ID)
	if x == nil {
		return
	}
	c.stale = true
	if len(r.IFA.Reports.Collectors) == 0 {
		x.reports = nil
		return
	}
	if x.reports == nil {
		x.reports = new(tamEvent)
	}
	e := x.reports
	e.row, e.domain = r.IFA.Reports, r.SwitchID
	e.layout, e.every = newReportLayout(&e.row), c.clock.Load().CycleAt(e.row.Templates)
}

// reportingEvents returns all events, those of drops and those of IFA.
func (c *reporter) reportingEvents() (all []*tamEvent) {
	for _, e := range c.events {
		if e != nil {
			all = append(all, e)
		}
	}
	for _, s := range c.ids {
		if x, ok := s.(*ifaInt); ok && x.reports != nil {
			all = append(all, x.reports)
		}
	}
	return all
}

// stripped reports a copy of a frame whose IFA was removed. The copy is reported as it would leave with IFA.
func (c *reporter) stripped(cp *copyOf) {
	w := cp.ifa
	if w == nil || w.of == nil || w.of.reports == nil {
		return
	}
	e := w.of.reports
	if e.seen++; e.row.Sample > 1 && (e.seen-1)%uint64(e.row.Sample) != 0 {
		e.counts[dropreport.WordSampledOut]++
		return
	}
	if !c.passes(e) {
		return
	}
	data, length := c.egress.unwrapped(cp, false)
	c.left.data, c.left.length = append(c.left.data[:0], data...), length
	r := &c.record
	*r = reportRecord{pk: &c.left}
	r.at, _ = c.ntp(w.leaves)
	r.key.in, r.key.out = interfaceOf(cp.pk.inN), interfaceOf(w.out)
	n := c.sendRecord(e, r)
	if w.counts != nil {
		w.counts[ifa.Reported] += n
	}
}
