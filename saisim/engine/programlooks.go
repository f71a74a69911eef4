package engine

import "tamtam/saisim/pipe"

// programLooks are what a packet, or a copy in the egress pipe, has found in the tables of a program.
type programLooks struct {
	program *pipe.Compiled // nil: none ran
	of      pipe.Looks
}

// begin has the tables of a program note what they find.
func (l *programLooks) begin(program *pipe.Compiled) *pipe.Looks {
	l.program = program
	l.of.Begin()
	return &l.of
}

// An egressMet is what a copy has met in the tables of the egress pipe.
type egressMet struct {
	looks
	ran programLooks
}

func (m *egressMet) empty() { m.n, m.more, m.ran.program = 0, false, nil }

// newEgressMet returns one for a copy of a watched packet, whose end is kept when it has left.
func (c *core) newEgressMet() *egressMet {
	n := len(c.spareMet)
	if n == 0 {
		return new(egressMet)
	}
	m := c.spareMet[n-1]
	c.spareMet = c.spareMet[:n-1]
	return m
}

func (c *core) freeEgressMet(cp *copyOf) {
	if cp.met != nil {
		c.spareMet = append(c.spareMet, cp.met)
		cp.met = nil
	}
}

// Parts of a pipe, between its fixed functions. The egress pipe has no middle one.
const (
	partFirst = iota
	partMiddle
	partLast
)

// A namedTable is a table of a program as notes have it: with the number of its name, and the part of its pipe.
type namedTable struct {
	name uint16
	part uint8
}

// mostNames is how many names of tables a chip remembers, of all programs that it had. The last number is no name's.
const mostNames = 1<<16 - 1

// tableNames are the names of programs' tables, for rows that are kept longer than a program.
type tableNames struct {
	numbers map[string]uint16
	names   []string
	// middle is the first stage of the middle part of the ingress pipe; last are those of the last parts.
	middle, last, lastEgress uint32

	of              *pipe.Compiled // whose tables these are
	ingress, egress []namedTable
}

func newTableNames(ingress, egress uint32) *tableNames {
	return &tableNames{
		numbers: map[string]uint16{}, middle: ingress / 2, last: max(ingress, 1) - 1, lastEgress: max(egress, 1) - 1,
	}
}

// tables returns the tables of a program whose looks are noted, in their places.
func (n *tableNames) tables(of *pipe.Compiled, egress bool) []namedTable {
	if n.of != of {
		n.of = of
		n.ingress = n.named(n.ingress[:0], of.Noted(false), "ingress.", n.middle, n.last)
		n.egress = n.named(n.egress[:0], of.Noted(true), "egress.", n.lastEgress, n.lastEgress)
	}
	if egress {
		return n.egress
	}
	return n.ingress
}

func (n *tableNames) named(to []namedTable, all []pipe.NotedTable, prefix string, middle, last uint32) []namedTable {
	for _, t := range all {
		x := namedTable{name: n.number(prefix + t.Name), part: partFirst}
		switch {
		case t.Stage >= last:
			x.part = partLast
		case t.Stage >= middle:
			x.part = partMiddle
		}
		to = append(to, x)
	}
	return to
}

func (n *tableNames) number(name string) uint16 {
	i, have := n.numbers[name]
	switch {
	case have:
		return i
	case len(n.names) == mostNames:
		return mostNames
	}
	i = uint16(len(n.names))
	n.numbers[name], n.names = i, append(n.names, name)
	return i
}

// noteProgram notes the looks into the tables of one part of a pipe; ran is nil if no program ran.
func (p *path) noteProgram(as noteTable, ran *programLooks, names *tableNames, part uint8, out PortID) {
	if ran == nil || ran.program == nil {
		return
	}
	for i, t := range names.tables(ran.program, as == noteEgressProgram) {
		entry, hit, ran := ran.of.At(i)
		switch {
		case t.part != part || !ran:
		case t.name == mostNames:
			p.unkept |= UnkeptProgram
		default:
			p.add(note{table: as, flags: hitIf(hit, 0), x: uint16(out), y: entry, a: uint64(t.name)})
		}
	}
	if part == partLast && ran.of.More() {
		p.unkept |= UnkeptMore
	}
}
