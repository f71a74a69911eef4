package sketching

import (
	"context"
	"fmt"

	"tamtam/lab"
	"tamtam/lab/study"
	"tamtam/saisim/cmu"
)

// A run is one run of the study.
type run struct {
	*Settings
	*study.Work
	seed  uint64 // the run's seed
	path  string // path of the capture
	plans []*planned
}

// Run runs the study.
func (s *Study) Run(ctx context.Context, t *lab.Topology, opts lab.Options) (lab.Report, error) {
	r := &run{
		Settings: &s.FlyMon, Work: study.NewWork(t, opts, s.FlyMon.seeds()), seed: opts.Seed,
		path: t.Resolve(s.FlyMon.Traffic.Pcap),
	}
	switch r.Study {
	case Translation, Program, Stacking, Keys:
		return r.usage()
	case Deployment:
		return r.deployments(ctx)
	case Epochs:
		return r.epochs(ctx)
	}
	return r.accuracy(ctx)
}

// accuracy measures all curves at all sizes with each seed.
func (s *run) accuracy(ctx context.Context) (*Report, error) {
	for i := range s.Curves {
		for _, at := range s.memory(&s.Curves[i]) {
			p, err := s.plan(&s.Curves[i], at)
			if err != nil {
				return nil, err
			}
			s.plans = append(s.plans, p)
		}
	}
	s.Expect(s.Traffic.Packets * uint64(s.seeds()))
	values := make([][]map[string]float64, s.seeds())
	var first *flyTruth
	err := s.EachSeed(ctx, func(i int, seed uint64) error {
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

// measure passes the packets of one seed to all meters.
func (s *run) measure(ctx context.Context, seed uint64) ([]map[string]float64, *flyTruth, error) {
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
	truth.half = s.half()
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
			if s.Study == Members && truth.group[p.flow] >= int32(s.Members) {
				continue // not inserted, only queried
			}
			batch = append(batch, asPacket(source, &p, number))
		}
		if len(batch) == cap(batch) || !more {
			for _, m := range meters {
				m.see(batch)
			}
			s.Done(len(batch))
			batch = batch[:0]
			if err := ctx.Err(); err != nil {
				return nil, nil, err
			}
		}
	}
	if number == 0 { // an estimate of 0 would be exact without any flow
		return nil, nil, fmt.Errorf("flymon.traffic: %v has no packets of IP: want some, to measure them", &s.Traffic)
	}
	values := make([]map[string]float64, len(meters))
	for i, m := range meters {
		if values[i], err = m.read(s.Settings, truth); err != nil {
			return nil, nil, fmt.Errorf("%s at %v: %w", s.plans[i].curve.Name, s.plans[i].at, err)
		}
	}
	return values, truth, nil
}

// Protocols, and lengths of frames.
const (
	protocolTCP, protocolUDP = 6, 17
	minFrame, fcsLen         = 64, 4
)

// asPacket converts a packet to the type of CMU groups.
func asPacket(source sightings, p *sighting, number uint64) cmu.Packet {
	v := source.keys()[p.flow]
	v[5] = p.at
	protocol := uint8(v[4] >> 24)
	return cmu.Packet{Vector: v, Ports: protocol == protocolTCP || protocol == protocolUDP, Size: p.size, Number: number}
}

// open begins the traffic of a seed.
func (s *run) open(seed uint64) (sightings, error) {
	if s.Traffic.Pcap != "" {
		return openReplayed(s.path)
	}
	return newCrowd(&s.Traffic, seed, "flymon"), nil
}

// meter returns the meter of a curve.
func (s *run) meter(p *planned, seed uint64) (meter, error) {
	if p.curve.baseline() {
		return s.baseline(p, seed)
	}
	return newTaskMeter(p, s.half())
}

// compose makes the report of measurements and predictions.
func (s *run) compose(values [][]map[string]float64, predicted []map[string]study.Prediction) *Report {
	r := &Report{Head: s.head("memory, bytes"), Assumptions: s.assumptions()}
	r.Traffic = s.Traffic.String()
	for k, p := range s.plans {
		measured := map[string][]float64{} // not every seed has something to measure
		for seed := range values {
			for name, v := range values[seed][k] {
				measured[name] = append(measured[name], v)
			}
		}
		for name, list := range measured {
			say, ok := predicted[k][name]
			if !ok {
				say = study.Unpredicted()
			}
			r.Add(p.curve.Name, "", p.at.String(), float64(p.bytes), name, study.Predicted(list, say))
		}
	}
	return r
}

// head returns the head of the report.
func (s *run) head(x string) study.Head { return study.Head{Study: s.Study, Seeds: s.Work.Seeds, X: x} }
