package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tamtam/saisim/pipe"
	"tamtam/tam/record"
)

func newPlanInto() *cobra.Command {
	var plan string
	var partial bool
	c := &cobra.Command{
		Use:   "into PROGRAM.json --plan PLAN.json",
		Short: "Write a plan's recording into a program of the chip, which then records by itself",
		Args:  cobra.ExactArgs(1),
		Long: `Write the program again, with operations in the actions of the tables that a plan records: they set the
plan's bits in fields record0, record1, ... of the program, one for each container. It does what it did; its bits are
what the chip itself would record of these tables. docs/internals/programs.md has the form.

With --partial the bits of the chip's own tables stay 0 in these fields, whatever packets do there: they say
nothing, and read by the whole plan they would say that no packet ran or hit these tables. Which they are is told.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			plans, err := readPlans([]string{plan})
			if err != nil {
				return err
			}
			if len(plans) != 1 {
				return usagef("--plan is missing: want one file")
			}
			f, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer f.Close()
			p, err := pipe.Read(f)
			if err != nil {
				return err
			}
			m, err := marksOf(plans[0])
			if err != nil {
				return err
			}
			if len(m.others) > 0 && !partial {
				return fmt.Errorf("the plan records %s, which are the chip's own and no program can: "+
					"want a plan without them, or --partial", strings.Join(m.others, ", "))
			}
			if p, err = p.Recording(m.fields, m.marks); err != nil {
				return err
			}
			if len(m.others) > 0 {
				fmt.Fprint(cmd.ErrOrStderr(), m.caveat())
			}
			enc := json.NewEncoder(cmd.OutOrStdout())
			enc.SetIndent("", "  ")
			return enc.Encode(p)
		},
	}
	c.Flags().StringVar(&plan, "plan", "", "`FILE` of the plan, as tamtam plan --format json gives it")
	c.Flags().BoolVar(&partial, "partial", false, "leave tables of the plan that are the chip's own to the chip")
	return c
}

// intoMarks are a plan's bits as a program has them.
type intoMarks struct {
	fields []pipe.Field // one for each container
	marks  []pipe.Mark
	others []string // tables that no program has
	left   []uint64 // their bits, of each field
}

// caveat says what the fields do not.
func (m *intoMarks) caveat() string {
	var bits []string
	for i, f := range m.fields {
		if m.left[i] != 0 {
			bits = append(bits, fmt.Sprintf("%s 0x%0*x", f.Name, f.Width/4, m.left[i]))
		}
	}
	return fmt.Sprintf("left to the chip: %s\ntheir bits stay 0, which says nothing of these tables: %s\n",
		strings.Join(m.others, ", "), strings.Join(bits, ", "))
}

// marksOf finds those of a plan.
func marksOf(plan *record.Plan) (*intoMarks, error) {
	containers, err := plan.Containers()
	if err != nil {
		return nil, err
	}
	all, err := plan.Marks()
	if err != nil {
		return nil, err
	}
	m := &intoMarks{left: make([]uint64, len(containers))}
	for i, width := range containers {
		m.fields = append(m.fields, pipe.Field{Name: fmt.Sprintf("record%d", i), Width: width})
	}
	for _, x := range all {
		i := len(containers) - 1
		for containers.Offset(i) > x.Bit {
			i--
		}
		bit := uint8(x.Bit - containers.Offset(i))
		way, table, ok := strings.Cut(x.Table, ".")
		if !ok || way != "ingress" && way != "egress" {
			m.others = append(m.others, x.Table)
			m.left[i] |= 1 << bit
			continue
		}
		m.marks = append(m.marks, pipe.Mark{
			Pipe: way, Table: table, Hit: x.Hit, Of: x.Of, Field: m.fields[i].Name, Bit: bit,
		})
	}
	slices.Sort(m.others)
	m.others = slices.Compact(m.others)
	return m, nil
}
