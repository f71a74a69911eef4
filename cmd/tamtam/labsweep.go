package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"tamtam/lab/sweep"
)

func newLabSweep() *cobra.Command {
	var o sweep.Options
	c := &cobra.Command{
		Use:   "sweep FILE.yaml",
		Short: "Run an experiment for several seeds and parameters, and summarise the results",
		Long: `Run an experiment of the lab for each seed and each combination of parameters, and print statistics of
each result. FILE has this form:

  experiment: ampm-link         # its name, or a file in the same directory
  seeds: {first: 1, count: 20}
  set: [duration=60ms]          # as for lab run --set; optional
  vary:
  - {path: links.between.loss, values: [0.001, 0.01, 0.1]}
  results:                      # metrics, as in the checks of an experiment
  - {name: lost, measured: altmark.web.leaf1.spine1.lost}
  plots:
  - {result: lost, over: links.between.loss, scale: log}

The directory of --out gets a file for each finished run, sweep.csv, and the plots. A plot shows medians,
quartiles, and the value of each seed. If you start an interrupted sweep again, only the missing runs
run. Another program, experiment or setting does not use these results.

The exit code is 1 if a run or a check fails.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runSweep(cmd, args[0], o) },
	}
	c.Flags().StringVar(&o.Out, "out", "", "directory for the results (required)")
	c.Flags().IntVar(&o.Workers, "workers", 0, "number of runs at the same time (default: one for each core)")
	return c
}

func runSweep(cmd *cobra.Command, path string, o sweep.Options) error {
	switch {
	case o.Out == "":
		return usagef("--out is missing: want a directory for results")
	case o.Workers < 0 || o.Workers > 1024:
		return usagef("--workers %d: want 1 to 1024, or 0 for one for each core", o.Workers)
	}
	f, err := sweep.Read(path)
	if err != nil {
		return err
	}
	if o.Program, err = sweep.OwnProgram(); err != nil {
		return err
	}
	o.Open = openLab
	if w, ok := cmd.ErrOrStderr().(*os.File); ok && term.IsTerminal(int(w.Fd())) {
		o.Progress = func(done, all int) { fmt.Fprintf(w, "\r%d of %d runs\x1b[K", done, all) }
		defer fmt.Fprint(w, "\r\x1b[K")
	}
	all, runErr := f.Run(cmd.Context(), o)
	if runErr != nil && len(all) == 0 {
		return runErr
	}
	return errors.Join(runErr, f.Report(cmd.OutOrStdout(), o.Out, all))
}
