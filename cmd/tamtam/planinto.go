package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tamtam/saisim/describe"
	"tamtam/saisim/pipe"
)

func newPlanInto() *cobra.Command {
	var plan string
	var partial bool
	c := &cobra.Command{
		Use:   "into PROGRAM.json --plan PLAN.json",
		Short: "Add the recording of a plan to a program, which then records its tables itself",
		Args:  cobra.ExactArgs(1),
		Long: `Print a program with the recording of a plan added. Actions of the recorded tables then set the bits of
the plan in fields record0, record1, and so on, one field for each container. The program does the
same as before, and its bits equal those that the chip would record for these tables.
docs/internals/programs.md describes the format.

A plan that contains tables of the chip itself is refused, because a program cannot record them. With
--partial, their bits stay 0, which carries no information: do not decode the fields with this plan.
A message on standard error lists these tables and their bits.`,
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
			m, err := describe.RecordingOf(plans[0])
			if err != nil {
				return err
			}
			if len(m.Others) > 0 && !partial {
				return fmt.Errorf("the plan records %s, which are tables of the chip that a program cannot record: "+
					"want a plan without them, or --partial", strings.Join(m.Others, ", "))
			}
			if p, err = p.Recording(m.Fields, m.Marks); err != nil {
				return err
			}
			if len(m.Others) > 0 {
				fmt.Fprint(cmd.ErrOrStderr(), m.Caveat())
			}
			enc := json.NewEncoder(cmd.OutOrStdout())
			enc.SetIndent("", "  ")
			return enc.Encode(p)
		},
	}
	c.Flags().StringVar(&plan, "plan", "", "`FILE` with the plan, from tamtam plan --format json")
	c.Flags().BoolVar(&partial, "partial", false, "leave the bits of the chip's own tables 0")
	return c
}
