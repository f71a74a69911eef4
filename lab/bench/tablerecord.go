package bench

import (
	"context"
	"time"

	"tamtam/lab/bench/chipload"
	"tamtam/lab/programs"
	"tamtam/tam/record"
	"tamtam/tam/recordplan"
	"tamtam/tam/recordplan/p4graph"
)

// A TimedPlan is a plan with the time to find it. The planner itself has no clock.
type TimedPlan struct {
	*record.Plan
	Elapsed time.Duration
}

// TimePlan makes a plan and measures the time.
func TimePlan(ctx context.Context, m *recordplan.Model, s recordplan.Settings) (TimedPlan, error) {
	start := time.Now()
	p, err := m.Plan(ctx, s)
	t := TimedPlan{p, time.Since(start)}
	if err == nil {
		p.Seconds = t.Elapsed.Seconds()
	}
	return t, err
}

// TableRecord measures table recording: the time to make plans of real programs, the number of records decoded per
// second, and the cost of recording for the simulated chip, as [ASIC] does. For the cost, packets match an ACL table.
// They run without a plan, with a plan that sets its bits but has no session, and with plans that record one packet of
// a hundred and every packet. Packets come as fast as one port can send their records.
func TableRecord(ctx context.Context, o Options) ([]Result, error) {
	b := recordBench{chipBench{ctx: ctx, d: o.Duration}}
	b.planning()
	b.decoding()
	plan := chipload.Load{Table: true, Pause: 24, Plan: true}
	some, every := plan, plan
	some.Sample, every.Sample = 100, 1
	b.against("no plan", chipload.Load{Table: true, Pause: plan.Pause},
		rate{"a plan of 7 tables, nothing recorded", plan, 0},
		rate{"1 packet of 100 recorded", some, 0},
		rate{"every packet recorded", every, 0})
	return b.results, b.err
}

type recordBench struct{ chipBench }

// A planLoad describes a plan to make.
type planLoad struct {
	program, pipeline, phv, algorithm string
	hits                              bool
}

// plan makes a plan, with the probabilities of a seed.
func (b *recordBench) plan(l planLoad) TimedPlan {
	if b.err != nil {
		return TimedPlan{}
	}
	g, err := programs.Graph(l.program, l.pipeline)
	if err != nil {
		b.err = err
		return TimedPlan{}
	}
	const seed = 1
	m, err := recordplan.NewModel(g, p4graph.Random(g, seed))
	if err != nil {
		b.err = err
		return TimedPlan{}
	}
	phv, err := record.ParseContainers(l.phv)
	if err != nil {
		b.err = err
		return TimedPlan{}
	}
	const ours = 12 // stages of the switch; a program that needs more gets as many as it needs
	stages, _ := p4graph.MinStages(g)
	set := recordplan.Settings{Containers: phv, Stages: max(ours, stages), Algorithm: l.algorithm, Hits: l.hits}
	var best TimedPlan // the fastest of five, since other programs can only slow it down
	for i := range 5 {
		p, err := TimePlan(b.ctx, m, set)
		if b.err = err; err != nil {
			return TimedPlan{}
		}
		if i == 0 || p.Elapsed < best.Elapsed {
			best = p
		}
		if p.Elapsed > b.d {
			break
		}
	}
	return best
}

// planning makes plans with one algorithm after the other, so that times of one run are comparable.
func (b *recordBench) planning() {
	for _, l := range []planLoad{
		{"switch", "ingress", "32", record.Greedy, false},
		{"switch", "ingress", "16+16", record.Greedy, true},
		{"netcache", "ingress", "16", record.BranchAndBound, false},
		{"fabric", "ingress", "16", record.BranchAndBound, false},
		{"switch", "egress", "8+8", record.BranchAndBound, false},
	} {
		name := l.algorithm + " " + l.phv + " bits, " + l.program + " " + l.pipeline
		if l.hits {
			name += ", with hits"
		}
		p := b.plan(l)
		if b.err != nil {
			return
		}
		b.add(name, float64(p.Elapsed.Microseconds())/1e3, "ms")
		b.add(name+", sets", float64(p.Sets), "")
		if l.algorithm != record.BranchAndBound {
			continue
		}
		b.add(name+", gap proven", p.Bound-p.Entropy, "bits")
		l.algorithm = record.Greedy
		greedy := b.plan(l)
		if b.err == nil {
			b.add(name+", of greedy", p.Elapsed.Seconds()/greedy.Elapsed.Seconds(), "times")
			b.add(name+", entropy over greedy's", p.Entropy-greedy.Entropy, "bits")
		}
	}
}

// decoding measures the decoding of records of a plan. Most of them have been seen before.
func (b *recordBench) decoding() {
	p := b.plan(planLoad{"switch", "ingress", "16+16", record.Greedy, false})
	if b.err != nil {
		return
	}
	const records = 4096
	list, err := recordplan.Sample(p.Plan, records, 1)
	if err != nil {
		b.err = err
		return
	}
	dec, err := recordplan.NewDecoder(p.Plan)
	if err != nil {
		b.err = err
		return
	}
	start := time.Now()
	distinct := map[string]bool{}
	for _, bits := range list {
		distinct[string(bits)] = true
		if _, b.err = dec.Decode(bits, recordplan.Knowledge{}); b.err != nil {
			return
		}
	}
	b.add("decode, a record not seen before", float64(len(distinct))/time.Since(start).Seconds(), "per second")
	start, n := time.Now(), 0
	for took := time.Duration(0); took < max(1, b.d); took = time.Since(start) {
		for _, bits := range list {
			if _, b.err = dec.Decode(bits, recordplan.Knowledge{}); b.err != nil {
				return
			}
		}
		n += len(list)
	}
	b.add("decode, a record seen before", float64(n)/time.Since(start).Seconds(), "per second")
}
