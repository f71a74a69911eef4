package lab

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// files writes flymon.csv, and for each metric that has curves flymon-METRIC.png and .svg.
func (r *FlyMonReport) files(dir, title string) error {
	errs := []error{os.WriteFile(filepath.Join(dir, "flymon.csv"), r.CSV(), 0o644)}
	for _, name := range r.metrics() {
		if !slices.ContainsFunc(r.Curves, func(c *FlyMonSeries) bool { return len(c.outline(name, 0, false).medians) > 1 }) {
			continue // numbers, not curves
		}
		p, err := r.plot(name, title)
		if err != nil {
			errs = append(errs, fmt.Errorf("plot %s: %w", name, err))
			continue
		}
		path := filepath.Join(dir, "flymon-"+name)
		const width, height = 16 * vg.Centimeter, 10 * vg.Centimeter
		errs = append(errs, p.Save(width, height, path+".png"), p.Save(width, height, path+".svg"))
	}
	return errors.Join(errs...)
}

// An outline is a curve as it is drawn: medians, from least to most of the seeds,
// and what theory expects.
type outline struct {
	medians, theory plotter.XYs
	spread          plotter.YErrors
}

// XY and YError make of an outline what error bars are drawn of.
func (o *outline) Len() int                         { return len(o.medians) }
func (o *outline) XY(i int) (x, y float64)          { return o.medians[i].X, o.medians[i].Y }
func (o *outline) YError(i int) (low, high float64) { return o.spread[i].Low, o.spread[i].High }

// plot draws one metric of all curves.
func (r *FlyMonReport) plot(name, title string) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, r.X, name
	p.Add(plotter.NewGrid())
	least, logX := r.scales(name)
	rises := name == "f1" || name == "precision" || name == "recall" || name == "exact"
	logY := least > 0 && !rises
	p.Legend.Top = !rises
	for i, c := range r.Curves {
		o := c.outline(name, least, logY)
		if len(o.medians) == 0 {
			continue
		}
		line, points, err := plotter.NewLinePoints(o.medians)
		if err != nil {
			return nil, err
		}
		line.Color, points.Color, points.Shape = plotutil.Color(i), plotutil.Color(i), plotutil.Shape(i)
		bars, err := plotter.NewYErrorBars(o)
		if err != nil {
			return nil, err
		}
		bars.Color = plotutil.Color(i)
		p.Add(line, points, bars)
		p.Legend.Add(c.Name, line, points)
		if len(o.theory) < 2 {
			continue
		}
		theory, err := plotter.NewLine(o.theory)
		if err != nil {
			return nil, err
		}
		theory.Color, theory.LineStyle.Dashes, theory.LineStyle.Width = plotutil.Color(i), plotutil.Dashes(1), vg.Points(0.5)
		p.Add(theory)
		p.Legend.Add(c.Name+", theory", theory)
	}
	if logX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	if logY {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	p.Legend.TextStyle.Font.Size = vg.Points(8)
	p.Legend.Padding = vg.Points(1)
	for _, axis := range []*plot.Axis{&p.X, &p.Y} { // logarithmic axes need more than a point
		if axis.Min == axis.Max {
			axis.Min, axis.Max = axis.Min*0.9, axis.Max*1.1
		}
	}
	return p, nil
}

// scales returns the smallest value of a metric above 0, 0 if there is none or all are
// within one power of ten, and whether the x axis is logarithmic: it is when it goes over more than a factor of 20.
func (r *FlyMonReport) scales(name string) (least float64, logX bool) {
	least = math.Inf(1)
	most, left, right := 0.0, math.Inf(1), 0.0
	for _, c := range r.Curves {
		for _, p := range c.Points {
			left, right = min(left, p.X), max(right, p.X)
			m := p.Metrics[name]
			if m == nil {
				continue
			}
			for _, v := range m.Values {
				if v > 0 {
					least, most = min(least, v), max(most, v)
				}
			}
		}
	}
	if most < 10*least {
		least = 0
	}
	return least, left > 0 && right > 20*left
}

// outline gathers a curve. On a logarithmic axis 0 is drawn at least.
func (c *FlyMonSeries) outline(name string, least float64, log bool) *outline {
	at := func(v float64) float64 {
		if log {
			return max(v, least)
		}
		return v
	}
	o := new(outline)
	for _, p := range c.Points {
		m := p.Metrics[name]
		if m == nil {
			continue
		}
		y := at(m.Median)
		o.medians = append(o.medians, plotter.XY{X: p.X, Y: y})
		o.spread = append(o.spread, struct{ Low, High float64 }{y - at(m.Min), at(m.Max) - y})
		if m.Theory != nil && !math.IsInf(*m.Theory, 0) {
			o.theory = append(o.theory, plotter.XY{X: p.X, Y: at(*m.Theory)})
		}
	}
	return o
}
