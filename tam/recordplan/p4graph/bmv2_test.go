package p4graph

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tamtam/tam/record"
)

// Each file in testdata/bmv2 shows one rule of BMv2 JSON. Its edges are those that behavioral-model's packets take.
func TestEdgesOfBMv2(t *testing.T) {
	for file, want := range map[string][]string{
		"exit": {
			"a go b",
			"a stop EXIT",               // exit overrides the next table, although the rest of the action still runs
			"a maybe b", "a maybe EXIT", // exit after _jump_if_zero
			"a either b", "a either EXIT", // after any jump
			"a never b", "a never EXIT",
			"b go EXIT",
			"b stop EXIT", // both lead to the end, so it is one edge
		},
		"hitmiss": {
			"plain hit exits", "plain miss EXIT", // there is no base_default_next
			"exits hit open", "exits hit EXIT", "exits miss keyless", // the fixed default action does not exit
			// a default action that may change may exit
			"open hit keyless", "open hit EXIT", "open miss stops", "open miss EXIT",
			"stops hit keyless", "stops hit EXIT", "stops miss EXIT", // the fixed default action exits
			"keyless miss EXIT", // without a key there is no hit
		},
		"default": {
			"without go with", "without on with", "without miss same",
			"with go same", // the table has a default entry
			"same go absent",
			"absent go last", "absent miss EXIT", // a missing base_default_next is null
			"last go EXIT",
		},
		"names":    {"a go c", "a on_miss EXIT", "b drop EXIT", "c true b", "c false EXIT"},
		"repeated": {"a nop b", "a hit() EXIT", "b nop#1 c", "b nop#3 c", "c hit() EXIT"},
		"calls":    {"a go EXIT", "c true marked", "c false stopped", "marked mark a", "stopped stop EXIT"},
		"empty":    nil,
	} {
		g := openFile(t, filepath.Join("testdata", "bmv2", file+".json"), "")
		var got []string
		for _, e := range g.Edges {
			got = append(got, e.From+" "+e.Label+" "+e.To)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %q\nwant %q", file, got, want)
		}
		if g.Pipeline != "ingress" {
			t.Errorf("%s: pipeline %q", file, g.Pipeline)
		}
	}
}

func TestEmptyPipeline(t *testing.T) {
	for _, pipeline := range []string{"", "ingress", "egress"} {
		g := openFile(t, "testdata/bmv2/empty.json", pipeline)
		if len(g.Nodes) > 0 || g.Init != record.Exit {
			t.Errorf("%+v", g)
		}
		f, err := Measure(g)
		if err != nil || f.Paths.String() != "1" || f.MinStages != 0 {
			t.Errorf("%+v %v", f, err)
		}
	}
}

func TestCallsAreTablesWithoutKey(t *testing.T) {
	g := openFile(t, "testdata/bmv2/calls.json", "")
	if g.Init != "c" {
		t.Errorf("it begins with %q", g.Init)
	}
	want := record.Node{ID: "marked", Kind: record.Table, Keyless: true, Actions: []string{"mark"},
		ActionWrites: []string{"m.x"}}
	for _, n := range g.Nodes {
		if n.ID == "marked" && !reflect.DeepEqual(n, want) {
			t.Errorf("%+v", n)
		}
	}
}

func TestFieldsOfBMv2(t *testing.T) {
	want := []struct{ id, keys, reads, writes string }{
		{"assign", "h.k", "m.b m.d m.e", "m.a"},
		{"headers", "h.k", "inner.*", "ip.* mpls.$valid$ vlan.*"},
		{"registers", "h.k", "m.i m.j m.k reg:q reg:r", "m.a reg:w"},
		{"counts", "h.k", "m.i", "m.colour m.tag"}, // the direct meter writes the tag
		{"hash", "h.k ip.dst ip.src", "ip.src tcp.*", "m.a"},
		{"stacks", "h.k", "m.i m.v", "tags[0].* tags[1].*"},
		{"drop", "h.k", "ip.ttl", "ip.ttl standard_metadata.egress_spec standard_metadata.mcast_grp"},
		{"own", "h.k", "m.o", "m.o"}, // an unknown primitive of a target
		{"union", "h.k", "v4.*", "v4.* v6.*"},
	}
	g := openFile(t, "testdata/bmv2/fields.json", "")
	for i, w := range want {
		n := g.Nodes[i]
		got := []string{n.ID, strings.Join(n.KeyReads, " "), strings.Join(n.ActionReads, " "),
			strings.Join(n.ActionWrites, " ")}
		if !reflect.DeepEqual(got, []string{w.id, w.keys, w.reads, w.writes}) {
			t.Errorf("got  %q\nwant %q", got, w)
		}
	}
	if c := g.Nodes[len(want)]; strings.Join(c.Reads, " ") != "ip.$valid$ v4.$valid$ v6.$valid$" {
		t.Errorf("the condition reads %q", c.Reads)
	}
}

