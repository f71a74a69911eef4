package main

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tamtam/collector/alarm"
	"tamtam/collector/result"
	"tamtam/mgmt/web"
)

const (
	noAlarm    = -1
	alarmUsage = "of graphs: alarms on the page and in /metrics where a period lost more than this part, as 0.01;\n" +
		"where the loss of the whole is not known, where a cluster did: as tamtam collect has it"
)

// checkAlarm holds --alarm to the other flags.
func (f *daemonFlags) checkAlarm() error {
	g := &f.sources.gnmi
	switch {
	case f.alarm == noAlarm:
		return nil
	case !(f.alarm >= 0 && f.alarm < 1):
		return usagef("--alarm %v: want a part of the packets, 0 to less than 1", f.alarm)
	case !f.has(roleServe):
		return usagef("--alarm: only role %s takes it, which has alarms of the rows in the store", roleServe)
	case g.paths == "" && !g.graphs:
		return usagef("--alarm %v: of which graphs: want the --paths by which they are joined, or --graphs", f.alarm)
	case g.paths != "" && len(g.file.Graphs) == 0:
		return usagef("--alarm %v: --paths %s has no graphs: want one or more", f.alarm, g.paths)
	}
	return nil
}

// makeRules makes the rules of alarms when the graphs are known.
func (f *daemonFlags) makeRules() (err error) {
	if f.alarm != noAlarm {
		f.rules, err = alarm.New(f.sources.gnmi.file, f.alarm)
	}
	return err
}

// Bounds of the metrics of alarms.
const (
	alarmRows         = 2 * time.Hour // by rows of this time, by the clock of this host
	alarmFresh        = 5 * time.Second
	mostAlarmGraphs   = 1000
	mostAlarmClusters = 16 // of a graph: those that lost the most
)

// alarmMetrics are the alarms of the rows of a store, as the page has them.
type alarmMetrics struct {
	rules *alarm.Rules
	store web.Store

	mu     sync.Mutex
	made   time.Time
	graphs []alarm.Graph
	unread string
}

type alarmFamilies struct {
	state, raised, inexact, lost, undecided, newest, unread, leftOut family
}

func newAlarmFamilies() alarmFamilies {
	gauge := func(name, help string, labels ...string) family {
		return metric(prometheus.GaugeValue, "altmark_alarm"+name, help, labels...)
	}
	return alarmFamilies{
		state: gauge("", "Whether the alarm of a graph is raised, accepted (its newest period lost no more than is) or "+
			"unknown: one of them is 1.", "graph", "state"),
		raised: gauge("_raised_timestamp_seconds", "Of a raised alarm, the beginning of its first period.", "graph"),
		inexact: gauge("_inexact_periods", "Of a raised alarm, its periods by rows that may not be the whole truth.",
			"graph"),
		lost: gauge("_lost_packets", "Of a raised alarm, what a cluster lost at least in the last period above.", "graph",
			"from", "to"),
		undecided: gauge("_undecided_periods", "Newest periods of a graph that neither raise nor clear.", "graph"),
		newest:    gauge("_newest_timestamp_seconds", "End of the newest period of a graph with a row.", "graph"),
		unread:    gauge("_unread", "Whether rows are missing that are in the store, so that alarms may be."),
		leftOut:   gauge("_graphs_left_out", "Graphs of which there are no metrics for room."),
	}
}

// Describe implements prometheus.Collector.
func (m *alarmMetrics) Describe(to chan<- *prometheus.Desc) {
	f := newAlarmFamilies()
	for _, one := range []family{f.state, f.raised, f.inexact, f.lost, f.undecided, f.newest, f.unread, f.leftOut} {
		to <- one.desc
	}
}

// Collect implements prometheus.Collector.
func (m *alarmMetrics) Collect(to chan<- prometheus.Metric) {
	f, say := newAlarmFamilies(), sayer(to)
	graphs, unread := m.read()
	if unread == "" {
		say(f.unread, 0)
	} else {
		say(f.unread, 1)
	}
	left := max(0, len(graphs)-mostAlarmGraphs)
	say(f.leftOut, float64(left))
	for i := range graphs[:len(graphs)-left] {
		f.graph(&graphs[i], say)
	}
}

// read returns what the rows say, read anew if that was some time ago.
func (m *alarmMetrics) read() ([]alarm.Graph, string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if m.graphs != nil && now.Sub(m.made) < alarmFresh {
		return m.graphs, m.unread
	}
	graphs, unread, err := web.Alarms(context.Background(), m.store, m.rules, now.Add(-alarmRows).UnixNano(), now)
	if err != nil { // nothing is known
		graphs, unread = m.rules.Judge(func(func(*result.Loss) bool) {}, now), err.Error()
	}
	m.made, m.graphs, m.unread = now, graphs, unread
	return graphs, unread
}

// stateWords are the values of the label state.
var stateWords = map[alarm.State]string{alarm.Raised: "raised", alarm.Accepted: "accepted", alarm.NotKnown: "unknown"}

func (f *alarmFamilies) graph(g *alarm.Graph, say sayFunc) {
	for _, state := range alarm.States {
		is := 0.
		if state == g.State {
			is = 1
		}
		say(f.state, is, g.Name, stateWords[state])
	}
	say(f.undecided, float64(g.Doubt.Missing+g.Doubt.Unknown+g.Doubt.Inexact), g.Name)
	if g.Newest != 0 {
		say(f.newest, float64(g.Newest)/1e9, g.Name)
	}
	if g.State != alarm.Raised {
		return
	}
	a := &g.Alarms[len(g.Alarms)-1]
	say(f.raised, float64(a.Raised)/1e9, g.Name)
	say(f.inexact, float64(a.Inexact), g.Name)
	for _, l := range a.Last.Alarm.Clusters[:min(mostAlarmClusters, len(a.Last.Alarm.Clusters))] {
		say(f.lost, float64(l.Bounds(a.Last.Alarm).Least), g.Name, l.From(), l.To())
	}
}
