package lab

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tamtam/bench"
)

// deployments measures, in real time and on this machine, how soon tasks count.
func (s *study) deployments(ctx context.Context) (*FlyMonReport, error) {
	all, err := bench.Deployments(ctx, max(1, s.Deployments))
	if err != nil {
		return nil, err
	}
	report := &FlyMonReport{
		Study: s.Study, Seeds: []uint64{s.opts.Seed}, X: "row",
		Traffic: fmt.Sprintf("%d deployments of each algorithm while packets pass", max(1, s.Deployments)),
		Assumptions: []string{"time: from HSET in CONFIG_DB to the first packet that is counted, in ms of real time, through every daemon in one process",
			"cycles: from the call of SAI to the entry of that packet into the egress pipe, with one port sending at line rate"},
	}
	for _, d := range all {
		c := report.curve(d.Redis)
		if c == nil {
			c = &FlyMonSeries{Name: d.Redis}
			report.Curves = append(report.Curves, c)
		}
		var ms []float64
		for _, t := range d.Times {
			ms = append(ms, float64(t)/float64(time.Millisecond))
		}
		one := func(v float64) *FlyMonMetric { return newFlyMonMetric([]float64{v}, unpredicted()) }
		c.Points = append(c.Points, &FlyMonPoint{At: string(d.Algorithm), X: float64(len(c.Points) + 1), Metrics: map[string]*FlyMonMetric{
			"time": newFlyMonMetric(ms, unpredicted()), "time-p99": one(float64(d.Quantile(0.99)) / float64(time.Millisecond)),
			"groups": one(float64(d.Groups)), "rules": one(float64(d.Rules)), "cycles": one(float64(d.Cycles)),
		}})
		c.slowest(d.Quantile(0.99))
	}
	return report, nil
}

// slowest keeps the greatest of the algorithms' times as a last point.
func (c *FlyMonSeries) slowest(p99 time.Duration) {
	v := float64(p99) / float64(time.Millisecond)
	last := slices.IndexFunc(c.Points, func(p *FlyMonPoint) bool { return p.At == "slowest" })
	if last >= 0 {
		v = max(v, c.Points[last].Metrics["time-p99"].Max)
		c.Points = slices.Delete(c.Points, last, last+1)
	}
	c.Points = append(c.Points, &FlyMonPoint{At: "slowest", X: float64(len(c.Points) + 1), Metrics: map[string]*FlyMonMetric{"time-p99": newFlyMonMetric([]float64{v}, unpredicted())}})
}
