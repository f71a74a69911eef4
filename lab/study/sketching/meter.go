package sketching

import (
	"fmt"
	"math"
	"slices"

	"tamtam/flymonorch/answer"
	"tamtam/saisim/cmu"
	"tamtam/tam/flymon"
)

// A meter measures traffic: a task on CMU groups, or a baseline.
type meter interface {
	see([]cmu.Packet)
	// read compares its measurements with the truth, and returns metrics by name.
	read(*Settings, *flyTruth) (map[string]float64, error)
}

// A taskMeter is a task on CMU groups of its own.
type taskMeter struct {
	p      *planned
	groups *cmu.Groups
	half   uint64          // start of the second epoch; zero if there is only one, or it has begun
	before *answer.Reading // reading of the first epoch
	failed error           // error of reading before
}

func newTaskMeter(p *planned, half uint64) (*taskMeter, error) {
	g, err := cmu.New(p.geo)
	if err != nil {
		return nil, err
	}
	return &taskMeter{p: p, groups: g, half: half}, g.Apply(p.placed.Layout)
}

func (m *taskMeter) see(batch []cmu.Packet) {
	for i := range batch {
		if m.half > 0 && batch[i].Vector[5] >= m.half {
			m.endEpoch()
		}
		m.groups.Run(&batch[i])
	}
}

// endEpoch reads the first epoch, and clears it.
func (m *taskMeter) endEpoch() {
	if m.before, m.failed = reading(m.groups, m.p); m.failed == nil {
		m.failed = m.groups.Clear(m.p.placed.Layout.Task, 0)
	}
	m.half = 0
}

// reading reads all registers of a task's bank 0.
func reading(g *cmu.Groups, p *planned) (*answer.Reading, error) {
	d := answer.Dump{Geometry: p.geo, Task: p.task, Layout: p.placed.Layout, Sketch: p.placed.Sketch}
	status, ok := g.Status(p.placed.Layout.Task)
	if !ok {
		return nil, fmt.Errorf("the chip has no task %q", p.placed.Layout.Task)
	}
	d.Packets, d.Bytes = status.Banks[0].Packets, status.Banks[0].Bytes
	for i := range p.placed.Layout.Units {
		words, err := g.Read(p.placed.Layout.Task, i, 0, 0, p.placed.Layout.Units[i].Size)
		if err != nil {
			return nil, err
		}
		d.Registers = append(d.Registers, words)
	}
	return answer.New(d)
}

func (m *taskMeter) read(f *Settings, truth *flyTruth) (map[string]float64, error) {
	if m.p.curve.OneBit {
		return m.readOneBit(f, truth)
	}
	r, err := reading(m.groups, m.p)
	if err != nil {
		return nil, err
	}
	vectors, packets := truth.seen()
	switch f.Study {
	case Heavy:
		if m.p.placed.Sketch.Algorithm == flymon.CounterBraids {
			return reports(atLeast(r.Decode(vectors), f.Threshold), vectors, packets, f.Threshold), nil
		}
		return reports(r.Heavy(vectors, f.Threshold), vectors, packets, f.Threshold), nil
	case Changers:
		if m.half > 0 { // no packet has begun the second epoch
			m.endEpoch()
			if r, err = reading(m.groups, m.p); err != nil {
				return nil, err
			}
		}
		return m.changes(r, truth, f.Threshold), m.failed
	case Victims:
		return reports(r.Heavy(vectors, f.Threshold), vectors, truth.elements(), f.Threshold), nil
	case Cardinality:
		return map[string]float64{"re": relative(r.Metrics()[flymon.MetricCardinality].Value, float64(len(vectors)))}, nil
	case Entropy:
		return map[string]float64{"re": relative(r.Metrics()[flymon.MetricEntropy].Value, entropyOf(packets))}, nil
	case Interval:
		return intervals(r, truth, m.p.placed.Sketch.Scale), nil
	case Members:
		return membership(f, truth, func(v flymon.Vector) bool { return r.Flow(v).Value > 0 }), nil
	}
	return nil, fmt.Errorf("flymon.study %q measures nothing", f.Study)
}

