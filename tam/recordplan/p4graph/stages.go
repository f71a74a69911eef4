package p4graph

import (
	"slices"

	"tamtam/tam/record"
)

// MinStages returns the minimum number of stages of a program by its dependencies alone. It is the length of the
// longest chain of strict dependencies, in which each table must be in a later stage than the previous table. chain is
// such a chain. Dependencies that are not strict may connect its parts, at no cost.
func MinStages(g *record.Graph) (n int, chain []string) {
	x, err := record.NewIndex(g)
	if err != nil || len(g.Nodes) == 0 {
		return 0, nil
	}
	later := dependents(g, x)
	stage, before := make([]int, len(g.Nodes)+1), make([]int, len(g.Nodes)+1)
	for i := range before {
		before[i] = -1
	}
	last := -1
	for _, a := range x.Order {
		if g.Nodes[a].Kind != record.Table {
			continue
		}
		if last < 0 || stage[a] > stage[last] {
			last = a
		}
		for _, s := range later[a] {
			at := stage[a]
			if s.strict {
				at++
			}
			if at > stage[s.table] {
				stage[s.table], before[s.table] = at, a
			}
		}
	}
	if last < 0 {
		return 0, nil
	}
	for at := last; at >= 0; at = before[at] {
		chain = append(chain, g.Nodes[at].ID)
	}
	slices.Reverse(chain)
	return stage[last] + 1, chain
}

// A dependent is a table that must not be in an earlier stage than another. strict means that it must be in a later
// stage.
type dependent struct {
	table  int
	strict bool
}

// dependents returns the dependents of each node of a graph.
func dependents(g *record.Graph, x *record.Index) [][]dependent {
	later := make([][]dependent, len(g.Nodes))
	for _, d := range Dependencies(g) {
		a, okA := x.Of[d.From]
		b, okB := x.Of[d.To]
		if okA && okB && a < len(g.Nodes) {
			later[a] = append(later[a], dependent{b, d.Strict()})
		}
	}
	return later
}
