package main

import (
	"bytes"
	"os"
	"reflect"
	"testing"

	"tamtam/tam/record"
	"tamtam/tam/recordplan/p4graph"
)

// Of a chain a -> b -> c, what a asks of c follows, if it is no stricter than the chain.
func TestImpliedDependenciesAreLeftOut(t *testing.T) {
	strict, loose := []string{record.DepMatch}, []string{record.DepAnti}
	tests := []struct {
		name       string
		ab, bc, ac []string
		want       int
	}{
		{"all strict", strict, strict, strict, 2},
		{"one of the chain strict", loose, strict, strict, 2},
		{"a loose chain", loose, loose, strict, 3},
		{"loose over strict", strict, strict, loose, 2},
		{"all loose", loose, loose, loose, 2},
	}
	for _, tt := range tests {
		g := &record.Graph{Pipeline: "ingress", Init: "a", Deps: []record.Dep{{From: "a", To: "b", Kinds: tt.ab},
			{From: "b", To: "c", Kinds: tt.bc}, {From: "a", To: "c", Kinds: tt.ac}}}
		for i, id := range []string{"a", "b", "c"} {
			g.Nodes = append(g.Nodes, record.Node{ID: id, Kind: record.Table})
			g.Edges = append(g.Edges, record.Edge{From: id, To: []string{"b", "c", record.Exit}[i], Label: "x"})
		}
		if got := reduce(g); len(got) != tt.want {
			t.Errorf("%s: kept %v, want %d", tt.name, got, tt.want)
		}
	}
}

// The graphs that come with tamtam are compact: made again they are the same.
func TestCompactOfCompact(t *testing.T) {
	for _, file := range []string{"../ontas-ingress.json", "../switch-egress.json"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		g, err := p4graph.Read(bytes.NewReader(text), "")
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := write(&out, compact(g)); err != nil {
			t.Fatal(err)
		}
		again, err := p4graph.Read(&out, "")
		if err != nil || !reflect.DeepEqual(again.Edges, g.Edges) || len(again.Deps) != len(g.Deps) || again.Init != g.Init ||
			len(again.Nodes) != len(g.Nodes) {
			t.Errorf("%s: %v; %d edges and %d dependencies, want %d and %d", file, err, len(again.Edges), len(again.Deps),
				len(g.Edges), len(g.Deps))
		}
	}
}
