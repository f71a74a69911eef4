package lab

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"tamtam/saisim/cmu"
)

// A study is a FlyMon at work.
type study struct {
	*FlyMon
	opts  Options
	path  string // of the capture
	total uint64 // packets of all seeds
	seen  atomic.Uint64
	end   Time
	mu    sync.Mutex // of opts.Progress
	plans []*planned
}

// runFlyMon runs a study and checks what came of it.
func runFlyMon(ctx context.Context, t *Topology, opts Options) (*Result, error) {
	if err := t.Validate(); err != nil {
		return nil, err
	}
	s := &study{FlyMon: &t.FlyMon, opts: opts, path: t.source.resolve(t.FlyMon.Traffic.Pcap), end: t.RunTime()}
	if opts.Seed == 0 {
		s.opts.Seed = t.Seed
	}
	if opts.Workers <= 0 {
		s.opts.Workers = runtime.GOMAXPROCS(0)
	}
	var report *FlyMonReport
	var err error
	switch s.Study {
	case StudyTranslation, StudyProgram, StudyStacking, StudyKeys:
		report, err = s.usage()
	case StudyDeployment:
		report, err = s.deployments(ctx)
	case StudyEpochs:
		report, err = s.epochs(ctx)
	default:
		report, err = s.accuracy(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("%s%w", t.source.where("flymon"), err)
	}
	r := &Result{
		Experiment: t.Experiment, Seed: s.opts.Seed, Duration: t.RunTime(), Checks: []CheckResult{}, Flows: map[string]Flow{},
		Links: map[string]Wires{}, Hosts: map[string]Counts{}, Switches: map[string]*Node{}, Series: map[string]*Series{}, FlyMon: report,
	}
	return r, r.checkAll(t)
}

// seedNumbers are the seeds, from the run's own on.
func (s *study) seedNumbers() (list []uint64) {
	for i := range s.seeds() {
		list = append(list, s.opts.Seed+uint64(i))
	}
	return list
}

// progress tells that so many packets more have been seen.
func (s *study) progress(packets int) {
	done := s.seen.Add(uint64(packets))
	if s.opts.Progress == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	part := float64(done) / float64(max(1, s.total))
	s.opts.Progress(min(s.end, Time(part*float64(s.end))), done)
}

// eachSeed runs f for all seeds, on as many cores as there are workers.
func (s *study) eachSeed(ctx context.Context, f func(i int, seed uint64) error) error {
	seeds := s.seedNumbers()
	return inParallel(ctx, s.opts.Workers, len(seeds), func(i int) error { return f(i, seeds[i]) })
}

// accuracy measures all curves at all sizes with each seed.
func (s *study) accuracy(ctx context.Context) (*FlyMonReport, error) {
	for i := range s.Curves {
		for _, at := range s.memory(&s.Curves[i]) {
			p, err := s.plan(&s.Curves[i], at)
			if err != nil {
				return nil, err
			}
			s.plans = append(s.plans, p)
		}
	}
	s.total = s.Traffic.Packets * uint64(s.seeds())
	values := make([][]map[string]float64, s.seeds())
	var first *flyTruth
	err := s.eachSeed(ctx, func(i int, seed uint64) error {
		got, truth, err := s.measure(ctx, seed)
		if values[i] = got; i == 0 {
			first = truth
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.compose(values, s.predictions(first)), nil
}

const batchSize = 1024

// measure lets the packets of one seed pass by all meters.
func (s *study) measure(ctx context.Context, seed uint64) ([]map[string]float64, *flyTruth, error) {
	var meters []meter
	for _, p := range s.plans {
		m, err := s.meter(p, seed)
		if err != nil {
			return nil, nil, err
		}
		meters = append(meters, m)
	}
	source, err := s.open(seed)
	if err != nil {
		return nil, nil, err
	}
	key, element, err := s.keys()
	if err != nil {
		return nil, nil, err
	}
	truth := newFlyTruth(source, key, element)
	batch := make([]cmu.Packet, 0, batchSize)
	number := uint64(0)
	var p sighting
	for more := true; more; {
		if more, err = source.next(&p); err != nil {
			return nil, nil, err
		}
		if more {
			truth.see(&p)
			number++
			if s.Study == StudyMembers && truth.group[p.flow] >= int32(s.Members) {
				continue // it is only asked for
			}
			batch = append(batch, asPacket(source, &p, number))
		}
		if len(batch) == cap(batch) || !more {
			for _, m := range meters {
				m.see(batch)
			}
			s.progress(len(batch))
			batch = batch[:0]
			if err := ctx.Err(); err != nil {
				return nil, nil, err
			}
		}
	}
	values := make([]map[string]float64, len(meters))
	for i, m := range meters {
		if values[i], err = m.read(s.FlyMon, truth); err != nil {
			return nil, nil, fmt.Errorf("%s at %v: %w", s.plans[i].curve.Name, s.plans[i].at, err)
		}
	}
	return values, truth, nil
}

// asPacket is a packet as CMU groups have it.
func asPacket(source sightings, p *sighting, number uint64) cmu.Packet {
	v := source.keys()[p.flow]
	v[5] = p.at
	protocol := uint8(v[4] >> 24)
	return cmu.Packet{Vector: v, Ports: protocol == protoTCP || protocol == protoUDP, Size: p.size, Number: number}
}

// open begins the traffic of a seed.
func (s *study) open(seed uint64) (sightings, error) {
	if s.Traffic.Pcap != "" {
		return openReplayed(s.path)
	}
	return newCrowd(&s.Traffic, seed, "flymon"), nil
}

// meter begins to measure.
func (s *study) meter(p *planned, seed uint64) (meter, error) {
	if p.curve.baseline() {
		return s.baseline(p, seed)
	}
	return newTaskMeter(p)
}

// compose puts together what was measured and what theory says.
func (s *study) compose(values [][]map[string]float64, predicted []map[string]prediction) *FlyMonReport {
	r := &FlyMonReport{Study: s.Study, Traffic: s.Traffic.String(), Seeds: s.seedNumbers(), X: "memory, bytes", Assumptions: s.assumptions()}
	for k, p := range s.plans {
		c := r.curve(p.curve.Name)
		if c == nil {
			c = &FlyMonSeries{Name: p.curve.Name}
			r.Curves = append(r.Curves, c)
		}
		point := &FlyMonPoint{At: p.at.String(), X: float64(p.bytes), Metrics: map[string]*FlyMonMetric{}}
		for name := range values[0][k] {
			var list []float64
			for seed := range values {
				if v, ok := values[seed][k][name]; ok {
					list = append(list, v)
				}
			}
			say, ok := predicted[k][name]
			if !ok {
				say = unpredicted()
			}
			point.Metrics[name] = newFlyMonMetric(list, say)
		}
		c.Points = append(c.Points, point)
	}
	return r
}
