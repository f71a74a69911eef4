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
		Short: "Measure the collector with the tail-stamps of a synthetic fleet",
		Long: "Generate the tail-stamps of a leaf-spine network, send them through the log, join them into the store,\n" +
			"and compare the store with what was sent. All costs count, including the generation of the stamps.\n" +
			"Look for the line stamps/s/core. The exit code is 1 if the store differs from what was sent.",
		Example: `  tamtam-collectd fleet --dir DIR --stamps 1000000 --flows 10000`,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	s := c.Flags()
	s.IntVar(&f.Leaves, "leaves", 48, "number of leaves")
	s.IntVar(&f.Spines, "spines", 16, "number of spines")
	s.IntVar(&f.Flows, "flows", 1_000_000, "number of flows in total")
	s.Int64Var(&f.Stamps, "stamps", 200_000_000, "number of tail-stamps in total")
	s.DurationVar(&f.Time, "time", 10*time.Minute, "simulated time for which the fleet sends")
	s.DurationVar(&f.Alive, "alive", time.Minute, "simulated time for which a flow sends")
	s.DurationVar(&f.Every, "every", time.Second, "interval at which a leaf sends its stamps")
	s.IntVar(&f.Partitions, "partitions", 8, "partitions of the log, each with a worker")
	s.Uint64Var(&f.Seed, "seed", 1, "seed of the fleet")
	s.Int64Var(&f.Pace, "pace", 0, "maximum stamps per second; 0: as fast as possible")
	s.DurationVar(&f.Join.Window, "window", join.DefaultWindow, "length of a window")
	s.IntVar(&f.Join.Rows, "rows", join.DefaultRows, "maximum rows of the open windows of a partition")
	s.StringVar(&f.Dir, "dir", "", "folder for the log and the store (required; it should be empty)")
	s.StringSliceVar(&f.Log.URLs, "nats", nil, "URLs of other NATS servers, instead of servers in this process")
	f.accessFlags.flags(c)
	s.IntVar(&f.Log.Replicas, "replicas", 1, "replicas of the log: 1 or 3")
	s.DurationVar(&f.Sync, "sync", time.Minute,
		"maximum time until a message is synced to the disk; 0: before it is acknowledged")
	s.Int64Var(&f.memory, "memory", 800, "soft limit of the memory of the Go runtime, in MiB")
	s.BoolVar(&f.Elsewhere, "joined-elsewhere", false, "let other processes join into the store in --dir")
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
		return usagef("--joined-elsewhere without --nats: want the URLs of the log that the other processes read")
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
