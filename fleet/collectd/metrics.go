package collectd

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"tamtam/collector/result"
)

func (d *daemon) registry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), d)
	if d.rules != nil {
		r.MustRegister(&alarmMetrics{rules: d.rules, store: d.files.Losses()})
	}
	return r
}

const counter, gauge = prometheus.CounterValue, prometheus.GaugeValue

// A family is the metrics of one name, without the prefix "tamtam_collectd_".
type family struct {
	kind       prometheus.ValueType
	name, help string
	labels     []string
}

func (f family) desc() *prometheus.Desc {
	return prometheus.NewDesc("tamtam_collectd_"+f.name, f.help, f.labels, nil)
}

func words(s string) []string { return strings.Fields(s) }

// families returns all metrics of a daemon. The roles determine which of them have values.
func families() []family {
	partition, source := words("partition"), words("source kind")
	return []family{
		{gauge, "partition_held", "Whether this process joins the partition.", partition},
		{gauge, "partition_closed_timestamp_seconds", "Event time to which windows are closed.", partition},
		{gauge, "partition_sources", "Sources that the partition knows.", partition},
		{gauge, "partition_sources_silent", "Sources that are not waited for any more.", partition},
		{counter, "batches_lost_total", "Batches missing in the numbers of sources.", partition},
		{counter, "batches_twice_total", "Batches that came again, and were not counted again.", partition},
		{counter, "batches_bad_total", "Batches that could not be read.", partition},
		{counter, "events_late_total", "Events that came after their window was closed.", partition},
		{counter, "messages_lost_total",
			"Messages that the log lost before they were joined, as by damage of its files.", partition},
		{counter, "events_left_out_total", "Events that could not be joined, as of unknown switches.", partition},
		{counter, "results_total", "Batches of results, by whether they were new.", words("kept")},
		{counter, "rows_total", "Rows put into the store.", words("kind")},
		{counter, "rows_flagged_total", "Rows that may not be the whole truth for what went in.", words("flag")},
		{counter, "hop_packets_total", "Packets at hops: once at each switch.", nil},
		{counter, "hop_residence_packets_total", "Packets at hops whose time in the switch is known.", nil},
		{counter, "hop_residence_seconds_total", "Time that these packets were in switches.", nil},
		{counter, "dropped_packets_total",
			"Packets that switches reported as dropped. Sources may report the same packets.", words("reason source")},
		{counter, "store_files_removed_total",
			"Files that this process removed from the store for their age or its size.", nil},
		{counter, "store_removed_bytes_total", "Bytes of files removed from the store.", nil},
		{gauge, "store_waiting_partitions",
			"Partitions of this process that wait until the store can be used again.", nil},
		{counter, "store_failures_total", "What the store could not do, and is asked for again.", nil},
		{gauge, "store_files_unread",
			"Unreadable files of the store, whose rows the page lacks; absent if the store does not report them.", nil},
		{counter, "source_events_total", "Events written to the log.", source},
		{counter, "source_batches_total", "Batches that the log has kept.", source},
		{counter, "source_bytes_total", "Bytes of batches that the log has kept.", source},
		{counter, "source_refused_total", "Events that were not fit for the log.", source},
		{counter, "source_lost_total", "Of what was sent to the source, what never came.", source},
		{counter, "source_retries_total", "Appends to the log that were tried again.", source},
		{counter, "source_waited_seconds_total", "Time that the source waited for the log.", source},
		{gauge, "log_writable", "Whether the folder of the log's server in this process can be written.", nil},
		{counter, "log_restarts_total",
			"Times that the log's server in this process was started again since it could not write.", nil},
	}
}

func describe(to chan<- *prometheus.Desc, list []family) {
	for _, f := range list {
		to <- f.desc()
	}
}

// Describe implements prometheus.Collector.
func (d *daemon) Describe(to chan<- *prometheus.Desc) { describe(to, families()) }

