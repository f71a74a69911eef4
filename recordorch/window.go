package recordorch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"tamtam/orch"
	"tamtam/record"
	"tamtam/recordplan"
	"tamtam/sai"
)

// Bounds of what the chip is asked.
const (
	windowLabels = 128     // of one window of counters
	maxEntry     = 8 << 20 // bytes of an answer
	maxPaths     = 1024    // that a chip counts
)

// An extensionAttr is one attribute of an ENTRY.
type extensionAttr struct {
	Meta  map[string]string `json:"sai_metadata"`
	Value any               `json:"value"`
}

// entryText is an ENTRY with one attribute, JSON for SAI.
func entryText(attr string, value any) (sai.Bytes, error) {
	return json.Marshal(map[string]any{"attributes": []any{map[string]extensionAttr{attr: {
		Meta:  map[string]string{"sai_attr_value_type": "SAI_ATTR_VALUE_TYPE_JSON", "sai_attr_flags": "SAI_ATTR_FLAGS_CREATE_AND_SET"},
		Value: value,
	}}}})
}

// create makes an extension object.
func (o *Orch) create(ctx context.Context, name string, entry sai.Bytes) (sai.OID, error) {
	return o.api.Create(ctx, sai.ObjectTypeGenericProgrammable, []sai.Attr{
		{ID: sai.GenericProgrammableAttrObjectName, Value: sai.Bytes(name)},
		{ID: sai.GenericProgrammableAttrEntry, Value: entry},
	})
}

// set gives an extension object another entry.
func (o *Orch) set(ctx context.Context, oid sai.OID, entry sai.Bytes) error {
	return o.api.Set(ctx, sai.Obj(sai.ObjectTypeGenericProgrammable, oid), sai.Attr{ID: sai.GenericProgrammableAttrEntry, Value: entry})
}

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
	entry, err := entryText(attr, value)
	if err != nil {
		return nil, err
	}
	oid, err := o.create(ctx, name, entry)
	if err != nil {
		return nil, fmt.Errorf("create the window %s: %w", name, err)
	}
	o.windows = append(o.windows, oid)
	defer func() {
		if e := o.dropWindows(ctx); e != nil { // tried again; what was read is good
			o.log.Error("table recording", "err", e)
		}
	}()
	k := sai.Obj(sai.ObjectTypeGenericProgrammable, oid)
	got, err := o.api.Get(ctx, k, []sai.Attr{sai.Want(sai.GenericProgrammableAttrEntry, room)})
	for tries := 0; errors.Is(err, sai.StatusBufferOverflow) && len(got) == 1 && tries < 3; tries++ {
		n, ok := sai.ListLen(got[0].Value)
		if !ok || n > maxEntry {
			break
		}
		got, err = o.api.Get(ctx, k, []sai.Attr{sai.Want(sai.GenericProgrammableAttrEntry, n+64)})
	}
	if err != nil {
		return nil, fmt.Errorf("read the window %s: %w", name, err)
	}
	text, _ := got[0].Value.(sai.Bytes)
	if values, err = parseEntry(text); err != nil {
		return nil, fmt.Errorf("the window %s returned %w", name, err)
	}
	return values, nil
}

// parseEntry takes the values of an ENTRY apart.
func parseEntry(text []byte) (map[string]json.RawMessage, error) {
	if len(text) > maxEntry {
		return nil, fmt.Errorf("%d bytes, want at most %d", len(text), maxEntry)
	}
	var entry struct {
		Attributes []map[string]struct {
			Value json.RawMessage `json:"value"`
		} `json:"attributes"`
	}
	if err := json.Unmarshal(text, &entry); err != nil {
		return nil, fmt.Errorf("no entry: %w", err)
	}
	values := map[string]json.RawMessage{}
	for _, a := range entry.Attributes {
		for name, v := range a {
			values[name] = v.Value
		}
	}
	return values, nil
}

// value takes one value out of what a window said.
func value[T any](values map[string]json.RawMessage, name string) (v T, err error) {
	raw, ok := values[name]
	if !ok {
		return v, fmt.Errorf("the window has no %s", name)
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("%s of the window: %w", name, err)
	}
	return v, nil
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
	words, err := value[[]uint64](values, "counted")
	if err != nil {
		return p, err
	}
	if len(words) != 3 {
		return p, fmt.Errorf("the window returned %d numbers as counted, want 3", len(words))
	}
	p.version, p.counted = words[0], words[1]
	if graph {
		if p.graph, err = value[*record.Graph](values, "graph"); err != nil {
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
		if p.paths, err = value[[]record.PathCount](values, "paths"); err != nil {
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
	words, err := value[[]uint64](values, "counters")
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
