package p4graph

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tamtam/tam/record"
)

func TestReadPlain(t *testing.T) {
	g, err := Read(strings.NewReader(`{
		"program": "p.p4", "pipeline": "ingress", "defines": [], "init": "a", "cut": ["a"], "stats": {"tables": 3},
		"nodes": [
			{"id": "a", "kind": "table", "keys": [{"field": "h.x", "match": "exact"}], "actions": ["on", "off"], "size": "12",
			 "action_reads": [], "action_writes": ["m.y"]},
			{"id": "c", "kind": "cond", "expr": "m.y == 1", "reads": ["m.y"]},
			{"id": "b", "kind": "table", "keys": [], "actions": ["nop"], "size": null, "key_reads": []}],
		"edges": [["a", "c", "on"], ["a", "EXIT", "off"], ["c", "b", "true"], ["c", null, "false"], ["b", "EXIT"]]}`), "")
	if err != nil {
		t.Fatal(err)
	}
	want := &record.Graph{
		Program: "p.p4", Pipeline: "ingress", Init: "a",
		Nodes: []record.Node{
			{ID: "a", Kind: "table", Actions: []string{"on", "off"}, KeyReads: []string{"h.x"}, ActionReads: []string{},
				ActionWrites: []string{"m.y"}},
			{ID: "c", Kind: "cond", Reads: []string{"m.y"}},
			{ID: "b", Kind: "table", Keyless: true, Actions: []string{"nop"}, KeyReads: []string{}},
		},
		Edges: []record.Edge{{From: "a", To: "c", Label: "on"}, {From: "a", To: "EXIT", Label: "off"},
			{From: "c", To: "b", Label: "true"}, {From: "c", To: "EXIT", Label: "false"}, {From: "b", To: "EXIT"}},
		Deps: []record.Dep{{From: "a", To: "b", Kinds: []string{record.DepViaCond, record.DepControl}}},
	}
	if !reflect.DeepEqual(g, want) {
		t.Errorf("got  %+v\nwant %+v", g, want)
	}
}

// A graph can be written and read again, because plans contain their graph.
func TestReadAgain(t *testing.T) {
	files, err := filepath.Glob("testdata/bmv2/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		g := openFile(t, file, "")
		b, err := json.Marshal(g)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Read(io.MultiReader(strings.NewReader(`{"id": 7, "graph":`), bytes.NewReader(b),
			strings.NewReader("}")), "ingress")
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if text, err := json.Marshal(again); err != nil || !bytes.Equal(text, b) {
			t.Errorf("%s: %v\n%s\n%s", file, err, b, text)
		}
	}
}

// A chip places its tables itself, so its graph has no dependencies for planning.
func TestReadPlaced(t *testing.T) {
	text := `{"pipeline": "switch", "init": "a", "placed": true, "stages": 2, "version": 7, "reasons": ["", "acl"],
		"nodes": [{"id": "a", "kind": "table", "keyless": true, "stage": 1, "unit": "u"}], "edges": [["a", "EXIT", ""]]}`
	g, err := Read(strings.NewReader(text), "")
	if err != nil || !g.Placed || g.Stages != 2 || g.Version != 7 || !reflect.DeepEqual(g.Reasons, []string{"", "acl"}) ||
		g.Deps != nil {
		t.Fatalf("%+v %v", g, err)
	}
	if n := g.Nodes[0]; !n.Keyless || n.Stage != 1 || n.Unit != "u" {
		t.Errorf("%+v", n)
	}
	_, err = Read(strings.NewReader(strings.Replace(text, `"stages": 2`, `"stages": 1`, 1)), "")
	if err == nil || !strings.Contains(err.Error(), `table "a" is in stage 1, want 0 to 0`) {
		t.Error(err)
	}
}

func TestBadPlain(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{``, "breaks off"},
		{`[]`, "line 1, byte 1: it is a list, want an object"},
		{`null`, "neither"},
		{`{}`, `neither "pipelines" (BMv2 JSON) nor "nodes"`},
		{`{"nodes": [], "pipelines": []}`, "both"},
		{`{"pipelines": []}`, `no pipeline "ingress": the program has []`},
		{`{"graph": {}}`, "neither"},
		{`{"graph": null}`, "neither"},
		{`{"graph": {"graph": {"nodes": []}}}`, "neither"},
		{`{"nodes": {}}`, `"nodes" is an object, want a list`},
		{`{"nodes": [7]}`, `line 1, byte 12: "nodes" is a number, want an object`},
		{`{"nodes": [{"id": "a", "keys": [{"field": {}}]}]}`, `"nodes.keys.field" is an object, want a string`},
		{`{"nodes": [], "placed": 1}`, `"placed" is a number, want true or false`},
		{`{"nodes": [], "stages": 1.5}`, `"stages" is a number 1.5, want a whole number`},
		{`{"init": "a", "nodes": [{"id": "a", "kind": "box"}]}`, `kind "box"`},
		{`{"init": "a", "nodes": [{"id": "a", "kind": "table"}], "edges": [["a"]]}`,
			"edge [\"a\"], want [from, to, label]"},
		{`{"init": "a", "nodes": [{"id": "a", "kind": "table"}], "edges": [["a", "b", "x"]]}`, `leads to "b"`},
		{"{\n\"init\": 3,\n\"nodes\": []}", `line 2, byte 11: "init" is a number, want a string`},
		{`{"init": "a", "nodes": [{"id": "a", "kind": "table"}], "edges": [["a", null]], "deps": [["a", "b", ["match"]]]}`,
			`dependency 0: of "b", which is no table`},
		{`{"init": "a", "nodes": [{"id": "a", "kind": "table"}, {"id": "b", "kind": "table"}], "edges": [["a", "b"], ["b", ` +
			`null]], "deps": [["b", "a", ["match"]]]}`, `dependency 0: of "a" on "b", which no packet runs before it`},
		{`{"init": "a", "nodes": [{"id": "a", "kind": "table"}, {"id": "b", "kind": "table"}], "edges": [["a", "b"], ["b", ` +
			`null]], "deps": [["a", "b", ["must"]]]}`, `kind "must", want one of match, match_via_cond`},
		{`{"init": "a", "nodes": [{"id": "a", "kind": "table"}, {"id": "b", "kind": "table"}], "edges": [["a", "b"], ["b", ` +
			`null]], "deps": [["a", "b", []]]}`, `no kind`},
	} {
		if _, err := Read(strings.NewReader(c.text), ""); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v\nwant %s", c.text, err, c.want)
		}
	}
}

