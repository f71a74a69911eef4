package lab

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"tamtam/bench"
	"tamtam/lab/programs"
	"tamtam/tam/record"
	"tamtam/tam/recordplan"
	"tamtam/tam/recordplan/check"
)

// A recordStudy is a TableRecord at work.
type recordStudy struct {
	*TableRecord
	t       *Topology
	opts    Options
	seeds   []uint64
	plans   atomic.Int64 // made and checked
	total   atomic.Int64 // steps that there will be, and that are done
	done    atomic.Int64
	mu      sync.Mutex // of opts.Progress
	loaded  map[string]*programs.Program
	results *TableRecordReport
}

// runTableRecord runs a study and checks what came of it.
func runTableRecord(ctx context.Context, t *Topology, opts Options) (*Result, error) {
	if err := t.Validate(); err != nil {
		return nil, err
	}
	s := &recordStudy{TableRecord: &t.TableRecord, t: t, opts: opts, loaded: map[string]*programs.Program{}}
	if s.opts.Seed == 0 {
		s.opts.Seed = t.Seed
	}
	if s.opts.Workers <= 0 {
		s.opts.Workers = runtime.GOMAXPROCS(0)
	}
	for i := range t.TableRecord.seeds() {
		s.seeds = append(s.seeds, s.opts.Seed+uint64(i))
	}
	s.results = &TableRecordReport{Study: s.Study, Seeds: s.seeds, X: "bits", Programs: []RecordScale{}, Curves: []*RecordSeries{}}
	run := map[string]func(context.Context) error{RecordPaths: s.paths, RecordEntropy: s.entropies, RecordEffort: s.effort, RecordResources: s.resources}[s.Study]
	if err := run(ctx); err != nil {
		return nil, fmt.Errorf("%s%w", t.source.where("tablerecord"), err)
	}
	s.results.Plans = int(s.plans.Load())
	r := &Result{
		Experiment: t.Experiment, Seed: s.opts.Seed, Duration: t.RunTime(), Checks: []CheckResult{}, Flows: map[string]Flow{},
		Links: map[string]Wires{}, Hosts: map[string]Counts{}, Switches: map[string]*Node{}, Series: map[string]*Series{}, TableRecord: s.results,
	}
	if t.Program != "" {
		return r, nil // checks are about the programs that it replaces
	}
	return r, r.checkAll(t)
}

// program loads a program, once; --set program=FILE puts that file in the place of all.
func (s *recordStudy) program(name string) (*programs.Program, error) {
	if s.t.Program != "" {
		name = s.t.Program
	}
	if p := s.loaded[name]; p != nil {
		return p, nil
	}
	var p *programs.Program
	var err error
	if strings.ContainsAny(name, "/.") {
		p, err = programs.Load(s.t.source.resolve(name))
	} else {
		p, err = programs.Open(name)
	}
	if err != nil {
		return nil, err
	}
	s.loaded[name] = p
	for _, g := range p.Pipelines {
		m, err := recordplan.NewModel(g, recordplan.Uniform(g))
		if err != nil {
			return nil, fmt.Errorf("program %s, %s: %w", p.Name, g.Pipeline, err)
		}
		stages, _ := recordplan.MinStages(g)
		s.results.Programs = append(s.results.Programs, RecordScale{
			Program: p.Name, Pipeline: g.Pipeline, Tables: tablesOf(g), NonCut: m.OneBitPerTable(), Deps: len(recordplan.Dependencies(g)), Stages: stages,
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

// names of the programs of a study.
func (s *recordStudy) programNames() []string {
	if s.t.Program != "" {
		return []string{s.t.Program}
	}
	return s.Programs
}

// model is a pipeline with the probabilities of a seed.
func (s *recordStudy) model(g *record.Graph, seed uint64) (*recordplan.Model, error) {
	return recordplan.NewModel(g, recordplan.Random(g, seed))
}

// stagesFor is how many stages plans of a pipeline have: those of the switch, or as many as the program needs.
func (s *recordStudy) stagesFor(g *record.Graph) int {
	least, _ := recordplan.MinStages(g)
	return max(s.Stages, least)
}

// plan makes a plan and has it checked by what knows only the constraints.
func (s *recordStudy) plan(ctx context.Context, m *recordplan.Model, set recordplan.Settings) (bench.TimedPlan, error) {
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

// inParallel calls f for 0 to n-1, so many at once.
func inParallel(ctx context.Context, workers, n int, f func(i int) error) error {
	errs := make([]error, n)
	turn := make(chan struct{}, workers)
	var wg sync.WaitGroup
	for i := range n {
		turn <- struct{}{}
		wg.Go(func() {
			defer func() { <-turn }()
			if errs[i] = ctx.Err(); errs[i] == nil {
				errs[i] = f(i)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// eachSeed calls f for all seeds, on as many cores as there are workers. steps is how often a call tells progress.
func (s *recordStudy) eachSeed(ctx context.Context, steps int, f func(i int, seed uint64) error) error {
	s.total.Add(int64(steps * len(s.seeds)))
	return inParallel(ctx, s.opts.Workers, len(s.seeds), func(i int) error { return f(i, s.seeds[i]) })
}

// step tells that one more is done.
func (s *recordStudy) step() {
	done, total := s.done.Add(1), s.total.Load()
	if s.opts.Progress == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	end := s.t.RunTime()
	s.opts.Progress(min(end, Time(float64(end)*float64(done)/float64(max(1, total)))), uint64(done))
}
