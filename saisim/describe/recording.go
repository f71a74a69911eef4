package describe

import (
	"fmt"
	"slices"
	"strings"

	"tamtam/saisim/pipe"
	"tamtam/tam/record"
)

// A Recording holds a plan's bits as fields and marks of a program.
type Recording struct {
	Fields []pipe.Field // one for each container
	Marks  []pipe.Mark
	Others []string // tables of the plan outside the program
	left   []uint64 // bits of Others, by field
}

// Caveat describes the limits of the fields.
func (m *Recording) Caveat() string {
	var bits []string
	for i, f := range m.Fields {
		if m.left[i] != 0 {
			bits = append(bits, fmt.Sprintf("%s 0x%0*x", f.Name, f.Width/4, m.left[i]))
		}
	}
	return fmt.Sprintf("left to the chip: %s\ntheir bits stay 0, which carries no information on these tables: %s\n",
		strings.Join(m.Others, ", "), strings.Join(bits, ", "))
}

// RecordingOf returns the recording of a plan.
func RecordingOf(plan *record.Plan) (*Recording, error) {
	containers, err := plan.Containers()
	if err != nil {
		return nil, err
	}
	all, err := plan.Marks()
	if err != nil {
		return nil, err
	}
	m := &Recording{left: make([]uint64, len(containers))}
	for i, width := range containers {
		m.Fields = append(m.Fields, pipe.Field{Name: fmt.Sprintf("record%d", i), Width: width})
	}
	for _, x := range all {
		i := len(containers) - 1
		for containers.Offset(i) > x.Bit {
			i--
		}
		bit := uint8(x.Bit - containers.Offset(i))
		way, table, ok := strings.Cut(x.Table, ".")
		if !ok || way != "ingress" && way != "egress" {
			m.Others = append(m.Others, x.Table)
			m.left[i] |= 1 << bit
			continue
		}
		m.Marks = append(m.Marks, pipe.Mark{
			Pipe: way, Table: table, Hit: x.Hit, Of: x.Of, Field: m.Fields[i].Name, Bit: bit,
		})
	}
	slices.Sort(m.Others)
	m.Others = slices.Compact(m.Others)
	return m, nil
}
