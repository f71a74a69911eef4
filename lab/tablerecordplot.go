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

// drawn are the metrics of which there are plots. The others are numbers beside them.
func drawn() []string { return []string{"recovery", "entropy", "seconds", "sets"} }

// files writes tablerecord.csv, and for each figure tablerecord-FIGURE-METRIC.png and .svg.
func (r *TableRecordReport) files(dir, title string) error {
	errs := []error{os.WriteFile(filepath.Join(dir, "tablerecord.csv"), r.CSV(), 0o644)}
	for _, figure := range r.figures() {
		for _, name := range drawn() {
			p, err := r.plot(figure, name, title+": "+figure)
			if err != nil {
				errs = append(errs, fmt.Errorf("plot %s of %s: %w", name, figure, err))
			}
			if p == nil {
				continue
			}
			path := filepath.Join(dir, "tablerecord-"+figure+"-"+name)
			const width, height = 16 * vg.Centimeter, 10 * vg.Centimeter
			errs = append(errs, p.Save(width, height, path+".png"), p.Save(width, height, path+".svg"))
		}
	}
	return errors.Join(errs...)
}

func (r *TableRecordReport) figures() (list []string) {
	for _, c := range r.Curves {
		if c.Figure != "" && !slices.Contains(list, c.Figure) {
			list = append(list, c.Figure)
		}
	}
	return list
}

// A band is a curve as it is drawn: medians, and bars from the least to the most of the seeds.
type band struct {
	plotter.XYs
	spread plotter.YErrors
}

// YError makes of a band what error bars are drawn of.
func (b *band) YError(i int) (low, high float64) { return b.spread[i].Low, b.spread[i].High }

// band gathers a curve; on a logarithmic axis 0 is left out.
func (c *RecordSeries) band(name string, log bool) *band {
	b := new(band)
	for _, p := range c.Points {
		m := p.Metrics[name]
		if m == nil || log && m.Min <= 0 {
			continue
		}
		b.XYs = append(b.XYs, plotter.XY{X: p.X, Y: m.Median})
		b.spread = append(b.spread, struct{ Low, High float64 }{m.Median - m.Min, m.Max - m.Median})
	}
	return b
}

// plot draws one metric of the curves of a figure; nil: they have it not.
func (r *TableRecordReport) plot(figure, name, title string) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, r.X, name
	p.Add(plotter.NewGrid())
	log := name == "seconds" || name == "sets"
	i := 0
	for _, c := range r.Curves {
		b := c.band(name, log)
		if c.Figure != figure || len(b.XYs) < 2 {
			continue
		}
		line, points, err := plotter.NewLinePoints(b.XYs)
		if err != nil {
			return nil, err
		}
		line.Color, points.Color, points.Shape, points.Radius = plotutil.Color(i), plotutil.Color(i), plotutil.Shape(i), vg.Points(1.5)
		p.Add(line, points)
		if slices.ContainsFunc(b.spread, func(e struct{ Low, High float64 }) bool { return e.Low+e.High > 0 }) {
			bars, err := plotter.NewYErrorBars(b)
			if err != nil {
				return nil, err
			}
			bars.Color, bars.CapWidth = plotutil.Color(i), vg.Points(3)
			p.Add(bars)
		}
		p.Legend.Add(c.Name, line, points)
		i++
	}
	if i == 0 {
		return nil, nil
	}
	if log {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
		p.Legend.Top, p.Legend.Left = true, true
	}
	p.Legend.TextStyle.Font.Size, p.Legend.Padding = vg.Points(8), vg.Points(1)
	for _, axis := range []*plot.Axis{&p.X, &p.Y} { // an axis needs more than a point
		if axis.Min == axis.Max {
			axis.Min, axis.Max = axis.Min*0.9, math.Nextafter(axis.Max*1.1, math.Inf(1))
		}
	}
	return p, nil
}
