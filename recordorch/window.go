package recordorch

import (
	"context"
	"fmt"

	"tamtam/orch/feature"
	"tamtam/tam/record"
	"tamtam/tam/recordplan/p4graph"
)

// maxPaths is the maximum number of paths that a chip counts.
const maxPaths = 1024

// A pipeline is the chip's description of its pipeline.
type pipeline struct {
	version uint64 // version of the graph
	counted uint64 // number of packets since the first plan or the last change of the graph
	graph   *record.Graph
	paths   []record.PathCount
}

// describe reads the pipeline: always the version and the number of counted packets, and on request the graph or the
// paths.
func (o *Orch) describe(ctx context.Context, graph, paths bool) (p pipeline, err error) {
	room := 512
	if graph || paths {
		room = 1 << 15
	}
	defer o.Windows.Close(ctx)
	question := record.ChipQuestion{Graph: graph, Paths: paths}
	values, err := o.Windows.Ask(ctx, record.ObjectGraph, record.AttrDescribe, question, room)
	if err != nil {
		return p, err
	}
	return parsePipeline(values, graph, paths)
}

func parsePipeline(values feature.Values, graph, paths bool) (p pipeline, err error) {
	words, err := feature.Value[[]uint64](values, record.AttrCounted)
	if err != nil {
		return p, err
	}
	if len(words) != 3 {
		return p, fmt.Errorf("the window returned %d numbers as counted, want 3", len(words))
	}
	p.version, p.counted = words[0], words[1]
	if graph {
		if p.graph, err = feature.Value[*record.Graph](values, record.AttrGraph); err != nil {
			return p, err
		}
		if p.graph == nil || !p.graph.Placed || p.graph.Version != p.version {
			return p, fmt.Errorf("the graph of the window is not that of a chip of version %d", p.version)
		}
		if err := p4graph.Check(p.graph); err != nil {
			return p, fmt.Errorf("the graph of the window: %w", err)
		}
	}
	if paths {
		if p.paths, err = feature.Value[[]record.PathCount](values, record.AttrPaths); err != nil {
			return p, err
		}
		if len(p.paths) > maxPaths {
			return p, fmt.Errorf("the window returned %d paths, want at most %d", len(p.paths), maxPaths)
		}
	}
	return p, nil
}

// counted describes the read objects of the counters of labels, at most [record.MaxLabels].
var counted = feature.Counted{
	Name: record.ObjectCounters, Labels: record.AttrLabels, Counters: record.AttrCounters, Words: record.CounterWords,
}
