package main

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tamtam/collector/alarm"
	"tamtam/collector/journey"
	"tamtam/collector/topology"
	"tamtam/fleet/ingest"
	"tamtam/fleet/jetstream"
	"tamtam/fleet/join"
	"tamtam/fleet/parquet"
	"tamtam/tam/record"
)

// The roles of a process.
const (
	roleLog    = "log"
	roleIngest = "ingest"
	roleJoin   = "join"
	roleServe  = "serve"
)

var roles = []string{roleLog, roleIngest, roleJoin, roleServe}

// embedded is the value of --nats that means a server inside this process.
const embedded = "embedded"

// daemonFlags are those of `tamtam-collectd run`.
type daemonFlags struct {
	roles []string
	nats  []string
	accessFlags
	logFlags
	storeFlags
	joinFlags
	sources  sourceFlags
	topology string
	plans    []string
	journey  journey.Options
	alarm    float64
	httpFlags
	format string

	network *topology.Topology // of --topology; nil: it is not given
	read    []*record.Plan     // of --plan
	rules   *alarm.Rules       // of --alarm; nil: it is not given
}

type logFlags struct {
	logDir     string
	node       string
	listen     string
	cluster    string
	routes     []string
	sync       time.Duration
	replicas   int
	logBytes   int64
	logAge     time.Duration
	hold       time.Duration
	partitions int
}

type storeFlags struct {
	store      string
	storeBytes int64
	storeAge   time.Duration
}

type joinFlags struct {
	window, silence time.Duration
	expect          []string
	rows            int
	most            int
}

