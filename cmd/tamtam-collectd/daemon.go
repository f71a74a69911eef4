package main

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tamtam/collector/journey"
	"tamtam/fleet/collectd"
	"tamtam/fleet/ingest"
	"tamtam/fleet/jetstream"
	"tamtam/fleet/join"
	"tamtam/fleet/parquet"
	"tamtam/internal/command"
)

// embedded is the value of --nats that means a server inside this process.
const embedded = "embedded"

// daemonFlags are the flags of `tamtam-collectd run`.
type daemonFlags struct {
	collectd.Config
	nats []string
	accessFlags
	sources sourceFlags
	plans   []string
	httpFlags
	format string
}

func newDaemon() *cobra.Command {
	var f daemonFlags
	c := &cobra.Command{
		Use:   "run",
		Short: "Collect, join, store and show the reports of switches",
		Long: "Run one or more roles of the collector until it is stopped:\n\n" +
			"  log     a node of the log: a NATS server with JetStream, also for other processes\n" +
			"  ingest  reads interfaces, captures, sockets and switches into the log\n" +
			"  join    joins its share of the log's partitions into the store\n" +
			"  serve   shows the store as a page, with metrics\n\n" +
			"The view Sources of the page must list your sources. It also shows their losses. The exit code is 1\n" +
			"if a role fails, and 2 for a wrong command line.",
		Example: `  tamtam-collectd run --log DIR --store DIR --interface eth1 --ipfix :4739
  tamtam-collectd run --role serve --store DIR --http 127.0.0.1:8480`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	s := c.Flags()
	s.StringSliceVar(&f.Roles, "role", []string{collectd.RoleIngest, collectd.RoleJoin, collectd.RoleServe},
		"roles of this process: "+strings.Join(collectd.Roles(), ", "))
	s.StringSliceVar(&f.nats, "nats", []string{embedded},
		"URLs of the log, nats://HOST:PORT; embedded: a server in this process")
	f.accessFlags.flags(c)
	s.StringVar(&f.Server.Dir, "log", "", "folder for the messages of the server in this process")
	s.StringVar(&f.Server.Name, "node", "tamtam", "name of the server in this process, in its cluster")
	s.StringVar(&f.Server.Listen, "listen", "", "HOST:PORT at which the server in this process listens for others")
	s.StringVar(&f.Server.Cluster, "cluster", "",
		"HOST:PORT at which the server listens for the other servers of its cluster")
	s.StringSliceVar(&f.Server.Routes, "routes", nil, "HOST:PORT of the other servers of its cluster")
	s.DurationVar(&f.Server.Sync, "sync", 0,
		"maximum time until a message is synced to the disk; 0: before it is acknowledged")
	s.IntVar(&f.Log.Replicas, "replicas", 1, "replicas of the log: 1, or 3 or 5 in a cluster")
	s.Int64Var(&f.Log.MaxBytes, "log-bytes", jetstream.DefaultBytes, "maximum bytes of a partition in the log")
	s.DurationVar(&f.Log.MaxAge, "log-age", 0, "maximum age of messages in the log; 0: until they are joined")
	s.DurationVar(&f.Log.HoldTime, "hold", jetstream.DefaultHold, "time after which a dead worker's partition is free")
	s.IntVar(&f.Partitions, "partitions", 8, "partitions of each kind of event; equal in all processes, and never changed")
	s.StringVar(&f.Store.Dir, "store", "", "folder for the results, as Parquet files")
	s.Int64Var(&f.Store.Bytes, "store-bytes", parquet.DefaultBytes, "approximate maximum bytes of the store")
	s.DurationVar(&f.Store.Age, "store-age", 0, "maximum age of files in the store; 0: only --store-bytes limits it")
	s.DurationVar(&f.Join.Window, "window", join.DefaultWindow, "length of a window")
	s.DurationVar(&f.Join.Silence, "silence", join.DefaultSilence,
		"time after which windows do not wait for a silent source")
	s.StringSliceVar(&f.Join.Expect, "expect", nil,
		"sources for which every window waits, until they have been silent for --silence")
	s.IntVar(&f.Join.Rows, "rows", join.DefaultRows, "maximum rows of the open windows of a partition")
	s.IntVar(&f.Most, "most", 0, "maximum partitions that this process joins at the same time; 0: all free ones")
	f.sources.Sources = &f.Sources
	f.sources.flags(c)
	s.StringVar(&f.Topology, "topology", "", topologyUsage)
	s.StringArrayVar(&f.plans, "plan", nil, "`FILE` of a plan of the records, JSON (may be repeated)")
	s.DurationVar(&f.Join.Journey.ClockError, "clock-error", journey.DefaultClockError,
		"maximum difference between two synchronised clocks of switches with records")
	s.DurationVar(&f.Join.Journey.Within, "within", join.DefaultWithin,
		"maximum time of a recorded packet from one switch to the next; rows are later by it")
	s.Float64Var(&f.Alarm, "alarm", noAlarm, alarmUsage)
	f.httpFlags.flags(c)
	s.StringVar(&f.format, "log-format", "text", "format of messages on standard error: text or json")
	return c
}

func (f *daemonFlags) embedded() bool { return slices.Equal(f.nats, []string{embedded}) }

func (f *daemonFlags) check() error {
	if len(f.Roles) == 0 {
		return usagef("--role is empty: want some of %s", strings.Join(collectd.Roles(), ", "))
	}
	for _, role := range f.Roles {
		if !slices.Contains(collectd.Roles(), role) {
			return usagef("--role %q: want some of %s", role, strings.Join(collectd.Roles(), ", "))
		}
	}
	if f.format != "text" && f.format != "json" {
		return usagef("--log-format %q: want text or json", f.format)
	}
	err := errors.Join(f.checkLog(), f.checkJoin(), f.sources.check(f.Has(collectd.RoleIngest)),
		f.checkHTTP(f.Has(collectd.RoleServe)))
	if err != nil {
		return err
	}
	if err := errors.Join(f.checkGraphs(), f.checkAlarm(), f.readNetwork()); err != nil {
		return err
	}
	return f.readPlans()
}

func (f *daemonFlags) checkLog() error {
	if err := f.checkNATS(); err != nil {
		return err
	}
	if !f.embedded() {
		f.Log.URLs = f.nats
	}
	switch {
	case f.Serves() && f.Server.Dir == "":
		return usagef("--log is not given: want a folder for the messages of the server in this process")
	case f.Has(collectd.RoleLog) && f.Server.Listen == "":
		return usagef("--listen is not given: want HOST:PORT at which role %s listens", collectd.RoleLog)
	case !f.Serves() && (f.Server.Listen != "" || f.Server.Cluster != "" || len(f.Server.Routes) > 0):
		return usagef("--listen, --cluster, --routes: there is no server in this process: want --role %s", collectd.RoleLog)
	case (f.Server.Cluster == "") != (len(f.Server.Routes) == 0):
		return usagef("--cluster %q and --routes %q: want both, or neither", f.Server.Cluster,
			strings.Join(f.Server.Routes, ","))
	case f.Log.Replicas != 1 && f.Log.Replicas != 3 && f.Log.Replicas != 5:
		return usagef("--replicas %d: want 1, 3 or 5", f.Log.Replicas)
	}
	return errors.Join(f.checkLimits(), f.checkAccess([]string{f.Server.Listen, f.Server.Cluster}, f.Log.URLs))
}

func (f *daemonFlags) checkNATS() error {
	if len(f.nats) == 0 {
		return usagef("--nats is empty: want %s, or URLs like nats://HOST:PORT", embedded)
	}
	for _, url := range f.nats {
		if url == embedded && len(f.nats) > 1 {
			return usagef("--nats %s: want %s alone, or URLs", strings.Join(f.nats, ","), embedded)
		}
		if url != embedded && !strings.HasPrefix(url, "nats://") && !strings.HasPrefix(url, "tls://") {
			return usagef("--nats %q: want %s, or URLs like nats://HOST:PORT", url, embedded)
		}
	}
	return nil
}

// checkLimits checks the flags for the size and the safety of the log.
func (f *daemonFlags) checkLimits() error {
	switch {
	case f.Server.Sync < 0:
		return usagef("--sync %v: want 0 or more", f.Server.Sync)
	case f.Log.MaxBytes < 1<<20:
		return usagef("--log-bytes %d: want %d or more", f.Log.MaxBytes, 1<<20)
	case f.Log.MaxAge < 0:
		return usagef("--log-age %v: want 0 or more", f.Log.MaxAge)
	case f.Log.HoldTime < time.Second:
		return usagef("--hold %v: want 1s or more", f.Log.HoldTime)
	}
	return nil
}

func (f *daemonFlags) checkJoin() error {
	switch {
	case (f.Has(collectd.RoleJoin) || f.Has(collectd.RoleServe)) && f.Store.Dir == "":
		return usagef("--store is not given: want a folder for the results")
	case f.Partitions < 1 || f.Partitions > ingest.MaxPartitions:
		return usagef("--partitions %d: want 1 to %d", f.Partitions, ingest.MaxPartitions)
	case f.Store.Bytes < 1<<20:
		return usagef("--store-bytes %d: want %d or more", f.Store.Bytes, 1<<20)
	case f.Store.Age < 0:
		return usagef("--store-age %v: want 0 or more", f.Store.Age)
	case f.Join.Window < time.Millisecond:
		return usagef("--window %v: want 1ms or more", f.Join.Window)
	case f.Join.Silence < time.Second:
		return usagef("--silence %v: want 1s or more", f.Join.Silence)
	case f.Join.Rows < 1:
		return usagef("--rows %d: want 1 or more", f.Join.Rows)
	case f.Most < 0:
		return usagef("--most %d: want 0 or more", f.Most)
	}
	return nil
}

func (f *daemonFlags) run(cmd *cobra.Command) error {
	if err := f.check(); err != nil {
		return err
	}
	var handler slog.Handler = slog.NewTextHandler(cmd.ErrOrStderr(), nil)
	if f.format == "json" {
		handler = slog.NewJSONHandler(cmd.ErrOrStderr(), nil)
	}
	f.Logger, f.Version = slog.New(handler), command.Version()
	f.Server.Access, f.Server.Logger, f.Log.Access, f.Log.Logger = f.access, f.Logger, f.access, f.Logger
	f.Join.Paths, f.Graphs = f.sources.gnmi.file, f.sources.gnmi.graphs
	if f.http != "none" {
		page := f.config()
		page.Mgmt.Logger = f.Logger
		f.HTTP = &page
	}
	return collectd.Run(cmd.Context(), f.Config)
}

const (
	noAlarm    = -1
	alarmUsage = "for graphs: raise an alarm on the page and in /metrics for a period with more than this\n" +
		"fraction of loss, such as 0.01; the rules are those of tamtam collect --alarm"
)

// checkAlarm checks --alarm against the other flags.
func (f *daemonFlags) checkAlarm() error {
	g := &f.sources.gnmi
	switch {
	case f.Alarm == noAlarm:
		return nil
	case !(f.Alarm >= 0 && f.Alarm < 1):
		return usagef("--alarm %v: want a fraction of the packets, 0 to less than 1", f.Alarm)
	case !f.Has(collectd.RoleServe):
		return usagef("--alarm: only role %s accepts it, because its alarms come from the rows in the store",
			collectd.RoleServe)
	case g.paths == "" && !g.graphs:
		return usagef("--alarm %v: there are no graphs: want the --paths by which they are joined, or --graphs", f.Alarm)
	case g.paths != "" && len(g.file.Graphs) == 0:
		return usagef("--alarm %v: --paths %s has no graphs: want one or more", f.Alarm, g.paths)
	}
	return nil
}

// checkGraphs checks --graphs against the other flags.
func (f *daemonFlags) checkGraphs() error {
	g := &f.sources.gnmi
	switch {
	case !g.graphs:
		return nil
	case g.paths != "":
		return usagef("--graphs and --paths %s: both define what is measured: want only one", g.paths)
	case f.Topology == "":
		return usagef("--graphs: --topology is not given: want a file with the switches that have the sessions")
	case !f.Has(collectd.RoleIngest) || !f.Has(collectd.RoleJoin):
		return usagef("--graphs: want roles %s and %s in this process; separate processes need the same --paths, "+
			"which tamtam collect graphs prints", collectd.RoleIngest, collectd.RoleJoin)
	}
	return nil
}
