package flymonorch

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"tamtam/sai"
	"tamtam/saisim/cmu"
	"tamtam/tam/flymon"
	"tamtam/tamorch"
)

// A chip is a fake ASIC whose extensions are those of FlyMon, on real CMU groups.
type chip struct {
	sai.API
	groups  *cmu.Groups
	now     func() time.Time // its time of day
	steps   uint64
	started uint64
	packets uint64
	has     map[string]uint64 // availability of extensions
	objects map[sai.OID]*extension
	onRead  func() // before registers are read
}

type extension struct {
	name  string
	entry tamorch.Values
	task  string
}

func (c *chip) Availability(ctx context.Context, t sai.ObjectType, attrs []sai.Attr) (uint64, error) {
	if name, ok := sai.Find(attrs, sai.GenericProgrammableAttrObjectName); ok && t == sai.ObjectTypeGenericProgrammable {
		return c.has[string(name.(sai.Bytes))], nil
	}
	return c.API.Availability(ctx, t, attrs)
}

func (c *chip) Create(ctx context.Context, t sai.ObjectType, attrs []sai.Attr) (sai.OID, error) {
	name, ok := sai.Find(attrs, sai.GenericProgrammableAttrObjectName)
	if !ok {
		return c.API.Create(ctx, t, attrs)
	}
	entry, _ := sai.Find(attrs, sai.GenericProgrammableAttrEntry)
	x := &extension{name: string(name.(sai.Bytes))}
	if err := c.apply(x, entry); err != nil {
		return 0, err
	}
	oid, err := c.API.Create(ctx, t, attrs)
	c.objects[oid] = x
	return oid, err
}

func (c *chip) Set(ctx context.Context, k sai.Key, a sai.Attr) error {
	if x := c.objects[k.OID]; x != nil {
		if err := c.apply(x, a.Value); err != nil {
			return err
		}
	}
	return c.API.Set(ctx, k, a)
}

func (c *chip) Remove(ctx context.Context, k sai.Key) error {
	err := c.API.Remove(ctx, k)
	if x := c.objects[k.OID]; err == nil && x != nil {
		c.groups.Remove(x.task)
		delete(c.objects, k.OID)
	}
	return err
}

func refuse(err error) error {
	return &sai.CallError{Op: "set", Type: sai.ObjectTypeGenericProgrammable, Status: sai.StatusInvalidParameter, Reason: err.Error()}
}

func (c *chip) apply(x *extension, v sai.Value) error {
	var err error
	if x.entry, err = tamorch.ParseEntry(v.(sai.Bytes)); err != nil {
		return refuse(err)
	}
	switch x.name {
	case flymon.ObjectTask:
		var l flymon.Layout
		if err := json.Unmarshal(x.entry["task"], &l); err != nil {
			return refuse(err)
		}
		if x.task != "" && x.task != l.Task {
			c.groups.Remove(x.task)
		}
		x.task = l.Task
		err = c.groups.Apply(l)
	case flymon.ObjectClear:
		var p struct {
			Task       string
			Bank, Unit int
			From       uint32
			Count      *uint32
		}
		if err := json.Unmarshal(x.entry["clear"], &p); err != nil {
			return refuse(err)
		}
		if p.Count == nil {
			err = c.groups.Clear(p.Task, p.Bank)
		} else {
			err = c.groups.ClearRange(p.Task, p.Unit, p.Bank, p.From, *p.Count)
		}
	}
	if err != nil {
		return refuse(err)
	}
	return nil
}

func (c *chip) Get(ctx context.Context, k sai.Key, want []sai.Attr) ([]sai.Attr, error) {
	x := c.objects[k.OID]
	if x == nil || k.Type != sai.ObjectTypeGenericProgrammable {
		return c.API.Get(ctx, k, want)
	}
	said, err := c.read(x)
	if err != nil {
		return nil, refuse(err)
	}
	attrs := []any{}
	for name, v := range said {
		attrs = append(attrs, map[string]any{name: map[string]any{"value": v}})
	}
	text, err := json.Marshal(map[string]any{"attributes": attrs})
	if err != nil {
		return nil, err
	}
	got := []sai.Attr{{ID: sai.GenericProgrammableAttrEntry, Value: sai.Bytes(text)}}
	if room, _ := sai.ListLen(want[0].Value); room < len(text) {
		return got, sai.StatusBufferOverflow
	}
	return got, nil
}

func (c *chip) read(x *extension) (map[string]any, error) {
	var p struct {
		Task             string
		Unit, Bank, From int
		Count            uint32
		Flows            [][]byte
	}
	if err := json.Unmarshal(x.entry["read"], &p); x.entry["read"] != nil && err != nil {
		return nil, err
	}
	switch x.name {
	case flymon.ObjectGroups:
		return map[string]any{"geometry": c.groups.Geometry()}, nil
	case flymon.ObjectStatus:
		return c.status(x.entry["tasks"])
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
	return nil, fmt.Errorf("%s cannot be read", x.name)
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
	return map[string]any{"time": []uint64{uint64(now.Unix()), uint64(now.Nanosecond()), 1, c.steps, c.started}, "status": all}, nil
}

func (c *chip) truth(task string, bank int, flows [][]byte) (map[string]any, error) {
	tr, ok := c.groups.Truth(task, bank)
	if !ok {
		return nil, fmt.Errorf("no truth of %s", task)
	}
	said := truth{Flows: uint64(len(tr.Flows)), Elements: uint64(len(tr.Elements)), Packets: tr.Packets, Overflow: tr.Overflow, Entropy: math.Pi, Values: []uint64{}}
	for _, f := range flows {
		said.Values = append(said.Values, tr.Flows[flymon.VectorOf(f)])
	}
	return map[string]any{"truth": said}, nil
}
