package engine

import "tamtam/saisim/pipe"

// Parts of a pipe, between its fixed functions. The egress pipe has no middle part.
const (
	partFirst = iota
	partMiddle
	partLast
)

// A namedTable is a table of a program in the form of notes: the number of its name, and its part of the pipe.
type namedTable struct {
	name uint16
	part uint8
}

// mostNames is the maximum number of table names that a chip keeps, from all programs that it ever had. It is not used
// as the number of a name.
const mostNames = 1<<16 - 1

// tableNames holds the names of programs' tables, for rows that are kept longer than a program.
type tableNames struct {
	numbers map[string]uint16
	names   []string
	// middle is the first stage of the middle part of the ingress pipe. last and lastEgress are those of the last
	// parts.
	middle, last, lastEgress uint32

	of              *pipe.Compiled // program to which ingress and egress belong
	ingress, egress []namedTable
}

func newTableNames(ingress, egress uint32) *tableNames {
	return &tableNames{
		numbers: map[string]uint16{}, middle: ingress / 2, last: max(ingress, 1) - 1, lastEgress: max(egress, 1) - 1,
	}
}

// tables returns the tables of a program whose lookups are noted, in the order of their notes.
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
