package alarm

import (
	"fmt"
	"strings"
	"time"

	"tamtam/collector/marks"
	"tamtam/collector/result"
	"tamtam/tam/altmark"
)

// Rules define alarms: the graphs and the loss threshold. They are safe for concurrent use.
type Rules struct {
	graphs    Graphs
	threshold float64
	drills    map[string]*marks.Drill
	clusters  map[marks.Segment]string
}

// Graphs provides the graphs that may have alarms.
type Graphs interface {
	// Names returns the names of the graphs, in display order.
	Names() []string
	// Drills returns a Drill per graph, which finds the clusters that lost more than a fraction of the packets.
	Drills(threshold float64) (map[string]*marks.Drill, error)
	// Clusters returns the names that rows use for the parts of the graphs.
	Clusters() (map[marks.Segment]string, error)
	// Blame returns a comparison of the losses of all graphs.
	Blame() (*marks.Blame, error)
	// Wait returns the maximum number of periods that a result waits for reports.
	Wait() int
}

// New returns rules with alarms for graphs that lost more than this fraction of a period's packets, from 0 to less than
// 1.
func New(g Graphs, threshold float64) (*Rules, error) {
	if !(threshold >= 0 && threshold < 1) {
		return nil, fmt.Errorf("the part of packets whose loss is an alarm is %v, want 0 to less than 1", threshold)
	}
	r := &Rules{graphs: g, threshold: threshold}
	var err error
	if r.drills, err = g.Drills(threshold); err != nil {
		return nil, err
	}
	r.clusters, err = g.Clusters()
	return r, err
}

// Threshold returns the accepted loss as a fraction of the packets.
func (r *Rules) Threshold() float64 { return r.threshold }

// Graphs returns the names of the graphs, in the order of the file.
func (r *Rules) Graphs() []string { return r.graphs.Names() }

// Cluster returns the name that rows use for a part of a graph, or "" for the whole graph.
func (r *Rules) Cluster(graph, from, to string) string {
	return r.clusters[marks.Segment{Path: graph, From: from, To: to}]
}

// stale returns the age, in ns, of the newest period's end after which a graph's state is unknown, because rows should
// have arrived.
func (r *Rules) stale(length int64) int64 {
	return int64(r.graphs.Wait()+periodsUntold)*length + int64(untold)
}

// The rows of a period arrive within periodsUntold periods and the time untold, in addition to the wait of the graphs.
// A row arrives when the next periods are reported and the window of those reports is closed. It arrives at the latest
// when silent sources have been detected.
const (
	periodsUntold = 8
	untold        = 2 * time.Minute
)

// resultOf returns the join's result from which a row was made, with the fields that alarms need.
func resultOf(l *result.Loss) marks.Result {
	r := marks.Result{Path: l.Flow, From: l.From, To: l.To, Period: l.Period,
		Start: altmark.At(time.Unix(0, l.Window.Start)), Lost: l.Lost, LossValid: l.Known}
	r.Sent, r.Received, r.Excess = uint64(l.Sent), uint64(l.Received), l.Excess
	if l.Detail != "" {
		r.Reasons = strings.Split(l.Detail, "; ")
	}
	return r
}