// An action named hit, in a table with one action, does not make the table branch by its hit.
func TestActionsNamedHit(t *testing.T) {
	g := openFile(t, "testdata/bmv2/repeated.json", "")
	p := Uniform(g)
	for _, e := range p.Edges {
		if e.Label != "" {
			t.Errorf("%+v", e)
		}
	}
}

func TestBadBMv2(t *testing.T) {
	b, err := os.ReadFile("testdata/bmv2/names.json")
	if err != nil {
		t.Fatal(err)
	}
	good := string(b)
	for _, c := range []struct{ from, to, want string }{
		{`"go": "c"`, `"go": "a"`, `cycle: a -> a`},
		{`"true_next": "b"`, `"true_next": "a"`, `cycle: a -> c -> a`},
		{`"go": "c"`, `"go": "elsewhere"`, `edge "go" of node "a" leads to "elsewhere", which is no node`},
		{`"go": "c", `, ``, `table "a": next_tables says nothing of action "go"`},
		{`"go": "c"`, `"__HIT__": "c"`, `table "a": next_tables has 2 keys and one of them is __HIT__ or __MISS__`},
		{`"go": "c", `, `"go": "c", "gone": "c", `,
			`table "a": next_tables names action "gone", which the table does not have; it has ["go" "on_miss"]`},
		{`"actions": ["go", "on_miss"]`,
			`"default_entry": {"action_id": 2, "action_const": true}, "actions": ["go", "on_miss"]`,
			`table "a": default_entry: action_id 2 is no action of the table; it has ["go" "on_miss"]`},
		{`"action_ids": [0, 1]`, `"action_ids": [0, 77]`, `table "a": no action has id 77`},
		{`"id": 1`, `"id": 0`, `action "on_miss": it has id 0, as "go" has`},
		{`"init_table": "a"`, `"init_table": "z"`, `init "z" is no node`},
		{`"name": "b"`, `"name": "a"`, `both called "a"`},
		{`["h", "k"]`, `["h", "k", "j"]`, `table "a": key target ["h", "k", "j"], want [header, field]`},
		{`"name": "ingress"`, `"name": "in"`, `no pipeline "ingress": the program has ["in" "egress"]`},
		{`"pipelines": [`, `"pipelines": {`, `line `},
		{`"next_tables": {`, `"next_tables": 7, "x": {`, `"pipelines.tables.next_tables" is a number, want an object`},
	} {
		if !strings.Contains(good, c.from) {
			t.Fatalf("no %s in it", c.from)
		}
		_, err := Read(strings.NewReader(strings.Replace(good, c.from, c.to, 1)), "")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v\nwant %s", c.to, err, c.want)
		}
	}
	if _, err := Read(strings.NewReader(good), "middle"); err == nil ||
		!strings.Contains(err.Error(), `no pipeline "middle"`) {
		t.Error(err)
	}
}

// A truncated file is refused, wherever it ends.
func TestTruncatedBMv2(t *testing.T) {
	b, err := os.ReadFile("testdata/bmv2/names.json")
	if err != nil {
		t.Fatal(err)
	}
	whole := strings.TrimSpace(string(b))
	for n := range len(whole) {
		if _, err := Read(strings.NewReader(whole[:n]), ""); err == nil || !strings.Contains(err.Error(), "breaks off") {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
}
