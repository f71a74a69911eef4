package main

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tamtam/saisim"
	"tamtam/saisim/describe"
	"tamtam/saisim/pipe"
	"tamtam/saisim/profile"
)

func newProfile() *cobra.Command {
	c := &cobra.Command{Use: "profile list|show|check|graph|stored",
		Short: "List and check chip profiles: the sizes and speeds of a simulated ASIC",
		RunE: func(*cobra.Command, []string) error {
			return usagef("want list, show NAME, check FILE, graph NAME or stored NAME")
		}}
	c.AddCommand(
		&cobra.Command{Use: "list", Short: "List the profiles that come with tamtam",
			RunE: func(cmd *cobra.Command, _ []string) error {
				w := tabwriter.NewWriter(cmd.OutOrStdout(), 2, 8, 2, ' ', 0)
				for _, name := range profile.Names() {
					p, err := profile.Load(name)
					if err != nil {
						return err
					}
					fmt.Fprintf(w, "%s\t%s\n", name, p.About)
				}
				return w.Flush()
			}},
		&cobra.Command{Use: "show NAME|FILE", Short: "Print a complete profile in the file format", Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				p, err := profile.Load(args[0])
				if err != nil {
					return err
				}
				_, err = cmd.OutOrStdout().Write(p.JSON())
				return err
			}},
		&cobra.Command{Use: "check FILE", Short: "Check a profile, and report the first error", Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				p, err := profile.Load(args[0])
				if err == nil {
					_, err = fmt.Fprintf(cmd.OutOrStdout(), "profile %q is good\n", p.Name)
				}
				return err
			}},
		newProfileGraph(),
		newProfileStored(),
	)
	return c
}

func newProfileStored() *cobra.Command {
	return &cobra.Command{
		Use: "stored NAME|FILE", Args: cobra.ExactArgs(1),
		Short: "List the SAI attributes and statistics that a chip accepts without effect",
		Long: `List the SAI attributes that a chip stores and checks without effect on packets, and the statistics that it
answers with 0 without counting, each with the reason. The chip refuses all other attributes that it does not
implement.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := profile.Load(args[0])
			if err != nil {
				return err
			}
			chip, err := saisim.New(saisim.Config{Profile: p})
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 2, 8, 2, ' ', 0)
			for _, x := range chip.WithoutEffect() {
				how := "stored, no effect"
				if x.Counts {
					how = "0, not counted"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\n", x.Name, how, x.Why)
			}
			return w.Flush()
		},
	}
}

func newProfileGraph() *cobra.Command {
	var program string
	c := &cobra.Command{
		Use: "graph NAME|FILE", Args: cobra.ExactArgs(1),
		Short: "Print the graph of a chip's pipes: tables, conditions and the branches between them",
		Long: `Print the graph of a chip's pipes as JSON, with the fixed functions and the tables of a program. It is
the input of "tamtam plan --program". A chip with table recording describes itself in the same form.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := profile.Load(args[0])
			if err != nil {
				return err
			}
			loaded, err := programFile(program)
			if err == nil && loaded != nil {
				err = loaded.Validate(p.Limits())
			}
			if err != nil {
				return err
			}
			e := json.NewEncoder(cmd.OutOrStdout())
			e.SetIndent("", " ")
			return e.Encode(describe.Program(&p, loaded))
		},
	}
	c.Flags().StringVar(&program, "program", "", "`FILE` of a match-action program in the pipes, JSON")
	return c
}

// programFile reads a program from a file. It returns nil if path is empty.
func programFile(path string) (*pipe.Program, error) {
	if path == "" {
		return nil, nil
	}
	return readFile(path, pipe.Read)
}
