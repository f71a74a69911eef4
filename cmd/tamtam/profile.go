package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tamtam/saisim"
)

func newProfile() *cobra.Command {
	c := &cobra.Command{Use: "profile list|show|check", Short: "Chip profiles: what a simulated ASIC has",
		RunE: func(*cobra.Command, []string) error {
			return usagef("profile what? list, show NAME or check FILE")
		}}
	c.AddCommand(
		&cobra.Command{Use: "list", Short: "The profiles that come with tamtam",
			RunE: func(cmd *cobra.Command, _ []string) error {
				w := tabwriter.NewWriter(cmd.OutOrStdout(), 2, 8, 2, ' ', 0)
				for _, name := range saisim.ProfileNames() {
					p, err := saisim.LoadProfile(name)
					if err != nil {
						return err
					}
					fmt.Fprintf(w, "%s\t%s\n", name, p.About)
				}
				return w.Flush()
			}},
		&cobra.Command{Use: "show NAME|FILE", Short: "Print a profile, whole, as a file has it", Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				p, err := saisim.LoadProfile(args[0])
				if err != nil {
					return err
				}
				_, err = cmd.OutOrStdout().Write(p.JSON())
				return err
			}},
		&cobra.Command{Use: "check FILE", Short: "Say what is wrong with a profile", Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				p, err := saisim.LoadProfile(args[0])
				if err == nil {
					_, err = fmt.Fprintf(cmd.OutOrStdout(), "profile %q is good\n", p.Name)
				}
				return err
			}},
	)
	return c
}
