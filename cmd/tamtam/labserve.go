package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tamtam/lab"
	"tamtam/lab/rows"
	"tamtam/mgmt/web"
)

// pageAddress is the default address of the page.
const pageAddress = "localhost:8088"

// shownExperiment is the experiment that `tamtam lab serve` runs if none is named.
const shownExperiment = "leaf-spine-tam"

func newLabServe() *cobra.Command {
	var door pageFlags
	var set []string
	var opts lab.Options
	c := &cobra.Command{
		Use:   "serve [NAME|FILE.yaml]",
		Short: "Run an experiment and show its results in a browser",
		Long: `Run an experiment, and then serve its results as pages for a browser, until an interrupt. The default is
` + shownExperiment + `, a leaf-spine network with every feature.

The address of the page is printed when the run has ended. The page shows all rows of the run in
simulated time, and the truth beside each measurement. Hosts with "capture: true" are the collectors:
the page shows the stamps, drop reports and records that they received. The page changes nothing.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := shownExperiment
			if len(args) > 0 {
				name = args[0]
			}
			return door.serveExperiment(cmd, name, set, opts)
		},
	}
	f := c.Flags()
	door.flags(c, "http", pageAddress)
	f.StringArrayVar(&set, "set", nil, "PATH=VALUE: change the topology, such as traffic.web.rate=5Gbps (may be repeated)")
	f.Uint64Var(&opts.Seed, "seed", 0, "seed of all random values (default: the topology's)")
	return c
}

// serveExperiment runs and serves an experiment, or a file.
func (d *pageFlags) serveExperiment(cmd *cobra.Command, name string, set []string, opts lab.Options) error {
	if err := d.check(); err != nil {
		return err
	}
	t, err := openLab(name, set, false)
	if err != nil {
		return err
	}
	return d.serveLab(cmd, t, opts)
}

// serveLab runs a lab and serves its results.
func (d *pageFlags) serveLab(cmd *cobra.Command, t *lab.Topology, opts lab.Options) error {
	server, err := d.listen(cmd) // before the run, so that an address in use is reported immediately
	if err != nil {
		return err
	}
	defer server.Close()
	began := time.Now()
	shown, err := rows.Show(cmd.Context(), t, opts)
	if err != nil {
		return err
	}
	p, err := web.New(web.Config{
		Title: t.Experiment, Store: shown.Rows, Topology: shown, Switches: shown, Counters: shown, Now: shown.End,
		Zero:     lab.Epoch(),
		Troubles: shown.Troubles,
		Note:     fmt.Sprintf("A finished run of the lab, with %v of simulated time.", t.RunTime()),
		Enter:    server.Enter,
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "tamtam: %v of simulated time in %.1f s; the page is at %s\n", t.RunTime(),
		time.Since(began).Seconds(), server.URL())
	return server.Serve(cmd.Context(), p)
}
