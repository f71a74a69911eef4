package sketching

import (
	"context"
	"fmt"
	"math"
	"slices"

	"tamtam/flymonorch/answer"
	"tamtam/flymonorch/plan"
	"tamtam/lab/study"
	"tamtam/saisim/cmu"
	"tamtam/tam/flymon"
)

// Tasks of a study of epochs. Their filters are disjoint, so that they can share CMUs.
const (
	taskA, filterA = "A", "src-ip=0.0.0.0/1"
	taskB, filterB = "B", "src-ip=128.0.0.0/1"
)

// An epochChip is a chip of a study of epochs. It has task A, and sometimes task B.
type epochChip struct {
	pool   *plan.Pool
	groups *cmu.Groups
	geo    flymon.Geometry
	task   flymon.Task // the current task A
}

func (s *run) newEpochChip() (*epochChip, error) {
	c := &epochChip{geo: s.geometry()}
	g, err := cmu.New(c.geo)
	if err != nil {
		return nil, err
	}
	c.groups, c.pool = g, plan.New(c.geo)
	if c.task, err = s.epochTask(filterA); err != nil {
		return nil, err
	}
	return c, c.add(taskA, c.task)
}

// epochTask returns a task with the memory of the study.
func (s *run) epochTask(filter string) (t flymon.Task, err error) {
	if t, err = s.Settings.task(&s.Curves[0]); err != nil {
		return t, err
	}
	t.Memory = uint32(uint64(s.Memory[0]) * 8 / uint64(s.geometry().Width))
	t.Filter, err = flymon.ParseFilter(filter)
	return t, err
}

func (c *epochChip) add(name string, t flymon.Task) error {
	p, err := c.pool.Add(name, t)
	if err != nil {
		return err
	}
	return c.groups.Apply(p.Layout)
}

// resize moves task A to a partition of another size, as in section 6. The task starts again there, and the old
// partition is freed.
func (c *epochChip) resize(memory Bytes) error {
	c.task.Memory = uint32(uint64(memory) * 8 / uint64(c.geo.Width))
	p, err := c.pool.Change(taskA, c.task)
	if err != nil {
		return err
	}
	if err := c.groups.Apply(p.Layout); err != nil {
		return err
	}
	if p, thawed := c.pool.Thaw(taskA); thawed {
		return c.groups.Apply(p.Layout)
	}
	return nil
}

// read reads task A, and clears it.
func (c *epochChip) read() (*answer.Reading, [][]uint32, error) {
	placed := c.pool.Get(taskA)
	r, err := reading(c.groups, &planned{geo: c.geo, task: c.task, placed: placed})
	if err != nil {
		return nil, nil, err
	}
	var rows [][]uint32
	for i := range placed.Layout.Units {
		words, err := c.groups.Read(taskA, i, 0, 0, placed.Layout.Units[i].Size)
		if err != nil {
			return nil, nil, err
		}
		rows = append(rows, words)
	}
	return r, rows, c.groups.Clear(taskA, 0)
}

// An epochRun is one seed: a chip that the study changes, and one that it does not.
type epochRun struct {
	s              *run
	seed           uint64
	flymon, static *epochChip
	packets        uint64
	are            [2][]float64 // relative errors by chip and epoch
	predicted      [2][]study.Prediction
	known          map[[2]int]study.Prediction // predictions by number of flows and of buckets of a row
	// 1 for each epoch at whose end both chips have the same registers, otherwise 0
	same []float64
}

