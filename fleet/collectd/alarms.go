package collectd

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tamtam/collector/alarm"
	"tamtam/collector/result"
	"tamtam/mgmt/web"
)

// Bounds of the metrics of alarms.
const (
	alarmRows         = 2 * time.Hour // rows of this time span, up to now by the clock of this host, are used
	alarmFresh        = 5 * time.Second
	mostAlarmGraphs   = 1000
	mostAlarmClusters = 16 // maximum number of clusters per graph: the ones that lost the most
)

// alarmMetrics exports the alarms of the rows of a store, as on the page.
type alarmMetrics struct {
	rules *alarm.Rules
	store web.Store

	mu     sync.Mutex
	made   time.Time
	graphs []alarm.Graph
	unread string
}

func alarmFamilies() []family {
	return []family{
		{gauge, "altmark_alarm", "Whether the alarm of a graph is raised, accepted (its newest period lost no more than " +
			"is) or unknown: one of them is 1.", words("graph state")},
		{gauge, "altmark_alarm_raised_timestamp_seconds", "Of a raised alarm, the beginning of its first period.",
			words("graph")},
		{gauge, "altmark_alarm_inexact_periods",
			"Of a raised alarm, its periods by rows that may not be the whole truth.", words("graph")},
		{gauge, "altmark_alarm_lost_packets",
			"Of a raised alarm, what a cluster lost at least in the last period above.", words("graph from to")},
		{gauge, "altmark_alarm_undecided_periods", "Newest periods of a graph that neither raise nor clear.",
			words("graph")},
		{gauge, "altmark_alarm_newest_timestamp_seconds", "End of the newest period of a graph with a row.",
			words("graph")},
		{gauge, "altmark_alarm_unread", "Whether rows are missing that are in the store, so that alarms may be.", nil},
		{gauge, "altmark_alarm_graphs_left_out", "Graphs of which there are no metrics for room.", nil},
	}
}

// Describe implements prometheus.Collector.
func (m *alarmMetrics) Describe(to chan<- *prometheus.Desc) { describe(to, alarmFamilies()) }

// Collect implements prometheus.Collector.
func (m *alarmMetrics) Collect(to chan<- prometheus.Metric) {
	say := sayer(to, alarmFamilies())
	graphs, unread := m.read()
	say("altmark_alarm_unread", truth(unread != ""))
	left := max(0, len(graphs)-mostAlarmGraphs)
	say("altmark_alarm_graphs_left_out", float64(left))
	for i := range graphs[:len(graphs)-left] {
		sayGraph(&graphs[i], say)
	}
}

// read returns the alarms of the rows. It reads the rows again if the last read was some time ago.
func (m *alarmMetrics) read() ([]alarm.Graph, string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if m.graphs != nil && now.Sub(m.made) < alarmFresh {
		return m.graphs, m.unread
	}
	graphs, unread, err := web.Alarms(context.Background(), m.store, m.rules, now.Add(-alarmRows).UnixNano(), now)
	if err != nil { // all states are unknown
		graphs, unread = m.rules.Judge(func(func(*result.Loss) bool) {}, now), err.Error()
	}
	m.made, m.graphs, m.unread = now, graphs, unread
	return graphs, unread
}

// stateWords holds the values of the label state.
var stateWords = map[alarm.State]string{alarm.Raised: "raised", alarm.Accepted: "accepted", alarm.NotKnown: "unknown"}

func sayGraph(g *alarm.Graph, say sayFunc) {
	for _, state := range alarm.States {
		say("altmark_alarm", truth(state == g.State), g.Name, stateWords[state])
	}
	say("altmark_alarm_undecided_periods", float64(g.Uncertain.Missing+g.Uncertain.Unknown+g.Uncertain.Inexact), g.Name)
	if g.Newest != 0 {
		say("altmark_alarm_newest_timestamp_seconds", float64(g.Newest)/1e9, g.Name)
	}
	if g.State != alarm.Raised {
		return
	}
	a := &g.Alarms[len(g.Alarms)-1]
	say("altmark_alarm_raised_timestamp_seconds", float64(a.Raised)/1e9, g.Name)
	say("altmark_alarm_inexact_periods", float64(a.Inexact), g.Name)
	for _, l := range a.Last.Alarm.Clusters[:min(mostAlarmClusters, len(a.Last.Alarm.Clusters))] {
		say("altmark_alarm_lost_packets", float64(l.Bounds(a.Last.Alarm).Least), g.Name, l.From(), l.To())
	}
}
