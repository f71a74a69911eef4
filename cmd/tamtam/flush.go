package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"tamtam/device/daemons"
)

func newFlush() *cobra.Command {
	var place redisFlags
	var now bool
	c := &cobra.Command{
		Use:   "flush",
		Short: "Empty the databases that the daemons derive from CONFIG_DB, before a cold start",
		Long: `Empty APPL_DB, ASIC_DB, COUNTERS_DB, FLEX_COUNTER_DB, and those tables of STATE_DB that the daemons
write. SONiC's swss service does the same before a cold start. CONFIG_DB stays.

Nothing is emptied if STATE_DB requests a warm restart: WARM_RESTART_ENABLE_TABLE|system or |swss has
the field enable with the value true. Nothing is emptied while tammgrd, orchagent or syncd run. The
command waits six seconds for a sign of them. The printed line reports what was emptied, or why
nothing was emptied; the exit code is 0 in both cases.

With --now, the command does not wait. Daemons that run then start again, with an empty chip.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := place.open(cmd)
			if err != nil {
				return err
			}
			done, err := daemons.Flush(cmd.Context(), r, now)
			if err := errors.Join(err, r.Close()); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), done)
			return err
		},
	}
	place.usual(c)
	c.Flags().BoolVar(&now, "now", false, "do not wait for signs of running daemons: you know that none runs")
	return c
}
