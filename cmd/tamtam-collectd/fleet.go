package main

import (
	"context"
	"io"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"tamtam/fleet/join"
	"tamtam/fleet/synthetic"
	"tamtam/internal/command"
)

// fleetFlags describe the synthetic fleet, and its measurement.
type fleetFlags struct {
	synthetic.Measurement
	accessFlags
	memory int64
}

func newFleet() *cobra.Command {
	var f fleetFlags
	c := &cobra.Command{
		Use:   "fleet",
		Short: "Measure the collector with the tail-stamps of a fleet that is made up",
		Long: "Makes the tail-stamps of a leaf-spine up, sends them through the log, joins them into the store, and holds\n" +
			"what the store has to what was sent. All that it costs is counted: also to make the stamps up.",
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	s := c.Flags()
	s.IntVar(&f.Leaves, "leaves", 48, "leaves")
	s.IntVar(&f.Spines, "spines", 16, "spines")
	s.IntVar(&f.Flows, "flows", 1_000_000, "flows, altogether")
	s.Int64Var(&f.Stamps, "stamps", 200_000_000, "tail-stamps, altogether")
	s.DurationVar(&f.Time, "time", 10*time.Minute, "how long the fleet sends, in its own time")
	s.DurationVar(&f.Alive, "alive", time.Minute, "how long a flow sends")
	s.DurationVar(&f.Every, "every", time.Second, "how often a leaf sends what it has")
	s.IntVar(&f.Partitions, "partitions", 8, "partitions of the log, each with a worker")
	s.Uint64Var(&f.Seed, "seed", 1, "which fleet")
	s.Int64Var(&f.Pace, "pace", 0, "stamps each second at most; 0: as fast as it goes")
	s.DurationVar(&f.Join.Window, "window", join.DefaultWindow, "length of a window")
	s.IntVar(&f.Join.Rows, "rows", join.DefaultRows, "rows of open windows of a partition, at most")
	s.StringVar(&f.Dir, "dir", "", "folder for the log and the store (required; it should be empty)")
	s.StringSliceVar(&f.Log.URLs, "nats", nil, "URLs of NATS servers elsewhere, instead of servers in this process")
	f.accessFlags.flags(c)
	s.IntVar(&f.Log.Replicas, "replicas", 1, "replicas of the log: 1, or 3")
	s.DurationVar(&f.Sync, "sync", time.Minute, "how long the log may wait to sync a message to the disk; 0: not at all")
	s.Int64Var(&f.memory, "memory", 800, "MiB of memory that the Go runtime tries to stay below")
	s.BoolVar(&f.Elsewhere, "joined-elsewhere", false, "other processes join, into the store in --dir")
	return c
}

func (f *fleetFlags) check() error {
	switch {
	case f.Dir == "":
		return usagef("--dir is not given: want a folder for the log and the store")
	case f.Log.Replicas != 1 && f.Log.Replicas != 3:
		return usagef("--replicas %d: want 1 or 3", f.Log.Replicas)
	case f.Join.Window <= 0:
		return usagef("--window %v: want more than 0", f.Join.Window)
	case f.Join.Rows < 1:
		return usagef("--rows %d: want 1 or more", f.Join.Rows)
	case f.Sync < 0:
		return usagef("--sync %v: want 0 or more", f.Sync)
	case f.memory < 64:
		return usagef("--memory %d: want 64 MiB or more", f.memory)
	case f.Elsewhere && len(f.Log.URLs) == 0:
		return usagef("--joined-elsewhere without --nats: want the URLs of the log that they read")
	}
	if err := f.Shape.Check(); err != nil {
		return command.Usage(err)
	}
	return f.checkAccess(nil, f.Log.URLs)
}

func (f *fleetFlags) run(ctx context.Context, out io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	debug.SetMemoryLimit(f.memory << 20)
	f.Log.Access = f.access
	return f.Run(ctx, out)
}
