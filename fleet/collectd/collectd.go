// Package collectd runs the fleet's collector as one process. The process has any of four roles: it is a node of the
// log, writes data of sources to the log, joins the log to rows in the store, or shows the store as a page. It exports
// metrics of all its roles.
//
// What belongs here: the assembly of the packages of fleet. Not: flags.
package collectd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"tamtam/collector/alarm"
	"tamtam/collector/result"
	"tamtam/collector/topology"
	"tamtam/fleet/jetstream"
	"tamtam/fleet/join"
	"tamtam/fleet/parquet"
	"tamtam/mgmt/web"
	"tamtam/mgmt/web/door"
)

// The roles of a process.
const (
	RoleLog    = "log"    // a node of the log, also for other processes
	RoleIngest = "ingest" // reads sources into the log
	RoleJoin   = "join"   // joins its share of the log's partitions into the store
	RoleServe  = "serve"  // shows the store as a page
)

// Roles returns all roles.
func Roles() []string { return []string{RoleLog, RoleIngest, RoleJoin, RoleServe} }

// A Config configures one process.
type Config struct {
	Roles  []string
	Server jetstream.ServerOptions // options of the server in this process, if there is one: see [Config.Serves]
	// Log is the log; without URLs it is in this process. Partitions is the number of partitions of each kind of event.
	// It is the same in all processes, and never changes for a log.
	Log        jetstream.Options
	Partitions int
	Store      parquet.Options
	Join       join.Options // options of the join; other roles use its paths and topology, too
	Most       int          // maximum number of partitions that this process joins at once; 0 means no limit
	Sources
	Graphs   bool         // true if the graphs to join along are read from the switches of the topology
	Topology string       // the name of the file of Join.Topology
	Alarm    float64      // argument of [alarm.New]; negative means no alarms
	HTTP     *door.Config // server of the page and the metrics; nil means that there is none
	Version  string       // version of this program
	Logger   *slog.Logger
}

// Has reports whether the process has a role.
func (c *Config) Has(role string) bool { return slices.Contains(c.Roles, role) }

// Serves reports whether there is a server of the log in this process.
func (c *Config) Serves() bool {
	return c.Has(RoleLog) || len(c.Log.URLs) == 0 && (c.Has(RoleIngest) || c.Has(RoleJoin))
}

// Run runs the roles of a process until ctx ends.
func Run(ctx context.Context, c Config) error {
	if err := c.askGraphs(ctx); err != nil {
		return err
	}
	d := &daemon{Config: c, started: time.Now()}
	if c.Alarm >= 0 {
		var err error
		if d.rules, err = alarm.New(c.Join.Paths, c.Alarm); err != nil {
			return err
		}
	}
	return d.run(ctx)
}

// A daemon holds the running roles of one process.
type daemon struct {
	Config
	rules   *alarm.Rules // nil if there are no alarms
	started time.Time

	server *jetstream.Server // nil if there is none in this process

	messages *jetstream.Log // log of events; nil without the roles ingest and join
	work     *jetstream.Log // assigns partitions to workers; its messages do not expire
	files    *parquet.Store
	counted  *countedStore
	pool     *join.Pool
	losses   join.Losses
	feeds    []*feed

	end     context.CancelCauseFunc
	running sync.WaitGroup
}

// closeWithin is the time limit for the last messages to a log that does not answer.
const closeWithin = 10 * time.Second

// run starts from the log upwards, and stops from the sources downwards.
func (d *daemon) run(ctx context.Context) (err error) {
	ctx, d.end = context.WithCancelCause(ctx)
	defer d.end(nil)
	var entrance *door.Door
	if d.HTTP != nil {
		if entrance, err = door.Listen(*d.HTTP); err != nil {
			return fmt.Errorf("--http: %w", err)
		}
		defer entrance.Close()
	}
	d.logNetwork()
	stop, err := d.open(ctx)
	defer stop()
	if err != nil {
		return err
	}
	if d.Has(RoleJoin) {
		d.share()
		if err := d.pool.Reach(ctx); err != nil {
			return err
		}
	}
	if d.Has(RoleIngest) {
		o := &opener{Sources: d.Sources, paths: d.Join.Paths, version: d.Version, log: d.messages, ledger: d.work,
			started: d.started, partitions: d.Partitions, logger: d.Logger}
		if d.feeds, err = o.open(ctx); err != nil {
			return err
		}
	}
	if entrance != nil {
		h, err := d.handler(entrance)
		if err != nil {
			return err
		}
		d.part(func() error { return entrance.Serve(ctx, h) })
		d.Logger.Info("listening", "http", strings.TrimSuffix(entrance.URL(), "/"))
	}
	d.start(ctx)
	d.Logger.Info("running", "roles", d.Roles)
	<-ctx.Done()
	d.running.Wait()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	d.Logger.Info("stopped")
	return nil
}

