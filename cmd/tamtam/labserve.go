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
		Short: "Run an experiment and show it in a browser: by default a leaf-spine with every feature",
		Long: `Run an experiment as lab run does, and then serve what came of it as pages for a browser, until an interrupt.

The run is over before the page is there: it has all rows of the run, by the run's own time, with the truth beside what
was measured. Hosts with capture: true are the collectors: what they got of stamps, reports of drops and records is what
the page has of these. Nothing can be changed through it.`,
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
	f.StringArrayVar(&set, "set", nil, "PATH=VALUE: change the topology, as in traffic.web.rate=5Gbps (may be repeated)")
	f.Uint64Var(&opts.Seed, "seed", 0, "seed of all that is left to chance (default: the topology's)")
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
		Title: t.Experiment, Store: shown.Rows, Topology: shown, Switches: shown, Now: shown.End, Zero: lab.Epoch(),
		Troubles: shown.Troubles,
		Note:     fmt.Sprintf("A run of the lab that has ended, after %v of its own time.", t.RunTime()),
		Enter:    server.Enter,
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "tamtam: %v of simulated time in %.1f s; the page is at %s\n", t.RunTime(),
		time.Since(began).Seconds(), server.URL())
	return server.Serve(cmd.Context(), p)
}
