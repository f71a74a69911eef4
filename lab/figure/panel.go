package figure

import (
	"fmt"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	titleSize, labelSize, tickSize = 11, 10, 9
	padding                        = 5 // distance between text and the thing it belongs to
)

// A graph is a panel as gonum draws it. Its legend is drawn afterwards, where there is space.
type graph struct {
	*plot.Plot
	legend  plot.Legend
	entries int // number of entries in the legend
	bands   int // number of curves with a band
}

// graph returns the graph of a panel. It fails if a curve has no place on the axes, such as 0 on a logarithmic one.
func (p *Panel) graph() (*graph, error) {
	g := &graph{Plot: plot.New(), legend: plot.NewLegend()}
	g.Title.Text, g.Title.Padding = p.Title, padding
	sans(&g.Title.TextStyle, titleSize)
	sans(&g.legend.TextStyle, tickSize)
	g.legend.Top, g.legend.Left, g.legend.Padding = true, true, 3
	g.Add(&plotter.Grid{Vertical: faint(), Horizontal: faint()})
	theory := false
	for i := range p.Curves {
		if c := &p.Curves[i]; c.banded() {
			g.bands++
		}
	}
	for _, add := range []func(*Curve) error{g.addSpread, g.addCurve} { // all bands first, then all curves over them
		for i := range p.Curves {
			c := &p.Curves[i]
			if err := add(c); err != nil {
				return nil, fmt.Errorf("curve %q: %w", c.Name, err)
			}
			theory = theory || c.Style == Theory
		}
	}
	if theory { // one entry for all curves, whose colours it shares
		g.explain("theory", &plotter.Line{LineStyle: dashed(color.Black)})
	}
	p.X.shape(&g.X)
	p.Y.shape(&g.Y)
	g.Add(frame{})
	return g, nil
}

// A mark is drawn completely, but occupies no space of its own. So the axes stay at the ends of the plotting area.
type mark struct {
	plot.Plotter
	plot.DataRanger
}

func (g *graph) put(list ...interface {
	plot.Plotter
	plot.DataRanger
}) {
	for _, p := range list {
		g.Add(mark{p, p})
	}
}

func (g *graph) explain(name string, thumbs ...plot.Thumbnailer) {
	g.legend.Add(name, thumbs...)
	g.entries++
}

// sans sets the font of all figures.
func sans(s *text.Style, size font.Length) { s.Font.Variant, s.Font.Size = "Sans", size }

// onAxes returns the panel with all curves in the units of its axes.
func (p Panel) onAxes() Panel {
	ranges := func(list []Range) []Range {
		list = slices.Clone(list)
		for i, r := range list {
			list[i] = Range{p.Y.of(r.Low), p.Y.of(r.High)}
		}
		return list
	}
	p.Curves = slices.Clone(p.Curves)
	for k := range p.Curves {
		c := &p.Curves[k]
		c.Points, c.Most, c.Half = slices.Clone(c.Points), ranges(c.Most), ranges(c.Half)
		for i, v := range c.Points {
			c.Points[i] = Point{p.X.of(v.X), p.Y.of(v.Y)}
		}
	}
	return p
}

// A frame is drawn around the plotting area.
type frame struct{}

// Plot implements [plot.Plotter].
func (frame) Plot(c draw.Canvas, p *plot.Plot) {
	c.StrokeLines(p.X.Tick.LineStyle, around(c.Rectangle))
}

func around(r vg.Rectangle) []vg.Point {
	return []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}, r.Min}
}
