package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"tamtam/internal/command"
	"tamtam/lab"
	"tamtam/lab/experiments"
)

func newLab() *cobra.Command {
	c := &cobra.Command{
		Use:   "lab",
		Short: "Run experiments: whole switches, links, hosts and traffic in one simulated time",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_ = cmd.Help()
			return usagef("want list, run, serve or sweep")
		},
	}
	c.AddCommand(newLabList(), newLabRun(), newLabServe(), newLabSweep())
	return c
}

func newLabList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the experiments that come with tamtam",
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := experiments.List()
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 2, 8, 2, ' ', 0)
			for _, e := range list {
				fmt.Fprintf(w, "%s\t%s\n", e.Name, e.Description)
			}
			return w.Flush()
		},
	}
}

func newLabRun() *cobra.Command {
	var out, duration, format string
	var set []string
	var short bool
	var opts lab.Options
	var door pageFlags
	c := &cobra.Command{
		Use:   "run NAME|FILE.yaml",
		Short: "Run an experiment and check its results",
		Long: `Run an experiment that comes with tamtam, or a topology file, and check its results. A name with a "/"
or a "." is a file. Look for the table of checks at the end of the output.

With --out, the directory gets report.json, a CSV, a PNG and an SVG for each series, and the captures
that the topology requests. The same topology and seed give the same bytes with any number of
--workers. With --serve, the results are shown in a browser, as by tamtam lab serve, and nothing is
checked.

Exit codes: 0 if all checks passed, 1 if a check failed or the run failed, 2 for a wrong command line.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if format != "text" && format != "json" && format != "markdown" {
				return usagef("--format %q: want text, json or markdown", format)
			}
			if opts.Workers < 0 || opts.Workers > 1024 {
				return usagef("--workers %d: want 1 to 1024, or 0 for one for each core", opts.Workers)
			}
			if door.addr != "" {
				if err := door.check(); err != nil {
					return err
				}
			}
			t, err := openLab(args[0], set, short)
			if err != nil {
				return err
			}
			if duration != "" {
				if err := t.Duration.Parse(duration); err != nil || t.Duration <= 0 {
					return usagef("--duration %q: want a time with its unit, such as 5ms", duration)
				}
			}
			opts.Out = out
			if v, _ := cmd.Flags().GetBool("verbose"); v {
				opts.Log = logger(cmd) // otherwise errors are in STATE_DB, and reported at the end
			}
			if out != "" {
				if err := os.MkdirAll(out, 0o755); err != nil {
					return err
				}
			}
			if door.addr != "" {
				return door.serveLab(cmd, t, opts)
			}
			return runLab(cmd, t, opts, format, short)
		},
	}
	door.flags(c, "serve", "")
	f := c.Flags()
	f.StringVar(&out, "out", "", "directory for report.json, series and captures")
	f.StringArrayVar(&set, "set", nil, "PATH=VALUE: change the topology, such as traffic.web.rate=5Gbps (may be repeated)")
	f.Uint64Var(&opts.Seed, "seed", 0, "seed of all random values (default: the topology's)")
	f.IntVar(&opts.Workers, "workers", 0, "number of cores to use (default: all)")
	f.StringVar(&duration, "duration", "", "simulated time to run for (default: the topology's)")
	f.StringVar(&format, "format", "text", "output: text, json, or markdown, which is the table of checks for a page")
	f.BoolVar(&short, "short", false,
		"run the short form of a long experiment, with the changes in the section short of its file")
	return c
}

func openLab(name string, set []string, short bool) (*lab.Topology, error) {
	open := experiments.Open
	if short {
		open = experiments.OpenShort
	}
	t, err := open(name, set)
	if errors.Is(err, experiments.ErrUnknown) {
		return nil, command.Usage(err)
	}
	if err == nil && short && len(t.Short) == 0 {
		err = usagef("--short: %s has no short form", t.Experiment)
	}
	return t, err
}

func runLab(cmd *cobra.Command, t *lab.Topology, opts lab.Options, format string, short bool) error {
	bar := newBar(cmd.ErrOrStderr(), t)
	opts.Progress = bar.show
	r, err := lab.Run(cmd.Context(), t, opts)
	bar.end()
	if err != nil {
		return err
	}
	for _, p := range r.Problems() {
		fmt.Fprintf(cmd.ErrOrStderr(), "tamtam: %s\n", p)
	}
	if opts.Out != "" {
		if err := r.Write(opts.Out); err != nil {
			return err
		}
	}
	if err := printLab(cmd.OutOrStdout(), r, opts.Out, format, short); err != nil {
		return err
	}
	if !r.Passed() {
		return fmt.Errorf("lab %s: not all checks passed", t.Experiment)
	}
	return nil
}

func printLab(out io.Writer, r *lab.Result, dir, format string, short bool) error {
	switch format {
	case "json":
		text, err := r.JSON()
		if err != nil {
			return err
		}
		_, err = out.Write(text)
		return err
	case "markdown":
		return r.WriteMarkdown(out)
	}
	form := ""
	if short {
		form = ", short form"
	}
	fmt.Fprintf(out, "%s%s, seed %d, %v of simulated time\n\n", r.Experiment, form, r.Seed, r.Duration)
	if err := r.WriteFlows(out); err != nil {
		return err
	}
	fmt.Fprintln(out)
	if err := r.WriteChecks(out); err != nil {
		return err
	}
	if dir != "" {
		fmt.Fprintf(out, "\nreport.json and series are in %s\n", dir)
	}
	return nil
}

// A bar shows the progress of a run on a terminal.
type bar struct {
	out     io.Writer // destination of the bar; nil means no bar
	total   lab.Time
	started time.Time
	shown   time.Time
}

// barAfter is the minimum duration of a run that gets a bar.
const barAfter = time.Second

func newBar(out io.Writer, t *lab.Topology) *bar {
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return &bar{}
	}
	return &bar{out: out, total: t.RunTime()}
}

func (b *bar) show(now lab.Time, frames uint64) {
	t := time.Now()
	if b.started.IsZero() {
		b.started = t // time for building the switches does not count
	}
	if b.out == nil || t.Sub(b.started) < barAfter || t.Sub(b.shown) < 100*time.Millisecond || now == 0 {
		return
	}
	b.shown = t
	spent := t.Sub(b.started)
	left := time.Duration(float64(spent) * (float64(b.total)/float64(now) - 1)).Round(time.Second)
	const width = 30
	done := int(width * float64(now) / float64(b.total))
	fmt.Fprintf(b.out, "\r[%-*s] %v of %v, %d frames, %.2f M/s, %v left \x1b[K",
		width, "##############################"[:min(done, width)], now, b.total, frames,
		float64(frames)/spent.Seconds()/1e6, left)
}

// end erases the bar.
func (b *bar) end() {
	if b.out != nil && !b.shown.IsZero() {
		fmt.Fprint(b.out, "\r\x1b[K")
	}
}
