package p4graph

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"tamtam/tam/record"
)

// Limits of the input. The largest known programs have 141 nodes and 370 edges in one pipeline, and half a megabyte of
// JSON.
const (
	// MaxNodes is less than the limit of a record.Graph, because planning compares every pair.
	MaxNodes   = 2048
	MaxEdges   = 100_000
	maxFields  = 200_000  // reads and writes of all nodes of a graph
	maxProgram = 16 << 20 // size of a file in bytes
)

// A form has the fields that distinguish the accepted forms.
type form struct {
	Nodes     json.RawMessage `json:"nodes"`
	Pipelines json.RawMessage `json:"pipelines"`
	Graph     json.RawMessage `json:"graph"` // graph; present in a plan, and in a chip's description of its paths
}

// Read reads one pipeline of a program: BMv2 JSON of any version, the plain form of a graph, a chip's description of
// itself, or the graph in a plan. Pipeline "" means ingress, or the only one. The graph is checked, and its
// dependencies are computed unless it is placed. An error names the part of the program that is missing or wrong. More
// than 16 MiB is refused.
func Read(r io.Reader, pipeline string) (*record.Graph, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxProgram+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxProgram {
		return nil, fmt.Errorf("a program of more than %d bytes", maxProgram)
	}
	f, err := decode[form](b)
	if err == nil && f.Graph != nil && f.Nodes == nil && f.Pipelines == nil {
		b = f.Graph
		f, err = decode[form](b)
	}
	if err != nil {
		return nil, err
	}
	var g *record.Graph
	switch {
	case f.Pipelines != nil && f.Nodes != nil:
		return nil, errors.New(`the program has both "pipelines" and "nodes", ` +
			`want BMv2 JSON with the one or a plain graph with the other`)
	case f.Pipelines != nil:
		g, err = readBMv2(b, pipeline)
	case f.Nodes != nil:
		g, err = readPlain(b, pipeline)
	default:
		return nil, errors.New(`the program has neither "pipelines" (BMv2 JSON) nor "nodes" (a plain graph)`)
	}
	if err != nil {
		return nil, err
	}
	if err := Check(g); err != nil {
		return nil, fmt.Errorf("pipeline %q: %w", g.Pipeline, err)
	}
	if !g.Placed {
		g.Deps = Dependencies(g)
	}
	return g, nil
}

// decode decodes JSON. An error contains the position in b.
func decode[T any](b []byte) (*T, error) {
	v := new(T)
	if err := json.Unmarshal(b, v); err != nil {
		return nil, where(b, err)
	}
	return v, nil
}

// where adds the line of the JSON error to err.
func where(b []byte, err error) error {
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	at := int64(-1)
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &wrong):
		at = wrong.Offset
	}
	if err = inWords(err); at < 0 || at > int64(len(b)) {
		return fmt.Errorf("no program in JSON: %w", err)
	}
	line := 1 + bytes.Count(b[:at], []byte("\n"))
	if syntax != nil && at == int64(len(b)) {
		return fmt.Errorf("no program in JSON: it breaks off at line %d, byte %d: %w", line, at, err)
	}
	return fmt.Errorf("no program in JSON: line %d, byte %d: %w", line, at, err)
}

// inWords describes an invalid value in JSON's terms.
func inWords(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err
	}
	want := "an object"
	switch wrong.Type.Kind() {
	case reflect.String:
		want = "a string"
	case reflect.Bool:
		want = "true or false"
	case reflect.Slice, reflect.Array:
		want = "a list"
	case reflect.Int, reflect.Uint, reflect.Int64, reflect.Uint64:
		want = "a whole number"
	case reflect.Float64:
		want = "a number"
	}
	// encoding/json also names embedded types.
	field := strings.NewReplacer("Graph.", "", "Node.", "").Replace(wrong.Field)
	if field == "" {
		return fmt.Errorf("it is %s, want %s", article(wrong.Value), want)
	}
	return fmt.Errorf("%q is %s, want %s", field, article(wrong.Value), want)
}

// article returns JSON's name of a value with its article.
func article(value string) string {
	switch value {
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "bool":
		return "true or false"
	}
	return "a " + value
}

// Check refuses graphs that cannot be planned: duplicate ids, edges from or to unknown nodes, cycles, dependencies
// against the order of the program, and invalid stages of a placed graph. Unreachable nodes are allowed: they never run
// and carry no information.
func Check(g *record.Graph) error {
	if len(g.Nodes) > MaxNodes || len(g.Edges) > MaxEdges {
		return fmt.Errorf("%d nodes and %d edges, want at most %d and %d", len(g.Nodes), len(g.Edges), MaxNodes, MaxEdges)
	}
	reach, err := record.NewReach(g)
	if err != nil {
		return err
	}
	fields := 0
	for _, n := range g.Nodes {
		fields += len(n.KeyReads) + len(n.ActionReads) + len(n.ActionWrites) + len(n.Reads)
		if g.Placed && n.Kind == record.Table && (n.Stage < 0 || n.Stage >= g.Stages) {
			return fmt.Errorf("table %q is in stage %d, want 0 to %d, of the %d that there are",
				n.ID, n.Stage, g.Stages-1, g.Stages)
		}
	}
	if fields > maxFields {
		return fmt.Errorf("its nodes read and write %d fields, want at most %d", fields, maxFields)
	}
	for i, d := range g.Deps {
		if err := checkDep(g, reach, d); err != nil {
			return fmt.Errorf("dependency %d: %w", i, err)
		}
	}
	return nil
}

func checkDep(g *record.Graph, reach *record.Reach, d record.Dep) error {
	a, okA := reach.Index(d.From)
	b, okB := reach.Index(d.To)
	switch {
	case !okA || g.Nodes[a].Kind != record.Table:
		return fmt.Errorf("from %q, which is no table", d.From)
	case !okB || g.Nodes[b].Kind != record.Table:
		return fmt.Errorf("of %q, which is no table", d.To)
	case !reach.Before(a, b):
		return fmt.Errorf("of %q on %q, which no packet runs before it", d.To, d.From)
	case len(d.Kinds) == 0:
		return fmt.Errorf("of %q on %q: no kind, want some of %s", d.To, d.From, strings.Join(kinds(), ", "))
	}
	for _, k := range d.Kinds {
		if !isKind(k) {
			return fmt.Errorf("of %q on %q: kind %q, want one of %s", d.To, d.From, k, strings.Join(kinds(), ", "))
		}
	}
	return nil
}
