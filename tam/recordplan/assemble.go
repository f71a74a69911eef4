package recordplan

import (
	"slices"

	"tamtam/tam/record"
)

// plan returns the plan for the best set.
func (x *search) plan() (*record.Plan, error) {
	m, f := x.m, &x.best
	own := m.own()
	p := &record.Plan{
		Program: m.graph.Program, Pipeline: m.graph.Pipeline, PHV: x.settings.Containers.String(),
		Mode: record.ModeExecution, Algorithm: x.settings.Algorithm, Stages: x.space.stages,
		StagesWhy: x.stagesWhy(), MustRecord: x.settings.Must,
		Recorded: x.recorded(f), Placement: x.placement(f),
		Full: m.Full(x.settings.Hits), Effort: record.Effort{Sets: x.sets, Solves: x.space.solves},
		Graph: own.graph, Chances: record.Chances{Probabilities: &own.given},
	}
	switch {
	case x.settings.Actions:
		p.Mode = record.ModeAction
	case x.settings.Hits:
		p.Mode = record.ModeHit
	}
	set := choices(f.set)
	p.Entropy, p.Equation2, p.Recovery = m.Entropy(set), m.Equation2(set), m.Recovery(set)
	if x.settings.Actions {
		var err error
		if p.Recovery, err = recovery(p, own.given); err != nil {
			return nil, err
		}
	}
	p.Bound = max(min(f.bound, p.Full), p.Entropy)
	if p.Optimal = p.Bound-p.Entropy < alike; p.Optimal {
		p.Bound = p.Entropy
	}
	p.Seal()
	return p, nil
}

func (x *search) stagesWhy() string {
	switch {
	case x.space.placed:
		return "the chip's"
	case x.settings.Stages > 0:
		return "asked for"
	}
	return "as few as the program's dependencies take"
}

// recorded assigns bits to each table, in the order of selection.
func (x *search) recorded(f *found) []record.Recorded {
	used := make([]int, len(x.settings.Containers))
	take := func(c int) *int {
		b := used[c]
		used[c]++
		return &b
	}
	list := []record.Recorded{}
	for i, l := range f.loads {
		c := f.cells[i].container
		r := record.Recorded{Table: x.m.tables[l.table].id, Bits: l.bits, Container: c, Stage: f.cells[i].stage}
		if slices.Contains(f.set, bit{l.table, false}) {
			r.Ran = take(c)
		}
		if slices.Contains(f.set, bit{l.table, true}) {
			r.Hit = take(c)
		}
		for _, b := range f.set {
			if a := x.m.tables[b.table].layer; a != nil && a.table == l.table {
				r.Actions = append(r.Actions, record.ActionBit{Bit: *take(c), Of: a.of})
			}
		}
		list = append(list, r)
	}
	return list
}

// placement assigns to every table the first stage that the recorded tables allow.
func (x *search) placement(f *found) map[string]int {
	stage := slices.Clone(x.space.first)
	for i, l := range f.loads {
		stage[l.table] = f.cells[i].stage
	}
	placement := make(map[string]int, len(stage))
	for _, t := range x.space.order {
		for _, l := range x.space.before[t] {
			stage[t] = max(stage[t], stage[l.table]+l.stages)
		}
		placement[x.m.tables[t].id] = stage[t]
	}
	return placement
}

// Choices returns the choices of a plan, in the order of its tables. Each bit is one choice, and execution precedes the
// hit. Action bits are omitted.
func (m *Model) Choices(p *record.Plan) []Choice {
	var list []Choice
	for _, r := range p.Recorded {
		t, ok := m.index[r.Table]
		if !ok {
			continue
		}
		if r.Ran != nil {
			list = append(list, Choice{Table: t, Ran: true})
		}
		if r.Hit != nil {
			list = append(list, Choice{Table: t, Hit: true})
		}
	}
	return list
}

// StagesFor returns the minimum number of stages for the program with the record code of a plan. Each table writes its
// container in the plan. It returns 0 if the number is unknown.
func (m *Model) StagesFor(p *record.Plan) int {
	c, err := p.Containers()
	if err != nil {
		return 0
	}
	var loads []load
	for _, r := range p.Recorded {
		t, ok := m.index[r.Table]
		if !ok {
			return 0
		}
		loads = append(loads, load{t, r.Bits, r.Container})
	}
	s, err := m.newSpace(c, 0)
	if err != nil {
		return 0
	}
	for stages := s.stages; stages <= s.stages+len(loads); stages++ {
		if s, err = m.newSpace(c, stages); err != nil {
			return 0
		}
		if _, v := s.fit(loads); v == fits {
			return stages
		}
	}
	return 0
}
