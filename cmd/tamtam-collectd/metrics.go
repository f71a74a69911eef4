package main

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"tamtam/collector/result"
)

// registry has the metrics of this process.
func (d *daemon) registry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), d)
	if d.flags.rules != nil {
		r.MustRegister(&alarmMetrics{rules: d.flags.rules, store: d.files.Losses()})
	}
	return r
}

// A family is one name of the metrics.
type family struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

func metric(kind prometheus.ValueType, name, help string, labels ...string) family {
	return family{prometheus.NewDesc("tamtam_collectd_"+name, help, labels, nil), kind}
}

// families are all that a daemon says. Which of them have values depends on its roles.
type families struct {
	partitionFamilies
	resultFamilies
	sourceFamilies
	logFamilies
}

type logFamilies struct {
	writable, restarts family
}

type partitionFamilies struct {
	held, closed, sources, silent, lost, twice, bad, late, leftOut, gone family
}

type resultFamilies struct {
	batches, rows, flagged, drops               family
	packets, timed, resident                    family
	forgotFiles, forgotBytes, waiting, failures family
	unread                                      family
}

type sourceFamilies struct {
	events, sent, bytes, refused, missed, retried, waited family
}

func newFamilies() *families {
	const counter, gauge = prometheus.CounterValue, prometheus.GaugeValue
	source := []string{"source", "kind"}
	var f families
	f.partitionFamilies = partitionFamilies{
		held:    metric(gauge, "partition_held", "Whether this process joins the partition.", "partition"),
		closed:  metric(gauge, "partition_closed_timestamp_seconds", "Event time to which windows are closed.", "partition"),
		sources: metric(gauge, "partition_sources", "Sources that the partition knows.", "partition"),
		silent:  metric(gauge, "partition_sources_silent", "Sources that are not waited for any more.", "partition"),
		lost:    metric(counter, "batches_lost_total", "Batches missing in the numbers of sources.", "partition"),
		twice:   metric(counter, "batches_twice_total", "Batches that came again, and were not counted again.", "partition"),
		bad:     metric(counter, "batches_bad_total", "Batches that could not be read.", "partition"),
		late:    metric(counter, "events_late_total", "Events that came after their window was closed.", "partition"),
	}
	f.gone = metric(counter, "messages_lost_total",
		"Messages that the log lost before they were joined, as by damage of its files.", "partition")
	f.leftOut = metric(counter, "events_left_out_total", "Events that could not be joined, as of unknown switches.",
		"partition")
	f.resultFamilies = resultFamilies{
		batches:  metric(counter, "results_total", "Batches of results, by whether they were new.", "kept"),
		rows:     metric(counter, "rows_total", "Rows put into the store.", "kind"),
		flagged:  metric(counter, "rows_flagged_total", "Rows that may not be the whole truth for what went in.", "flag"),
		packets:  metric(counter, "hop_packets_total", "Packets at hops: once at each switch."),
		timed:    metric(counter, "hop_residence_packets_total", "Packets at hops whose time in the switch is known."),
		resident: metric(counter, "hop_residence_seconds_total", "Time that these packets were in switches."),
		drops: metric(counter, "dropped_packets_total",
			"Packets that switches say they dropped. Sources may tell of the same packets.", "reason", "source"),
		forgotFiles: metric(counter, "store_files_removed_total",
			"Files that this process removed from the store for their age or its size."),
		forgotBytes: metric(counter, "store_removed_bytes_total", "Bytes of files removed from the store."),
		waiting: metric(gauge, "store_waiting_partitions",
			"Partitions of this process that wait until the store can be used again."),
		failures: metric(counter, "store_failures_total", "What the store could not do, and is asked for again."),
		unread: metric(gauge, "store_files_unread",
			"Files of the store that cannot be read, so that the page lacks their rows; absent if the store cannot say."),
	}
	f.sourceFamilies = sourceFamilies{
		events:  metric(counter, "source_events_total", "Events told to the log.", source...),
		sent:    metric(counter, "source_batches_total", "Batches that the log has kept.", source...),
		bytes:   metric(counter, "source_bytes_total", "Bytes of batches that the log has kept.", source...),
		refused: metric(counter, "source_refused_total", "Events that were not fit to be told.", source...),
		missed:  metric(counter, "source_lost_total", "Of what was sent to the source, what never came.", source...),
		retried: metric(counter, "source_retries_total", "Appends to the log that were tried again.", source...),
		waited:  metric(counter, "source_waited_seconds_total", "Time that the source waited for the log.", source...),
	}
	f.logFamilies = logFamilies{
		writable: metric(gauge, "log_writable", "Whether the folder of the log's server in this process can be written."),
		restarts: metric(counter, "log_restarts_total",
			"Times that the log's server in this process was started again since it could not write."),
	}
	return &f
}

