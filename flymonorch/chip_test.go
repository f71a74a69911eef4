package flymonorch

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"tamtam/orch/feature"
	"tamtam/orch/feature/featuretest"
	"tamtam/sai"
	"tamtam/saisim/cmu"
	"tamtam/tam/flymon"
)

// A chip is a fake ASIC whose extensions are those of FlyMon, on real CMU groups.
type chip struct {
	*featuretest.Extensions[string] // the state of an object is its task

	groups  *cmu.Groups
	now     func() time.Time // time of day of the chip
	steps   uint64
	started uint64
	packets uint64
	onRead  func() // called before registers are read
}

type extension = featuretest.Extension[string]

func newChip(now func() time.Time) *chip {
	c := &chip{now: now}
	c.Extensions = &featuretest.Extensions[string]{
		Room: map[string]uint64{}, Accept: c.accept, Read: c.say, Removed: func(x *extension) { c.groups.Remove(x.State) },
	}
	for _, name := range flymon.Objects() {
		c.Room[name] = 16
	}
	c.Room[flymon.ObjectTruth] = 0
	return c
}

func (c *chip) accept(x *extension, entry feature.Values) error {
	switch x.Name {
	case flymon.ObjectTask:
		var l flymon.Layout
		if err := json.Unmarshal(entry["task"], &l); err != nil {
			return err
		}
		if x.State != "" && x.State != l.Task {
			c.groups.Remove(x.State)
		}
		x.State = l.Task
		return c.groups.Apply(l)
	case flymon.ObjectClear:
		var p struct {
			Task       string
			Bank, Unit int
			From       uint32
			Count      *uint32
		}
		if err := json.Unmarshal(entry["clear"], &p); err != nil {
			return err
		}
		if p.Count == nil {
			return c.groups.Clear(p.Task, p.Bank)
		}
		return c.groups.ClearRange(p.Task, p.Unit, p.Bank, p.From, *p.Count)
	}
	return nil
}

func (c *chip) say(x *extension) (sai.Bytes, error) {
	values, err := c.read(x)
	if err != nil {
		return nil, err
	}
	return featuretest.Entry(values)
}

func (c *chip) read(x *extension) (map[string]any, error) {
	var p struct {
		Task             string
		Unit, Bank, From int
		Count            uint32
		Flows            [][]byte
	}
	if err := json.Unmarshal(x.Entry["read"], &p); x.Entry["read"] != nil && err != nil {
		return nil, err
	}
	switch x.Name {
	case flymon.ObjectGroups:
		return map[string]any{"geometry": c.groups.Geometry()}, nil
	case flymon.ObjectStatus:
		return c.status(x.Entry["tasks"])
	case flymon.ObjectRegisters:
		if c.onRead != nil {
			c.onRead()
		}
		words, err := c.groups.Read(p.Task, p.Unit, p.Bank, uint32(p.From), p.Count)
		var b []byte
		for _, w := range words {
			b = binary.LittleEndian.AppendUint32(b, w)
		}
		return map[string]any{"words": base64.StdEncoding.EncodeToString(b)}, err
	case flymon.ObjectDigests:
		keys, err := c.groups.Digests(p.Task, p.Bank, p.From, flymon.MaxChipDigests)
		var b []byte
		for _, v := range keys {
			for _, w := range v {
				b = binary.BigEndian.AppendUint64(b, w)
			}
		}
		return map[string]any{"keys": base64.StdEncoding.EncodeToString(b)}, err
	case flymon.ObjectTruth:
		return c.truth(p.Task, p.Bank, p.Flows)
	}
	return nil, fmt.Errorf("%s cannot be read", x.Name)
}

func (c *chip) status(list json.RawMessage) (map[string]any, error) {
	var tasks []string
	if err := json.Unmarshal(list, &tasks); err != nil {
		return nil, err
	}
	all := make([]*flymon.ChipStatus, len(tasks))
	for i, name := range tasks {
		if s, ok := c.groups.Status(name); ok {
			all[i] = &s
		}
	}
	now := c.now()
	return map[string]any{"time": []uint64{uint64(now.Unix()), uint64(now.Nanosecond()), 1, c.steps, c.started},
		"status": all}, nil
}

func (c *chip) truth(task string, bank int, flows [][]byte) (map[string]any, error) {
	tr, ok := c.groups.Truth(task, bank)
	if !ok {
		return nil, fmt.Errorf("no truth of %s", task)
	}
	said := truth{Flows: uint64(len(tr.Flows)), Elements: uint64(len(tr.Elements)), Packets: tr.Packets,
		Overflow: tr.Overflow, Entropy: math.Pi, Values: []uint64{}}
	for _, f := range flows {
		said.Values = append(said.Values, tr.Flows[flymon.VectorOf(f)])
	}
	return map[string]any{"truth": said}, nil
}