// part runs a part in the background; if it fails, the daemon ends.
func (d *daemon) part(run func() error) {
	d.running.Go(func() {
		if err := run(); err != nil {
			d.end(err)
		}
	})
}

// open opens log and store. On an error stop closes the parts that were opened.
func (d *daemon) open(ctx context.Context) (stop func(), err error) {
	var closers []func()
	stop = func() {
		for i := len(closers) - 1; i >= 0; i-- {
			closers[i]()
		}
	}
	var name string // name of the log
	if d.Serves() {
		if d.server, err = jetstream.StartServer(d.Config.Server); err != nil {
			return stop, err
		}
		closers = append(closers, d.server.Close)
	}
	if d.Has(RoleIngest) || d.Has(RoleJoin) {
		o := d.Log
		if len(o.URLs) == 0 {
			o.Server = d.server
		}
		if d.messages, err = jetstream.Open(ctx, o); err != nil {
			return stop, err
		}
		closers = append(closers, d.messages.Close)
		o.MaxAge, o.MaxBytes = 0, 1<<20
		if d.work, err = jetstream.Open(ctx, o); err != nil {
			return stop, err
		}
		closers = append(closers, d.work.Close)
		if name, err = agree(ctx, d.work, d.Partitions); err != nil {
			return stop, err
		}
	}
	if d.Has(RoleJoin) || d.Has(RoleServe) {
		d.files, err = parquet.Open(d.Store)
		d.counted = newCountedStore(d.files, d.Store.Dir, d.Logger)
	}
	if err == nil && d.Has(RoleJoin) && name != "" {
		err = d.files.Joins(name)
	}
	return stop, err
}

// share creates the pool that joins this process' share of the partitions.
func (d *daemon) share() {
	var names []string
	for _, kind := range []result.Kind{result.Stamps, result.Drops, result.Periods, result.Sketches, result.Records} {
		for i := range d.Partitions {
			names = append(names, kind.Partition(i))
		}
	}
	d.pool = &join.Pool{
		Worker: join.Worker{Log: d.messages, Store: d.counted, Logger: d.Logger, Lost: d.losses.Add, Options: d.Join},
		Work:   d.work, Partitions: names, Most: d.Most, Hold: d.Log.HoldTime / 3,
	}
}

func (d *daemon) start(ctx context.Context) {
	d.part(func() error { return d.read(ctx) })
	if d.Graphs {
		d.part(func() error { return d.watchGraphs(ctx) })
	}
	if d.pool != nil {
		d.part(func() error { return d.pool.Run(ctx) })
	}
}

func (d *daemon) read(ctx context.Context) error {
	for _, feed := range d.feeds {
		if feed.before == nil {
			continue
		}
		if err := feed.before(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
	for _, feed := range d.feeds {
		d.part(func() error { return feed.run(ctx) })
	}
	return nil
}

// logNetwork logs the gaps of the topology.
func (d *daemon) logNetwork() {
	if d.Join.Topology == nil {
		return
	}
	for _, note := range d.Join.Topology.Notes {
		d.Logger.Warn("topology: "+note, "file", d.Topology)
	}
	for _, n := range d.Join.Topology.Nodes {
		if n.Kind == topology.Switch && n.ID == 0 {
			d.Logger.Warn("topology: a switch has no id: its stamps are shown without its name", "file",
				d.Topology, "switch", n.Name)
		}
	}
}

// handler returns a handler for the metrics and, in role serve, the page.
func (d *daemon) handler(entrance *door.Door) (http.Handler, error) {
	mux := http.NewServeMux()
	metrics := promhttp.HandlerFor(d.registry(), promhttp.HandlerOpts{MaxRequestsInFlight: 4})
	mux.Handle("GET /metrics", entrance.Behind(metrics))
	if d.Has(RoleServe) {
		cfg := web.Config{Title: "tamtam-collectd", Note: "What the store in " + d.Store.Dir + " has.",
			Store: d.files, Scanner: d.files, Troubles: d.troubles, Alarms: d.rules, Enter: entrance.Enter}
		if d.Join.Topology != nil { // otherwise the page uses the stamps
			cfg.Topology = web.Reported(d.Join.Topology, d.Topology)
		}
		p, err := web.New(cfg)
		if err != nil {
			return nil, err
		}
		mux.Handle("/", p)
	}
	return mux, nil
}

// troubles returns texts on why rows may be missing from the store, for now or for good.
func (d *daemon) troubles() []string {
	why := append(d.counted.troubles(), d.losses.Troubles()...)
	if d.server != nil && d.server.Trouble() != "" {
		why = append(why, fmt.Sprintf("sources wait, since the log in %s cannot be written: %s", d.Config.Server.Dir,
			d.server.Trouble()))
	}
	return why
}
