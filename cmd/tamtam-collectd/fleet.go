package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"tamtam/fleet/jetstream"
	"tamtam/fleet/join"
	"tamtam/fleet/parquet"
	"tamtam/fleet/synthetic"
	"tamtam/internal/command"
)

// fleetFlags say which fleet is made up, and what it is measured with.
type fleetFlags struct {
	shape  synthetic.Shape
	window time.Duration
	rows   int
	dir    string
	nats   []string
	accessFlags
	replicas  int
	sync      time.Duration
	memory    int64
	elsewhere bool
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
	s.IntVar(&f.shape.Leaves, "leaves", 48, "leaves")
	s.IntVar(&f.shape.Spines, "spines", 16, "spines")
	s.IntVar(&f.shape.Flows, "flows", 1_000_000, "flows, altogether")
	s.Int64Var(&f.shape.Stamps, "stamps", 200_000_000, "tail-stamps, altogether")
	s.DurationVar(&f.shape.Time, "time", 10*time.Minute, "how long the fleet sends, in its own time")
	s.DurationVar(&f.shape.Alive, "alive", time.Minute, "how long a flow sends")
	s.DurationVar(&f.shape.Every, "every", time.Second, "how often a leaf sends what it has")
	s.IntVar(&f.shape.Partitions, "partitions", 8, "partitions of the log, each with a worker")
	s.Uint64Var(&f.shape.Seed, "seed", 1, "which fleet")
	s.Int64Var(&f.shape.Pace, "pace", 0, "stamps each second at most; 0: as fast as it goes")
	s.DurationVar(&f.window, "window", join.DefaultWindow, "length of a window")
	s.IntVar(&f.rows, "rows", join.DefaultRows, "rows of open windows of a partition, at most")
	s.StringVar(&f.dir, "dir", "", "folder for the log and the store (required; it should be empty)")
	s.StringSliceVar(&f.nats, "nats", nil, "URLs of NATS servers elsewhere, instead of servers in this process")
	f.accessFlags.flags(c)
	s.IntVar(&f.replicas, "replicas", 1, "replicas of the log: 1, or 3")
	s.DurationVar(&f.sync, "sync", time.Minute, "how long the log may wait to sync a message to the disk; 0: not at all")
	s.Int64Var(&f.memory, "memory", 800, "MiB of memory that the Go runtime tries to stay below")
	s.BoolVar(&f.elsewhere, "joined-elsewhere", false, "other processes join, into the store in --dir")
	return c
}

func (f *fleetFlags) check() error {
	switch {
	case f.dir == "":
		return usagef("--dir is not given: want a folder for the log and the store")
	case f.replicas != 1 && f.replicas != 3:
		return usagef("--replicas %d: want 1 or 3", f.replicas)
	case f.window <= 0:
		return usagef("--window %v: want more than 0", f.window)
	case f.rows < 1:
		return usagef("--rows %d: want 1 or more", f.rows)
	case f.sync < 0:
		return usagef("--sync %v: want 0 or more", f.sync)
	case f.memory < 64:
		return usagef("--memory %d: want 64 MiB or more", f.memory)
	case f.elsewhere && len(f.nats) == 0:
		return usagef("--joined-elsewhere without --nats: want the URLs of the log that they read")
	}
	if err := f.shape.Check(); err != nil {
		return command.Usage(err)
	}
	return f.checkAccess(nil, f.nats)
}

func (f *fleetFlags) run(ctx context.Context, out io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	debug.SetMemoryLimit(f.memory << 20)
	log, stop, err := f.log(ctx)
	if err != nil {
		return err
	}
	defer stop()
	store, err := parquet.Open(parquet.Options{Dir: filepath.Join(f.dir, "store"), Bytes: 1 << 40})
	if err != nil {
		return err
	}
	disk := watchDisk(ctx, f.dir)
	before, err := cpuTime()
	if err != nil {
		return err
	}
	var res synthetic.Result
	if f.elsewhere {
		res, err = synthetic.Send(ctx, f.shape, log, store)
	} else {
		res, err = synthetic.Run(ctx, f.shape, log, store, join.Options{Window: f.window, Rows: f.rows})
	}
	if err != nil {
		return err
	}
	after, err := cpuTime()
	if err != nil {
		return err
	}
	peak, err := disk.peak()
	if err != nil {
		return err
	}
	return f.print(out, res, after-before, peak)
}

// log opens the log: one server in this process that listens nowhere, three that are a cluster, or those elsewhere.
func (f *fleetFlags) log(ctx context.Context) (*jetstream.Log, func(), error) {
	o := jetstream.Options{URLs: f.nats, Replicas: f.replicas, Access: f.access}
	var servers []*jetstream.Server
	var err error
	dir := filepath.Join(f.dir, "log")
	switch {
	case len(f.nats) > 0:
	case f.replicas == 1:
		var s *jetstream.Server
		s, err = jetstream.StartServer(jetstream.ServerOptions{Dir: dir, Sync: f.sync})
		servers, o.Server = []*jetstream.Server{s}, s
	default:
		servers, o.URLs, err = cluster(dir, f.replicas, f.sync)
	}
	if err != nil {
		return nil, nil, err
	}
	stop := func() {
		for _, s := range servers {
			s.Close()
		}
	}
	log, err := jetstream.Open(ctx, o)
	if err != nil {
		stop()
		return nil, nil, err
	}
	return log, func() { log.Close(); stop() }, nil
}

func (f *fleetFlags) print(out io.Writer, r synthetic.Result, cpu time.Duration, disk int64) error {
	memory, memErr := memoryPeak()
	store, storeErr := diskUsed(filepath.Join(f.dir, "store"))
	if err := errors.Join(memErr, storeErr); err != nil {
		return err
	}
	row := func(name, format string, value ...any) {
		fmt.Fprintf(out, "%-28s %s\n", name, fmt.Sprintf(format, value...))
	}
	row("switches", "%d", f.shape.Leaves+f.shape.Spines)
	row("flows", "%d", f.shape.Flows)
	row("stamps", "%d", r.Stamps)
	row("frames", "%d", r.Frames)
	row("messages", "%d", r.Messages)
	row("MB of messages", "%.1f", float64(r.Bytes)/1e6)
	row("rows", "%d", r.Rows)
	row("seconds", "%.1f", r.Took.Seconds())
	row("CPU seconds", "%.1f", cpu.Seconds())
	row("stamps/s", "%.0f", float64(r.Stamps)/r.Took.Seconds())
	row("stamps/s/core", "%.0f", float64(r.Stamps)/cpu.Seconds())
	row("MB of memory at most", "%.0f", float64(memory)/1e6)
	row("MB of disk at most", "%.0f", float64(disk)/1e6)
	row("MB of store at the end", "%.0f", float64(store)/1e6)
	row("store equals what was sent", "yes")
	return nil
}