func (f *families) list() []family {
	return []family{f.held, f.closed, f.sources, f.silent, f.lost, f.twice, f.bad, f.late, f.leftOut, f.gone, f.batches,
		f.rows, f.flagged, f.packets, f.timed, f.resident, f.drops, f.forgotFiles, f.forgotBytes, f.waiting, f.failures,
		f.unread, f.events, f.sent, f.bytes, f.refused, f.missed, f.retried, f.waited, f.writable, f.restarts}
}

// Describe implements prometheus.Collector.
func (d *daemon) Describe(to chan<- *prometheus.Desc) {
	for _, f := range newFamilies().list() {
		to <- f.desc
	}
}

// A sayFunc says a value of a family.
type sayFunc func(f family, value float64, labels ...string)

func sayer(to chan<- prometheus.Metric) sayFunc {
	return func(f family, value float64, labels ...string) {
		for i := range labels { // some come from the network
			labels[i] = strings.ToValidUTF8(labels[i], "?")
		}
		m, err := prometheus.NewConstMetric(f.desc, f.kind, value, labels...)
		if err != nil {
			m = prometheus.NewInvalidMetric(f.desc, err)
		}
		to <- m
	}
}

// Collect implements prometheus.Collector.
func (d *daemon) Collect(to chan<- prometheus.Metric) {
	f := newFamilies()
	say := sayer(to)
	d.collectSources(f, say)
	if d.server != nil {
		writable := 0.
		if d.server.Trouble() == "" {
			writable = 1
		}
		say(f.writable, writable)
		say(f.restarts, float64(d.server.Restarts()))
	}
	if d.store == nil {
		return
	}
	forgot := d.files.Forgotten()
	say(f.forgotFiles, float64(forgot.Files))
	say(f.forgotBytes, float64(forgot.Bytes))
	if n, ok := d.unread(); ok {
		say(f.unread, float64(n))
	}
	if d.pool != nil {
		d.collectPool(f, say)
	}
}

// unread is how many files of the store cannot be read; false if that is not known.
func (d *daemon) unread() (files int, ok bool) {
	err := d.files.Unread()
	var unread *result.Unread
	if errors.As(err, &unread) {
		return unread.Files, true
	}
	return 0, err == nil
}

// collectPool says what became of what this process joins.
func (d *daemon) collectPool(f *families, say func(family, float64, ...string)) {
	s := d.store
	s.mu.Lock()
	defer s.mu.Unlock()
	say(f.waiting, float64(len(s.waiting)))
	say(f.failures, s.failures)
	say(f.batches, s.batches[0], "yes")
	say(f.batches, s.batches[1], "no")
	say(f.packets, s.packets)
	say(f.timed, s.timed)
	say(f.resident, s.resident)
	for _, m := range []struct {
		family family
		values map[string]float64
	}{{f.rows, s.rows}, {f.flagged, s.flagged}} {
		for _, name := range slices.Sorted(maps.Keys(m.values)) {
			say(m.family, m.values[name], name)
		}
	}
	for of, packets := range s.drops {
		say(f.drops, packets, of.reason, of.source)
	}
	for _, name := range d.pool.Partitions {
		say(f.gone, d.losses.Count(name), name)
		held := d.pool.Held(name)
		if !held {
			say(f.held, 0, name)
			continue
		}
		say(f.held, 1, name)
		at, known := s.partitions[name]
		if !known { // there was no batch yet
			continue
		}
		say(f.closed, at.closed, name)
		say(f.sources, at.sources, name)
		say(f.silent, at.silent, name)
		say(f.lost, at.lost, name)
		say(f.twice, at.twice, name)
		say(f.bad, at.bad, name)
		say(f.late, at.late, name)
		say(f.leftOut, at.leftOut, name)
	}
}

func (d *daemon) collectSources(f *families, say sayFunc) {
	for _, feed := range d.feeds {
		for _, sender := range feed.senders {
			s, kind := sender.Stats(), sender.Kind().String()
			say(f.events, float64(s.Events), feed.name, kind)
			say(f.sent, float64(s.Batches), feed.name, kind)
			say(f.bytes, float64(s.Bytes), feed.name, kind)
			say(f.refused, float64(s.Refused), feed.name, kind)
			say(f.missed, float64(s.Lost), feed.name, kind)
			say(f.retried, float64(s.Retried), feed.name, kind)
			say(f.waited, s.Waited.Seconds(), feed.name, kind)
		}
	}
}