type sayFunc func(name string, value float64, labels ...string)

func sayer(to chan<- prometheus.Metric, list []family) sayFunc {
	return func(name string, value float64, labels ...string) {
		f := list[slices.IndexFunc(list, func(f family) bool { return f.name == name })]
		for i := range labels { // some label values come from the network
			labels[i] = strings.ToValidUTF8(labels[i], "?")
		}
		m, err := prometheus.NewConstMetric(f.desc(), f.kind, value, labels...)
		if err != nil {
			m = prometheus.NewInvalidMetric(f.desc(), err)
		}
		to <- m
	}
}

func truth(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// Collect implements prometheus.Collector.
func (d *daemon) Collect(to chan<- prometheus.Metric) {
	say := sayer(to, families())
	d.collectSources(say)
	if d.server != nil {
		say("log_writable", truth(d.server.Trouble() == ""))
		say("log_restarts_total", float64(d.server.Restarts()))
	}
	if d.counted == nil {
		return
	}
	forgot := d.files.Forgotten()
	say("store_files_removed_total", float64(forgot.Files))
	say("store_removed_bytes_total", float64(forgot.Bytes))
	if n, ok := d.unread(); ok {
		say("store_files_unread", float64(n))
	}
	if d.pool != nil {
		d.collectPool(say)
	}
}

// unread returns the number of files of the store that cannot be read. ok is false if that is unknown.
func (d *daemon) unread() (files int, ok bool) {
	err := d.files.Unread()
	var unread *result.Unread
	if errors.As(err, &unread) {
		return unread.Files, true
	}
	return 0, err == nil
}

func (d *daemon) collectPool(say sayFunc) {
	s := d.counted
	s.mu.Lock()
	defer s.mu.Unlock()
	say("store_waiting_partitions", float64(len(s.waiting)))
	say("store_failures_total", s.failures)
	say("results_total", s.batches[0], "yes")
	say("results_total", s.batches[1], "no")
	say("hop_packets_total", s.packets)
	say("hop_residence_packets_total", s.timed)
	say("hop_residence_seconds_total", s.resident)
	for _, m := range []struct {
		family string
		values map[string]float64
	}{{"rows_total", s.rows}, {"rows_flagged_total", s.flagged}} {
		for _, name := range slices.Sorted(maps.Keys(m.values)) {
			say(m.family, m.values[name], name)
		}
	}
	for of, packets := range s.drops {
		say("dropped_packets_total", packets, of.reason, of.source)
	}
	for _, name := range d.pool.Partitions {
		say("messages_lost_total", d.losses.Count(name), name)
		held := d.pool.Held(name)
		if !held {
			say("partition_held", 0, name)
			continue
		}
		say("partition_held", 1, name)
		at, known := s.partitions[name]
		if !known { // there was no batch yet
			continue
		}
		say("partition_closed_timestamp_seconds", at.closed, name)
		say("partition_sources", at.sources, name)
		say("partition_sources_silent", at.silent, name)
		say("batches_lost_total", at.lost, name)
		say("batches_twice_total", at.twice, name)
		say("batches_bad_total", at.bad, name)
		say("events_late_total", at.late, name)
		say("events_left_out_total", at.leftOut, name)
	}
}

func (d *daemon) collectSources(say sayFunc) {
	for _, feed := range d.feeds {
		for _, sender := range feed.senders {
			s, kind := sender.Stats(), sender.Kind().String()
			say("source_events_total", float64(s.Events), feed.name, kind)
			say("source_batches_total", float64(s.Batches), feed.name, kind)
			say("source_bytes_total", float64(s.Bytes), feed.name, kind)
			say("source_refused_total", float64(s.Refused), feed.name, kind)
			say("source_lost_total", float64(s.Lost), feed.name, kind)
			say("source_retries_total", float64(s.Retried), feed.name, kind)
			say("source_waited_seconds_total", s.Waited.Seconds(), feed.name, kind)
		}
	}
}
