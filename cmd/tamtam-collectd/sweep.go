package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tamtam/fleet/jetstream"
	"tamtam/internal/command"
	"tamtam/lab"
	"tamtam/lab/experiments"
	"tamtam/lab/sweep"
)

// sweepFlags are the flags of `tamtam-collectd sweep`.
type sweepFlags struct {
	work bool
	nats []string
	accessFlags
	replicas int
	hold     time.Duration
	board    string
	out      string
	workers  int
}

func newSweep() *cobra.Command {
	var f sweepFlags
	c := &cobra.Command{
		Use:   "sweep FILE.yaml --nats URL --out DIR | sweep --work --nats URL",
		Short: "Run a sweep of the lab on several hosts",
		Long: "Run a sweep like `tamtam lab sweep FILE --out DIR`, with workers on any number of hosts.\n\n" +
			"The first form posts the jobs that have no result in DIR, and collects their results. With --work, this\n" +
			"process runs jobs of any sweep until it is stopped. All workers must be the same executable. If a\n" +
			"process dies, start it again: it continues, and each result counts once. A job is done when its result\n" +
			"is in the log. The log is `run --role log`, or any NATS server with JetStream. --replicas and --hold\n" +
			"must be equal in all processes.",
		Example: `  tamtam-collectd sweep sweep.yaml --nats nats://10.0.0.1:4222 --out results
  tamtam-collectd sweep --work --nats nats://10.0.0.1:4222`,
		Args: cobra.ArbitraryArgs, // the number of arguments depends on --work
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	s := c.Flags()
	s.BoolVar(&f.work, "work", false, "run the jobs of any posted sweep")
	s.StringSliceVar(&f.nats, "nats", nil, "URLs of the log, such as nats://HOST:PORT (required)")
	f.accessFlags.flags(c)
	s.IntVar(&f.replicas, "replicas", 1, "replicas of the log: 1, or 3 or 5 in a cluster")
	s.DurationVar(&f.hold, "hold", jetstream.DefaultHold, "time after which another worker runs the job of a dead worker")
	s.StringVar(&f.board, "board", "sweep", "name of the board, which runs one sweep at a time")
	s.StringVar(&f.out, "out", "", "directory for the results (required with FILE)")
	s.IntVar(&f.workers, "workers", 0, "with --work: number of runs at the same time (default: one for each core)")
	return c
}

func (f *sweepFlags) check(args []string) error {
	switch {
	case f.work && len(args) > 0:
		return usagef("--work and %q: want one of them", args[0])
	case !f.work && len(args) != 1:
		return usagef("%d files: want the FILE of a sweep, or --work", len(args))
	case !f.work && f.out == "":
		return usagef("--out is not given: want a directory for results")
	case f.work && f.out != "":
		return usagef("--out %s: a worker stores no results: want it only with FILE", f.out)
	case f.workers < 0 || f.workers > 1024:
		return usagef("--workers %d: want 1 to 1024, or 0 for one for each core", f.workers)
	case !f.work && f.workers != 0:
		return usagef("--workers %d: this process runs no jobs: want it only with --work", f.workers)
	}
	return f.checkLog()
}

func (f *sweepFlags) checkLog() error {
	switch {
	case len(f.nats) == 0:
		return usagef("--nats is not given: want URLs like nats://HOST:PORT")
	case f.replicas != 1 && f.replicas != 3 && f.replicas != 5:
		return usagef("--replicas %d: want 1, 3 or 5", f.replicas)
	case f.hold < time.Second:
		return usagef("--hold %v: want 1s or more", f.hold)
	}
	for _, url := range f.nats {
		if !strings.HasPrefix(url, "nats://") && !strings.HasPrefix(url, "tls://") {
			return usagef("--nats %q: want URLs like nats://HOST:PORT", url)
		}
	}
	return f.checkAccess(nil, f.nats)
}

func (f *sweepFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.check(args); err != nil {
		return err
	}
	var s *sweep.File
	if !f.work {
		var err error
		if s, err = sweep.Read(args[0]); err != nil {
			return err
		}
	}
	errOut := cmd.ErrOrStderr()
	log, err := jetstream.Open(cmd.Context(), jetstream.Options{URLs: f.nats, Replicas: f.replicas, HoldTime: f.hold,
		Access: f.access, Logger: slog.New(slog.NewTextHandler(errOut, nil))})
	if err != nil {
		return err
	}
	defer log.Close()
	b := &sweep.Board{Log: log, Name: f.board, Version: command.Version(), Hold: f.hold / 3,
		Report: func(what string) { fmt.Fprintf(errOut, "tamtam-collectd: %s\n", what) }}
	if b.Program, err = sweep.OwnProgram(); err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	b.By = fmt.Sprintf("%s/%d", host, os.Getpid())
	o := sweep.Options{Out: f.out, Workers: f.workers, Open: openExperiment}
	if f.work {
		return b.Work(cmd.Context(), o)
	}
	return post(cmd.Context(), s, b, o, cmd.OutOrStdout(), errOut)
}

// post runs a sweep on a board, and prints the results.
func post(ctx context.Context, s *sweep.File, b *sweep.Board, o sweep.Options, out, errOut io.Writer) error {
	all, posted, err := s.Post(ctx, b, o)
	fmt.Fprintf(errOut, "%d results already existed\n", posted.There)
	for _, by := range slices.Sorted(maps.Keys(posted.Workers)) {
		fmt.Fprintf(errOut, "%d results come from worker %s\n", posted.Workers[by], by)
	}
	if err != nil && len(all) == 0 {
		return err
	}
	return errors.Join(err, s.Report(out, o.Out, all))
}

// openExperiment opens an experiment as `tamtam lab sweep` does.
func openExperiment(name string, set []string, short bool) (*lab.Topology, error) {
	if !short {
		return experiments.Open(name, set)
	}
	t, err := experiments.OpenShort(name, set)
	if err == nil && len(t.Short) == 0 {
		err = fmt.Errorf("short: %s has no short form", t.Experiment)
	}
	return t, err
}
