package alarm

import (
	"fmt"
	"strings"
	"time"

	"tamtam/collector"
	"tamtam/collector/dial"
	"tamtam/collectord/result"
	"tamtam/tam/altmark"
)

// Rules say what is an alarm: of which graphs, and from which loss on. They may be used by several at once.
type Rules struct {
	file      dial.File
	threshold float64
	drills    map[string]*collector.AltMarkDrill
	clusters  map[dial.Segment]string
}

// New has alarms of the graphs of a file that lost more than this part of the packets of a period: 0 to less than 1.
func New(f dial.File, threshold float64) (*Rules, error) {
	if !(threshold >= 0 && threshold < 1) {
		return nil, fmt.Errorf("the part of packets whose loss is an alarm is %v, want 0 to less than 1", threshold)
	}
	r := &Rules{file: f, threshold: threshold}
	var err error
	if r.drills, err = f.Drills(threshold); err != nil {
		return nil, err
	}
	r.clusters, err = f.Clusters()
	return r, err
}

// Threshold is the part of the packets whose loss is accepted.
func (r *Rules) Threshold() float64 { return r.threshold }

// Graphs are the names of the graphs, in the order of the file.
func (r *Rules) Graphs() (names []string) {
	for _, g := range r.file.Graphs {
		names = append(names, g.Name)
	}
	return names
}

// Cluster is what rows call a part of a graph; "": the whole.
func (r *Rules) Cluster(graph, from, to string) string {
	return r.clusters[dial.Segment{Path: graph, From: from, To: to}]
}

// stale is when a graph whose newest period ended so long ago is not known any more: rows must have come.
func (r *Rules) stale(length int64) int64 {
	return int64(r.file.Wait()+periodsUntold)*length + int64(untold)
}

// A row comes when the next periods are told and the window in which that was is closed, at the latest when sources
// have been silent.
const (
	periodsUntold = 8
	untold        = 2 * time.Minute
)

// resultOf is the join's result that a row was made of, as far as alarms need it.
func resultOf(l *result.Loss) collector.AltMarkResult {
	r := collector.AltMarkResult{Path: l.Flow, From: l.From, To: l.To, Period: l.Period,
		Start: altmark.At(time.Unix(0, l.Window.Start)), Lost: l.Lost, LossValid: l.Known}
	r.Sent, r.Received, r.Excess = uint64(l.Sent), uint64(l.Received), l.Excess
	if l.Detail != "" {
		r.Reasons = strings.Split(l.Detail, "; ")
	}
	return r
}
