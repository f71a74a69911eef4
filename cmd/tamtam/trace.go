package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tamtam/cli"
)

func newTrace() *cobra.Command {
	var conf cli.Config
	var data string
	var asJSON bool
	c := &cobra.Command{
		Use:   "trace PORT [src A dst B] [protocol P] [src-port N] [dst-port N] ... | frame HEX",
		Short: "Say what would become of a packet, without sending it",
		Long: `Say what would become of a packet that came in at a port of a live switch now, without sending it:
tables, entries, copies, counters, and which change of one entry would let it pass.
It is the shell's "show packet-trace in PORT ...".

Without --target it asks the switch on this machine, as tamtam cli does.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, words []string) error {
			if i := strings.IndexAny(strings.Join(words, " "), "\"'|\\\n"); i >= 0 {
				return usagef("want a port, and fields of the packet with their values")
			}
			reach(cmd, &conf, data)
			shell, err := cli.New(conf)
			if err != nil {
				return err
			}
			defer shell.Close()
			line := fmt.Sprintf("show packet-trace in %s", strings.Join(words, " "))
			if asJSON {
				line += " | json"
			}
			return shell.Exec(cmd.Context(), line)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	serverFlags(c, &conf, &data)
	return c
}
