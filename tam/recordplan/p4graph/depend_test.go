package p4graph

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"tamtam/tam/record"
)

// graphOf returns a graph of tables "name reads>writes key", conditions "?name reads", and edges "from to".
func graphOf(nodes []string, edges ...string) *record.Graph {
	g := &record.Graph{Pipeline: "ingress"}
	fields := func(s string) []string {
		if s == "" || s == "-" {
			return nil
		}
		return strings.Split(s, ",")
	}
	for _, text := range nodes {
		part := append(strings.Fields(text), "", "", "")
		if name, ok := strings.CutPrefix(part[0], "?"); ok {
			g.Nodes = append(g.Nodes, record.Node{ID: name, Kind: record.Condition, Reads: fields(part[1])})
			continue
		}
		reads, writes, _ := strings.Cut(part[1], ">")
		g.Nodes = append(g.Nodes, record.Node{ID: part[0], Kind: record.Table, ActionReads: fields(reads),
			ActionWrites: fields(writes), KeyReads: fields(part[2])})
	}
	for _, e := range edges {
		part := append(strings.Fields(e), "")
		g.Edges = append(g.Edges, record.Edge{From: part[0], To: part[1], Label: part[2]})
	}
	g.Init = g.Nodes[0].ID
	return g
}

// The kinds are those of the table in Jose et al., with conditions.
func TestDependencies(t *testing.T) {
	for _, c := range []struct {
		name  string
		graph *record.Graph
		want  []string
	}{
		{"match", graphOf([]string{"a >m.x", "b > m.x"}, "a b", "b EXIT"), []string{"a b match"}},
		{"action", graphOf([]string{"a >m.x", "b m.x>"}, "a b", "b EXIT"), []string{"a b action_rw"}},
		{"write", graphOf([]string{"a >m.x", "b >m.x"}, "a b", "b EXIT"), []string{"a b action_ww"}},
		{"reverse match", graphOf([]string{"a > m.x", "b >m.x"}, "a b", "b EXIT"), []string{"a b anti"}},
		{"reverse action", graphOf([]string{"a m.x>", "b >m.x"}, "a b", "b EXIT"), []string{"a b anti"}},
		{"successor", graphOf([]string{"a >", "b >"}, "a b on", "a EXIT off", "b EXIT"), []string{"a b control"}},
		{"none", graphOf([]string{"a >m.x n.*", "b >m.y k.x"}, "a b", "b EXIT"), nil},
		{"header and field", graphOf([]string{"a >h.*", "b > h.f"}, "a b", "b EXIT"), []string{"a b match"}},
		{"field and header", graphOf([]string{"a >h.f", "b h.*>"}, "a b", "b EXIT"), []string{"a b action_rw"}},
		{"header and header", graphOf([]string{"a >h.*", "b >h.*"}, "a b", "b EXIT"), []string{"a b action_ww"}},
		{"validity", graphOf([]string{"a >h.*", "b > h.$valid$"}, "a b", "b EXIT"), []string{"a b match"}},
		{"dots in names", graphOf([]string{"a >s.m._x0", "b > s.*", "c > s.m"}, "a b", "b c", "c EXIT"),
			[]string{"a b match"}},
		{"registers", graphOf([]string{"a >reg:r", "b >reg:r"}, "a b", "b EXIT"), []string{"a b action_ww"}},
		{"counters order nothing", graphOf([]string{"a >ctr:c", "b >ctr:c"}, "a b", "b EXIT"), nil},
		{"exclusive branches", graphOf([]string{"?c", "a >m.x", "b > m.x"}, "c a", "c b", "a EXIT", "b EXIT"), nil},
		{"a condition decides", graphOf([]string{"a >m.x", "?c m.x", "b >"}, "a c", "c b true", "c EXIT false", "b EXIT"),
			[]string{"a b match_via_cond"}},
		{"a condition that decides nothing", graphOf([]string{"a >m.x", "?c m.x", "b >"}, "a c", "c b true", "c b false",
			"b EXIT"), nil},
		{"behind where branches meet", graphOf([]string{"a >m.x", "?c m.x", "b >", "d >"}, "a c", "c b true", "c d false",
			"b d", "d EXIT"), []string{"a b match_via_cond"}},
		{"a branch that only sometimes meets", graphOf([]string{"a >m.x", "?c m.x", "?e", "d >"}, "a c", "c e true",
			"c d false", "e d", "e EXIT", "d EXIT"), []string{"a d match_via_cond"}},
		{"all kinds", graphOf([]string{"a m.y>m.x m.z", "?c m.x", "b m.x>m.x,m.y m.x"}, "a c on", "a EXIT off", "c b",
			"c EXIT", "b EXIT"),
			[]string{"a b match match_via_cond action_rw action_ww control anti"}},
	} {
		if err := Check(c.graph); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		var got []string
		for _, d := range Dependencies(c.graph) {
			got = append(got, strings.Join(append([]string{d.From, d.To}, d.Kinds...), " "))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestGivenDependencies(t *testing.T) {
	g := graphOf([]string{"a >m.x", "b > m.x"}, "a b", "b EXIT")
	g.Deps = []record.Dep{}
	if deps := Dependencies(g); len(deps) > 0 {
		t.Errorf("%v: the graph says that there are none", deps)
	}
}

// Each strict dependency on a chain requires a further stage. Other dependencies require none.
func TestMinStages(t *testing.T) {
	g := graphOf([]string{"a >1.x", "b >2.x 1.x", "c > 2.x", "d >3.y", "e > 3.y"}, "a b", "b c", "c d", "c EXIT", "d e",
		"e EXIT")
	// a and b, b and c: match; c and d, c and e: control; d and e: match.
	n, chain := MinStages(g)
	if want := []string{"a", "b", "c", "d", "e"}; n != 4 || !reflect.DeepEqual(chain, want) {
		t.Errorf("%d stages by %v, want 4 by %v", n, chain, want)
	}
	f, err := Measure(g)
	if err != nil || f.Strict != 3 || f.NonStrict != 2 || f.Needed != 3 {
		t.Errorf("%+v %v", f, err)
	}
	if n, chain := MinStages(graphOf([]string{"?c"}, "c EXIT")); n != 0 || chain != nil {
		t.Errorf("%d stages without tables", n)
	}
}

// A dependency that follows from a chain of others is not counted as needed, for any length of the chain.
func TestNeededDependencies(t *testing.T) {
	g := graphOf([]string{"a >1.x,4.x", "b >2.x 1.x", "c >3.x 2.x", "d > 3.x,4.x"}, "a b", "b c", "c d", "d EXIT")
	f, err := Measure(g)
	if err != nil || f.Strict != 4 || f.Needed != 3 {
		t.Errorf("%+v %v", f, err)
	}
}

func TestMeasure(t *testing.T) {
	// Figure 4 of the paper, with two actions of B, and a table that is never run.
	g := graphOf([]string{"A", "?X", "B", "?Y", "C", "D", "E", "U"},
		"A X", "A E", "X B", "X Y", "B D one", "B D two", "Y C", "Y D", "C D", "D E", "E EXIT", "U EXIT")
	f, err := Measure(g)
	if err != nil {
		t.Fatal(err)
	}
	if f.NodePaths.Int64() != 4 || f.Paths.Int64() != 4 || f.Walks.Int64() != 5 || f.Cuts != 2 || f.CutTables != 2 ||
		f.Tables != 6 || f.Conditions != 2 || f.Edges != 12 || f.Successors != 11 || f.LongestPath != 6 ||
		f.LongestRun != 4 ||
		!reflect.DeepEqual(f.Unreached, []string{"U"}) {
		t.Errorf("%+v", f)
	}
	// Paths that differ only in their conditions between two tables are one path of a record.
	f, err = Measure(graphOf([]string{"?X", "?Y", "A", "B"}, "X Y", "X A", "Y A", "Y B", "A B", "B EXIT"))
	if err != nil || f.NodePaths.Int64() != 3 || f.Paths.Int64() != 2 {
		t.Errorf("%+v %v", f, err)
	}
}
