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

// Bounds of what is read. The programs that we know have 141 nodes and 370 edges in
// one pipeline at most, and half a megabyte of JSON.
const (
	// MaxNodes is less than a record.Graph may have: planning compares every two.
	MaxNodes   = 2048
	MaxEdges   = 100_000
	maxFields  = 200_000  // fields that the nodes of one graph read and write
	maxActions = 16_384   // of all pipelines of a program
	maxProgram = 16 << 20 // bytes of a file
	maxElement = 4 << 20  // bytes of one table, condition or action in it
)

// A document is the top level of any of the accepted forms.
type document struct {
	Program  string          `json:"program"`
	Pipeline string          `json:"pipeline"`
	Init     string          `json:"init"`
	Nodes    json.RawMessage `json:"nodes"`
	Edges    json.RawMessage `json:"edges"`
	Deps     json.RawMessage `json:"deps"`
	Placed   bool            `json:"placed"`
	Stages   int             `json:"stages"`
	Version  uint64          `json:"version"`
	Reasons  json.RawMessage `json:"reasons"`
	Ends     json.RawMessage `json:"ends"`
	Only     json.RawMessage `json:"only"`
	Traps    json.RawMessage `json:"traps"`
	Tests    json.RawMessage `json:"tests"`

	Graph json.RawMessage `json:"graph"` // of a plan, and of what a chip says of its paths

	bmv2
}

// bmv2 is what a compiler writes for BMv2. All is raw: encoding/json would call a field of another
// type bmv2.actions.
type bmv2 struct {
	Pipelines    json.RawMessage `json:"pipelines"`
	Actions      json.RawMessage `json:"actions"`
	Calculations json.RawMessage `json:"calculations"`
	Headers      json.RawMessage `json:"headers"`
	Stacks       json.RawMessage `json:"header_stacks"`
	Unions       json.RawMessage `json:"header_unions"`
	UnionStacks  json.RawMessage `json:"header_union_stacks"`
	Meters       json.RawMessage `json:"meter_arrays"`
}

// Read reads one pipeline of a program: BMv2 JSON of any version, the plain form of
// a graph, or a chip's description of itself; also the graph in a plan. Pipeline ""
// is ingress, or the only one there is. The graph is checked, and knows its dependencies unless it is
// placed. An error names what of the program is missing or wrong. More than 16 MiB is refused.
func Read(r io.Reader, pipeline string) (*record.Graph, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxProgram+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxProgram {
		return nil, fmt.Errorf("a program of more than %d bytes", maxProgram)
	}
	var d document
	if err := json.Unmarshal(b, &d); err != nil {
		return nil, where(b, err)
	}
	if d.Graph != nil && d.Nodes == nil && d.Pipelines == nil {
		b, d = d.Graph, document{}
		if err := json.Unmarshal(b, &d); err != nil {
			return nil, where(b, err)
		}
	}
	var g *record.Graph
	switch {
	case d.Pipelines != nil && d.Nodes != nil:
		return nil, errors.New(`the program has both "pipelines" and "nodes", ` +
			`want BMv2 JSON with the one or a plain graph with the other`)
	case d.Pipelines != nil:
		g, err = readBMv2(&d, pipeline)
	case d.Nodes != nil:
		g, err = readPlain(&d, pipeline)
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

// where returns the line of a file at which JSON is wrong.
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

// inWords says what is wrong with a value in JSON's terms.
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
	if wrong.Field == "" {
		return fmt.Errorf("it is %s, want %s", article(wrong.Value), want)
	}
	return fmt.Errorf("%q is %s, want %s", wrong.Field, article(wrong.Value), want)
}

// article puts a or an before what encoding/json calls a value.
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

// each calls f with every element of a list, which has at most limit: what a hostile
// file can make of memory is bounded by it.
func each(list json.RawMessage, what string, limit int, f func(element json.RawMessage) error) error {
	if list == nil || string(list) == "null" {
		return nil
	}
	if n, err := count(list); err != nil || n > limit {
		if err == nil {
			err = fmt.Errorf("there are %d, want at most %d", n, limit)
		}
		return fmt.Errorf("%s: %w", what, err)
	}
	d := json.NewDecoder(bytes.NewReader(list))
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	for i := 0; d.More(); i++ {
		var element json.RawMessage
		if err := d.Decode(&element); err != nil {
			return fmt.Errorf("%s %d: %w", what, i, err)
		}
		if err := f(element); err != nil {
			return fmt.Errorf("%s %d: %w", what, i, inWords(err))
		}
	}
	return nil
}

// count is how many elements a list has.
func count(list json.RawMessage) (int, error) {
	if text := bytes.TrimSpace(list); len(text) == 0 || text[0] != '[' {
		return 0, fmt.Errorf("%.40q, want a list", text)
	}
	var skipped []struct{} // which takes no memory
	err := json.Unmarshal(list, &skipped)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		err = nil // of an element, whose reader will say so
	}
	return len(skipped), err
}

// eachAs is each with the elements decoded, which have a bound of their own.
func eachAs[T any](list json.RawMessage, what string, limit int, f func(*T) error) error {
	return each(list, what, limit, func(element json.RawMessage) error {
		if len(element) > maxElement {
			return fmt.Errorf("%d bytes, want at most %d", len(element), maxElement)
		}
		var v T
		if err := json.Unmarshal(element, &v); err != nil {
			return err
		}
		return f(&v)
	})
}

// Check refuses graphs that cannot be planned for: ids twice, edges from or to
// nowhere, cycles, dependencies against the order of the program, stages that a
// placed graph does not have. Nodes that no packet comes to are allowed: they are
// never run, and say nothing.
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
