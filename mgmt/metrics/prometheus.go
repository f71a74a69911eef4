package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// desc returns a family's description for Prometheus' library.
func (f *Family) desc() *prometheus.Desc { return prometheus.NewDesc(f.Name, f.Help, f.Labels, nil) }

// Describe implements prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, f := range (&look{}).look(nil) {
		to <- f.desc()
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	for _, f := range c.Read(context.Background(), time.Now()) {
		d := f.desc()
		for _, p := range f.Points {
			var m prometheus.Metric
			var err error
			if f.Kind == Counter {
				m, err = prometheus.NewConstMetricWithCreatedTimestamp(d, prometheus.CounterValue, p.Value, p.Start, p.Labels...)
			} else {
				m, err = prometheus.NewConstMetric(d, prometheus.GaugeValue, p.Value, p.Labels...)
			}
			if err == nil {
				to <- m
			}
		}
	}
}
