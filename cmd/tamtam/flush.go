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
		Short: "Empty what the daemons have made of CONFIG_DB, before a cold start",
		Long: `Empty APPL_DB, ASIC_DB, COUNTERS_DB, FLEX_COUNTER_DB and what the daemons have written into
STATE_DB, as SONiC's swss service does before a cold start. CONFIG_DB stays.

Nothing is emptied where STATE_DB asks for a warm restart (WARM_RESTART_ENABLE_TABLE|system or |swss, enable true), nor
while tammgrd, orchagent or syncd work: they are listened for, for six seconds. --now leaves that out; daemons that do
work then begin anew, with a fresh chip.`,
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
	c.Flags().BoolVar(&now, "now", false, "do not listen for daemons first: none works")
	return c
}
