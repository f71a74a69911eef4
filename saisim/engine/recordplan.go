package engine

import (
	"slices"

	"tamtam/saisim/config"
	"tamtam/saisim/profile"
)

// A planRow is a compiled row of a plan.
type planRow struct {
	plan   *recordPlan // nil while the plan is idle
	counts map[string]*RecordCounts
}

// applyRecordPlan replaces or removes the plan of an object. An idle plan is not put into effect.
func (c *recording) applyRecordPlan(r config.RecordPlan, gone bool) {
	x := at[*planRow](c.core, r.Object)
	if x == nil {
		x = &planRow{}
		c.ids[r.Object] = x
	}
	c.plans = slices.DeleteFunc(c.plans, func(p *recordPlan) bool { return p == x.plan })
	x.plan = nil
	switch {
	case gone:
		delete(c.ids, r.Object)
	case !r.Idle:
		x.begin(r, c.programs.described())
		c.plans = append(c.plans, x.plan)
	}
	c.bindRecords()
	c.retrack()
}

// begin compiles the plan of the row, and keeps the counters of labels that it had before. The graph must be that of
// the row: plans for another graph are refused.
func (x *planRow) begin(r config.RecordPlan, g *chipGraph) {
	p := &recordPlan{row: r}
	for _, m := range r.Marks {
		p.marks = append(p.marks, g.tap(m))
		p.acts = p.acts || m.Of != nil
	}
	counts := map[string]*RecordCounts{}
	for _, s := range r.Sessions {
		n := x.counts[s.Label]
		if n == nil {
			n = new(RecordCounts)
		}
		counts[s.Label] = n
		p.sessions = append(p.sessions, &recordSession{label: s.Label, sample: uint64(s.Sample), plan: p,
			identities: s.Identities, tunnel: newRecordTunnel(s.Tunnel), counts: n})
	}
	x.plan, x.counts = p, counts
}

func newRecordTunnel(r *config.RecordTunnel) *recordTunnel {
	if r == nil {
		return nil
	}
	t := &recordTunnel{tos: r.TOS, src: r.Src.AsSlice(), dst: r.Dst.AsSlice()}
	copy(t.macs[:6], r.DMAC[:])
	copy(t.macs[6:], r.SMAC[:])
	return t
}

// bindRecords finds the sessions of mirror sessions by their labels.
func (c *recording) bindRecords() {
	c.recorders, c.sessions = 0, [profile.MaxMirrors]*recordSession{}
	for i, m := range c.mirrored {
		if m == nil || !m.records() {
			continue
		}
		c.recorders |= 1 << i
		c.sessions[i] = c.session(m.label)
	}
}

// session returns the session of a label, nil if no plan in effect has it.
func (r *recording) session(label string) *recordSession {
	for _, p := range r.plans {
		for _, s := range p.sessions {
			if s.label == label {
				return s
			}
		}
	}
	return nil
}

// counted returns the counts of the session of a label. They are zero if no plan in effect has it.
func (r *recording) counted(label string) RecordCounts {
	if s := r.session(label); s != nil {
		return *s.counts
	}
	return RecordCounts{}
}

// bits returns the number of PHV bits used by plans.
func (r *recording) bits() (n uint32) {
	for _, p := range r.plans {
		n += uint32(p.row.PHV.Bits())
	}
	return n
}
