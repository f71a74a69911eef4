package engine

import (
	"math/bits"
	"slices"

	"tamtam/saisim/describe"
	"tamtam/saisim/pipe"
	"tamtam/saisim/profile"
	"tamtam/tam/record"
)

// A chipGraph is the graph of the chip with one program.
type chipGraph struct {
	graph *record.Graph
	// tables holds the ids of the graph's tables in order. fixed holds the index of each fixed function in tables.
	// program holds that of each table of the program, numbered as in [pipe.PHV]'s Ran.
	tables  []string
	fixed   [describe.NumFixed]int
	program []int
	actions [][]string // action names of the program's tables, numbered likewise
}

func newChipGraph(p *profile.Profile, program *pipe.Program) *chipGraph {
	g := &chipGraph{graph: describe.Program(p, program)}
	at := map[string]int{}
	for _, n := range g.graph.Nodes {
		if n.Kind == record.Table {
			at[n.ID] = len(g.tables)
			g.tables = append(g.tables, n.ID)
		}
	}
	for f := range describe.NumFixed {
		i, ok := at[f.String()]
		if !ok {
			i = -1
		}
		g.fixed[f] = i
	}
	if program != nil {
		for i := range program.Ingress.Tables {
			g.add(at["ingress."+program.Ingress.Tables[i].Name], &program.Ingress.Tables[i])
		}
		for i := range program.Egress.Tables {
			g.add(at["egress."+program.Egress.Tables[i].Name], &program.Egress.Tables[i])
		}
	}
	return g
}

func (g *chipGraph) add(at int, t *pipe.Table) {
	g.program = append(g.program, at)
	var names []string
	for i := range t.Actions {
		names = append(names, t.Actions[i].Name)
	}
	g.actions = append(g.actions, names)
}

// tap returns the tap for a mark of one of the graph's tables.
func (g *chipGraph) tap(m record.Mark) tap {
	t := tap{hit: m.Hit, bit: uint8(m.Bit)}
	for f := range describe.NumFixed {
		if f.String() != m.Table {
			continue
		}
		if t.fixed = f.Ran(); t.hit {
			t.fixed = f.Hit()
		}
		return t
	}
	i := slices.IndexFunc(g.program, func(table int) bool { return g.tables[table] == m.Table })
	t.table = uint8(i)
	if m.Of == nil || i < 0 { // the plan is for a program that was removed, and records no packet
		return t
	}
	t.of = new([4]uint64)
	for _, a := range m.Of {
		n := slices.Index(g.actions[i], a) + 1 // 0 is no action
		t.of[n>>6&3] |= 1 << (n & 63)
	}
	return t
}

func (g *chipGraph) path(t Trail) []record.Step {
	steps := []record.Step{}
	for i, id := range g.tables {
		if t.Ran[i/64]>>(i%64)&1 != 0 {
			steps = append(steps, record.Step{Table: id, Hit: t.Hit[i/64]>>(i%64)&1 != 0})
		}
	}
	return steps
}

// A tap is a mark: a bit of the record for a table that a packet has passed.
type tap struct {
	fixed describe.Marks // zero for a table of the program
	hit   bool
	table uint8 // table of the program, as pipe.PHV.Ran numbers them
	bit   uint8 // bit of the record
	// of holds the actions of entries, as pipe.PHV.Acted numbers them, for which the mark is set. nil means any action.
	of *[4]uint64
}

// trail returns the observer's form of p, for a packet of the graph g.
func (p *passed) trail(g *chipGraph) Trail {
	t := Trail{Graph: g.graph.Version}
	set := func(words *[4]uint64, i int) { words[i/64] |= 1 << (i % 64) }
	for f := range describe.NumFixed {
		if p.fixed&f.Ran() != 0 {
			set(&t.Ran, g.fixed[f])
		}
		if p.fixed&f.Hit() != 0 {
			set(&t.Hit, g.fixed[f])
		}
	}
	for w := range p.ran {
		for ran := p.ran[w]; ran != 0; ran &= ran - 1 {
			bit := bits.TrailingZeros64(ran)
			set(&t.Ran, g.program[64*w+bit])
			if p.hit[w]>>bit&1 != 0 {
				set(&t.Hit, g.program[64*w+bit])
			}
		}
	}
	return t
}
