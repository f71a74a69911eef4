package lab

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"tamtam/device"
)

// A FlyMonReport is what a study of FlyMon has shown.
type FlyMonReport struct {
	Study   string   `json:"study"`
	Traffic string   `json:"traffic,omitempty"`
	Seeds   []uint64 `json:"seeds"`
	X       string   `json:"x"` // what the x axis is, with its unit
	// Assumptions of the theory that stands beside the measurements.
	Assumptions []string        `json:"assumptions,omitempty"`
	Curves      []*FlyMonSeries `json:"curves"`
}

// A FlyMonSeries is a curve of a figure.
type FlyMonSeries struct {
	Name   string         `json:"name"`
	Points []*FlyMonPoint `json:"points"`
}

// A FlyMonPoint is one place of a curve.
type FlyMonPoint struct {
	At      string                   `json:"at"` // as asked for: 96KiB, an epoch
	X       float64                  `json:"x"`  // as it is: bytes that the task was given
	Metrics map[string]*FlyMonMetric `json:"metrics"`
}

// A FlyMonMetric is a number of one point: measured with each seed, and what theory
// says of it.
type FlyMonMetric struct {
	Values []float64 `json:"values"` // by seed
	Min    float64   `json:"min"`
	Median float64   `json:"median"`
	Max    float64   `json:"max"`
	// Theory is what is expected; Lower and Upper bound each value, but for a chance that the
	// assumptions say; nil: theory has none.
	Theory *float64 `json:"theory,omitempty"`
	Lower  *float64 `json:"lower,omitempty"`
	Upper  *float64 `json:"upper,omitempty"`
	// Outside is how many values are outside of the bounds.
	Outside int `json:"outside"`
}

// A prediction is what theory says of a metric; NaN: nothing.
type prediction struct{ expected, lower, upper float64 }

func unpredicted() prediction { return prediction{math.NaN(), math.NaN(), math.NaN()} }

// newFlyMonMetric takes the values of all seeds.
func newFlyMonMetric(values []float64, p prediction) *FlyMonMetric {
	sorted := slices.Sorted(slices.Values(values))
	m := &FlyMonMetric{Values: values, Min: sorted[0], Max: sorted[len(sorted)-1], Median: sorted[len(sorted)/2]}
	if n := len(sorted); n%2 == 0 {
		m.Median = (sorted[n/2-1] + sorted[n/2]) / 2
	}
	for _, x := range []struct {
		to   **float64
		from float64
	}{{&m.Theory, p.expected}, {&m.Lower, p.lower}, {&m.Upper, p.upper}} {
		if !math.IsNaN(x.from) {
			*x.to = &x.from
		}
	}
	for _, v := range values {
		if m.Lower != nil && v < *m.Lower || m.Upper != nil && v > *m.Upper {
			m.Outside++
		}
	}
	return m
}

func (r *FlyMonReport) curve(name string) *FlyMonSeries {
	for _, c := range r.Curves {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// metrics of all points, by name.
func (r *FlyMonReport) metrics() []string {
	seen := map[string]bool{}
	for _, c := range r.Curves {
		for _, p := range c.Points {
			for name := range p.Metrics {
				seen[name] = true
			}
		}
	}
	return device.SortedKeys(seen)
}

// millionths is the unit of numbers that need not be whole.
const millionths = "millionths"

// metric finds CURVE.AT.METRIC.(min median max theory lower upper), or over all points
// CURVE.METRIC.(outside bounded).
func (r *FlyMonReport) metric(name string) (metric, bool) {
	part := strings.Split(name, ".")
	c := r.curve(part[0])
	if c == nil {
		return metric{}, false
	}
	if len(part) == 3 {
		return c.total(part[1], part[2])
	}
	for _, p := range c.Points {
		if len(part) != 4 || p.At != part[1] || p.Metrics[part[2]] == nil {
			continue
		}
		m := p.Metrics[part[2]]
		v := map[string]*float64{"min": &m.Min, "median": &m.Median, "max": &m.Max, "theory": m.Theory, "lower": m.Lower, "upper": m.Upper}[part[3]]
		if v == nil {
			return metric{}, false
		}
		return metric{int64(math.Round(*v * 1e6)), millionths}, true
	}
	return metric{}, false
}

// total counts values of all points that have bounds.
func (c *FlyMonSeries) total(name, what string) (metric, bool) {
	var outside, bounded int
	for _, p := range c.Points {
		if m := p.Metrics[name]; m != nil {
			outside += m.Outside
			if m.Lower != nil || m.Upper != nil {
				bounded += len(m.Values)
			}
		}
	}
	switch what {
	case "outside":
		return metric{int64(outside), "values"}, bounded > 0
	case "bounded":
		return metric{int64(bounded), "values"}, true
	}
	return metric{}, false
}

// CSV returns a line for each metric of each point. What theory does not say is empty.
func (r *FlyMonReport) CSV() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "curve,at,%q,metric,seeds,min,median,max,theory,lower,upper,outside\n", r.X)
	cell := func(v *float64) string {
		if v == nil {
			return ""
		}
		return short(*v)
	}
	for _, c := range r.Curves {
		for _, p := range c.Points {
			for _, name := range device.SortedKeys(p.Metrics) {
				m := p.Metrics[name]
				fmt.Fprintf(&b, "%s,%s,%s,%s,%d,%s,%s,%s,%s,%s,%s,%d\n", c.Name, p.At, short(p.X), name, len(m.Values),
					short(m.Min), short(m.Median), short(m.Max), cell(m.Theory), cell(m.Lower), cell(m.Upper), m.Outside)
			}
		}
	}
	return b.Bytes()
}

// short writes a number with six digits.
func short(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// write prints the curves as a table.
func (r *FlyMonReport) write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 2, 8, 2, ' ', 0)
	if r.Traffic != "" {
		fmt.Fprintf(w, "%s; %d seeds\n\n", r.Traffic, len(r.Seeds))
	}
	fmt.Fprintf(w, "Curve\t%s\tMetric\tMin\tMedian\tMax\tTheory\tBounds\t\n", r.X)
	brief := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', 4, 64)
	}
	for _, c := range r.Curves {
		for _, p := range c.Points {
			for _, name := range device.SortedKeys(p.Metrics) {
				m := p.Metrics[name]
				bounds := ""
				if m.Lower != nil || m.Upper != nil {
					bounds = brief(m.Lower) + " to " + brief(m.Upper)
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", c.Name, p.At, name, brief(&m.Min), brief(&m.Median), brief(&m.Max), brief(m.Theory), bounds)
			}
		}
	}
	return w.Flush()
}