func (s *run) epochs(ctx context.Context) (*Report, error) {
	spiked := uint64(max(0, min(s.Epochs, s.Spike.Last)-s.Spike.First+1))
	s.Expect((uint64(s.Epochs)*3/2*s.Traffic.Packets + spiked*s.Spike.Packets) * uint64(s.seeds()))
	runs := make([]*epochRun, s.seeds())
	err := s.EachSeed(ctx, func(i int, seed uint64) (err error) {
		r := &epochRun{s: s, seed: seed, known: map[[2]int]study.Prediction{}}
		runs[i] = r
		if r.flymon, err = s.newEpochChip(); err != nil {
			return err
		}
		if r.static, err = s.newEpochChip(); err != nil {
			return err
		}
		for e := 1; e <= s.Epochs; e++ {
			if err := r.epoch(ctx, e); err != nil {
				return fmt.Errorf("epoch %d: %w", e, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.composeEpochs(runs), nil
}

// change makes the changes that the study schedules at the beginning of an epoch.
func (r *epochRun) change(e int) error {
	k := &r.s.Spike
	switch e {
	case k.Other.From:
		b, err := r.s.epochTask(filterB)
		if err != nil {
			return err
		}
		if err := r.flymon.add(taskB, b); err != nil {
			return err
		}
	case k.Other.To:
		r.flymon.pool.Remove(taskB)
		r.flymon.groups.Remove(taskB)
	}
	switch e {
	case k.Enlarge.From:
		return r.flymon.resize(k.To)
	case k.Enlarge.To:
		return r.flymon.resize(r.s.Memory[0])
	}
	return nil
}

// epoch runs the traffic of an epoch: that of task A, half as much for task B, and the spike's.
func (r *epochRun) epoch(ctx context.Context, e int) error {
	if err := r.change(e); err != nil {
		return err
	}
	key, element, err := r.s.keys()
	if err != nil {
		return err
	}
	name := fmt.Sprintf("epoch/%d", e)
	traffic := r.s.Traffic
	a := newFlyTruth(newSidedCrowd(&traffic, r.seed, name+"/a", 0), key, element)
	sources := []*flyTruth{a}
	if r.s.Spike.Other.has(e) {
		other := traffic
		other.Packets, other.Flows = max(1, other.Packets/2), max(1, other.Flows/2)
		sources = append(sources, newFlyTruth(newSidedCrowd(&other, r.seed, name+"/b", 1), key, element))
	}
	spike := new(flyTruth)
	if k := &r.s.Spike; e >= k.First && e <= k.Last && k.Flows > 0 {
		more := traffic
		more.Packets, more.Flows = k.Packets, k.Flows
		spike = newFlyTruth(newSidedCrowd(&more, r.seed, name+"/spike", 0), key, element)
		sources = append(sources, spike)
	}
	if err := r.pass(ctx, sources); err != nil {
		return err
	}
	if len(spike.vectors) > 0 { // task A counts the spike
		a.vectors, a.packets = append(a.vectors, spike.vectors...), append(a.packets, spike.packets...)
	}
	return r.compare(a)
}

// pass runs the packets of several sources in the order of their times.
func (r *epochRun) pass(ctx context.Context, sources []*flyTruth) error {
	heads := make([]sighting, len(sources))
	left := make([]bool, len(sources))
	var err error
	for i, x := range sources {
		if left[i], err = x.source.next(&heads[i]); err != nil {
			return err
		}
	}
	for n := 1; ; n++ {
		first := -1
		for i := range sources {
			if left[i] && (first < 0 || heads[i].at < heads[first].at) {
				first = i
			}
		}
		if n%batchSize == 0 || first < 0 {
			r.s.Done(n % batchSize)
			if first < 0 {
				return ctx.Err()
			}
		}
		x := sources[first]
		x.see(&heads[first])
		r.packets++
		p := asPacket(x.source, &heads[first], r.packets)
		r.flymon.groups.Run(&p)
		r.static.groups.Run(&p)
		if left[first], err = x.source.next(&heads[first]); err != nil {
			return err
		}
	}
}

// compare reads task A of both chips at the end of an epoch.
func (r *epochRun) compare(truth *flyTruth) error {
	var rows [2][][]uint32
	for i, c := range []*epochChip{r.flymon, r.static} {
		placed := c.pool.Get(taskA)
		got, registers, err := c.read()
		if err != nil {
			return err
		}
		rows[i] = registers
		var are float64
		for k, v := range truth.vectors {
			are += relative(got.Flow(v).Value, float64(truth.packets[k]))
		}
		r.are[i] = append(r.are[i], are/float64(len(truth.vectors)))
		r.predicted[i] = append(r.predicted[i], r.predict(placed, truth.packets))
	}
	same := slices.EqualFunc(rows[0], rows[1], slices.Equal[[]uint32])
	r.same = append(r.same, boolean(same))
	return nil
}

// predict returns the prediction of the error of a task in an epoch. Epochs with the same number of flows have flows of
// the same sizes.
func (r *epochRun) predict(placed *plan.Placed, sizes []uint32) study.Prediction {
	p := planned{geo: r.flymon.geo, placed: placed}
	at := [2]int{len(sizes), int(p.rowSize(0))}
	known, ok := r.known[at]
	if !ok {
		noise := newPopulation(sizes, 8192).least(p.rowSize(0), len(placed.Sketch.Rows), rowShifts(&placed.Layout,
			&placed.Sketch))
		known = r.s.alarm().countError(sizes, noise)
		r.known[at] = known
	}
	return known
}

// composeEpochs makes a curve for each chip.
func (s *run) composeEpochs(runs []*epochRun) *Report {
	report := &Report{Head: s.head("epoch"), Assumptions: []string{
		"hashes are uniform; rows take their addresses from one compressed key",
		"flow sizes are known: what others add to a bucket is compound Poisson, and theory is the mean of the least of " +
			"the rows",
		s.alarm().words(),
	}}
	report.Traffic = fmt.Sprintf("each epoch %v; %d flows with %d packets more from epoch %d to %d",
		&s.Traffic, s.Spike.Flows, s.Spike.Packets, s.Spike.First, s.Spike.Last)
	for i, name := range []string{"flymon", "static"} {
		for e := range s.Epochs {
			var are, same []float64
			for _, r := range runs {
				are = append(are, r.are[i][e])
				same = append(same, r.same[e])
			}
			add := func(metric string, m *study.Metric) {
				report.Add(name, "", fmt.Sprint(e+1), float64(e+1), metric, m)
			}
			add("are", study.Predicted(are, runs[0].predicted[i][e]))
			if i == 0 {
				add("same", study.Predicted(same, study.Unpredicted()))
			} else if m := ratio(runs, e); m != nil {
				add("ratio", m)
			}
		}
	}
	return report
}

// ratio returns the error of the static task divided by that of the other, in an epoch. It covers the seeds whose
// divisor is not 0, and is nil if there are none.
func ratio(runs []*epochRun, e int) *study.Metric {
	var list []float64
	for _, r := range runs {
		if r.are[0][e] > 0 {
			list = append(list, r.are[1][e]/r.are[0][e])
		}
	}
	if len(list) == 0 {
		return nil
	}
	a, b := runs[0].predicted[0][e], runs[0].predicted[1][e]
	over := func(x, y float64) float64 {
		if y > 0 {
			return x / y
		}
		return math.NaN() // theory has no prediction
	}
	return study.Predicted(list, study.Prediction{
		Expected: over(b.Expected, a.Expected), Lower: over(b.Lower, a.Upper), Upper: over(b.Upper, a.Lower),
	})
}
