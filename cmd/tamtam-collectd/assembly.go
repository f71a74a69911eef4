package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"tamtam/collector/result"
	"tamtam/fleet/jetstream"
	"tamtam/fleet/join"
	"tamtam/fleet/parquet"
	"tamtam/mgmt/web"
	"tamtam/mgmt/web/door"
)

// A daemon is the roles of one process, put together.
type daemon struct {
	flags   *daemonFlags
	logger  *slog.Logger
	started time.Time

	server *jetstream.Server // nil: there is none in this process

	log    *jetstream.Log // of messages; nil without the roles ingest and join
	work   *jetstream.Log // of who joins what: it does not age
	files  *parquet.Store
	store  *countedStore
	pool   *join.Pool
	losses join.Losses
	feeds  []*feed

	end     context.CancelCauseFunc
	running sync.WaitGroup
}

// closeWithin is how long the last messages may take into a log that does not answer.
const closeWithin = 10 * time.Second

// run starts from the log upwards, and stops from the sources downwards.
func (d *daemon) run(ctx context.Context) (err error) {
	ctx, d.end = context.WithCancelCause(ctx)
	defer d.end(nil)
	entrance, err := d.flags.entrance(d.logger)
	if err != nil {
		return err
	}
	if entrance != nil {
		defer entrance.Close()
	}
	d.flags.tellNetwork(d.logger)
	stop, err := d.open(ctx)
	defer stop()
	if err != nil {
		return err
	}
	if d.flags.has(roleJoin) {
		d.share()
		if err := d.pool.Reach(ctx); err != nil {
			return err
		}
	}
	if d.flags.has(roleIngest) {
		if d.feeds, err = d.flags.sources.open(ctx, d.log, d.work, d.started, d.flags.partitions,
			d.logger); err != nil {
			return err
		}
	}
	if entrance != nil {
		h, err := d.handler(entrance)
		if err != nil {
			return err
		}
		d.part(func() error { return entrance.Serve(ctx, h) })
		d.logger.Info("listening", "http", strings.TrimSuffix(entrance.URL(), "/"))
	}
	d.start(ctx)
	d.logger.Info("running", "roles", d.flags.roles)
	<-ctx.Done()
	d.running.Wait()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	d.logger.Info("stopped")
	return nil
}

// part runs a part; if it fails, all end.
func (d *daemon) part(run func() error) {
	d.running.Go(func() {
		if err := run(); err != nil {
			d.end(err)
		}
	})
}

// open opens log and store. What stop closes may be less than all if there is an error.
func (d *daemon) open(ctx context.Context) (stop func(), err error) {
	f := d.flags
	var closers []func()
	stop = func() {
		for i := len(closers) - 1; i >= 0; i-- {
			closers[i]()
		}
	}
	var name string // of the log
	if f.serves() {
		d.server, err = jetstream.StartServer(jetstream.ServerOptions{Dir: f.logDir, Name: f.node, Listen: f.listen,
			Cluster: f.cluster, Routes: f.routes, Sync: f.sync, Access: f.access, Logger: d.logger})
		if err != nil {
			return stop, err
		}
		closers = append(closers, d.server.Close)
	}
	if f.has(roleIngest) || f.has(roleJoin) {
		o := jetstream.Options{Replicas: f.replicas, MaxBytes: f.logBytes, MaxAge: f.logAge, HoldTime: f.hold,
			Access: f.access, Logger: d.logger}
		if f.embedded() {
			o.Server = d.server
		} else {
			o.URLs = f.nats
		}
		if d.log, err = jetstream.Open(ctx, o); err != nil {
			return stop, err
		}
		closers = append(closers, d.log.Close)
		o.MaxAge, o.MaxBytes = 0, 1<<20
		if d.work, err = jetstream.Open(ctx, o); err != nil {
			return stop, err
		}
		closers = append(closers, d.work.Close)
		if name, err = agree(ctx, d.work, f.partitions); err != nil {
			return stop, err
		}
	}
	if f.has(roleJoin) || f.has(roleServe) {
		d.files, err = parquet.Open(parquet.Options{Dir: f.store, Bytes: f.storeBytes, Age: f.storeAge})
		d.store = newCountedStore(d.files, f.store, d.logger)
	}
	if err == nil && f.has(roleJoin) && name != "" {
		err = d.files.Joins(name)
	}
	return stop, err
}

// share makes the pool that joins this process' share of the partitions.
func (d *daemon) share() {
	f := d.flags
	var names []string
	for _, kind := range []result.Kind{result.Stamps, result.Drops, result.Periods, result.Sketches, result.Records} {
		for i := range f.partitions {
			names = append(names, kind.Partition(i))
		}
	}
	d.pool = &join.Pool{
		Worker: join.Worker{Log: d.log, Store: d.store, Logger: d.logger, Lost: d.losses.Add,
			Options: join.Options{Window: f.window, Silence: f.silence, Expect: f.expect, Rows: f.rows,
				Paths: f.sources.gnmi.file, Topology: f.network,
				Plans: f.read, Journey: f.journey}},
		Work: d.work, Partitions: names, Most: f.most, Hold: f.hold / 3,
	}
}

func (d *daemon) start(ctx context.Context) {
	d.part(func() error { return d.read(ctx) })
	if d.flags.sources.gnmi.graphs {
		d.part(func() error { return d.watchGraphs(ctx) })
	}
	if d.pool != nil {
		d.part(func() error { return d.pool.Run(ctx) })
	}
}

// read begins to read all feeds.
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

// handler answers with the metrics and, in role serve, with the page.
func (d *daemon) handler(entrance *door.Door) (http.Handler, error) {
	mux := http.NewServeMux()
	metrics := promhttp.HandlerFor(d.registry(), promhttp.HandlerOpts{MaxRequestsInFlight: 4})
	mux.Handle("GET /metrics", entrance.Behind(metrics))
	if d.flags.has(roleServe) {
		p, err := web.New(web.Config{Title: "tamtam-collectd", Note: "What the store in " + d.flags.store + " has.",
			Store: d.files, Troubles: d.troubles, Topology: d.flags.shownNetwork(), Alarms: d.flags.rules,
			Enter: entrance.Enter})
		if err != nil {
			return nil, err
		}
		mux.Handle("/", p)
	}
	return mux, nil
}

// troubles says in words why rows may not be in the store yet, or never.
func (d *daemon) troubles() []string {
	why := append(d.store.troubles(), d.losses.Troubles()...)
	if d.server != nil && d.server.Trouble() != "" {
		why = append(why, fmt.Sprintf("sources wait, since the log in %s cannot be written: %s", d.flags.logDir,
			d.server.Trouble()))
	}
	return why
}
