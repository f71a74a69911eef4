package lab

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// drawn are the metrics of a study of which there are plots. The others are numbers beside them.
func (r *TableRecordReport) drawn() []string {
	if r.Study == RecordEffort {
		return []string{"seconds", "sets"}
	}
	return []string{"recovery", "entropy"}
}

// files writes tablerecord.csv, and for each figure tablerecord-FIGURE-METRIC.png and .svg.
func (r *TableRecordReport) files(dir, title string) error {
	errs := []error{os.WriteFile(filepath.Join(dir, "tablerecord.csv"), r.CSV(), 0o644)}
	for _, figure := range r.figures() {
		for _, name := range r.drawn() {
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

// A band is a curve as it is drawn: the median of the seeds, half of the seeds around it, and all of them.
type band struct{ median, least, q1, q3, most plotter.XYs }

// band gathers a curve; on a logarithmic axis 0 is left out.
func (c *RecordSeries) band(name string, log bool) (b band) {
	for _, p := range c.Points {
		m := p.Metrics[name]
		if m == nil || log && m.Min <= 0 {
			continue
		}
		for _, x := range []struct {
			to *plotter.XYs
			y  float64
		}{{&b.median, m.Median}, {&b.least, m.Min}, {&b.q1, m.Q1}, {&b.q3, m.Q3}, {&b.most, m.Max}} {
			*x.to = append(*x.to, plotter.XY{X: p.X, Y: x.y})
		}
	}
	return b
}

// draw puts a band into a plot, as its i-th curve.
func (b *band) draw(p *plot.Plot, name string, i int) error {
	around, err := plotter.NewPolygon(slices.Concat(b.q1, backwards(b.q3)))
	if err != nil {
		return err
	}
	r, g, blue, _ := plotutil.Color(i).RGBA()
	const tenth = 0x1a
	around.Color, around.LineStyle.Width = color.NRGBA{uint8(r >> 8), uint8(g >> 8), uint8(blue >> 8), 2 * tenth}, 0
	p.Add(around)
	for _, edge := range []plotter.XYs{b.least, b.most} {
		if slices.Equal(edge, b.median) {
			continue
		}
		line, err := plotter.NewLine(edge)
		if err != nil {
			return err
		}
		line.Color, line.Width, line.Dashes = plotutil.Color(i), vg.Points(0.4), plotutil.Dashes(1)
		p.Add(line)
	}
	line, points, err := plotter.NewLinePoints(b.median)
	if err != nil {
		return err
	}
	line.Color, points.Color, points.Shape, points.Radius = plotutil.Color(i), plotutil.Color(i), plotutil.Shape(i), vg.Points(1.5)
	p.Add(line, points)
	p.Legend.Add(name, line, points)
	return nil
}

func backwards(list plotter.XYs) plotter.XYs {
	list = slices.Clone(list)
	slices.Reverse(list)
	return list
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
		if c.Figure != figure || len(b.median) < 2 {
			continue
		}
		if err := b.draw(p, c.Name, i); err != nil {
			return nil, err
		}
		i++
	}
	if i == 0 {
		return nil, nil
	}
	if log {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.TextStyle.Font.Size, p.Legend.Padding = vg.Points(8), vg.Points(1)
	for _, axis := range []*plot.Axis{&p.X, &p.Y} { // an axis needs more than a point
		if axis.Min == axis.Max {
			axis.Min, axis.Max = axis.Min*0.9, math.Nextafter(axis.Max*1.1, math.Inf(1))
		}
	}
	return p, nil
}
