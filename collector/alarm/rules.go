package alarm

import (
	"fmt"
	"strings"
	"time"

	"tamtam/collector/marks"
	"tamtam/collector/result"
	"tamtam/tam/altmark"
)

// Rules say what is an alarm: of which graphs, and from which loss on. They may be used by several at once.
type Rules struct {
	graphs    Graphs
	threshold float64
	drills    map[string]*marks.Drill
	clusters  map[marks.Segment]string
}

// Graphs are the graphs that may have alarms.
type Graphs interface {
	// Names are those of the graphs, in the order in which they are shown.
	Names() []string
	// Drills has for each graph what finds the clusters in which more than a part of the packets was lost.
	Drills(threshold float64) (map[string]*marks.Drill, error)
	// Clusters are the parts of graphs by the names that rows have for them.
	Clusters() (map[marks.Segment]string, error)
	// Blame holds the losses of all graphs against each other.
	Blame() (*marks.Blame, error)
	// Wait is the number of periods that a result waits for reports at most.
	Wait() int
}

// New has alarms of graphs that lost more than this part of the packets of a period: 0 to less than 1.
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

// Threshold is the part of the packets whose loss is accepted.
func (r *Rules) Threshold() float64 { return r.threshold }

// Graphs are the names of the graphs, in the order of the file.
func (r *Rules) Graphs() []string { return r.graphs.Names() }

// Cluster is what rows call a part of a graph; "": the whole.
func (r *Rules) Cluster(graph, from, to string) string {
	return r.clusters[marks.Segment{Path: graph, From: from, To: to}]
}

// stale is when a graph whose newest period ended so long ago is not known any more: rows must have come.
func (r *Rules) stale(length int64) int64 {
	return int64(r.graphs.Wait()+periodsUntold)*length + int64(untold)
}

// A row comes when the next periods are told and the window in which that was is closed, at the latest when sources
// have been silent.
const (
	periodsUntold = 8
	untold        = 2 * time.Minute
)

// resultOf is the join's result that a row was made of, as far as alarms need it.
func resultOf(l *result.Loss) marks.Result {
	r := marks.Result{Path: l.Flow, From: l.From, To: l.To, Period: l.Period,
		Start: altmark.At(time.Unix(0, l.Window.Start)), Lost: l.Lost, LossValid: l.Known}
	r.Sent, r.Received, r.Excess = uint64(l.Sent), uint64(l.Received), l.Excess
	if l.Detail != "" {
		r.Reasons = strings.Split(l.Detail, "; ")
	}
	return r
}
