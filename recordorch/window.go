package recordorch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/tam/record"
	"tamtam/tam/recordplan"
)

// Bounds of what the chip is asked.
const (
	windowLabels = 128  // of one window of counters
	maxPaths     = 1024 // that a chip counts
)

// remove ends an object; one that is not there is no error. Such is also a plan that syncd
// could not bring back after a restart, since the chip has another graph now.
func (o *Orch) remove(ctx context.Context, k sai.Key) error {
	err := o.api.Remove(ctx, k)
	if err != nil && (orch.Classify(err) == orch.Benign || errors.Is(err, sai.StatusInvalidObjectID)) {
		return nil
	}
	return err
}

// dropWindows removes windows, also those that could not be removed before.
func (o *Orch) dropWindows(ctx context.Context) error {
	var errs []error
	o.windows = slices.DeleteFunc(o.windows, func(oid sai.OID) bool {
		err := o.remove(ctx, sai.Obj(sai.ObjectTypeGenericProgrammable, oid))
		if err != nil {
			errs = append(errs, fmt.Errorf("remove a window: %w", err))
		}
		return err == nil
	})
	return errors.Join(errs...)
}

// ask reads what a window says, by attribute; the window exists for that long. room is
// how long the answer is, about.
func (o *Orch) ask(ctx context.Context, name, attr string, value any, room int) (values map[string]json.RawMessage, err error) {
	entry, err := orch.ExtensionEntry(attr, value)
	if err != nil {
		return nil, err
	}
	oid, err := orch.CreateExtension(ctx, o.api, name, entry)
	if err != nil {
		return nil, fmt.Errorf("create the window %s: %w", name, err)
	}
	o.windows = append(o.windows, oid)
	defer func() {
		if e := o.dropWindows(ctx); e != nil { // tried again; what was read is good
			o.log.Error("table recording", "err", e)
		}
	}()
	text, err := orch.ReadExtension(ctx, o.api, oid, room)
	if err != nil {
		return nil, fmt.Errorf("read the window %s: %w", name, err)
	}
	if values, err = orch.ParseExtension(text); err != nil {
		return nil, fmt.Errorf("the window %s returned %w", name, err)
	}
	return values, nil
}

// A pipeline is what the chip says of itself.
type pipeline struct {
	version uint64 // of its graph
	counted uint64 // packets, since the first plan came or the graph changed
	graph   *record.Graph
	paths   []record.PathCount
}

// describe asks for the pipeline: always for the version and how many packets are
// counted, and for the graph or the paths if wanted.
func (o *Orch) describe(ctx context.Context, graph, paths bool) (p pipeline, err error) {
	room := 512
	if graph || paths {
		room = 1 << 15
	}
	values, err := o.ask(ctx, record.ObjectGraph, "describe", map[string]bool{"graph": graph, "paths": paths}, room)
	if err != nil {
		return p, err
	}
	return parsePipeline(values, graph, paths)
}

func parsePipeline(values map[string]json.RawMessage, graph, paths bool) (p pipeline, err error) {
	words, err := orch.ExtensionValue[[]uint64](values, "counted")
	if err != nil {
		return p, err
	}
	if len(words) != 3 {
		return p, fmt.Errorf("the window returned %d numbers as counted, want 3", len(words))
	}
	p.version, p.counted = words[0], words[1]
	if graph {
		if p.graph, err = orch.ExtensionValue[*record.Graph](values, "graph"); err != nil {
			return p, err
		}
		if p.graph == nil || !p.graph.Placed || p.graph.Version != p.version {
			return p, fmt.Errorf("the graph of the window is not that of a chip of version %d", p.version)
		}
		if err := recordplan.Check(p.graph); err != nil {
			return p, fmt.Errorf("the graph of the window: %w", err)
		}
	}
	if paths {
		if p.paths, err = orch.ExtensionValue[[]record.PathCount](values, "paths"); err != nil {
			return p, err
		}
		if len(p.paths) > maxPaths {
			return p, fmt.Errorf("the window returned %d paths, want at most %d", len(p.paths), maxPaths)
		}
	}
	return p, nil
}

// counters reads the counters of labels, at most windowLabels.
func (o *Orch) counters(ctx context.Context, labels []string) ([][record.CounterWords]uint64, error) {
	values, err := o.ask(ctx, record.ObjectCounters, "labels", labels, 512+128*len(labels))
	if err != nil {
		return nil, err
	}
	words, err := orch.ExtensionValue[[]uint64](values, "counters")
	if err != nil {
		return nil, err
	}
	if len(words) != record.CounterWords*len(labels) {
		return nil, fmt.Errorf("the window returned %d counters, want %d for %d labels", len(words), record.CounterWords*len(labels), len(labels))
	}
	list := make([][record.CounterWords]uint64, len(labels))
	for i := range list {
		copy(list[i][:], words[record.CounterWords*i:])
	}
	return list, nil
}
