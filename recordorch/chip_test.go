package recordorch

import (
	"context"
	"encoding/json"
	"fmt"

	"tamtam/sai"
	"tamtam/tam/record"
	"tamtam/tamorch"
)

// A chip is a fake ASIC that has the extensions of table recording: it records
// nothing, but takes and refuses plans, and tells what a test says.
type chip struct {
	sai.API
	graph    *record.Graph
	counted  uint64
	paths    []record.PathCount
	counters map[string][record.CounterWords]uint64 // by label
	objects  map[sai.OID]*extension
	lacks    string // an extension that it has not
	says     []byte // what windows say instead of the truth
	reads    int
}

type extension struct {
	name  string
	plan  record.ChipPlan
	entry tamorch.Values
}

func (c *chip) Availability(ctx context.Context, t sai.ObjectType, attrs []sai.Attr) (uint64, error) {
	if name, ok := sai.Find(attrs, sai.GenericProgrammableAttrObjectName); ok && t == sai.ObjectTypeGenericProgrammable {
		if string(name.(sai.Bytes)) == c.lacks {
			return 0, nil
		}
		return 8, nil
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
	if err == nil {
		delete(c.objects, k.OID)
	}
	return err
}

// apply takes an entry. A plan must be for the graph, and share neither bits nor labels.
func (c *chip) apply(x *extension, v sai.Value) error {
	refuse := func(format string, args ...any) error {
		return &sai.CallError{Op: "set", Type: sai.ObjectTypeGenericProgrammable, Status: sai.StatusInvalidParameter, Reason: fmt.Sprintf(format, args...)}
	}
	entry, err := tamorch.ParseEntry(v.(sai.Bytes))
	if err != nil {
		return refuse("%v", err)
	}
	if x.name != record.ObjectPlan {
		x.entry = entry
		return nil
	}
	p, err := tamorch.Value[record.ChipPlan](entry, "plan")
	if err != nil {
		return refuse("%v", err)
	}
	bits, err := record.ParseContainers(p.PHV)
	if err != nil || p.Graph != c.graph.Version || p.Offset+bits.Bits() > 64 || p.ID == 0 {
		return refuse("%+v of graph %d", p, c.graph.Version)
	}
	for _, y := range c.objects {
		if y == x || y.name != record.ObjectPlan {
			continue
		}
		other, _ := record.ParseContainers(y.plan.PHV)
		if p.Offset < y.plan.Offset+other.Bits() && y.plan.Offset < p.Offset+bits.Bits() {
			return refuse("bits %d to %d are taken", p.Offset, p.Offset+bits.Bits()-1)
		}
		for _, s := range p.Sessions {
			for _, t := range y.plan.Sessions {
				if s.Label == t.Label {
					return refuse("label %q is taken", s.Label)
				}
			}
		}
	}
	x.plan, x.entry = p, entry
	return nil
}

func (c *chip) Get(ctx context.Context, k sai.Key, want []sai.Attr) ([]sai.Attr, error) {
	x := c.objects[k.OID]
	if x == nil {
		return c.API.Get(ctx, k, want)
	}
	c.reads++
	text := c.says
	if text == nil {
		var err error
		if text, err = c.answer(x); err != nil {
			return nil, err
		}
	}
	got := []sai.Attr{{ID: sai.GenericProgrammableAttrEntry, Value: sai.Bytes(text)}}
	if room, _ := sai.ListLen(want[0].Value); room < len(text) {
		return got, sai.StatusBufferOverflow
	}
	return got, nil
}

func (c *chip) answer(x *extension) ([]byte, error) {
	values := map[string]any{}
	switch x.name {
	case record.ObjectGraph:
		values["counted"] = []uint64{c.graph.Version, c.counted, 0}
		ask, err := tamorch.Value[map[string]bool](x.entry, "describe")
		if err != nil {
			return nil, err
		}
		if ask["graph"] {
			values["graph"] = c.graph
		}
		if ask["paths"] {
			values["paths"] = c.paths
		}
	case record.ObjectCounters:
		labels, err := tamorch.Value[[]string](x.entry, "labels")
		if err != nil {
			return nil, err
		}
		words := []uint64{}
		for _, l := range labels {
			n := c.counters[l]
			words = append(words, n[:]...)
		}
		values["counters"] = words
	}
	var attrs []any
	for name, v := range values {
		attrs = append(attrs, map[string]any{name: map[string]any{"value": v}})
	}
	return json.Marshal(map[string]any{"attributes": attrs})
}

// graphOf is a pipeline in which b and c exclude each other and d follows some of
// them, with a table more.
func graphOf(version uint64, more ...string) *record.Graph {
	g := &record.Graph{Program: "test", Pipeline: "switch", Init: "a", Placed: true, Stages: 4, Version: version, Reasons: []string{"none"}}
	table := func(id string, stage int) {
		g.Nodes = append(g.Nodes, record.Node{ID: id, Kind: record.Table, Stage: stage})
	}
	edge := func(from, to, label string) { g.Edges = append(g.Edges, record.Edge{From: from, To: to, Label: label}) }
	table("a", 0)
	table("b", 1)
	table("c", 1)
	table("d", 2)
	edge("a", "b", record.Hit)
	edge("a", "c", record.Miss)
	edge("b", "d", record.Hit)
	edge("b", record.Exit, record.Miss)
	last := "d"
	edge("c", "d", record.Hit)
	edge("c", record.Exit, record.Miss)
	for i, id := range more {
		table(id, 3+i)
		edge(last, id, record.Hit)
		edge(last, record.Exit, record.Miss)
		last = id
	}
	edge(last, record.Exit, "")
	g.Stages = 3 + len(more)
	return g
}
