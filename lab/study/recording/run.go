package recording

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"tamtam/lab"
	"tamtam/lab/bench"
	"tamtam/lab/programs"
	"tamtam/lab/study"
	"tamtam/tam/record"
	"tamtam/tam/recordplan"
	"tamtam/tam/recordplan/check"
	"tamtam/tam/recordplan/p4graph"
)

// A run is one run of the study.
type run struct {
	*Settings
	*study.Work
	program string // replaces all others; empty means those of the study
	t       *lab.Topology
	plans   atomic.Int64 // number of plans made and checked
	loaded  map[string]*programs.Program
	results *Report
}

// Run runs the study.
func (s *Study) Run(ctx context.Context, t *lab.Topology, opts lab.Options) (lab.Report, error) {
	r := &run{
		Settings: &s.TableRecord, Work: study.NewWork(t, opts, s.TableRecord.seeds()), program: s.Program, t: t,
		loaded: map[string]*programs.Program{},
	}
	r.results = &Report{Head: study.Head{Study: r.Study, Seeds: r.Work.Seeds, X: "bits"}, Programs: []Scale{}}
	r.results.Curves.Curves = []*study.Curve{}
	work := map[string]func(context.Context) error{
		Paths: r.paths, Entropy: r.entropies, Effort: r.effort, Resources: r.resources, Postcards: r.postcards,
	}[r.Study]
	err := work(ctx)
	r.results.Plans = int(r.plans.Load())
	return r.results, err
}

// load loads a program, once. --set program=FILE replaces all programs by that file.
func (s *run) load(name string) (*programs.Program, error) {
	if s.program != "" {
		name = s.program
	}
	if p := s.loaded[name]; p != nil {
		return p, nil
	}
	var p *programs.Program
	var err error
	if strings.ContainsAny(name, "/.") {
		p, err = programs.Load(s.t.Resolve(name))
	} else {
		p, err = programs.Open(name)
	}
	if err != nil {
		return nil, err
	}
	s.loaded[name] = p
	for _, g := range p.Pipelines {
		m, err := recordplan.NewModel(g, p4graph.Uniform(g))
		if err != nil {
			return nil, fmt.Errorf("program %s, %s: %w", p.Name, g.Pipeline, err)
		}
		stages, _ := p4graph.MinStages(g)
		s.results.Programs = append(s.results.Programs, Scale{
			Program: p.Name, Pipeline: g.Pipeline, Tables: tablesOf(g), NonCut: m.OneBitPerTable(),
			Deps: len(p4graph.Dependencies(g)), Stages: stages,
			Sequences: m.Paths().String(), Walks: m.Walks().String(),
		})
	}
	return p, nil
}

func tablesOf(g *record.Graph) (n int) {
	for i := range g.Nodes {
		if g.Nodes[i].Kind == record.Table {
			n++
		}
	}
	return n
}

// programNames lists the programs of a study.
func (s *run) programNames() []string {
	if s.program != "" {
		return []string{s.program}
	}
	return s.Programs
}

// model returns a pipeline with the probabilities of a seed.
func (s *run) model(g *record.Graph, seed uint64) (*recordplan.Model, error) {
	return recordplan.NewModel(g, p4graph.Random(g, seed))
}

// stagesFor returns how many stages the plans of a pipeline have: those of the switch, or as many as the program needs.
func (s *run) stagesFor(g *record.Graph) int {
	least, _ := p4graph.MinStages(g)
	return max(s.Stages, least)
}

// plan makes a plan, and checks it with the independent checker of the constraints.
func (s *run) plan(ctx context.Context, m *recordplan.Model, set recordplan.Settings) (bench.TimedPlan, error) {
	if set.Budget == 0 {
		set.Budget = s.Budget
	}
	p, err := bench.TimePlan(ctx, m, set)
	if err != nil {
		return p, err
	}
	if err := check.Plan(p.Plan); err != nil {
		return p, fmt.Errorf("%s plan for %s of %s: %w", set.Algorithm, p.PHV, p.Program, err)
	}
	s.plans.Add(1)
	return p, nil
}

// expect adds steps of each seed to the total.
func (s *run) expect(steps int) { s.Expect(uint64(steps * len(s.Work.Seeds))) }
