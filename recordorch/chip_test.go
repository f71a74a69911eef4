package recordorch

import (
	"fmt"

	"tamtam/orch/feature"
	"tamtam/orch/feature/featuretest"
	"tamtam/sai"
	"tamtam/tam/record"
)

// A chip is a fake ASIC with the extensions of table recording. It records nothing, but it accepts and refuses plans,
// and reports what a test sets.
type chip struct {
	*featuretest.Extensions[record.ChipPlan]
	graph    *record.Graph
	counted  uint64
	paths    []record.PathCount
	counters map[string][record.CounterWords]uint64 // counters by label
	says     []byte                                 // content of register reads, instead of the true content
}

type extension = featuretest.Extension[record.ChipPlan]

func newChip() *chip {
	c := &chip{graph: graphOf(1), counters: map[string][record.CounterWords]uint64{}}
	c.Extensions = &featuretest.Extensions[record.ChipPlan]{Accept: c.accept, Read: c.answer, Room: map[string]uint64{
		record.ObjectPlan: 8, record.ObjectGraph: 8, record.ObjectCounters: 8,
	}}
	return c
}

// accept accepts or refuses an entry. A plan must be for the current graph, and must not share bits or labels with
// another plan.
func (c *chip) accept(x *extension, entry feature.Values) error {
	if x.Name != record.ObjectPlan {
		return nil
	}
	p, err := feature.Value[record.ChipPlan](entry, "plan")
	if err != nil {
		return err
	}
	bits, err := record.ParseContainers(p.PHV)
	if err != nil || p.Graph != c.graph.Version || p.Offset+bits.Bits() > 64 || p.ID == 0 {
		return fmt.Errorf("%+v of graph %d", p, c.graph.Version)
	}
	for _, y := range c.Objects {
		if y == x || y.Name != record.ObjectPlan {
			continue
		}
		other, _ := record.ParseContainers(y.State.PHV)
		if p.Offset < y.State.Offset+other.Bits() && y.State.Offset < p.Offset+bits.Bits() {
			return fmt.Errorf("bits %d to %d are taken", p.Offset, p.Offset+bits.Bits()-1)
		}
		for _, s := range p.Sessions {
			for _, t := range y.State.Sessions {
				if s.Label == t.Label {
					return fmt.Errorf("label %q is taken", s.Label)
				}
			}
		}
	}
	x.State = p
	return nil
}

func (c *chip) answer(x *extension) (sai.Bytes, error) {
	if c.says != nil {
		return c.says, nil
	}
	values := map[string]any{}
	switch x.Name {
	case record.ObjectGraph:
		values["counted"] = []uint64{c.graph.Version, c.counted, 0}
		ask, err := feature.Value[map[string]bool](x.Entry, "describe")
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
		labels, err := feature.Value[[]string](x.Entry, "labels")
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
	return featuretest.Entry(values)
}

// graphOf returns a pipeline with tables a, b, c, d and more. b and c exclude each other, and d can follow either.
func graphOf(version uint64, more ...string) *record.Graph {
	g := &record.Graph{Program: "test", Pipeline: "switch", Init: "a", Placed: true, Stages: 4, Version: version,
		Reasons: []string{"none"}}
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
