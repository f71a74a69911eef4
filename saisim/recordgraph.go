package saisim

import (
	"slices"

	"tamtam/saisim/pipe"
	"tamtam/saisim/profile"
	"tamtam/tam/record"
)

// A chipGraph is the graph of the chip with one program.
type chipGraph struct {
	graph *record.Graph
	// tables are the ids of the graph's tables in order; fixed and program say which of
	// them a fixed function is, and a table of the program, counted as [pipe.Compiled.Tap]
	// does.
	tables  []string
	fixed   [numFixed]int
	program []int
}

func newChipGraph(p *profile.Profile, program *pipe.Program) *chipGraph {
	g := &chipGraph{graph: DescribeProgram(p, program)}
	at := map[string]int{}
	for _, n := range g.graph.Nodes {
		if n.Kind == record.Table {
			at[n.ID] = len(g.tables)
			g.tables = append(g.tables, n.ID)
		}
	}
	for f := range numFixed {
		i, ok := at[f.String()]
		if !ok {
			i = -1
		}
		g.fixed[f] = i
	}
	if program != nil {
		for i := range program.Ingress.Tables {
			g.program = append(g.program, at["ingress."+program.Ingress.Tables[i].Name])
		}
		for i := range program.Egress.Tables {
			g.program = append(g.program, at["egress."+program.Egress.Tables[i].Name])
		}
	}
	return g
}

// node returns a table by its id, nil if there is none.
func (g *chipGraph) node(id string) *record.Node {
	for i := range g.graph.Nodes {
		if n := &g.graph.Nodes[i]; n.ID == id && n.Kind == record.Table {
			return n
		}
	}
	return nil
}

// tap makes a tap of a mark of one of the graph's tables.
func (g *chipGraph) tap(m record.ChipMark) tap {
	t := tap{hit: m.When == record.MarkHit, bit: uint8(m.Bit)}
	for f := range numFixed {
		if f.String() != m.Table {
			continue
		}
		if t.fixed = f.ran(); t.hit {
			t.fixed = f.hit()
		}
		return t
	}
	i := slices.IndexFunc(g.program, func(table int) bool { return g.tables[table] == m.Table })
	t.table = uint8(i)
	return t
}

// described returns the graph of what runs now.
func (c *engine) described() *chipGraph {
	if c.programGraph == nil {
		var program *pipe.Program
		if c.program != nil {
			program = c.program.Program()
		}
		c.programGraph = newChipGraph(&c.prof, program)
	}
	return c.programGraph
}