// changes compares the listed heavy changers with the true ones, and the bounds of the listed ones with their changes.
// wrong is the share of changes outside their bounds.
func (m *taskMeter) changes(r *answer.Reading, truth *flyTruth, threshold uint64) map[string]float64 {
	if m.failed != nil {
		return nil
	}
	m.before.Know(truth.vectors)
	r.Know(truth.vectors)
	changed := make(map[flymon.Vector]float64, len(truth.vectors))
	actual := 0
	for i, v := range truth.vectors {
		early, late := truth.early[i], truth.packets[i]-truth.early[i]
		changed[v] = float64(max(early, late) - min(early, late))
		if changed[v] >= float64(threshold) {
			actual++
		}
	}
	var right, bounded, outside int
	list := answer.Change(m.before, r, truth.vectors, threshold).List
	for _, c := range list {
		n := changed[c.Flow]
		if n >= float64(threshold) {
			right++
		}
		if c.Confidence > 0 {
			if bounded++; n < c.Lower || n > c.Upper {
				outside++
			}
		}
	}
	scores := scoreReports(right, len(list)-right, actual)
	if scores["changers"] = float64(actual); bounded > 0 {
		scores["wrong"] = float64(outside) / float64(bounded)
	}
	return scores
}

// atLeast returns the flows that reach a threshold.
func atLeast(list []answer.FlowEstimate, threshold uint64) []answer.FlowEstimate {
	return slices.DeleteFunc(list, func(e answer.FlowEstimate) bool { return e.Value < float64(threshold) })
}

// reports compares reported flows with those that are at or above the threshold.
func reports(list []answer.FlowEstimate, vectors []flymon.Vector, values []uint32,
	threshold uint64) map[string]float64 {
	actual := make(map[flymon.Vector]uint32)
	for i, n := range values {
		if uint64(n) >= threshold {
			actual[vectors[i]] = n
		}
	}
	right := 0
	for _, e := range list {
		if _, ok := actual[e.Flow]; ok {
			right++
		}
	}
	return scoreReports(right, len(list)-right, len(actual))
}

// intervals returns two metrics of the longest interval, over the flows that have one: the average relative error, and
// the share that is right to a unit of time.
func intervals(r *answer.Reading, truth *flyTruth, scale uint8) map[string]float64 {
	var are, exact, flows float64
	for i, v := range truth.vectors {
		if truth.packets[i] < 2 || truth.longest[i] == 0 {
			continue
		}
		estimate, want := r.Flow(v).Value, float64(truth.longest[i])
		flows++
		are += relative(estimate, want)
		if math.Abs(estimate-want) <= float64(uint64(1)<<scale) {
			exact++
		}
	}
	if flows == 0 {
		return nil // nothing to measure
	}
	return map[string]float64{"are": are / flows, "exact": exact / flows}
}

// membership queries all flows. Only the first f.Members of them were inserted.
func membership(f *Settings, truth *flyTruth, has func(flymon.Vector) bool) map[string]float64 {
	var missed, wrong float64
	for i, v := range truth.vectors {
		switch found := has(v); {
		case i < f.Members && !found:
			missed++
		case i >= f.Members && found:
			wrong++
		}
	}
	m := map[string]float64{}
	if others := len(truth.vectors) - f.Members; others > 0 { // otherwise there is no possible error
		m["fp"] = wrong / float64(others)
	}
	if f.Members > 0 {
		m["missed"] = missed
	}
	return m
}

// readOneBit reads a Bloom filter that has one bit in each bucket.
func (m *taskMeter) readOneBit(f *Settings, truth *flyTruth) (map[string]float64, error) {
	l := &m.p.placed.Layout
	var rows [][]uint32
	for i := range l.Units {
		words, err := m.groups.Read(l.Task, i, 0, 0, l.Units[i].Size)
		if err != nil {
			return nil, err
		}
		rows = append(rows, words)
	}
	return membership(f, truth, func(v flymon.Vector) bool {
		for i := range rows {
			if rows[i][l.Bucket(&m.p.geo, i, v)] == 0 {
				return false
			}
		}
		return true
	}), nil
}