func newDaemon() *cobra.Command {
	var f daemonFlags
	c := &cobra.Command{
		Use:   "run",
		Short: "Collect what switches tell, join it, keep it, show it",
		Long: "Runs one or more roles of the collector until it is told to stop:\n" +
			"  log     a node of the log: a NATS server with JetStream, also for other processes\n" +
			"  ingest  reads interfaces, captures and sockets, into the log\n" +
			"  join    takes its share of the log's partitions, and joins them into the store\n" +
			"  serve   shows what the store has, as a page",
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	s := c.Flags()
	s.StringSliceVar(&f.roles, "role", []string{roleIngest, roleJoin, roleServe}, "roles: "+strings.Join(roles, ", "))
	s.StringSliceVar(&f.nats, "nats", []string{embedded}, "embedded: the log is in this process; or its URLs")
	f.accessFlags.flags(c)
	s.StringVar(&f.logDir, "log", "", "folder for the messages of a server in this process")
	s.StringVar(&f.node, "node", "tamtam", "name of the server in its cluster")
	s.StringVar(&f.listen, "listen", "", "HOST:PORT at which the server in this process listens for others")
	s.StringVar(&f.cluster, "cluster", "", "HOST:PORT at which it listens for the other servers of its cluster")
	s.StringSliceVar(&f.routes, "routes", nil, "HOST:PORT of the other servers of its cluster")
	s.DurationVar(&f.sync, "sync", 0, "how long it may wait to sync a message to the disk; 0: not at all")
	s.IntVar(&f.replicas, "replicas", 1, "replicas of the log: 1, or 3 or 5 in a cluster")
	s.Int64Var(&f.logBytes, "log-bytes", jetstream.DefaultBytes, "bytes that the log keeps of a partition, at most")
	s.DurationVar(&f.logAge, "log-age", 0, "how old messages become in the log; 0: until they are joined")
	s.DurationVar(&f.hold, "hold", jetstream.DefaultHold, "after which a dead worker's partition is free")
	s.IntVar(&f.partitions, "partitions", 8, "of each kind of event: equal everywhere and for ever")
	s.StringVar(&f.store, "store", "", "folder for the results, as Parquet files")
	s.Int64Var(&f.storeBytes, "store-bytes", parquet.DefaultBytes, "bytes that the store keeps, about")
	s.DurationVar(&f.storeAge, "store-age", 0, "how old files become; 0: --store-bytes alone counts")
	s.DurationVar(&f.window, "window", join.DefaultWindow, "length of a window")
	s.DurationVar(&f.silence, "silence", join.DefaultSilence, "after which time a silent source is not waited for")
	s.StringSliceVar(&f.expect, "expect", nil, "sources without which no window closes until they have been silent")
	s.IntVar(&f.rows, "rows", join.DefaultRows, "rows of the open windows of a partition, at most")
	s.IntVar(&f.most, "most", 0, "partitions that this process joins at once; 0: all that are free")
	f.sources.flags(c)
	s.StringVar(&f.topology, "topology", "", topologyUsage)
	s.StringArrayVar(&f.plans, "plan", nil, "plan that records were made by, JSON (may be repeated)")
	s.DurationVar(&f.journey.ClockError, "clock-error", journey.DefaultClockError,
		"by how much two synchronised clocks of switches with records differ, at most")
	s.DurationVar(&f.journey.Within, "within", join.DefaultWithin,
		"the longest time of a recorded packet from one switch to the next; rows wait for it")
	s.Float64Var(&f.alarm, "alarm", noAlarm, alarmUsage)
	f.httpFlags.flags(c)
	s.StringVar(&f.format, "log-format", "text", "of what is said on standard error: text, or json")
	return c
}

func (f *daemonFlags) has(role string) bool { return slices.Contains(f.roles, role) }

// serves says whether there is a server in this process.
func (f *daemonFlags) serves() bool {
	return f.has(roleLog) || f.embedded() && (f.has(roleIngest) || f.has(roleJoin))
}

func (f *daemonFlags) embedded() bool { return slices.Equal(f.nats, []string{embedded}) }

func (f *daemonFlags) check() error {
	if len(f.roles) == 0 {
		return usagef("--role is empty: want some of %s", strings.Join(roles, ", "))
	}
	for _, role := range f.roles {
		if !slices.Contains(roles, role) {
			return usagef("--role %q: want some of %s", role, strings.Join(roles, ", "))
		}
	}
	if f.format != "text" && f.format != "json" {
		return usagef("--log-format %q: want text or json", f.format)
	}
	err := errors.Join(f.checkLog(), f.checkJoin(), f.sources.check(f.has(roleIngest)), f.checkHTTP(f.has(roleServe)))
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
	switch {
	case f.serves() && f.logDir == "":
		return usagef("--log is not given: want a folder for the messages of the server in this process")
	case f.has(roleLog) && f.listen == "":
		return usagef("--listen is not given: want HOST:PORT at which role %s listens", roleLog)
	case !f.serves() && (f.listen != "" || f.cluster != "" || len(f.routes) > 0):
		return usagef("--listen, --cluster, --routes: there is no server in this process: want --role %s", roleLog)
	case (f.cluster == "") != (len(f.routes) == 0):
		return usagef("--cluster %q and --routes %q: want both, or neither", f.cluster, strings.Join(f.routes, ","))
	case f.replicas != 1 && f.replicas != 3 && f.replicas != 5:
		return usagef("--replicas %d: want 1, 3 or 5", f.replicas)
	}
	var connects []string
	if !f.embedded() {
		connects = f.nats
	}
	return errors.Join(f.checkLimits(), f.checkAccess([]string{f.listen, f.cluster}, connects))
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

// checkLimits checks how much the log keeps, and how safely.
func (f *daemonFlags) checkLimits() error {
	switch {
	case f.sync < 0:
		return usagef("--sync %v: want 0 or more", f.sync)
	case f.logBytes < 1<<20:
		return usagef("--log-bytes %d: want %d or more", f.logBytes, 1<<20)
	case f.logAge < 0:
		return usagef("--log-age %v: want 0 or more", f.logAge)
	case f.hold < time.Second:
		return usagef("--hold %v: want 1s or more", f.hold)
	}
	return nil
}

func (f *daemonFlags) checkJoin() error {
	switch {
	case (f.has(roleJoin) || f.has(roleServe)) && f.store == "":
		return usagef("--store is not given: want a folder for the results")
	case f.partitions < 1 || f.partitions > ingest.MaxPartitions:
		return usagef("--partitions %d: want 1 to %d", f.partitions, ingest.MaxPartitions)
	case f.storeBytes < 1<<20:
		return usagef("--store-bytes %d: want %d or more", f.storeBytes, 1<<20)
	case f.storeAge < 0:
		return usagef("--store-age %v: want 0 or more", f.storeAge)
	case f.window < time.Millisecond:
		return usagef("--window %v: want 1ms or more", f.window)
	case f.silence < time.Second:
		return usagef("--silence %v: want 1s or more", f.silence)
	case f.rows < 1:
		return usagef("--rows %d: want 1 or more", f.rows)
	case f.most < 0:
		return usagef("--most %d: want 0 or more", f.most)
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
	d := &daemon{flags: f, logger: slog.New(handler), started: time.Now()}
	if err := f.askGraphs(cmd.Context(), d.logger); err != nil {
		return err
	}
	if err := f.makeRules(); err != nil {
		return err
	}
	return d.run(cmd.Context())
}
