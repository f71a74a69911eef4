package study

import (
	"math"

	"tamtam/lab/figure"
)

// Axes describe how one metric of curves is drawn.
type Axes struct {
	File, Title string
	Metric      string
	X, Y        figure.Axis
	Per         float64 // number of units of X per unit of the axis; zero means 1
}

// Plot draws a metric of the curves of a figure. If of is "", it draws the curves that belong to no figure. It returns
// nil if no curve has the metric at two points.
func (r *Curves) Plot(of string, a Axes) *figure.Figure {
	p := figure.Panel{Title: a.Title, X: a.X, Y: a.Y}
	least, most := r.span(of, a.Metric)
	if a.Y.Scale == figure.Log10 && most < 10*least {
		p.Y.Scale = figure.Linear
	}
	colour := 0
	for _, c := range r.Curves {
		if c.Figure != of {
			continue
		}
		measured, theory := c.outline(&a, p.Y.Scale == figure.Log10, least)
		if len(measured.Points) < 2 {
			continue
		}
		measured.Colour, theory.Colour = colour, colour
		colour++
		if p.Curves = append(p.Curves, measured); len(theory.Points) > 1 {
			p.Curves = append(p.Curves, theory)
		}
	}
	if len(p.Curves) == 0 {
		return nil
	}
	return &figure.Figure{File: a.File, Panels: []figure.Panel{p}}
}

// span returns the smallest positive value of a metric, and the largest.
func (r *Curves) span(of, name string) (least, most float64) {
	least = math.Inf(1)
	for _, c := range r.Curves {
		if c.Figure != of {
			continue
		}
		for _, p := range c.Points {
			if m := p.Metrics[name]; m != nil {
				for _, v := range m.Values {
					if v > 0 {
						least, most = min(least, v), max(most, v)
					}
				}
			}
		}
	}
	return least, most
}

// outline returns a curve as it is drawn: medians, the range over the seeds, quartiles, and theory. On a logarithmic
// axis values below least, such as 0, are drawn as least.
func (c *Curve) outline(a *Axes, log bool, least float64) (measured, theory figure.Curve) {
	at := func(v float64) float64 {
		if log {
			return max(v, least)
		}
		return v
	}
	per := 1.0
	if a.Per > 0 {
		per = a.Per
	}
	measured, theory = figure.Curve{Name: c.Name}, figure.Curve{Style: figure.Theory}
	for _, p := range c.Points {
		m := p.Metrics[a.Metric]
		if m == nil {
			continue
		}
		x := p.X / per
		measured.Points = append(measured.Points, figure.Point{X: x, Y: at(m.Median)})
		measured.Most = append(measured.Most, figure.Range{Low: at(m.Min), High: at(m.Max)})
		if m.Q1 != nil {
			measured.Half = append(measured.Half, figure.Range{Low: at(*m.Q1), High: at(*m.Q3)})
		}
		if m.Theory != nil && !math.IsInf(*m.Theory, 0) {
			theory.Points = append(theory.Points, figure.Point{X: x, Y: at(*m.Theory)})
		}
	}
	return measured, theory
}

// MetricNames returns the names of the metrics of all points.
func (r *Curves) MetricNames() []string {
	seen := map[string]bool{}
	var list []string
	for _, row := range r.rows() {
		if !seen[row.name] {
			seen[row.name] = true
			list = append(list, row.name)
		}
	}
	return list
}
