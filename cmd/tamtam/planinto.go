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
			m, err := describe.RecordingOf(plans[0])
			if err != nil {
				return err
			}
			if len(m.Others) > 0 && !partial {
				return fmt.Errorf("the plan records %s, which are the chip's own and no program can: "+
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
	c.Flags().StringVar(&plan, "plan", "", "`FILE` of the plan, as tamtam plan --format json gives it")
	c.Flags().BoolVar(&partial, "partial", false, "leave tables of the plan that are the chip's own to the chip")
	return c
}
