package engine

import (
	"math/bits"

	"tamtam/saisim/config"
	"tamtam/saisim/describe"
	"tamtam/saisim/profile"
	"tamtam/tam/dropreport"
)

// recording holds the state of table recording.
type recording struct {
	*core
	programs *programs
	plans    []*recordPlan // plans in effect; new ones are appended
	// sessions holds plans' sessions by the index of the mirror session that has their label. nil means that no plan
	// has it.
	sessions [profile.MaxMirrors]*recordSession
	paths    pathTable

	spareChoices  []*choice
	spareRecorded pool[recorded]
	nowhere       recorded // end of a packet that ends in the ingress pipe
	spareRecords  pool[recordCopy]
}

func (c *recording) reset() {
	*c = recording{core: c.core, programs: c.programs}
	c.retrack()
}

// A recordPlan is a plan in effect. It does not change: packets keep the plans that existed at their entry.
type recordPlan struct {
	row      config.RecordPlan
	marks    []tap
	acts     bool // true if one of the marks is for actions
	sessions []*recordSession
}

// A recordSession is a session of a plan.
type recordSession struct {
	label      string
	sample     uint64
	identities bool
	plan       *recordPlan
	tunnel     *recordTunnel // nil if it has none
	counts     *RecordCounts // exists longer than the plan
}

// choose matches a packet with the mirror sessions of a set, all of which record.
func (c *recording) choose(pk *packet, set uint64) {
	for ; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		s := c.sessions[i]
		if s == nil {
			continue
		}
		n := s.counts
		n.Matched++
		if (n.Matched-1)%s.sample != 0 || pk.graph.graph.Version != s.plan.row.Graph {
			n.Unsampled++
			continue
		}
		if pk.record == nil {
			pk.record = c.newChoice()
		}
		x := &pk.record.of[pk.record.n]
		x.mirror, x.session = i, s
		pk.record.identify = pk.record.identify || s.identities
		pk.record.acts = pk.record.acts || s.plan.acts
		pk.record.n++
	}
}

func (r *recording) newChoice() *choice {
	n := len(r.spareChoices)
	if n == 0 {
		return new(choice)
	}
	x := r.spareChoices[n-1]
	r.spareChoices = r.spareChoices[:n-1]
	x.n, x.identify, x.acts = 0, false, false
	return x
}

// mirrorTo schedules copies of a packet for a set of sessions. Sessions that record match it instead.
func (c *recording) mirrorTo(pk *packet, set uint64) {
	if set&c.recorders != 0 {
		c.choose(pk, set&c.recorders)
		set &^= c.recorders
	}
	pk.mirrors |= set
}

// scheduleCopies schedules record copies of a copy. They are made when the copy leaves the egress pipe, or would have
// left it if it was dropped earlier.
func (c *recording) scheduleCopies(cp *copyOf, t recordEnd) {
	x := c.spareRecorded.get()
	c.fill(x, cp, t)
	c.leave(mirroring{copy: copyOf{pk: cp.pk}, record: x})
}

// fill stores the end of a copy that is recorded.
func (c *recording) fill(x *recorded, cp *copyOf, t recordEnd) {
	x.recordEnd = t
	if cp.pk.record.acts && cp.pk.run != nil {
		x.acted = cp.pk.run.acted
		if t.inside {
			first := cp.pk.run.program.IngressTables()
			copy(x.acted[first:], c.programs.phv.Acted[alone][first:])
		}
	}
	if cp.pk.record.identify {
		c.identify(&x.identities, cp, t.inside)
	}
}

// word returns the record bits of the tables that a packet has run.
func (p *recordPlan) word(was *passed, a *acted) (w uint64) {
	for i := range p.marks {
		m := &p.marks[i]
		set := was.fixed&m.fixed != 0
		if m.fixed == 0 {
			words := &was.ran
			if m.hit {
				words = &was.hit
			}
			set = words[m.table>>6]>>(m.table&63)&1 != 0
			if n := a[m.table]; m.of != nil {
				set = set && m.of[n>>6]>>(n&63)&1 != 0
			}
		}
		if set {
			w |= 1 << m.bit
		}
	}
	return w
}

// free frees the encapsulation of a mirror copy that has ended, if it was a record copy.
func (r *recording) free(e *mirrorEncap) {
	if x := e.record; x != nil {
		r.spareRecords.give(x)
	}
}

// lose counts a dropped record copy or report as lost, and frees a record copy.
func (r *recording) lose(e *mirrorEncap) {
	if e.record != nil {
		e.record.counts.Lost++
		r.free(e)
	}
	if e.report != nil {
		e.report.counts[dropreport.WordLost]++
	}
}

func (r *recording) countPath(pk *packet, p *passed) {
	t := &r.paths
	if !pk.counted || pk.in == CPUPort || len(r.plans) == 0 || pk.graph != t.graph &&
		pk.graph.graph.Version != t.graph.graph.Version {
		return
	}
	t.packets++
	if s := t.find(p); s != nil {
		s.packets++
	} else {
		t.other++
	}
}

// retrack decides whether entering packets from now on keep their trails and note their lookups.
func (c *recording) retrack() {
	c.noting = c.kept > 0 || c.identifies()
	c.tracking = c.observer != nil || len(c.plans) > 0
}

// through returns the tables that a copy has passed at the end of the egress pipe. fixed holds the fixed functions.
func (c *recording) through(cp *copyOf, fixed describe.Marks, runs bool) passed {
	p := cp.pk.sofar()
	p.fixed = fixed
	if runs && !cp.pk.run.program.Empty(true) {
		p.ran, p.hit = c.programs.phv.Ran[alone], c.programs.phv.Hit[alone]
	}
	return p
}

// trailOf returns the trail of a copy that has not reached the egress pipe.
func (c *recording) trailOf(cp *copyOf) Trail {
	if cp.pk.graph == nil || cp.mirror != nil {
		return Trail{}
	}
	p := cp.pk.sofar()
	return p.trail(cp.pk.graph)
}

// identifies reports whether a session of a plan in effect requires identities.
func (r *recording) identifies() bool {
	for _, p := range r.plans {
		for _, s := range p.sessions {
			if s.identities {
				return true
			}
		}
	}
	return false
}
