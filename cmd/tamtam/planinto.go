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
what the chip itself would record of these tables. docs/programs.md has the form.`,
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
			fields, marks, others, err := marksOf(plans[0])
			if err != nil {
				return err
			}
			if len(others) > 0 && !partial {
				return fmt.Errorf("the plan records %s, which are the chip's own and no program can: "+
					"want a plan without them, or --partial", strings.Join(others, ", "))
			}
			if p, err = p.Recording(fields, marks); err != nil {
				return err
			}
			if len(others) > 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "left to the chip: %s\n", strings.Join(others, ", "))
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

// marksOf are a plan's bits as a program has them, a field for each container, and the tables that no program has.
func marksOf(plan *record.Plan) (fields []pipe.Field, marks []pipe.Mark, others []string, err error) {
	containers, err := plan.Containers()
	if err != nil {
		return nil, nil, nil, err
	}
	all, err := plan.Marks()
	if err != nil {
		return nil, nil, nil, err
	}
	name := func(i int) string { return fmt.Sprintf("record%d", i) }
	for i, width := range containers {
		fields = append(fields, pipe.Field{Name: name(i), Width: uint8(width)})
	}
	for _, m := range all {
		way, table, ok := strings.Cut(m.Table, ".")
		if !ok || way != "ingress" && way != "egress" {
			others = append(others, m.Table)
			continue
		}
		i := len(containers) - 1
		for containers.Offset(i) > m.Bit {
			i--
		}
		marks = append(marks, pipe.Mark{
			Pipe: way, Table: table, Hit: m.Hit, Of: m.Of, Field: name(i), Bit: uint8(m.Bit - containers.Offset(i)),
		})
	}
	slices.Sort(others)
	return fields, marks, slices.Compact(others), nil
}
