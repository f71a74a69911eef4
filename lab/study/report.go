// Package study holds the common code of studies that reproduce papers: seeds and cores, and curves of measurements
// beside predictions, with their tables, files and plots. Package lab runs studies but imports none; lab/experiments
// holds all of them.
package study

import (
	"math"
	"slices"
	"strings"

	"tamtam/lab"
)

// A Head describes the study of a report.
type Head struct {
	Study   string   `json:"study"`
	Traffic string   `json:"traffic,omitempty"`
	Seeds   []uint64 `json:"seeds"`
	X       string   `json:"x"` // quantity on the x axis, with its unit
}

// Curves are the results of a study.
type Curves struct {
	Curves []*Curve `json:"curves"`
}

// A Curve is one curve of a figure.
type Curve struct {
	Name   string   `json:"name"`
	Figure string   `json:"figure,omitempty"` // curves of one figure are drawn together
	Points []*Point `json:"points"`
}

// A Point is one point of a curve.
type Point struct {
	At      string             `json:"at"` // position as configured: 96KiB, an epoch
	X       float64            `json:"x"`  // actual value, such as the bytes that the task received
	Metrics map[string]*Metric `json:"metrics"`
}

// A Metric is a number of one point: the values measured with each seed, their spread, and the prediction.
type Metric struct {
	Values []float64 `json:"values"` // values by seed; only one value if it does not depend on the seed
	Min    float64   `json:"min"`
	Q1     *float64  `json:"q1,omitempty"` // quartiles; nil if they are not part of the report
	Median float64   `json:"median"`
	Q3     *float64  `json:"q3,omitempty"`
	Max    float64   `json:"max"`
	// Theory is the expected value. Lower and Upper bound each value, except with a probability that the assumptions
	// state. They are nil if theory has none.
	Theory *float64 `json:"theory,omitempty"`
	Lower  *float64 `json:"lower,omitempty"`
	Upper  *float64 `json:"upper,omitempty"`
	// Outside counts the values outside of the bounds. It is nil if this study has no theory.
	Outside *int `json:"outside,omitempty"`
}

// A Prediction is the theory's prediction of a metric. A number without a prediction is NaN.
type Prediction struct{ Expected, Lower, Upper float64 }

// Unpredicted returns a Prediction of NaN, for values that theory does not predict.
func Unpredicted() Prediction { return Prediction{math.NaN(), math.NaN(), math.NaN()} }

// spread returns a metric of the values of all seeds, and their quartiles.
func spread(values []float64) (m *Metric, q1, q3 float64) {
	sorted := slices.Sorted(slices.Values(values))
	// at returns the quantile of n quarters, interpolated where it falls between two values.
	at := func(n int) float64 {
		i, rest := n*(len(sorted)-1)/4, float64(float64(n*(len(sorted)-1)%4)/4)
		if rest == 0 {
			return sorted[i]
		}
		return float64(sorted[i]*(1-rest)) + float64(sorted[i+1]*rest)
	}
	return &Metric{Values: values, Min: at(0), Median: at(2), Max: at(4)}, at(1), at(3)
}

// Quartered returns a metric with its quartiles.
func Quartered(values ...float64) *Metric {
	m, q1, q3 := spread(values)
	m.Q1, m.Q3 = &q1, &q3
	return m
}

// Predicted returns a metric with its prediction.
func Predicted(values []float64, p Prediction) *Metric {
	m, _, _ := spread(values)
	for _, x := range []struct {
		to   **float64
		from float64
	}{{&m.Theory, p.Expected}, {&m.Lower, p.Lower}, {&m.Upper, p.Upper}} {
		if !math.IsNaN(x.from) {
			*x.to = &x.from
		}
	}
	m.Outside = new(int)
	for _, v := range values {
		if m.Lower != nil && !(v >= *m.Lower) || m.Upper != nil && !(v <= *m.Upper) { // NaN counts as outside
			*m.Outside++
		}
	}
	return m
}

// bounded reports whether theory bounds the values.
func (m *Metric) bounded() bool { return m.Lower != nil || m.Upper != nil }

// Curve returns a curve by its name, or nil if there is none.
func (r *Curves) Curve(name string) *Curve {
	for _, c := range r.Curves {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Add adds a metric to a curve. It creates curve and point if they do not exist.
func (r *Curves) Add(curve, figure, at string, x float64, name string, m *Metric) {
	c := r.Curve(curve)
	if c == nil {
		c = &Curve{Name: curve, Figure: figure}
		r.Curves = append(r.Curves, c)
	}
	i := slices.IndexFunc(c.Points, func(p *Point) bool { return p.At == at })
	if i < 0 {
		i = len(c.Points)
		c.Points = append(c.Points, &Point{At: at, X: x, Metrics: map[string]*Metric{}})
	}
	c.Points[i].Metrics[name] = m
}

// Metric returns CURVE.AT.METRIC.(min q1 median q3 max theory lower upper), or over all points CURVE.METRIC.(outside
// bounded).
func (r *Curves) Metric(name string) (lab.Metric, bool) {
	part := strings.Split(name, ".")
	c := r.Curve(part[0])
	if c == nil {
		return lab.Metric{}, false
	}
	if len(part) == 3 {
		return c.total(part[1], part[2])
	}
	for _, p := range c.Points {
		if len(part) != 4 || p.At != part[1] || p.Metrics[part[2]] == nil {
			continue
		}
		m := p.Metrics[part[2]]
		v := map[string]*float64{
			"min": &m.Min, "q1": m.Q1, "median": &m.Median, "q3": m.Q3, "max": &m.Max,
			"theory": m.Theory, "lower": m.Lower, "upper": m.Upper,
		}[part[3]]
		if v == nil {
			return lab.Metric{}, false
		}
		return lab.Metric{Value: millionths(*v), Unit: lab.Millionths}, true
	}
	return lab.Metric{}, false
}

// millionths returns a value in millionths. It returns Unmeasured for NaN and for values that do not fit.
func millionths(v float64) int64 {
	if v = math.Round(v * 1e6); math.Abs(v) < 1<<63 {
		return int64(v)
	}
	return lab.Unmeasured
}

// total counts values of all points that have bounds.
func (c *Curve) total(name, what string) (lab.Metric, bool) {
	var outside, bounded int
	for _, p := range c.Points {
		m := p.Metrics[name]
		if m == nil || m.Outside == nil {
			continue
		}
		outside += *m.Outside
		if m.bounded() {
			bounded += len(m.Values)
		}
	}
	switch what {
	case "outside":
		return lab.Metric{Value: int64(outside), Unit: "values"}, bounded > 0
	case "bounded":
		return lab.Metric{Value: int64(bounded), Unit: "values"}, true
	}
	return lab.Metric{}, false
}