// A program of 10^5 nodes is refused quickly, in either form. A program of the maximum size is read, regardless of the
// length of its paths.
func TestLargePrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("megabytes of JSON; nothing for the race detector")
	}
	plain := func(n int) string {
		var b strings.Builder
		b.WriteString(`{"pipeline":"ingress","init":"t0","nodes":[`)
		for i := range n {
			fmt.Fprintf(&b, `%s{"id":"t%d","kind":"table","key_reads":["h.f%d"],"action_writes":["h.f%d"]}`, comma(i), i, i, i+1)
		}
		b.WriteString(`],"edges":[`)
		for i := range n - 1 {
			fmt.Fprintf(&b, `["t%d","t%d","x"],`, i, i+1)
		}
		fmt.Fprintf(&b, `["t%d","EXIT","x"]]}`, n-1)
		return b.String()
	}
	bmv2 := func(n int) string {
		var b strings.Builder
		b.WriteString(
			`{"actions":[{"name":"x","id":0,"primitives":[]}],"pipelines":[{"name":"ingress","init_table":"t0","tables":[`)
		for i := range n {
			next := fmt.Sprintf(`"t%d"`, i+1)
			if i == n-1 {
				next = "null"
			}
			fmt.Fprintf(&b, `%s{"name":"t%d","key":[],"action_ids":[0],"next_tables":{"x":%s},"default_entry":{"action_id":0}}`,
				comma(i), i, next)
		}
		b.WriteString(`],"conditionals":[]}]}`)
		return b.String()
	}
	for _, text := range []string{plain(100_000), bmv2(100_000)} {
		_, err := Read(strings.NewReader(text), "")
		if err == nil || !strings.Contains(err.Error(), "100000 nodes and") {
			t.Errorf("%v", err)
		}
	}
	for _, text := range []string{plain(MaxNodes), bmv2(MaxNodes)} {
		g, err := Read(strings.NewReader(text), "")
		if err != nil {
			t.Fatal(err)
		}
		if n, chain := MinStages(g); g.Nodes[0].KeyReads != nil && (n != MaxNodes || len(chain) != MaxNodes) {
			t.Errorf("%d stages, want %d", n, MaxNodes)
		}
	}
	_, err := Read(bytes.NewReader(bytes.Repeat([]byte(" "), maxProgram+1)), "")
	if err == nil || !strings.Contains(err.Error(), "more than") {
		t.Error(err)
	}
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

// Expressions may nest as deeply as JSON allows.
func TestDeepExpressions(t *testing.T) {
	const deep = 4000
	field := `{"type":"field","value":["m","x"]}`
	program := `{"actions":[],"pipelines":[{"name":"ingress","init_table":"c","tables":[],"conditionals":[{"name":"c",` +
		`"true_next":null,"false_next":null,"expression":` +
		strings.Repeat(`{"type":"expression","value":{"op":"not","left":null,"right":`, deep) + field +
		strings.Repeat(`}}`, deep) + `}]}]}`
	g, err := Read(strings.NewReader(program), "")
	if err != nil || !reflect.DeepEqual(g.Nodes[0].Reads, []string{"m.x"}) {
		t.Fatal(err)
	}
	program = strings.Replace(program, field, strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000), 1)
	if _, err := Read(strings.NewReader(program), ""); err == nil || !strings.Contains(err.Error(), "depth") {
		t.Fatal(err)
	}
}

func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/bmv2/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(
		`{"init":"a","nodes":[{"id":"a","kind":"table","keys":[]},{"id":"c","kind":"cond"}],"edges":[["a","c","hit"],["a",` +
			`null,"miss"],["c","EXIT"]]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		g, err := Read(bytes.NewReader(b), "")
		if err != nil {
			return
		}
		// Everything that is read can be used.
		if err := Check(g); err != nil {
			t.Fatal(err)
		}
		if _, err := Measure(g); err != nil {
			t.Fatal(err)
		}
		if p, err := Complete(g, Random(g, 1)); err != nil {
			t.Fatalf("%v: %+v", err, p)
		}
		if _, err := FromPaths(g, nil); err != nil {
			t.Fatal(err)
		}
	})
}

func openFile(t *testing.T, path, pipeline string) *record.Graph {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	g, err := Read(bytes.NewReader(b), pipeline)
	if err != nil {
		t.Fatal(err)
	}
	return g
}
