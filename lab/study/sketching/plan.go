package sketching

import (
	"fmt"
	"math/bits"
	"slices"

	"tamtam/flymonorch/plan"
	"tamtam/tam/flymon"
)

// planned is a curve at one size of memory: its task, and where the task is placed.
type planned struct {
	curve  *Curve
	at     Bytes
	geo    flymon.Geometry
	task   flymon.Task
	placed *plan.Placed // nil for a baseline in software
	bytes  uint64       // memory that it uses
}

// keys returns the keys of a study: the key of the tasks, and the element that is counted for each flow.
func (f *Settings) keys() (key, element flymon.Key, err error) {
	text := f.Key
	if text == "" {
		text = "5-tuple"
		if f.Study == Victims {
			text = "dst-ip"
		}
	}
	if key, err = flymon.ParseKey(text); err != nil {
		return key, element, err
	}
	element, err = flymon.ParseKey("src-ip")
	return key, element, err
}

// task returns the task of a study for an algorithm.
func (f *Settings) task(c *Curve) (flymon.Task, error) {
	key, element, err := f.keys()
	if err != nil {
		return flymon.Task{}, err
	}
	t := flymon.Task{Key: key, Algorithm: flymon.Algorithm(c.Algorithm), Rows: c.Rows, Accurate: true, Share: c.Share,
		Attribute: flymon.Attribute{Kind: flymon.Packets}}
	switch f.Study {
	case Heavy:
		t.Threshold = f.Threshold
		if t.Algorithm == flymon.BeauCoup {
			t.Attribute, err = flymon.ParseAttribute("distinct(timestamp)")
		}
	case Changers:
		t.Threshold = f.Threshold
	case Victims:
		t.Threshold, t.Attribute = f.Threshold, flymon.Attribute{Kind: flymon.Distinct, Of: element}
	case Cardinality:
		t.Threshold, t.Key, t.Attribute = f.Threshold, flymon.Key{}, flymon.Attribute{Kind: flymon.Distinct, Of: key}
	case Interval:
		// One bank, with a unit of time in which a bucket can hold the whole time.
		t.Attribute.Kind, t.Epoch, t.Live = flymon.MaxInterval, nanoseconds(f.Traffic.Time), true
	case Members:
		t.Key, t.Attribute = flymon.Key{}, flymon.Attribute{Kind: flymon.Existence, Of: key}
	}
	return t, err
}

// plan places a curve's task, on a chip of its own.
func (f *Settings) plan(c *Curve, at Bytes) (*planned, error) {
	p := &planned{curve: c, at: at, geo: f.geometry(), bytes: uint64(at)}
	var err error
	if c.baseline() {
		p.bytes, err = baselineBytes(c, at)
		return p, err
	}
	if p.task, err = f.task(c); err != nil {
		return nil, err
	}
	p.task.Memory = uint32(max(1, uint64(at)*8/uint64(p.geo.Width)))
	p.shorten()
	if p.placed, err = plan.New(p.geo).Add("task", p.task); err != nil {
		return nil, fmt.Errorf("%s at %v: %w", c.Name, at, err)
	}
	if c.OneBit {
		oneBit(&p.placed.Layout)
	}
	p.bytes = uint64(p.placed.Buckets) * uint64(p.geo.Width) / 8
	return p, nil
}

// shorten gives the chip CMUs as long as the whole task needs, and the maximum number of partitions. Buckets are the
// same as on the configured chip, if that has partitions as small. The reason is that an address is a hash modulo the
// size of the partition.
func (p *planned) shorten() {
	p.geo.Depth = min(p.geo.Depth, max(32, 1<<bits.Len32(p.task.Memory-1)))
	p.geo.Partitions = min(1024, p.geo.Depth/2)
}

// oneBit makes a Bloom filter use one bit of each bucket.
func oneBit(l *flymon.Layout) {
	l.Units = slices.Clone(l.Units)
	for i := range l.Units {
		l.Units[i].P1, l.Units[i].Map = flymon.Param{From: flymon.Const, Value: 1}, nil
	}
}
