package sketching

import (
	"context"
	"fmt"
	"time"

	"tamtam/lab/bench"
	"tamtam/lab/study"
)

// deployments measures how soon tasks count, in real time and on this machine.
func (s *run) deployments(ctx context.Context) (*Report, error) {
	all, err := bench.Deployments(ctx, max(1, s.Deployments))
	if err != nil {
		return nil, err
	}
	report := &Report{Head: s.head("row"), Assumptions: []string{
		"time: from HSET in CONFIG_DB to the first packet that is counted, in ms of real time, through every daemon in " +
			"one process",
		"cycles: from the call of SAI to the entry of that packet into the egress pipe, with one port sending at line rate",
	}}
	report.Seeds = []uint64{s.seed}
	report.Traffic = fmt.Sprintf("%d deployments of each algorithm while packets pass", max(1, s.Deployments))
	rows := map[string]int{}
	slowest := map[string]float64{}
	for _, d := range all {
		rows[d.Redis]++
		var ms []float64
		for _, t := range d.Times {
			ms = append(ms, float64(t)/float64(time.Millisecond))
		}
		p99 := float64(d.Quantile(0.99)) / float64(time.Millisecond)
		slowest[d.Redis] = max(slowest[d.Redis], p99)
		add := func(name string, values ...float64) {
			m := study.Predicted(values, study.Unpredicted())
			report.Add(d.Redis, "", string(d.Algorithm), float64(rows[d.Redis]), name, m)
		}
		add("time", ms...)
		add("time-p99", p99)
		add("groups", float64(d.Groups))
		add("rules", float64(d.Rules))
		add("cycles", float64(d.Cycles))
	}
	for _, c := range report.Curves.Curves {
		m := study.Predicted([]float64{slowest[c.Name]}, study.Unpredicted())
		report.Add(c.Name, "", "slowest", float64(rows[c.Name]+1), "time-p99", m)
	}
	return report, nil
}
